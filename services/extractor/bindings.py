"""Which local, field or parameter has a type that its text tells?"""

from __future__ import annotations

from contracts.extract import Binding
from services.extractor.reader import Reader
from services.extractor.references import Uses
from services.extractor.table import Lines, Table

MAX_BINDINGS = 20_000
_FIELDS = frozenset({"field", "property"})
_CALLABLE = frozenset({"function", "method", "constructor"})


def read_bindings(reader: Reader, table: Table, lines: Lines, uses: Uses) -> tuple[Binding, ...]:
    """Return bindings by line; `local` ones say only that a called name is not a global."""
    found: list[tuple[int, int, str, str, str]] = []  # start, scope, name, type, origin
    self_name = reader.grammar.self_name
    for draft in table.drafts:
        if draft.kind in _CALLABLE:
            found += [
                (draft.start, draft.index, name.lstrip("*&."), type_name, "parameter")
                for name, type_name in draft.params
                if type_name and name
            ]
        elif draft.kind in _FIELDS and draft.returns and draft.parent >= 0 and self_name:
            name = f"{self_name}.{draft.name}"
            found.append((draft.start, draft.parent, name, draft.returns, "annotation"))
    found += [(b.start, -2, b.name, b.type_name, b.origin) for b in reader.bindings]
    known = {(scope, name) for _, scope, name, _, _ in _scoped(found, table)}
    for scope, name, start in uses.called_locals:
        if (scope, name) not in known:
            known.add((scope, name))
            found.append((start, scope, name, "", "local"))
    rows = sorted(set(_scoped(found, table)))[:MAX_BINDINGS]
    at_lines = lines.of([row[0] for row in rows])
    return tuple(
        Binding(scope, name, type_name, origin, line)
        for (_, scope, name, type_name, origin), line in zip(rows, at_lines, strict=True)
    )


def _scoped(
    found: list[tuple[int, int, str, str, str]], table: Table
) -> list[tuple[int, int, str, str, str]]:
    """Look up the scope of entries that left it open (-2): the nearest symbol that can hold locals."""
    rows = []
    for start, scope, name, type_name, origin in found:
        if scope == -2:
            scope = table.body_scope_at(start)
        rows.append((start, scope, name, type_name, origin))
    return rows
