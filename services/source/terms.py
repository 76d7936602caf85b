"""How does text become search terms?

The same terms serve the lexical index, the static vectors and queries. `words.tokenise` says
plainly what they are; `build_terms` counts them for all chunks of a file at once: the interpreter
touches each distinct word of a chunk, never each character or each term.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from contracts.extract import Terms
from services.source.query_text import STOP_WORDS, QueryTerms, query_terms
from services.source.words import (
    DEFINED,
    DEFINED_LOWER,
    MAX_JOINED_CHARS,
    MAX_WORD_CHARS,
    PATH,
    QUALIFIED,
    REFERENCE,
    STEM,
    SYMBOL,
    field_salt,
    file_stem,
    fold,
    hash_term,
    normal_stem,
    plural_variant,
    split_word,
    stem,
    tokenise,
)

__all__ = [
    "DEFINED", "DEFINED_LOWER", "PATH", "QUALIFIED", "REFERENCE", "STEM", "STOP_WORDS", "SYMBOL",
    "QueryTerms", "TermArrays", "TermCounts", "build_terms", "context_text", "count_terms",
    "field_salt", "file_stem", "fold", "hash_term", "normal_stem", "plural_variant", "query_terms",
    "stem", "tokenise",
]  # fmt: skip

_MAX_TABLE_WORDS = 1 << 18
_MAX_TABLE_TERMS = 1 << 21

U1 = npt.NDArray[np.uint8]
U4 = npt.NDArray[np.uint32]
U8 = npt.NDArray[np.uint64]
_Number = TypeVar("_Number", np.int64, np.uint64)
# Every ASCII byte that cannot be inside a word becomes a space, so that `split` finds the words.
_SEPARATED = bytes(
    byte if byte >= 128 or chr(byte).isalnum() or byte == ord("_") else ord(" ")
    for byte in range(256)
)


class _WordTable(dict[str, int]):
    """Word as it stands in a file -> number of its hashes; looking a word up adds it.

    Several threads may look words up at once. `arrays` must be called after the lookups whose
    numbers it is to explain; what it has returned is only ever added to, beyond those numbers.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._term_hash: dict[str, int] = {}
        self._part_hash: dict[str, int | None] = {}
        self._words = 1  # number 0 is a word without terms
        self._end = 0  # of the last word's hashes
        self._new_ends: list[int] = []  # of words that are not in the arrays yet
        self._new_hashes: list[int] = []
        self._starts = np.zeros(1 << 12, np.int64)
        self._hashes = np.zeros(1 << 13, np.uint64)

    @property
    def is_full(self) -> bool:
        return len(self) > _MAX_TABLE_WORDS or self._end > _MAX_TABLE_TERMS

    def arrays(self) -> tuple[npt.NDArray[np.int64], U8]:
        """Where the hashes of each word start (and those of the word before end), and the hashes."""
        with self._lock:
            if self._new_ends:
                self._starts = _extended(self._starts, self._words + 1, self._new_ends)
                self._hashes = _extended(self._hashes, self._end, self._new_hashes)
                self._new_ends, self._new_hashes = [], []
            return self._starts, self._hashes

    def __missing__(self, word: str) -> int:
        hashes = self._ascii_hashes(word) if word.isascii() else self._folded_hashes(word)
        if not hashes:
            if len(word) <= MAX_WORD_CHARS:
                self[word] = 0
            return 0
        with self._lock:
            number = self.get(word)
            if number is None:
                number = self[word] = self._words
                self._words += 1
                self._end += len(hashes)
                self._new_ends.append(self._end)
                self._new_hashes += hashes
        return number

    def _ascii_hashes(self, word: str) -> list[int]:
        """What `tokenise` gives, with the work on each part done once for all words."""
        if len(word) > MAX_WORD_CHARS:
            return []
        parts = split_word(word)
        known = self._part_hash
        hashes: list[int] = []
        for part in parts:
            hashed = known[part] if part in known else self._add_part(part)
            if hashed is not None:
                hashes.append(hashed)
        if len(parts) > 1:
            joined = "".join(parts)
            if len(joined) <= MAX_JOINED_CHARS:
                hashes.append(hash_term(joined.lower()))
        return hashes

    def _add_part(self, part: str) -> int | None:
        kept = len(part) > 1 or part.isdigit()
        hashed = self._part_hash[part] = hash_term(stem(part.lower())) if kept else None
        return hashed

    def _folded_hashes(self, word: str) -> list[int]:
        known = self._term_hash
        hashes: list[int] = []
        for term in tokenise(word):
            hashed = known.get(term)
            if hashed is None:
                hashed = known[term] = hash_term(term)
            hashes.append(hashed)
        return hashes


