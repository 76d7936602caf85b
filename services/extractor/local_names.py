"""Which names are locals of which function?"""

from __future__ import annotations

from bisect import bisect_left

from services.extractor.names import Names
from services.extractor.reader import Reader
from services.extractor.table import Table


def locals_by_scope(reader: Reader, table: Table, names: Names) -> dict[int, set[bytes]]:
    """Map every scope to the names local there, those of enclosing functions included.

    Declared symbols and imported names are no locals, wherever they are. Empty when there are none.
    """
    starts = {*reader.locals, *reader.targets, *reader.starts("local"), *reader.starts("target")}
    starts -= {draft.name_start for draft in table.drafts}  # inside it, its name is no local
    noise = reader.grammar.noise
    if not starts and not noise:
        return {}
    data, ends = names.data, names.ends
    places = sorted(starts)
    own: dict[int, set[bytes]] = {-1: set(noise)}
    for start, scope in zip(places, table.scopes_at(places), strict=True):
        name = data[start : ends.get(start, start)]
        if scope in own:
            own[scope].add(name)
        else:
            own[scope] = {name}
    _discard_known(reader, table, own)
    return _inherited(table, own)


def _discard_known(reader: Reader, table: Table, own: dict[int, set[bytes]]) -> None:
    for node in reader.unordered("global"):
        scope = table.scope_at(node.start_byte)
        if scope in own:
            own[scope].discard(reader.text(node).encode())
    for draft in table.drafts:
        if draft.parent in own:
            own[draft.parent].discard(draft.name.encode())
    for imported in reader.imports:
        scope = table.body_scope_at(imported.start)
        if scope in own:
            own[scope].discard((imported.alias or imported.name).encode())


def _inherited(table: Table, own: dict[int, set[bytes]]) -> dict[int, set[bytes]]:
    outer = own[-1]
    known: dict[int, set[bytes]] = {-1: outer}
    for draft in table.drafts:
        # Lexically around it, which for a Go method is not the type it belongs to.
        around = table.owners[max(0, bisect_left(table.bounds, draft.start) - 1)]
        inherited = known.get(around, outer)
        mine = own.get(draft.index)
        known[draft.index] = inherited | mine if mine and inherited else mine or inherited
    return known
