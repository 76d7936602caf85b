"""The memory worker: decides what becomes a fact of LOG: what is registered, and what is remembered.

consumes  CMD cmd.repo.*        AddRepo RemoveRepo ResetIndex
          CMD cmd.mem.*         RememberNote ForgetNote ClaimNote ... (contracts/events/memory.py)
produces  LOG log.<repo>.repo   RepoRegistered IndexReset RepoRemoved
          LOG log.<repo>.mem.>  NoteRecorded, log.=~.numbers NumbersTaken
          WORK work.pass.<repo> PassJob, INDEX index.<repo>.pass PassChanged (Pending)
answers   each command on its reply subject, once the fact is stored and synced

The registry is here; commands on notes are in note_worker.py.

Several memory workers may run: a fact is appended only over the last one that its decision saw;
who loses the race reads what won and decides again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
from mode import Service

from contracts import subjects
from contracts.envelope import Envelope, encode, new_id, now_ms, starting
from contracts.errors import Conflict, Fault
from contracts.events import AnyRepoFact, PassChanged, PassJob
from contracts.events.commands import (
    AddRepo,
    AnyCommand,
    CommandReply,
    RemoveRepo,
    ReplayProjections,
    ResetIndex,
)
from contracts.events.memory import AnyNoteCommand
from contracts.subjects import DURABLES, INDEX, LOG, WORK
from services.kernel import logs
from services.kernel.bus import EXPECTED, MESSAGE_ID, Bus
from services.kernel.consumer import Consumer, Delivery, Outbox, Policy
from services.kernel.settings import Settings
from services.kernel.shell import Parts
from services.memory.answers import Answers
from services.memory.archive import Archive
from services.memory.clock import LogClock
from services.memory.disk import LogDisk
from services.memory.note_worker import NoteWorker
from services.memory.registry import Registered, apply, decide, registered_again

log = logs.get(__name__)
_encode = msgspec.msgpack.Encoder().encode
_decode_log = msgspec.msgpack.Decoder(Envelope[AnyRepoFact]).decode
_decode_pass = msgspec.msgpack.Decoder(Envelope[PassChanged]).decode
_decode_job = msgspec.msgpack.Decoder(Envelope[PassJob]).decode
_SPEC = next(spec for spec in DURABLES if spec.name == "memory")
_NOTES = next(spec for spec in DURABLES if spec.name == "notes")
_TRIES = 20
_LATER = 1 << 62  # than any pass began (Unix ms)
_NUMBER = "Rf-Command"  # header of a fact: CMD sequence of the command that led to it
# Families of INDEX subjects that a reset drops; the pass record counts the attempts, notes stay.
_RECOMPUTED = ("file", "anchor", "vec", "ann", "edges", "hist", "session", "base", "ws")
RepoCommand = AddRepo | RemoveRepo | ResetIndex


class Registry:
    """Handles registry commands one after the other."""

    def __init__(
        self, bus: Bus, disk: LogDisk | None = None, answers: Answers | None = None
    ) -> None:
        self._bus = bus
        self._disk = disk or LogDisk(None)
        self._answers = answers or Answers(bus)

    async def handle(self, batch: Sequence[Delivery[AnyCommand]], out: Outbox) -> None:
        for delivery in batch:
            command = delivery.event
            if isinstance(command, ReplayProjections):
                continue
            try:
                reply = await self._execute(delivery.envelope, command, delivery.first[0])
            except Fault as fault:
                if fault.retryable:
                    raise
                reply = CommandReply(
                    ok=False, code=fault.code, message=fault.message, hint=fault.hint
                )
            await out.stored()
            await self._disk.sync()
            await self._answers.send(delivery.envelope.reply_to, _encode(reply))

    async def _execute(
        self, envelope: Envelope[AnyCommand], command: RepoCommand, number: int
    ) -> CommandReply:
        """Carry a command out; `number` is its place among all commands."""
        for _ in range(_TRIES):
            ends = await self._ends(command)
            state, last_id, last_number, since_ms = await self._load(command)
            if last_id == envelope.id:  # an earlier attempt of this very command got through
                return await self._follow_up(state, command, ends, existed=True, since_ms=since_ms)
            if number < last_number:
                # Its worker died with it in hand, or its answer was lost, and a later command was
                # carried out since: to undo that now would surprise whoever gave it.
                return CommandReply(ok=True, log_sequence=state.sequence, existed=True)
            event = decide(state, command, has_notes=await self._has_notes(state, command))
            if event is None and isinstance(command, AddRepo) and await self._may_overtake():
                event = registered_again(state)
            if event is None:
                existed = state.state not in ("unknown", "removed")
                return await self._follow_up(state, command, ends, existed=existed)
            try:
                sequence = await self._append(envelope, event, state.sequence, number)
            except Conflict:
                continue
            existed = state.state not in ("unknown", "removed")
            filters = state.filters
            state = apply(state, event, sequence)
            since_ms = 0 if state.filters == filters else _LATER
            return await self._follow_up(state, command, ends, existed=existed, since_ms=since_ms)
        raise Conflict("the repository changes too quickly", hint="try again")

    async def _may_overtake(self) -> bool:
        """Whether other commands are in hand somewhere, perhaps with a worker that is dead."""
        info = await self._bus.api(f"CONSUMER.INFO.{_SPEC.stream}.{_SPEC.name}", {})
        return int(info["num_ack_pending"]) > 1

    async def _load(self, command: RepoCommand) -> tuple[Registered, str, int, int]:
        """The repository as its newest fact tells it: every fact carries the generations.

        And the command that led to that fact: its id and its number; and when it did (Unix ms).
        """
        state = Registered(repo_id=command.repo_id)
        found = await self._bus.last_message(subjects.repo_log(command.repo_id), LOG)
        if found is None:
            return state, "", 0, 0
        sequence, headers, data = found
        fact = _decode_log(data)
        state = apply(state, fact.event, sequence)
        return state, headers.get(MESSAGE_ID, ""), int(headers.get(_NUMBER, "0")), fact.at_ms

    async def _has_notes(self, state: Registered, command: RepoCommand) -> bool:
        """Whether anything was remembered of a repository that is not registered."""
        if not isinstance(command, RemoveRepo) or state.state not in ("unknown", "removed"):
            return False
        notes = f"log.{subjects.token(command.repo_id)}.mem.>"
        return await self._bus.message_from(notes, LOG, sequence=state.sequence + 1) is not None

    async def _append(
        self, cause: Envelope[AnyCommand], event: AnyRepoFact, expected: int, number: int
    ) -> int:
        envelope = Envelope(
            id=cause.id,
            repo=event.repo_id,
            generation=event.index_generation,
            at_ms=now_ms(),
            producer="memory",
            cause=cause.id,
            correlation=cause.correlation,
            event=event,
        )
        headers = {EXPECTED: str(expected), _NUMBER: str(number)}
        subject = subjects.repo_log(event.repo_id)
        stored = await self._bus.put(
            subject, encode(envelope), message_id=cause.id, headers=headers
        )
        ack = await stored
        if ack.duplicate:
            raise Conflict("an earlier attempt of this command got through")
        return ack.seq

    async def _follow_up(
        self,
        state: Registered,
        command: RepoCommand,
        ends: dict[str, int],
        *,
        existed: bool,
        since_ms: int = 0,
    ) -> CommandReply:
        """What comes after the fact; a running pass suffices if it began no earlier than `since_ms`."""
        sequence = state.sequence
        if isinstance(command, AddRepo):
            index_sequence = await self._start_pass(state, since_ms)
            return CommandReply(
                ok=True, log_sequence=sequence, index_sequence=index_sequence, existed=existed
            )
        if existed and isinstance(command, ResetIndex):
            await self._record_reset(state, command, "Running")
            await self._purge(command, ends)
            sequence_shown = await self._record_reset(state, command, "Completed")
            return CommandReply(
                ok=True, log_sequence=sequence, index_sequence=sequence_shown, existed=existed
            )
        if existed:
            await self._purge(command, ends)
        return CommandReply(ok=True, log_sequence=sequence, existed=existed)

    async def _start_pass(self, state: Registered, since_ms: int) -> int:
        """Ask for a pass unless one is under way; returns the INDEX sequence that shows it.

        One that began before `since_ms` (Unix ms) may walk by other filters.
        """
        found = await self._bus.last_message(subjects.repo_pass(state.repo_id), INDEX)
        last = None if found is None else _decode_pass(found[2])
        attempt = 1
        if found is not None and last is not None:
            current = last.generation == state.index_generation
            running = last.event.status == "Running"
            if current and running and last.event.started_ms >= since_ms:
                if last.event.phase == "Pending":
                    await self._restart(state, last.event)
                return found[0]
            attempt = last.event.attempt + 1
        pass_id = new_id()
        pending = PassChanged(
            pass_id=pass_id,
            reason="onboard",
            status="Running",
            phase="Pending",
            attempt=attempt,
            started_ms=now_ms(),
            updated_ms=now_ms(),
            audited_ms=0 if last is None else last.event.audited_ms,
        )
        stored = await self._bus.put(
            subjects.repo_pass(state.repo_id), self._wrapped(state, pending, pass_id)
        )
        sequence = (await stored).seq
        await self._put_job(state, pending)
        return sequence

    async def _restart(self, state: Registered, pending: PassChanged) -> None:
        """Store the job of a pass that has not begun, unless it is there: its worker may have died."""
        found = await self._bus.last_message(subjects.pass_job(state.repo_id), WORK)
        if found is None or _decode_job(found[2]).event.pass_id != pending.pass_id:
            await self._put_job(state, pending)

    async def _put_job(self, state: Registered, pending: PassChanged) -> None:
        job = PassJob(
            pass_id=pending.pass_id,
            reason=pending.reason,
            root=state.root,
            filters=state.filters,
            attempt=pending.attempt,
        )
        data = self._wrapped(state, job, job.pass_id)
        await (await self._bus.put(subjects.pass_job(state.repo_id), data))

    def _wrapped(self, state: Registered, event: PassChanged | PassJob, pass_id: str) -> bytes:
        return encode(
            starting(
                "memory",
                event,
                repo=state.repo_id,
                generation=state.index_generation,
                correlation=pass_id,
            )
        )

    async def _record_reset(self, state: Registered, command: ResetIndex, status: str) -> int:
        """Tell how far the reset is; returns the INDEX sequence of that."""
        found = await self._bus.last_message(subjects.repo_pass(state.repo_id), INDEX)
        last = None if found is None else _decode_pass(found[2]).event
        again = last is not None and last.reason == "reset" and last.status == "Running"
        now = now_ms()
        done = status == "Completed"
        told = PassChanged(
            pass_id=last.pass_id if last is not None and again else new_id(),
            reason="reset",
            status=status,
            phase="Done" if done else "Resetting",
            attempt=0 if last is None else last.attempt,
            started_ms=last.started_ms if last is not None and again else now,
            updated_ms=now,
            completed_ms=now if done else 0,
            trees_swept=command.trees if done else (),
            entries_deleted=command.entries if done else 0,
        )
        subject = subjects.repo_pass(state.repo_id)
        return (await (await self._bus.put(subject, self._wrapped(state, told, told.pass_id)))).seq

    async def _ends(self, command: RepoCommand) -> dict[str, int]:
        """The newest sequence of each stream that a command drops something of.

        Asked for before the command's fact is stored: what comes later is of what comes after it.
        """
        if isinstance(command, AddRepo):
            return {}
        infos = {name: await self._bus.api(f"STREAM.INFO.{name}", {}) for name in (WORK, INDEX)}
        return {name: int(info["state"]["last_seq"]) for name, info in infos.items()}

    async def _purge(self, command: RepoCommand, ends: dict[str, int]) -> None:
        """Free what the dropped generation held; whatever arrives late is void by its generation."""
        repo = subjects.token(command.repo_id)
        patterns = [(WORK, f"work.*.{repo}.>"), (WORK, f"work.pass.{repo}")]
        if isinstance(command, RemoveRepo):
            patterns.append((INDEX, f"index.{repo}.>"))
        else:  # the pass record stays: it counts the attempts
            patterns += [(INDEX, f"index.{repo}.{family}.>") for family in _RECOMPUTED]
        for stream, pattern in patterns:
            body = {"filter": pattern, "seq": ends[stream] + 1}
            await self._bus.api(f"STREAM.PURGE.{stream}", body, timeout=30)


class Notes(Service):
    """The note commands' part of the process: the clock, the queues of claims, their end."""

    def __init__(self, bus: Bus, worker: NoteWorker, clock: LogClock) -> None:
        super().__init__()
        self._bus, self._worker, self._clock = bus, worker, clock

    async def on_start(self) -> None:
        await self._worker.answers.start()
        self._task = asyncio.create_task(self._clock.set(self._bus))

    async def on_stop(self) -> None:
        self._task.cancel()
        self._worker.queues.stop()
        self._worker.answers.stop()


async def assemble(settings: Settings, bus: Bus) -> Parts:
    """The memory worker's part of a worker process."""
    disk, clock = LogDisk.of(settings), LogClock()
    worker = NoteWorker(bus, disk, clock, max_lease_ms=settings.longest_lease_seconds * 1000)
    registry = Registry(bus, disk, worker.answers)
    one_by_one = Policy(batch=1, window=16, grace_s=settings.drain_seconds)
    many = Policy(batch=128, window=256, grace_s=settings.drain_seconds)
    commands = Consumer(bus, _SPEC, AnyCommand, registry.handle, policy=one_by_one)
    notes = Consumer(bus, _NOTES, AnyNoteCommand, worker.handle, policy=many, parked=worker.parked)
    worker.queues.finish = notes.finish
    services: list[Service] = [Notes(bus, worker, clock), commands, notes]
    if settings.memory_archive_dir:
        services.insert(1, Archive(settings, bus, worker))
    return Parts("memory", bus, services)
