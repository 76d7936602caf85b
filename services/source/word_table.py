"""Which hashes does a word of a file have, when millions of words are to be looked up?

All words of a batch are found and looked up by arithmetic on arrays; the interpreter sees only those
never met before.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from services.source.word_keys import I8, U8, KeyTable, word_keys
from services.source.words import (
    MAX_JOINED_CHARS,
    MAX_WORD_CHARS,
    hash_term,
    split_lines,
    stem,
    tokenise_each,
)

_MAX_TABLE_WORDS = 1 << 18
_MAX_TABLE_TERMS = 1 << 21
_MAX_NAMES = 1 << 16

_Number = TypeVar("_Number", np.int64, np.uint64)


class _PartHashes(dict[str, int]):
    """Hash of each part of an ASCII word; 0 for a part that is no term."""

    def __missing__(self, part: str) -> int:
        kept = len(part) > 1 or part.isdigit()
        hashed = self[part] = hash_term(stem(part.lower())) if kept else 0
        return hashed


class _TermHashes(dict[str, int]):
    """Hash of each term as it is."""

    def __missing__(self, term: str) -> int:
        hashed = self[term] = hash_term(term)
        return hashed


class WordTable:
    """The hashes of every word met so far, by the word's number.

    Several threads may look words up at once. What `arrays` returns explains all numbers given out
    before; it is only ever added to, beyond those numbers.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = KeyTable()
        self._term_hash = _TermHashes()
        self._part_hash = _PartHashes()
        self._words = 1  # number 0 is a word without terms
        self._end = 0  # of the last word's hashes
        self._starts = np.zeros(1 << 12, np.int64)
        self._hashes = np.zeros(1 << 13, np.uint64)

    @property
    def is_full(self) -> bool:
        return self._words > _MAX_TABLE_WORDS or self._end > _MAX_TABLE_TERMS

    def arrays(self) -> tuple[I8, U8]:
        """Where the hashes of each word start (and those of the word before end), and the hashes."""
        with self._lock:
            return self._starts, self._hashes

    def numbers(self, data: bytes, starts: I8, ends: I8) -> I8:
        """The number of each word of `data`; what is new is learnt."""
        keys = word_keys(data, starts, ends)
        with self._lock:
            return self._numbers.find_or_learn(keys, data, starts, ends, self._learn)

    def _learn(self, words: Sequence[bytes]) -> I8:
        """Give words their numbers, 0 where there are no terms."""
        is_ascii = np.fromiter(map(bytes.isascii, words), np.bool_, len(words))
        sizes = np.zeros(len(words), np.int64)
        plain, folded = np.flatnonzero(is_ascii), np.flatnonzero(~is_ascii)
        plain_hashes, sizes[plain] = self._hashes_of_ascii([words[at] for at in plain.tolist()])
        other_hashes, sizes[folded] = self._hashes_of_folded([words[at] for at in folded.tolist()])
        # Numbers go by the order of the hashes: first of all words that need no folding.
        order = np.concatenate((plain, folded))
        sizes = sizes[order]
        has_terms = sizes > 0
        first, self._words = self._words, self._words + int(has_terms.sum())
        numbers = np.zeros(len(words), np.int64)
        numbers[order] = np.where(has_terms, np.cumsum(has_terms) - 1 + first, 0)
        ends = np.cumsum(sizes[has_terms]) + self._end
        new_hashes = np.concatenate((plain_hashes, other_hashes))
        self._end += len(new_hashes)
        self._starts = _extended(self._starts, self._words + 1, ends)
        self._hashes = _extended(self._hashes, self._end, new_hashes)
        return numbers

    def _hashes_of_ascii(self, words: Sequence[bytes]) -> tuple[U8, I8]:
        """Hashes of what `tokenise` gives for each word, one behind the other, and how many it has.

        All words are split in one go, and the work on each part is done once for all words.
        """
        lines = b"".join([word + b"\n" if len(word) <= MAX_WORD_CHARS else b"\n" for word in words])
        parts = split_lines(lines.decode())
        hashes = np.fromiter(map(self._part_hash.__getitem__, parts), np.uint64, len(parts))
        ends = np.array([at for at, part in enumerate(parts) if part == "\n"], np.int64)
        sizes = np.diff(ends, prepend=-1)
        # The hash of a word's joined parts, if it has several, takes the place of its line's end.
        several = np.flatnonzero(sizes > 2)
        joined = lines.replace(b"_", b"").lower().split(b"\n")
        hashes[ends[several]] = [
            xxh3_64_intdigest(whole) if len(whole) <= MAX_JOINED_CHARS else 0
            for whole in [joined[at] for at in several.tolist()]
        ]
        is_term = hashes != 0
        return hashes[is_term], np.diff(np.cumsum(is_term)[ends], prepend=0)

    def _hashes_of_folded(self, words: Sequence[bytes]) -> tuple[U8, I8]:
        """The same for words that are not ASCII."""
        found = tokenise_each([word.decode(errors="replace") for word in words])
        terms = [term for own in found for term in own]
        hashes = np.fromiter(map(self._term_hash.__getitem__, terms), np.uint64, len(terms))
        return hashes, np.array([len(own) for own in found], np.int64)


def _extended(
    array: npt.NDArray[_Number], size: int, values: npt.NDArray[_Number]
) -> npt.NDArray[_Number]:
    """`array` with its first `size` places ending in `values`; a longer copy when they do not fit."""
    if size > len(array):
        array = np.concatenate((array, np.zeros(max(size, len(array)), array.dtype)))
    array[size - len(values) : size] = values
    return array


_table = WordTable()
_names = _TermHashes()


def current_table() -> WordTable:
    """The process's word table; a full one is left to its present users and begun anew."""
    global _table
    if _table.is_full:
        _table = WordTable()
    return _table


def hash_names(names: Sequence[str]) -> npt.NDArray[np.uint64]:
    """One hash for each name, as it is; names met before are only looked up."""
    global _names
    if len(_names) > _MAX_NAMES:
        _names = _TermHashes()
    return np.fromiter(map(_names.__getitem__, names), np.uint64, len(names))
