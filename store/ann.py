"""What is a generation of a repository's vector index, and how is it searched?

A generation holds short codes of all vectors of certain files. The vectors themselves stay where
they are, in the rows of their files: a search takes candidates from the codes, leaves out those
whose file is gone, adds every vector of the files that came later, and scores all of these with the
vectors. So nothing live is ever missing for having come late, nothing dead is found, and scores are
those of an exact scan.

    blob      msgpack of `_Blob`, cut into parts of at most 512 KiB
    head      AnnHead: which files, in which space, the checksum of the whole blob
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import msgspec
import numpy as np
import xxhash
from msgspec import Struct
from numpy.typing import NDArray

from store import keys
from store.env import ReadTxn
from store.rows import AnnHead

if TYPE_CHECKING:
    from store.ann_codes import Codes

F4 = NDArray[np.float32]
I1 = NDArray[np.int8]
I8 = NDArray[np.int64]
U8 = NDArray[np.uint64]

PART_BYTES = 512 * 1024
_FORMAT = 1
_SCALE = 127.0  # of the stored unit vectors
_SLICE_ROWS = 16_384
_BLOCK_ROWS = 2_048  # scored at a time, so that the floats stay in the cache
_OVERSAMPLE = 2  # candidates for each passage asked for, and so many more:
_EXTRA = 400


class _Blob(Struct, frozen=True, array_like=True):
    format: int
    dimension: int
    counts: bytes  # u4[files], vectors of each file
    codes: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Blob).decode
_decode_head = msgspec.msgpack.Decoder(AnnHead).decode


class VectorRows(Protocol):
    """The live vectors as whoever searches holds them; services/query/ranking/dense.py has one."""

    @property
    def vectors(self) -> I1:
        """Shape [rows, dimension]; rows that no file claims are dead."""

    @property
    def file_sequence(self) -> U8:
        """Shape [files], in any order."""

    @property
    def row_start(self) -> I8: ...
    @property
    def row_count(self) -> I8: ...


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The passages closest to a query, best first."""

    file_sequence: U8
    chunk: I8  # ordinal within the file
    score: F4  # cosine


# -- building -----------------------------------------------------------------------------------


class Built(Struct, frozen=True):
    """A generation that is not published yet."""

    kind: str
    blob: bytes
    files: U8
    vectors: int

    @property
    def checksum(self) -> str:
        return checksum_of(self.blob)

    def parts(self) -> list[bytes]:
        """The blob, cut up."""
        return [
            self.blob[start : start + PART_BYTES] for start in range(0, len(self.blob), PART_BYTES)
        ]


