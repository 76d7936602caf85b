"""Which tables do the SQL texts in a file's strings name?"""

from __future__ import annotations

import re

from services.extractor.facts.source import Source
from services.surfaces import expressions, sql

_STATEMENT_CHARS = 6_000
_OBJECT_QUERY = re.compile(
    rb"(?:create(?:Named)?Query|@(?:Named)?Query)\s*\([^;{}]*$|\b\w*(?:[qQ]uery|[jJ]pql|[hH]ql)\s*=[^;{}]*$"
)
_JOINED = re.compile(r"\s*[+.\\]?\s*(?:\n\s*)?[+.]?\s*")


def read(source: Source) -> None:
    """Add one fact per table and string, medium: a text may never reach a database."""
    end = 0
    for position in sql.mentions(source.data):
        if position < end or _is_object_query(source, position):
            continue
        text, length = _statement(source, position)
        end = position + length
        at = None
        for name in sql.tables(text):
            at = at or source.at(position)
            source.fact("db_table", f"{name}|raw SQL", at, "medium")


def _is_object_query(source: Source, position: int) -> bool:
    """JPQL names classes, not tables."""
    if source.language not in ("java", "kotlin"):
        return False
    before = source.data[max(0, position - 120) : position]
    found = _OBJECT_QUERY.search(before)
    if found is None:
        return False
    if not found[0].startswith((b"create", b"@")) and b"createQuery(" not in source.data:
        return False  # a variable that is only called like one
    statement = source.data[position : position + 2_000].partition(b";")[0]
    return b"nativeQuery" not in found[0] + statement


def _statement(source: Source, position: int) -> tuple[str, int]:
    """Return the string at a position with what is joined to it, and how many bytes that is."""
    quote = source.data[position : position + 1]
    start = position - 2 if source.data[position - 2 : position + 1] == quote * 3 else position
    while source.language == "csharp" and source.data[start - 1 : start] in (b"@", b"$"):
        start -= 1
    text = source.data[start : start + _STATEMENT_CHARS].decode(errors="replace")
    kind = expressions.family(source.language)
    pattern = expressions.string_pattern(kind)
    pieces, at = [], 0
    while True:
        found = pattern.match(text, at)
        if found is None:
            break
        pieces.append(expressions.evaluate(found[0], source.language, source.constant))
        joined = _JOINED.match(text, found.end())
        at = joined.end() if joined else found.end()
        if joined is None or text[found.end() : at] == "":
            break
    return " ".join(pieces), max(1, len(text[:at].encode()) - (position - start))
