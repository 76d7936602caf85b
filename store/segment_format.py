"""How is one segment of the lexical index laid out in bytes?

    header   "RFSG", format version u2, ordinal widths u1 u1, xxh3 of the rest u8, six counts u4
    u8       file_sequence[F]  body terms[T]  field terms[U]
    u4       chunk_start[F+1]  path_length[F]  symbols_length[F]  file_postings[F]
             chunk_length[C]  body starts[T+1]  field starts[U+1]
    u2 | u4  body ordinals[P]  field ordinals[Q]
    u1       kind[F]  body tf[P]  field tf[Q]

Everything is little-endian and falls on its natural alignment when the blob starts on a multiple
of eight. The counts alone give every offset, so a blob is opened in constant time and read in
place; `verify` reads it all. Ordinals take two bytes while the segment has at most 65,536 of them.

FORMAT_VERSION 1: first.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import xxhash
from numpy.typing import NDArray

from contracts.errors import Fault

FORMAT_VERSION: Final = 1
_MAGIC: Final = b"RFSG"
_HEADER: Final = struct.Struct("<4sHBBQ6I")
_NARROW: Final = 1 << 16  # ordinals below this fit two bytes
_LIMIT: Final = (1 << 32) - 1

Blob: TypeAlias = bytes | memoryview
U1: TypeAlias = NDArray[np.uint8]
U4: TypeAlias = NDArray[np.uint32]
U8: TypeAlias = NDArray[np.uint64]
Ordinals: TypeAlias = NDArray[np.unsignedinteger[Any]]  # u2 in narrow segments, u4 in wide ones


class SegmentCorrupt(Fault):
    """A stored segment is not what its header says."""

    code = "INDEX_CORRUPT"


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """For each term, ascending: which chunks (or files) hold it, and how often."""

    terms: U8
    starts: U4  # [terms + 1] into the two arrays below
    ordinals: Ordinals  # ascending within a term
    tf: U1


@dataclass(frozen=True, slots=True, eq=False)
class SegmentArrays:
    """The columns of one segment. Files are in the order of their sequence."""

    file_sequence: U8
    kind: U1  # index into `segments.KINDS`
    chunk_start: U4  # [files + 1]: the file's first chunk ordinal
    chunk_length: U4  # terms with repeats
    path_length: U4
    symbols_length: U4
    file_postings: U4  # body and field postings of the file, what its death leaves to sweep
    body: Postings  # ordinals are chunks
    field: Postings  # ordinals are files; the terms are salted by field


def encode(arrays: SegmentArrays) -> bytes:
    """Return the blob of one segment."""
    files, chunks = len(arrays.file_sequence), len(arrays.chunk_length)
    counts = (
        files,
        chunks,
        *(len(column) for post in (arrays.body, arrays.field) for column in (post.terms, post.tf)),
    )
    if max(counts) > _LIMIT:
        raise ValueError("a segment holds at most 2**32 - 1 of anything")
    widths = (_width(chunks), _width(files))
    columns = [
        column.astype(dtype, copy=False).tobytes()
        for column, (dtype, _) in zip(_columns(arrays), _layout(counts, widths), strict=True)
    ]
    digest = xxhash.xxh3_64()
    for column in columns:
        digest.update(column)
    header = _HEADER.pack(_MAGIC, FORMAT_VERSION, *widths, digest.intdigest(), *counts)
    return b"".join([header, *columns])


def decode(blob: Blob) -> SegmentArrays:
    """Return views into `blob` (a copy is made only when it is not aligned to eight bytes).

    Checks what constant time can check; raises SegmentCorrupt.
    """
    counts, widths, _ = _read_header(blob)
    data = np.frombuffer(blob, np.uint8)
    if data.ctypes.data % 8:
        data = data.copy()  # unaligned columns would be copied anew by every look-up
    offset, columns = _HEADER.size, []
    for dtype, length in _layout(counts, widths):
        end = offset + np.dtype(dtype).itemsize * length
        columns.append(data[offset:end].view(dtype))
        offset = end
    sequence, terms, field_terms, chunk_start, path, symbols, sweep, chunk_length = columns[:8]
    starts, field_starts, ordinals, field_ordinals, kind, tf, field_tf = columns[8:]
    ends = (int(chunk_start[-1]), int(starts[-1]), int(field_starts[-1]))
    if ends != (counts[1], counts[3], counts[5]):
        raise _corrupt("its offsets do not end where its counts say")
    return SegmentArrays(
        sequence, kind, chunk_start, chunk_length, path, symbols, sweep,
        Postings(terms, starts, ordinals, tf),
        Postings(field_terms, field_starts, field_ordinals, field_tf),
    )  # fmt: skip


def verify(blob: Blob) -> None:
    """Read the whole blob against its checksum; raises SegmentCorrupt."""
    _, _, expected = _read_header(blob)
    if xxhash.xxh3_64_intdigest(memoryview(blob)[_HEADER.size :]) != expected:
        raise _corrupt("its checksum does not match")


def _read_header(blob: Blob) -> tuple[tuple[int, ...], tuple[int, int], int]:
    if len(blob) < _HEADER.size:
        raise _corrupt(f"{len(blob)} bytes are too few for a header")
    magic, version, body_width, field_width, digest, *counts = _HEADER.unpack_from(blob)
    if magic != _MAGIC:
        raise _corrupt("it does not begin with the segment mark")
    if version != FORMAT_VERSION:
        raise _corrupt(f"it is of format {version}, this program reads {FORMAT_VERSION}")
    if (body_width, field_width) != (_width(counts[1]), _width(counts[0])):
        raise _corrupt("its ordinal widths do not fit its counts")
    widths = (body_width, field_width)
    needed = sum(np.dtype(dtype).itemsize * length for dtype, length in _layout(counts, widths))
    if len(blob) != _HEADER.size + needed:
        raise _corrupt(f"{len(blob)} bytes where {_HEADER.size + needed} were written")
    return tuple(counts), widths, digest


def _columns(arrays: SegmentArrays) -> tuple[NDArray[Any], ...]:
    body, field = arrays.body, arrays.field
    return (
        arrays.file_sequence, body.terms, field.terms,
        arrays.chunk_start, arrays.path_length, arrays.symbols_length, arrays.file_postings,
        arrays.chunk_length, body.starts, field.starts,
        body.ordinals, field.ordinals,
        arrays.kind, body.tf, field.tf,
    )  # fmt: skip


def _layout(counts: tuple[int, ...] | list[int], widths: tuple[int, int]) -> list[tuple[str, int]]:
    files, chunks, terms, postings, field_terms, field_postings = counts
    return [
        ("<u8", files), ("<u8", terms), ("<u8", field_terms),
        ("<u4", files + 1), ("<u4", files), ("<u4", files), ("<u4", files),
        ("<u4", chunks), ("<u4", terms + 1), ("<u4", field_terms + 1),
        (f"<u{widths[0]}", postings), (f"<u{widths[1]}", field_postings),
        ("<u1", files), ("<u1", postings), ("<u1", field_postings),
    ]  # fmt: skip


def _width(ordinals: int) -> int:
    return 2 if ordinals <= _NARROW else 4


def _corrupt(what: str) -> SegmentCorrupt:
    return SegmentCorrupt(
        f"a segment of the lexical index cannot be read: {what}",
        hint="rebuild the projections from the log with `repofold replay`",
    )
