"""How soon is a repository resolved, how soon an edit, and how long does a question take?

    repofold bench codemap PATH

Works on a node of its own. The edit is made in a file that it makes itself and removes again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ops.bench.figures import spread
from ops.bench.node import Node

_EDITS, _ROUNDS = 15, 20
_POLL_S = 0.002
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
            time.sleep(0.2)
        resolved = time.monotonic() - node.started_at
        started = time.perf_counter()
        ask("symbols_search", query="main")
        first_ms = (time.perf_counter() - started) * 1000
        return {
            "files": status["filesScanned"],
            "indexed_s": round(indexed, 2),
            "resolved_s": round(resolved, 2),
            "resolve_share": round((resolved - indexed) / resolved, 2),
            "first_question_ms": round(first_ms, 1),
            **_edits(ask, path),
            **_questions(ask),
            **_baseline(ask),
        }


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


def _questions(ask: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    hits = ask("symbols_search", kinds=["method"], limit=100)["data"]["hits"]
    methods = [hit["symbol_id"] for hit in hits]
    types = [
        h["symbol_id"] for h in ask("symbols_search", kinds=["class"], limit=100)["data"]["hits"]
    ]
    types = types or [h["symbol_id"] for h in ask("symbols_search", kinds=["struct", "interface"], limit=100)["data"]["hits"]]  # fmt: skip
    words = [hit["fully_qualified_name"].rpartition(".")[2] for hit in hits]
    asked: dict[str, Callable[[int], Any]] = {
        "symbols_search": lambda n: ask("symbols_search", query=words[n % len(words)]),
        "symbols_get_card": lambda n: ask("symbols_get_card", symbol_id=methods[n % len(methods)]),
        "refs_find": lambda n: ask("refs_find", symbol_id=methods[n % len(methods)]),
        "graph_callers": lambda n: ask("graph_callers", symbol_id=methods[n % len(methods)], depth=3),
        "types_hierarchy": lambda n: ask("types_hierarchy", symbol_id=types[n % len(types)]),
        "graph_trace_feature": lambda n: ask(
            "graph_trace_feature", entry_point=methods[n % len(methods)], depth=6
        ),
    }  # fmt: skip
    figures: dict[str, Any] = {}
    for name, question in asked.items():
        if name == "types_hierarchy" and not types:
            continue
        question(0)
        times = []
        for number in range(_ROUNDS):
            started = time.perf_counter()
            question(number)
            times.append((time.perf_counter() - started) * 1000)
        figures |= spread(f"{name}_ms", times)
    return figures


def _baseline(ask: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    started = time.perf_counter()
    made = ask("index_ensure_baseline", live=False)
    seconds = time.perf_counter() - started
    return {
        "baseline_s": round(seconds, 2),
        "baseline_symbols": made["data"]["stats"]["symbol_count"],
    }
