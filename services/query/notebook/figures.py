"""What do a repository's memories come to, and which of them have had their time?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from contracts.notes import Note
from contracts.tools.memory import CERTAINTIES, MEMORY_TYPES, Oldest, Statistics
from services.query.entries import time_text
from services.query.notebook.ask import facts_of
from services.query.notebook.scoring import DAY_MS
from services.query.notebook.words import tag_list

_LONG_DAYS = 90


def statistics(slug: str, notes: Iterable[Note], now_ms: int) -> Statistics:
    """Figures over records of any status."""
    all_notes = list(notes)
    facts = [facts_of(note) for note in all_notes]
    statuses = Counter(each.status for each in facts)
    types = Counter(each.memory_type for each in facts)
    certainties = Counter(each.certainty for each in facts)
    tags = Counter(tag for each in facts for tag in tag_list(each.tags_text))
    oldest = min(all_notes, key=_creation, default=None)
    return Statistics(
        repository=slug,
        total_memories=len(facts),
        active=statuses["active"],
        deprecated=statuses["deprecated"],
        superseded=statuses["superseded_by"],
        breakdown_by_memory_type=_occurring(types, MEMORY_TYPES),
        breakdown_by_certainty=_occurring(certainties, CERTAINTIES),
        tag_frequency_map=dict(sorted(tags.items(), key=lambda item: (-item[1], item[0]))),
        oldest_memory=None
        if oldest is None
        else Oldest(id=facts_of(oldest).number, created_at=time_text(oldest.created_ms)),
        memories_not_updated_over_90_days=sum(
            now_ms - note.updated_ms > _LONG_DAYS * DAY_MS for note in all_notes
        ),
        memories_with_no_tags=sum(not tag_list(each.tags_text) for each in facts),
    )


def outlived(notes: Iterable[Note], now_ms: int) -> list[Note]:
    """Active records whose days since the last update are over, oldest update first."""
    found = [
        note
        for note in notes
        if facts_of(note).status == "active"
        and (days := facts_of(note).expires_after_days) is not None
        and note.updated_ms + days * DAY_MS <= now_ms
    ]
    return sorted(found, key=lambda note: (note.updated_ms, facts_of(note).number))


def _creation(note: Note) -> tuple[int, int]:
    return note.created_ms, facts_of(note).number


def _occurring(counts: Counter[str], order: Iterable[str]) -> dict[str, int]:
    known = {value: counts[value] for value in order if counts[value]}
    return known | {value: count for value, count in sorted(counts.items()) if value not in known}
