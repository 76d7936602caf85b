"""How well do notes match words? BM25 over slots that come and go.

Slots are numbered in the order they are added; removing one keeps its number and hides it. Scores
are those of SQLite's FTS5: k1 1.2, b 0.75, every column alike, the inverse document frequency never
below 1e-6. Here they are positive; `bm25` turns the sign as FTS5 does.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

F8 = NDArray[np.float64]
I8 = NDArray[np.int64]
_K1: Final = 1.2
_B: Final = 0.75
_LEAST_IDF: Final = 1e-6
_FIRST_SIZE = 256


class Lexicon:
    """An inverted index over slots. Not thread-safe."""

    def __init__(self) -> None:
        self._slots_of: dict[str, array[int]] = {}
        self._counts_of: dict[str, array[int]] = {}
        self._length: F8 = np.zeros(_FIRST_SIZE)
        self._alive = np.zeros(_FIRST_SIZE, np.bool_)
        self.size = 0  # slots ever added
        self.live = 0
        self._live_length = 0.0

    def add(self, tokens: Iterable[str]) -> int:
        """Add one slot; returns its number."""
        slot = self.size
        counts = Counter(tokens)
        length = sum(counts.values())
        for token, count in counts.items():
            slots = self._slots_of.get(token)
            if slots is None:
                slots = self._slots_of[token] = array("I")
                self._counts_of[token] = array("H")
            slots.append(slot)
            self._counts_of[token].append(min(count, 65_535))
        if slot == len(self._length):
            self._length = np.concatenate((self._length, np.zeros(slot)))
            self._alive = np.concatenate((self._alive, np.zeros(slot, np.bool_)))
        self._length[slot], self._alive[slot] = length, True
        self.size += 1
        self.live += 1
        self._live_length += length
        return slot

    def remove(self, slot: int) -> None:
        if self._alive[slot]:
            self._alive[slot] = False
            self.live -= 1
            self._live_length -= float(self._length[slot])

    def postings(self, term: str) -> tuple[I8, F8]:
        """The live slots that hold a term, ascending, and how often."""
        slots = self._slots_of.get(term)
        if slots is None:
            return np.zeros(0, np.int64), np.zeros(0)
        numbers = np.array(slots, np.int64)
        counts = np.array(self._counts_of[term], np.float64)
        alive = self._alive[numbers]
        return numbers[alive], counts[alive]

    def scores(self, terms: Sequence[str]) -> F8:
        """Each slot's score for any of the terms, [size]; 0 where none occurs."""
        scores = np.zeros(self.size)
        if not self.live:
            return scores
        norm = _K1 * (1 - _B + _B * self._length[: self.size] / max(self.mean_length, 1e-9))
        for term in terms:
            numbers, counts = self.postings(term)
            if len(numbers):
                idf = inverse_frequency(len(numbers), self.live)
                scores[numbers] += idf * counts * (_K1 + 1) / (counts + norm[numbers])
        return scores

    @property
    def mean_length(self) -> float:
        return self._live_length / self.live if self.live else 0.0

    def length(self, slots: I8) -> F8:
        return self._length[slots]


def inverse_frequency(frequency: int, documents: int) -> float:
    """What a term is worth that so many documents hold."""
    idf = float(np.log((documents - frequency + 0.5) / (frequency + 0.5)))
    return idf if idf > 0 else _LEAST_IDF


def best(scores: F8, limit: int, allowed: NDArray[np.bool_] | None = None) -> I8:
    """The slots with the highest scores above 0, best first; of equals the newest slot."""
    found = np.flatnonzero(scores > 0 if allowed is None else (scores > 0) & allowed)
    if len(found) > limit:
        least = np.partition(scores[found], len(found) - limit)[len(found) - limit]
        found = found[scores[found] >= least]
    order = np.lexsort((-found, -scores[found]))
    return found[order[:limit]]
