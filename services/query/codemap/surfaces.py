"""Which endpoints, keys, tables and facts does a manifest have?

Routes, keys and tables are put together of the facts of all files, once for each state of a manifest, and
handed on to the next state where no file that has a part in them changed. What a file says for itself,
as the exceptions it throws and what it logs, is most of all facts, and is read where it is asked for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator

from contracts.extract import Body, Fact
from contracts.filemap import unpack_facts
from services.query.codemap.views import MapView, Symbol
from services.query.codemap.waiting import elsewhere
from services.surfaces.compose import MARKS, compose, in_order, is_joined, plain
from services.surfaces.model import FileFacts, Place, Surfaces, SymbolFact

_MEMO, _PATHS, _COUNTS = "surfaces", "surface paths", "facts by kind"
_MARKS = tuple(mark.encode() for mark in MARKS)


def surfaces_of(view: MapView) -> Surfaces:
    """The surfaces of a view; of the facts only those that other files have a part in."""
    known = view.memo.get(_MEMO)
    if isinstance(known, Surfaces):
        return known
    files = list(_files(view))
    read: set[str] = {file.path for file in files if file.facts}

    def body_of(path: str) -> Body | None:
        read.add(path)
        return view.files.body(path)

    made = compose(files, body_of)
    view.memo[_MEMO], view.memo[_PATHS] = made, read
    return made


def _files(view: MapView) -> Iterator[FileFacts]:
    for layer in view.layers:
        segment = layer.segment
        paths, languages = segment.paths.all(), segment.languages.all()
        for file in layer.files().tolist():
            facts = tuple(_joined(segment.facts.raw(file)))
            yield FileFacts(paths[file].decode(), languages[file].decode(), facts)


def _joined(blob: bytes) -> Iterable[Fact]:
    if not blob or not any(
        mark in blob for mark in _MARKS
    ):  # most files, which need not be decoded then
        return ()
    return filter(is_joined, unpack_facts(blob))


def carry_over(older: MapView, newer: MapView, changed: Collection[str]) -> None:
    """Keep the surfaces of an earlier state where no file that changed has a part in them."""
    paths = older.memo.get(_PATHS)
    if not isinstance(paths, set) or not paths.isdisjoint(changed):
        return
    for path in changed:
        place, before = newer.file(path), older.file(path)
        if paths and (place is None) != (before is None):
            return  # an import may mean another file now
        if place is not None:
            layer, file = place
            if any(_joined(newer.layers[layer].segment.facts.raw(file))):
                return
    newer.memo[_MEMO], newer.memo[_PATHS] = older.memo[_MEMO], paths


async def surfaced(view: MapView) -> Surfaces:
    """The surfaces of a view; where they are not worked out yet, a thread does it."""
    if _MEMO in view.memo:
        return surfaces_of(view)
    return await elsewhere(surfaces_of, view)


class SymbolFacts:
    """Facts of symbols, with those of their files that were asked for."""

    def __init__(self, view: MapView) -> None:
        self._view, self._joined = view, surfaces_of(view).facts_by_symbol
        self._plain: dict[tuple[int, int], dict[int, list[SymbolFact]]] = {}

    def of(self, symbol: Symbol) -> tuple[SymbolFact, ...]:
        """A symbol's facts in order of their lines, those of all its declarations."""
        declarations = self._view.declarations(symbol)
        if len(declarations) < 2:
            return self._declared(symbol)
        return in_order([fact for one in declarations for fact in self._declared(one)])

    def _declared(self, symbol: Symbol) -> tuple[SymbolFact, ...]:
        index = self._view.index(symbol)
        own = self._of_file(symbol.layer, symbol.file).get(index, [])
        joined = self._joined.get(Place(self._view.path(symbol), index), ())
        return in_order([*joined, *own]) if own else joined

    def _of_file(self, layer: int, file: int) -> dict[int, list[SymbolFact]]:
        found = self._plain.get((layer, file))
        if found is None:
            found = self._plain[layer, file] = {}
            for fact in self._view.layers[layer].segment.facts_of(file):
                if not is_joined(fact):
                    found.setdefault(fact.symbol, []).append(plain(fact))
        return found


def counted_facts(view: MapView, kind: str) -> list[tuple[str, str, int]]:
    """Shown value, path and number of all facts of a kind, in order."""
    known = view.memo.get(_COUNTS)
    if known is None:
        counts: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        for path, fact in _every(view):
            counts[fact.kind][fact.value.partition("|")[0], path] += 1
        known = view.memo[_COUNTS] = {
            name: sorted((value, path, times) for (value, path), times in found.items())
            for name, found in counts.items()
        }
    assert isinstance(known, dict)
    found: list[tuple[str, str, int]] = known.get(kind, [])
    return found


def _every(view: MapView) -> Iterator[tuple[str, SymbolFact]]:
    for place, facts in surfaces_of(view).facts_by_symbol.items():
        for fact in facts:
            yield place.path, fact
    for segment, file in view.files_shown():
        facts_of_file = segment.facts_of(file)
        if facts_of_file:
            path = segment.paths[file]
            own = {(fact.symbol, plain(fact)) for fact in facts_of_file if not is_joined(fact)}
            yield from ((path, fact) for _, fact in own)


def place_id(view: MapView, place: Place) -> str:
    """The id of the symbol at a place; the file's path for its module."""
    symbol = view.at(place.path, place.symbol)
    return place.path if symbol is None else view.id(symbol)
