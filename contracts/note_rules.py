"""Can a note that comes from outside, as out of an export, be one?

What the tools write is in order already. A file may have been edited, cut or made up, and one record
that nobody can read would fail every listing it is in.
"""

from __future__ import annotations

from contracts.errors import InvalidArgument
from contracts.ids import parse_key
from contracts.notes import MEMORY_TOPIC, Facts, Note
from contracts.tools.memory import CERTAINTIES, MEMORY_TYPES, STATUSES

MOST_EDGES = 1_000  # links, and tags, of one note
MOST_CHARS = 400_000  # of everything in a note: more could not be read again in one answer
LAST_MS = 253_402_300_799_000  # the end of the year 9999
_NAME_CHARS = 200
_LARGEST = 2**53  # of numbers and tokens: what every client reads exactly


def chars_of(note: Note) -> int:
    """How much text there is in a note with all its fields."""
    texts = (note.title, note.body, note.author, note.provenance, *note.tags)
    return sum(map(len, texts)) + sum(len(link.relation) + len(link.target) for link in note.links)


def flaw(note: Note) -> str:
    """What keeps a note from being one; "" when nothing does."""
    for what, name in (("repo_id", note.repo_id), ("topic", note.topic), ("id", note.id)):
        if not 0 < len(name) <= _NAME_CHARS or any(char < " " for char in name):
            return f"{what} is no name"
    times = (note.created_ms, note.updated_ms, note.expires_ms, note.claim.lease_until_ms)
    if not all(0 <= time <= LAST_MS for time in times):
        return "a time lies outside the years 1970 to 9999"
    tokens = (note.claim.issued, note.claim.fence, note.claim.released)
    if not all(0 <= token <= _LARGEST for token in tokens):
        return "a token of its claim is no token"
    if len(note.tags) > MOST_EDGES or len(note.links) > MOST_EDGES or chars_of(note) > MOST_CHARS:
        return "it is too large"
    try:
        for link in note.links:
            parse_key(link.target)
    except InvalidArgument as error:
        return f"a link has a {error.message}"
    return _flaw_of_facts(note) if note.exists else ""


def _flaw_of_facts(note: Note) -> str:
    facts = note.facts
    if (facts is None) != (note.topic != MEMORY_TOPIC):
        return f"records of topic {MEMORY_TOPIC}, and no others, have a number"
    if facts is None:
        return ""
    if not 0 < facts.number <= _LARGEST or note.id != str(facts.number):
        return "its number is not its id"
    return _flaw_of_labels(facts)


def _flaw_of_labels(facts: Facts) -> str:
    if (
        facts.memory_type not in MEMORY_TYPES
        or facts.certainty not in CERTAINTIES
        or facts.status not in STATUSES
    ):
        return "its memory_type, certainty or status is none"
    if not all(
        each is None or each > 0 for each in (facts.expires_after_days, facts.superseded_by)
    ):
        return "expires_after_days or superseded_by is not above zero"
    return ""
