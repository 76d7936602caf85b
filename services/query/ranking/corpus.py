"""What does a ranking need to know about the whole index before it sees a query?

A `Corpus` lays the live files of all segments out in one order, that of their sequences, and their
chunks one file after the other. Counts, mean lengths and length norms are over live files only, so
nothing that is computed from it depends on how the files are spread over segments. It is made once
for each state of the index (a few milliseconds for 200,000 chunks) and is safe to share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from store.segment_format import Ordinals, Postings
from store.segment_postings import ranges
from store.segments import SegmentView

F4 = NDArray[np.float32]
I4 = NDArray[np.int32]
I8 = NDArray[np.int64]
U8 = NDArray[np.uint64]

K1: Final = 1.2
BODY_B: Final = 0.5
CHUNK_B: Final = 0.75
FIELD_B: Final = 0.5
_FEW_CHUNKS: Final = 12  # of a file; with more it is quicker to go through file by file


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """The live postings of several terms: segment by segment, term by term, ascending."""

    number: I4  # chunk or file, in corpus order
    tf: F4
    term: I8  # position in the terms asked for
    heads: I8  # where the postings of one term in one segment begin
    document_frequency: I8  # [terms]


@dataclass(frozen=True, slots=True, eq=False)
class _Numbering:
    """Turns one segment's ordinals into corpus numbers."""

    shift: int  # added to each ordinal, when nothing is dead and nothing lies between
    table: I4 | None  # otherwise; -1 for the dead

    def apply(self, ordinals: Ordinals) -> I4:
        if self.table is not None:
            return self.table[ordinals]
        return ordinals.astype(np.int32) + np.int32(self.shift)


@dataclass(frozen=True, slots=True, eq=False)
class _Short:
    """Files of few chunks, as they are gone through all at once."""

    files: I8  # most chunks first
    chunks: I8  # the first one of every file, the second one of those that have two, ...
    sizes: Sequence[int]  # how many files have a chunk in each place


@dataclass(frozen=True, slots=True, eq=False)
class _Long:
    """Files as they are gone through one after the other."""

    files: I8
    chunks: I8
    heads: I8  # where in `chunks` those of each file begin


