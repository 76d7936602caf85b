"""Where are the words of a text, and by which key is each looked up, without touching them one by one?"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

U8 = npt.NDArray[np.uint64]
I8 = npt.NDArray[np.int64]

# A byte that belongs to a word: not ASCII, or a letter, a digit or an underscore.
_IN_WORD = bytes(byte >= 128 or chr(byte).isalnum() or byte == ord("_") for byte in range(256))
_LONG_BYTES = 512
_STEP = 8  # bytes of a word taken in at once
_KEPT = np.array([(1 << 8 * size) - 1 for size in range(_STEP + 1)], np.uint64)
_EIGHT, _TOP = np.uint64(8), np.uint64(63)
# Drawn anew by every process, so that nobody can write words that are taken for each other.
_FACTOR, _AGAIN = (np.uint64(secrets.randbits(64) | 1) for _ in range(2))
_FOLD = np.uint64(31)


def find_words(data: bytes) -> tuple[I8, I8]:
    """Where words start and end in `data`, which must begin and end with no part of a word."""
    in_word = np.frombuffer(data.translate(_IN_WORD), np.uint8)
    edges = np.flatnonzero(in_word[1:] != in_word[:-1]) + 1
    return edges[::2], edges[1::2]


def word_keys(data: bytes, starts: I8, ends: I8) -> U8:
    """A number for each word, the same wherever it stands; never 0.

    Exact up to eight bytes: the bytes times an odd number. Longer words are taken in by eight bytes,
    the few very long ones, which are data or scripts without spaces, as a whole.
    """
    padding = bytes(-len(data) % _STEP + 2 * _STEP)
    blocks = np.frombuffer(data + padding, "<u8")
    sizes = ends - starts
    keys: U8 = _eight_bytes(blocks, starts) & _KEPT[np.minimum(sizes, _STEP)]
    keys *= _FACTOR
    longer = np.flatnonzero((sizes > _STEP) & (sizes <= _LONG_BYTES))
    done = _STEP
    while len(longer):
        left = sizes[longer] - done
        more = _eight_bytes(blocks, starts[longer] + done) & _KEPT[np.minimum(left, _STEP)]
        mixed = keys[longer]
        mixed ^= mixed >> _FOLD
        mixed += more
        mixed *= _AGAIN
        keys[longer] = mixed
        done += _STEP
        longer = longer[left > _STEP]
    for at in np.flatnonzero(sizes > _LONG_BYTES).tolist():
        keys[at] = xxh3_64_intdigest(data[starts[at] : ends[at]], int(_AGAIN))
    keys[keys == 0] = 1
    return keys


def _eight_bytes(blocks: U8, positions: I8) -> U8:
    """The eight bytes from each position on, of which none need stand where a block begins."""
    at = positions >> 3
    shift = (positions & 7).astype(np.uint64) * _EIGHT
    low: U8 = blocks[at] >> shift
    # Shifted twice, because a shift by all 64 bits is none.
    low |= blocks[at + 1] << np.uint64(1) << (_TOP - shift)
    return low


class KeyTable:
    """An open hash table, key -> number, searched for many keys at once."""

    def __init__(self) -> None:
        self._empty(14)

    def _empty(self, bits: int) -> None:
        self._shift = np.uint64(64 - bits)
        self._last = (1 << bits) - 1
        self._keys = np.zeros(1 << bits, np.uint64)
        self._numbers = np.zeros(1 << bits, np.int64)
        self._count = 0

    def find(self, keys: U8) -> I8:
        """The number of each key, -1 for one that is not there."""
        slots = self._first(keys)
        found = self._numbers[slots]
        known = self._keys[slots]
        open_ = np.flatnonzero(known != keys)
        while len(open_):
            empty = known[open_] == 0
            found[open_[empty]] = -1
            open_ = open_[~empty]
            slots[open_] = (slots[open_] + 1) & self._last
            known[open_] = self._keys[slots[open_]]
            found[open_] = self._numbers[slots[open_]]
            open_ = open_[known[open_] != keys[open_]]
        return found

    def find_or_learn(
        self, keys: U8, data: bytes, starts: I8, ends: I8, learn: Callable[[list[bytes]], I8]
    ) -> I8:
        """The number of each word of `data`; `learn` gives numbers to those that have none."""
        found = self.find(keys)
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            new, first, which = np.unique(keys[unknown], return_index=True, return_inverse=True)
            places = unknown[first]
            spans = zip(starts[places].tolist(), ends[places].tolist(), strict=True)
            numbers = learn([data[start:end] for start, end in spans])
            self.add(new, numbers)
            found[unknown] = numbers[which]
        return found

    def add(self, keys: U8, numbers: I8) -> None:
        """Put in keys that are not there yet, each once."""
        if (self._count + len(keys)) * 3 > self._last:
            self._grow(self._count + len(keys))
        self._put(keys, numbers)

    def _put(self, keys: U8, numbers: I8) -> None:
        self._count += len(keys)
        slots = self._first(keys)
        waiting = np.arange(len(keys))
        while len(waiting):
            # Of several that want the same empty slot the one that is written last gets it.
            free = waiting[self._keys[slots[waiting]] == 0]
            self._keys[slots[free]] = keys[free]
            placed = free[self._keys[slots[free]] == keys[free]]
            self._numbers[slots[placed]] = numbers[placed]
            waiting = waiting[self._keys[slots[waiting]] != keys[waiting]]
            slots[waiting] = (slots[waiting] + 1) & self._last

    def _grow(self, count: int) -> None:
        taken = np.flatnonzero(self._keys)
        keys, numbers = self._keys[taken], self._numbers[taken]
        self._empty((count * 6).bit_length())
        self._put(keys, numbers)

    def _first(self, keys: U8) -> I8:
        return (keys >> self._shift).astype(np.int64)
