"""How many extractors does the backlog ask for?

One is always there. More are started when jobs pile up and stopped when there is nothing left for
them; the backlog is looked at only while a pass runs.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

from contracts.errors import Unavailable

BACKLOG_PER_PROCESS = 64  # waiting jobs that justify another extractor
QUIET_S = 2.0  # without a backlog before the additional ones are stopped
_LOOK_S = 1.0


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def wanted(backlog: int, running: int, most: int, quiet_s: float) -> int:
    """How many extractors there should be, given how long there was no backlog."""
    if backlog > BACKLOG_PER_PROCESS:
        return max(running, min(most, 1 + backlog // BACKLOG_PER_PROCESS))
    return 1 if quiet_s >= QUIET_S else running


class Fleet:
    """Starts and stops the additional extractors."""

    def __init__(
        self,
        backlog: Callable[[], Awaitable[int]],
        resize: Callable[[int], Awaitable[None]],
        running: int,
        most: int,
    ) -> None:
        self._backlog, self._resize = backlog, resize
        self._running, self._most = running, most
        self._task: asyncio.Task[None] | None = None
        self._nudged = False  # since the backlog was last asked for

    def nudge(self) -> None:
        """Something is going on: look at the backlog until it is gone."""
        self._nudged = True
        if self._most > 1 and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        busy_at = time.monotonic()
        while True:
            self._nudged = False
            try:
                backlog = await self._backlog()
            except Unavailable:  # the broker is starting again
                backlog = 1
            now = time.monotonic()
            if backlog:
                busy_at = now
            count = wanted(backlog, self._running, self._most, now - busy_at)
            if count != self._running:
                await self._resize(count)
                self._running = count
            if backlog == 0 and self._running == 1 and not self._nudged:
                return
            await asyncio.sleep(_LOOK_S)

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
