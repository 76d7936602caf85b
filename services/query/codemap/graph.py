"""Who calls whom? Walks along the calls of a view, breadth first, without reading any code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from contracts.filemap import CANDIDATE, NAMED, RESOLVED, key_of
from services.query.codemap.views import Links, MapView, Symbol
from services.resolution.edges import EDGE_KINDS

_READ = EDGE_KINDS.index("read")
_CALLED = frozenset({"method", "constructor", "property"})
_CALLS = np.array([EDGE_KINDS.index("call"), EDGE_KINDS.index("instantiate")], np.uint8)


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


Neighbours = Callable[[Symbol], list[tuple[str, "Symbol | None", str, int]]]


def calls_only(links: Links) -> Links:
    """The calls and instantiations among links that are resolved."""
    chosen = np.isin(links.segment.link_kind[links.numbers], _CALLS)
    chosen &= links.segment.link_tag[links.numbers] == RESOLVED
    return links.where(chosen)


def callees(view: MapView, symbol: Symbol) -> list[tuple[str, Symbol | None, str, int]]:
    """What a symbol's own code calls: id, symbol, path and line of its declaration."""
    links = calls_only(view.links_of(symbol))
    found: dict[str, tuple[str, Symbol | None, str, int]] = {}
    for key in dict.fromkeys(links.segment.link_key[links.numbers].tolist()):
        declared = view.keyed(int(key))
        if declared:
            target = declared[0]
            name = view.id(target)
            found[name] = (name, target, view.path(target), view.span(target)[0])
    return list(found.values())


def callers(view: MapView, symbol: Symbol) -> list[tuple[str, Symbol | None, str, int]]:
    """Whose code calls a symbol: id, symbol, path and line of the caller's declaration."""
    found: dict[str, tuple[str, Symbol | None, str, int]] = {}
    for links in view.links_to(key_of(view.id(symbol))):
        calls = _one_each(calls_only(links))
        lines = links.segment.link_line[calls.numbers].tolist()
        for user, line in zip(view.using(calls), lines, strict=True):
            if isinstance(user, str):
                found.setdefault(user, (user, None, user, line))
            else:
                name = view.id(user)
                found.setdefault(name, (name, user, view.path(user), view.span(user)[0]))
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
    top = Node(view.id(root), root, view.path(root), view.span(root)[0], 0, set())
    nodes, level, beyond = {top.id: top}, [top], set[str]()
    for step in range(1, depth + 1):
        fresh: dict[str, Node] = {}
        pairs: list[tuple[str, str]] = []
        for node in level:
            if node.symbol is None:
                continue
            for name, symbol, path, line in neighbours(node.symbol):
                pairs.append((name, node.id) if upwards else (node.id, name))
                if name not in nodes and name not in fresh:
                    fresh[name] = Node(name, symbol, path, line, step, set())
        kept = sorted(fresh.values(), key=lambda node: node.id)
        beyond |= {node.id for node in kept[per_level:]}
        level = kept[:per_level]
        nodes |= {node.id: node for node in level}
        for caller, callee in pairs:
            if caller in nodes and callee in nodes:
                nodes[caller].edges.add(callee)
        if not level:
            break
    beyond -= nodes.keys()
    ordered = sorted(nodes.values(), key=lambda node: (node.depth, node.id))
    return Walk(ordered, len(nodes) - 1 + len(beyond), bool(beyond))


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
        int(np.isin(links.segment.link_kind[links.numbers], _CALLS).sum())
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
