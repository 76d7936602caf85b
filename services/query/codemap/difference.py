"""Which symbols differ between two manifests? Told by id, and by stable id where the id is gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
    by_place = {(found.path, found.stable): name for name, found in gone.items()}
    for name, found in new.items():
        known = old.get(name)
        if known is None:
            renamed = by_place.pop((found.path, found.stable), None)
            if renamed is not None:
                del gone[renamed]
                changes.append(_change("renamed", name, found, renamed, name))
            else:
                changes.append(_change("added", name, found, None, found.signature))
        elif known.path != found.path:
            changes.append(_change("moved", name, found, known.path, found.path))
        elif known.content != found.content or _is_hit(found, lines.get(found.path, ())):
            changes.append(_change("changed", name, found, known.signature, found.signature))
    changes += [
        _change("removed", name, found, found.signature, None) for name, found in gone.items()
    ]
    return sorted(changes, key=lambda c: (c.file_path, _ORDER[c.change], c.line, c.symbol_id))


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
                    path, stable_id, kind, symbol.start_line, _content(symbol), symbol.signature,
                    (symbol.start_line, symbol.end_line), inner.get(index, []),
                )  # fmt: skip
                found.setdefault(name, one)
    return found


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
