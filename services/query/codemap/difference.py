"""Which symbols differ between two manifests?

Told by id; where the id is gone, by stable id, which stays when a symbol gets another name; and where
that is gone too, by what the symbol is inside its file, which stays when it comes into another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from contracts.extract import Symbol as Declared
from contracts.filemap import SYMBOL_KINDS
from contracts.tools.codemap import SymbolChange
from services.query.codemap.views import MapView
from services.resolution.ids import stable_ids, symbol_id, symbol_kind

_ORDER = {"renamed": 0, "moved": 1, "changed": 2, "added": 3, "removed": 4}


class _Found(Struct, frozen=True):
    path: str
    stable: str
    inside: tuple[str, ...]  # its name and those of the symbols around it
    kind: str
    line: int
    content: tuple[object, ...]
    signature: str
    span: tuple[int, int]
    inner: list[tuple[int, int]]  # spans of the symbols right inside


Lines = Mapping[str, list[tuple[int, int]]]


def differing_files(before: MapView, after: MapView) -> set[str]:
    """Paths whose bytes are not the same on both sides."""
    old = {file.path: file.digest for file in before.files.all()}
    new = {file.path: file.digest for file in after.files.all()}
    return {path for path in {*old, *new} if old.get(path) != new.get(path)}


def compare(
    before: MapView, after: MapView, touched: set[str], kinds: frozenset[str], lines: Lines
) -> list[SymbolChange]:
    """Every symbol that was added, removed, changed, renamed or moved to another file.

    `lines` tells which lines of the newer files differ, where that is known: without it a symbol of
    the same signature, doc and length counts as the same.
    """
    old, new = _symbols(before, touched, kinds), _symbols(after, touched, kinds)
    changes: list[SymbolChange] = []
    gone = {name: found for name, found in old.items() if name not in new}
    come = {name: found for name, found in new.items() if name not in old}
    for kind, pairs in (("renamed", _renamed), ("moved", _moved)):
        for before_id, after_id in pairs(gone, come):
            changes.append(_change(kind, after_id, come.pop(after_id), before_id, after_id))
            del gone[before_id]
    changes += [
        _change("added", name, found, None, found.signature) for name, found in come.items()
    ]
    for name, found in new.items():
        known = old.get(name)
        if known is None:
            continue
        if known.path != found.path:
            changes.append(_change("moved", name, found, known.path, found.path))
        elif known.content != found.content or _is_hit(found, lines.get(found.path, ())):
            changes.append(_change("changed", name, found, known.signature, found.signature))
    changes += [
        _change("removed", name, found, found.signature, None) for name, found in gone.items()
    ]
    return sorted(changes, key=lambda c: (c.file_path, _ORDER[c.change], c.line, c.symbol_id))


_Symbols = Mapping[str, _Found]


def _renamed(gone: _Symbols, come: _Symbols) -> list[tuple[str, str]]:
    """Ids before and after of what has another name in the same place, or lies in what has."""
    by_place = {(found.path, found.stable): name for name, found in gone.items()}
    places = {name: (found.path, found.stable) for name, found in come.items()}
    found = [(by_place[place], name) for name, place in places.items() if place in by_place]
    names = {before[2:]: after[2:] for before, after in found}
    taken = {name for pair in found for name in pair}
    for before in gone:
        after = _with_new_names(before, names)
        if after in come and taken.isdisjoint((before, after)):
            found.append((before, after))
            taken.update((before, after))
    return found


def _with_new_names(symbol_id: str, names: Mapping[str, str]) -> str:
    """The id as it is when the innermost symbol around has another full name; "" where none has."""
    around = symbol_id[2:].partition("(")[0]
    while around:
        around = around.rpartition(".")[0]
        if around in names:
            return symbol_id[:2] + names[around] + symbol_id[2 + len(around) :]
    return ""


def _moved(gone: _Symbols, come: _Symbols) -> list[tuple[str, str]]:
    """Ids before and after of what is in another file: as it was, or edited on a way that others took."""
    same = _alike(gone, come, lambda found: found.content)
    ways = {(gone[before].path, come[after].path) for before, after in same}
    edited = _alike(gone, come, lambda found: found.signature)
    taken = {name for pair in same for name in pair}
    return same + [
        (before, after)
        for before, after in edited
        if taken.isdisjoint((before, after)) and (gone[before].path, come[after].path) in ways
    ]


def _alike(
    gone: _Symbols, come: _Symbols, trait: Callable[[_Found], object]
) -> list[tuple[str, str]]:
    """Ids of both sides with one name inside their files and one trait, where no other has them."""
    sides = []
    for symbols in (gone, come):
        names: dict[object, list[str]] = {}
        for name, found in symbols.items():
            names.setdefault((found.inside, trait(found)), []).append(name)
        sides.append({form: alike[0] for form, alike in names.items() if len(alike) == 1})
    before, after = sides
    return [(before[form], name) for form, name in after.items() if form in before]


def _change(
    change: str, name: str, found: _Found, before: str | None, after: str | None
) -> SymbolChange:
    return SymbolChange(
        change=change,  # type: ignore[arg-type]  # of _ORDER
        symbol_id=name,
        kind=found.kind,
        file_path=found.path,
        line=found.line,
        before=before,
        after=after,
    )


def _symbols(view: MapView, paths: set[str], kinds: frozenset[str]) -> dict[str, _Found]:
    found: dict[str, _Found] = {}
    for path in sorted(paths):
        facts, body = view.files.facts(path), view.files.body(path)
        if facts is None or body is None:
            continue
        stable = stable_ids(path, facts.language, body.symbols)
        inner: dict[int, list[tuple[int, int]]] = {}
        for symbol in body.symbols:
            inner.setdefault(symbol.parent, []).append((symbol.start_line, symbol.end_line))
        for index, (symbol, stable_id) in enumerate(zip(body.symbols, stable, strict=True)):
            kind = symbol_kind(symbol)
            if kind in SYMBOL_KINDS[1:] and (not kinds or kind in kinds):
                name = symbol_id(facts.language, symbol)
                one = _Found(
                    path, stable_id, _inside(body.symbols, symbol), kind, symbol.start_line,
                    _content(symbol), symbol.signature, (symbol.start_line, symbol.end_line),
                    inner.get(index, []),
                )  # fmt: skip
                found.setdefault(name, one)
    return found


def _inside(symbols: Sequence[Declared], symbol: Declared) -> tuple[str, ...]:
    names = [symbol.name]
    while symbol.parent >= 0:
        symbol = symbols[symbol.parent]
        names.append(symbol.name)
    return tuple(names)


def _is_hit(found: _Found, ranges: Iterable[tuple[int, int]]) -> bool:
    """Whether a changed line is the symbol's own, and not one of a symbol inside it."""
    start, end = found.span
    return any(
        not any(low <= line <= high for low, high in found.inner)
        for first, last in ranges
        for line in range(max(first, start), min(last, end) + 1)
    )


def _content(symbol: Declared) -> tuple[object, ...]:
    lines = symbol.end_line - symbol.start_line
    return (symbol.kind, symbol.signature, symbol.doc, lines, symbol.end_byte - symbol.start_byte)
