"""How does the broker give back what a burst of work left in it?

The Go runtime collects garbage once as much was allocated as lives. An idle broker allocates next to
nothing, so the blocks and buffers that a cold index left, 60 to 80 MB, would stay for five minutes.
Nothing can be asked to collect them; but room is allocated for each large message, even for one
that nobody takes. So a broker that is idle and has grown is sent a few of those, and some more where
that was not enough: what it gives back is planned at the end of each collection, by what then lived.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from nats.errors import Error as NatsError

from contracts.errors import Fault
from contracts.subjects import BALLAST
from services.kernel import memory
from services.kernel.bus import Bus

QUIET_S = 8.0  # without news of any worker
LARGE = 64 << 20
WORKED_S = 0.5  # of a processor, since the last time: less leaves little garbage
_MESSAGE = bytes(8 << 20)
_MESSAGES = 9  # collections until pooled buffers are let go: two, each after as much as lives
ROUNDS = 3  # at most, of so many messages
_ENOUGH = 0.6  # of its size before the first: what is left lives


class Spent(Struct, frozen=True):
    """What a process has taken of the machine."""

    resident: int = 0  # bytes
    cpu_s: float = 0.0


class Relief:
    """Looks after the size of one broker."""

    def __init__(
        self,
        bus: Bus,
        spent: Callable[[], Spent],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`spent` tells what the broker has taken; nothing where that is not known."""
        self._bus, self._spent, self._clock = bus, spent, clock
        self._cpu_s = 0.0  # that it had taken after the last time
        self._stirred_at = 0.0  # 0: idle since it was last looked at
        self._rounds = 0  # since it had work
        self._before = 0  # bytes, its size before the first round

    def stirred(self) -> None:
        """The broker had work."""
        self._stirred_at, self._rounds = self._clock(), 0

    async def look(self) -> bool:
        """Have a broker that is idle and has grown collect its garbage; whether it was asked to."""
        if not self._stirred_at or self._clock() - self._stirred_at < QUIET_S:
            return False
        spent = self._spent()
        if self._rounds == 0:
            self._before = spent.resident
            worked = spent.cpu_s - self._cpu_s
            done = spent.resident <= LARGE or 0 <= worked < WORKED_S  # below 0: started again
        else:
            left = max(LARGE, _ENOUGH * self._before)
            done = spent.resident <= left or self._rounds == ROUNDS
        if done:
            self._stirred_at = 0.0
            return False
        self._rounds += 1
        stirred_at = self._stirred_at
        try:
            for _ in range(_MESSAGES):
                await self._bus.publish(BALLAST, _MESSAGE)
                await self._bus.api("INFO", {})  # one after the other: they are not to pile up
        except (Fault, NatsError):  # it is starting again, and small then; or the node stops
            if self._stirred_at == stirred_at:
                self._stirred_at = 0.0
            return False
        memory.trim()  # what they took here
        self._cpu_s = self._spent().cpu_s
        return True


def spent_by(pid: int) -> Spent:
    """What a process has taken; nothing where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    except (OSError, IndexError, ValueError):
        return Spent()
    ticks = sum(map(int, times))
    return Spent(pages * os.sysconf("SC_PAGE_SIZE"), ticks / os.sysconf("SC_CLK_TCK"))
