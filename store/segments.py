"""How does the lexical index grow, shrink and get read, one immutable segment at a time?

A commit of the projector builds one segment from the files it folded; neighbours are merged as
`plan_merge` says. A file replaced or deleted later is dead in its segment: its ordinal is kept
beside the blob, and the next merge sweeps it out. Nothing here touches a store: blobs come in,
blobs go out, and a `SegmentView` reads one in place.

The content of an index does not depend on how its files are spread over segments: merging gives
byte for byte what building the live files at once would give.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from contracts.extract import Terms
from store.segment_format import (
    U1,
    U4,
    Blob,
    Ordinals,
    SegmentArrays,
    SegmentCorrupt,
    decode,
    encode,
    verify,
)
from store.segment_plan import SegmentSize, plan_merge
from store.segment_postings import invert, join, lookup, renumber

__all__ = [
    "KINDS", "SegmentCorrupt", "SegmentFile", "SegmentSize", "SegmentView", "build_segment",
    "merge_segments", "plan_merge", "verify",
]  # fmt: skip

KINDS: Final = ("code", "test", "doc", "config", "vendor", "example", "data")  # append only
_KIND_CODE: Final = {kind: code for code, kind in enumerate(KINDS)}


class SegmentFile(Struct, frozen=True):
    """One live file version to be indexed."""

    file_sequence: int  # INDEX stream sequence of its record, unique in the whole index
    kind: str  # one of KINDS
    terms: Terms


class SegmentView:
    """One segment, read in place, with the files that died since it was written."""

    def __init__(self, blob: Blob, dead: Sequence[int] | NDArray[Any] = ()) -> None:
        """Open `blob`; `dead` lists file ordinals. Raises SegmentCorrupt, ValueError for those."""
        self.arrays = decode(blob)
        self.dead = np.unique(np.asarray(dead, np.int64))
        if len(self.dead) and not 0 <= self.dead[0] <= self.dead[-1] < self.file_count:
            raise ValueError("a dead ordinal lies outside the segment")

    @property
    def file_count(self) -> int:
        """Files written, dead ones included."""
        return len(self.arrays.file_sequence)

    @property
    def chunk_count(self) -> int:
        """Chunks written, those of dead files included."""
        return len(self.arrays.chunk_length)

    @cached_property
    def live_files(self) -> NDArray[np.bool_]:
        mask = np.ones(self.file_count, np.bool_)
        mask[self.dead] = False
        return mask

    @cached_property
    def chunks_of_file(self) -> NDArray[np.int64]:
        return np.diff(self.arrays.chunk_start).astype(np.int64)

    @cached_property
    def chunk_file(self) -> NDArray[np.int64]:
        """The file ordinal of each chunk."""
        return np.repeat(np.arange(self.file_count), self.chunks_of_file)

    @cached_property
    def size(self) -> SegmentSize:
        arrays = self.arrays
        return SegmentSize(
            postings=len(arrays.body.tf) + len(arrays.field.tf),
            dead=int(arrays.file_postings[self.dead].sum()),
        )

    def ordinal_of(self, file_sequence: int) -> int | None:
        """Return the file's ordinal, dead or alive; None when it is not in this segment."""
        sequences = self.arrays.file_sequence
        at = int(np.searchsorted(sequences, np.uint64(file_sequence)))
        return at if at < len(sequences) and int(sequences[at]) == file_sequence else None

    def body_postings(self, term: int) -> tuple[Ordinals, U1]:
        """Return the chunk ordinals that hold the term, dead or alive, and how often."""
        return lookup(self.arrays.body, term)

    def field_postings(self, term: int) -> tuple[Ordinals, U1]:
        """Return the file ordinals that hold the salted field term, dead or alive, and how often."""
        return lookup(self.arrays.field, term)


