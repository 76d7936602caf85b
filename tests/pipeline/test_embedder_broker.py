"""Embedders on a real broker: every live record gets its vectors, in the one space agreed on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from contracts import subjects
from contracts.envelope import Envelope, encode
from contracts.events import AnyIndexEvent, AnyProgress
from contracts.events.index import SpaceAgreed, VectorsStored
from contracts.events.progress import WorkerState
from contracts.subjects import DEAD, INDEX, PROGRESS
from services.embedder.main import Embedder, assemble
from services.embedder.provider import I1, FileToEmbed
from services.kernel.bus import Bus
from services.kernel.consumer import Outage, Policy
from services.kernel.provision import provision
from services.kernel.settings import Settings
from services.source.static_model import StaticModel
from tests import facts
from tests.broker import Broker
from tests.embedding_server import serving
from tests.guarded_broker import connected, guarded

pytestmark = [pytest.mark.anyio, pytest.mark.broker]
_index = msgspec.msgpack.Decoder(Envelope[AnyIndexEvent]).decode
_progress = msgspec.msgpack.Decoder(Envelope[AnyProgress]).decode
TEXTS = {
    f"f{number}.py": f"def walk_{number}(tree): return parse(tree, {number})"
    for number in range(150)
}


@pytest.fixture
async def bus(broker: Broker) -> AsyncIterator[Bus]:
    connected_bus = Bus(Settings(nats_url=broker.url), "test")
    await connected_bus.start()
    await provision(connected_bus)
    yield connected_bus
    await connected_bus.stop()


class Gated:
    """A provider that gives rows of one number, when it is let."""

    def __init__(self, space: str = "gated/2", fill: int = 1) -> None:
        self.space, self.dimension = space, 2
        self.fill = fill
        self.gate = asyncio.Event()
        self.gate.set()
        self.outages = 0
        self.calls = 0
        self.reached = asyncio.Event()

    async def prepare(self) -> None:
        return

    async def embed(self, files: Sequence[FileToEmbed]) -> Sequence[I1]:
        self.calls += 1
        self.reached.set()
        await self.gate.wait()
        if self.outages:
            self.outages -= 1
            raise Outage("the endpoint is down")
        return [np.full((file.extract.chunks, 2), self.fill, np.int8) for file in files]

    def close(self) -> None:
        return


@contextlib.asynccontextmanager
async def embedding(broker: Broker, provider: Gated, batch: int = 64) -> AsyncIterator[Embedder]:
    """An embedder with a provider of the test's own, on a connection of its own."""
    own = Bus(Settings(nats_url=broker.url), "embedder")
    await own.start()
    embedder = Embedder(own, provider, Policy(batch=batch, window=2 * batch, grace_s=5))
    await embedder.start()
    try:
        yield embedder
    finally:
        provider.gate.set()
        await embedder.stop()
        await own.stop()


@contextlib.asynccontextmanager
async def assembled(settings: Settings) -> AsyncIterator[int]:
    """An embedder as a worker process runs it; yields how many services it has."""
    own = Bus(settings, "embedder")
    await own.start()
    parts = await assemble(settings, own)
    for service in parts.services:
        await service.start()
    try:
        yield len(parts.services)
    finally:
        for service in parts.services:
            await service.stop()
        if parts.on_stop is not None:
            await parts.on_stop()
        await own.stop()


async def record(bus: Bus, path: str, text: str, version: int = 1) -> int:
    subject = subjects.file_record(facts.REPO, path)
    data = facts.recorded(path, text, version, generation=4)
    return (await (await bus.put(subject, data))).seq


async def record_all(bus: Bus) -> dict[str, int]:
    return {path: await record(bus, path, text) for path, text in TEXTS.items()}


async def vectors_of(bus: Bus, path: str) -> Envelope[VectorsStored] | None:
    found = await bus.last_message(subjects.file_vectors(facts.REPO, path), INDEX)
    return None if found is None else _index(found[2])


async def worked_off(bus: Bus) -> bool:
    info = await bus.api("CONSUMER.INFO.INDEX.embedder", {})
    return info["num_pending"] == 0 and info["num_ack_pending"] == 0


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while True:
            found = holds()
            if await found if asyncio.iscoroutine(found) else found:
                return
            await asyncio.sleep(0.02)


async def embedded_in(bus: Bus, space: str) -> bool:
    for path in TEXTS:
        stored = await vectors_of(bus, path)
        if stored is None or stored.event.space != space:
            return False
    return True


async def state_of(bus: Bus) -> WorkerState | None:
    found = await bus.last_message(subjects.progress("", "embedder"), PROGRESS)
    if found is None:
        return None
    event = _progress(found[2]).event
    assert isinstance(event, WorkerState)
    return event


async def parked(bus: Bus) -> int:
    info = await bus.api(f"STREAM.INFO.{DEAD}", {})
    return int(info["state"]["messages"])


