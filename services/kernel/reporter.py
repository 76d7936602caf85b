"""How do the figures of a worker process reach the one place where they are read?

The process publishes all it has counted, as cumulative values under an id of its own, on its PROGRESS
subject, of which the newest message is kept. Only a change is told, and a few seconds of changes
together; an idle process says nothing but, before the stream forgets its last word, that word again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from mode import Service
from nats.errors import Error as NatsError

from contracts import subjects
from contracts.envelope import Envelope, encode, new_id, now_ms
from contracts.errors import Fault
from contracts.events.progress import InstrumentsTold
from services.kernel.bus import Bus
from services.kernel.instruments import Tally, counted

_TOGETHER_S = 2.0
_AGAIN_S = 2700.0  # below the hour for which PROGRESS keeps a message


class Reporter(Service):
    """Tells what this process has counted."""

    def __init__(self, bus: Bus, worker: str, tally: Tally = counted) -> None:
        super().__init__()
        self._bus, self._worker, self._tally = bus, worker, tally
        self._instance = new_id()
        self._told_ms = 0
        self._changed = asyncio.Event()
        self.together_s = _TOGETHER_S

    async def on_start(self) -> None:
        self._tally.changed = self._waker(asyncio.get_running_loop())
        self._changed.set()  # what was counted before
        self.add_future(self._run())

    def _waker(self, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody tells any more
                loop.call_soon_threadsafe(self._changed.set)

        return wake

    async def _run(self) -> None:
        while not self.should_stop:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), _AGAIN_S)
            await self.sleep(self.together_s)
            self._changed.clear()
            if not await self.report():
                self._changed.set()

    async def report(self) -> bool:
        """Tell everything now; whether the broker has it."""
        cells = self._tally.take()
        if not cells:
            return True
        at = self._told_ms = max(now_ms(), self._told_ms + 1)
        event = InstrumentsTold(
            instance=self._instance,
            worker=self._worker,
            told_ms=at,
            cells=tuple((name, labels, values) for (name, labels), values in cells.items()),
        )
        envelope = Envelope(id=new_id(), at_ms=at, producer=self._worker, event=event)
        subject = subjects.instruments(self._worker, self._instance)
        try:
            await (await self._bus.put(subject, encode(envelope)))
        except (Fault, NatsError):
            return False
        return True