class Corpus:
    """The live files of an index. File and chunk numbers are positions in its arrays.

    Postings are read through the segment views it was made of, so it must not outlive the memory
    that they read.
    """

    def __init__(self, segments: Sequence[SegmentView]) -> None:
        """Lay the segments out; raises ValueError when a live file occurs twice."""
        live = [np.flatnonzero(view.live_files) for view in segments]

        def column(name: str) -> NDArray[Any]:
            parts = [getattr(v.arrays, name)[at] for v, at in zip(segments, live, strict=True)]
            return np.concatenate(parts) if parts else np.empty(0, np.int64)

        order = np.argsort(column("file_sequence"), kind="stable")
        self.file_sequence: U8 = column("file_sequence")[order].astype(np.uint64)
        if np.any(self.file_sequence[1:] == self.file_sequence[:-1]):
            raise ValueError("a live file occurs in two segments")
        self.kind: NDArray[np.uint8] = column("kind")[order].astype(np.uint8)
        chunks = [v.chunks_of_file[at] for v, at in zip(segments, live, strict=True)]
        counts = np.concatenate([np.zeros(0, np.int64), *chunks])[order]
        self.chunk_start: I8 = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
        chunk_length = np.empty(int(self.chunk_start[-1]), np.int64)

        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))
        self._segments: list[tuple[SegmentView, _Numbering, _Numbering]] = []
        before = 0
        for view, at in zip(segments, live, strict=True):
            files = np.full(view.file_count, -1, np.int64)
            files[at] = number[before : before + len(at)]
            before += len(at)
            move = self.chunk_start[files] - view.arrays.chunk_start[:-1]
            numbers = np.arange(view.chunk_count) + move[view.chunk_file]
            numbers[files[view.chunk_file] < 0] = -1
            chunk_length[numbers[numbers >= 0]] = view.arrays.chunk_length[numbers >= 0]
            self._segments.append((view, _numbering(files), _numbering(numbers)))

        total = np.concatenate((np.zeros(1, np.int64), np.cumsum(chunk_length)))
        self.body_length: I8 = np.diff(total[self.chunk_start])  # terms with repeats
        self.body_norm = _norm(self.body_length, BODY_B)
        self.chunk_norm = _norm(chunk_length, CHUNK_B)
        self.field_norm: F4 = np.stack(  # [path and symbols, files]
            [
                _norm(column(name)[order].astype(np.int64), FIELD_B)
                for name in ("path_length", "symbols_length")
            ]
        )
        self.chunk_file: I4 = np.repeat(np.arange(len(order), dtype=np.int32), counts)

    @cached_property
    def _short(self) -> _Short:
        counts = np.diff(self.chunk_start)
        files = np.flatnonzero((counts > 0) & (counts <= _FEW_CHUNKS))
        files = files[np.argsort(-counts[files], kind="stable")]
        first, counts = self.chunk_start[files], counts[files]
        sizes = [int(np.count_nonzero(counts > place)) for place in range(_FEW_CHUNKS)]
        places = [first[:size] + place for place, size in enumerate(sizes)]
        return _Short(files, np.concatenate(places), sizes)

    @cached_property
    def _long(self) -> _Long:
        return self._laid(np.flatnonzero(np.diff(self.chunk_start) > _FEW_CHUNKS))

    def _laid(self, files: I8) -> _Long:
        first = self.chunk_start[files]
        counts = self.chunk_start[files + 1] - first
        heads = np.cumsum(counts) - counts
        chunks = np.repeat(first - heads, counts)
        return _Long(files, chunks + np.arange(len(chunks)), heads)

    @property
    def file_count(self) -> int:
        return len(self.file_sequence)

    @property
    def chunk_count(self) -> int:
        return len(self.chunk_file)

    def numbers_of(self, file_sequence: U8) -> I8:
        """Return the files' numbers; -1 for one that is not alive here."""
        at = np.searchsorted(self.file_sequence, file_sequence)
        inside = at < self.file_count
        at = np.where(inside, at, 0)
        found = inside & (self.file_sequence[at] == file_sequence) if self.file_count else inside
        return np.where(found, at, -1)

    def body_hits(self, terms: U8) -> Hits:
        """Return the chunks that hold the terms."""
        return _gather([(v.arrays.body, chunks) for v, _, chunks in self._segments], terms)

    def document_frequency(self, terms: U8) -> I8:
        """In how many chunks each term is; those of files that are gone are counted until compaction."""
        frequency = np.zeros(len(terms), np.int64)
        for view, _, _ in self._segments:
            starts, stops = ranges(view.arrays.body, terms)
            frequency += stops - starts
        return frequency

    def field_hits(self, terms: U8) -> Hits:
        """Return the files that hold the salted field terms."""
        return _gather([(v.arrays.field, files) for v, files, _ in self._segments], terms)

    def best_chunks(self, chunk: F4) -> tuple[F4, F4]:
        """Return each file's best chunk score and the sum of its three best.

        `chunk` holds a score for each chunk, none below zero. Where most of them are scored, the many
        files of few chunks are gone through together: one by one each costs more than its chunks.
        """
        best, top3 = np.zeros((2, self.file_count), np.float32)
        is_scored = chunk > 0
        if 2 * np.count_nonzero(is_scored) < len(chunk):
            scored = np.flatnonzero(is_scored)
            score, file = chunk[scored], self.chunk_file[scored]
            heads = np.flatnonzero(_is_head(file))
            files = file[heads].astype(np.int64)
        else:
            short, long = self._short, self._long
            best[short.files], top3[short.files] = _best_by_place(chunk[short.chunks], short.sizes)
            score, file = chunk[long.chunks], self.chunk_file[long.chunks]
            files, heads = long.files, long.heads
        if len(files):
            best[files], top3[files] = _best_of_runs(score, file, heads)
        return best, top3

    def best_chunks_of(self, files: I8, chunk: F4) -> tuple[F4, F4]:
        """Return what `best_chunks` does for some files, each of which has a chunk."""
        if not len(files):
            return np.zeros(0, np.float32), np.zeros(0, np.float32)
        laid = self._laid(files)
        return _best_of_runs(chunk[laid.chunks], self.chunk_file[laid.chunks], laid.heads)


