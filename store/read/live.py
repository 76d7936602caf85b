"""Which environment is live, and what does it say about repositories and files?

`Projections` opens whatever environment is current and follows a swap; `Snapshot` is one consistent
read of it. Workers and the query service read through these.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np

from contracts.errors import NotFound
from contracts.extract import Body, unpack_body
from store import keys, location
from store.env import Env, ReadTxn
from store.rows import AnnHead, Change, FileRow, PassRow, Positions, RepoRow, VectorRow
from store.segments import SegmentView

_repo = msgspec.msgpack.Decoder(RepoRow).decode
_file = msgspec.msgpack.Decoder(FileRow).decode
_pass = msgspec.msgpack.Decoder(PassRow).decode
_vector = msgspec.msgpack.Decoder(VectorRow).decode
_head = msgspec.msgpack.Decoder(AnnHead).decode
_change = msgspec.msgpack.Decoder(Change).decode
_positions = msgspec.msgpack.Decoder(Positions).decode


class Projections:
    """The live environment under `<state>/projections`, opened on first use."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._env: Env | None = None
        self._stamp = 0
        self.epoch = 0  # rises when another environment was swapped in

    @contextmanager
    def read(self) -> Iterator[Snapshot]:
        """A consistent snapshot; raises NotFound while nothing was ever folded."""
        stamp = location.stamp(self._root)
        if self._env is None or stamp != self._stamp:
            self._reopen(stamp)
        if self._env is None:
            raise NotFound(
                "nothing is indexed here yet",
                hint="start `repofold up PATH`; if it is just starting, ask again in a second",
            )
        with self._env.read() as txn:
            yield Snapshot(txn)

    def _reopen(self, stamp: int) -> None:
        if self._env is not None:
            self._env.close()
            self._env = None
        self._env = Env(location.current(self._root), writable=False)
        self._stamp = stamp
        self.epoch += 1

    def usage(self) -> dict[str, int]:
        """Map and reader figures; empty before the first read."""
        return {} if self._env is None else self._env.usage()

    def close(self) -> None:
        if self._env is not None:
            self._env.close()
            self._env = None


class Snapshot:
    """Reads of one moment. Values are valid inside the `with` block only, unless copied."""

    def __init__(self, txn: ReadTxn) -> None:
        self.txn = txn

    def positions(self) -> Positions:
        raw = self.txn.get("meta", b"positions")
        return Positions() if raw is None else _positions(raw)

    def repos(self) -> list[RepoRow]:
        """Every repository ever heard of, removed ones included, by id."""
        rows = [_repo(raw) for _, raw in self.txn.items("repos", b"")]
        return sorted(rows, key=lambda row: row.repo_id)

    def repo(self, repo_id: str) -> RepoRow | None:
        raw = self.txn.get("repos", keys.repo(repo_id))
        return None if raw is None else _repo(raw)

    def newest_pass(self, repo_id: str) -> PassRow | None:
        raw = self.txn.get("passes", keys.repo(repo_id))
        return None if raw is None else _pass(raw)

    def file(self, repo_id: str, path: str) -> FileRow | None:
        raw = self.txn.get("files", keys.file(keys.repo(repo_id), path))
        return None if raw is None else _file(raw)

    def files(self, repo_id: str, start: str = "") -> Iterator[FileRow]:
        """Live files in ordinal order of their paths, from `start` on (inclusive)."""
        prefix = keys.repo(repo_id)
        first = keys.file(prefix, start) if start else b""
        for _, raw in self.txn.items("files", prefix, first):
            yield _file(raw)

    def path(self, repo_id: str, sequence: int) -> str | None:
        """Path of the live file whose record has this INDEX sequence."""
        raw = self.txn.get("paths", keys.sequence(keys.repo(repo_id), sequence))
        return None if raw is None else bytes(raw).decode()

    def body(self, repo_id: str, sequence: int) -> Body | None:
        raw = self.txn.get("bodies", keys.sequence(keys.repo(repo_id), sequence))
        return None if raw is None else unpack_body(raw)

    def text(self, repo_id: str, sequence: int) -> memoryview | None:
        """The content projection, zstd."""
        return self.txn.get("texts", keys.sequence(keys.repo(repo_id), sequence))

    def has_notes(self, repo_id: str) -> bool:
        """Whether there ever was a note in a namespace."""
        return next(self.txn.keys("note_order", keys.repo(repo_id)), None) is not None

    def vectors(self, repo_id: str) -> Iterator[tuple[int, VectorRow]]:
        """Every stored vector row with its file sequence, ascending."""
        for key, raw in self.txn.items("vectors", keys.repo(repo_id)):
            yield keys.sequence_of(key), _vector(raw)

    def vector(self, repo_id: str, sequence: int) -> VectorRow | None:
        raw = self.txn.get("vectors", keys.sequence(keys.repo(repo_id), sequence))
        return None if raw is None else _vector(raw)

    def segments(self, repo_id: str) -> Iterator[tuple[int, memoryview, memoryview | None]]:
        """Number, blob and dead ordinals (u4[] or None) of each lexical segment, oldest first."""
        for key, blob in self.txn.items("segments", keys.repo(repo_id)):
            yield keys.sequence_of(key), blob, self.txn.get("segment_dead", key)

    def segment_views(self, repo_id: str) -> list[SegmentView]:
        """The lexical segments, oldest first; valid as long as the snapshot."""
        return [
            SegmentView(blob, () if dead is None else np.frombuffer(dead, dtype="<u4"))
            for _, blob, dead in self.segments(repo_id)
        ]

    def changes(self, repo_id: str, after: int) -> Iterator[tuple[int, Change]]:
        """What was embedded and what went away after an INDEX sequence."""
        prefix = keys.repo(repo_id)
        for key, raw in self.txn.items("changes", prefix, keys.sequence(prefix, after + 1)):
            yield keys.sequence_of(key), _change(raw)

    def declaring(self, repo_id: str, fq_name: str) -> list[int]:
        """File sequences of the files that declare a fully qualified name."""
        prefix = keys.name_prefix(keys.repo(repo_id), fq_name)
        return [keys.sequence_of(key) for key in self.txn.keys("symbols", prefix)]

    def symbol_names(self, repo_id: str, start: bytes = b"") -> Iterator[bytes]:
        """Keys of the symbol table in order, from `start` on; see store/keys.py."""
        yield from self.txn.keys("symbols", keys.repo(repo_id), start)

    def ann_head(self, repo_id: str) -> AnnHead | None:
        raw = self.txn.get("ann_heads", keys.repo(repo_id))
        return None if raw is None else _head(raw)

    def ann_parts(self, repo_id: str, generation: int) -> Iterator[bytes]:
        prefix = keys.part(keys.repo(repo_id), generation, 0)[:-8]
        for _, raw in self.txn.items("ann_parts", prefix):
            yield bytes(raw)
