"""How are many vectors searched without reading all of them? The only importer of faiss.

Product quantisation at four bits, all codes scanned with SIMD table look-ups: half a byte for each
component, or for a few together where there are many. Its order is only roughly right; whoever asks
scores the best few hundred again with the vectors themselves. Measured against an exact scan, IVF
and HNSW in docs/benchmarks.md (`python -m ops.bench.ann`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

F4 = NDArray[np.float32]
I1 = NDArray[np.int8]
I8 = NDArray[np.int64]
U1 = NDArray[np.uint8]

KIND = "pq4"
_BITS = 4
_MOST_GROUPS = 192  # of components with one code: 96 bytes for each vector at most
_ALIGNED = 16
_SAMPLE = 16_000  # vectors to learn the codes from
_SLICE = 32_768  # vectors turned to floats at a time

# Every caller has threads of its own; a search is too short to share.
faiss.omp_set_num_threads(1)


class Codes:
    """Codes of many vectors, in the order in which they were added."""

    def __init__(self, index: Any, dimension: int) -> None:
        self._scanned = index  # None while vectors are added
        self._dimension = dimension
        self._trained: Any = None
        self._encode: Callable[[I1], U1]  # of trained codes
        self._added: list[U1] = []

    @classmethod
    def trained(cls, sample: Sequence[I1] | I1, dimension: int) -> Codes:
        """Empty codes for vectors like those of `sample`, which must not be empty."""
        width = _padded(dimension)
        index = faiss.IndexPQ(width, _groups(width), _BITS, faiss.METRIC_INNER_PRODUCT)
        index.pq.cp.min_points_per_centroid = 1  # a small sample is no reason for a warning
        rows = np.asarray(sample, np.int8).reshape(-1, dimension)
        if len(rows) > _SAMPLE:
            rows = rows[np.linspace(0, len(rows) - 1, _SAMPLE).astype(np.int64)]
        needed = 1 << _BITS
        if len(rows) < needed:
            rows = np.resize(rows, (needed, dimension))
        index.train(_floats(rows, width))
        found = cls(None, dimension)
        found._trained, found._encode = index, _encoder(index.pq, dimension)
        return found

    @classmethod
    def from_bytes(cls, raw: bytes, dimension: int) -> Codes:
        """The inverse of `to_bytes`; raises ValueError for bytes that faiss does not take."""
        try:
            index = faiss.deserialize_index(np.frombuffer(raw, np.uint8))
        except RuntimeError as error:
            raise ValueError(str(error).splitlines()[0][:200]) from None
        if index.d != _padded(dimension):
            raise ValueError(f"the codes are of dimension {index.d}, not {dimension}")
        return cls(index, dimension)

    def to_bytes(self) -> bytes:
        return bytes(faiss.serialize_index(self._index))

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def add(self, rows: I1) -> None:
        """Append vectors, [rows, dimension], to trained codes that nothing was asked of yet."""
        for start in range(0, len(rows), _SLICE):
            self._added.append(self._encode(rows[start : start + _SLICE]))

    @property
    def _index(self) -> Any:
        if self._scanned is None:
            pq = self._trained
            if self._added:
                codes = np.concatenate(self._added)
                faiss.copy_array_to_vector(codes.ravel(), pq.codes)
                pq.ntotal = len(codes)
            self._scanned = faiss.IndexPQFastScan(pq)
            self._trained, self._added = None, []
        return self._scanned

    def nearest(self, query: F4, count: int) -> I8:
        """Numbers of the `count` vectors with the roughly largest inner product, best first.

        All of them, in no order, when as many are asked for.
        """
        if count >= len(self):
            return np.arange(len(self))
        wide = np.zeros((1, _padded(self._dimension)), np.float32)
        wide[0, : self._dimension] = query
        _, numbers = self._index.search(wide, count)
        found: I8 = numbers[0]
        return found[found >= 0]


def _encoder(pq: Any, dimension: int) -> Callable[[I1], U1]:
    """What turns vectors into codes, u1[rows, bytes]."""
    width = _padded(dimension)
    if pq.dsub > 1:
        return lambda rows: pq.compute_codes(_floats(rows, width))
    # A code of one component depends on its 256 values alone: faiss is asked once for each.
    values = np.repeat(np.arange(-128, 128, dtype=np.float32)[:, None], width, axis=1)
    codes = pq.compute_codes(values)
    lower, upper = (np.ascontiguousarray(codes & half).ravel() for half in (0x0F, 0xF0))
    size = codes.shape[1]
    places = np.arange(size, dtype=np.int32)

    def looked_up(table: U1, components: U1) -> U1:
        found: U1 = table.take(components.astype(np.int32) * size + places)
        return found

    def encode(rows: I1) -> U1:
        padded = np.zeros((len(rows), width), np.int8)
        padded[:, : rows.shape[1]] = rows
        components = padded.view(np.uint8) ^ np.uint8(128)  # from the least value on
        found = looked_up(lower, components[:, 0::2])
        found |= looked_up(upper, components[:, 1::2])
        return found

    return encode


def _floats(rows: I1, width: int) -> F4:
    floats = np.zeros((len(rows), width), np.float32)
    floats[:, : rows.shape[1]] = rows
    return floats


def _padded(dimension: int) -> int:
    return -(-dimension // _ALIGNED) * _ALIGNED


def _groups(width: int) -> int:
    return next(groups for groups in range(min(width, _MOST_GROUPS), 0, -1) if width % groups == 0)
