"""How soon is a repository resolved, how soon an edit, and how long does a question take?

    repofold bench codemap PATH

Works on a node of its own. The edit is made in a file that it makes itself and removes again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from contracts.errors import NotFound
from ops.bench.figures import spread
from ops.bench.map_samples import Samples, samples
from ops.bench.node import Node
from store.map_segment import cache_file, live_name, load
from store.read.live import Projections

_EDITS, _ROUNDS, _SCANS = 15, 20, 5
_POLL_S, _PENDING_S = 0.002, 0.05
_COLD_S = 3_600.0


def measure(path: Path, state: Path) -> dict[str, Any]:
    """Figures of one run."""
    with Node(path, state) as node:
        status = node.wait_indexed()
        indexed = time.monotonic() - node.started_at
        ask = _asker(node, path)
        while ask("repo_status")["data"]["live_pending_files"]:
            if time.monotonic() - node.started_at > _COLD_S:
                raise TimeoutError("the references are not resolved")
            time.sleep(_PENDING_S)
        resolved = time.monotonic() - node.started_at
        return {
            "files": status["filesScanned"],
            "indexed_s": round(indexed, 2),
            "resolved_s": round(resolved, 2),
            "resolve_over_index": round((resolved - indexed) / indexed, 2),
            **_first(ask),
            **_edits(ask, path),
            **_questions(ask, _samples(node)),
            **_memory(node),
            **_baseline(ask),
        }


def _first(ask: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """The first question of all, the first about surfaces, and the first after a save."""
    times = {}
    for name, tool, more in (
        ("first_question_ms", "symbols_search", {"query": "main"}),
        ("first_surfaces_ms", "surfaces_list_endpoints", {}),
    ):
        started = time.perf_counter()
        ask(tool, **more)
        times[name] = round((time.perf_counter() - started) * 1000, 1)
    return times


def _memory(node: Node) -> dict[str, Any]:
    """What the process that answers holds with the map in use."""
    root = psutil.Process(node.process.pid)
    for process in root.children(recursive=True):
        if "query" in process.cmdline()[:3]:
            found = process.memory_full_info()
            return {"query_pss_mb": found.pss >> 20, "query_uss_mb": found.uss >> 20}
    return {}


def _asker(node: Node, path: Path) -> Callable[..., dict[str, Any]]:
    def ask(tool: str, *, live: bool = True, **arguments: Any) -> dict[str, Any]:
        workspace = {"workspace_id": "live"} if live and tool not in ("repo_status",) else {}
        return node.client.call(tool, repo_path=str(path), **workspace, **arguments)

    return ask


def _edits(ask: Callable[..., dict[str, Any]], path: Path) -> dict[str, Any]:
    """From saving a file to the call graph that shows its new call."""
    target = path / "repofold_bench_calls.py"
    times = []
    try:
        target.write_text("def zq_bench_target():\n    return 1\n")
        _until(lambda: ask("symbols_search", query="zq_bench_target")["data"]["total_count"] > 0)
        for number in range(_EDITS):
            caller = f"zq_bench_caller_{number}"
            target.write_text(
                "def zq_bench_target():\n    return 1\n\n\n"
                f"def {caller}():\n    return zq_bench_target()\n"
            )
            started = time.perf_counter()
            _until(_shown(ask, caller))
            times.append((time.perf_counter() - started) * 1000)
    finally:
        target.unlink(missing_ok=True)
    return spread("edit_to_call_graph_ms", times)


def _shown(ask: Callable[..., dict[str, Any]], caller: str) -> Callable[[], bool]:
    return lambda: caller in str(ask("graph_callers", symbol_id="zq_bench_target"))


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError("the edit does not show")
        time.sleep(_POLL_S)


def _questions(ask: Callable[..., dict[str, Any]], asked: Samples) -> dict[str, Any]:
    """Each kind of question with other names every time, once all is at hand."""
    every: dict[str, tuple[str, str, Sequence[str], dict[str, Any]]] = {
        "search_popular": ("symbols_search", "query", asked.popular, {}),
        "search_rare": ("symbols_search", "query", asked.rare, {}),
        "search_misspelt": ("symbols_search", "query", asked.misspelt, {}),
        "search_prefix": ("symbols_search", "query", asked.beginnings, {}),
        "search_camel_case": ("symbols_search", "query", asked.parts, {}),
        "search_and": ("symbols_search", "query", asked.both, {}),
        "search_or": ("symbols_search", "query", asked.either, {}),
        "search_of_a_kind": ("symbols_search", "query", asked.popular, {"kinds": ["method"]}),
        "card_most_called": ("symbols_get_card", "symbol_id", asked.called, {}),
        "context": ("symbols_get_context", "symbol_id", asked.callers, {}),
        "refs_most_called": ("refs_find", "symbol_id", asked.called, {}),
        "refs_any": ("refs_find", "symbol_id", asked.functions, {}),
        "callers_most_called": ("graph_callers", "symbol_id", asked.called, {}),
        "callers_depth_6": ("graph_callers", "symbol_id", asked.called, {"depth": 6}),
        "callees_depth_6": ("graph_callees", "symbol_id", asked.callers, {"depth": 6}),
        "callers_any": ("graph_callers", "symbol_id", asked.functions, {"depth": 3}),
        "hierarchy_most_below": ("types_hierarchy", "symbol_id", asked.types, {}),
        "trace_depth_6": ("graph_trace_feature", "entry_point", asked.callers, {"depth": 6}),
        "trace_any_depth_6": ("graph_trace_feature", "entry_point", asked.functions, {"depth": 6}),
        "text_popular": ("code_search_text", "pattern", asked.popular, {}),
        "text_rare": ("code_search_text", "pattern", asked.rare[:_SCANS], {}),
        "text_pattern": ("code_search_text", "pattern", [rf"^\s*{name}\b" for name in asked.rare[:_SCANS]], {}),
    }  # fmt: skip
    figures: dict[str, Any] = {}
    for name, (tool, argument, values, more) in every.items():
        if values:
            figures |= _timed(name, [partial(ask, tool, **{argument: v}, **more) for v in values])
    whole: dict[str, tuple[str, dict[str, Any]]] = {
        "endpoints": ("surfaces_list_endpoints", {}),
        "config_keys": ("surfaces_list_config_keys", {}),
        "tables": ("surfaces_list_db_tables", {}),
        "summarize": ("codemap_summarize", {}),
        "export_summary": ("codemap_export", {"detail": "summary"}),
        "repo_status": ("repo_status", {}),
    }
    for name, (tool, more) in whole.items():
        figures |= _timed(name, [partial(ask, tool, **more)] * _ROUNDS)
    browsing = [partial(ask, "symbols_search", kinds=[kind]) for kind in asked.kinds]
    return figures | _timed("browse", browsing)


def _timed(name: str, questions: Sequence[Callable[[], Any]]) -> dict[str, Any]:
    questions[-1]()
    times = []
    for question in questions:
        started = time.perf_counter()
        question()
        times.append((time.perf_counter() - started) * 1000)
    return spread(f"{name}_ms", times)


def _samples(node: Node) -> Samples:
    """Taken from the segment that the node made for questions."""
    with Projections(node.state / "projections").read() as snapshot:
        repo = snapshot.repo(node.repo_id)
    name = "" if repo is None else live_name(repo)
    segment = load(cache_file(node.state / "cache" / "maps", name))
    if segment is None:
        raise NotFound("the node has made no index of its code map", hint="see its log")
    return samples(segment, _ROUNDS)


def _baseline(ask: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    started = time.perf_counter()
    made = ask("index_ensure_baseline", live=False)["data"]
    seconds = time.perf_counter() - started
    if made["already_existed"]:  # of a state that was measured before
        return {}
    return {"baseline_s": round(seconds, 2), "baseline_symbols": made["stats"]["symbol_count"]}
