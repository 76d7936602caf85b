"""Which tables does an SQL text name?"""

from __future__ import annotations

import re

_STATEMENT = re.compile(
    r"\s*(?:--[^\n]*\n\s*)*\(?\s*(?:select\b[\s\S]*\bfrom\b|insert\s+(?:ignore\s+|or\s+\w+\s+)?into\b"
    r"|update\b[\s\S]*\bset\b|delete\s+from\b|with\b[\s\S]*\bas\s*\(|replace\s+into\b|merge\s+into\b"
    r"|create\s+table\b|alter\s+table\b|drop\s+table\b|truncate\b)",
    re.IGNORECASE,
)
_TABLE = re.compile(
    r"\b(?:from|join|into|update|table(?:\s+if\s+(?:not\s+)?exists)?)\s+(?:only\s+)?"
    r"(?P<name>(?:[\"`\[]?[A-Za-z_][\w$]*[\"`\]]?\.)?[\"`\[]?[A-Za-z_][\w$]*[\"`\]]?)(?P<call>\s*\()?",
    re.IGNORECASE,
)
_COMMON_TABLE = re.compile(
    r"(?:\bwith\s+(?:recursive\s+)?|,\s*)([A-Za-z_]\w*)(?:\s*\([^()]*\))?\s+as\s*(?:not\s+)?(?:materialized\s*)?\(",
    re.IGNORECASE,
)
_KEYWORDS = frozenset(
    [
        "select",
        "from",
        "where",
        "set",
        "values",
        "into",
        "table",
        "on",
        "and",
        "or",
        "not",
        "as",
        "by",
        "order",
        "group",
        "limit",
        "only",
        "lateral",
        "unnest",
        "dual",
        "if",
        "exists",
        "inner",
        "outer",
        "left",
        "right",
        "cross",
        "join",
        "each",
        "update",
        "delete",
        "the",
        "a",
        "an",
        "this",
        "that",
        "your",
        "nowait",
        "skip",
        "of",
    ]
)
_CATALOGUES = (
    "information_schema",
    "pg_catalog",
    "sqlite_master",
    "sqlite_schema",
    "sqlite_temp",
    "pg_",
    "sys",
    "mysql",
    "performance_schema",
)
_LOUD = (
    b"FROM",
    b"INTO",
    b"UPDATE ",
    b"TABLE",
    b"TRUNCATE ",
)  # without any, no statement in capitals
_CAPITAL = (
    b"SELECT ", b"SELECT\n", b"INSERT ", b"UPDATE ", b"DELETE FROM", b"REPLACE INTO", b"WITH ",
    b"CREATE TABLE", b"ALTER TABLE", b"DROP TABLE", b"TRUNCATE ", b"MERGE INTO",
)  # fmt: skip
_SMALL = (b"select ", b"insert into", b"update ", b"delete from")
_BEFORE = 64  # bytes between a quote and a statement's first word: blanks and brackets


def mentions(data: bytes) -> list[int]:
    """Return where quotes open something that begins like a statement, in order."""
    found = set()
    loud = any(word in data for word in _LOUD)
    for word in (*_CAPITAL, *_SMALL) if loud else _SMALL:
        at = data.find(word)
        while at >= 0:
            before = data[max(0, at - _BEFORE) : at].rstrip(b" \t\r\n(")
            if before[-1:] in (b'"', b"'", b"`"):
                found.add(max(0, at - _BEFORE) + len(before) - 1)
            at = data.find(word, at + 1)
    return sorted(found)


def tables(text: str) -> list[str]:
    """Return the tables of a statement as "schema.table" or "table", each once, in order."""
    if _STATEMENT.match(text) is None:
        return []
    own = {name.lower() for name in _COMMON_TABLE.findall(text)}
    found: dict[str, None] = {}
    for match in _TABLE.finditer(text):
        name = re.sub(r"[\"`\[\]]", "", match["name"])
        lowered = name.lower()
        schema = lowered.partition(".")[0]
        if lowered in _KEYWORDS or lowered in own or (match["call"] and not _creates(match[0])):
            continue
        if any(
            schema == each or (each.endswith("_") and lowered.startswith(each))
            for each in _CATALOGUES
        ):
            continue
        if lowered.startswith("sqlite_"):
            continue
        found.setdefault(name, None)
    return list(found)


def _creates(text: str) -> bool:
    return text.lower().startswith(("into", "table", "update"))
