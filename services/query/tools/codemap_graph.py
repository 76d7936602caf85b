"""References, call graph, type hierarchy, traces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from contracts.errors import InvalidArgument
from contracts.filemap import RELATION, key_of
from contracts.tools.codemap import (
    Annotation,
    Graph,
    GraphAnswer,
    GraphNode,
    GraphRequest,
    Hierarchy,
    HierarchyAnswer,
    HierarchyRequest,
    NextAction,
    Reference,
    References,
    RefKind,
    RefsAnswer,
    RefsRequest,
    Trace,
    TraceAnswer,
    TraceNode,
    TraceRequest,
    TypeRef,
)
from services.query.codemap import disk, graph
from services.query.codemap.desk import Case, counted, queried
from services.query.codemap.surfaces import SymbolFacts, surfaced
from services.query.codemap.symbols import display_name, full_name, meant, surrounding_type
from services.query.codemap.views import Links, MapView, Symbol
from services.query.host import View
from services.query.registry import tool
from services.resolution.edges import EDGE_KINDS, RELATION_KINDS, FileEdges

# A use of a type, an import and a base are told as one of the six kinds that callers know.
_SHOWN_AS: dict[str, RefKind] = {"type": "read", "import": "read", "base": "implementation"}
_ROOTS = frozenset({"object", "Object", "System.Object", "java.lang.Object", "builtins.object"})
_HINT_CHARS = 100


def _shown(kind: int) -> RefKind:
    name = EDGE_KINDS[kind]
    return _SHOWN_AS.get(name, name)  # type: ignore[arg-type]  # the rest are the six


@tool("refs_find", title="Find references", family="codemap")
async def refs_find(view: View, request: RefsRequest) -> RefsAnswer:
    """Every use of a symbol, by kind, with the line; after the resolved ones those that only have
    its name and may mean it. workspace_id "live" unless a commit's baseline is meant."""
    case = await queried(view, request.repo_path, request.workspace_id)
    symbol = meant(case, request.symbol_id)
    limit = case.limit("max_references", request.limit)
    wanted = None if request.kind is None else _kinds(request.kind)
    resolved = unresolved = 0
    chosen: list[tuple[Links, bool]] = []
    if request.resolution_state != "unresolved":
        for links in case.map.links_to(key_of(case.map.id(symbol))):
            some = _of_kinds(links, wanted)
            resolved += len(some.numbers)
            chosen.append((some, True))
    if request.resolution_state != "resolved":
        for links in graph.uncertain(case.map, symbol):
            some = _of_kinds(links, wanted)
            unresolved += len(some.numbers)
            chosen.append((some, False))
    places = _places(case.map, chosen, limit)
    reader = _References(case)
    references = tuple(reader.read(places))
    case.files.update(reference.file_path for reference in references)
    data = References(
        target_symbol=case.map.id(symbol),
        references=references,
        total_count=resolved + unresolved,
        truncated=resolved + unresolved > len(references),
    )
    text = f"{counted(resolved, 'references')} to {case.map.id(symbol)}"
    if unresolved:
        text += f", and {counted(unresolved, 'uses')} of its name that could not be told apart"
    if changed := reader.changed({reference.file_path for reference in references}):
        text += f"; {counted(changed, 'files')} changed since, of which no lines are shown"
    actions = [NextAction(tool="graph_callers", rationale="whole call chains",
                          parameters={"symbol_id": data.target_symbol})]  # fmt: skip
    return case.answer(RefsAnswer, text, data, actions=actions, tool="refs_find")


def _kinds(kind: RefKind) -> np.ndarray[Any, Any]:
    return np.array([n for n in range(len(EDGE_KINDS)) if _shown(n) == kind], np.uint8)


def _of_kinds(links: Links, wanted: np.ndarray[Any, Any] | None) -> Links:
    if wanted is None:
        return links
    return links.where(np.isin(links.segment.link_kind[links.numbers], wanted))


_At = tuple[bool, str, int, Links, int, Symbol | str]


