"""What does a query say first?

Who asks in more than a sentence says what it is about in the first, and explains it in the rest. And
some name the place before the matter: "parser: keep trailing comments", "fix(http): time out".
"""

from __future__ import annotations

import re
from typing import Final

from services.source.words import tokenise

# The end of a sentence, not of "e.g."; in scripts without spaces no space follows.
_END: Final = re.compile(r"(?<!\b\w)[.!?](?=\s)|[。！？]|\n[ \t\r]*\n")  # noqa: RUF001
_LEAST_TERMS: Final = 3  # fewer are a greeting or an exclamation: what follows belongs to it
_TOPIC: Final = re.compile(r"\s*(?:\w+\(([\w./, -]{1,80})\)!?|`?([\w./-]{1,80})`?): ")
# Kinds of a change and of a message: they name no place.
_KIND_TEXT: Final = """
    breaking bug bugfix build chore ci doc docs error feat feature fix hint hotfix info note perf
    question refactor revert style task test tests todo warn warning wip
"""
_KINDS: Final = frozenset(_KIND_TEXT.split())


def opening(query: str) -> str:
    """Its first sentence or paragraph; all of it where nothing follows, or where it is a listing.

    Lines that no empty line sets apart, such as those of a log, are not prose.
    """
    terms: set[str] = set()
    begin = 0
    for found in _END.finditer(query):
        terms.update(tokenise(query[begin : found.start()], singles=False))
        begin = found.end()
        if len(terms) >= _LEAST_TERMS:
            first = query[: found.start()]
            return query if "\n" in first.strip() else first
    return query


def topic(query: str) -> str:
    """What it names before a colon; "" for nothing, or for a kind of change."""
    found = _TOPIC.match(query)
    named = (found[1] or found[2]) if found else ""
    return "" if named.lower() in _KINDS else named
