"""How does a memory_* record look to a client? Invisible characters are written out."""

from __future__ import annotations

from typing import TypeVar

from contracts.notes import Note
from contracts.tools.memory import GotMemory, MemoryRecord, MemoryView, ScoredMemory
from services.query.entries import time_text
from services.query.notebook.ask import facts_of
from services.source.free_text import visible

_HEAD_CHARS = 120
R = TypeVar("R", MemoryRecord, GotMemory)


def in_list(note: Note, slug: str) -> MemoryView:
    facts = facts_of(note)
    return MemoryView(
        id=facts.number, repository=slug, content=visible(note.body), tags=visible(facts.tags_text),
        context=visible(facts.context), memory_type=facts.memory_type, status=facts.status,
        certainty=facts.certainty,
    )  # fmt: skip


def scored(note: Note, slug: str, score: float, newer: tuple[int, ...] = ()) -> ScoredMemory:
    facts = facts_of(note)
    return ScoredMemory(
        id=facts.number, repository=slug, content=visible(note.body), tags=visible(facts.tags_text),
        context=visible(facts.context), memory_type=facts.memory_type, status=facts.status,
        certainty=facts.certainty, score=score, contradicted_by=newer,
    )  # fmt: skip


def record(note: Note, slug: str) -> MemoryRecord:
    return _kept(MemoryRecord, note, slug)


def whole(note: Note, slug: str) -> GotMemory:
    return _kept(GotMemory, note, slug)


def _kept(kind: type[R], note: Note, slug: str) -> R:
    """Everything that is kept of a record, as one of the two shapes that show it."""
    facts = facts_of(note)
    return kind(
        id=facts.number, repository=slug, content=visible(note.body), tags=visible(facts.tags_text),
        context=visible(facts.context), memory_type=facts.memory_type, status=facts.status,
        certainty=facts.certainty, superseded_by=facts.superseded_by,
        expires_after_days=facts.expires_after_days, refs=tuple(map(visible, facts.refs)),
        update_count=facts.update_count, created_at=time_text(note.created_ms),
        updated_at=time_text(note.updated_ms), source_agent=visible(facts.source_agent),
        last_updated_by=facts.last_updated_by,
    )  # fmt: skip


def head(text: str) -> str:
    """The beginning of a content, on one line."""
    line = " ".join(visible(text).split())
    return line if len(line) <= _HEAD_CHARS else f"{line[: _HEAD_CHARS - 1]}…"