def _extended(
    array: npt.NDArray[_Number], size: int, values: Sequence[int]
) -> npt.NDArray[_Number]:
    """`array` with its first `size` places ending in `values`; a longer copy when they do not fit."""
    if size > len(array):
        array = np.concatenate((array, np.zeros(max(size, len(array)), array.dtype)))
    array[size - len(values) : size] = values
    return array


_table = _WordTable()


def _current_table() -> _WordTable:
    """The process's word table; a full one is left to its present users and begun anew."""
    global _table
    if _table.is_full:
        _table = _WordTable()
    return _table


@dataclass(frozen=True, slots=True)
class TermArrays:
    """Numpy views over a `Terms`, without copying; shapes as in `contracts.extract.Terms`."""

    chunk_offsets: U4
    chunk_hash: U8
    chunk_tf: U1
    chunk_length: U4
    context_offsets: U4
    context_hash: U8
    field_hash: U8
    field_tf: U1
    path_length: int
    symbols_length: int

    @classmethod
    def of(cls, terms: Terms) -> TermArrays:
        """Views over `terms`, which must outlive them."""
        return cls(
            chunk_offsets=np.frombuffer(terms.chunk_offsets, "<u4"),
            chunk_hash=np.frombuffer(terms.chunk_hash, "<u8"),
            chunk_tf=np.frombuffer(terms.chunk_tf, "u1"),
            chunk_length=np.frombuffer(terms.chunk_length, "<u4"),
            context_offsets=np.frombuffer(terms.context_offsets, "<u4"),
            context_hash=np.frombuffer(terms.context_hash, "<u8"),
            field_hash=np.frombuffer(terms.field_hash, "<u8"),
            field_tf=np.frombuffer(terms.field_tf, "u1"),
            path_length=terms.path_length,
            symbols_length=terms.symbols_length,
        )


@dataclass(frozen=True, slots=True)
class TermCounts:
    """Distinct terms of several texts, ascending within each text."""

    offsets: npt.NDArray[np.int64]  # [texts + 1]
    hashes: U8
    tf: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]  # [texts], terms with repeats


def count_terms(texts: Sequence[str]) -> TermCounts:
    """Count the terms of every text in one vectorised pass; `build_terms` is made of this."""
    table = _current_table()
    numbers: list[int] = []
    repeats: list[int] = []
    sizes: list[int] = []
    for text in texts:
        separated = text.encode("utf-8", "replace").translate(_SEPARATED)
        seen = Counter(separated.decode().split())
        numbers.extend(map(table.__getitem__, seen))
        repeats.extend(seen.values())
        sizes.append(len(seen))
    word = np.array(numbers, np.int64)
    word_starts, word_hashes = table.arrays()
    starts = word_starts[word]
    terms_per_word = word_starts[word + 1] - starts
    owner = np.repeat(np.repeat(np.arange(len(texts)), sizes), terms_per_word)
    tf = np.repeat(np.array(repeats, np.int64), terms_per_word)
    first = np.cumsum(terms_per_word) - terms_per_word
    at = np.arange(len(owner)) + np.repeat(starts - first, terms_per_word)
    hashes = word_hashes[at]
    lengths = np.bincount(owner, weights=tf, minlength=len(texts)).astype(np.int64)

    order = _order(owner, hashes, len(texts))
    owner, hashes, tf = owner[order], hashes[order], tf[order]
    is_first = np.ones(len(owner), np.bool_)
    is_first[1:] = (hashes[1:] != hashes[:-1]) | (owner[1:] != owner[:-1])
    distinct = np.flatnonzero(is_first)
    if len(distinct):
        tf = np.add.reduceat(tf, distinct)
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.bincount(owner[distinct], minlength=len(texts)), out=offsets[1:])
    return TermCounts(offsets, hashes[distinct], tf, lengths)