def _best_by_place(score: F4, sizes: Sequence[int]) -> tuple[F4, F4]:
    """Return what `_best_of_runs` does, for scores in the order of `_Short.chunks`."""
    best, second, third = np.zeros((3, sizes[0] if sizes else 0), np.float32)
    end = 0
    for size in sizes:
        start, end = end, end + size
        own, first, then = score[start:end], best[:size], second[:size]
        lower = np.minimum(first, own)
        np.maximum(first, own, out=first)
        np.minimum(then, lower, out=own)
        np.maximum(then, lower, out=then)
        np.maximum(third[:size], own, out=third[:size])
    return best, best + second + third


def _best_of_runs(score: F4, file: I4, heads: I8) -> tuple[F4, F4]:
    """Return the highest score of each file's run and the sum of its three highest.

    Three times the highest of each run is taken, and then struck out once, in `score` itself: cheaper
    than sorting.
    """
    lengths = np.append(heads[1:], len(score)) - heads
    best = highest = np.maximum.reduceat(score, heads)
    top3 = best.copy()
    for _ in range(2):
        struck = np.flatnonzero(score == np.repeat(highest, lengths))
        score[struck[_is_head(file[struck])]] = 0
        highest = np.maximum.reduceat(score, heads)
        top3 += highest
    return best, top3


def _is_head(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values differ from those before them."""
    is_head = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=is_head[1:])
    return is_head


def _gather(parts: Sequence[tuple[Postings, _Numbering]], terms: U8) -> Hits:
    numbers, tf = [np.zeros(0, np.int32)], [np.zeros(0, np.uint8)]
    found_terms, lengths = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for postings, numbering in parts:
        starts, stops = ranges(postings, terms)
        found = np.flatnonzero(stops > starts)
        if not len(found):
            continue
        bounds = zip(starts[found].tolist(), stops[found].tolist(), strict=True)
        spans = [slice(start, stop) for start, stop in bounds]
        number = numbering.apply(np.concatenate([postings.ordinals[span] for span in spans]))
        counts = np.concatenate([postings.tf[span] for span in spans])
        length = (stops - starts)[found]
        if numbering.table is not None:
            alive = number >= 0
            length = np.add.reduceat(alive, np.cumsum(length) - length, dtype=np.int64)
            number, counts = number[alive], counts[alive]
        numbers.append(number)
        tf.append(counts)
        found_terms.append(found[length > 0])
        lengths.append(length[length > 0])
    length, term = np.concatenate(lengths), np.concatenate(found_terms)
    return Hits(
        number=np.concatenate(numbers),
        tf=np.concatenate(tf).astype(np.float32),
        term=np.repeat(term, length),
        heads=np.cumsum(length) - length,
        document_frequency=np.bincount(term, length, minlength=len(terms)).astype(np.int64),
    )


def _numbering(numbers: I8) -> _Numbering:
    if not len(numbers):
        return _Numbering(0, None)
    shift = int(numbers[0])
    if shift >= 0 and np.array_equal(numbers, np.arange(shift, shift + len(numbers))):
        return _Numbering(shift, None)
    return _Numbering(0, numbers.astype(np.int32))


def _norm(length: I8, b: float) -> F4:
    mean = max(float(length.sum()) / max(len(length), 1), 1e-9)
    return (K1 * (1 - b + b * length / mean)).astype(np.float32)
