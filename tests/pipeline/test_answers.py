"""Answers over a broker that goes away and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from services.kernel.bus import Bus, Msg
from services.kernel.settings import Settings
from services.memory.answers import Answers
from tests.broker import Broker

pytestmark = [pytest.mark.anyio, pytest.mark.broker]


@pytest.fixture
async def bus(broker: Broker) -> AsyncIterator[Bus]:
    started = Bus(Settings(nats_url=broker.url), "memory")
    await started.start()
    yield started
    await started.stop()


async def test_whoever_does_not_listen_has_gone(bus: Bus) -> None:
    answers, gone = Answers(bus), asyncio.Event()
    await answers.start()

    await answers.send(bus.inbox(), b"granted", gone.set)

    await asyncio.wait_for(gone.wait(), 5)


async def test_after_a_reconnect_an_answer_waits_for_whoever_is_still_on_the_way(
    broker: Broker, bus: Bus
) -> None:
    answers, returned = Answers(bus), asyncio.Event()
    gone = asyncio.Event()
    await answers.start()
    bus.when_reconnected(returned.set)
    broker.kill()
    await asyncio.to_thread(broker.start)
    await asyncio.wait_for(returned.wait(), 20)
    inbox, answer = bus.inbox(), asyncio.Event()

    async def arrived(message: Msg) -> None:
        del message
        answer.set()

    await answers.send(inbox, b"granted", gone.set)
    await bus.client.flush()  # the broker has it, and nobody listens yet
    await bus.subscribe(inbox, arrived)

    await asyncio.wait_for(answer.wait(), 5)
    assert not gone.is_set()


async def test_an_answer_that_is_sent_again_tells_how_things_stand_by_then(
    broker: Broker, bus: Bus
) -> None:
    answers, returned = Answers(bus), asyncio.Event()
    await answers.start()
    bus.when_reconnected(returned.set)
    broker.kill()
    await asyncio.to_thread(broker.start)
    await asyncio.wait_for(returned.wait(), 20)
    inbox = bus.inbox()
    heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def arrived(message: Msg) -> None:
        heard.set_result(message.data)

    async def afresh() -> bytes:
        await bus.subscribe(inbox, arrived)  # whoever asked is there only now
        return b"contended"

    await answers.send(inbox, b"granted", lambda: None, afresh)

    assert await asyncio.wait_for(heard, 5) == b"contended"
