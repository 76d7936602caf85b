"""How many extractors the backlog asks for."""

from __future__ import annotations

import asyncio

import pytest

from contracts.errors import Unavailable
from ops.node import fleet
from ops.node.fleet import BACKLOG_PER_PROCESS, QUIET_S, Fleet, wanted


@pytest.mark.parametrize(
    ("backlog", "running", "quiet_s", "expected"),
    [
        (0, 1, 0.0, 1),
        (BACKLOG_PER_PROCESS, 1, 0.0, 1),
        (BACKLOG_PER_PROCESS + 1, 1, 0.0, 2),
        (10 * BACKLOG_PER_PROCESS, 1, 0.0, 4),
        (2 * BACKLOG_PER_PROCESS, 4, 0.0, 4),  # never fewer while there is work
        (0, 4, QUIET_S - 1, 4),
        (0, 4, QUIET_S, 1),
    ],
)
def test_more_extractors_come_with_the_backlog_and_leave_after_a_quiet_time(
    backlog: int, running: int, quiet_s: float, expected: int
) -> None:
    assert wanted(backlog, running, most=4, quiet_s=quiet_s) == expected


async def test_the_backlog_is_followed_to_its_end_and_then_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fleet, "_LOOK_S", 0.0)
    monkeypatch.setattr(fleet, "QUIET_S", 0.0)
    backlogs = [500, 300, 10, 0]
    sizes: list[int] = []
    idle = asyncio.Event()

    async def backlog() -> int:
        return backlogs.pop(0)

    async def resize(count: int) -> None:
        sizes.append(count)
        if count == 1:
            idle.set()

    elastic = Fleet(backlog, resize, running=1, most=3)
    elastic.nudge()
    elastic.nudge()
    await asyncio.wait_for(idle.wait(), 10)

    assert sizes == [3, 1]
    assert backlogs == []


async def test_a_nudge_while_the_last_look_is_under_way_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fleet, "_LOOK_S", 0.0)
    monkeypatch.setattr(fleet, "QUIET_S", 0.0)
    backlogs = [0, 500, 0]
    sizes: list[int] = []
    idle = asyncio.Event()

    async def backlog() -> int:
        if len(backlogs) == 3:
            elastic.nudge()  # for what comes after this answer
        return backlogs.pop(0)

    async def resize(count: int) -> None:
        sizes.append(count)
        if count == 1:
            idle.set()

    elastic = Fleet(backlog, resize, running=1, most=3)
    elastic.nudge()
    await asyncio.wait_for(idle.wait(), 10)

    assert sizes == [3, 1]


async def test_a_broker_that_is_away_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "_LOOK_S", 0.0)
    asked = asyncio.Event()
    answers = iter([Unavailable("away"), 0])

    async def backlog() -> int:
        answer = next(answers)
        if isinstance(answer, Unavailable):
            raise answer
        asked.set()
        return answer

    async def resize(count: int) -> None:
        raise AssertionError(count)

    Fleet(backlog, resize, running=1, most=2).nudge()
    await asyncio.wait_for(asked.wait(), 10)


def test_one_processor_never_gets_a_second_extractor() -> None:
    async def never() -> int:
        raise AssertionError

    async def resize(count: int) -> None:
        raise AssertionError(count)

    Fleet(never, resize, running=1, most=1).nudge()
