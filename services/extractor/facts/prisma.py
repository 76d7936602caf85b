"""Which tables and settings does a Prisma schema declare, and which of them does its client read?"""

from __future__ import annotations

import re

from services.extractor.facts.source import CALL, Source, Use

_MAPPED = re.compile(r"@@map\(\s*(?:name:\s*)?\"([^\"]+)\"")
_SCHEMA = re.compile(r"@@schema\(\s*\"([^\"]+)\"")
_ENV = re.compile(rb"\benv\(\s*\"([^\"\n]+)\"\s*\)")
_CLIENT = re.compile(r"(?:^|\.)_?(?:prisma\w*|db|tx)\.(\w+)$")
METHODS = (
    "findMany", "findUnique", "findUniqueOrThrow", "findFirst", "findFirstOrThrow", "create",
    "createMany", "createManyAndReturn", "update", "updateMany", "upsert", "delete", "deleteMany",
    "count", "aggregate", "groupBy",
)  # fmt: skip


def read(source: Source) -> None:
    """Add a table for each model or view, and the variables a datasource is configured by."""
    for index, symbol in enumerate(source.symbols):
        if symbol.kind != "class":
            continue
        text = source.data[symbol.start_byte : symbol.end_byte].decode(errors="replace")
        text = re.sub(r"//[^\n]*", "", text)
        mapped, schema = _MAPPED.search(text), _SCHEMA.search(text)
        name = mapped[1] if mapped else symbol.name
        whole = f"{schema[1]}.{name}" if schema else name
        source.fact(
            "db_table", f"{whole}|Prisma", (index, symbol.start_line), detail=accessor(symbol.name)
        )
    for found in _ENV.finditer(source.data):
        source.fact(
            "config", f"{found[1].decode(errors='replace')}|env()", source.at(found.start())
        )


def accessor(model: str) -> str:
    """Return the client's name for a model: `prisma.userProfile` reads `UserProfile`."""
    return model[:1].lower() + model[1:]


def client(source: Source, use: Use) -> bool:
    """`prisma.user.findMany()`: a use of the model's table, if a schema of the program has the model."""
    found = _CLIENT.search(use.receiver) if use.kind == CALL else None
    if found is None:
        return False
    source.fact("db_table", f"{found[1]}|Prisma client", use, "medium")
    return True
