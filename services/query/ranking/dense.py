"""How close is the meaning of each passage to that of a query?

`VectorTable` holds the int8 vectors of all chunks, file after file, and follows the index: a change
makes a new table that shares the rows of the old one, so readers of the old one are undisturbed.
`DensePlane` places a table's rows under the files of a `Corpus`, once for each state of both, and
scores a query exactly. `pooled_scores` does with what an approximate index found.

The scan turns one block of rows after the other into floats, small enough to stay in the cache: as
fast as a float matrix, at a quarter of its memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from services.query.ranking.corpus import F4, U8, Corpus

I1 = NDArray[np.int8]
_SCALE: Final = 127.0  # of the stored unit vectors
_BLOCK_BYTES: Final = 512 * 1024  # of floats at a time
_SPARE_SHARE: Final = 0.25  # dead rows beyond this part of a table are swept out
_BASELINE_RANK: Final = 20
_BASELINE_SHARE: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class DenseScores:
    """Cosines in corpus order; 0 where there is no vector or it points away."""

    best: F4  # [files]
    top3: F4  # [files] mean of the three best passages, or of all when there are fewer
    best_baseline: float  # what counts as no likeness at all
    top3_baseline: float
    chunk: F4  # [chunks]
    trust: float = 1.0  # 0..1, how much of the question its vector stands for


class VectorTable:
    """int8 vectors of whole files. Immutable to its readers; see `changed`."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.file_sequence: U8 = np.empty(0, np.uint64)  # in row order, not sorted
        self.row_start: NDArray[np.int64] = np.empty(0, np.int64)
        self.row_count: NDArray[np.int64] = np.empty(0, np.int64)
        self.rows = 0  # rows in use, dead ones included
        self._store = _RowStore(np.empty((0, dimension), np.int8))

    @property
    def vectors(self) -> I1:
        """[rows, dimension]; rows that no file claims are dead."""
        return self._store.matrix[: self.rows]

    def changed(
        self, added: Sequence[tuple[int, bytes | memoryview]], removed: Iterable[int] = ()
    ) -> VectorTable:
        """Return a table with the vectors of `added` files and without those of `removed` ones.

        A file that is there already is replaced. Raises ValueError when the bytes of a file are not
        whole vectors. Costs what is added, plus a copy of the live rows once many are dead.
        """
        fresh = {sequence: self._rows_of(sequence, raw) for sequence, raw in added}
        gone = np.fromiter({*removed, *fresh}, np.uint64)
        keep = ~np.isin(self.file_sequence, gone)
        counts = np.array([len(rows) for rows in fresh.values()], np.int64)
        table = VectorTable(self.dimension)
        table.rows = self.rows + int(counts.sum())
        table.file_sequence = np.concatenate(
            (self.file_sequence[keep], np.fromiter(fresh, np.uint64, len(fresh)))
        )
        table.row_start = np.concatenate(
            (self.row_start[keep], self.rows + np.cumsum(counts) - counts)
        )
        table.row_count = np.concatenate((self.row_count[keep], counts))
        table._store = self._store.extended(self.rows, list(fresh.values()))
        return table._swept()

    @property
    def blocks(self) -> int:
        """Parts in which a scan takes the vectors."""
        return -(-self.rows // self._block_rows)

    @property
    def _block_rows(self) -> int:
        return max(1, _BLOCK_BYTES // (4 * self.dimension))

    def scan(self, query: F4) -> F4:
        """Return the cosine of every row, dead ones too. `query` is a unit vector."""
        vectors, scores = self.vectors, np.empty(self.rows, np.float32)
        step = self._block_rows
        block = np.empty((step, self.dimension), np.float32)
        query = (query / np.float32(_SCALE)).astype(np.float32)
        for start in range(0, self.rows, step):
            rows = vectors[start : start + step]
            part = block[: len(rows)]
            np.copyto(part, rows)
            np.dot(part, query, out=scores[start : start + step])
        return scores

    def _rows_of(self, sequence: int, raw: bytes | memoryview) -> I1:
        if len(raw) % self.dimension:
            raise ValueError(
                f"the vectors of file {sequence} are not of dimension {self.dimension}"
            )
        return np.frombuffer(raw, np.int8).reshape(-1, self.dimension)

    def _swept(self) -> VectorTable:
        live = int(self.row_count.sum())
        if self.rows - live <= _SPARE_SHARE * self.rows:
            return self
        first = np.cumsum(self.row_count) - self.row_count
        source = np.repeat(self.row_start - first, self.row_count) + np.arange(live)
        self._store = _RowStore(self.vectors[source])
        self.row_start, self.rows = first, live
        return self


class _RowStore:
    """A growing matrix that several tables share; each sees the rows before its own end."""

    def __init__(self, matrix: I1) -> None:
        self.matrix = matrix
        self._used = len(matrix)

    def extended(self, end: int, parts: Sequence[I1]) -> _RowStore:
        """Return a store with `parts` at row `end`: this one, when nobody has written there yet."""
        if not parts:
            return self
        total = end + sum(len(part) for part in parts)
        if self._used != end or total > len(self.matrix):
            grown = np.empty((max(total + total // 4, 64), self.matrix.shape[1]), np.int8)
            grown[:end] = self.matrix[:end]
            store = _RowStore(grown)
        else:
            store = self
        np.concatenate(parts, out=store.matrix[end:total])
        store._used = total
        return store


class DensePlane:
    """The rows of a table, placed under the files of a corpus."""

    def __init__(self, corpus: Corpus, table: VectorTable) -> None:
        """Place the rows; a file with another number of vectors than chunks is left out."""
        number = corpus.numbers_of(table.file_sequence)
        chunks = np.diff(corpus.chunk_start)
        placed = (number >= 0) & (chunks[number] == table.row_count if len(chunks) else False)
        number, start = number[placed], table.row_start[placed]
        count = table.row_count[placed]
        step = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        row_of_chunk = np.full(corpus.chunk_count, -1, np.int64)
        row_of_chunk[np.repeat(corpus.chunk_start[number], count) + step] = (
            np.repeat(start, count) + step
        )
        self._corpus, self._table = corpus, table
        in_order = np.array_equal(row_of_chunk, np.arange(table.rows))
        self._row_of_chunk = None if in_order else row_of_chunk
        self._passages = _passages_counted(corpus)
        self._covered = np.sort(number[count > 0])

    @property
    def covered_files(self) -> int:
        """Files with at least one vector."""
        return len(self._covered)

    def score(self, query: F4) -> DenseScores:
        """Score every file exactly. `query` is a unit vector."""
        chunk = self._table.scan(query)
        if self._row_of_chunk is not None:
            chunk = np.append(chunk, np.float32(0))[self._row_of_chunk]  # at -1: no vector
        np.maximum(chunk, 0, out=chunk)
        best, total = self._corpus.best_chunks(chunk)
        top3 = total / self._passages
        return DenseScores(
            best=best,
            top3=top3,
            best_baseline=_baseline(best[self._covered]),
            top3_baseline=_baseline(top3[self._covered]),
            chunk=chunk,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """What an approximate search found, with an exact scan of what its index does not hold yet."""

    file_sequence: U8
    chunk: NDArray[np.int64]  # ordinal within the file
    score: F4  # cosine


def pooled_scores(corpus: Corpus, pool: Pool) -> DenseScores:
    """Score files by the passages in a pool; what is not in it counts like the lowest that is.

    Passages of files that are gone, or past a file's last chunk, are left out.
    """
    number = corpus.numbers_of(pool.file_sequence)
    known = number >= 0
    at = corpus.chunk_start[number] + pool.chunk
    known &= (pool.chunk >= 0) & (at < corpus.chunk_start[number + 1])
    score = np.maximum(pool.score[known], np.float32(0))
    baseline = np.float32(score.min() if len(score) > 1 else 0)
    chunk = np.full(corpus.chunk_count, baseline, np.float32)
    np.maximum.at(chunk, at[known], score)
    # Most files have no passage in the pool, and as many baselines as they have passages.
    counted = np.minimum(np.diff(corpus.chunk_start), 3)
    total_of: F4 = np.cumsum(baseline * np.array([0, 1, 1, 1], np.float32))
    best: F4 = total_of[np.minimum(counted, 1)]
    total: F4 = total_of[counted]
    files = np.unique(number[known])
    best[files], total[files] = corpus.best_chunks_of(files, chunk)
    return DenseScores(
        best=best,
        top3=total / _passages_counted(corpus),
        best_baseline=float(baseline),
        top3_baseline=float(baseline),
        chunk=chunk,
    )


def _passages_counted(corpus: Corpus) -> F4:
    return np.clip(np.diff(corpus.chunk_start), 1, 3).astype(np.float32)


def _baseline(values: F4) -> float:
    """Return the value at rank max(20, files / 4), the lowest when there are fewer files."""
    if len(values) < 2:
        return 0.0  # a file that is alone is not unlike itself
    rank = min(len(values) - 1, max(_BASELINE_RANK, len(values) // _BASELINE_SHARE))
    return float(-np.partition(-values, rank)[rank])
