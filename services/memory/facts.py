"""What becomes of a command of the memory_* tools? Pure decisions about their records.

They carry no token, so a record under a live claim refuses them all.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from contracts import memory_size
from contracts.events.memory import AddFact, FactsPatch, RetireFacts, UpdateFact
from contracts.notes import MEMORY_TOPIC, Claim, Facts, Note
from services.memory import fence
from services.memory.decision import (
    Asked,
    Decision,
    alive,
    changed,
    gone,
    issued,
    refused,
    unchanged,
)
from services.memory.merging import tags_of

STATUS = "status"  # the memory_type that may have an age
_FACT_FIELDS = (
    "context", "tags_text", "memory_type", "certainty", "status", "superseded_by", "expires_after_days",
)  # fmt: skip


def add(note: Note | None, number: int, command: AddFact, asked: Asked) -> Decision:
    """A new record under a number of its own; `note` is what may be left of an imported one."""
    facts = Facts(number=number, source_agent=command.source_agent)
    fresh = Note(
        repo_id=command.repo_id,
        topic=MEMORY_TOPIC,
        id=str(number),
        kind="Memory",
        author=command.source_agent,
        created_ms=asked.now_ms,
        updated_ms=asked.now_ms,
        claim=Claim(issued=issued(note)),
        facts=facts,
    )
    made = patched(fresh, command.patch)
    return mistake(made) or changed("created", made, None)


def update(
    note: Note | None, command: UpdateFact, asked: Asked, *, successor_exists: bool
) -> Decision:
    """Change a record; `successor_exists` tells of the record that the patch says replaces it."""
    here = record(note, asked)
    if here is None or here.facts is None:
        return _absent(command.repo_id, command.number)
    forbidden = fence.verdict(here.claim, None)
    if forbidden is not None:
        return fence.refusal(here, forbidden, None)
    seen = command.seen_update_count
    if seen >= 0 and (here.facts.update_count != seen or here.facts.status != "active"):
        return refused(
            "CONFLICT",
            f"memory {command.number} changed since it was read",
            "read it again and repeat the call",
            here,
        )
    successor = command.patch.superseded_by
    if successor is not None and (successor == command.number or not successor_exists):
        return _no_successor(command.repo_id, successor, own=successor == command.number)
    made = patched(here, command.patch)
    if made == here:
        return unchanged(here)
    made = _counted(made, asked)
    return mistake(made) or changed("merged", made, here)


def retire(note: Note | None, command: RetireFacts, asked: Asked) -> Decision:
    """Deprecate or delete one of several; `reason` "missing" and a `fence` tell why it was left."""
    here = record(note, asked)
    if here is None or here.facts is None:
        return unchanged(None, reason="missing")
    forbidden = fence.verdict(here.claim, None)
    if forbidden is not None:
        return fence.refusal(here, forbidden, None)
    if command.delete:
        return changed("deleted", gone(here, asked.now_ms), here)
    by = command.superseded_by
    facts = replace(
        here.facts, status="deprecated" if by is None else "superseded_by", superseded_by=by
    )
    return changed("deprecated", _counted(replace(here, facts=facts), asked), here)


def without_successor(command: RetireFacts, *, exists: bool) -> Decision | None:
    """The refusal of the whole command when its successor cannot be one."""
    by = command.superseded_by
    if by is None or (exists and by not in command.numbers):
        return None
    return _no_successor(command.repo_id, by, own=by in command.numbers)


def record(note: Note | None, asked: Asked) -> Note | None:
    """The note when it is a live record of these tools."""
    here = alive(note, asked.now_ms)
    return here if here is not None and here.facts is not None else None


def patched(note: Note, patch: FactsPatch) -> Note:
    """The record with the patch applied; leaving type status drops the age."""
    assert note.facts is not None
    given: dict[str, Any] = {
        name: value for name in _FACT_FIELDS if (value := getattr(patch, name)) is not None
    }
    facts = replace(note.facts, **given)
    if facts.memory_type != STATUS and patch.expires_after_days is None:
        facts = replace(facts, expires_after_days=None)
    body = note.body if patch.content is None else patch.content
    return replace(note, body=body, tags=tags_of(facts.tags_text), facts=facts)


def mistake(note: Note) -> Decision | None:
    """Why a record may not be stored like this."""
    assert note.facts is not None
    if note.facts.expires_after_days is not None and note.facts.memory_type != STATUS:
        return refused(
            "INVALID_ARGUMENT",
            f"expires_after_days is of memory_type status only, not {note.facts.memory_type}",
            "leave expires_after_days out, or give memory_type status",
        )
    if not note.body.strip():
        return refused("INVALID_ARGUMENT", "content is blank", "give content a value")
    report = memory_size.too_large(note)
    return None if report is None else refused("INVALID_ARGUMENT", *memory_size.refusal(report))


def _counted(note: Note, asked: Asked) -> Note:
    assert note.facts is not None
    facts = replace(
        note.facts, update_count=note.facts.update_count + 1, last_updated_by=asked.principal
    )
    return replace(note, facts=facts, updated_ms=asked.now_ms)


def _absent(repo_id: str, number: int) -> Decision:
    return refused(
        "NOT_FOUND",
        f"no memory with id {number} in repository {repo_id!r}",
        "memory_list shows the ids there are",
    )


def _no_successor(repo_id: str, number: int, *, own: bool) -> Decision:
    if own:
        return refused(
            "INVALID_ARGUMENT",
            f"memory {number} cannot be superseded by itself",
            "name the memory that takes its place",
        )
    return _absent(repo_id, number)
