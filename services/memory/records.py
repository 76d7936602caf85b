"""What is the newest state of a record, and how is the next one appended?

The log is the state: the newest message of a record's subject carries the whole note. A few are
remembered with their sequence; whether they still are the newest is found out by the append itself,
which the broker takes over that very sequence only. Where a decision appends nothing, it is checked
against the stream's leader instead.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from contracts import subjects
from contracts.envelope import Envelope, encode
from contracts.errors import Conflict
from contracts.events import AnyRepoFact
from contracts.events.memory import Change, NoteRecorded
from contracts.ids import RepoId
from contracts.notes import Claim, Note
from contracts.subjects import LOG
from services.kernel.bus import EXPECTED, MESSAGE_ID, Bus
from services.kernel.publisher import Headers
from services.memory.decision import Asked, void

_REMEMBERED = 2_048
_LOOKED_BACK = 64  # unreadable facts passed over in search of a readable one
_LARGEST_KEPT = 64 << 10  # bytes of a fact that is remembered
_decode = msgspec.msgpack.Decoder(Envelope[NoteRecorded]).decode
_decode_repo = msgspec.msgpack.Decoder(Envelope[AnyRepoFact]).decode


class State(Struct, frozen=True):
    """The newest message of a record's subject."""

    sequence: int = 0  # 0: there is none
    message_id: str = ""
    note: Note | None = None
    generation: int = 0
    change: Change | None = None
    unread: bool = False  # it cannot be decoded; `note` is what is known from before
    sure: bool = False  # read from the leader just now

    def at(self, generation: int) -> Note | None:
        """The note in a namespace of that generation: one of an earlier generation is gone."""
        if self.note is None or self.generation >= generation:
            return self.note
        return void(self.note)


class Records:
    """Reads and appends the facts of notes."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._known: OrderedDict[str, State] = OrderedDict()

    async def newest(self, subject: str, *, sure: bool = False) -> State:
        """The record's state; with `sure` nothing that was confirmed before is missed."""
        if not sure:
            known = self._known.get(subject)
            if known is not None:
                self._known.move_to_end(subject)
                return known
            found = await self._bus.last_message(subject, LOG)
        else:
            found = await self._bus.last_message_of_leader(subject, LOG)
        if found is None:
            self._known.pop(subject, None)
            state = State(sure=sure)
            self._remember(subject, state, 0)
        else:
            state = _state(*found, sure=sure)
            if state.unread:
                return await self._before(subject, state)
            self._remember(subject, state, len(found[2]))
        return state

    async def read_ahead(self, records: Iterable[str]) -> None:
        """Have the states of several records known before they are asked for."""
        await asyncio.gather(*map(self.newest, records))

    async def generation(self, repo_id: str) -> int:
        """The memory generation in force; 0 of a repository that nobody registered or removed."""
        found = await self._bus.last_message_of_leader(subjects.repo_log(repo_id), LOG)
        return 0 if found is None else _decode_repo(found[2]).event.memory_generation

    async def append(
        self, subject: str, fact: NoteRecorded, asked: Asked, generation: int, over: State
    ) -> State:
        """Append a fact over the state it was decided on.

        Raises Conflict when that is not the newest.
        It carries the command's id as its message id, except of claims: those are told apart by what
        the record says of them, and one command may have to append several times.
        """
        note, change = fact.note, fact.change
        message_id = "" if asked.claiming else asked.id
        envelope = Envelope(
            id=asked.id,
            repo=RepoId(note.repo_id),
            generation=generation,
            at_ms=asked.now_ms,
            producer="memory",
            cause=asked.id,
            event=fact,
        )
        data = encode(envelope)
        headers = {EXPECTED: str(over.sequence)}
        try:
            stored = await self._bus.put(subject, data, message_id=message_id, headers=headers)
            ack = await stored
            if ack.duplicate:
                raise Conflict("an earlier attempt of this command got through", resent=True)
        except Conflict:
            self._known.pop(subject, None)
            raise
        state = State(ack.seq, message_id, note, generation, change)
        self._remember(subject, state, len(data))
        return state

    async def earlier(self, subject: str, asked: Asked, since_ms: int) -> State | None:
        """The fact that an earlier delivery of the same command brought about, if one did."""
        found = await self._bus.message_from(subject, LOG, since_ms=since_ms)
        while found is not None:
            state = _state(*found)
            if asked.claiming:
                ours = state.note is not None and state.note.claim.command == asked.id
            else:
                ours = state.message_id == asked.id
            if ours:
                return state
            found = await self._bus.message_from(subject, LOG, sequence=state.sequence + 1)
        return None

    async def _before(self, subject: str, unread: State) -> State:
        """The unreadable state with what the newest readable one before it says.

        Each fact in between may have granted one token.
        """
        passed, sequence = 1, unread.sequence
        while passed <= _LOOKED_BACK:
            found = await self._bus.last_message_before(subject, LOG, sequence)
            if found is None:
                break
            before = _state(*found)
            if before.note is not None:
                claim = before.note.claim
                claim = msgspec.structs.replace(claim, issued=claim.issued + passed)
                note = msgspec.structs.replace(before.note, claim=claim)
                return msgspec.structs.replace(
                    unread, note=note, generation=before.generation, sure=True
                )
            passed, sequence = passed + 1, before.sequence
        return msgspec.structs.replace(unread, sure=True)

    def _remember(self, subject: str, state: State, size: int) -> None:
        known = self._known.get(subject)
        if known is not None and known.sequence > state.sequence:
            return
        if size > _LARGEST_KEPT:
            self._known.pop(subject, None)
            return
        self._known[subject] = msgspec.structs.replace(state, sure=False) if state.sure else state
        self._known.move_to_end(subject)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)


def _state(sequence: int, headers: Headers, data: bytes, *, sure: bool = False) -> State:
    message_id = headers.get(MESSAGE_ID, "")
    try:
        envelope = _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return State(sequence, message_id, unread=True, sure=sure)
    event = envelope.event
    return State(sequence, message_id, event.note, envelope.generation, event.change, sure=sure)


def unknown(repo_id: RepoId, topic: str, item: str) -> Note:
    """A record none of whose facts can be read: each of those looked at may have granted a token."""
    claim = Claim(issued=_LOOKED_BACK)
    return Note(repo_id=repo_id, topic=topic, id=item, exists=False, claim=claim)
