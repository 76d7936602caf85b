"""Which memories concern the files that are about to be edited?

Their paths give the words to search for; their directories hint at tags, and at other memories that
speak of the neighbourhood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from contracts.errors import InvalidArgument
from contracts.notes import Note
from services.query.notebook.ask import (
    KEYWORD_POOL,
    MOST_TERMS,
    Filter,
    Scored,
    by_words,
    facts_of,
    ordered,
)
from services.query.notebook.book import NoteBook
from services.query.notebook.scoring import score
from services.query.notebook.words import extract_terms

_SAYS_NOTHING = frozenset({"src", "lib", "app", "apps", "test", "tests"})
_MOST_HINTS = 10
_NEIGHBOURS = 30
_NEIGHBOUR_BONUS = 12
_PIECES = re.compile(r"[._-]+")


class Derived(Struct, frozen=True):
    """What paths tell."""

    files: tuple[str, ...]
    path_terms: tuple[str, ...]
    tags: tuple[str, ...]  # directories, as tags
    paths: tuple[str, ...]  # directories, with a trailing slash
    terms: tuple[str, ...]  # everything that scores


def derive(files: str, query: str) -> Derived:
    """Read the paths; raises InvalidArgument when there is none."""
    paths = tuple(dict.fromkeys(path for part in files.split(",") if (path := _normal(part))))
    if not paths:
        raise InvalidArgument(
            "files names no path", hint="comma-separated paths, such as src/auth/jwt.ts",
            reason="no_paths",
        )  # fmt: skip
    pieces = [
        piece
        for path in paths
        for segment in path.split("/")
        for piece in (segment, *_PIECES.split(segment))
    ]
    path_terms = extract_terms(" ".join(pieces))
    folders = dict.fromkeys(path.rpartition("/")[0] for path in paths if "/" in path)
    tags = dict.fromkeys(
        segment
        for folder in folders
        for segment in folder.split("/")
        if segment and segment.lower() not in _SAYS_NOTHING
    )
    hints = [f"{folder}/" for folder in folders]
    terms = [*path_terms, *extract_terms(" ".join([*tags, *hints])), *extract_terms(query)]
    return Derived(paths, tuple(path_terms), tuple(tags), tuple(hints), tuple(dict.fromkeys(terms)))


def suggest(
    book: NoteBook, derived: Derived, query: str, wanted: Filter, now_ms: int
) -> list[Scored]:
    """The memories that concern the files, best first."""
    asked = list(dict.fromkeys([*derived.path_terms, *extract_terms(query)]))[:MOST_TERMS]
    found: dict[int, Scored] = {}
    for note, bm25 in islice(by_words(book, asked, wanted), KEYWORD_POOL):
        found[facts_of(note).number] = (note, score(note, derived.terms, bm25, now_ms))
    for note in islice(_neighbours(book, derived, wanted), _NEIGHBOURS):
        number = facts_of(note).number
        value = round(score(note, derived.terms, 0.0, now_ms) + _NEIGHBOUR_BONUS, 3)
        found[number] = (note, max(value, found[number][1] if number in found else value))
    return ordered(found.values())


def _neighbours(book: NoteBook, derived: Derived, wanted: Filter) -> Iterator[Note]:
    """Memories tagged like a directory, or that speak of one; newest first."""
    tags = [tag.casefold() for tag in derived.tags[:_MOST_HINTS]]
    paths = [path.casefold() for path in derived.paths[:_MOST_HINTS]]
    for note in book.newest_first():
        facts = facts_of(note)
        held, told = facts.tags_text.casefold(), f"{note.body}\n{facts.context}".casefold()
        near = any(tag in held for tag in tags) or any(path in told for path in paths)
        if near and wanted.admits(note):
            yield note


def _normal(path: str) -> str:
    path = re.sub(r"/{2,}", "/", path.strip().replace("\\", "/"))
    return path.removeprefix("./")
