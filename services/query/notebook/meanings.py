"""How close is the meaning of each note to that of a question?

The vectors of one book's notes in one space. New notes are looked for once; vectors that are made
later are told of by the projection's order of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from contracts.ids import RepoId
from services.query.ranking.dense import VectorTable
from store import keys
from store.read.live import Snapshot
from store.rows import NoteVectorRow

NEAREST = 1_000  # notes told of at most
_decode = msgspec.msgpack.Decoder(NoteVectorRow).decode
F4 = NDArray[np.float32]


class Meanings:
    """Vectors by note key. Not thread-safe."""

    def __init__(self) -> None:
        self._space = ""
        self._seen: dict[str, int] = {}
        self._table: VectorTable | None = None
        self._number_of: dict[bytes, int] = {}
        self._key_of: dict[int, bytes] = {}
        self._next = 1
        self._wanted: set[bytes] = set()
        self._gone: set[int] = set()

    def __len__(self) -> int:
        return len(self._number_of)

    def want(self, key: bytes) -> None:
        """There is a note of this key whose vectors may be stored already."""
        self._wanted.add(key)

    def drop(self, key: bytes) -> None:
        self._wanted.discard(key)
        self._release(key)

    def follow(
        self,
        snapshot: Snapshot,
        repo_ids: Iterable[RepoId],
        space: str,
        digest_of: Callable[[bytes], str | None],
    ) -> None:
        """Take over new vectors of a space. `digest_of` names the text of a live note."""
        if space != self._space:
            self._begin(space)
        for repo_id in repo_ids:
            prefix = keys.repo(repo_id)
            seen = self._seen.get(repo_id)
            if seen is not None:
                after = keys.sequence(prefix, seen + 1)
                for _, raw in snapshot.txn.items("note_vector_order", prefix, after):
                    self._wanted.add(bytes(raw))
            self._seen[repo_id] = snapshot.positions().index
        added: list[tuple[int, bytes]] = []
        for key in self._wanted:
            row = self._row(snapshot, key)
            if row is None or row.space != space or row.text_digest != digest_of(key):
                continue
            if not row.vectors:
                continue
            self._release(key)
            self._number_of[key], self._key_of[self._next] = self._next, key
            added.append((self._next, row.vectors))
            self._next += 1
            if self._table is None:
                self._table = VectorTable(row.dimension)
        self._wanted.clear()
        if self._table is not None and (added or self._gone):
            self._table = self._table.changed(added, self._gone)
            self._gone.clear()

    def _release(self, key: bytes) -> None:
        number = self._number_of.pop(key, None)
        if number is not None:
            del self._key_of[number]
            self._gone.add(number)

    def likeness(self, vector: F4) -> list[tuple[bytes, float]]:
        """The nearest notes' keys and the cosine of their best passage, best first; those above 0."""
        table = self._table
        if table is None or not len(table.file_sequence):
            return []
        scores = table.scan(vector)
        first = np.cumsum(table.row_count) - table.row_count
        rows = np.repeat(table.row_start - first, table.row_count) + np.arange(
            int(table.row_count.sum())
        )
        cosine = np.maximum.reduceat(scores[rows], first)
        near = np.flatnonzero(cosine > 0)
        if len(near) > NEAREST:
            near = near[np.argpartition(-cosine[near], NEAREST)[:NEAREST]]
        near = near[np.argsort(-cosine[near], kind="stable")]
        numbers, cosines = table.file_sequence[near].tolist(), cosine[near].tolist()
        return [
            (key, value)
            for number, value in zip(numbers, cosines, strict=True)
            if (key := self._key_of.get(number)) is not None
        ]

    def _begin(self, space: str) -> None:
        self._space = space
        self._table = None
        self._wanted |= set(self._number_of)
        self._number_of.clear()
        self._key_of.clear()
        self._gone.clear()

    @staticmethod
    def _row(snapshot: Snapshot, key: bytes) -> NoteVectorRow | None:
        raw = snapshot.txn.get("note_vectors", key)
        return None if raw is None else _decode(raw)
