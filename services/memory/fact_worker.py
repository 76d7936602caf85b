"""How are the commands of the memory_* tools, imports and patches worked off?

Each touches one record after the other; every record has its own decision and its own fact, whose
message id names the command and the record, so that a command delivered twice finds what it did.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from contracts import subjects
from contracts.errors import InvalidArgument
from contracts.events.memory import AddFact, ImportNotes, NoteReply, RetireFacts, UpdateFact
from contracts.events.patches import PatchRecord
from contracts.ids import RepoId
from contracts.note_rules import flaw
from contracts.notes import MEMORY_TOPIC, Note
from services.kernel.bus import Bus
from services.memory import facts, restoring
from services.memory.deciding import Decide, Decider, Outcome
from services.memory.decision import Asked, Decision, unchanged
from services.memory.numbers import Numbers
from services.memory.patching import Patching
from services.memory.records import Records, State

FactCommand = AddFact | UpdateFact | RetireFacts | ImportNotes | PatchRecord


class FactWorker:
    """Runs the commands that name records by number, or bring whole notes."""

    def __init__(self, bus: Bus, records: Records, decider: Decider) -> None:
        self._records, self._decider = records, decider
        self._numbers, self._patching = Numbers(bus), Patching(bus)
        self._taken: dict[str, int] = {}

    async def take_numbers(self, adding: Sequence[tuple[str, int]], now_ms: int) -> None:
        """Number the new records of a batch, with one fact; of each its command and look-back."""
        self._taken = {}
        for command, since_ms in adding:
            number = await self._numbers.taken_by(command, since_ms) if since_ms else 0
            if number:
                self._taken[command] = number
        fresh = [command for command, _ in adding if command not in self._taken]
        self._taken |= await self._numbers.take(fresh, now_ms)

    async def run(
        self, command: FactCommand, asked: Asked, generation: int, since_ms: int
    ) -> Outcome:
        match command:
            case AddFact():
                return await self._add(command, asked, generation, since_ms)
            case UpdateFact():
                return await self._update(command, asked, generation, since_ms)
            case RetireFacts():
                return await self._retire(command, asked, generation, since_ms)
            case ImportNotes():
                return await self._import(command, asked, generation, since_ms)
            case PatchRecord():
                reply = await self._patching.run(command, asked, since_ms)
                return Outcome(reply, State(), appended=True)

    async def _add(self, command: AddFact, asked: Asked, generation: int, since_ms: int) -> Outcome:
        number = self._taken[asked.id]
        return await self._decider.one(
            _subject(command.repo_id, number),
            lambda note: facts.add(note, number, command, asked),
            asked,
            generation,
            since_ms=since_ms,
        )

    async def _update(
        self, command: UpdateFact, asked: Asked, generation: int, since_ms: int
    ) -> Outcome:
        exists = await self._exists(command, command.patch.superseded_by, asked, generation)
        return await self._decider.one(
            _subject(command.repo_id, command.number),
            lambda note: facts.update(note, command, asked, successor_exists=exists),
            asked,
            generation,
            since_ms=since_ms,
        )

    async def _exists(
        self, command: UpdateFact | RetireFacts, number: int | None, asked: Asked, generation: int
    ) -> bool:
        """Whether the record that is to take the place of another one is there."""
        if number is None:
            return False
        repo_id = RepoId(command.successor_repo or command.repo_id)
        if repo_id != command.repo_id:  # another namespace of the same repository
            generation = await self._records.generation(repo_id)
        state = await self._records.newest(_subject(repo_id, number), sure=True)
        return facts.record(state.at(generation), asked) is not None

    async def _retire(
        self, command: RetireFacts, asked: Asked, generation: int, since_ms: int
    ) -> Outcome:
        exists = await self._exists(command, command.superseded_by, asked, generation)
        refusal = facts.without_successor(command, exists=exists)
        if refusal is not None:
            return Outcome(refusal.reply, State())
        reply, appended = NoteReply(ok=True), False
        for number in command.numbers:
            own = replace(asked, id=f"{asked.id}/{number}")
            made = await self._decider.one(
                _subject(command.repo_id, number),
                _retiring(command, own),
                own,
                generation,
                since_ms=since_ms,
            )
            appended = appended or made.appended or made.repeated
            reply = _with(reply, number, made.reply)
        return Outcome(reply, State(), appended=appended)

    async def _import(
        self, command: ImportNotes, asked: Asked, generation: int, since_ms: int
    ) -> Outcome:
        if wrong := next(filter(None, map(flaw, command.notes)), ""):
            raise InvalidArgument(f"an imported note is none: {wrong}", hint="correct the export")
        numbers = [note.facts.number for note in command.notes if note.facts is not None]
        if numbers:
            await self._numbers.reserve(max(numbers), asked.now_ms)
        reply, appended = NoteReply(ok=True), bool(numbers)
        for position, given in enumerate(command.notes):
            note = replace(given, repo_id=command.repo_id)
            own = replace(asked, id=f"{asked.id}/{position}")
            made = await self._decider.one(
                subjects.note_log(note.repo_id, note.topic, note.id),
                _restoring(note, own),
                own,
                generation,
                since_ms=since_ms,
            )
            appended = appended or made.appended or made.repeated
            kept = made.reply.reason == restoring.KEPT
            reply = replace(
                reply,
                imported=reply.imported + (not kept),
                skipped=reply.skipped + kept,
                log_sequence=max(reply.log_sequence, made.reply.log_sequence),
            )
        return Outcome(reply, State(), appended=appended)


def _retiring(command: RetireFacts, asked: Asked) -> Decide:
    def decide(note: Note | None) -> Decision:
        return facts.retire(note, command, asked)

    return decide


def _restoring(given: Note, asked: Asked) -> Decide:
    def decide(note: Note | None) -> Decision:
        if given.repo_id == "" or not given.topic or not given.id:
            return unchanged(note, reason=restoring.KEPT)
        return restoring.restore(note, given, asked)

    return decide


def _with(reply: NoteReply, number: int, one: NoteReply) -> NoteReply:
    """The answer to several with what came of one of them."""
    if one.fence:
        return replace(reply, claimed=(*reply.claimed, number))
    if one.reason == "missing" or not one.ok:
        return replace(reply, missing=(*reply.missing, number))
    notes = reply.notes if one.note is None else (*reply.notes, one.note)
    sequence = max(reply.log_sequence, one.log_sequence)
    return replace(reply, done=(*reply.done, number), notes=notes, log_sequence=sequence)


def _subject(repo_id: RepoId, number: int) -> str:
    return subjects.note_log(repo_id, MEMORY_TOPIC, str(number))
