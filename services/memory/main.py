"""The memory worker: decides what becomes a fact of LOG. Today the registry of repositories.

consumes  CMD cmd.repo.*        AddRepo RemoveRepo ResetIndex
produces  LOG log.<repo>.repo   RepoRegistered IndexReset RepoRemoved
          WORK work.pass.<repo> PassJob, INDEX index.<repo>.pass PassChanged (Pending)
answers   each command on its reply subject, once the fact is stored

Several memory workers may run: a fact is appended only over the last one that its decision saw;
who loses the race reads what won and decides again.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from contracts import subjects
from contracts.envelope import Envelope, encode, new_id, now_ms
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
from contracts.subjects import DURABLES, INDEX, LOG, WORK
from services.kernel import logs
from services.kernel.bus import EXPECTED, MESSAGE_ID, Bus
from services.kernel.consumer import Consumer, Delivery, Outbox, Policy
from services.kernel.settings import Settings
from services.kernel.shell import Parts
from services.memory.registry import Registered, apply, decide

log = logs.get(__name__)
_encode = msgspec.msgpack.Encoder().encode
_decode_log = msgspec.msgpack.Decoder(Envelope[AnyRepoFact]).decode
_decode_pass = msgspec.msgpack.Decoder(Envelope[PassChanged]).decode
_SPEC = next(spec for spec in DURABLES if spec.name == "memory")
_TRIES = 20
RepoCommand = AddRepo | RemoveRepo | ResetIndex


class Registry:
    """Handles registry commands one after the other."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def handle(self, batch: Sequence[Delivery[AnyCommand]], out: Outbox) -> None:
        for delivery in batch:
            command = delivery.event
            if isinstance(command, ReplayProjections):
                continue
            try:
                reply = await self._execute(delivery.envelope, command)
            except Fault as fault:
                if fault.retryable:
                    raise
                reply = CommandReply(
                    ok=False, code=fault.code, message=fault.message, hint=fault.hint
                )
            await out.stored()
            if delivery.envelope.reply_to:
                await self._bus.publish(delivery.envelope.reply_to, _encode(reply))

    async def _execute(self, envelope: Envelope[AnyCommand], command: RepoCommand) -> CommandReply:
        for _ in range(_TRIES):
            state, last_id = await self._load(command)
            if last_id == envelope.id:  # an earlier attempt of this very command got through
                return await self._follow_up(state, command, state.sequence, existed=True)
            event = decide(state, command)
            if event is None:
                existed = state.state not in ("unknown", "removed")
                return await self._follow_up(state, command, state.sequence, existed=existed)
            try:
                sequence = await self._append(envelope, event, state.sequence)
            except Conflict:
                continue
            existed = state.state not in ("unknown", "removed")
            state = apply(state, event, sequence)
            return await self._follow_up(state, command, sequence, existed=existed)
        raise Conflict("the repository changes too quickly", hint="try again")

    async def _load(self, command: RepoCommand) -> tuple[Registered, str]:
        """The repository as its newest fact tells it: every fact carries the generations."""
        state = Registered(repo_id=command.repo_id)
        found = await self._bus.last_message(subjects.repo_log(command.repo_id), LOG)
        if found is None:
            return state, ""
        sequence, headers, data = found
        state = apply(state, _decode_log(data).event, sequence)
        return state, headers.get(MESSAGE_ID, "")

    async def _append(self, cause: Envelope[AnyCommand], event: AnyRepoFact, expected: int) -> int:
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
        headers = {EXPECTED: str(expected)}
        subject = subjects.repo_log(event.repo_id)
        stored = await self._bus.put(
            subject, encode(envelope), message_id=cause.id, headers=headers
        )
        return (await stored).seq

    async def _follow_up(
        self, state: Registered, command: RepoCommand, sequence: int, *, existed: bool
    ) -> CommandReply:
        if isinstance(command, AddRepo):
            index_sequence = await self._start_pass(state)
            return CommandReply(
                ok=True, log_sequence=sequence, index_sequence=index_sequence, existed=existed
            )
        if existed:
            await self._purge(command)
        if existed and isinstance(command, ResetIndex):
            await self._record_reset(state)
        return CommandReply(ok=True, log_sequence=sequence, existed=existed)

    async def _start_pass(self, state: Registered) -> int:
        """Ask for a pass unless one is under way; returns the INDEX sequence that shows it."""
        found = await self._bus.last_message(subjects.repo_pass(state.repo_id), INDEX)
        last = None if found is None else _decode_pass(found[2])
        attempt = 1
        if found is not None and last is not None:
            current = last.generation == state.index_generation
            if current and last.event.status == "Running":
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
        )
        stored = await self._bus.put(
            subjects.repo_pass(state.repo_id), self._wrapped(state, pending, pass_id)
        )
        job = PassJob(
            pass_id=pass_id,
            reason="onboard",
            root=state.root,
            filters=state.filters,
            attempt=attempt,
        )
        sequence = (await stored).seq
        await (
            await self._bus.put(
                subjects.pass_job(state.repo_id), self._wrapped(state, job, pass_id)
            )
        )
        return sequence

    def _wrapped(self, state: Registered, event: PassChanged | PassJob, pass_id: str) -> bytes:
        return encode(
            Envelope(
                id=new_id(),
                repo=state.repo_id,
                generation=state.index_generation,
                at_ms=now_ms(),
                producer="memory",
                correlation=pass_id,
                event=event,
            )
        )

    async def _record_reset(self, state: Registered) -> None:
        found = await self._bus.last_message(subjects.repo_pass(state.repo_id), INDEX)
        attempt = 0 if found is None else _decode_pass(found[2]).event.attempt
        now = now_ms()
        done = PassChanged(
            pass_id=new_id(),
            reason="reset",
            status="Completed",
            phase="Done",
            attempt=attempt,
            started_ms=now,
            updated_ms=now,
            completed_ms=now,
        )
        subject = subjects.repo_pass(state.repo_id)
        await (await self._bus.put(subject, self._wrapped(state, done, done.pass_id)))

    async def _purge(self, command: RepoCommand) -> None:
        """Free what the dropped generation held; whatever arrives late is void by its generation."""
        repo = subjects.token(command.repo_id)
        patterns = [(WORK, f"work.*.{repo}.>"), (WORK, f"work.pass.{repo}")]
        if isinstance(command, RemoveRepo):
            patterns.append((INDEX, f"index.{repo}.>"))
        else:  # the pass record stays: it counts the attempts
            patterns += [
                (INDEX, f"index.{repo}.{family}.>") for family in ("file", "anchor", "vec", "ann")
            ]
        for stream, pattern in patterns:
            await self._bus.api(f"STREAM.PURGE.{stream}", {"filter": pattern}, timeout=30)


async def assemble(settings: Settings, bus: Bus) -> Parts:
    """The memory worker's part of a worker process."""
    registry = Registry(bus)
    policy = Policy(batch=1, window=16, grace_s=settings.drain_seconds)
    return Parts("memory", bus, [Consumer(bus, _SPEC, AnyCommand, registry.handle, policy=policy)])
