"""Which local, field or parameter has a type that its text tells?"""

from __future__ import annotations

from contracts.extract import Binding
from services.extractor.blocks import BLOCK, END, Row, read_blocks, read_declaring_blocks
from services.extractor.reader import Reader
from services.extractor.references import Uses
from services.extractor.table import Lines, Table

MAX_BINDINGS = 20_000
_FIELDS = frozenset({"field", "property"})
_CALLABLE = frozenset({"function", "method", "constructor"})


def _gathered(name: str, type_name: str) -> str:
    """Return what a parameter of Python holds: `*args: T` a tuple, `**named: T` a dict."""
    told_whole = type_name.startswith("Unpack[") or type_name.endswith((".args", ".kwargs"))
    if name[:1] != "*" or told_whole:
        return type_name
    return f"dict[str, {type_name}]" if name[:2] == "**" else f"tuple[{type_name}, ...]"


def read_bindings(reader: Reader, table: Table, lines: Lines, uses: Uses) -> tuple[Binding, ...]:
    """Return bindings by line; `local` ones say that a called name is not a global, or that a name no
    longer means what was told of it.
    """
    found: list[Row] = []
    self_name = reader.grammar.self_name
    stars = reader.grammar.language == "python"
    for draft in table.drafts:
        if draft.kind in _CALLABLE:
            found += [
                (draft.start, draft.index, name.lstrip("*&."), declared, "parameter")
                for name, type_name in draft.params
                for declared in (_gathered(name, type_name) if stars else type_name,)
                if type_name and name
            ]
        elif draft.kind in _FIELDS and draft.returns and draft.parent >= 0 and self_name:
            name = f"{self_name}.{draft.name}"
            found.append((draft.start, draft.parent, name, draft.returns, "annotation"))
    known = {(row[1], row[2]) for row in found}
    # What is bound first in the source decides, whichever capture told of it.
    for binding in sorted(reader.bindings, key=lambda binding: (binding.start, binding.name)):
        scope = table.body_scope_at(binding.start)
        if binding.start in reader.of_lambdas:
            scope = table.scope_at(binding.start)  # of a field, whose initializer may be a lambda
        if scope >= 0 and table.drafts[scope].name_start == binding.start:
            scope = table.drafts[scope].parent  # a function's own name is bound around it
        if (scope, f"{self_name}.{binding.name}") not in known:  # a field is bound as one already
            found.append((binding.start, scope, binding.name, binding.type_name, binding.origin))
            known.add((scope, binding.name))
    found += _untold(reader, table, known)
    for scope, name, start in uses.called_locals:
        if (scope, name) not in known:
            known.add((scope, name))
            found.append((start, scope, name, "", "local"))
    found += read_blocks(reader, table, known)
    found += read_declaring_blocks(reader, table)
    rows = sorted(set(found))[:MAX_BINDINGS]
    at_lines = lines.of([row[0] for row in rows])
    return tuple(
        Binding(scope, name, type_name, origin, line)
        for (_, scope, name, type_name, origin), line in zip(rows, at_lines, strict=True)
    )


def _untold(reader: Reader, table: Table, known: set[tuple[int, str]]) -> list[Row]:
    """Return where names of which something is told are bound anew, to what tells nothing."""
    found = []
    for name, start, end in reader.untold:
        scope = table.body_scope_at(start)
        if (scope, name) in known:
            found.append((start, scope, name, "", BLOCK if end else "local"))
            if end:
                found.append((end, scope, name, "", END))
    return found
