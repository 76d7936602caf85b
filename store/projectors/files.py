"""Live files: rows, bodies, texts, vectors, symbol names and lexical segments, in step.

One batch folds into at most one new segment per repository. What a batch replaces is marked dead in
the segment that holds it; neighbours are merged when the plan says so, in the same transaction.
"""

from __future__ import annotations

from collections import defaultdict

import msgspec
import numpy as np

from contracts.events.index import AnchorMoved, FileRecorded, FileRemoved, VectorsStored
from contracts.extract import unpack_body
from store import keys
from store.env import WriteTxn
from store.projectors.repos import Repos
from store.rows import Change, FileRow, RepoRow, VectorRow
from store.segments import SegmentFile, SegmentView, build_segment, merge_segments, plan_merge

_encode = msgspec.msgpack.Encoder().encode
_decode_row = msgspec.msgpack.Decoder(FileRow).decode
_CHANGES_KEPT = 400_000


class _Pending(msgspec.Struct):
    """The newest of each kind of event for one path within the batch."""

    record: tuple[int, FileRecorded | FileRemoved, int] | None = None
    vectors: tuple[int, VectorsStored] | None = None
    anchor: AnchorMoved | None = None


class LiveFiles:
    """Collects a batch, then folds it."""

    def __init__(self, txn: WriteTxn, repos: Repos) -> None:
        self._txn, self._repos = txn, repos
        self._pending: dict[str, dict[str, _Pending]] = defaultdict(dict)
        self._rows: dict[str, list[tuple[bytes, bytes]]] = defaultdict(list)
        self.folded = 0
        self.vectorised = 0

    def _of(self, repo: str, path: str) -> _Pending:
        paths = self._pending[repo]
        found = paths.get(path)
        if found is None:
            found = paths[path] = _Pending()
        return found

    def record(
        self, repo: str, sequence: int, event: FileRecorded | FileRemoved, at_ms: int
    ) -> None:
        self._of(repo, event.path).record = (sequence, event, at_ms)

    def vectors(self, repo: str, sequence: int, event: VectorsStored) -> None:
        self._of(repo, event.path).vectors = (sequence, event)

    def anchor(self, repo: str, event: AnchorMoved) -> None:
        self._of(repo, event.path).anchor = event

    def finish(self) -> None:
        """Fold everything collected."""
        for repo, paths in self._pending.items():
            _RepoBatch(self._txn, self._repos.row(repo), self._rows, self).fold(paths)
        for table, rows in self._rows.items():
            rows.sort()
            self._txn.put_many(table, rows)


class _RepoBatch:
    """One repository's share of a batch."""

    def __init__(
        self,
        txn: WriteTxn,
        repo: RepoRow,
        rows: dict[str, list[tuple[bytes, bytes]]],
        tally: LiveFiles,
    ) -> None:
        self._txn, self._repo, self._rows, self._tally = txn, repo, rows, tally
        self._key = keys.repo(repo.repo_id)
        self._segment: list[SegmentFile] = []
        self._gone: list[int] = []

    def fold(self, paths: dict[str, _Pending]) -> None:
        changed = sorted(
            (pending.record[0] if pending.record else 0, path) for path, pending in paths.items()
        )
        for _, path in changed:
            self._path(path, paths[path])
        _Segments(self._txn, self._repo, self._key).apply(self._segment, self._gone)
        self._prune_changes()

    def _path(self, path: str, pending: _Pending) -> None:
        file_key = keys.file(self._key, path)
        raw = self._txn.get("files", file_key)
        old = None if raw is None else _decode_row(raw)
        row = old
        if pending.record is not None:
            sequence, event, at_ms = pending.record
            if old is None or sequence > old.sequence:
                if old is not None:
                    self._drop(old, sequence)
                row = self._add(sequence, event, at_ms) if isinstance(event, FileRecorded) else None
                self._tally.folded += 1
        if row is not None:
            self._follow(row, pending)
        if row is not None and old is not None and row.sequence == old.sequence:
            self._repo.counters.add(_decode_row(raw), -1)  # type: ignore[arg-type]
        if row is not None:
            self._repo.counters.add(row, 1)
            self._rows["files"].append((file_key, _encode(row)))
        elif old is not None:
            self._txn.delete("files", file_key)

    def _drop(self, old: FileRow, sequence: int) -> None:
        self._repo.counters.add(old, -1)
        key = keys.sequence(self._key, old.sequence)
        if old.symbols:
            body = self._txn.get("bodies", key)
            if body is not None:
                for symbol in keys.names(self._key, _fq_names(body), old.sequence):
                    self._txn.delete("symbols", symbol)
        for table in ("paths", "bodies", "texts", "vectors"):
            self._txn.delete(table, key)
        self._gone.append(old.sequence)
        self._change(sequence, "-", old.sequence)

    def _add(self, sequence: int, event: FileRecorded, at_ms: int) -> FileRow:
        extract = event.extract
        key = keys.sequence(self._key, sequence)
        self._rows["paths"].append((key, event.path.encode()))
        if extract is not None:
            self._rows["bodies"].append((key, extract.body))
            self._rows["texts"].append((key, extract.text))
            self._rows["symbols"].extend(
                (symbol, b"") for symbol in keys.names(self._key, set(extract.fq_names), sequence)
            )
        terms = event.terms if extract is None else extract.terms
        if terms is not None:
            self._segment.append(SegmentFile(sequence, event.kind, terms))
        return FileRow(
            path=event.path,
            sequence=sequence,
            version=event.version,
            digest=event.digest,
            size_bytes=event.size_bytes,
            mtime_ns=event.mtime_ns,
            anchor_ns=event.anchor_ns,
            language=event.language,
            kind=event.kind,
            skipped=event.skipped,
            skipped_detail=event.skipped_detail,
            token_count=0 if extract is None else extract.token_count,
            line_count=0 if extract is None else extract.line_count,
            quality="" if extract is None else extract.quality,
            symbols=0 if extract is None else len(extract.fq_names),
            chunks=0 if extract is None else extract.chunks,
            embedded=False,
            ingested_ms=at_ms,
            extractor_version=_version_of(event),
        )

    def _follow(self, row: FileRow, pending: _Pending) -> None:
        if pending.vectors is not None:
            sequence, event = pending.vectors
            if event.file_sequence == row.sequence:
                value = VectorRow(event.space, event.dimension, event.vectors)
                self._rows["vectors"].append(
                    (keys.sequence(self._key, row.sequence), _encode(value))
                )
                row.embedded = True
                self._tally.vectorised += 1
                self._change(sequence, "+", row.sequence)
        anchor = pending.anchor
        if anchor is not None and anchor.digest == row.digest and anchor.anchor_ns > row.anchor_ns:
            row.anchor_ns, row.mtime_ns = anchor.anchor_ns, anchor.mtime_ns

    def _change(self, sequence: int, operation: str, file_sequence: int) -> None:
        change = _encode(Change(operation, file_sequence))
        self._rows["changes"].append((keys.sequence(self._key, sequence), change))

    def _prune_changes(self) -> None:
        newest = self._rows["changes"][-1][0] if self._rows["changes"] else None
        if newest is None or not newest.startswith(self._key):
            return
        limit = keys.sequence_of(newest) - _CHANGES_KEPT
        if limit < self._repo.changes_from + _CHANGES_KEPT // 4:
            return
        stop = keys.sequence(self._key, limit)
        stale = []
        for key in self._txn.keys("changes", self._key):
            if key >= stop:
                break
            stale.append(key)
        for key in stale:
            self._txn.delete("changes", key)
        self._repo.changes_from = limit


