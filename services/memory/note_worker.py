"""How is a batch of commands on memory worked off?

Records are decided about side by side, commands on one record one after the other in the order they
came. Appends are pipelined; one sync makes the whole batch durable; only then is anybody answered.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine, Iterable, Sequence
from itertools import groupby
from typing import Any

import msgspec

from contracts import subjects
from contracts.errors import Fault, Poisoned
from contracts.events.memory import (
    AddFact,
    AnyNoteCommand,
    ClaimNote,
    ImportNotes,
    NoteReply,
)
from contracts.ids import RepoId
from services.kernel.bus import Bus
from services.kernel.consumer import Delivery, Outbox
from services.memory.answers import Answers
from services.memory.clock import LogClock
from services.memory.deciding import Decider, Outcome, decision_of
from services.memory.decision import Asked
from services.memory.disk import LogDisk
from services.memory.fact_worker import FactCommand, FactWorker
from services.memory.records import Records, State
from services.memory.waiting import Queues, Waiting

_encode = msgspec.msgpack.Encoder().encode
_BEGUN = 4_096
_LONGEST_KEPT = 4 << 10  # bytes of an answer
_LOOK_BACK_MS = 2_000  # the command may be stamped a little later than its first effect
_LOOK_FURTHER_BACK_MS = 10_000
Taken = Delivery[AnyNoteCommand]


class NoteWorker:
    """Handles the commands of the durable "notes"."""

    def __init__(self, bus: Bus, disk: LogDisk, clock: LogClock, *, max_lease_ms: int) -> None:
        self._bus, self._disk, self.clock = bus, disk, clock
        self._max_lease_ms = max_lease_ms
        self.records = Records(bus)
        self._decider = Decider(self.records)
        self._facts = FactWorker(bus, self.records, self._decider)
        # Commands tried here before, with the answer of those that left no fact to look back to.
        self._begun: OrderedDict[str, bytes] = OrderedDict()
        self.answers = Answers(bus)
        self.queues = Queues(bus, self.records, self._decider, disk, clock, self.answers)

    async def handle(self, batch: Sequence[Taken], out: Outbox) -> None:
        """Decide, make durable, answer; a claim that has to wait is kept."""
        for delivery in batch:
            self.clock.heard(delivery.stored_ms)
        try:
            await self._work_off(batch, out)
        finally:
            self._begin(delivery.envelope.id for delivery in batch)

    async def _work_off(self, batch: Sequence[Taken], out: Outbox) -> None:
        batch = await self._not_told_yet(batch)
        work = Batch(self, batch)
        outcomes = await work.outcomes()
        if any(outcome.appended or outcome.repeated for outcome in outcomes.values()):
            await self._disk.sync()
        await out.stored()
        for delivery in batch:
            await self._answer(delivery, outcomes[delivery.envelope.id])
        for subject in work.touched:
            self.queues.changed(subject)

    async def _not_told_yet(self, batch: Sequence[Taken]) -> list[Taken]:
        """Say once more what was said of commands that changed nothing; the rest of the batch.

        To decide about them again could undo what was asked for since by whoever had the answer.
        """
        rest = []
        for delivery in batch:
            told = self._begun.get(delivery.envelope.id)
            if told:
                await self.answers.send(delivery.envelope.reply_to, told)
            else:
                rest.append(delivery)
        return rest

    async def _answer(self, delivery: Taken, outcome: Outcome) -> None:
        command, envelope = delivery.event, delivery.envelope
        self._keep_in_mind(delivery, outcome)
        if not isinstance(command, ClaimNote):
            await self.answers.send(envelope.reply_to, _encode(outcome.reply))
            return
        subject = subjects.note_log(command.repo_id, command.topic, command.id)
        if outcome.waits:
            delivery.kept = True
            until = delivery.first[1] + command.wait_ms
            self.queues.add(subject, Waiting((delivery,), command, self.asked(delivery), until))
        elif outcome.appended:
            asked = self.asked(delivery)
            await self.queues.offer(subject, command, asked, envelope.reply_to, outcome.reply)
        else:  # lost; or granted before, and whoever asked may have heard of it, and gone since
            await self.answers.send(envelope.reply_to, _encode(outcome.reply))

    def _keep_in_mind(self, delivery: Taken, outcome: Outcome) -> None:
        """Note the answer to a command that left no fact."""
        granted = isinstance(delivery.event, ClaimNote) and not outcome.reply.reason  # or waits
        if granted or outcome.appended or outcome.repeated:
            return
        told = _encode(outcome.reply)
        if len(told) <= _LONGEST_KEPT:
            self._begun[delivery.envelope.id] = told

    async def parked(self, delivery: Taken, error: Exception) -> None:
        """Tell whoever still waits that the command ended among the dead letters."""
        if delivery.envelope.reply_to:
            reply = NoteReply(
                ok=False,
                code=Fault.code,
                message=f"the command failed for good ({type(error).__name__})",
                hint="`repofold dead list` shows it",
            )
            await self.answers.send(delivery.envelope.reply_to, _encode(reply))

    def _begin(self, commands: Iterable[str]) -> None:
        for command in commands:
            self._begun.setdefault(command, b"")
        while len(self._begun) > _BEGUN:
            self._begun.popitem(last=False)

    def looked_back(self, delivery: Taken) -> int:
        """Since when an earlier try of a command may have had its effect; 0: there was none."""
        sequence, asked_ms = delivery.first
        if delivery.sequence != sequence:  # the broker was away meanwhile, nobody knows how long
            return min(asked_ms, delivery.envelope.at_ms) - _LOOK_FURTHER_BACK_MS
        first = delivery.attempt == 1 and delivery.envelope.id not in self._begun
        return 0 if first else asked_ms - _LOOK_BACK_MS

    def asked(self, delivery: Taken) -> Asked:
        return Asked(
            id=delivery.envelope.id,
            now_ms=self.clock.now_ms(),
            asked_ms=delivery.first[1],
            principal=delivery.event.principal,
            max_lease_ms=self._max_lease_ms,
            claiming=isinstance(delivery.event, ClaimNote),
        )

    async def import_now(self, command: ImportNotes, command_id: str) -> int:
        """Import notes without a command in the stream; how many came back."""
        asked = Asked(id=command_id, now_ms=self.clock.now_ms(), principal=command.principal)
        generation = await self.records.generation(command.repo_id)
        outcome = await self._facts.run(command, asked, generation, 0)
        await self._disk.sync()
        return outcome.reply.imported

    # -- what a batch asks for -------------------------------------------------------------------

    async def claims(self, subject: str, claims: Sequence[Taken], generation: int) -> list[Outcome]:
        commands = [
            (delivery.event, self.asked(delivery), self.looked_back(delivery))
            for delivery in claims
            if isinstance(delivery.event, ClaimNote)
        ]
        return await self._decider.claims(subject, commands, generation)

    async def record(self, subject: str, delivery: Taken, generation: int) -> Outcome:
        command, asked = delivery.event, self.asked(delivery)
        assert not isinstance(command, FactCommand)
        decide, unread = decision_of(command, asked)
        return await self._decider.one(
            subject, decide, asked, generation, since_ms=self.looked_back(delivery), unread=unread
        )

    async def facts(self, delivery: Taken, generation: int) -> Outcome:
        command = delivery.event
        assert isinstance(command, FactCommand)
        return await self._facts.run(
            command, self.asked(delivery), generation, self.looked_back(delivery)
        )

    async def generations(self, repositories: Sequence[RepoId]) -> dict[RepoId, int]:
        found = await asyncio.gather(*map(self.records.generation, repositories))
        return dict(zip(repositories, found, strict=True))

    async def prepare(self, adding: Sequence[tuple[str, int]]) -> None:
        await self._facts.take_numbers(adding, self.clock.now_ms())


class Batch:
    """One batch, sorted by what may go side by side."""

    def __init__(self, worker: NoteWorker, batch: Sequence[Taken]) -> None:
        self._worker = worker
        self._by_subject: dict[str, list[Taken]] = {}
        self._others: list[Taken] = []
        self._all = batch
        for delivery in batch:
            command = delivery.event
            if isinstance(command, FactCommand):
                self._others.append(delivery)
            else:
                subject = subjects.note_log(command.repo_id, command.topic, command.id)
                self._by_subject.setdefault(subject, []).append(delivery)
        self.touched: set[str] = set()

    async def outcomes(self) -> dict[str, Outcome]:
        """The outcome of each command, by its id; raises what makes the batch be tried again."""
        repositories = list(dict.fromkeys(delivery.event.repo_id for delivery in self._all))
        adding = [
            (delivery.envelope.id, self._worker.looked_back(delivery))
            for delivery in self._others
            if isinstance(delivery.event, AddFact)
        ]
        generations, _, _ = await asyncio.gather(
            self._worker.generations(repositories),
            self._worker.prepare(adding),
            self._worker.records.read_ahead(self._by_subject),
        )
        work = [
            self._chain(subject, deliveries, generations)
            for subject, deliveries in self._by_subject.items()
        ]
        work += [self._alone(delivery, generations) for delivery in self._others]
        outcomes: dict[str, Outcome] = {}
        failed: BaseException | None = None
        for result in await asyncio.gather(*work, return_exceptions=True):
            if isinstance(result, BaseException):
                failed = failed or result
            else:
                outcomes |= result
        if failed is not None:
            raise failed
        return outcomes

    async def _chain(
        self, subject: str, deliveries: list[Taken], generations: dict[RepoId, int]
    ) -> dict[str, Outcome]:
        outcomes: dict[str, Outcome] = {}
        for claiming, run in groupby(
            deliveries, lambda delivery: isinstance(delivery.event, ClaimNote)
        ):
            together = list(run)
            generation = generations[together[0].event.repo_id]
            if claiming:
                made = await self._claims(subject, together, generation)
            else:
                made = [
                    await _guarded(self._worker.record(subject, delivery, generation))
                    for delivery in together
                ]
            for delivery, outcome in zip(together, made, strict=True):
                outcomes[delivery.envelope.id] = outcome
                if outcome.appended:
                    self.touched.add(subject)
        return outcomes

    async def _claims(
        self, subject: str, claims: Sequence[Taken], generation: int
    ) -> list[Outcome]:
        try:
            return await self._worker.claims(subject, claims, generation)
        except Fault as fault:
            if fault.retryable:
                raise
            return [_fault(fault) for _ in claims]

    async def _alone(self, delivery: Taken, generations: dict[RepoId, int]) -> dict[str, Outcome]:
        work = self._worker.facts(delivery, generations[delivery.event.repo_id])
        return {delivery.envelope.id: await _guarded(work)}


async def _guarded(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """A fault of the command itself is its answer; one of the surroundings is raised."""
    try:
        return await work
    except Fault as fault:
        if fault.retryable:
            raise
        return _fault(fault)


def _fault(fault: Fault) -> Outcome:
    # Poisoned: the fact would be larger than the broker takes.
    code = "OVER_BUDGET" if isinstance(fault, Poisoned) else fault.code
    reply = NoteReply(
        ok=False, code=code, message=fault.message, hint=fault.hint or "make it smaller"
    )
    return Outcome(reply, State())
