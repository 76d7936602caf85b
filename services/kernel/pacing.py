"""How far does indexing hold itself back, so that questions are answered quickly?

A worker asks its `Pacer` before each batch and tells it how the batch went. While people wait for
answers the next batch waits too, for two seconds at most, and never again before as long was
worked; what is congested is given time, doubling while it stays so. No batch is ever skipped.
Nothing here runs while nothing is indexed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from contracts import subjects
from contracts.envelope import encode, now_ms, starting
from contracts.events.progress import ForegroundNotice, PaceChanged
from services.kernel.bus import Bus, Msg

YIELD_S = 2.0  # a batch waits no longer than this for questions
WAIT_S = 30.0  # nor longer than this for the broker
LEASE_S = 0.25  # for so long a question counts as being answered
LATELY_S = 60.0
FIRST_BACKOFF_MS = 250
LONGEST_BACKOFF_MS = 8_000
EASED_MS = 50  # a clean batch takes off this or a quarter, whichever is more
SLOW_FACTOR = 2.5  # times the learned time of a batch
SLOW_S = 0.25
ADVISORY_S = 60.0  # at the longest delay, without relief: it is not for us to relieve
_LEARNED = 8  # batches before a latency is judged
_TOLD_S = 1.0  # between two tellings of a change
_REPEATED_S = 30.0  # and of no change
_MEMORY_LOOK_S = 5.0
_MEMORY_LEFT = 0.04  # of the machine's memory
_POLL_S = 0.02
_decode = msgspec.msgpack.Decoder(ForegroundNotice).decode


class Foreground:
    """Whether people wait for answers, as the query services tell it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until = self._at = -LATELY_S
        self.requests = 0

    def told(self, data: bytes) -> None:
        """Take one notice."""
        self.requests = _decode(data).requests
        self._at = self._clock()
        self._until = self._at + (LEASE_S if self.requests else 0.0)

    def waits(self) -> bool:
        """Whether somebody waits now."""
        return self._clock() < self._until

    def lately(self) -> bool:
        """Whether somebody asked within the last minute."""
        return self._clock() - self._at < LATELY_S


class Pace(Struct):
    """How a worker goes at this moment."""

    state: str = "Pacing"  # Pacing Backoff Waiting Resting Yielding
    reason: str = ""
    delay_ms: int = 0
    since_ms: int = 0


class Means(Struct, frozen=True, kw_only=True):
    """What a pacer looks at and acts through."""

    connected: Callable[[], bool]
    tell: Callable[[PaceChanged], Awaitable[None]]
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    memory_left: Callable[[], float] = lambda: memory_left_share()


