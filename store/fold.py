"""How does an event become a row?

A batch of messages of both streams is folded in one transaction: every effect and both positions
commit together or not at all. Folding is idempotent by content: an event at or before the recorded
position, of an older generation, or older than the row it would replace, changes nothing. Order
within a path is stream order; since only the newest record of a path matters, a batch is first
reduced to the last record, vectors and anchor of each path.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from contracts.envelope import Envelope
from contracts.events import AnyIndexEvent, AnyLogEvent, NoteRecorded, NumbersTaken
from contracts.events.index import (
    AnchorMoved,
    AnnPart,
    AnnPublished,
    BaselineDropped,
    BaselinePublished,
    EdgesDropped,
    EdgesResolved,
    FileRecorded,
    FileRemoved,
    HistoryStored,
    ManifestPart,
    NoteVectorsStored,
    OverlayPublished,
    PassChanged,
    SessionDelivered,
    VectorsStored,
)
from contracts.events.mapping import WorkspaceRecorded
from contracts.events.patches import RecordPatched
from store.env import CorruptEnvironment, Env, MapFull, WriteTxn
from store.projectors.ann import Generations
from store.projectors.files import LiveFiles
from store.projectors.history import put_history
from store.projectors.maps import LiveEdges, put_manifest, put_workspace
from store.projectors.notes import put_note, put_note_vectors
from store.projectors.passes import put_pass
from store.projectors.patches import put_patch
from store.projectors.repos import Repos
from store.projectors.sessions import put_session
from store.rows import FORMAT_VERSION, Positions

_META_FORMAT = b"format"
_META_POSITIONS = b"positions"
_decode_log = msgspec.msgpack.Decoder(Envelope[AnyLogEvent]).decode
_decode_index = msgspec.msgpack.Decoder(Envelope[AnyIndexEvent]).decode
_encode = msgspec.msgpack.Encoder().encode
_decode_positions = msgspec.msgpack.Decoder(Positions).decode


class Message(Struct, frozen=True):
    """One stored message of a stream."""

    sequence: int
    data: bytes


class Folded(Struct, frozen=True):
    """What a fold did."""

    positions: Positions
    index_applied: int  # messages of the INDEX batch that were taken; the rest waits for LOG
    touched: tuple[str, ...]  # repository ids
    files: int  # records folded
    vectors: int  # files whose vectors were folded


class Folder:
    """The one writer of an environment."""

    def __init__(self, env: Env) -> None:
        self._env = env
        self.positions = read_positions(env)
        self._undecodable = 0

    @property
    def undecodable(self) -> int:
        """Messages skipped because they are not of this family; never silently."""
        return self._undecodable

    def fold(
        self, log: Sequence[Message], index: Sequence[Message], *, log_complete: bool
    ) -> Folded:
        """Apply messages in stream order, LOG first.

        An INDEX message of a repository or generation that LOG has not told of yet ends the batch,
        unless `log_complete`: then it belongs to something removed and is dropped.
        """
        while True:
            try:
                with self._env.write() as txn:
                    folded = self._apply(txn, log, index, log_complete)
                self.positions = folded.positions
                return folded
            except MapFull:
                self._env.grow()

    def _apply(
        self, txn: WriteTxn, log: Sequence[Message], index: Sequence[Message], log_complete: bool
    ) -> Folded:
        repos = Repos(txn)
        position = Positions(self.positions.log, self.positions.index)
        for message in log:
            if message.sequence <= position.log:
                continue
            try:
                _take_fact(txn, repos, _decode_log(message.data), message.sequence)
            except msgspec.MsgspecError:
                self._undecodable += 1
            position.log = message.sequence
        files, generations = LiveFiles(txn, repos), Generations(txn, repos)
        edges = LiveEdges(txn, repos)
        applied = 0
        for message in index:
            applied += 1
            if message.sequence <= position.index:
                continue
            try:
                envelope = _decode_index(message.data)
            except msgspec.MsgspecError:
                self._undecodable += 1
                position.index = message.sequence
                continue
            if _awaited(envelope.event) > position.log and not log_complete:
                applied -= 1
                break
            if isinstance(envelope.event, NoteVectorsStored):
                position.index = message.sequence
                put_note_vectors(txn, envelope.repo, envelope.event, message.sequence)
                continue
            known = repos.generation(envelope.repo)
            if envelope.generation > known and not log_complete:
                applied -= 1
                break
            position.index = message.sequence
            if envelope.generation == known and known:
                if isinstance(envelope.event, EdgesResolved | EdgesDropped):
                    edges.take(envelope.repo, message.sequence, envelope.event)
                else:
                    self._take(txn, envelope, message.sequence, repos, files, generations)
        files.finish()
        edges.finish()
        repos.finish(position)
        txn.put("meta", _META_POSITIONS, _encode(position))
        return Folded(
            position, applied, tuple(sorted(repos.touched)), files.folded, files.vectorised
        )

    def _take(
        self,
        txn: WriteTxn,
        envelope: Envelope[AnyIndexEvent],
        sequence: int,
        repos: Repos,
        files: LiveFiles,
        generations: Generations,
    ) -> None:
        repo, event = envelope.repo, envelope.event
        match event:
            case FileRecorded() | FileRemoved():
                files.record(repo, sequence, event, envelope.at_ms)
            case VectorsStored():
                files.vectors(repo, sequence, event)
            case AnchorMoved():
                files.anchor(repo, event)
            case PassChanged():
                put_pass(txn, repos, repo, event)
            case AnnPart():
                generations.part(repo, event)
            case AnnPublished():
                generations.published(repo, event)
            case HistoryStored():
                put_history(txn, repos, repo, event)
            case SessionDelivered():
                put_session(txn, repo, event)
            case ManifestPart() | BaselinePublished() | BaselineDropped() | OverlayPublished():
                put_manifest(txn, repos, repo, event)


def _awaited(event: AnyIndexEvent) -> int:
    """LOG sequence of the fact that an event was made from; 0 when it needs none."""
    return event.log_sequence if isinstance(event, NoteVectorsStored | OverlayPublished) else 0


def _take_fact(txn: WriteTxn, repos: Repos, envelope: Envelope[AnyLogEvent], sequence: int) -> None:
    event = envelope.event
    match event:
        case NoteRecorded():
            put_note(txn, repos, envelope, event, sequence)
        case RecordPatched():
            put_patch(txn, repos, event, envelope.generation)
        case WorkspaceRecorded():
            put_workspace(txn, repos, envelope.repo, envelope.generation, event, sequence)
        case NumbersTaken():  # only the memory worker asks, and it asks the stream
            pass
        case _:
            repos.apply(event, envelope.at_ms)


def read_positions(env: Env) -> Positions:
    """The positions that the environment's content stands for."""
    with env.read() as txn:
        raw = txn.get("meta", _META_POSITIONS)
        return Positions() if raw is None else _decode_positions(raw)


def open_writable(path: Path, *, sync: bool = True) -> Env:
    """Open for folding; raises CorruptEnvironment when it must be rebuilt instead."""
    env = Env(path, writable=True, sync=sync)
    with env.read() as txn:
        raw = txn.get("meta", _META_FORMAT)
        found = None if raw is None else msgspec.msgpack.decode(raw, type=int)
        rows = txn.count("repos")
    if found is None and not rows:
        with env.write() as writing:
            writing.put("meta", _META_FORMAT, _encode(FORMAT_VERSION))
    elif found != FORMAT_VERSION:
        env.close()
        raise CorruptEnvironment(f"format {found}, this version writes {FORMAT_VERSION}")
    return env
