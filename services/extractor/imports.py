"""Turn import drafts into imports with line and scope."""

from __future__ import annotations

from contracts.extract import Import
from services.extractor.reader import Reader
from services.extractor.table import Lines, Table

MAX_IMPORTS = 10_000
MODULE_CHARS = 300


def read_imports(reader: Reader, table: Table, lines: Lines) -> tuple[Import, ...]:
    """Return a file's imports in source order."""
    drafts = sorted(reader.imports, key=lambda draft: draft.start)[:MAX_IMPORTS]
    at_lines = lines.of([draft.start for draft in drafts])
    return tuple(
        Import(
            draft.module[:MODULE_CHARS],
            draft.name,
            draft.alias,
            line,
            draft.kind,
            draft.level,
            table.body_scope_at(draft.start),
        )
        for draft, line in zip(drafts, at_lines, strict=True)
    )
