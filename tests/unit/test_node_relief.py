"""A broker that is idle and has grown is made to collect what nobody needs any more."""

from __future__ import annotations

import os
import sys
from typing import cast

import pytest

from contracts.errors import Unavailable
from contracts.subjects import BALLAST
from ops.node.relief import LARGE, QUIET_S, ROUNDS, WORKED_S, Relief, Spent, spent_by
from services.kernel.bus import Bus

_ROUND = 72 << 20  # bytes that are sent at a time


class Broker:
    """A broker that shrinks to what lives in it once enough was sent."""

    def __init__(self, size: int, live: int, needed: int = 1) -> None:
        """It takes `needed` rounds."""
        self.size, self.live, self.needed = size, live, needed * _ROUND
        self.cpu_s = WORKED_S
        self.sent = 0
        self.away = False

    async def publish(self, subject: str, data: bytes) -> None:
        assert subject == BALLAST
        self.sent += len(data)
        if self.sent >= self.needed:
            self.size = self.live

    async def api(self, _subject: str, _body: object) -> dict[str, object]:
        if self.away:
            raise Unavailable("the broker does not answer")
        return {}


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def _relief(broker: Broker, clock: Clock) -> Relief:
    return Relief(cast("Bus", broker), lambda: Spent(broker.size, broker.cpu_s), clock)


async def test_a_grown_broker_is_relieved_once_it_is_idle_and_not_again() -> None:
    broker, clock = Broker(size=LARGE + 1, live=20 << 20), Clock()
    relief = _relief(broker, clock)

    assert not await relief.look()  # it had no work
    relief.stirred()
    clock.now += QUIET_S / 2
    assert not await relief.look()  # it may still have some
    clock.now += QUIET_S / 2
    assert await relief.look()
    assert broker.size == broker.live
    clock.now += QUIET_S
    assert not await relief.look()


async def test_a_small_broker_is_left_alone() -> None:
    broker, clock = Broker(size=LARGE, live=20 << 20), Clock()
    relief = _relief(broker, clock)

    relief.stirred()
    clock.now += QUIET_S

    assert not await relief.look()
    assert broker.sent == 0


async def test_a_broker_with_much_alive_is_not_asked_again_until_it_has_worked() -> None:
    live = 2 * LARGE
    broker, clock = Broker(size=live, live=live), Clock()
    relief = _relief(broker, clock)

    async def idle_again() -> bool:
        relief.stirred()
        clock.now += QUIET_S
        return await relief.look()

    assert await idle_again()
    assert not await idle_again()
    broker.cpu_s += WORKED_S
    assert await idle_again()
    broker.cpu_s = 0.1  # another process
    assert await idle_again()


async def test_a_broker_that_gives_back_late_is_asked_again() -> None:
    broker, clock = Broker(size=3 * LARGE, live=LARGE // 2, needed=2), Clock()
    relief = _relief(broker, clock)
    relief.stirred()
    clock.now += QUIET_S
    assert await relief.look()
    assert broker.size == 3 * LARGE
    assert await relief.look()
    assert broker.size == broker.live
    assert not await relief.look()


async def _times_asked(relief: Relief, clock: Clock) -> int:
    relief.stirred()
    clock.now += QUIET_S
    asked = 0
    while await relief.look():
        asked += 1
    return asked


async def test_a_broker_whose_rest_lives_is_asked_no_more_once_it_shrank() -> None:
    broker, clock = Broker(size=4 * LARGE, live=2 * LARGE, needed=2), Clock()
    relief = _relief(broker, clock)
    asked = await _times_asked(relief, clock)
    assert broker.size == broker.live
    assert asked == 2


async def test_a_broker_that_never_shrinks_is_asked_a_few_times() -> None:
    broker, clock = Broker(size=2 * LARGE, live=2 * LARGE), Clock()
    relief = _relief(broker, clock)
    asked = await _times_asked(relief, clock)
    assert asked == ROUNDS


async def test_a_broker_that_is_away_is_looked_at_after_its_next_work() -> None:
    broker, clock = Broker(size=2 * LARGE, live=LARGE), Clock()
    relief = _relief(broker, clock)
    relief.stirred()
    clock.now += QUIET_S
    broker.away = True

    assert not await relief.look()
    broker.away = False
    relief.stirred()
    clock.now += QUIET_S
    assert await relief.look()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_what_a_process_took_is_known_and_that_of_none_is_nothing() -> None:
    assert spent_by(os.getpid()).resident > 1 << 20
    assert spent_by(os.getpid()).cpu_s > 0
    assert spent_by(0) == Spent()
