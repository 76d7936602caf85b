"""How do the streams' messages reach the environment?

Two ordered readers feed one fold. A single edit is folded as it arrives; under load many messages
share a commit: after a large one the loop pauses for a few times as long as it took, because a commit
costs much the same however little is in it, here and in everybody who looks after each. Folding runs
in a thread, so the next messages arrive meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from contracts.errors import Unavailable
from contracts.subjects import INDEX, LOG
from services.kernel import logs, memory
from services.kernel.bus import Bus
from services.kernel.instruments import counted
from services.kernel.reader import Entry, StreamReader
from store.fold import Folded, Folder, Message
from store.rows import Positions

log = logs.get(__name__)
_REPLAYS = {
    LOG: "repocontext.bootstrap.memory_marker_scan",
    INDEX: "repocontext.bootstrap.symbol_walk",
}
_BATCH = 768
_OUTAGE_S = 0.5  # between two attempts while the broker does not answer
_QUIET_S = 15.0  # between two looks when nothing happens
_IDLE_S = 5.0  # without work after which memory is given back
_BATCH_BYTES = 12 << 20
_LIGHT = 8  # files and vectors: so few are an edit, and nothing waits after them
_PAUSE_SHARE = 6.0  # of the time that a commit took
_LONGEST_PAUSE_S = 0.25
_SILENCE_S = 0.1  # nothing came for so long: nothing more is on its way
_PAUSE_LOOK_S = 0.02


class StreamsRewound(Exception):
    """The streams end before the environment's positions: the broker lost what it had confirmed."""


Committed = Callable[[Folded], Awaitable[None]]


class FoldLoop:
    """Folds both streams into one environment, from its positions on."""

    def __init__(self, bus: Bus, folder: Folder) -> None:
        self.folder = folder
        position = folder.positions
        self._log = StreamReader(bus, LOG, position.log)
        self._index = StreamReader(
            bus, INDEX, position.index, window=2 * _BATCH, window_bytes=2 * _BATCH_BYTES
        )
        self._wake = asyncio.Event()
        self._log.wake = self._index.wake = self._wake
        self._held: list[Entry] = []
        self._stopping = False
        self._gather_until = 0.0
        self._grown = False  # by work since memory was last given back
        self._suspicious = True  # at the start and after an outage: the broker may hold less
        self._catching_up = dict(_REPLAYS)  # stream -> its instrument, until its tail is reached
        for stream, resumed in ((LOG, position.log), (INDEX, position.index)):
            if resumed:
                counted.add(_REPLAYS[stream], "resumed")
        self._bus = bus
        bus.when_reconnected(self._doubt)

    async def close(self) -> None:
        """Read no more; the environment is its owner's to close."""
        self._bus.when_reconnected_no_more(self._doubt)
        await self._log.close()
        await self._index.close()

    def _doubt(self) -> None:
        self._suspicious = True
        self._wake.set()

    async def check(self) -> bool:
        """Whether the streams still hold what the environment stands for."""
        position = self.folder.positions
        return await self._log.tail() >= position.log and await self._index.tail() >= position.index

    async def tails(self) -> Positions:
        return Positions(await self._log.tail(), await self._index.tail())

    async def run(self, committed: Committed) -> None:
        """Fold for ever, until `stop`; a broker without an answer is asked again."""
        while not self._stopping:
            self._wake.clear()
            await self._gather()
            if await self._step(committed):
                self._grown = True
                continue
            await self._wait(_IDLE_S if self._grown else _QUIET_S)
            if self._grown and not self._wake.is_set():
                self._grown = False
                await asyncio.to_thread(memory.trim)

    async def _gather(self) -> None:
        """Under load let more come together; facts of LOG, which somebody waits for, end the pause."""
        while (left := self._gather_until - time.monotonic()) > 0 and not self._stopping:
            if self._index.holds(_BATCH, _BATCH_BYTES) or self._log.holds(1, 1) or self._held:
                return
            if self._index.silent_s() > _SILENCE_S:
                return
            await asyncio.sleep(min(left, _PAUSE_LOOK_S))

    async def catch_up(self) -> Positions:
        """Fold until the tails that the streams had at the start are reached."""
        goal = await self.tails()
        while not self._reached(goal):
            self._wake.clear()
            if not await self._step(_quietly) and not self._reached(goal):
                await self._wait(1.0)
                if await self._drained(goal):
                    break
        while self._catching_up:
            counted.add(self._catching_up.popitem()[1], "complete")
        return self.folder.positions

    def _reached(self, goal: Positions) -> bool:
        here = self.folder.positions
        return here.log >= goal.log and here.index >= goal.index

    async def _drained(self, goal: Positions) -> bool:
        """Whether the messages up to `goal` are gone from the streams (purged or replaced)."""
        if not self._log.exhausted or not self._index.exhausted:
            return False
        here = self.folder.positions
        here.log, here.index = max(here.log, goal.log), max(here.index, goal.index)
        return True

    async def _outage(self, error: Unavailable) -> None:
        """Read again from what is committed: what was taken meanwhile is not folded."""
        log.warning("fold_interrupted", error=error.message)
        for instrument in self._catching_up.values():
            counted.add(instrument, "banked")
        position = self.folder.positions
        self._held = []
        self._log.rewind(position.log)
        self._index.rewind(position.index)
        await asyncio.sleep(_OUTAGE_S)

    async def _wait(self, seconds: float = _QUIET_S) -> None:
        try:
            await asyncio.wait_for(self._wake.wait(), seconds)
        except TimeoutError:
            return

    async def _step(self, committed: Committed) -> bool:
        """Fold what is buffered, or wait while the broker is away; False when there was nothing to do."""
        try:
            return await self._fold_buffered(committed)
        except Unavailable as error:
            await self._outage(error)
            return True

    async def _fold_buffered(self, committed: Committed) -> bool:
        if self._suspicious:
            if not await self.check():
                raise StreamsRewound
            self._suspicious = False
        log_ready = await self._log.ready()
        index_ready = await self._index.ready()
        if not (log_ready or index_ready or self._held):
            self._caught_up()
            return False
        log = self._log.take(_BATCH, _BATCH_BYTES)
        index = self._held or self._index.take(_BATCH, _BATCH_BYTES)
        complete = bool(self._held) and not log and await self._log.tail() <= self._log.position
        began = time.monotonic()
        folded = await asyncio.to_thread(
            self.folder.fold, _messages(log), _messages(index), log_complete=complete
        )
        if folded.files + folded.vectors > _LIGHT:
            ended = time.monotonic()
            self._gather_until = ended + min(_PAUSE_SHARE * (ended - began), _LONGEST_PAUSE_S)
        self._held = list(index[folded.index_applied :])
        await committed(folded)
        if self._held and not log:
            await self._wait(0.05)
        return True

    def _caught_up(self) -> None:
        for reader, stream in ((self._log, LOG), (self._index, INDEX)):
            if stream in self._catching_up and reader.exhausted:
                counted.add(self._catching_up.pop(stream), "complete")

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()


def _messages(entries: Sequence[Entry]) -> list[Message]:
    return [Message(entry.sequence, entry.data) for entry in entries]


async def _quietly(_: Folded) -> None:
    return


async def reachable(bus: Bus) -> None:
    """Wait until the streams exist; raises Unavailable after half a minute."""
    for _ in range(300):
        try:
            await bus.api(f"STREAM.INFO.{LOG}", {})
            await bus.api(f"STREAM.INFO.{INDEX}", {})
        except Unavailable:
            await asyncio.sleep(0.1)
        else:
            return
    raise Unavailable("the streams do not exist", hint="run `repofold provision --nats URL`")
