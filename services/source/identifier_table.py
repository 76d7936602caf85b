"""Of which words is an identifier made, when very many are asked for at once?

What `words_of` says, by arithmetic on arrays: the interpreter sees only terms never met before, and
identifiers that are not ASCII.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from services.source.identifiers import words_of
from services.source.word_keys import I8, KeyTable, word_keys

I4 = npt.NDArray[np.int32]

_MAX_WORDS = 1 << 16
_LOWER, _UPPER, _DIGIT = 1, 2, 3
_CLASSES = bytes(
    _LOWER if chr(byte).islower() else _UPPER if chr(byte).isupper() else _DIGIT
    if chr(byte).isdigit() else 0
    for byte in range(128)
) + bytes(128)  # fmt: skip
# A key tells nothing of zeros at a word's end; 255 is no byte of UTF-8.
_ZERO, _STAND_IN = b"\0", b"\xff"


class Parts(NamedTuple):
    """What the numbers of identifiers stand for; true of all numbers given out before."""

    starts: I4  # i4[identifiers + 1] into `own`
    own: I4  # numbers of the terms of each identifier, the whole of it first
    terms: Sequence[str]  # by number


class IdentifierTable:
    """The terms of every identifier met so far. Several threads may look up at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = KeyTable()
        self._term_numbers = KeyTable()
        self._terms: list[str] = []
        self._starts = np.zeros(1, np.int32)
        self._own = np.zeros(0, np.int32)

    @property
    def is_full(self) -> bool:
        return len(self._starts) > _MAX_WORDS

    def parts(self) -> Parts:
        with self._lock:
            return Parts(self._starts, self._own, self._terms)

    def numbers(self, data: bytes, starts: I8, ends: I8) -> I8:
        """The number of each identifier of `data`, UTF-8; what is new is learnt."""
        if _ZERO in data:
            data = data.replace(_ZERO, _STAND_IN)
        keys = word_keys(data, starts, ends)
        with self._lock:
            return self._numbers.find_or_learn(keys, data, starts, ends, self._learn)

    def _learn(self, words: list[bytes]) -> I8:
        """Give identifiers their numbers."""
        owner, data, starts, ends = _terms_of(words)
        keys = word_keys(data, starts, ends)
        terms = self._term_numbers.find_or_learn(keys, data, starts, ends, self._learn_terms)
        sizes = np.bincount(owner, minlength=len(words))
        first = len(self._starts) - 1
        # New arrays, so that those given out stay as they are.
        self._starts = np.concatenate(
            (self._starts, (np.cumsum(sizes) + self._starts[-1]).astype(np.int32))
        )
        self._own = np.concatenate((self._own, terms.astype(np.int32)))
        return np.arange(first, first + len(words))

    def _learn_terms(self, terms: list[bytes]) -> I8:
        first = len(self._terms)
        self._terms += [_text(term) for term in terms]
        return np.arange(first, first + len(terms))


def _terms_of(words: list[bytes]) -> tuple[I8, bytes, I8, I8]:
    """The terms of words, in turn: whose each is, and where it starts and ends in which bytes."""
    foreign = [at for at, word in enumerate(words) if not word.isascii()]
    told = [words_of(_text(words[at])) for at in foreign]
    lines = [*words, b"", *[_bytes(term) for terms in told for term in terms]]
    for at in foreign:
        lines[at] = b""
    data = b"\n".join([b"", *lines, b""])
    sizes = np.array(list(map(len, lines)))
    ends = np.cumsum(sizes + 1)
    starts = ends - sizes
    piece_starts, piece_ends = _pieces(data[: ends[len(words)] + 1])
    owners = np.searchsorted(starts[: len(words)], piece_starts, "right") - 1
    of_several = np.bincount(owners, minlength=len(words))[owners] > 1
    is_term = sizes > 0
    whose = np.concatenate((
        np.arange(len(words) + 1),
        np.repeat(np.array(foreign, np.int64), list(map(len, told))),
    ))  # fmt: skip
    whose = np.concatenate((whose[is_term], owners[of_several]))
    order = np.argsort(whose, kind="stable")  # the whole before its parts
    starts = np.concatenate((starts[is_term], piece_starts[of_several]))[order]
    ends = np.concatenate((ends[is_term], piece_ends[of_several]))[order]
    return whose[order], data.lower(), starts, ends


def _pieces(data: bytes) -> tuple[I8, I8]:
    """Where the parts of ASCII words start and end in `data`, which two other bytes end."""
    kinds = np.frombuffer(data.translate(_CLASSES), np.uint8)
    before, here, after = kinds[:-2], kinds[1:-1], kinds[2:]
    begins = (here > 0) & (here != before) & ~((before == _UPPER) & (here == _LOWER))
    begins |= (before == _UPPER) & (here == _UPPER) & (after == _LOWER)
    ends = (before > 0) & (begins | (here == 0))
    return np.flatnonzero(begins) + 1, np.flatnonzero(ends) + 1


def _bytes(term: str) -> bytes:
    return term.encode("utf-8", "surrogatepass").replace(_ZERO, _STAND_IN)


def _text(word: bytes) -> str:
    if word.isascii():
        return word.decode()
    return word.replace(_STAND_IN, _ZERO).decode("utf-8", "surrogatepass")


_table = IdentifierTable()


def current_table() -> IdentifierTable:
    """The process's table; a full one is left to its present users and begun anew."""
    global _table
    if _table.is_full:
        _table = IdentifierTable()
    return _table
