"""`repofold bench index|edit|search|retrieval|bundles|ann|resolution`: figures that anyone can repeat."""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from contracts.errors import InvalidArgument
from ops.bench.figures import spread
from ops.bench.node import Node
from ops.node.state import resolve_roots
from ops.terminal import Terminal

_EDITS = 15
_QUERIES = (
    "where is the request parsed", "database connection retry", "how are migrations applied", "cache key",
    "template rendering error", "user authentication", "parse command line arguments", "write file to disk",
    "http response headers", "load settings from environment", "signal handler", "validate form input",
    "QuerySet filter", "middleware", "NewController", "ListOptions", "delete cascade", "json encoder",
    "time zone conversion", "connection pool", "test client", "static files", "schema editor", "lazy import",
    "thread safety lock",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        choices=[
            "index",
            "edit",
            "search",
            "idle",
            "restart",
            "memory",
            "retrieval",
            "bundles",
            "ann",
            "resolution",
            "codemap",
        ],
    )
    parser.add_argument(
        "path",
        nargs="?",
        help="tree to measure on; for retrieval and bundles the folder with the benchmark data",
    )
    parser.add_argument(
        "--trees", help="retrieval, bundles: folder that holds one tree per repository"
    )
    parser.add_argument(
        "--fit", action="store_true", help="retrieval: fit weights on each half, judge on the other"
    )
    parser.add_argument("--gate", action="store_true", help="retrieval: fail below the floors")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--state", help="state directory to use instead of a temporary one")


def run(args: argparse.Namespace) -> int:
    """Measure and print; nothing outside a temporary folder is written."""
    if args.what in ("retrieval", "bundles", "ann", "resolution"):
        return _other(args)
    if not args.path:
        raise InvalidArgument("no PATH to measure on", hint=f"repofold bench {args.what} PATH")
    path = resolve_roots([args.path])[0]
    measure = {
        "index": _index,
        "edit": _edit,
        "search": _search,
        "idle": _idle,
        "restart": _restart,
        "codemap": _codemap,
        "memory": _remembering,
    }[args.what]
    results = []
    for _ in range(args.runs):
        with tempfile.TemporaryDirectory(prefix="repofold-bench-") as folder:
            results.append(measure(path, Path(args.state or folder)))
    report = {"bench": args.what, "path": str(path), "machine": machine(), "results": results}
    if args.json:
        print(json.dumps(report))
    else:
        _print(report)
    return 0


