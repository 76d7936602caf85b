"""What does a decision about a record look like? Shared by the pure functions that make them."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from contracts.events.memory import Change, NoteReply
from contracts.ids import RecordKey
from contracts.notes import Claim, Note


class Asked(Struct, frozen=True, kw_only=True):
    """What a decision needs to know beside the command and the record."""

    id: str  # of the command
    now_ms: int  # by the log's clock
    asked_ms: int = 0  # when the command was stored, by the same clock; 0: just now
    principal: str = ""
    max_lease_ms: int = 300_000
    claiming: bool = False


class Decision(Struct, frozen=True, kw_only=True):
    """The answer, and what becomes a fact first."""

    reply: NoteReply
    change: Change | None = None  # None: nothing changes
    note: Note | None = None  # as it is afterwards; given with every change
    waits: bool = False  # the command stands in the queue; its answer comes later


def refused(code: str, message: str, hint: str, note: Note | None = None) -> Decision:
    return Decision(reply=NoteReply(ok=False, code=code, message=message, hint=hint, note=note))


def changed(change: Change, note: Note, before: Note | None) -> Decision:
    """A fact and the answer that goes with it."""
    reply = NoteReply(ok=True, existed=before is not None, before=before, note=note)
    return Decision(reply=reply, change=change, note=note)


def unchanged(note: Note | None, *, reason: str = "") -> Decision:
    """Nothing to record: it is as asked, or there is nothing to do it to."""
    reply = NoteReply(ok=True, existed=note is not None, before=note, note=note, reason=reason)
    return Decision(reply=reply)


def key_of(repo_id: str, topic: str, item: str) -> str:
    return str(RecordKey(repo_id, "mem", topic, item))  # type: ignore[arg-type]  # any text is one


def alive(note: Note | None, now_ms: int) -> Note | None:
    """The record if it is there: neither deleted nor lapsed."""
    return note if note is not None and note.is_live(now_ms) else None


def issued(note: Note | None) -> int:
    """The newest token ever granted for the key; it outlives the record."""
    return 0 if note is None else note.claim.issued


def gone(note: Note, now_ms: int) -> Note:
    """What is left of a deleted record: its key and the counter of its tokens."""
    return Note(
        repo_id=note.repo_id,
        topic=note.topic,
        id=note.id,
        exists=False,
        updated_ms=now_ms,
        claim=Claim(issued=note.claim.issued),
    )


def void(note: Note) -> Note:
    """A record of a namespace that was removed since: as deleted."""
    return gone(note, note.updated_ms)


def with_claim(note: Note, claim: Claim) -> Note:
    return replace(note, claim=claim)