class _Segments:
    """The lexical segments of one repository."""

    def __init__(self, txn: WriteTxn, repo: RepoRow, repo_key: bytes) -> None:
        self._txn, self._repo, self._key = txn, repo, repo_key

    def apply(self, added: list[SegmentFile], gone: list[int]) -> None:
        """Mark `gone` dead, write a segment of `added`, merge what the plan merges."""
        if gone:
            self._mark_dead(gone)
        if added:
            added.sort(key=lambda file: file.file_sequence)
            self._write(build_segment(added))
        if added or gone:
            self._merge()

    def _write(self, blob: bytes) -> None:
        self._txn.put("segments", keys.sequence(self._key, self._repo.next_segment), blob)
        self._repo.next_segment += 1

    def _views(self) -> list[tuple[bytes, SegmentView]]:
        views = []
        for key, blob in self._txn.items("segments", self._key):
            dead = self._txn.get("segment_dead", key)
            ordinals = () if dead is None else np.frombuffer(bytes(dead), dtype="<u4")
            views.append((key, SegmentView(blob, ordinals)))
        return views

    def _mark_dead(self, gone: list[int]) -> None:
        for key, view in self._views():
            ordinals = [
                ordinal for sequence in gone if (ordinal := view.ordinal_of(sequence)) is not None
            ]
            if not ordinals:
                continue
            before = self._txn.get("segment_dead", key)
            held = np.frombuffer(b"" if before is None else bytes(before), dtype="<u4")
            merged = np.union1d(held, np.array(ordinals, dtype="<u4")).astype("<u4")
            self._txn.put("segment_dead", key, merged.tobytes())

    def _merge(self) -> None:
        views = self._views()
        for group in plan_merge([view.size for _, view in views]):
            members = [views[number] for number in group]
            blob = merge_segments([(bytes(self._blob(key)), self._dead(key)) for key, _ in members])
            for key, _ in members:
                self._txn.delete("segments", key)
                self._txn.delete("segment_dead", key)
            # The merged segment takes its first member's place, so that neighbours stay neighbours.
            self._txn.put("segments", members[0][0], blob)

    def _blob(self, key: bytes) -> memoryview:
        blob = self._txn.get("segments", key)
        if blob is None:
            raise KeyError(key)
        return blob

    def _dead(self, key: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
        dead = self._txn.get("segment_dead", key)
        return np.frombuffer(b"" if dead is None else bytes(dead), dtype="<u4")


def _version_of(event: FileRecorded) -> str:
    if event.extract is not None:
        return event.extract.extractor_version
    return event.extractor_version if event.skipped == "extract_failed" else ""


def _fq_names(body: memoryview) -> set[str]:
    return {symbol.fq_name for symbol in unpack_body(body).symbols}
