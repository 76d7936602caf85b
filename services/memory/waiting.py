"""How does a claim wait its turn?

Its place is in the record's queue, in the log. Here are only the commands whose answers are owed: they
stay unacknowledged and take no room in the consumer. Somebody else's release grants to the first in
the queue within its own fact; this process sees the fact's copy on core NATS, looks at the record and
answers. When a lease runs out, or a wait, it looks by itself. If this process dies, the broker hands
its commands to another, where each finds its place again.

Whoever does not listen any more when it is granted the record gives it back at once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct

from contracts.envelope import new_id
from contracts.errors import Fault
from contracts.events.memory import AnyNoteCommand, ClaimNote, NoteReply, ReleaseClaim
from contracts.notes import Note
from services.kernel import logs
from services.kernel.bus import Bus, Msg, Subscription
from services.kernel.consumer import Delivery
from services.memory import claims
from services.memory.answers import Answers
from services.memory.clock import LogClock
from services.memory.deciding import Decider
from services.memory.decision import Asked
from services.memory.disk import LogDisk
from services.memory.records import Records

log = logs.get(__name__)
_encode = msgspec.msgpack.Encoder().encode
_LOOK_AGAIN_S = (0.02, 0.2, 1.0)  # a fact's copy may come before the fact can be read
_LONGEST_SLEEP_S = 30.0
_SOON_S = 0.02  # after a moment in time, so that it has passed by the log's clock too

Finish = Callable[[Delivery[AnyNoteCommand]], Awaitable[None]]


class Waiting(Struct):
    """One claim whose answer is owed."""

    deliveries: tuple[Delivery[AnyNoteCommand], ...]  # the command, and what came of it again
    command: ClaimNote
    asked: Asked
    until_ms: int

    @property
    def reply_to(self) -> str:
        return self.deliveries[0].envelope.reply_to


class Queues:
    """The claims that wait here, by record."""

    def __init__(
        self,
        bus: Bus,
        records: Records,
        decider: Decider,
        disk: LogDisk,
        clock: LogClock,
        answers: Answers,
    ) -> None:
        self._bus, self._records, self._decider = bus, records, decider
        self._disk, self._clock, self._answers = disk, clock, answers
        self._queues: dict[str, Queue] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.finish: Finish

    def stop(self) -> None:
        for queue in self._queues.values():
            queue.cancel()
        for task in self._tasks:
            task.cancel()

    def add(self, subject: str, waiting: Waiting) -> None:
        """Owe an answer from now on."""
        queue = self._queues.get(subject)
        if queue is None:
            queue = self._queues[subject] = Queue(self, subject)
        queue.add(waiting)

    def changed(self, subject: str) -> None:
        """A fact of the record was stored by this very process."""
        queue = self._queues.get(subject)
        if queue is not None:
            queue.look()

    @property
    def waiting(self) -> int:
        return sum(len(queue.members) for queue in self._queues.values())

    def left(self, subject: str) -> None:
        self._queues.pop(subject, None)

    async def subscribe(
        self, subject: str, arrived: Callable[[Msg], Awaitable[None]]
    ) -> Subscription:
        return await self._bus.subscribe(subject, arrived)

    def now_ms(self) -> int:
        return self._clock.now_ms()

    async def look(self, subject: str, waiting: Waiting) -> tuple[Note | None, int]:
        """Give the record to the first in line if it is free; how it is then, and since which fact."""
        asked = Asked(id=new_id(), now_ms=self.now_ms(), claiming=True)
        generation = await self._records.generation(waiting.command.repo_id)
        outcome = await self._decider.one(
            subject, lambda note: claims.settle(note, asked), asked, generation
        )
        if outcome.appended:
            await self._disk.sync()
        return outcome.state.at(generation), outcome.state.sequence

    async def answer(self, subject: str, waiting: Waiting, reply: NoteReply) -> None:
        """Answer a claim; a grant that nobody hears of is given back."""
        await self.offer(subject, waiting.command, waiting.asked, waiting.reply_to, reply)
        for delivery in waiting.deliveries:
            await self.finish(delivery)

    async def offer(
        self, subject: str, command: ClaimNote, asked: Asked, reply_to: str, reply: NoteReply
    ) -> None:
        """Send a claim's answer. The broker says at once when nobody listens on `reply_to`."""
        token = 0 if reply.note is None or reply.reason else reply.note.claim.fence

        def gone() -> None:
            task = asyncio.create_task(self._give_back(subject, command, token))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        async def afresh() -> bytes:
            generation = await self._records.generation(command.repo_id)
            now = msgspec.structs.replace(asked, now_ms=self.now_ms())
            standing = await self._decider.told_again(subject, command, now, generation)
            return _encode(standing.reply)

        if token:
            await self._answers.send(reply_to, _encode(reply), gone, afresh)
        else:
            await self._answers.send(reply_to, _encode(reply))

    async def _give_back(self, subject: str, command: ClaimNote, token: int) -> None:
        log.info("grant_unheard", token=token)
        release = ReleaseClaim(
            repo_id=command.repo_id,
            topic=command.topic,
            id=command.id,
            principal=command.principal,
            token=token,
        )
        asked = Asked(id=new_id(), now_ms=self.now_ms(), principal=command.principal)
        with contextlib.suppress(Fault):
            generation = await self._records.generation(command.repo_id)
            await self._decider.one(
                subject, lambda note: claims.release(note, release, asked), asked, generation
            )
            await self._disk.sync()
            self.changed(subject)


