"""`repofold health`: can retrieval serve, and on what grounds is that said?"""

from __future__ import annotations

import argparse

from contracts.tools.repocontext import Health, RepositoryReadiness
from ops.ask import json_text
from ops.node.live import Live
from ops.node.options import add_place
from ops.terminal import Terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_place(parser)
    parser.add_argument("--repo", help="of one repository, in full (default: of the host)")


def run(args: argparse.Namespace) -> int:
    """Print the answer of repocontext_health; 0 when retrieval is ready, 1 otherwise."""
    live = Live(args)
    arguments = {"repoId": live.asker.repository(args.repo)} if args.repo else {}
    health = live.ask("repocontext_health", Health, arguments)
    if args.json:
        print(json_text(health))
    else:
        _print(health)
    return 0 if health.retrieval_ready else 1


def _print(health: Health) -> None:
    console = Terminal(soft_wrap=True)
    console.print(f"{health.retrieval_phase}: {health.status}", markup=False)
    if health.repository is not None:
        for name, value in _lines(health.repository):
            console.print(f"  {name:<14} {value}", markup=False)


def _lines(told: RepositoryReadiness) -> list[tuple[str, str]]:
    ingest, coverage, ann = told.ingest, told.vector_coverage, told.ann
    lines: list[tuple[str, str]] = [("verdict", told.verdict)]
    if ingest is not None:
        lines.append(
            ("last pass", f"{ingest.status} {ingest.phase or ''}, attempt {ingest.attempt}")
        )
    embedded = "unknown" if coverage.embedded_sources is None else f"{coverage.embedded_sources:,}"
    lines.append(("embedded", embedded + (", more to come" if coverage.pending else "")))
    lines.append(("space", told.embedding_space or "none"))
    if ann is not None:
        vectors = "" if ann.vectors is None else f", {ann.vectors:,} vectors"
        lines.append(("index", f"{ann.phase}, generation {ann.generation}{vectors}"))
    if told.breaker_open:
        lines.append(("breaker", f"open, tried again in {told.breaker_probe_due_in} s"))
    if told.last_retrieval_path:
        lines.append(("last question", f"{told.last_retrieval_path} at {told.last_query_at}"))
    return lines