def build_segment(files: Iterable[SegmentFile]) -> bytes:
    """Return the blob of one segment that holds `files`, in the order of their sequence.

    Raises ValueError when a file comes twice, has an unknown kind, or its arrays do not fit
    together.
    """
    ordered = sorted(files, key=lambda file: file.file_sequence)
    for file in ordered:
        _check(file)
    terms = [file.terms for file in ordered]
    chunks_of_file = np.array([len(term.chunk_length) // 4 for term in terms], np.int64)
    terms_of_field = np.array([len(term.field_tf) for term in terms], np.int64)
    terms_of_body = np.array([len(term.chunk_tf) for term in terms], np.int64)
    body_hash = _joined([term.chunk_hash for term in terms], np.uint64)
    body_tf = _joined([term.chunk_tf for term in terms], np.uint8)
    field_hash = _joined([term.field_hash for term in terms], np.uint64)
    field_tf = _joined([term.field_tf for term in terms], np.uint8)
    return encode(
        SegmentArrays(
            file_sequence=_distinct(np.array([file.file_sequence for file in ordered], np.uint64)),
            kind=np.array([_KIND_CODE[file.kind] for file in ordered], np.uint8),
            chunk_start=_starts(chunks_of_file),
            chunk_length=_joined([term.chunk_length for term in terms], np.uint32),
            path_length=np.array([term.path_length for term in terms], np.uint32),
            symbols_length=np.array([term.symbols_length for term in terms], np.uint32),
            file_postings=(terms_of_body + terms_of_field).astype(np.uint32),
            body=invert(body_hash, _terms_of_chunk(terms, chunks_of_file), body_tf),
            field=invert(field_hash, terms_of_field, field_tf),
        )
    )


def merge_segments(segments: Sequence[tuple[Blob, Sequence[int] | NDArray[Any]]]) -> bytes:
    """Return one segment of the live files of several; `segments` pairs blobs with dead ordinals.

    Raises ValueError when two of them hold the same live file, SegmentCorrupt for a broken blob.
    """
    if not segments:
        return build_segment(())
    views = sorted((SegmentView(blob, dead) for blob, dead in segments), key=_first_live)
    sequence = _live_column(views, "file_sequence")
    order = np.argsort(sequence, kind="stable")
    is_woven = bool(np.any(order[1:] < order[:-1]))
    chunk_start = _starts(np.concatenate([v.chunks_of_file[v.live_files] for v in views])[order])
    chunk_length = np.empty(int(chunk_start[-1]), np.uint32)

    number = np.empty(len(order), np.int64)  # of each live file as the views give it -> in the end
    number[order] = np.arange(len(order))
    bodies, fields, before = [], [], 0
    for view in views:
        arrays, alive = view.arrays, view.live_files
        files = np.full(view.file_count, -1, np.int64)
        files[alive] = number[before : before + int(alive.sum())]
        before += int(alive.sum())
        move = chunk_start[files].astype(np.int64) - arrays.chunk_start[:-1]
        chunks = np.where(
            alive[view.chunk_file], np.arange(view.chunk_count) + move[view.chunk_file], -1
        )
        chunk_length[chunks[chunks >= 0]] = arrays.chunk_length[chunks >= 0]
        all_live = not len(view.dead)
        bodies.append(renumber(arrays.body, chunks, all_live=all_live))
        fields.append(renumber(arrays.field, files, all_live=all_live))
    return encode(
        SegmentArrays(
            file_sequence=_distinct(sequence[order]),
            kind=_live_column(views, "kind")[order],
            chunk_start=chunk_start,
            chunk_length=chunk_length,
            path_length=_live_column(views, "path_length")[order],
            symbols_length=_live_column(views, "symbols_length")[order],
            file_postings=_live_column(views, "file_postings")[order],
            body=join(bodies, is_woven=is_woven),
            field=join(fields, is_woven=is_woven),
        )
    )


def _live_column(views: Sequence[SegmentView], name: str) -> NDArray[Any]:
    return np.concatenate([getattr(view.arrays, name)[view.live_files] for view in views])


def _first_live(view: SegmentView) -> int:
    live = view.arrays.file_sequence[view.live_files]
    return int(live[0]) if len(live) else 0


def _distinct(sequence: NDArray[np.uint64]) -> NDArray[np.uint64]:
    if np.any(sequence[1:] == sequence[:-1]):
        raise ValueError("a file sequence occurs twice among the live files of one segment")
    return sequence


def _check(file: SegmentFile) -> None:
    terms = file.terms
    chunks = len(terms.chunk_length) // 4
    last = int.from_bytes(terms.chunk_offsets[-4:], "little")
    if file.kind not in _KIND_CODE:
        raise ValueError(f"unknown file kind {file.kind!r}")
    if (
        len(terms.chunk_offsets) != 4 * (chunks + 1)
        or len(terms.chunk_tf) != last
        or len(terms.chunk_hash) != 8 * last
        or len(terms.field_hash) != 8 * len(terms.field_tf)
    ):
        raise ValueError(f"the term arrays of file {file.file_sequence} do not fit together")


def _terms_of_chunk(terms: Sequence[Terms], chunks_of_file: NDArray[np.int64]) -> NDArray[np.int64]:
    offsets = _joined([term.chunk_offsets for term in terms], np.uint32).astype(np.int64)
    steps = np.diff(offsets)
    between_files = np.cumsum(chunks_of_file + 1)[:-1] - 1  # no chunk: last offset to a first one
    return np.delete(steps, between_files)


def _joined(parts: Iterable[bytes], dtype: type[np.generic]) -> NDArray[Any]:
    return np.frombuffer(b"".join(parts), dtype)


def _starts(counts: NDArray[np.int64]) -> U4:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts))).astype(np.uint32)
