"""How indexing gives way: states, reasons and bounds, on a clock that moves by sleeping."""

from __future__ import annotations

import msgspec
import pytest

from contracts.envelope import Envelope, encode
from contracts.events.progress import ForegroundNotice, PaceChanged
from services.kernel.pacing import (
    ADVISORY_S,
    LEASE_S,
    LONGEST_BACKOFF_MS,
    WAIT_S,
    YIELD_S,
    Foreground,
    Means,
    Pacer,
)
from services.query.foreground import Foreground as Questions
from services.query.foreground import Paces

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Worker:
    """A pacer with everything around it in our hands."""

    def __init__(self, *, judges_latency: bool = False) -> None:
        self.clock = Clock()
        self.foreground = Foreground(self.clock)
        self.connected = True
        self.memory = 0.5
        self.told: list[PaceChanged] = []
        means = Means(
            connected=lambda: self.connected, tell=self._tell, clock=self.clock,
            sleep=self.clock.sleep, memory_left=lambda: self.memory,
        )  # fmt: skip
        self.pacer = Pacer("embedder", self.foreground, means, judges_latency=judges_latency)

    async def _tell(self, event: PaceChanged) -> None:
        self.told.append(event)

    def ask(self, requests: int = 1) -> None:
        self.foreground.told(msgspec.msgpack.encode(ForegroundNotice(requests=requests)))

    async def batch(self, seconds: float = 0.1, *, failed: bool = False) -> float:
        """One batch; returns how long it was held back."""
        began = self.clock.now
        await self.pacer.before()
        held = self.clock.now - began
        self.clock.now += seconds
        await self.pacer.after(seconds, failed=failed)
        return held


async def test_nothing_is_held_back_while_nobody_asks() -> None:
    worker = Worker(judges_latency=False)

    held = [await worker.batch(seconds) for seconds in (0.1, 5.0, 0.1, 30.0, 0.1)]

    assert held == [0.0] * 5
    assert [event.state for event in worker.told] == [
        "Pacing",
        "Pacing",
    ]  # now, and half a minute on


async def test_a_batch_waits_while_a_question_is_answered_and_tells_so() -> None:
    worker = Worker()
    worker.ask(2)

    held = await worker.batch()

    assert LEASE_S <= held <= LEASE_S + 0.05
    assert (worker.told[0].state, worker.told[0].foreground) == ("Yielding", 2)
    assert worker.told[0].reason == "2 questions being answered"


async def test_questions_without_end_hold_a_batch_two_seconds_and_cost_half_the_speed() -> None:
    worker = Worker()
    worker.foreground.waits = lambda: True  # type: ignore[method-assign]

    held = [await worker.batch(0.5) for _ in range(9)]

    assert all(wait <= YIELD_S + 0.05 for wait in held)
    assert [wait > 0 for wait in held] == [
        True,
        False,
        False,
        False,
        True,
        False,
        False,
        False,
        True,
    ]
    assert "Resting" in {event.state for event in worker.told}


async def test_congestion_doubles_the_delay_and_clean_batches_take_it_off() -> None:
    worker = Worker()

    delays = []
    for _ in range(4):
        await worker.batch(failed=True)
        delays.append(worker.pacer.pace.delay_ms)
    held = await worker.batch()
    for _ in range(40):
        await worker.batch()

    assert delays == [250, 500, 1000, 2000]
    assert held == pytest.approx(2.0)
    assert worker.pacer.pace.delay_ms == 0
    assert any(
        event.state == "Backoff" and event.reason == "a batch failed" for event in worker.told
    )


async def test_the_delay_never_exceeds_its_ceiling() -> None:
    worker = Worker()
    for _ in range(20):
        await worker.batch(failed=True)
        assert worker.pacer.pace.delay_ms <= LONGEST_BACKOFF_MS


async def test_a_latency_is_judged_against_what_was_learned_and_only_where_it_means_something() -> (
    None
):
    remote, local = Worker(judges_latency=True), Worker()
    for worker in (remote, local):
        for _ in range(10):
            await worker.batch(0.2)
        await worker.batch(0.9)

    assert remote.pacer.pace.delay_ms == 250
    assert local.pacer.pace.delay_ms == 0


async def test_a_short_batch_is_never_slow() -> None:
    worker = Worker(judges_latency=True)
    for _ in range(10):
        await worker.batch(0.01)
    await worker.batch(0.24)

    assert worker.pacer.pace.delay_ms == 0


async def test_what_stays_congested_for_a_minute_becomes_advisory_until_it_clears() -> None:
    worker = Worker()
    worker.memory = 0.01
    began = worker.clock.now
    while worker.pacer.pace.state != "Pacing" or not worker.pacer.pace.reason:
        await worker.batch()
        assert worker.clock.now < began + 10 * ADVISORY_S

    assert worker.pacer.pace.reason.endswith("is treated as advisory")
    assert await worker.batch() == 0.0
    worker.memory = 0.5
    worker.clock.now += 10
    await worker.batch()
    await worker.batch()
    assert worker.pacer.pace.reason == ""


async def test_a_broker_without_answer_is_waited_for_half_a_minute_at_most() -> None:
    worker = Worker()
    worker.connected = False

    held = await worker.batch()

    assert WAIT_S <= held <= WAIT_S + 0.05
    assert worker.told[0].state == "Waiting"


async def test_workers_are_told_of_questions_only_while_something_is_indexed() -> None:
    clock, sent = Clock(), []
    questions = Questions(sent.append, clock)

    with questions.request():
        assert questions.requests == 1
    assert sent == []

    questions.indexing()
    with questions.request(), questions.request():
        pass
    clock.now += 1
    with questions.request():
        pass
    assert (sent, questions.requests) == ([1, 1], 0)
    clock.now += 10
    with questions.request():
        pass
    assert len(sent) == 2


async def test_the_status_tells_the_worker_that_holds_back_most_and_idle_after_a_silence() -> None:
    clock = Clock()
    paces = Paces(clock)
    for worker, state, delay in (("extractor", "Pacing", 0), ("embedder", "Backoff", 500)):
        event = PaceChanged(
            worker=worker, state=state, reason="because", delay_ms=delay, since_ms=1
        )
        paces.told(encode(Envelope(id="1", at_ms=1, producer=worker, event=event)))

    reading = paces.reading(enabled=True, requests=3)
    assert (reading.state, reading.reason, reading.batch_delay_milliseconds) == (
        "Backoff",
        "because",
        500,
    )
    assert (reading.foreground_requests, reading.since is not None) == (3, True)
    clock.now += 121
    idle = paces.reading(enabled=True, requests=0)
    assert (idle.state, idle.since) == ("Idle", None)
    assert paces.reading(enabled=False, requests=0).state == "Disabled"
