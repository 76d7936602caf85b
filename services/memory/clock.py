"""What time is it by the log's clock?

Leases and expiries are told by the broker's clock alone, so that several workers on several machines
agree. It is known from the times that the broker stamps on what it stores, carried on with this
process's monotonic clock; the latest stamp wins, since one that was on its way for long only lags.
"""

from __future__ import annotations

import asyncio
import time
from datetime import datetime

from contracts.errors import Unavailable
from contracts.subjects import LOG
from services.kernel.bus import Bus

_PAUSE_S = 0.2


class LogClock:
    """Unix milliseconds of the broker."""

    def __init__(self) -> None:
        self._ahead_ms: float | None = None  # the broker's time minus the monotonic clock's

    async def set(self, bus: Bus) -> None:
        """Set the clock by the broker's own answer, once it gives one."""
        while True:
            try:
                info = await bus.api(f"STREAM.INFO.{LOG}", {})
                break
            except Unavailable:  # it is just starting
                await asyncio.sleep(_PAUSE_S)
        told = datetime.fromisoformat(str(info["ts"]).replace("Z", "+00:00"))
        self._ahead_ms = told.timestamp() * 1000 - _monotonic_ms()

    def heard(self, stored_ms: int) -> None:
        """Take the stamp of a message that has just arrived."""
        ahead = stored_ms - _monotonic_ms()
        if self._ahead_ms is None or ahead > self._ahead_ms:
            self._ahead_ms = ahead

    def now_ms(self) -> int:
        """The time; the machine's own while no stamp was ever heard."""
        if self._ahead_ms is None:
            return time.time_ns() // 1_000_000
        return int(_monotonic_ms() + self._ahead_ms)


def _monotonic_ms() -> float:
    return time.monotonic() * 1000