async def test_every_record_gets_the_vectors_of_its_chunks(
    bus: Bus, broker: Broker, tmp_path: Path
) -> None:
    model = StaticModel.load()
    sequences = await record_all(bus)

    async with assembled(Settings(nats_url=broker.url, state_dir=str(tmp_path))):
        await until(lambda: embedded_in(bus, model.space))

    for path, text in TEXTS.items():
        stored = await vectors_of(bus, path)
        assert stored is not None
        terms = facts.extract_of(path, text).terms
        assert terms is not None
        assert stored.event.vectors == model.embed_chunks(terms).tobytes()
        assert stored.event.file_sequence == sequences[path]
        assert (stored.event.path, stored.event.dimension) == (path, model.dimension)
        assert (stored.repo, stored.generation, stored.producer) == (facts.REPO, 4, "embedder")
        assert (stored.cause, stored.id) == ("t", "t/embedder")
    assert await worked_off(bus)


async def test_what_has_no_chunks_is_acknowledged_and_gets_nothing(
    bus: Bus, broker: Broker
) -> None:
    await record(bus, "empty.py", "")
    tombstone = subjects.file_record(facts.REPO, "gone.py")
    await (await bus.put(tombstone, facts.removed("gone.py", 2)))

    async with embedding(broker, Gated()):
        await until(lambda: worked_off(bus))

    assert await vectors_of(bus, "empty.py") is None
    assert await vectors_of(bus, "gone.py") is None


async def test_vectors_of_a_record_that_was_replaced_meanwhile_are_never_stored(
    bus: Bus, broker: Broker
) -> None:
    provider = Gated()
    provider.gate.clear()
    await record(bus, "a.py", "first")
    seen: list[VectorsStored] = []

    async def stored(message) -> None:  # type: ignore[no-untyped-def]
        seen.append(_index(message.data).event)

    await bus.subscribe(subjects.file_vectors(facts.REPO, "a.py"), stored)
    async with embedding(broker, provider):
        await until(provider.reached.is_set)
        second = await record(bus, "a.py", "second", 2)
        provider.gate.set()
        await until(lambda: worked_off(bus))
        kept = await vectors_of(bus, "a.py")

    assert kept is not None
    assert kept.event.file_sequence == second
    info = await bus.api(f"STREAM.INFO.{INDEX}", {"subjects_filter": "index.*.vec.>"})
    assert list(info["state"]["subjects"].values()) == [1]


async def test_embedders_share_the_work_and_finish_what_one_of_them_leaves(
    bus: Bus, broker: Broker
) -> None:
    stuck, first, second = Gated(), Gated(), Gated()
    stuck.gate.clear()
    await record_all(bus)

    async with embedding(broker, first, 8), embedding(broker, second, 8):
        async with embedding(broker, stuck, 8):
            await until(stuck.reached.is_set)
            stuck.outages = 1  # it will not get to store anything before it is stopped
        await until(lambda: worked_off(bus))
        await until(lambda: embedded_in(bus, "gated/2"))

    assert first.calls
    assert second.calls


async def test_an_outage_loses_nothing_and_is_told_once(bus: Bus, broker: Broker) -> None:
    provider = Gated()
    provider.outages = 2
    await record_all(bus)
    states: list[str] = []

    async def said(message) -> None:  # type: ignore[no-untyped-def]
        states.append(_progress(message.data).event.state)

    await bus.subscribe(subjects.progress("", "embedder"), said)
    async with embedding(broker, provider):
        await until(lambda: embedded_in(bus, "gated/2"))
        info = await bus.api("CONSUMER.INFO.INDEX.embedder", {})

    assert states == ["up", "down", "up"]
    assert info["num_redelivered"] == 0
    assert await parked(bus) == 0


async def test_a_stop_during_an_outage_hands_the_records_on(bus: Bus, broker: Broker) -> None:
    down, up = Gated(), Gated()
    down.outages = 1_000
    await record_all(bus)

    async with embedding(broker, down):
        await until(down.reached.is_set)
    async with embedding(broker, up):
        await until(lambda: embedded_in(bus, "gated/2"))

    assert await parked(bus) == 0


async def test_another_space_has_everything_embedded_again(bus: Bus, broker: Broker) -> None:
    await record_all(bus)
    async with embedding(broker, Gated("old/2")):
        await until(lambda: embedded_in(bus, "old/2"))
        await until(lambda: worked_off(bus))

    async with embedding(broker, Gated("new/2", fill=2)):
        await until(lambda: embedded_in(bus, "new/2"))


async def test_the_same_space_embeds_nothing_again(bus: Bus, broker: Broker) -> None:
    await record_all(bus)
    async with embedding(broker, Gated()):
        await until(lambda: embedded_in(bus, "gated/2"))
        await until(lambda: worked_off(bus))

    again = Gated()
    async with embedding(broker, again):
        await record(bus, "one-more.py", "text")
        await until(lambda: vectors_of(bus, "one-more.py"))
    assert again.calls == 1


