"""Reports: a summary of what a program does, an export of its map, and how to use these tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec
import numpy as np

from contracts.errors import InvalidArgument
from contracts.filemap import SYMBOL_KINDS
from contracts.tools.codemap import (
    Export,
    ExportAnswer,
    ExportRequest,
    Guide,
    GuideAnswer,
    GuideRequest,
    LimitApplied,
    Summary,
    SummaryAnswer,
    SummaryRequest,
    SummarySection,
)
from services.query.codemap import desk
from services.query.codemap.desk import Case, queried
from services.query.codemap.surfaces import counted_facts, place_id, surfaced, surfaces_of
from services.query.codemap.views import MapView, Symbol
from services.query.codemap.waiting import elsewhere
from services.query.host import View
from services.query.registry import tool
from services.source import tokens

_ITEMS = 50
_FACT_SECTIONS = {
    "di": "di_registration", "middleware": "middleware", "resilience": "retry_policy",
    "exceptions": "exception", "logging": "log",
}  # fmt: skip
_OVERVIEW = "overview"
_SECTIONS = ("overview", "api", "data", "config", *_FACT_SECTIONS, "metrics")
_MOST_TOKENS = 40_000
_TYPES = frozenset({"class", "struct", "interface", "enum", "record", "delegate"})


@tool("codemap_summarize", title="Summarise a codebase", family="codemap")
async def codemap_summarize(view: View, request: SummaryRequest) -> SummaryAnswer:
    """What a program offers and uses: overview, api, data, config, di, middleware, resilience,
    exceptions, logging, metrics."""
    case = await queried(view, request.repo_path, request.workspace_id)
    wanted = list(dict.fromkeys(name.strip().lower() for name in request.sections or _SECTIONS))
    unknown = [name for name in wanted if name not in _SECTIONS]
    if unknown:
        raise InvalidArgument(
            f"unknown section {unknown[0][:40]!r}",
            hint=f"one of {', '.join(_SECTIONS)}",
            reason="unknown_value",
        )
    await surfaced(case.map)
    sections = await elsewhere(lambda names: [_section(case, name) for name in names], wanted)
    text = ", ".join(f"{section.name} {section.total}" for section in sections)
    return case.answer(
        SummaryAnswer, text, Summary(sections=tuple(sections)), tool="codemap_summarize"
    )


def _section(case: Case, name: str) -> SummarySection:
    if name in _FACT_SECTIONS:
        items = _facts(case.map, _FACT_SECTIONS[name])
    else:
        items = _MAKERS[name](case.map)
    return SummarySection(name=name, total=len(items), items=tuple(items[:_ITEMS]))


def _overview(view: MapView) -> list[str]:
    known = view.memo.get(_OVERVIEW)
    if known is None:
        known = view.memo[_OVERVIEW] = _counts(view)
    assert isinstance(known, list)
    return known


def _counts(view: MapView) -> list[str]:
    kinds: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    folders: Counter[str] = Counter()
    for layer in view.layers:
        segment, files = layer.segment, layer.files()
        for language, found in layer.languages().items():
            languages[language or "text"] += len(found)
        paths = segment.paths.all()
        parts = (paths[file].partition(b"/") for file in files.tolist())
        folders.update(folder.decode() if slash else "." for folder, slash, _ in parts)
        times = np.bincount(layer.symbols(segment.kind), minlength=len(SYMBOL_KINDS)).tolist()
        kinds.update(dict(zip(SYMBOL_KINDS, times, strict=True)))
    told = [f"{desk.counted(count, 'files')} of {name}" for name, count in _most(languages)[:8]]
    told += [f"{desk.counted(count, 'files')} in {name}/" for name, count in _most(folders)[:12]]
    del kinds[""]
    return told + [f"{count} of kind {name}" for name, count in _most(kinds) if count]


def _most(counts: Counter[str]) -> list[tuple[str, int]]:
    """The most first, equals by name: whatever layers the files are in."""
    return sorted(counts.items(), key=lambda named: (-named[1], named[0]))


def _api(view: MapView) -> list[str]:
    return [
        f"{route.http_method} {route.route_path} -> {place_id(view, route.handler)}"
        for route in surfaces_of(view).endpoints
    ]


def _data(view: MapView) -> list[str]:
    return [
        f"{table.schema + '.' if table.schema else ''}{table.table} ({len(table.referenced_by)} uses)"
        for table in surfaces_of(view).tables
    ]


def _config(view: MapView) -> list[str]:
    counts = Counter(key.key for key in surfaces_of(view).config_keys)
    return [f"{key} ({count} uses)" for key, count in sorted(counts.items())]


def _metrics(view: MapView) -> list[str]:
    diagnostics = desk.diagnostics(view)
    return [
        f"{d.project_name}: {d.symbol_count} symbols, {d.reference_count} references"
        + (f", {d.errors[0]}" if d.errors else "")
        for d in diagnostics
    ]


def _facts(view: MapView, kind: str) -> list[str]:
    return [
        f"{value} in {path} ({times}x)" if times > 1 else f"{value} in {path}"
        for value, path, times in counted_facts(view, kind)
    ]


_MAKERS = {
    "overview": _overview, "api": _api, "data": _data, "config": _config, "metrics": _metrics,
}  # fmt: skip


@tool("codemap_export", title="Export the code map", family="codemap")
async def codemap_export(view: View, request: ExportRequest) -> ExportAnswer:
    """The map as one text within max_tokens: types and their members by file, with signatures at
    detail full."""
    case = await queried(view, request.repo_path, request.workspace_id)
    most = max(1, min(request.max_tokens, _MOST_TOKENS))
    if request.max_tokens > _MOST_TOKENS:
        case.limits["max_tokens"] = LimitApplied(request.max_tokens, _MOST_TOKENS)
    await surfaced(case.map)
    # In a thread, because the tokenizer's tables are read when it counts for the first time.
    parts, cut = await elsewhere(lambda most: _fitting(case, request, most), most)
    content = _as_json(parts) if request.format == "json" else "\n".join(parts)
    data = Export(
        format=request.format, content=content, token_count=tokens.count(content), truncated=cut
    )
    return case.answer(ExportAnswer, desk.counted(len(parts), "parts"), data, tool="codemap_export")


def _fitting(case: Case, request: ExportRequest, most: int) -> tuple[list[str], bool]:
    """The blocks that fit a budget as they are written, and whether there are more."""
    parts: list[str] = []
    is_json = request.format == "json"
    left = most - tokens.count(_as_json([])) if is_json else most
    for block in _blocks(case, request.detail):
        left -= tokens.count(_as_json(block) if is_json else block) + 1
        if left < 0:
            return parts, True
        parts.append(block)
    return parts, False


def _as_json(value: list[str] | str) -> str:
    return msgspec.json.encode(value).decode()


def _blocks(case: Case, detail: str) -> Iterator[str]:
    view = case.map
    yield f"# {case.repo.repo_id} {case.commit[:12]}"
    yield from (f"- {line}" for line in _overview(view)[:12])
    yield from (f"- {line}" for line in _api(view)[:_ITEMS])
    if detail == "summary":
        return
    for path, number, file in sorted(_files(view)):
        segment = view.layers[number].segment
        first, last = int(segment.symbol_start[file]), int(segment.symbol_start[file + 1])
        shown = [
            _line(view, Symbol(number, file, symbol), detail)
            for symbol in range(first, last)
            if segment.kind[symbol] and _is_shown(view, Symbol(number, file, symbol), detail)
        ]
        if shown:
            yield "\n".join([f"## {path.decode()}", *shown])


def _files(view: MapView) -> Iterator[tuple[bytes, int, int]]:
    """Path, layer and number of every file that counts."""
    for number, layer in enumerate(view.layers):
        paths = layer.segment.paths.all()
        yield from ((paths[file], number, file) for file in layer.files().tolist())


def _is_shown(view: MapView, symbol: Symbol, detail: str) -> bool:
    kind = view.kind(symbol)
    if detail == "full":
        return True
    return kind in _TYPES or kind in ("method", "constructor")


def _line(view: MapView, symbol: Symbol, detail: str) -> str:
    start, _ = view.span(symbol)
    segment = view.layers[symbol.layer].segment
    indent = "  " if int(segment.parent[symbol.number]) >= 0 else ""
    shown = view.name(symbol)
    if detail == "full":
        shown = segment.signatures[symbol.number].strip() or shown
    return f"{indent}- {view.kind(symbol)} {shown} :{start}"


@tool("codemap_guide", title="How to use the code map", family="codemap")
async def codemap_guide(view: View, request: GuideRequest) -> GuideAnswer:
    """Which of these tools to call when, for this repository as it stands."""
    case = desk.opened(view, request.repo_path)
    steps = [
        'symbols_search with workspace_id "live" finds declarations in the files as they are now',
        "symbols_get_card, then graph_callers, before changing a symbol",
        "refs_find for every use of it, imports and types included",
        "graph_trace_feature from an endpoint's handler shows what a request touches",
        "index_ensure_baseline once per commit, for answers without workspace_id",
    ]
    notes = [
        "an unresolved use has the symbol's name and may mean it; nothing is left out silently",
        "symbol_id may be a plain name; several meanings are listed",
    ]
    if request.verbose:
        notes += [
            "a workspace of your own (workspace_create, index_refresh_overlay) keeps a revision",
            "virtual_files show unsaved content in code_get_span and symbols_get_definition_span",
            "index_diff with to_commit live tells what the working tree changes",
            "limits above their cap are clamped and told in meta.limits_applied",
        ]
    if case.head.pseudo:
        notes.append("the tree has no git: its baselines stand for its content at some moment")
    data = Guide(quick_start=tuple(steps), notes=tuple(notes))
    return case.answer(
        GuideAnswer, "start with symbols_search", data, confidence="high", tool="codemap_guide"
    )