class Pacer:
    """Paces the batches of one worker process."""

    def __init__(
        self, worker: str, foreground: Foreground, means: Means, *, judges_latency: bool = False
    ) -> None:
        """`judges_latency`: batches wait for somebody else, so a slow one means that he is busy."""
        self._worker, self._foreground = worker, foreground
        self._connected, self._tell = means.connected, means.tell
        self._clock, self._sleep = means.clock, means.sleep
        self._memory_left = means.memory_left
        self._judges_latency = judges_latency
        self.pace = Pace()
        self._told = ("", "", 0)
        self._told_at = -_REPEATED_S
        self._baseline_s = 0.0
        self._clean = 0
        self._ceiling_at = 0.0  # since when the delay is at its longest; 0 while it is not
        self._cause = self._advisory = ""
        self._worked_s = YIELD_S  # since the last yield that ran into its bound
        self._memory_at = -_MEMORY_LOOK_S
        self._memory_low = False

    async def before(self) -> None:
        """Wait as long as this moment asks for."""
        if not self._connected():
            await self._until(self._connected, WAIT_S, "Waiting", "the broker does not answer")
        if self._foreground.waits():
            await self._yield()
        if self.pace.delay_ms:
            await self._enter("Backoff", self._why())
            await self._sleep(self.pace.delay_ms / 1000)
        else:
            await self._enter("Pacing", self._advisory)

    def _why(self) -> str:
        return self._advisory or self._cause

    async def _yield(self) -> None:
        if self._worked_s < YIELD_S:
            await self._enter("Resting", "working on between two yields to questions")
            return
        count = max(self._foreground.requests, 1)
        free = await self._until(
            lambda: not self._foreground.waits(),
            YIELD_S,
            "Yielding",
            f"{count} question{'s' if count > 1 else ''} being answered",
        )
        if not free:
            self._worked_s = 0.0

    async def _until(self, free: Callable[[], bool], most_s: float, state: str, why: str) -> bool:
        await self._enter(state, why)
        ends = self._clock() + most_s
        while not free():
            if self._clock() >= ends:
                return False
            await self._sleep(_POLL_S)
        return True

    async def after(self, seconds: float, *, failed: bool) -> None:
        """Learn from a batch that took so long."""
        self._worked_s += seconds
        cause = self._congestion(seconds, failed)
        if not cause:
            self._ease(seconds)
        elif self._advisory != f"{cause} is treated as advisory":
            self._back_off(cause)
            await self._enter("Backoff" if self.pace.delay_ms else "Pacing", self._why())

    def _congestion(self, seconds: float, failed: bool) -> str:
        if failed:
            return "a batch failed"
        if self._is_memory_low():
            return "the machine's memory is nearly used up"
        slow = seconds > SLOW_S and seconds > SLOW_FACTOR * self._baseline_s
        if self._judges_latency and self._clean >= _LEARNED and slow:
            return "batches take much longer than they did"
        return ""

    def _is_memory_low(self) -> bool:
        now = self._clock()
        if now - self._memory_at >= _MEMORY_LOOK_S:
            self._memory_at = now
            self._memory_low = self._memory_left() < _MEMORY_LEFT
        return self._memory_low

    def _ease(self, seconds: float) -> None:
        share = 0.1 if self._clean >= _LEARNED else 1 / (self._clean + 1)
        self._baseline_s += share * (seconds - self._baseline_s)
        self._clean += 1
        self._advisory = ""
        self._ceiling_at = 0.0
        delay = self.pace.delay_ms
        self.pace.delay_ms = max(0, delay - max(EASED_MS, delay // 4))

    def _back_off(self, cause: str) -> None:
        now = self._clock()
        self._advisory = ""
        delay = self.pace.delay_ms
        self.pace.delay_ms = min(max(2 * delay, FIRST_BACKOFF_MS), LONGEST_BACKOFF_MS)
        self._cause = cause
        if self.pace.delay_ms < LONGEST_BACKOFF_MS:
            return
        if not self._ceiling_at:
            self._ceiling_at = now
        elif now - self._ceiling_at >= ADVISORY_S:
            self.pace.delay_ms, self._ceiling_at = 0, 0.0
            self._advisory = f"{cause} is treated as advisory"

    async def _enter(self, state: str, reason: str) -> None:
        pace = self.pace
        if (pace.state, pace.reason) != (state, reason) or not pace.since_ms:
            pace.state, pace.reason, pace.since_ms = state, reason, now_ms()
        now = self._clock()
        said = (pace.state, pace.reason, pace.delay_ms)
        if now - self._told_at < (_REPEATED_S if said == self._told else _TOLD_S):
            return
        self._told, self._told_at = said, now
        await self._tell(
            PaceChanged(
                worker=self._worker,
                state=pace.state,
                reason=pace.reason,
                delay_ms=pace.delay_ms,
                since_ms=pace.since_ms,
                foreground=self._foreground.requests if self._foreground.waits() else 0,
            )
        )


def memory_left_share() -> float:
    """Free memory of the machine as a share of all of it; 1 where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 1.0
    sizes = {line.partition(":")[0]: int(line.split()[1]) for line in lines[:8]}
    if "MemAvailable" not in sizes:
        return 1.0
    return sizes["MemAvailable"] / max(sizes.get("MemTotal", 0), 1)


async def pacer_of(
    bus: Bus, worker: str, *, enabled: bool, judges_latency: bool = False
) -> Pacer | None:
    """The pacer of a worker's process, listening; None when pacing is switched off."""
    if not enabled:
        return None
    foreground = Foreground()

    async def asked(message: Msg) -> None:
        foreground.told(message.data)

    async def tell(event: PaceChanged) -> None:
        envelope = starting(worker, event)
        await bus.publish(subjects.pace(), encode(envelope))

    await bus.subscribe(subjects.ANY_FOREGROUND, asked)
    means = Means(connected=lambda: bus.connected, tell=tell)
    return Pacer(worker, foreground, means, judges_latency=judges_latency)