async def test_embedders_of_the_old_space_stop_when_a_new_one_is_claimed(
    bus: Bus, broker: Broker
) -> None:
    old, new = Gated("old/2"), Gated("new/2", fill=2)
    await record_all(bus)

    async with embedding(broker, old) as leaving:
        await until(lambda: embedded_in(bus, "old/2"))
        async with embedding(broker, new):
            await until(lambda: embedded_in(bus, "new/2"))
            await until(lambda: leaving.idle)
            calls = old.calls
            await record(bus, "later.py", "text")
            await until(lambda: vectors_of(bus, "later.py"))
            later = await vectors_of(bus, "later.py")

    assert later is not None
    assert later.event.space == "new/2"
    assert old.calls == calls


async def test_vectors_still_in_hand_when_the_space_changes_are_not_stored(
    bus: Bus, broker: Broker
) -> None:
    old, new = Gated("old/2"), Gated("new/2", fill=2)
    old.gate.clear()
    await record_all(bus)

    async with embedding(broker, old, 8), contextlib.AsyncExitStack() as stack:
        await until(old.reached.is_set)
        await stack.enter_async_context(embedding(broker, new))
        await until(lambda: _says(bus, "new/2"))
        old.gate.set()
        await until(lambda: embedded_in(bus, "new/2"))
        await until(lambda: worked_off(bus))
        assert await embedded_in(bus, "new/2")


async def _says(bus: Bus, space: str) -> bool:
    found = await bus.last_message(subjects.embedding_space(), INDEX)
    if found is None:
        return False
    event = _index(found[2]).event
    assert isinstance(event, SpaceAgreed)
    return event.space == space and event.ready


async def test_a_change_of_space_that_was_cut_short_is_finished_at_the_next_start(
    bus: Bus, broker: Broker
) -> None:
    await record_all(bus)
    async with embedding(broker, Gated("old/2")):
        await until(lambda: embedded_in(bus, "old/2"))
        await until(lambda: worked_off(bus))
    claim = Envelope(id="x", at_ms=1, producer="t", event=SpaceAgreed(space="new/2", ready=False))
    await (await bus.put(subjects.embedding_space(), encode(claim)))

    async with embedding(broker, Gated("new/2", fill=2)):
        await until(lambda: embedded_in(bus, "new/2"))
    assert await _says(bus, "new/2")


async def test_without_a_provider_the_records_wait_for_one(
    bus: Bus, broker: Broker, tmp_path: Path
) -> None:
    await record_all(bus)
    settings = Settings(nats_url=broker.url, state_dir=str(tmp_path), embed_provider="none")

    async with assembled(settings) as services:
        info = await bus.api("CONSUMER.INFO.INDEX.embedder", {})

    assert services == 0
    assert info["num_pending"] == len(TEXTS)


async def test_a_remote_endpoint_that_comes_up_late_fills_everything(
    bus: Bus, broker: Broker, tmp_path: Path
) -> None:
    await record_all(bus)
    with serving() as running:
        running.fail = lambda _: (401, {}, b"")
        settings = Settings(
            nats_url=broker.url, state_dir=str(tmp_path), embed_provider="http",
            embed_url=running.url, embed_model="m",
        )  # fmt: skip
        async with assembled(settings):
            await until(lambda: _is(bus, "down"))
            running.fail = lambda _: None
            await until(lambda: embedded_in(bus, "http:m/8/unit-int8/1"))
            await until(lambda: _is(bus, "up"))
    assert await parked(bus) == 0


async def _is(bus: Bus, state: str) -> bool:
    said = await state_of(bus)
    return said is not None and said.state == state


async def test_a_file_the_endpoint_refuses_is_parked_and_the_others_are_embedded(
    bus: Bus, broker: Broker, tmp_path: Path
) -> None:
    await record(bus, "cursed.py", "cursed words")
    await record_all(bus)
    with serving() as running:
        running.fail = lambda texts: (
            (422, {}, b"no") if any("cursed" in text for text in texts) else None
        )
        settings = Settings(
            nats_url=broker.url, state_dir=str(tmp_path), embed_provider="http",
            embed_url=running.url, embed_model="m",
        )  # fmt: skip
        async with assembled(settings):
            await until(lambda: embedded_in(bus, "http:m/8/unit-int8/1"))
            await until(lambda: worked_off(bus))
    found = await bus.last_message(
        subjects.dead("embedder", subjects.file_record(facts.REPO, "cursed.py")), DEAD
    )
    assert found is not None
    assert "Poisoned" in found[1]["Rf-Error"]


async def test_the_embedders_own_user_may_do_all_of_it(tmp_path: Path) -> None:
    with guarded(tmp_path / "state") as settings:
        async with connected(settings, "ops") as ops, connected(settings, "extractor") as extractor:
            await provision(ops)
            await record_all(extractor)
            async with connected(settings, "embedder") as own:
                embedder = Embedder(own, Gated("old/2"), Policy())
                await embedder.start()
                await until(lambda: embedded_in(extractor, "old/2"))
                await embedder.stop()
            async with connected(settings, "embedder") as own:
                embedder = Embedder(own, Gated("new/2"), Policy())
                await embedder.start()
                await until(lambda: embedded_in(extractor, "new/2"))
                await embedder.stop()
