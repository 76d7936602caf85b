"""What has this process counted?

Whoever has something to count adds it to `counted`, one line where it happens; the names are those
of contracts/instruments.py. Nothing is published here: reporter.py of a worker and the metrics of the
query service read the values.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

from contracts.instruments import INSTRUMENTS, Instrument, Labels

Key = tuple[str, Labels]
Values = tuple[float, ...]  # one; of a histogram the counts below each bound, the rest, and the sum
_MOST_SERIES = 2_000  # of one instrument; what comes after them is counted together
_REST = "other"


class Tally:
    """Cumulative values since the process started. Thread-safe; unknown names are mistakes of ours."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cells: dict[Key, list[float]] = {}
        self._series: Counter[str] = Counter()
        self._dirty = False
        self.changed: Callable[[], None] | None = None  # once after each `take`, from any thread

    def add(self, name: str, *labels: str, by: float = 1.0) -> None:
        """Raise a counter."""
        with self._lock:
            self._cell(INSTRUMENTS[name], labels)[0] += by
        self._touched()

    def set(self, name: str, *labels: str, value: float) -> None:
        """Set a gauge; of one that shows an age, to a Unix time in seconds, or 0 for none."""
        with self._lock:
            self._cell(INSTRUMENTS[name], labels)[0] = value
        self._touched()

    def observe(self, name: str, value: float, *labels: str) -> None:
        """Put one value into a histogram."""
        instrument = INSTRUMENTS[name]
        place = sum(value > bound for bound in instrument.buckets)
        with self._lock:
            cell = self._cell(instrument, labels)
            cell[place] += 1
            cell[-1] += value
        self._touched()

    @contextmanager
    def timed(self, name: str, *labels: str) -> Iterator[None]:
        """Put the time of the block into a histogram, however it ends."""
        began = perf_counter()
        try:
            yield
        finally:
            self.observe(name, perf_counter() - began, *labels)

    def prime(self, name: str, *first: str) -> None:
        """Have every arm of an instrument exist, under the given first labels."""
        instrument = INSTRUMENTS[name]
        with self._lock:
            for arm in instrument.arms or ((),):
                self._cell(instrument, (*first, *arm))
        self._touched()

    def cells(self) -> dict[Key, Values]:
        """The values of this moment."""
        with self._lock:
            return {key: tuple(cell) for key, cell in self._cells.items()}

    def take(self) -> dict[Key, Values]:
        """The values of this moment; the next change is told."""
        with self._lock:
            self._dirty = False
            return {key: tuple(cell) for key, cell in self._cells.items()}

    def _touched(self) -> None:
        if not self._dirty:
            self._dirty = True
            if self.changed is not None:
                self.changed()

    def _cell(self, instrument: Instrument, labels: Labels) -> list[float]:
        cell = self._cells.get((instrument.name, labels))
        if cell is not None:
            return cell
        if len(labels) != len(instrument.labels):
            raise ValueError(f"{instrument.name} has the labels {instrument.labels}")
        if self._series[instrument.name] >= _MOST_SERIES:
            labels = (_REST,) * len(labels)
        fresh = [0.0] * (len(instrument.buckets) + 2 if instrument.kind == "histogram" else 1)
        if (known := self._cells.get((instrument.name, labels))) is not None:
            return known
        self._series[instrument.name] += 1
        self._cells[instrument.name, labels] = fresh
        return fresh


counted = Tally()
