"""Which endpoints, keys, tables and facts does a manifest have? Worked out once for each state of it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

from contracts.extract import Body
from services.query.codemap.views import MapView
from services.surfaces.compose import compose
from services.surfaces.model import FileFacts, Place, Surfaces, SymbolFact

_MEMO, _PATHS = "surfaces", "surface paths"


def surfaces_of(view: MapView) -> Surfaces:
    """The surfaces of a view."""
    known = view.memo.get(_MEMO)
    if isinstance(known, Surfaces):
        return known
    files = [
        FileFacts(segment.paths[file], segment.languages[file], segment.facts_of(file))
        for segment, file in view.files_shown()
    ]
    files.sort(key=lambda file: file.path)
    read: set[str] = set()

    def body_of(path: str) -> Body | None:
        read.add(path)
        return view.files.body(path)

    made = compose(files, body_of)
    view.memo[_MEMO] = made
    view.memo[_PATHS] = read | _paths(made)
    return made


def _paths(made: Surfaces) -> set[str]:
    """Every file that something in the surfaces stands in."""
    places = [route.handler for route in made.endpoints]
    places += [key.used_by for key in made.config_keys]
    for table in made.tables:
        places += [*table.referenced_by, *([] if table.entity is None else [table.entity])]
    found = {place.path for place in (*places, *made.facts_by_symbol)}
    return found | {route.path for route in made.endpoints} | {t.path for t in made.tables}


def carry_over(older: MapView, newer: MapView, changed: Collection[str]) -> None:
    """Keep the surfaces of an earlier state where no file that changed has a part in them."""
    paths = older.memo.get(_PATHS)
    if not isinstance(paths, set) or not paths.isdisjoint(changed):
        return
    for layer in newer.layers:
        for path in changed:
            file = layer.segment.file_number(path)
            if file is not None and layer.shows(file) and layer.segment.facts_of(file):
                return
    newer.memo[_MEMO], newer.memo[_PATHS] = older.memo[_MEMO], paths


async def surfaced(view: MapView) -> Surfaces:
    """The surfaces of a view; where they are not worked out yet, a thread does it."""
    if _MEMO in view.memo:
        return surfaces_of(view)
    return await asyncio.to_thread(surfaces_of, view)


def facts_at(view: MapView) -> Mapping[Place, tuple[SymbolFact, ...]]:
    """Facts of each symbol, by its file and its index there."""
    return surfaces_of(view).facts_by_symbol


def place_id(view: MapView, place: Place) -> str:
    """The id of the symbol at a place; the file's path for its module."""
    symbol = view.at(place.path, place.symbol)
    return place.path if symbol is None else view.id(symbol)