def _order(owner: npt.NDArray[np.int64], hashes: U8, owners: int) -> npt.NDArray[np.int64]:
    """The order by owner, then hash.

    One key holds the owner and the leading bits of the hash, because one fast sort beats a
    lexical sort of two columns; when the bits left out turn out to matter, that is done instead.
    """
    bits = np.uint64(max(owners - 1, 1).bit_length())
    key = (owner.astype(np.uint64) << (np.uint64(64) - bits)) | (hashes >> bits)
    order = np.argsort(key)
    ordered_key, ordered_hash = key[order], hashes[order]
    if np.any((ordered_key[1:] == ordered_key[:-1]) & (ordered_hash[1:] != ordered_hash[:-1])):
        return np.lexsort((hashes, owner))
    return order


def build_terms(
    path: str,
    chunks: Sequence[str],
    enclosing: Sequence[Sequence[str]],
    symbol_names: Sequence[str],
    fq_names: Sequence[str],
    references: Iterable[str],
) -> Terms:
    """Count the terms of one file.

    `enclosing[i]` names the symbols that contain the start of chunk i. The result depends on the
    arguments alone, except that the order of names and references does not matter.
    """
    contexts = [context_text(path, names) for names in enclosing]
    counts = count_terms([*chunks, *contexts, path, " ".join(symbol_names)])
    offsets, after_chunks = counts.offsets, len(chunks)
    after_contexts = after_chunks + len(contexts)
    in_chunks, in_contexts, in_path, in_symbols = (
        int(offsets[at])
        for at in (after_chunks, after_contexts, after_contexts + 1, after_contexts + 2)
    )
    field_hash, field_tf = _merge(
        [
            counts.hashes[in_contexts:in_path] ^ np.uint64(field_salt(PATH)),
            counts.hashes[in_path:in_symbols] ^ np.uint64(field_salt(SYMBOL)),
            _hash_names(symbol_names, DEFINED),
            _hash_names([name.lower() for name in symbol_names], DEFINED_LOWER),
            _hash_names([file_stem(path)], STEM),
            _hash_names(list(references), REFERENCE),
            _hash_names(fq_names, QUALIFIED),
        ],
        counts.tf[in_contexts:in_symbols],
    )
    return Terms(
        chunk_offsets=offsets[: after_chunks + 1].astype("<u4").tobytes(),
        chunk_hash=counts.hashes[:in_chunks].astype("<u8").tobytes(),
        chunk_tf=_saturated(counts.tf[:in_chunks]),
        chunk_length=counts.lengths[:after_chunks].astype("<u4").tobytes(),
        context_offsets=(offsets[after_chunks : after_contexts + 1] - in_chunks)
        .astype("<u4")
        .tobytes(),
        context_hash=counts.hashes[in_chunks:in_contexts].astype("<u8").tobytes(),
        field_hash=field_hash.astype("<u8").tobytes(),
        field_tf=_saturated(field_tf),
        path_length=int(counts.lengths[after_contexts]),
        symbols_length=int(counts.lengths[after_contexts + 1]),
    )


def context_text(path: str, enclosing: Sequence[str]) -> str:
    """What a chunk's vector holds beside the chunk: its path and the names around it."""
    return f"{path} {' '.join(enclosing)}"


def _hash_names(names: Sequence[str], field: str) -> U8:
    """One hash for each name, salted by `field`."""
    return np.array(list(map(hash_term, names)), np.uint64) ^ np.uint64(field_salt(field))


def _merge(
    hashes: Sequence[U8], leading_tf: npt.NDArray[np.int64]
) -> tuple[U8, npt.NDArray[np.int64]]:
    """Distinct ascending hashes and their counts; the first arrays come with counts already."""
    together = np.concatenate(hashes)
    tf = np.ones(len(together), np.int64)
    tf[: len(leading_tf)] = leading_tf
    order = np.argsort(together)
    together, tf = together[order], tf[order]
    is_first = np.ones(len(together), np.bool_)
    is_first[1:] = together[1:] != together[:-1]
    distinct = np.flatnonzero(is_first)
    return together[distinct], np.add.reduceat(tf, distinct) if len(distinct) else tf


def _saturated(tf: npt.NDArray[np.int64]) -> bytes:
    return np.minimum(tf, 255).astype(np.uint8).tobytes()
