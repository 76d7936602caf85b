"""Symbols and code: search, cards, spans, text."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from contracts.errors import InvalidArgument, NotFound, Unavailable
from contracts.filemap import SYMBOL_KINDS
from contracts.tools.codemap import (
    Call,
    CardAnswer,
    CardRequest,
    ContextAnswer,
    ContextEntry,
    ContextRequest,
    DefinitionRequest,
    Fact,
    NextAction,
    SearchAnswer,
    SearchRequest,
    SpanAnswer,
    SpanRequest,
    SymbolCard,
    SymbolContext,
    SymbolHit,
    SymbolHits,
    TextAnswer,
    TextMatch,
    TextMatches,
    TextRequest,
)
from services.query.codemap import disk, finding, graph, text_scan
from services.query.codemap.desk import (
    Case,
    check_virtual,
    counted,
    opened_for_reading,
    queried,
)
from services.query.codemap.surfaces import SymbolFacts, surfaced
from services.query.codemap.symbols import (
    confidence_of,
    declared,
    full_name,
    home_of,
    meant,
)
from services.query.codemap.views import Symbol
from services.query.host import View
from services.query.registry import tool
from services.resolution.edges import EDGE_KINDS

_SNIPPET = 160
_CALLS_TOP = 10
_DECLARATIONS = 10
_SCAN_S = 20.0


@tool("symbols_search", title="Search symbols", family="codemap")
async def symbols_search(view: View, request: SearchRequest) -> SearchAnswer:
    """Find declarations by name, signature or doc, or browse by kinds. Without workspace_id as of
    HEAD's baseline; with "live" as files are now. For text or meaning use repocontext_search."""
    case = await queried(view, request.repo_path, request.workspace_id, request.virtual_files)
    limit = case.limit("max_results", request.limit)
    filters = finding.Filters(
        checked_kinds(request.kinds),
        (request.namespace or "").strip(),
        disk.relative(request.file_path or ""),
    )
    query = (request.query or "").strip()
    started = time.perf_counter()
    if query and query != "*":
        found = finding.search(case.map, query, filters, limit)
    elif filters.kinds:
        found = finding.browse(case.map, filters, limit)
    else:
        raise InvalidArgument(
            "neither query nor kinds is given",
            hint='give a query, or kinds such as ["class"] to browse',
            reason="nothing_asked",
        )
    case.ranked(time.perf_counter() - started)
    hits = tuple(_hit(case, symbol, score) for symbol, score in found.symbols)
    case.files.update(hit.file_path for hit in hits)
    data = SymbolHits(hits=hits, total_count=found.total, truncated=found.total > len(hits))
    match = "matches" if found.total == 1 else "match"
    text = f"{counted(found.total, 'symbols')} {match}" if found.total else "nothing matches"
    if found.spelling:
        text = f"nothing is spelled so; {text} {found.spelling!r}"
    if not found.total and case.workspace_id is None:
        text += ' in HEAD\'s baseline; what was edited since is in workspace_id "live"'
    actions = [
        _act("symbols_get_card", "signature, calls and facts", symbol_id=hit.symbol_id)
        for hit in hits[:1]
    ]
    return case.answer(SearchAnswer, text, data, actions=actions, tool="symbols_search")


def checked_kinds(kinds: Iterable[str]) -> frozenset[str]:
    """Kinds in their own spelling; raises InvalidArgument for one that is none."""
    found = frozenset(kind.strip().lower().replace("_", "") for kind in kinds)
    unknown = sorted(found - set(SYMBOL_KINDS[1:]))
    if unknown:
        raise InvalidArgument(
            f"unknown kind {unknown[0][:40]!r}",
            hint=f"one of {', '.join(SYMBOL_KINDS[1:])}",
            reason="unknown_value",
        )
    return found


def _hit(case: Case, symbol: Symbol, score: float) -> SymbolHit:
    segment = case.map.layers[symbol.layer].segment
    symbol_id = case.map.id(symbol)
    return SymbolHit(
        symbol_id=symbol_id,
        fully_qualified_name=full_name(symbol_id),
        kind=case.map.kind(symbol),  # type: ignore[arg-type]  # of SYMBOL_KINDS
        signature=segment.signatures[symbol.number].strip() or case.map.name(symbol),
        documentation_snippet=segment.docs[symbol.number].strip() or None,
        file_path=case.map.path(symbol),
        line=case.map.span(symbol)[0],
        score=score,
    )


@tool("symbols_get_card", title="Card of a symbol", family="codemap")
async def symbols_get_card(view: View, request: CardRequest) -> CardAnswer:
    """Everything about one symbol but its body: signature, doc, span, what it calls, and its
    routes, config keys, tables and other facts."""
    case = await queried(view, request.repo_path, request.workspace_id)
    symbol = meant(case, request.symbol_id)
    await surfaced(case.map)
    card = card_of(case, symbol)
    case.files.add(card.file_path)
    text = f"{card.kind} {card.fully_qualified_name} in {card.file_path}:{card.span_start}"
    actions = [
        _act("graph_callers", "who calls it", symbol_id=card.symbol_id),
        _act("symbols_get_definition_span", "its code", symbol_id=card.symbol_id),
    ]
    return case.answer(
        CardAnswer, text, card, confidence=card.confidence, actions=actions,
        tool="symbols_get_card",
    )  # fmt: skip


