"""How does a decision become a fact? Read, decide, append; after a lost race the same again.

Decisions themselves are pure (notes.py, claims.py, facts.py, restoring.py). What is returned is
stored, not yet synced: whoever answers syncs first (disk.py).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from contracts.errors import Conflict, Unavailable
from contracts.events.memory import ClaimNote, ForgetNote, NoteRecorded, NoteReply
from contracts.notes import Note
from services.memory import claims, notes
from services.memory.decision import Asked, Decision, refused
from services.memory.notes import RecordCommand
from services.memory.records import Records, State, unknown

_TRIES = 200
_LOOK_BACK_MS = 60_000
Decide = Callable[[Note | None], Decision]


class Outcome:
    """What came of one command."""

    __slots__ = ("appended", "repeated", "reply", "state", "waits")

    def __init__(
        self,
        reply: NoteReply,
        state: State,
        *,
        appended: bool = False,
        waits: bool = False,
        repeated: bool = False,
    ) -> None:
        self.reply = reply  # with the position to wait for
        self.state = state  # of the record, afterwards
        self.appended = appended
        self.waits = waits
        self.repeated = repeated  # an earlier delivery of the command had done it


class Decider:
    """Brings decisions about records into the log."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def one(
        self,
        subject: str,
        decide: Decide,
        asked: Asked,
        generation: int,
        *,
        since_ms: int = 0,
        unread: Decide | None = None,
    ) -> Outcome:
        """Decide about one record until the decision stands.

        `since_ms` of a command that was delivered before: its earlier effect is looked for from then
        on. `unread` decides about a record whose newest fact cannot be read; without it that is refused.
        """
        if since_ms and (found := await self._repeated(subject, asked, since_ms)) is not None:
            return found
        sure = False
        for attempt in range(_TRIES):
            state = await self._records.newest(subject, sure=sure)
            decision = _decided(state, decide, unread, generation)
            note = decision.note
            if decision.change is None or note is None:
                if state.sure or sure:
                    return _outcome(decision, state, appended=False)
                sure = True
                continue
            try:
                fact = NoteRecorded(change=decision.change, note=note, principal=asked.principal)
                after = await self._records.append(subject, fact, asked, generation, state)
            except Conflict as fault:
                sure = True
                if not asked.claiming:
                    sent_before = bool(since_ms or fault.details.get("resent"))
                    found = await self._own(subject, asked, sent_before=sent_before)
                    if found is not None:
                        return found
                await asyncio.sleep(random.random() * min(0.002 * attempt, 0.1))  # noqa: S311 - jitter
                continue
            return _outcome(decision, after, appended=True)
        raise Unavailable("the record changes too quickly", hint="try again")

    async def claims(
        self, subject: str, commands: Sequence[tuple[ClaimNote, Asked, int]], generation: int
    ) -> list[Outcome]:
        """Decide claims on one record that came together, with one fact for all of them.

        Of each command: what to look back to if it was delivered before, else 0.
        """
        outcomes: dict[str, Outcome] = {}
        fresh: list[tuple[ClaimNote, Asked]] = []
        for command, asked, since_ms in commands:
            earlier = await self._repeated(subject, asked, since_ms) if since_ms else None
            if earlier is None:
                fresh.append((command, asked))
            else:
                outcomes[asked.id] = await self.told_again(subject, command, asked, generation)
        if fresh:
            outcomes |= await self._together(subject, fresh, generation)
        return [outcomes[asked.id] for _, asked, _ in commands]

    async def told_again(
        self, subject: str, command: ClaimNote, asked: Asked, generation: int
    ) -> Outcome:
        """What to say of a claim that was granted before: how that grant stands now."""
        state = await self._records.newest(subject, sure=True)
        decision = claims.told_again(state.at(generation), command, asked)
        made = _outcome(decision, state, appended=False)
        made.repeated = True
        return made

    async def _together(
        self, subject: str, commands: Sequence[tuple[ClaimNote, Asked]], generation: int
    ) -> dict[str, Outcome]:
        decisions: dict[str, Decision] = {}

        def all_of_them(note: Note | None) -> Decision:
            decisions.clear()
            last: Decision | None = None
            for command, asked in commands:
                decision = decisions[asked.id] = claims.claim(note, command, asked)
                if decision.change is not None:
                    granting = last is not None and last.change == "granted"
                    note = decision.note
                    last = replace(decision, change="granted") if granting else decision
            return last or decision

        first = commands[0][1]
        together = await self.one(subject, all_of_them, first, generation)
        if not together.reply.ok:
            return {asked.id: together for _, asked in commands}
        return {
            asked.id: _outcome(
                decision,
                together.state,
                appended=together.appended and decision.change is not None,
            )
            for _, asked in commands
            for decision in (decisions[asked.id],)
        }

    async def _repeated(self, subject: str, asked: Asked, since_ms: int) -> Outcome | None:
        """The outcome of an earlier delivery of the command."""
        state = await self._records.earlier(subject, asked, since_ms)
        return None if state is None else _earlier(state)

    async def _own(self, subject: str, asked: Asked, *, sent_before: bool) -> Outcome | None:
        """After a conflict: whether it was our own append that had got through.

        Others may lie over it by now if it was `sent_before`.
        """
        newest = await self._records.newest(subject, sure=True)
        if newest.message_id == asked.id:
            return _earlier(newest)
        if not sent_before:
            return None
        since_ms = asked.asked_ms or asked.now_ms
        return await self._repeated(subject, asked, since_ms - _LOOK_BACK_MS)


def decision_of(command: RecordCommand, asked: Asked) -> tuple[Decide, Decide | None]:
    """The pure decision of a command, and the one about a record that cannot be read."""

    def decide(note: Note | None) -> Decision:
        return notes.decide(note, command, asked)

    if not isinstance(command, ForgetNote):
        return decide, None

    def unread(note: Note | None) -> Decision:
        known = note if note is not None else unknown(command.repo_id, command.topic, command.id)
        return notes.forget_unread(known, command, asked)

    return decide, unread


def _decided(state: State, decide: Decide, unread: Decide | None, generation: int) -> Decision:
    if not state.unread:
        return decide(state.at(generation))
    if unread is None:
        return refused(
            "CONFLICT",
            "the newest fact of this record cannot be read",
            "retire it with repocontext_forget, or run the version that wrote it",
        )
    return unread(state.at(generation))


def _outcome(decision: Decision, state: State, *, appended: bool) -> Outcome:
    reply = replace(decision.reply, log_sequence=state.sequence)
    return Outcome(reply, state, appended=appended, waits=decision.waits)


def _earlier(state: State) -> Outcome:
    """What an earlier delivery of a command had brought about, told once more."""
    note = state.note
    reply = NoteReply(
        ok=True,
        log_sequence=state.sequence,
        existed=state.change != "created",
        note=note,
    )
    return Outcome(reply, state, repeated=True)
