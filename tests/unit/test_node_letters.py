"""Dead letters: shown, tried again where that is still called for, and dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts import subjects
from contracts.errors import NotFound
from contracts.subjects import CMD, DEAD, INDEX, WORK
from ops.node.letters import RETRIED, SUPERSEDED, drop, letter, letters, retry
from services.kernel.bus import VERSION_HEADER, Bus
from services.kernel.provision import provision
from services.kernel.settings import Settings
from tests.guarded_broker import connected, guarded

pytestmark = pytest.mark.broker

JOB = subjects.extract_job("demo", "a.py")
RECORD = subjects.file_record("demo", "a.py")
COMMAND = subjects.repo_command("demo")


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    with guarded(tmp_path) as settings:
        asyncio.run(_provision(settings))
        yield settings


async def _provision(settings: Settings) -> None:
    async with connected(settings, "ops") as bus:
        await provision(bus)


async def _park(bus: Bus, durable: str, subject: str, data: bytes) -> None:
    headers = {
        "Rf-Error": "Poisoned('no')",
        "Rf-Durable": durable,
        "Rf-Attempts": "5",
        "Rf-Subject": subject,
    }
    await (await bus.put(subjects.dead(durable, subject), data, headers=headers))


async def _stored(bus: Bus, stream: str) -> int:
    count: int = (await bus.api(f"STREAM.INFO.{stream}", {}))["state"]["messages"]
    return count


async def test_a_letter_tells_where_it_came_from_and_why_it_failed(settings: Settings) -> None:
    async with connected(settings, "extractor") as worker, connected(settings, "ops") as ops:
        for number in range(3):
            await _park(
                worker, "extractor", subjects.extract_job("demo", f"{number}.py"), b"%d" % number
            )
        await drop(ops, await letter(ops, 2))

        found = [found async for found in letters(ops)]

        assert [(one.number, one.data) for one in found] == [(1, b"0"), (3, b"2")]
        first = found[0]
        assert (first.durable, first.attempts, first.cause) == ("extractor", 5, "Poisoned('no')")
        assert first.subject == subjects.extract_job("demo", "0.py")
        assert first.at.startswith("20")
        with pytest.raises(NotFound, match="no dead letter 2"):
            await letter(ops, 2)


async def test_a_job_is_put_back_byte_for_byte(settings: Settings) -> None:
    async with connected(settings, "extractor") as worker, connected(settings, "ops") as ops:
        await _park(worker, "extractor", JOB, b"job")

        outcome = await retry(ops, await letter(ops, 1))

        found = await ops.last_message(JOB, WORK)
        assert outcome == RETRIED
        assert found is not None
        assert found[2] == b"job"
        assert await _stored(ops, DEAD) == 0


async def test_a_job_never_takes_the_place_of_a_newer_one(settings: Settings) -> None:
    async with (
        connected(settings, "extractor") as worker,
        connected(settings, "reconciler") as reconciler,
        connected(settings, "ops") as ops,
    ):
        await _park(worker, "extractor", JOB, b"old")
        await (await reconciler.put(JOB, b"new"))

        outcome = await retry(ops, await letter(ops, 1))

        found = await ops.last_message(JOB, WORK)
        assert outcome == SUPERSEDED
        assert found is not None
        assert found[2] == b"new"
        assert await _stored(ops, DEAD) == 0


async def test_a_record_is_delivered_again_while_it_is_the_newest(settings: Settings) -> None:
    async with (
        connected(settings, "extractor") as extractor,
        connected(settings, "embedder") as embedder,
        connected(settings, "ops") as ops,
    ):
        first = await extractor.append_newer(RECORD, b"record", version=7, expected=0)
        await _park(embedder, "embedder", RECORD, b"record")

        outcome = await retry(ops, await letter(ops, 1))

        found = await ops.last_message(RECORD, INDEX)
        assert outcome == RETRIED
        assert found is not None
        assert found[0] > first
        assert found[1][VERSION_HEADER] == "7"
        assert found[2] == b"record"


async def test_a_record_that_was_replaced_or_removed_is_not_brought_back(
    settings: Settings,
) -> None:
    async with (
        connected(settings, "extractor") as extractor,
        connected(settings, "embedder") as embedder,
        connected(settings, "ops") as ops,
    ):
        await extractor.append_newer(RECORD, b"newer", version=8, expected=0)
        await _park(embedder, "embedder", RECORD, b"older")
        await _park(embedder, "embedder", subjects.file_record("demo", "gone.py"), b"gone")

        outcomes = [await retry(ops, found) for found in [one async for one in letters(ops)]]

        assert outcomes == [SUPERSEDED, SUPERSEDED]
        assert await _stored(ops, INDEX) == 1


async def test_a_command_is_sent_again(settings: Settings) -> None:
    async with connected(settings, "memory") as memory, connected(settings, "ops") as ops:
        await _park(memory, "memory", COMMAND, b"command")

        assert await retry(ops, await letter(ops, 1)) == RETRIED
        assert await _stored(ops, CMD) == 1