def card_of(case: Case, symbol: Symbol) -> SymbolCard:
    view = case.map
    symbol_id = view.id(symbol)
    start, end = view.span(symbol)
    others = [other for other in view.declarations(symbol) if other != symbol][:_DECLARATIONS]
    found, *further = [declared(view, one) for one in (symbol, *others)]
    # The code of a member may stand outside its type, and say neither what it is for nor who may use it.
    homes = [home_of(view, one) for one in (symbol, *others)]
    namespace, around = next((home for home in homes if home[1]), homes[0])
    facts = SymbolFacts(view).of(symbol)
    return SymbolCard(
        symbol_id=symbol_id,
        fully_qualified_name=full_name(symbol_id),
        kind=view.kind(symbol) or "field",  # type: ignore[arg-type]  # of SYMBOL_KINDS
        signature=found.signature or view.name(symbol),
        documentation=found.doc or next((other.doc for other in further if other.doc), None),
        namespace=namespace,
        containing_type=around,
        file_path=view.path(symbol),
        span_start=start,
        span_end=end,
        visibility=found.visibility or next((o.visibility for o in further if o.visibility), ""),
        calls_top=tuple(_calls(case, symbol)),
        facts=tuple(Fact(kind=f.kind, value=f.value, detail=f.detail or None) for f in facts),
        side_effects=(),
        thrown_exceptions=(),
        evidence=(),
        confidence=confidence_of(view, symbol),
        stable_id=view.stable(symbol),
        also_declared_in=tuple(
            f"{view.path(other)}:{view.span(other)[0]}" for other in others
        ) or None,
    )  # fmt: skip


def _calls(case: Case, symbol: Symbol) -> Iterable[Call]:
    view = case.map
    seen: set[int] = set()
    for declaration in view.declarations(symbol):
        calls = graph.calls_only(view.links_of(declaration))
        segment = calls.segment
        for number in calls.numbers.tolist():
            key = int(segment.link_key[number])
            if key in seen or len(seen) == _CALLS_TOP:
                continue
            targets = view.keyed(key)
            if not targets:
                continue
            seen.add(key)
            target = view.id(targets[0])
            yield Call(
                to_symbol=target,
                fully_qualified_name=full_name(target),
                kind=EDGE_KINDS[int(segment.link_kind[number])],  # type: ignore[arg-type]  # a call
                file_path=view.path(declaration),
                line=int(segment.link_line[number]),
            )


@tool("symbols_get_context", title="Symbol in context", family="codemap")
async def symbols_get_context(view: View, request: ContextRequest) -> ContextAnswer:
    """A symbol's card and code together with the signatures of what it calls: enough to change it
    without opening files."""
    case = await queried(view, request.repo_path, request.workspace_id)
    depth = 0 if request.callee_depth <= 0 else case.limit("callee_depth", request.callee_depth)
    most = case.limit("max_callees", request.max_callees)
    symbol = meant(case, request.symbol_id)
    await surfaced(case.map)
    found = graph.walk(case.map, symbol, depth, most, upwards=False)
    around = [node for node in found.nodes[1:] if node.symbol is not None]
    entries = tuple(_entry(case, node) for node in around[:most])
    case.files.update([case.map.path(symbol), *(entry.file_path for entry in entries)])
    code = _code(case, symbol) if request.include_code else _Code(None)
    data = SymbolContext(
        card=card_of(case, symbol),
        code=code.text,
        callees=entries,
        truncated=code.cut or found.truncated or len(around) > most,
    )
    text = f"{data.card.fully_qualified_name} and {counted(len(entries), 'symbols')} that it calls"
    return case.answer(
        ContextAnswer, text + code.told, data, confidence="low" if code.told else None,
        tool="symbols_get_context",
    )  # fmt: skip


class _Code(NamedTuple):
    """The code of a symbol as a context shows it."""

    text: str | None
    cut: bool = False
    told: str = ""  # where it is not what was indexed


def _entry(case: Case, node: graph.Node) -> ContextEntry:
    assert node.symbol is not None
    found = declared(case.map, node.symbol)
    start, end = case.map.span(node.symbol)
    return ContextEntry(
        symbol_id=node.id, signature=found.signature or case.map.name(node.symbol),
        file_path=node.path, span_start=start, span_end=end, depth=node.depth,
        documentation=" ".join(found.doc.split())[:_SNIPPET] or None,
    )  # fmt: skip


def _code(case: Case, symbol: Symbol) -> _Code:
    path = case.map.path(symbol)
    sources = disk.Sources(case)
    try:
        lines = sources.lines(path)
    except NotFound:
        return _Code(None, told=f", without its code: {path} is not on disk any more")
    start, end = case.map.span(symbol)
    first, last = disk.bounded(min(start, max(len(lines), 1)), max(start, end), len(lines))
    shown = min(last, first + 99)
    made = disk.span(case, path, lines, first, shown, cut=shown < last)
    return _Code(made.content, made.truncated, sources.told(path))


