"""Which memories answer a question?

By words: the hundred best by BM25, scored with everything else that speaks for a memory. By meaning:
the nearest vectors. Together: ranks of both fused, 1/(60 + rank) each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from contracts.notes import Facts, Note
from services.query.notebook.book import NoteBook
from services.query.notebook.compare import compare_fact
from services.query.notebook.scoring import score
from services.query.notebook.words import extract_terms

MOST_TERMS = 12  # of a question
KEYWORD_POOL = 100
_SEMANTIC_POOL = 50
_FUSION_K = 60
_MATCH_POOL = 5
_CONFLICTS = 5
STRONG_SIMILARITY = 0.62


class Filter(Struct, frozen=True):
    """What a memory must be; None asks nothing."""

    tags: str | None = None  # part of the tags, any case
    status: str | None = None
    memory_type: str | None = None
    certainty: str | None = None

    def admits(self, note: Note) -> bool:
        facts = note.facts
        return (
            facts is not None
            and (self.status is None or facts.status == self.status)
            and (self.memory_type is None or facts.memory_type == self.memory_type)
            and (self.certainty is None or facts.certainty == self.certainty)
            and (not self.tags or self.tags.casefold() in facts.tags_text.casefold())
        )


ACTIVE = Filter(status="active")
Scored = tuple[Note, float]


def facts_of(note: Note) -> Facts:
    """What the memory_* tools keep of a record; the note is known to be one."""
    assert note.facts is not None
    return note.facts


def by_words(book: NoteBook, terms: Sequence[str], wanted: Filter) -> Iterator[Scored]:
    """Memories that hold one of the terms and their BM25, negative, best first."""
    if terms:
        shelf = book.records
        for note, value in shelf.ranked(shelf.lexicon.scores(terms)):
            if wanted.admits(note):
                yield note, -value


def keyword(book: NoteBook, query: str, wanted: Filter, now_ms: int) -> list[Scored]:
    """The memories that answer by their words, best first."""
    terms = extract_terms(query)
    pool = islice(by_words(book, terms[:MOST_TERMS], wanted), KEYWORD_POOL)
    return ordered((note, score(note, terms, bm25, now_ms)) for note, bm25 in pool)


def semantic(
    book: NoteBook, nearest: Iterable[tuple[bytes, float]], wanted: Filter, limit: int
) -> list[Scored]:
    """The memories nearest in meaning. `nearest` are keys of notes and cosines, best first."""
    found: list[Scored] = []
    for key, cosine in nearest:
        entry = book.entry(key)
        if entry is not None and entry.note.facts is not None:
            found.append((entry.note, round(cosine, 6)))
            if len(found) == min(3 * limit, _SEMANTIC_POOL):
                break
    return [(note, cosine) for note, cosine in found if wanted.admits(note)][:limit]


def fused(lists: Iterable[Sequence[Scored]]) -> list[Scored]:
    """The memories of several rankings, by the sum of 1/(60 + rank); ties by number."""
    notes: dict[int, Note] = {}
    worth: dict[int, float] = {}
    for ranking in lists:
        for rank, (note, _) in enumerate(ranking, 1):
            number = facts_of(note).number
            notes[number] = note
            worth[number] = worth.get(number, 0.0) + 1 / (_FUSION_K + rank)
    best = sorted(worth, key=lambda number: (-worth[number], number))
    return [(notes[number], round(worth[number], 6)) for number in best]


def best_match(book: NoteBook, query: str, now_ms: int) -> Scored | None:
    """The active memory that a description means."""
    terms = extract_terms(query)
    pool = islice(by_words(book, terms[:MOST_TERMS], ACTIVE), _MATCH_POOL)
    found = ordered((note, score(note, terms, bm25, now_ms)) for note, bm25 in pool)
    return found[0] if found else None


def overlapping(book: NoteBook, note: Note, now_ms: int) -> list[Scored]:
    """Active memories that say something similar to a new one."""
    number, text = facts_of(note).number, whole_text(note)
    pool = [
        (other, value)
        for other, value in keyword(book, text, ACTIVE, now_ms)
        if facts_of(other).number != number
    ]
    return pool[:_CONFLICTS]


def whole_text(note: Note) -> str:
    """Content, tags and context, as memories are compared for upserts and duplicates."""
    facts = facts_of(note)
    return joined_text(note.body, facts.tags_text, facts.context)


def joined_text(content: str, tags: str, context: str) -> str:
    return " ".join(part for part in (content, tags, context) if part)


def similarity(note: Note, content: str, tags: str, context: str) -> float:
    return compare_fact(whole_text(note), joined_text(content, tags, context)).similarity


def ordered(scored: Iterable[Scored]) -> list[Scored]:
    """Best first; of equals the newest number."""
    return sorted(scored, key=lambda pair: (-pair[1], -facts_of(pair[0]).number))
