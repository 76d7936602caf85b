"""How does a piece of code become a vector, at the price of a table look-up?

A table holds one vector for each of some ten thousand terms, learned from documentation and the
code it stands on (docs/model-card.md, ops/train). A chunk is the sum of its terms' vectors, each
times a learned weight and log(1 + tf), the terms of its path and of the symbols around it counting
once more; a query is such a sum with weights of its own. Both are scaled to unit length.

Vectors are keys of caches and of folds that are compared byte by byte, so the same terms must give
the same bytes in any batch and on any machine. All sums are therefore of whole numbers: the table
is int8, weights are fixed-point, and a sum that single precision could not hold exactly is done in
double precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import xxhash

from contracts.errors import NotFound
from contracts.extract import Terms
from services.source import ragged
from services.source.terms import U1, U8, query_terms

DATA_FILE = Path(__file__).with_name("data") / "static_code.npz"
FORMAT = 1  # raise it when the same table would give other vectors
SCALE = 127  # a unit vector times this, rounded, is what `embed_chunks` gives

_LOG_BITS = 10
_FACTOR_SHIFT = 16
_HALF = 1 << (_FACTOR_SHIFT - 1)
_EXACT_SINGLE = 1 << 24  # whole numbers up to here are exact in single precision
_LEADING_BITS = 17
_LEADING_SHIFT = np.uint64(64 - _LEADING_BITS)
_SQUARE_BITS = 27  # the squares of such numbers, summed over a row, still fit 64 bits
_BATCH_ELEMENTS = 1 << 11  # table rows gathered at once: 1 MB, what a core keeps at hand

I8 = npt.NDArray[np.int8]
I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]

# log(1 + tf) as whole numbers, for every tf that a `Terms` can hold.
_LOG_TF: I64 = np.rint(np.log1p(np.arange(256)) * (1 << _LOG_BITS)).astype(np.int64)


class StaticModel:
    """The table and its weights; `StaticModel.load()` gives the one that is shipped."""

    def __init__(self, terms: U8, table: I8, query_weight: I64, document_weight: I64) -> None:
        """`terms` are ascending hashes, `table` is [terms, dimension], the weights whole numbers.

        A term that occurs tf times counts with its document weight x log(1 + tf) / 64, rounded.
        """
        self.terms = terms
        self.table = table
        self.query_weight = query_weight
        self.document_weight = document_weight
        self.dimension = int(table.shape[1])
        # A last hash above all others ends every search.
        self._bounded = np.append(terms, np.uint64(2**64 - 1))
        leading = np.arange(1 << _LEADING_BITS, dtype=np.uint64)
        self._first = np.searchsorted(terms, leading << _LEADING_SHIFT)
        digest = xxhash.xxh3_64()
        for part in (terms, table, query_weight, document_weight):
            digest.update(np.ascontiguousarray(part).view(np.uint8).data)
        self.space = f"repofold-static-{FORMAT}/{self.dimension}/unit-int8/{digest.hexdigest()[:8]}"

    @staticmethod
    def load() -> StaticModel:
        """The shipped model, read at the first call and kept.

        Raises NotFound when the package data is missing.
        """
        return _shipped()

    @classmethod
    def read(cls, path: Path) -> StaticModel:
        """A model from a file that `ops.train` wrote. Raises NotFound when there is none."""
        if not path.is_file():
            raise NotFound(
                f"the static model {path.name} is not installed",
                hint="install the package again, or make the file with `python -m ops.train`",
            )
        with np.load(path, allow_pickle=False) as arrays:
            return cls(
                arrays["terms"],
                arrays["table"],
                arrays["query_weight"].astype(np.int64),
                arrays["document_weight"].astype(np.int64),
            )

    def embed_chunks(self, terms: Terms) -> I8:
        """Vectors of a file's chunks, [chunks, dimension], unit length times 127.

        A chunk without any known term has a row of zeros. The cosine of two rows is their dot
        product divided by 127 squared.
        """
        return self.embed_many([terms])[0]

    def embed_many(self, files: Sequence[Terms]) -> list[I8]:
        """What `embed_chunks` gives for each file, in fewer and larger steps."""
        if not files:
            return []
        chunks = np.array([len(terms.chunk_length) // 4 for terms in files], np.int64)
        offsets = np.frombuffer(b"".join([terms.chunk_offsets for terms in files]), "<u4")
        between_files = np.cumsum(chunks + 1)[:-1] - 1  # no chunk: last offset to a first one
        sums = self._sums(
            np.delete(np.diff(offsets), between_files),
            np.frombuffer(b"".join([terms.chunk_hash for terms in files]), "<u8"),
            np.frombuffer(b"".join([terms.chunk_tf for terms in files]), "u1"),
        )
        numbers: dict[bytes, int] = {}  # many chunks have the same path and symbols around them
        context = [
            numbers.setdefault(terms.context_hash[start * 8 : end * 8], len(numbers))
            for terms in files
            for start, end in pairwise(np.frombuffer(terms.context_offsets, "<u4").tolist())
        ]
        hashes = np.frombuffer(b"".join(numbers), "<u8")
        sizes = np.array([len(own) // 8 for own in numbers], np.uint32)
        sums += self._sums(sizes, hashes, np.ones(len(hashes), np.uint8))[context]
        rows = np.rint(_unit(sums) * SCALE).astype(np.int8)
        ends = [0, *np.cumsum(chunks).tolist()]
        return [rows[start:end] for start, end in pairwise(ends)]

    def embed_query(self, text: str) -> F32:
        """Unit vector of a query, [dimension]; zeros when it has no known term."""
        at, known = self._rows(query_terms(text).terms)
        numbers = at[known]
        sums = self.query_weight[numbers] @ self.table[numbers].astype(np.int64)
        unit: F32 = _unit(sums.astype(np.float64)[None, :])[0].astype(np.float32)
        return unit

    def known_share(self, hashes: U8) -> float:
        """How many of a query's terms have a vector, 0..1."""
        return float(self._rows(hashes)[1].mean()) if len(hashes) else 0.0

    def _rows(self, hashes: U8) -> tuple[I64, npt.NDArray[np.bool_]]:
        """The table row of each hash, and whether it has one.

        The leading bits say where to begin; a few steps along the sorted hashes remain.
        """
        at = self._first[hashes >> _LEADING_SHIFT]
        behind = np.flatnonzero(self._bounded[at] < hashes)
        while len(behind):
            at[behind] += 1
            behind = behind[self._bounded[at[behind]] < hashes[behind]]
        return at, self._bounded[at] == hashes

    def _sums(self, sizes: npt.NDArray[np.uint32], hashes: U8, tf: U1) -> F64:
        """Weighted sums over runs of terms, [runs, dimension], exact whole numbers."""
        at, known = self._rows(hashes)
        numbers = at[known]
        factors = (self.document_weight[numbers] * _LOG_TF[tf[known]] + _HALF) >> _FACTOR_SHIFT
        edges = ragged.bounds(known)[ragged.bounds(sizes)]
        starts, ends = edges[:-1], edges[1:]
        sums = self._single_sums(starts.tolist(), ends.tolist(), numbers, factors)
        bounds = ragged.bounds(np.abs(factors))
        inexact = (bounds[ends] - bounds[starts]) * SCALE >= _EXACT_SINGLE
        exact: F64 = sums.astype(np.float64)
        for run in np.flatnonzero(inexact).tolist():
            own = slice(starts[run], ends[run])
            rows = self.table[numbers[own]].astype(np.float64)
            exact[run] = factors[own].astype(np.float64) @ rows
        return exact

    def _single_sums(self, starts: list[int], ends: list[int], numbers: I64, factors: I64) -> F32:
        """The same in single precision; runs follow each other without gaps."""
        sums = np.zeros((len(ends), self.dimension), np.float32)
        weights = factors.astype(np.float32)
        batch_start, batch_end = 0, 0
        rows = np.zeros((0, self.dimension), np.float32)
        for run, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if end > batch_end:
                batch_start, batch_end = start, max(end, start + _BATCH_ELEMENTS)
                rows = self.table.take(numbers[batch_start:batch_end], axis=0).astype(np.float32)
            own = rows[start - batch_start : end - batch_start]
            np.dot(weights[start:end], own, out=sums[run])
        return sums


@cache
def _shipped() -> StaticModel:
    return StaticModel.read(DATA_FILE)


def _unit(sums: F64) -> F64:
    """Rows of whole numbers scaled to unit length; rows of zeros stay."""
    largest = np.abs(sums).max(axis=1, keepdims=True, initial=1.0)
    excess = np.maximum(np.frexp(largest)[1] - _SQUARE_BITS, 0)
    whole = np.rint(np.ldexp(sums, -excess)).astype(np.int64)
    square = np.sum(whole * whole, axis=1, keepdims=True)  # of whole numbers: exact in any order
    unit: F64 = whole / np.sqrt(np.maximum(square, 1).astype(np.float64))
    return unit
