"""Who waits for an answer, how do the workers learn of it, and how do they pace themselves?

Questions are counted in this process. Workers are told only while something is being indexed here,
and not again while what they were told still holds: an idle node and a lone question cause no
traffic. What the workers tell in return is kept for the status of a running pass.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from contracts.envelope import Envelope
from contracts.events.progress import AnyProgress, PaceChanged
from contracts.tools.repocontext import Pacing, PacingState
from services.query.entries import time_text

_REPEAT_S = 0.2  # a worker takes a notice for a little longer
_INDEXING_S = 5.0  # after the last fold indexing is taken to be over
_IDLE_S = 120.0
_DECODE = msgspec.msgpack.Decoder(Envelope[AnyProgress]).decode
# Whichever worker holds back the most is what a slow pass is explained by.
_STRENGTH: dict[str, int] = {"Pacing": 1, "Resting": 2, "Yielding": 3, "Backoff": 4, "Waiting": 5}
_STATES: dict[str, PacingState] = {
    "Pacing": "Pacing", "Resting": "Resting", "Yielding": "Yielding", "Backoff": "Backoff",
    "Waiting": "Waiting",
}  # fmt: skip


class Foreground:
    """The questions being answered by this process. Thread-safe."""

    def __init__(
        self, publish: Callable[[int], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`publish(requests)` has the workers told; called from any thread, and must not wait."""
        self._publish, self._clock = publish, clock
        self._lock = threading.Lock()
        self.requests = 0
        self._told_at = -_REPEAT_S
        self._indexed_at = -_INDEXING_S

    def indexing(self) -> None:
        """Something was folded just now."""
        self._indexed_at = self._clock()

    @contextmanager
    def request(self) -> Iterator[None]:
        """One question, from its first to its last moment."""
        with self._lock:
            self.requests += 1
            now = self._clock()
            tell = now - self._indexed_at < _INDEXING_S and now - self._told_at >= _REPEAT_S
            if tell:
                self._told_at = now
            count = self.requests
        if tell:
            self._publish(count)
        try:
            yield
        finally:
            with self._lock:
                self.requests -= 1


class _Heard(Struct, frozen=True):
    event: PaceChanged
    at: float


class Paces:
    """What the workers last told of their pace."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._heard: dict[str, _Heard] = {}

    def told(self, data: bytes) -> None:
        """Take one message."""
        event = _DECODE(data).event
        if isinstance(event, PaceChanged):
            self._heard[event.worker] = _Heard(event, self._clock())

    def reading(self, *, enabled: bool, requests: int) -> Pacing:
        """How far indexing holds itself back at this moment."""
        if not enabled:
            return Pacing(
                state="Disabled", batch_delay_milliseconds=0, foreground_requests=requests
            )
        now = self._clock()
        recent = [heard.event for heard in self._heard.values() if now - heard.at < _IDLE_S]
        if not recent:
            return Pacing(state="Idle", batch_delay_milliseconds=0, foreground_requests=requests)
        event = max(recent, key=lambda event: _STRENGTH.get(event.state, 0))
        return Pacing(
            state=_STATES.get(event.state, "Pacing"),
            reason=event.reason or None,
            batch_delay_milliseconds=event.delay_ms,
            since=time_text(event.since_ms),
            foreground_requests=requests,
        )
