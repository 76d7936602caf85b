"""How much does a memory count for a question?

Recency 30, certainty 20, tags 18, updates 20 and words 30 points at most; of one formula for all
questions, so that the numbers can be compared with a threshold.
"""

from __future__ import annotations

from collections.abc import Sequence

from contracts.notes import Note
from services.query.notebook.words import tag_list

DAY_MS = 86_400_000
_FADES_AFTER_DAYS = 180
_CERTAINTY = {"verified": 20, "inferred": 10, "speculative": 2}
_TAG_IS, _TAG_HOLDS = 18, 8
_MOST_UPDATES = 10
_MOST_WORDS = 30.0


def score(note: Note, terms: Sequence[str], bm25: float, now_ms: int) -> float:
    """The score of a memory_* record. `bm25` is negative, lower is better; 0 for no word in common."""
    facts = note.facts
    if facts is None:
        return 0.0
    return round(
        _recency(note.updated_ms, now_ms)
        + _CERTAINTY.get(facts.certainty, 0)
        + _tag_match(tag_list(facts.tags_text), terms)
        + 2 * min(facts.update_count, _MOST_UPDATES)
        + min(max(-10 * bm25, 0.0), _MOST_WORDS),
        3,
    )


def _recency(updated_ms: int, now_ms: int) -> float:
    if not updated_ms:
        return 0.0
    days = max(0.0, (now_ms - updated_ms) / DAY_MS)
    return 30 * (1 - min(days, _FADES_AFTER_DAYS) / _FADES_AFTER_DAYS)


def _tag_match(tags: Sequence[str], terms: Sequence[str]) -> int:
    if not set(terms).isdisjoint(tags):
        return _TAG_IS
    return _TAG_HOLDS if any(term in tag for tag in tags for term in terms) else 0
