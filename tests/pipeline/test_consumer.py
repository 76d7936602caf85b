"""A worker's message path on a real broker: outputs before acknowledgement, retries, dead letters."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from contracts import subjects
from contracts.envelope import Envelope, encode, new_id, now_ms
from contracts.errors import Poisoned, Unavailable
from contracts.events import AnyCommand
from contracts.events.commands import RemoveRepo
from contracts.events.progress import PaceChanged
from contracts.ids import RepoId
from contracts.subjects import DURABLES
from services.kernel.bus import Bus, Msg
from services.kernel.consumer import Consumer, Delivery, Outbox, Policy, unfilled
from services.kernel.journal import Journal
from services.kernel.pacing import Foreground, Means, Pacer
from services.kernel.settings import Settings
from tests.broker import Broker

pytestmark = [pytest.mark.anyio, pytest.mark.broker]
SPEC = next(spec for spec in DURABLES if spec.name == "memory")
QUICK = Policy(batch=8, backoff_s=(0.05, 0.05, 0.05), max_deliver=3, grace_s=5)


async def send(bus: Bus, name: str) -> None:
    event = RemoveRepo(repo_id=RepoId(name), principal="t")
    envelope = Envelope(id=new_id(), repo=RepoId(name), at_ms=now_ms(), producer="t", event=event)
    await (await bus.put(f"cmd.repo.{name}", encode(envelope), message_id=envelope.id))


async def left(bus: Bus) -> tuple[int, int]:
    """Messages on CMD and on DEAD."""
    held = await bus.api("STREAM.INFO.CMD", {})
    dead = await bus.api("STREAM.INFO.DEAD", {})
    return held["state"]["messages"], dead["state"]["messages"]


async def waiting(bus: Bus) -> bool:
    """Whether CMD still holds something; a question that dies with the broker is no answer."""
    try:
        return (await left(bus))[0] > 0
    except Unavailable:
        return True


async def until(bus: Bus, wanted: tuple[int, int]) -> None:
    async with asyncio.timeout(20):
        while await left(bus) != wanted:
            await asyncio.sleep(0.02)


async def test_messages_are_handled_in_batches_and_acknowledged(bus: Bus) -> None:
    seen: list[str] = []

    async def handle(batch: Sequence[Delivery[AnyCommand]], out: Outbox) -> None:
        seen.extend(
            delivery.event.repo_id for delivery in batch if isinstance(delivery.event, RemoveRepo)
        )

    for number in range(30):
        await send(bus, f"r{number}")
    consumer = Consumer(bus, SPEC, AnyCommand, handle, policy=QUICK)
    await consumer.start()
    await until(bus, (0, 0))
    await consumer.stop()

    assert seen == [f"r{number}" for number in range(30)]


async def test_one_bad_message_does_not_stop_its_batch_and_ends_on_the_dead_stream(
    bus: Bus,
) -> None:
    done: set[str] = set()
    attempts: list[int] = []

    async def handle(batch: Sequence[Delivery[AnyCommand]], out: Outbox) -> None:
        for delivery in batch:
            assert isinstance(delivery.event, RemoveRepo)
            if delivery.event.repo_id == "bad":
                attempts.append(delivery.attempt)
                raise ValueError("cannot do this one")
        done.update(
            delivery.event.repo_id for delivery in batch if isinstance(delivery.event, RemoveRepo)
        )

    for name in ("a", "bad", "b", "c"):
        await send(bus, name)
    consumer = Consumer(bus, SPEC, AnyCommand, handle, policy=QUICK)
    await consumer.start()
    await until(bus, (0, 1))
    await consumer.stop()

    assert done == {"a", "b", "c"}
    assert max(attempts) == QUICK.max_deliver
    found = await bus.api("STREAM.MSG.GET.DEAD", {"last_by_subj": "dead.>"})
    assert found["message"]["subject"] == "dead.memory.cmd.repo.bad"


async def test_undecodable_bytes_are_parked_at_once(bus: Bus) -> None:
    async def handle(batch: Sequence[Delivery[AnyCommand]], out: Outbox) -> None:
        raise AssertionError("never called")

    await (await bus.put("cmd.repo.junk", b"\xc1not msgpack"))
    consumer = Consumer(bus, SPEC, AnyCommand, handle, policy=QUICK)
    await consumer.start()
    await until(bus, (0, 1))
    await consumer.stop()


async def test_poison_is_parked_on_its_first_delivery(bus: Bus) -> None:
    attempts: list[int] = []

    async def handle(batch: Sequence[Delivery[AnyCommand]], out: Outbox) -> None:
        attempts.append(batch[0].attempt)
        raise Poisoned("never")

    await send(bus, "p")
    consumer = Consumer(bus, SPEC, AnyCommand, handle, policy=QUICK)
    await consumer.start()
    await until(bus, (0, 1))
    await consumer.stop()

    assert set(attempts) == {1}


async def test_nothing_is_acknowledged_before_its_outputs_are_stored(
    bus: Bus, broker: Broker
) -> None:
    async def handle(batch: Sequence[Delivery[AnyCommand]], out: Outbox) -> None:
        for delivery in batch:
            await out.put(
                f"work.pass.{delivery.envelope.repo}",
                b"out",
                message_id=f"{delivery.envelope.id}/1",
            )
        if not crashed:
            crashed.append(True)
            broker.kill()
            broker.start()

    crashed: list[bool] = []
    for number in range(12):
        await send(bus, f"r{number}")
    consumer = Consumer(bus, SPEC, AnyCommand, handle, policy=QUICK)
    await consumer.start()
    async with asyncio.timeout(60):
        while await waiting(bus):
            await asyncio.sleep(0.05)
    await consumer.stop()

    info = await bus.api("STREAM.INFO.WORK", {})
    assert info["state"]["messages"] == 12


async def test_stopping_hands_back_what_was_not_begun(bus: Bus) -> None:
    begun = asyncio.Event()
    release = asyncio.Event()
    handled: list[int] = []

    async def handle(batch: Sequence[Delivery[AnyCommand]], out: Outbox) -> None:
        begun.set()
        await release.wait()
        handled.append(len(batch))

    for number in range(20):
        await send(bus, f"r{number}")
    consumer = Consumer(bus, SPEC, AnyCommand, handle, policy=QUICK)
    await consumer.start()
    await begun.wait()
    stopping = asyncio.create_task(consumer.stop())
    release.set()
    await stopping

    async with asyncio.timeout(10):
        while (await left(bus))[0] != 20 - sum(handled):
            await asyncio.sleep(0.02)
    assert handled
    assert sum(handled) < 20


async def _delivered(url: str, count: int) -> None:
    """Send commands over another connection and wait until all of them went out to the consumer."""
    other = Bus(Settings(nats_url=url), "test")
    await other.start()
    for number in range(count):
        await send(other, f"r{number}")
    async with asyncio.timeout(20):
        while (await other.api(f"CONSUMER.INFO.CMD.{SPEC.name}", {}))["num_ack_pending"] < count:
            await asyncio.sleep(0.02)
    await other.stop()


async def test_stopping_hands_back_what_was_still_on_its_way(broker: Broker, bus: Bus) -> None:
    handled = 0

    async def handle(batch: Sequence[Delivery[AnyCommand]], out: Outbox) -> None:
        nonlocal handled
        handled += len(batch)

    consumer = Consumer(bus, SPEC, AnyCommand, handle)
    await consumer.start()
    await asyncio.sleep(0)
    await bus.client.flush()  # the pull is out
    sender = threading.Thread(target=lambda: asyncio.run(_delivered(broker.url, 20)))
    sender.start()
    sender.join()  # this loop stands still meanwhile: all of it waits in the socket
    await consumer.stop()
    assert handled < 20

    successor = Consumer(bus, SPEC, AnyCommand, handle)
    await successor.start()
    async with asyncio.timeout(SPEC.ack_wait_s / 3):
        await until(bus, (0, 0))
    await successor.stop()
    assert handled == 20


async def test_two_processes_share_a_durable_and_none_handles_what_the_other_did(bus: Bus) -> None:
    seen: dict[str, list[str]] = {"one": [], "two": []}

    def handler(who: str):  # type: ignore[no-untyped-def]
        async def handle(batch: Sequence[Delivery[AnyCommand]], out: Outbox) -> None:
            seen[who] += [str(delivery.envelope.repo) for delivery in batch]
            await asyncio.sleep(0)

        return handle

    small = Policy(batch=2, window=4, grace_s=5)
    consumers = [Consumer(bus, SPEC, AnyCommand, handler(who), policy=small) for who in seen]
    for consumer in consumers:
        await consumer.start()
    for number in range(60):
        await send(bus, f"r{number}")
    await until(bus, (0, 0))
    for consumer in consumers:
        await consumer.stop()

    assert sorted(seen["one"] + seen["two"]) == sorted(f"r{number}" for number in range(60))
    assert seen["one"]
    assert seen["two"]


def test_a_message_that_was_alone_in_hand_at_two_crashes_is_the_culprit(tmp_path: Path) -> None:
    for _ in range(2):
        (tmp_path / "extractor-999999999.in-hand").write_text("17")
        journal = Journal(tmp_path, "extractor")
        journal.open()
    assert journal.is_culprit(17)
    assert not journal.is_culprit(18)

    journal.forget(17)
    assert not journal.is_culprit(17)


def test_a_message_that_was_finished_is_not_held_against_the_process(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "extractor")
    journal.open()
    journal.began(5)
    journal.ended()
    again = Journal(tmp_path, "extractor")
    again.open()
    again.open()
    assert not again.is_culprit(5)


async def test_the_end_of_one_pull_request_is_not_taken_for_the_end_of_all() -> None:
    """Else each is replaced as it ends, for ever, and the broker sends heartbeats for every one."""

    def ended(**headers: str) -> Msg:
        return Msg(_client=None, headers={"Status": "408", **headers})  # type: ignore[arg-type]

    assert unfilled(ended(**{"Nats-Pending-Messages": "5"}), 21) == 5
    assert unfilled(ended(**{"Nats-Pending-Messages": "50"}), 21) == 21
    assert unfilled(ended(), 21) == 21


class Impatient(Pacer):
    """A pacer that lets nothing through."""

    async def before(self) -> None:
        await asyncio.Event().wait()


async def test_a_single_message_does_not_wait_for_questions(bus: Bus) -> None:
    handled: list[int] = []

    async def handle(batch: Sequence[Delivery[AnyCommand]], out: Outbox) -> None:
        handled.append(len(batch))

    consumer = Consumer(bus, SPEC, AnyCommand, handle, policy=QUICK)
    consumer.pacer = Impatient(
        "extractor", Foreground(), Means(connected=lambda: True, tell=untold)
    )
    await consumer.start()
    await send(bus, "single")
    await until(bus, (0, 0))
    await consumer.stop()

    assert handled == [1]


async def untold(pace: PaceChanged) -> None:
    del pace


async def test_appends_that_conflict_are_settled_one_by_one_and_the_rest_is_stored(
    bus: Bus,
) -> None:
    def record(name: str) -> str:
        return subjects.file_record("demo", name)

    await bus.append_newer(record("newer"), b"later", version=9, expected=0)
    own = await bus.append_newer(record("own"), b"same", version=5, expected=0)
    await bus.append_newer(record("older"), b"before", version=1, expected=0)
    out = Outbox(bus)
    for name in ("newer", "own", "older", "fresh"):
        out.append_newer(record(name), name.encode(), version=5, expected=0)
    vectors = subjects.file_vectors("demo", "own")
    out.append_beside(vectors, b"late", beside=record("own"), sequence=own - 1)
    await out.stored()

    async def held(subject: str) -> bytes | None:
        found = await bus.last_message(subject, "INDEX")
        return None if found is None else found[2]

    assert await held(record("newer")) == b"later"
    assert await held(record("own")) == b"same"
    assert await held(record("older")) == b"older"
    assert await held(record("fresh")) == b"fresh"
    assert await held(vectors) is None


async def test_an_attempt_fails_when_one_of_its_outputs_is_not_stored(bus: Bus) -> None:
    out = Outbox(bus)
    out.append_newer(subjects.file_record("demo", "a.py"), b"a", version=1, expected=0)
    await out.put("nobody.takes.this", b"x")
    bus.publisher._tries = 0

    with pytest.raises(Unavailable):
        await out.stored()

    assert await bus.last_message(subjects.file_record("demo", "a.py"), "INDEX") is not None


async def test_behind_a_full_batch_a_small_one_waits_for_company(bus: Bus) -> None:
    sizes: list[int] = []

    async def handle(batch: Sequence[Delivery[AnyCommand]], out: Outbox) -> None:
        sizes.append(len(batch))

    consumer = Consumer(
        bus, SPEC, AnyCommand, handle, policy=Policy(batch=8, gather_s=60, grace_s=5)
    )
    consumer._gather_until = behind = time.monotonic() + 30  # as a full batch leaves it
    await consumer.start()
    for number in range(8):
        await send(bus, f"r{number}")
    await until(bus, (0, 0))
    await consumer.stop()

    assert sizes == [8]
    assert consumer._gather_until > behind
