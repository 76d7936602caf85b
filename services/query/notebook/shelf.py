"""Notes and an index over their words, kept together.

A note that changes gets a new place; the old one is hidden, and once most places are hidden the
shelf is laid out anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from contracts.notes import Note
from services.query.notebook.lexicon import F8, Lexicon, best

_SPARE = 256  # hidden places that are never worth a new layout


class Shelf:
    """Notes by key. Not thread-safe."""

    def __init__(self, words: Callable[[Note], Iterable[str]]) -> None:
        self._words = words
        self.lexicon = Lexicon()
        self.notes: list[Note] = []  # by slot
        self._keys: list[bytes] = []
        self._slot_of: dict[bytes, int] = {}

    def put(self, key: bytes, note: Note) -> None:
        self.drop(key)
        self._slot_of[key] = self.lexicon.add(self._words(note))
        self.notes.append(note)
        self._keys.append(key)
        if self.lexicon.size > 2 * self.lexicon.live + _SPARE:
            self._lay_out()

    def drop(self, key: bytes) -> None:
        slot = self._slot_of.pop(key, None)
        if slot is not None:
            self.lexicon.remove(slot)

    def slot(self, key: bytes) -> int | None:
        return self._slot_of.get(key)

    def key(self, slot: int) -> bytes:
        return self._keys[slot]

    def ranked(self, scores: F8) -> Iterator[tuple[Note, float]]:
        """Notes with a score above 0, best first."""
        for slot in best(scores, len(scores) or 1):
            yield self.notes[slot], float(scores[slot])

    def _lay_out(self) -> None:
        kept = [(key, self.notes[slot]) for key, slot in sorted(self._slot_of.items(), key=_slot)]
        self.lexicon, self.notes, self._keys, self._slot_of = Lexicon(), [], [], {}
        for key, note in kept:
            self._slot_of[key] = self.lexicon.add(self._words(note))
            self.notes.append(note)
            self._keys.append(key)


def _slot(item: tuple[bytes, int]) -> int:
    return item[1]