def _places(view: MapView, chosen: list[tuple[Links, bool]], limit: int) -> list[_At]:
    """The first uses: resolved before others, then by path and line."""
    found: list[_At] = []
    for is_resolved in (True, False):
        part: list[_At] = []
        for links, state in chosen:
            if state is is_resolved:
                # In order of file and, inside one, not of line: whole files are taken.
                taken = _first_files(links, limit - len(found))
                lines = links.segment.link_line[taken.numbers].tolist()
                paths = [links.segment.paths[file] for file in taken.files.tolist()]
                at = zip(paths, lines, taken.numbers.tolist(), view.using(taken), strict=True)
                part += [(state, path, line, taken, n, user) for path, line, n, user in at]
        part.sort(key=lambda at: (at[1], at[2], at[4]))
        found += part[: max(0, limit - len(found))]
    return found


def _first_files(links: Links, limit: int) -> Links:
    if len(links.numbers) <= limit or limit <= 0:
        return links if limit > 0 else links.where(np.zeros(len(links.numbers), bool))
    last = links.files[limit - 1]
    return links.where(links.files <= last)


class _References:
    """Reads what is shown of each use: the line, and what an unresolved one says of itself."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._sources = disk.Sources(case)
        self._edges: dict[str, FileEdges | None] = {}

    def read(self, places: list[_At]) -> Iterator[Reference]:
        view = self._case.map
        for is_resolved, path, line, links, number, user in places:
            name, hint = ("", "") if is_resolved else self._words(path, links, number)
            yield Reference(
                kind=_shown(int(links.segment.link_kind[number])),
                from_symbol=user if isinstance(user, str) else view.id(user),
                file_path=path,
                line_start=max(1, line),
                line_end=max(1, line),
                excerpt=self._sources.line(path, line) or None,
                resolution_state="resolved" if is_resolved else "unresolved",
                to_name=name or None,
                to_container_hint=hint[:_HINT_CHARS] or None,
            )

    def changed(self, paths: set[str]) -> int:
        """How many of the files are not on disk as they were indexed."""
        return sum(self._sources.moved(path) for path in paths)

    def _words(self, path: str, links: Links, number: int) -> tuple[str, str]:
        if path not in self._edges:
            self._edges[path] = self._case.map.files.edges(path)
        edges = self._edges[path]
        row = int(links.segment.link_row[number])
        if edges is None or row >= len(edges.kind):
            return "", ""
        name = int(np.frombuffer(edges.name, "<u4")[row])
        hint = int(np.frombuffer(edges.hint, "<i4")[row])
        return edges.strings[name], edges.strings[hint] if hint >= 0 else ""


@tool("graph_callers", title="Callers of a symbol", family="codemap")
async def graph_callers(view: View, request: GraphRequest) -> GraphAnswer:
    """Who calls a symbol, who calls those, and so on up to depth 6. Calls that could not be resolved
    are counted in unresolved_candidates, not followed."""
    return await _graph(view, request, upwards=True)


@tool("graph_callees", title="Callees of a symbol", family="codemap")
async def graph_callees(view: View, request: GraphRequest) -> GraphAnswer:
    """What a symbol calls, what that calls, and so on up to depth 6, inside the repository."""
    return await _graph(view, request, upwards=False)


async def _graph(view: View, request: GraphRequest, *, upwards: bool) -> GraphAnswer:
    case = await queried(view, request.repo_path, request.workspace_id)
    symbol = meant(case, request.symbol_id)
    depth = case.limit("max_depth", request.depth)
    per_level = case.limit("limit_per_level", request.limit_per_level, "max_references")
    walk = graph.walk(case.map, symbol, depth, per_level, upwards=upwards)
    uncertain = graph.count_uncertain_calls(case.map, symbol) if upwards else 0
    nodes = tuple(_node(case.map, node) for node in walk.nodes)
    case.files.update(node.path for node in walk.nodes)
    root = case.map.id(symbol)
    data = Graph(
        root=root,
        nodes=nodes,
        total_nodes_found=walk.found,
        truncated=walk.truncated,
        unresolved_candidates=uncertain,
    )
    what = "callers" if upwards else "callees"
    text = f"{counted(walk.found, what)} of {root} within {counted(depth, 'levels')}"
    if uncertain:
        text += f"; {uncertain} calls of this name could not be resolved and may mean it"
    tool_name = f"graph_{what}"
    elsewhere = list(_elsewhere(case, symbol)) if upwards else []
    text += "".join(f"; {told}" for told, _ in elsewhere)
    actions = [action for _, action in elsewhere]
    if uncertain:
        actions.insert(0, _unresolved_calls(root))
    return case.answer(GraphAnswer, text, data, actions=actions, tool=tool_name)


def _unresolved_calls(root: str) -> NextAction:
    return NextAction(
        tool="refs_find",
        rationale="see the calls that could not be resolved",
        parameters={"symbol_id": root, "kind": "call", "resolution_state": "unresolved"},
    )


def _elsewhere(case: Case, symbol: Symbol) -> Iterator[tuple[str, NextAction]]:
    """Where callers may be that a walk by id does not meet; so that "none" is never all that is said."""
    view, root = case.map, case.map.id(symbol)
    values = graph.count_uses_as_value(view, symbol)
    if values:
        yield (
            f"it is read {values} times, not called there but maybe by who gets it",
            NextAction(
                tool="refs_find",
                rationale="see where it is passed on or stored",
                parameters={"symbol_id": root, "kind": "read"},
            ),
        )
    around = surrounding_type(view, symbol) if view.kind(symbol) == "constructor" else None
    if around is not None:
        name = view.id(around)
        yield (
            f"who creates the type is told of {name}",
            NextAction(
                tool="graph_callers",
                rationale="creating an instance leads to the type",
                parameters={"symbol_id": name},
            ),
        )
    for kind, _, target in _relations(view, symbol):
        if kind == "overrides" and target:
            yield (
                f"calls through the type above go to {target}",
                NextAction(
                    tool="graph_callers",
                    rationale="calls through the type above go to the member it overrides",
                    parameters={"symbol_id": target},
                ),
            )


def _relations(view: MapView, symbol: Symbol) -> Iterator[tuple[str, str, str]]:
    """Kind, name and id ("" elsewhere) of what all declarations of a symbol stand below."""
    for declaration in view.declarations(symbol):  # a partial type has several
        edges = view.files.edges(view.path(declaration))
        index = view.index(declaration)
        for relation in () if edges is None else edges.relations:
            if relation.source == index:
                yield RELATION_KINDS[relation.kind], relation.name, relation.target


def _node(view: MapView, node: graph.Node) -> GraphNode:
    symbol = node.symbol
    return GraphNode(
        symbol_id=node.id,
        display_name=node.path if symbol is None else display_name(view, symbol),
        kind="module" if symbol is None else view.kind(symbol),
        depth=node.depth,
        file_path=node.path,
        line=node.line,
        edges_to=tuple(sorted(node.edges)),
    )


@tool("types_hierarchy", title="Type hierarchy", family="codemap")
async def types_hierarchy(view: View, request: HierarchyRequest) -> HierarchyAnswer:
    """Base type, interfaces and direct subtypes of a class, interface, struct or trait."""
    case = await queried(view, request.repo_path, request.workspace_id)
    symbol = meant(case, request.symbol_id)
    root = case.map.id(symbol)
    if not root.startswith("T:"):
        raise InvalidArgument(
            f"{root} is no type", hint="give the id of a class or interface", reason="not_a_type"
        )
    base, interfaces = _above(case.map, symbol)
    derived = _below(case.map, symbol)
    case.files.add(case.map.path(symbol))
    data = Hierarchy(
        target_type=root, base_type=base, interfaces=tuple(interfaces), derived_types=derived
    )
    text = f"{root} has {counted(len(interfaces), 'interfaces')} and "
    text += counted(len(derived), "direct subtypes")
    return case.answer(HierarchyAnswer, text, data, tool="types_hierarchy")


def _above(view: MapView, symbol: Symbol) -> tuple[TypeRef | None, list[TypeRef]]:
    """The base, which an interface has none of, and all else that a type stands below."""
    base: TypeRef | None = None
    has_base = view.kind(symbol) != "interface"
    interfaces: dict[str, TypeRef] = {}
    for kind, name, target in _relations(view, symbol):
        if kind == "overrides" or name in _ROOTS:
            continue
        shown = full_name(target).rpartition(".")[2] if target else name
        found = TypeRef(symbol_id=target, display_name=shown)
        if kind == "base" and has_base and base is None:
            base = found
        elif found != base:
            interfaces.setdefault(target or name, found)
    return base, list(interfaces.values())


def _below(view: MapView, symbol: Symbol) -> tuple[TypeRef, ...]:
    overrides = RELATION_KINDS.index("overrides")
    found: dict[str, TypeRef] = {}
    for links in view.links_to(key_of(view.id(symbol), RELATION)):
        types = links.where(links.segment.link_kind[links.numbers] != overrides)
        for user in view.using(types):
            if isinstance(user, Symbol):
                found[view.id(user)] = TypeRef(
                    symbol_id=view.id(user), display_name=view.name(user)
                )
    return tuple(found[name] for name in sorted(found))


@tool("graph_trace_feature", title="Trace a feature", family="codemap")
async def graph_trace_feature(view: View, request: TraceRequest) -> TraceAnswer:
    """The call tree below an entry point, each node with its routes, config keys, tables, exceptions
    and other facts."""
    case = await queried(view, request.repo_path, request.workspace_id)
    symbol = meant(case, request.entry_point)
    depth = case.limit("trace_depth", request.depth, "max_depth")
    most = case.limit("max_nodes", request.limit, "max_references")
    await surfaced(case.map)
    tracer = _Tracer(case, depth, most)
    node = tracer.trace(symbol)
    route = next((note.value for note in node.annotations if note.kind == "Route"), None)
    case.files.update(tracer.paths)
    data = Trace(
        entry_point=case.map.id(symbol),
        entry_point_name=node.display_name,
        entry_point_route=route,
        nodes=(node,),
        total_nodes_traversed=tracer.count,
        depth=depth,
        truncated=tracer.cut,
    )
    text = f"{counted(tracer.count - 1, 'calls')} below {data.entry_point_name}"
    return case.answer(TraceAnswer, text, data, tool="graph_trace_feature")


class _Tracer:
    """Grows the tree level by level, so that a limit cuts the far end and not a whole branch."""

    def __init__(self, case: Case, depth: int, most: int) -> None:
        self._view, self._depth, self._most = case.map, depth, most
        self._facts = SymbolFacts(case.map)
        self._callees: dict[Symbol, list[Symbol]] = {}
        self.count, self.cut = 0, False
        self.paths: set[str] = set()

    def trace(self, root: Symbol) -> TraceNode:
        children: list[list[int]] = [[]]
        symbols, depths = [root], [0]
        at = 0
        while at < len(symbols):
            if depths[at] < self._depth:
                for callee in self._called(symbols[at]):
                    if len(symbols) == self._most:
                        self.cut = True
                        break
                    children[at].append(len(symbols))
                    symbols.append(callee)
                    depths.append(depths[at] + 1)
                    children.append([])
            at += 1
        self.count = len(symbols)
        made: dict[int, TraceNode] = {}
        for number in range(len(symbols) - 1, -1, -1):
            below = tuple(msgspec.to_builtins(made.pop(child)) for child in children[number])
            made[number] = self._node(symbols[number], depths[number], below)
        return made[0]

    def _called(self, symbol: Symbol) -> list[Symbol]:
        known = self._callees.get(symbol)
        if known is None:
            found = graph.callees(self._view, symbol)
            known = self._callees[symbol] = [target for _, target, _ in found if target]
        return known

    def _node(self, symbol: Symbol, depth: int, children: tuple[dict[str, Any], ...]) -> TraceNode:
        view = self._view
        path = view.path(symbol)
        self.paths.add(path)
        facts = self._facts.of(symbol)
        return TraceNode(
            symbol_id=view.id(symbol),
            stable_id=view.stable(symbol),
            display_name=display_name(view, symbol),
            depth=depth,
            annotations=tuple(
                Annotation(
                    kind="".join(part.capitalize() for part in fact.kind.split("_")),
                    value=fact.value.partition("|")[0],
                    confidence=fact.confidence,  # type: ignore[arg-type]  # one of three
                )
                for fact in facts
            ),
            children=children,
        )
