"""Which hashes does a word of a file have, when millions of words are to be looked up?"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from services.source.words import (
    MAX_JOINED_CHARS,
    MAX_WORD_CHARS,
    hash_term,
    split_word,
    stem,
    tokenise,
)

_MAX_TABLE_WORDS = 1 << 18
_MAX_TABLE_TERMS = 1 << 21
_MAX_NAMES = 1 << 16

_Number = TypeVar("_Number", np.int64, np.uint64)


class _PartHashes(dict[str, int | None]):
    """Hash of each part of an ASCII word; None for a part that is no term."""

    def __missing__(self, part: str) -> int | None:
        kept = len(part) > 1 or part.isdigit()
        hashed = self[part] = hash_term(stem(part.lower())) if kept else None
        return hashed


class _TermHashes(dict[str, int]):
    """Hash of each term as it is."""

    def __missing__(self, term: str) -> int:
        hashed = self[term] = hash_term(term)
        return hashed


class WordTable(dict[str, int]):
    """Word as it stands in a file -> number of its hashes; looking a word up adds it.

    Several threads may look words up at once. `arrays` must be called after the lookups whose
    numbers it is to explain; what it has returned is only ever added to, beyond those numbers.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._term_hash = _TermHashes()
        self._part_hash = _PartHashes()
        self._words = 1  # number 0 is a word without terms
        self._end = 0  # of the last word's hashes
        self._new_ends: list[int] = []  # of words that are not in the arrays yet
        self._new_hashes: list[int] = []
        self._starts = np.zeros(1 << 12, np.int64)
        self._hashes = np.zeros(1 << 13, np.uint64)

    @property
    def is_full(self) -> bool:
        return len(self) > _MAX_TABLE_WORDS or self._end > _MAX_TABLE_TERMS

    def arrays(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
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
        hashes = [hashed for part in parts if (hashed := known[part]) is not None]
        if len(parts) > 1:
            joined = "".join(parts)
            if len(joined) <= MAX_JOINED_CHARS:
                hashes.append(hash_term(joined.lower()))
        return hashes

    def _folded_hashes(self, word: str) -> list[int]:
        known = self._term_hash
        return [known[term] for term in tokenise(word)]


def _extended(
    array: npt.NDArray[_Number], size: int, values: Sequence[int]
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
