"""Conditional appends and confirmed publishing, on a real broker."""

from __future__ import annotations

import asyncio

import pytest

from contracts import subjects
from contracts.errors import Poisoned, Superseded, Unavailable
from services.kernel.bus import Bus
from services.kernel.provision import provision
from services.kernel.reader import StreamReader
from tests.broker import Broker

pytestmark = [pytest.mark.anyio, pytest.mark.broker]
RECORD = subjects.file_record("demo", "a.py")
VECTORS = subjects.file_vectors("demo", "a.py")


async def test_provisioning_twice_changes_nothing(bus: Bus) -> None:
    assert await provision(bus) == []


async def test_a_newer_version_replaces_an_older_one_whatever_was_expected(bus: Bus) -> None:
    first = await bus.append_newer(RECORD, b"one", version=1, expected=0)

    second = await bus.append_newer(RECORD, b"two", version=2, expected=0)

    assert second > first
    assert (await bus.last(RECORD)) == (second, 2)


async def test_a_late_duplicate_of_an_old_version_is_refused(bus: Bus) -> None:
    await bus.append_newer(RECORD, b"one", version=1, expected=0)
    newest = await bus.append_newer(RECORD, b"two", version=2, expected=1)

    with pytest.raises(Superseded):
        await bus.append_newer(RECORD, b"one", version=1, expected=0)

    found = await bus.last_message(RECORD, "INDEX")
    assert found is not None
    assert (found[0], found[2]) == (newest, b"two")


async def test_the_same_version_again_is_our_own_earlier_attempt(bus: Bus) -> None:
    first = await bus.append_newer(RECORD, b"one", version=1, expected=0)

    assert await bus.append_newer(RECORD, b"one", version=1, expected=0) == first


async def test_racing_versions_of_one_path_end_with_the_newest(bus: Bus) -> None:
    versions = list(range(1, 40))

    results = await asyncio.gather(
        *(
            bus.append_newer(RECORD, str(v).encode(), version=v, expected=0)
            for v in versions[::-1] + versions
        ),
        return_exceptions=True,
    )

    assert all(isinstance(result, int | Superseded) for result in results)
    found = await bus.last_message(RECORD, "INDEX")
    assert found is not None
    assert found[2] == b"39"


async def test_vectors_are_stored_beside_their_own_record_only(bus: Bus) -> None:
    first = await bus.append_newer(RECORD, b"one", version=1, expected=0)
    await bus.append_beside(VECTORS, b"v1", beside=RECORD, sequence=first)
    second = await bus.append_newer(RECORD, b"two", version=2, expected=first)

    with pytest.raises(Superseded):
        await bus.append_beside(VECTORS, b"late", beside=RECORD, sequence=first)

    await bus.append_beside(VECTORS, b"v2", beside=RECORD, sequence=second)
    found = await bus.last_message(VECTORS, "INDEX")
    assert found is not None
    assert found[2] == b"v2"


async def test_a_repeated_message_id_is_stored_once(bus: Bus) -> None:
    first = await (await bus.put("cmd.repo.x", b"1", message_id="same"))
    second = await (await bus.put("cmd.repo.x", b"1", message_id="same"))

    assert (second.seq, second.duplicate) == (first.seq, True)


async def test_a_subject_without_a_stream_is_told_at_once(bus: Bus) -> None:
    with pytest.raises(Unavailable):
        await (await bus.put("nowhere.at.all", b"1"))


async def test_a_message_over_the_brokers_limit_is_poison(bus: Bus) -> None:
    with pytest.raises(Poisoned):
        await bus.put("work.pass.x", b"x" * (9 << 20))


async def test_confirmations_lost_with_the_broker_come_after_its_return(
    bus: Bus, broker: Broker
) -> None:
    async def publish(number: int) -> int:
        return (
            await (await bus.put(f"work.extract.demo.f{number}", b"x", message_id=f"m{number}"))
        ).seq

    tasks = [asyncio.create_task(publish(number)) for number in range(300)]
    await asyncio.sleep(0)
    broker.kill()
    broker.start()

    async with asyncio.timeout(30):
        await asyncio.gather(*tasks)
    info = await bus.api("STREAM.INFO.WORK", {})
    assert info["state"]["messages"] == 300


async def test_a_reader_goes_on_behind_its_position_after_a_broker_crash(
    bus: Bus, broker: Broker
) -> None:
    reader = StreamReader(bus, "INDEX", 0)
    for number in range(20):
        await (await bus.put(f"index.demo.file.f{number}", str(number).encode()))
    got = await _read(reader, 20)
    broker.kill()
    broker.start()
    for number in range(20, 40):
        await (await bus.put(f"index.demo.file.f{number}", str(number).encode()))

    got += await _read(reader, 20)

    assert got == [str(number) for number in range(40)]


async def _read(reader: StreamReader, count: int) -> list[str]:
    found: list[str] = []
    async with asyncio.timeout(30):
        while len(found) < count:
            reader.wake.clear()
            if not await reader.ready():
                try:
                    await asyncio.wait_for(reader.wake.wait(), 0.5)
                except TimeoutError:
                    continue
            found += [entry.data.decode() for entry in reader.take(7, 1 << 20)]
    return found