def build(
    files: Sequence[tuple[int, bytes]], dimension: int, is_cancelled: Callable[[], bool]
) -> Built | None:
    """Build a generation of `files`: sequence, ascending, and i1[chunks, dimension].

    None when it was cancelled. Raises ValueError when there is no vector, or half of one.
    """
    from store.ann_codes import KIND, Codes

    raw = b"".join(rows for _, rows in files)
    matrix = np.frombuffer(raw, np.int8).reshape(-1, dimension)
    if not len(matrix):
        raise ValueError("there is nothing to index")
    codes = Codes.trained(matrix, dimension)
    for start in range(0, len(matrix), _SLICE_ROWS):
        if is_cancelled():
            return None
        codes.add(matrix[start : start + _SLICE_ROWS])
    counts = np.array([len(rows) // dimension for _, rows in files], "<u4")
    blob = _encode(_Blob(_FORMAT, dimension, counts.tobytes(), codes.to_bytes()))
    sequences = np.array([sequence for sequence, _ in files], np.uint64)
    return Built(KIND, blob, sequences, len(matrix))


def checksum_of(blob: bytes) -> str:
    return f"xx128:{xxhash.xxh3_128_hexdigest(blob)}"


# -- loading ------------------------------------------------------------------------------------


class AnnIndex:
    """A loaded generation. Safe to share between threads."""

    def __init__(self, head: AnnHead, blob: _Blob, codes: Codes) -> None:
        self.generation = head.generation
        self.space = head.space
        self.dimension = blob.dimension
        self.files: U8 = np.frombuffer(head.files, "<u8").astype(np.uint64)
        counts = np.frombuffer(blob.counts, "<u4").astype(np.int64)
        self.row_start: I8 = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
        self._codes = codes

    @property
    def vectors(self) -> int:
        return int(self.row_start[-1])

    def candidates(self, query: F4, count: int) -> tuple[I8, I8]:
        """File ordinal and chunk of about the `count` nearest, best first, dead files included."""
        rows = self._codes.nearest(query, count)
        ordinal = np.searchsorted(self.row_start, rows, "right") - 1
        return ordinal, rows - self.row_start[ordinal]


class Loaded(Struct, frozen=True):
    """A generation, or why there is none: then every vector has to be scanned."""

    index: AnnIndex | None
    reason: str = ""  # none, missing_part, checksum, unloadable, count_mismatch


class AnnGenerations:
    """The newest generation of each repository, loaded once. Thread-safe."""

    def __init__(self, loaded: Callable[[str, bool], None] | None = None) -> None:
        """`loaded` is told of each load: why there is no index ("" for one), and whether it took
        the place of another."""
        self._lock = threading.Lock()
        self._loaded: dict[str, tuple[tuple[int, str], Loaded]] = {}
        self._told = loaded

    def get(self, txn: ReadTxn, repo_id: str) -> Loaded:
        """The generation that is published in this snapshot."""
        raw = txn.get("ann_heads", keys.repo(repo_id))
        if raw is None:
            self._loaded.pop(repo_id, None)
            return Loaded(None, "none")
        head = _decode_head(raw)
        version = (head.generation, head.checksum)
        with self._lock:
            known = self._loaded.get(repo_id)
            if known is None or known[0] != version:
                replaces = known is not None and known[1].index is not None
                known = (version, load(txn, repo_id, head))
                self._loaded[repo_id] = known
                if self._told is not None:
                    self._told(known[1].reason, replaces)
            return known[1]


def load(txn: ReadTxn, repo_id: str, head: AnnHead) -> Loaded:
    """Read a generation and check it; never raises for a damaged one."""
    repo_key = keys.repo(repo_id)
    wanted = [keys.part(repo_key, head.generation, number) for number in range(head.parts)]
    found = txn.many("ann_parts", wanted)
    if len(found) < len(wanted):
        return Loaded(None, "missing_part")
    blob = b"".join(found[key] for key in wanted)
    if checksum_of(blob) != head.checksum:
        return Loaded(None, "checksum")
    from store.ann_codes import Codes

    try:
        decoded = _decode(blob)
        if decoded.format != _FORMAT:
            return Loaded(None, "unloadable")
        codes = Codes.from_bytes(decoded.codes, decoded.dimension)
    except (msgspec.MsgspecError, ValueError):
        return Loaded(None, "unloadable")
    index = AnnIndex(head, decoded, codes)
    if not index.vectors == len(codes) == head.vectors or len(index.files) + 1 != len(
        index.row_start
    ):
        return Loaded(None, "count_mismatch")
    return Loaded(index)


# -- searching ----------------------------------------------------------------------------------


class Overlay:
    """One generation over one state of the live vectors; made once for both, safe to share."""

    def __init__(self, index: AnnIndex, live: VectorRows) -> None:
        """Both must be of the same embedding space."""
        self._index, self._vectors = index, live.vectors
        at = np.minimum(np.searchsorted(index.files, live.file_sequence), len(index.files) - 1)
        counts = np.diff(index.row_start)
        held = (index.files[at] == live.file_sequence) & (counts[at] == live.row_count)
        self._start: I8 = np.full(len(index.files), -1, np.int64)  # first row of a file; -1 dead
        self._start[at[held]] = live.row_start[held]
        self._dead_rows = int(counts[self._start < 0].sum())

        later = np.flatnonzero(~held)
        chunks = live.row_count[later]
        first = np.cumsum(chunks) - chunks
        self._later_chunk: I8 = np.arange(int(chunks.sum())) - np.repeat(first, chunks)
        self._later_row: I8 = np.repeat(live.row_start[later], chunks) + self._later_chunk
        self._later_file: U8 = np.repeat(live.file_sequence[later], chunks)

    @property
    def later_vectors(self) -> int:
        """Vectors that are not in the generation and are scanned for every query."""
        return len(self._later_row)

    @property
    def dead_vectors(self) -> int:
        """Vectors of the generation whose file is gone."""
        return self._dead_rows

    def search(self, query: F4, count: int) -> Nearest:
        """The `count` nearest passages. `query` is a unit vector."""
        ordinal, chunk = self._candidates(query, count)
        rows = np.concatenate((self._start[ordinal] + chunk, self._later_row))
        scores = _scored(self._vectors, rows, query)
        files = np.concatenate((self._index.files[ordinal], self._later_file))
        chunks = np.concatenate((chunk, self._later_chunk))
        if count < len(scores):
            best = np.argpartition(-scores, count)[:count]
        else:
            best = np.arange(len(scores))
        best = best[np.lexsort((chunks[best], files[best], -scores[best]))]
        return Nearest(files[best], chunks[best], scores[best])

    def _candidates(self, query: F4, count: int) -> tuple[I8, I8]:
        """Live candidates of the generation, enough of them to find the nearest `count` among."""
        wanted = min(count, self._index.vectors - self._dead_rows)
        asked = _OVERSAMPLE * count + _EXTRA
        while True:
            ordinal, chunk = self._index.candidates(query, asked)
            live = self._start[ordinal] >= 0
            if np.count_nonzero(live) >= wanted or asked >= self._index.vectors:
                return ordinal[live], chunk[live]
            asked *= 2


def _scored(vectors: I1, rows: I8, query: F4) -> F4:
    """Cosine of the given rows, exact."""
    query = (query / np.float32(_SCALE)).astype(np.float32)
    scores = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = vectors[rows[start : start + _BLOCK_ROWS]].astype(np.float32)
        np.dot(block, query, out=scores[start : start + _BLOCK_ROWS])
    return scores
