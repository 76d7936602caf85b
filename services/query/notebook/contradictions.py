"""Which newer memory cannot hold together with an older one?

Two records speak of the same subject when most of what is left of them without numbers, negations
and empty words is shared. The newer one contradicts the older when one of them denies what the other
says, or when both give a number beside the same word and the numbers differ.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from contracts.notes import Note
from contracts.tools.memory import Contradiction
from services.query.notebook.ask import facts_of
from services.query.notebook.book import NoteBook
from services.query.notebook.lexicon import best
from services.query.notebook.words import extract_terms, tokens
from services.source.query_text import STOP_WORDS
from services.source.words import stem

_SAME_SUBJECT = 0.6  # of the terms of the shorter record
_LEAST_SHARED = 3
_ANSWER_TERMS = 6
_LEADING_TERMS = 12
_RAREST_TERMS = 8
_MOST_POSTINGS = 100
_CANDIDATES = 30
_DENIALS = re.compile(
    r"\b(?:not|no|never|without|cannot|none|nor|avoid|stop|\w+n['\u2019]t)\b|\bno longer\b",
    re.IGNORECASE,
)
_NO_SUBJECT_TEXT = """
    not no never without cannot none nor avoid stop longer anymore don doesn won isn aren can always
    must instead rather
"""
_NO_SUBJECT = frozenset(_NO_SUBJECT_TEXT.split())
_SPELLED = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "twenty": "20",
    "thirty": "30", "once": "1", "twice": "2",
}  # fmt: skip
_NUMBERED_TEXT = (
    "issue pr ticket bug migration rfc adr step chapter section page line commit sprint phase"
)
_NUMBERED = frozenset(_NUMBERED_TEXT.split())
_CLAUSE_END = re.compile(r"[,;:.!?\n]\s")
_SPELLED_WORD = re.compile(rf"\b(?:{'|'.join(_SPELLED)})\b")
_UNIT_OF = re.compile(
    r"(?:([^\W\d_][\w-]*)\s*[:=]?\s*)?(?<![\w.])(\d+(?:[._]\d+)*)\s*([^\W\d_]+)?", re.UNICODE
)


class Claim(Struct, frozen=True):
    """What a record states, as far as it can be compared."""

    subject: frozenset[str]  # stems of its terms
    word_of: dict[str, str]  # a stem as it was written
    denied: frozenset[str]  # stems of what is said not to be
    numbers: dict[str, frozenset[str]]  # by the word beside them


def claim_of(note: Note) -> Claim:
    return claim_in(note.body)


@lru_cache(maxsize=1 << 14)
def claim_in(text: str) -> Claim:
    word_of: dict[str, str] = {}
    for term in extract_terms(text):
        if _is_subject(term):
            word_of.setdefault(stem(term), term)
    return Claim(frozenset(word_of), word_of, frozenset(_denied(text)), _numbers(text))


def _is_subject(term: str) -> bool:
    return not (term.isdigit() or term in STOP_WORDS or term in _NO_SUBJECT or term in _SPELLED)


def _denied(text: str) -> Iterator[str]:
    """What follows each denial; what precedes it where nothing follows."""
    for found in _DENIALS.finditer(text):
        clause = _CLAUSE_END.split(text[found.end() :], maxsplit=1)[0]
        after = [term for term in tokens(clause) if _is_subject(term)]
        before = [term for term in tokens(text[: found.start()]) if _is_subject(term)]
        if after:
            yield stem(after[0])
        elif before:
            yield stem(before[-1])


def _numbers(text: str) -> dict[str, frozenset[str]]:
    """Each number under the word before it and under the word after it."""
    text = _SPELLED_WORD.sub(lambda word: _SPELLED[word[0]], text.lower())
    if not any(char.isdigit() for char in text):
        return {}
    found: dict[str, set[str]] = {}
    for before, number, after in _UNIT_OF.findall(text):
        for word, side in ((before, "<"), (after, ">")):
            if word and word not in STOP_WORDS and not _is_identifier(word, number):
                found.setdefault(side + word, set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


def _is_identifier(word: str, number: str) -> bool:
    """Whether a number only names a thing: there may be many of its kind."""
    return word in _NUMBERED or (number.startswith("0") and number.isdigit() and len(number) > 1)


def reason(newer: Claim, older: Claim) -> str:
    """Why the two cannot both hold: negated, renumbered, or "" when they can."""
    if not (newer.denied or older.denied or (newer.numbers and older.numbers)):
        return ""
    shared = len(newer.subject & older.subject)
    if shared < _LEAST_SHARED or shared < _SAME_SUBJECT * _smaller(newer, older):
        return ""
    if _denies(newer, older) or _denies(older, newer):
        return "negated"
    for word, numbers in newer.numbers.items():
        other = older.numbers.get(word)
        if other is not None and numbers.isdisjoint(other):
            return "renumbered"
    return ""


def _denies(one: Claim, other: Claim) -> bool:
    """Whether one says not to be what the other says without denying it."""
    return any(word in other.subject and word not in other.denied for word in one.denied)


def _smaller(one: Claim, other: Claim) -> int:
    # Of two very different lengths the longer one says other things too.
    small, large = sorted((len(one.subject), len(other.subject)))
    return max(small, large // 2)


def between(newer: Note, older: Note) -> Contradiction | None:
    """The contradiction of two records, if there is one."""
    one, other = claim_of(newer), claim_of(older)
    why = reason(one, other)
    if why not in ("negated", "renumbered"):
        return None
    return Contradiction(
        older_id=facts_of(older).number,
        newer_id=facts_of(newer).number,
        reason="negated" if why == "negated" else "renumbered",
        shared_terms=tuple(
            sorted(one.word_of[each] for each in one.subject & other.subject)[:_ANSWER_TERMS]
        ),
    )


def among(notes: Sequence[Note]) -> list[Contradiction]:
    """Every contradiction between active records, given newest first."""
    claims = [claim_of(note) for note in notes]
    spread = Counter(term for claim in claims for term in claim.subject)
    plain, denying, numbered = _Seen(), _Seen(), _Seen()
    found: list[Contradiction] = []
    for at, (note, claim) in enumerate(zip(notes, claims, strict=True)):
        shared = (term for term in claim.subject if spread[term] > 1)
        rarest = sorted(shared, key=lambda term: (spread[term], term))[:_RAREST_TERMS]
        near = (plain if claim.denied else denying).sharing(rarest)
        if claim.numbers:
            near |= numbered.sharing(rarest)
        for newer in sorted(near):
            if reason(claims[newer], claim):
                contradiction = between(notes[newer], note)
                if contradiction is not None:
                    found.append(contradiction)
        (denying if claim.denied else plain).put(at, rarest)
        if claim.numbers:
            numbered.put(at, rarest)
    return found


class _Seen:
    """Records by their rarest terms."""

    def __init__(self) -> None:
        self._numbers: dict[str, list[int]] = {}

    def put(self, at: int, terms: Sequence[str]) -> None:
        for term in terms:
            held = self._numbers.setdefault(term, [])
            if len(held) < _MOST_POSTINGS:
                held.append(at)

    def sharing(self, terms: Sequence[str]) -> set[int]:
        """Records that share two terms at least."""
        once: set[int] = set()
        twice: set[int] = set()
        for term in terms:
            held = self._numbers.get(term)
            if held is not None:
                twice |= once.intersection(held)
                once.update(held)
        return twice


def newer(book: NoteBook, note: Note) -> tuple[int, ...]:
    """Numbers of newer active records that contradict this one; none of one that is retired."""
    facts = facts_of(note)
    if facts.status != "active":
        return ()

    def find() -> tuple[int, ...]:
        return tuple(
            facts_of(other).number
            for other in similar(book, note)
            if is_newer(other, note) and between(other, note) is not None
        )

    return book.marks.of(book.revision, facts.number, find)


def older(book: NoteBook, note: Note) -> list[Contradiction]:
    """What a new record contradicts."""
    found = (between(note, other) for other in similar(book, note) if is_newer(note, other))
    return [contradiction for contradiction in found if contradiction is not None]


def similar(book: NoteBook, note: Note) -> Iterator[Note]:
    """Active records that share the most words with this one, itself left out."""
    terms = sorted(claim_of(note).word_of.values(), key=len, reverse=True)[:_LEADING_TERMS]
    if len(terms) < _LEAST_SHARED:
        return
    shelf, number = book.records, facts_of(note).number
    for slot in best(shelf.lexicon.scores(terms), _CANDIDATES):
        other = shelf.notes[slot]
        if facts_of(other).status == "active" and facts_of(other).number != number:
            yield other


def is_newer(one: Note, other: Note) -> bool:
    return (one.updated_ms, facts_of(one).number) > (other.updated_ms, facts_of(other).number)
