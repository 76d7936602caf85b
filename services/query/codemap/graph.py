"""Who calls whom? Walks along the calls of a view, breadth first, without reading any code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from contracts.filemap import CANDIDATE, NAMED, RESOLVED, key_of
from services.query.codemap.symbols import definition
from services.query.codemap.views import Links, MapView, Symbol
from services.resolution.edges import EDGE_KINDS

_READ = EDGE_KINDS.index("read")
_CALLED = frozenset({"method", "constructor", "property"})
_CALLS = [EDGE_KINDS.index("call"), EDGE_KINDS.index("instantiate")]
IS_CALL = np.isin(np.arange(256), _CALLS)  # by the kind of a link


class Node(Struct):
    """One symbol of a walk; a text instead where code of no symbol calls: the file's path."""

    id: str
    symbol: Symbol | None
    path: str
    line: int
    depth: int
    edges: set[str]


class Walk(Struct, frozen=True):
    """Nodes by depth, then id; the root first."""

    nodes: list[Node]
    found: int  # without the root, those beyond the limits included
    truncated: bool


# Id and symbol; of code of no symbol the path, None and the line.
Neighbour = tuple[str, "Symbol | None", int]
Neighbours = Callable[[Symbol], list[Neighbour]]


def calls_only(links: Links) -> Links:
    """The calls and instantiations among links that are resolved."""
    chosen = IS_CALL[links.segment.link_kind[links.numbers]]
    chosen &= links.segment.link_tag[links.numbers] == RESOLVED
    return links.where(chosen)


def callees(view: MapView, symbol: Symbol) -> list[Neighbour]:
    """What a symbol's own code calls, wherever it is declared."""
    found: dict[str, Neighbour] = {}
    for declaration in view.declarations(symbol):
        links = calls_only(view.links_of(declaration))
        for key in dict.fromkeys(links.segment.link_key[links.numbers].tolist()):
            declared = view.keyed(int(key))
            if declared:
                name = view.id(declared[0])
                found[name] = (name, definition(view, declared), 0)
    return list(found.values())


def callers(view: MapView, symbol: Symbol) -> list[Neighbour]:
    """Whose code calls a symbol."""
    found: dict[str, Neighbour] = {}
    for links in view.links_to(key_of(view.id(symbol))):
        calls = _one_each(calls_only(links))
        lines = links.segment.link_line[calls.numbers].tolist()
        for user, line in zip(view.using(calls), lines, strict=True):
            if isinstance(user, str):
                found.setdefault(user, (user, None, line))
            else:
                name = view.id(user)
                found.setdefault(name, (name, user, 0))
    return list(found.values())


def _one_each(links: Links) -> Links:
    """The first link of each symbol that holds some."""
    sources = links.segment.link_source[links.numbers].astype(np.int64) + 1
    _, first = np.unique((links.files.astype(np.int64) << 32) | sources, return_index=True)
    return links.where(np.sort(first))


def walk(view: MapView, root: Symbol, depth: int, per_level: int, *, upwards: bool) -> Walk:
    """Follow calls from a root; `edges` of a node are the shown nodes that it calls."""
    neighbours: Neighbours = (
        (lambda symbol: callers(view, symbol))
        if upwards
        else (lambda symbol: callees(view, symbol))
    )
    top = _node(view, (view.id(root), root, 0), 0)
    nodes, level, beyond = {top.id: top}, [top], set[str]()
    for step in range(1, depth + 1):
        fresh: dict[str, Neighbour] = {}
        pairs: list[tuple[str, str]] = []
        for node in level:
            if node.symbol is None:
                continue
            for found in neighbours(node.symbol):
                name = found[0]
                pairs.append((name, node.id) if upwards else (node.id, name))
                if name not in nodes:
                    fresh.setdefault(name, found)
        ordered = sorted(fresh)
        beyond.update(ordered[per_level:])
        level = [_node(view, fresh[name], step) for name in ordered[:per_level]]
        nodes |= {node.id: node for node in level}
        for caller, callee in pairs:
            if caller in nodes and callee in nodes:
                nodes[caller].edges.add(callee)
        if not level:
            break
    beyond -= nodes.keys()
    shown = sorted(nodes.values(), key=lambda node: (node.depth, node.id))
    return Walk(shown, len(nodes) - 1 + len(beyond), bool(beyond))


def _node(view: MapView, found: Neighbour, depth: int) -> Node:
    name, symbol, line = found
    if symbol is None:
        return Node(name, None, name, line, depth, set())
    return Node(name, symbol, view.path(symbol), view.span(symbol)[0], depth, set())


def uncertain(view: MapView, symbol: Symbol) -> list[Links]:
    """Uses that may mean the symbol, each once: of its name and not resolved, or with the symbol as
    one of several that are meant."""
    found = view.links_to(key_of(view.id(symbol), CANDIDATE))
    found += view.links_to(key_of(view.name(symbol), NAMED))
    by_layer: dict[int, list[Links]] = {}
    for links in found:
        by_layer.setdefault(links.layer, []).append(links)
    return [_once(several) for _, several in sorted(by_layer.items())]


def _once(several: list[Links]) -> Links:
    segment = several[0].segment
    numbers = np.concatenate([links.numbers for links in several])
    files = np.concatenate([links.files for links in several]).astype(np.uint64)
    rows = segment.link_row[numbers].astype(np.uint64)
    _, first = np.unique((files << np.uint64(32)) | rows, return_index=True)
    return Links(several[0].layer, segment, numbers[first], files[first].astype(np.int64))


def count_uncertain_calls(view: MapView, symbol: Symbol) -> int:
    return sum(
        int(IS_CALL[links.segment.link_kind[links.numbers]].sum())
        for links in uncertain(view, symbol)
    )


def count_uses_as_value(view: MapView, symbol: Symbol) -> int:
    """How often code reads a symbol that can be called, instead of calling it."""
    if view.kind(symbol) not in _CALLED:
        return 0
    return sum(
        int((links.segment.link_kind[links.numbers] == _READ).sum())
        for links in view.links_to(key_of(view.id(symbol)))
    )