def machine() -> dict[str, Any]:
    """What the figures were taken on."""
    return {
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def _index(path: Path, state: Path) -> dict[str, Any]:
    """A cold index with everything, vectors included."""
    with Node(path, state) as node:
        status = node.wait_indexed()
        wall = time.monotonic() - node.started_at
        node.usage.look(with_pss=True)
        return {
            "ready_s": round(node.ready_seconds, 2),
            "indexed_s": round(wall, 2),
            "cpu_s": round(node.usage.cpu_seconds, 2),
            "peak_rss_mb": node.usage.peak_rss >> 20,
            "peak_pss_mb": node.usage.peak_pss >> 20,
            "files": status["filesScanned"],
            "extracted": status["filesContentProjected"],
            "chunks": status["chunksTotal"],
            "disk_mb": sum(
                file.stat().st_blocks * 512 for file in state.rglob("*") if file.is_file()
            )
            >> 20,
        }


def _edit(path: Path, state: Path) -> dict[str, Any]:
    """From saving a file to finding it; works on files it makes itself and removes again."""
    with Node(path, state) as node:
        node.wait_indexed()
        target = path / "repofold_bench_edit.py"
        times = []
        try:
            for number in range(_EDITS):
                word = f"zqbench{number}marker{int(time.time() * 1000) % 100_000}"
                target.write_text(f"def {word}(value):\n    return value * {number}\n")
                times.append(_until_found(node, word, target.name))
        finally:
            target.unlink(missing_ok=True)
        return spread("edit_to_searchable_ms", times)


def _until_found(node: Node, word: str, name: str) -> float:
    started = time.perf_counter()
    while time.perf_counter() - started < 30:
        hits = node.client.call("repocontext_search", repoId=node.repo_id, query=word, k=3)["hits"]
        if hits and hits[0]["entry"].get("path") == name and word in str(hits[0]):
            return (time.perf_counter() - started) * 1000
        time.sleep(0.002)
    return float("inf")


def _search(path: Path, state: Path) -> dict[str, Any]:
    """Latency of searches over MCP, one client, warm."""
    with Node(path, state) as node:
        node.wait_indexed()
        for query in _QUERIES:
            node.client.call("repocontext_search", repoId=node.repo_id, query=query)
        times = []
        for _ in range(8):
            for query in _QUERIES:
                started = time.perf_counter()
                node.client.call("repocontext_search", repoId=node.repo_id, query=query)
                times.append((time.perf_counter() - started) * 1000)
        return spread("search_ms", times)


def _idle(path: Path, state: Path) -> dict[str, Any]:
    """What a node uses while nothing happens."""
    with Node(path, state) as node:
        node.wait_indexed()
        node.usage.close()
        time.sleep(45)  # the additional extractors leave after a quiet time
        before, started = _cpu_seconds(node), time.monotonic()
        time.sleep(30)
        after = _cpu_seconds(node)
        used = sum(after[pid] - before[pid] for pid in before.keys() & after.keys())
        found = _memory(node)
        share = used / (time.monotonic() - started)
        return {
            "cpu_percent_of_a_core": round(100 * share, 2),
            "rss_mb": sum(rss for _, rss, _ in found) >> 20,
            "pss_mb": sum(pss for _, _, pss in found) >> 20,
            "pss_mb_by_process": ", ".join(f"{name} {pss >> 20}" for name, _, pss in found),
        }


def _cpu_seconds(node: Node) -> dict[int, float]:
    """By process: one that leaves meanwhile takes its seconds with it."""
    root = psutil.Process(node.process.pid)
    times = {each.pid: each.cpu_times() for each in (root, *root.children(recursive=True))}
    return {pid: float(each.user + each.system) for pid, each in times.items()}


def _memory(node: Node) -> list[tuple[str, int, int]]:
    """Name, resident and proportional size of each process."""
    root = psutil.Process(node.process.pid)
    found = [
        (process.name(), process.memory_full_info())
        for process in (root, *root.children(recursive=True))
    ]
    return [(name, info.rss, info.pss) for name, info in found]


def _restart(path: Path, state: Path) -> dict[str, Any]:
    """From the start of a node whose tree did not change to the ready line."""
    with Node(path, state) as node:
        node.wait_indexed()
    times = []
    for _ in range(5):
        with Node(path, state) as node:
            times.append(node.ready_seconds * 1000)
    return spread("restart_to_ready_ms", times)


def _remembering(path: Path, state: Path) -> dict[str, Any]:
    import ops.bench.memory as memory
    import ops.bench.notes as notes

    return {**memory.measure(path, state), **notes.measure(path, state)}


def _codemap(path: Path, state: Path) -> dict[str, Any]:
    """Resolving, the call graph after an edit, and questions to the code map."""
    import ops.bench.codemap as codemap

    return codemap.measure(path, state)


def _other(args: argparse.Namespace) -> int:
    if args.what == "ann":
        import ops.bench.ann as ann

        return ann.run(args)
    if args.what == "resolution":
        import ops.bench.resolution as resolution

        return resolution.run(args)
    if args.what == "bundles":
        import ops.bench.bundles as bundles

        return bundles.run(args)
    import ops.bench.retrieval as retrieval

    return retrieval.run(args)


def _print(report: dict[str, Any]) -> None:
    console = Terminal()
    console.print(f"{report['bench']} {report['path']}", style="bold")
    console.print(
        ", ".join(f"{name} {value}" for name, value in report["machine"].items()), style="dim"
    )
    for result in report["results"]:
        for name, value in result.items():
            console.print(f"  {name:<24} {value}")