@tool("code_get_span", title="Lines of a file", family="codemap")
async def code_get_span(view: View, request: SpanRequest) -> SpanAnswer:
    """Read numbered lines of a file from disk, at most 400; virtual_files stand in for files that
    are not saved."""
    case = await _reading(view, request)
    path = disk.relative(request.file_path)
    lines = disk.Sources(case, request.virtual_files).lines(path)
    first, last = disk.bounded(request.start_line, request.end_line, len(lines))
    around = max(0, request.context_lines)
    first, last = max(1, first - around), min(len(lines), last + around)
    most = case.limit("max_lines", request.max_lines)
    shown = min(last, first + most - 1)
    data = disk.span(case, path, lines, first, shown, cut=shown < last)
    case.files.add(path)
    return case.answer(
        SpanAnswer, f"lines {data.start_line}-{data.end_line} of {data.total_file_lines} of {path}",
        data, confidence="high", tool="code_get_span",
    )  # fmt: skip


async def _reading(view: View, request: SpanRequest) -> Case:
    """A case for reading the disk, which needs no baseline unless a workspace is named."""
    check_virtual(request.workspace_id, request.virtual_files)
    return await opened_for_reading(view, request.repo_path, request.workspace_id)


@tool("symbols_get_definition_span", title="Code of a symbol", family="codemap")
async def symbols_get_definition_span(view: View, request: DefinitionRequest) -> SpanAnswer:
    """Read a symbol's definition from disk with a little context. max_lines limits the definition
    itself."""
    case = await queried(view, request.repo_path, request.workspace_id, request.virtual_files)
    symbol = meant(case, request.symbol_id)
    path = case.map.path(symbol)
    sources = disk.Sources(case, request.virtual_files)
    lines = sources.lines(path)
    start, end = case.map.span(symbol)
    first, last = disk.bounded(min(start, max(len(lines), 1)), max(start, end), len(lines))
    most = case.limit("max_lines", request.max_lines)
    shown = min(last, first + most - 1)
    around = request.context_lines
    around = 0 if around <= 0 else case.limit("context_lines", around)
    data = disk.span(
        case, path, lines, max(1, first - around), min(len(lines), shown + around),
        cut=shown < last,
    )  # fmt: skip
    case.files.add(path)
    text = f"{case.map.id(symbol)} is in {path}:{start}-{end}{sources.told(path)}"
    return case.answer(
        SpanAnswer, text, data, confidence="low" if sources.moved(path) else "high",
        tool="symbols_get_definition_span",
    )  # fmt: skip


@tool("code_search_text", title="Search text by pattern", family="codemap")
async def code_search_text(view: View, request: TextRequest) -> TextAnswer:
    """Regular expression over the lines of indexed files as they are on disk, like grep."""
    case = await queried(view, request.repo_path, request.workspace_id)
    most = case.limit("max_matches", request.limit)
    try:
        re.compile(request.pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidArgument(
            f"the pattern is no regular expression: {error}",
            hint="escape ( [ . * + ? and the like with a backslash",
            reason="pattern",
        ) from None
    found, searched = await asyncio.to_thread(_matches, case, request, most)
    more = len(found) > most
    found = found[:most]
    case.files.update(match.file_path for match in found)
    data = TextMatches(matches=tuple(found), files_searched=searched, truncated=more)
    return case.answer(
        TextAnswer, f"{counted(len(found), 'matching lines')} in {counted(searched, 'files')}", data,
        tool="code_search_text",
    )  # fmt: skip


def _matches(case: Case, request: TextRequest, most: int) -> tuple[list[TextMatch], int]:
    prefix = disk.relative(request.file_path or "")
    paths = sorted(f.path for f in case.map.files.all() if f.path.startswith(prefix))
    asked = {
        "root": case.repo.root, "paths": paths, "pattern": request.pattern, "limit": most,
        "ignore_case": request.ignore_case,
    }  # fmt: skip
    try:
        done = subprocess.run(  # noqa: S603 - this very interpreter and a file of ours
            [sys.executable, "-I", text_scan.__file__],
            input=msgspec.json.encode(asked),
            capture_output=True,
            timeout=_SCAN_S,
            check=True,
        )
    except subprocess.SubprocessError:
        raise Unavailable(
            f"the pattern did not come to an end within {_SCAN_S:.0f} seconds",
            hint="avoid nested repetitions such as (a+)+, or narrow it with file_path",
        ) from None
    rows, searched = msgspec.json.decode(done.stdout, type=tuple[list[tuple[str, int, str]], int])
    return [
        TextMatch(file_path=path, line=line, excerpt=text) for path, line, text in rows
    ], searched


def _act(name: str, why: str, **parameters: object) -> NextAction:
    return NextAction(tool=name, rationale=why, parameters=dict(parameters))