class Queue:
    """The claims that wait here for one record, and the task that looks after them."""

    def __init__(self, queues: Queues, subject: str) -> None:
        self._queues, self._subject = queues, subject
        self.members: dict[str, Waiting] = {}
        self._wake = asyncio.Event()
        self._again: list[float] = []  # pauses before further looks
        self._task = asyncio.create_task(self._run())

    def add(self, waiting: Waiting) -> None:
        known = self.members.get(waiting.asked.id)
        if known is not None:  # delivered again, because the broker took this process for dead
            known.deliveries = (*known.deliveries, *waiting.deliveries)
        else:
            self.members[waiting.asked.id] = waiting
        self.look()

    def look(self) -> None:
        self._wake.set()

    def cancel(self) -> None:
        self._task.cancel()

    async def _on_copy(self, message: Msg) -> None:
        del message
        self._again = list(_LOOK_AGAIN_S)
        self._wake.set()

    async def _run(self) -> None:
        subscription = await self._queues.subscribe(self._subject, self._on_copy)
        try:
            while self.members:
                try:
                    await self._sleep(await self._round())
                except Fault as fault:  # the broker is away; it comes back
                    log.info("queue_not_looked_at", error=fault.message)
                    await asyncio.sleep(0.25)
                except Exception:
                    log.exception("queue_not_looked_at")  # answers are owed: try again
                    await asyncio.sleep(1.0)
        finally:
            self._queues.left(self._subject)
            with contextlib.suppress(Exception):
                await subscription.unsubscribe()

    async def _round(self) -> float:
        """Answer whom an answer is due; seconds until the next moment something is due by time."""
        self._wake.clear()
        # Only those who stood in line before the look: a later one may not be in the note that it finds.
        waiting_before = list(self.members.values())
        note, sequence = await self._queues.look(self._subject, waiting_before[0])
        now = self._queues.now_ms()
        due = now + int(_LONGEST_SLEEP_S * 1000)
        for waiting in waiting_before:
            asked = msgspec.structs.replace(waiting.asked, now_ms=now)
            decision = claims.waited(note, asked, waiting.until_ms)
            if decision is None:
                due = min(due, waiting.until_ms)
                continue
            self.members.pop(waiting.asked.id, None)
            reply = msgspec.structs.replace(decision.reply, log_sequence=sequence)
            await self._queues.answer(self._subject, waiting, reply)
        if note is not None and note.claim.is_held(now):
            due = min(due, note.claim.lease_until_ms)
        if note is not None and note.expires_ms:
            due = min(due, note.expires_ms)
        return max(0.0, (due - now) / 1000) + _SOON_S

    async def _sleep(self, seconds: float) -> None:
        """Until something is due, or a fact of the record was seen."""
        pause = self._again.pop(0) if self._again else seconds
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), min(pause, seconds))
