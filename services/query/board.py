"""What do all processes together have counted?

Workers tell cumulative values, each under the id of its start (services/kernel/reporter.py). Counters
and histograms are added up over the ids, so that a worker that starts anew begins beside what its
predecessor counted, and nothing ever goes back while this process lives. Of a gauge the newest word
counts. Names that this version does not know, as another version's worker may tell them, are left out.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from contracts.envelope import Envelope
from contracts.events.progress import InstrumentsTold
from contracts.instruments import INSTRUMENTS, Instrument
from contracts.subjects import ANY_INSTRUMENTS, PROGRESS
from services.kernel import logs
from services.kernel.bus import Bus, Msg
from services.kernel.instruments import Key, Values

log = logs.get(__name__)
_MOST_INSTANCES = 200  # kept apart; what the oldest of more have counted is kept as a sum
_MOST_READ = 2_000
_decode = msgspec.msgpack.Decoder(Envelope[InstrumentsTold]).decode


class _Word(Struct):
    """The newest that one instance told."""

    told_ms: int
    cells: dict[Key, Values]


class Board:
    """The newest word of every worker process."""

    def __init__(self) -> None:
        self._words: dict[str, _Word] = {}
        self._ended: dict[Key, Values] = {}  # of instances that were put together
        self._ended_ids: dict[str, None] = {}

    async def follow(self, bus: Bus) -> None:
        """Take what is told from now on."""
        await bus.subscribe(ANY_INSTRUMENTS, self._arrived)

    async def recall(self, bus: Bus) -> None:
        """Take what the stream holds of before; raises Unavailable while it does not answer."""
        sequence = 0
        for _ in range(_MOST_READ):
            found = await bus.message_from(ANY_INSTRUMENTS, PROGRESS, sequence=sequence + 1)
            if found is None:
                return
            sequence, _, data = found
            self.told(data)

    async def _arrived(self, message: Msg) -> None:
        self.told(message.data)

    def told(self, data: bytes) -> None:
        """Take one message; an older one of an instance changes nothing."""
        try:
            event = _decode(data).event
        except msgspec.MsgspecError as error:  # of another version
            log.info("instruments_unreadable", error=str(error)[:200])
            return
        known = self._words.pop(event.instance, None)
        if known is not None and known.told_ms > event.told_ms:
            self._words[event.instance] = known
            return
        if event.instance in self._ended_ids:
            return
        cells = {
            (name, labels): values
            for name, labels, values in event.cells
            if _fits(INSTRUMENTS.get(name), labels, values)
        }
        self._words[event.instance] = _Word(event.told_ms, cells)
        while len(self._words) > _MOST_INSTANCES:
            self._put_together(next(iter(self._words)))

    def _put_together(self, instance: str) -> None:
        """The instance that was silent for longest: it has ended, or will be missed little."""
        word = self._words.pop(instance)
        self._ended = merged([self._ended, word.cells])
        self._ended_ids[instance] = None
        if len(self._ended_ids) > _MOST_READ:
            del self._ended_ids[next(iter(self._ended_ids))]

    @property
    def instances(self) -> int:
        return len(self._words) + len(self._ended_ids)

    def cells(self) -> list[dict[Key, Values]]:
        """What each instance counted, the one that spoke last at the end."""
        words = sorted(self._words.values(), key=lambda word: word.told_ms)
        return [self._ended, *(word.cells for word in words)]


def _fits(instrument: Instrument | None, labels: tuple[str, ...], values: Values) -> bool:
    if instrument is None or len(labels) != len(instrument.labels):
        return False
    return len(values) == (len(instrument.buckets) + 2 if instrument.kind == "histogram" else 1)


def merged(parts: Iterable[dict[Key, Values]]) -> dict[Key, Values]:
    """Counters and histograms added up; of a gauge the last one."""
    total: dict[Key, Values] = {}
    for part in parts:
        for key, values in part.items():
            before = total.get(key)
            if before is None or INSTRUMENTS[key[0]].kind == "gauge":
                total[key] = values
            else:
                total[key] = tuple(a + b for a, b in zip(before, values, strict=True))
    return total
