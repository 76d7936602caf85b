"""`repofold status`: what is indexed and how far it is."""

from __future__ import annotations

import argparse

import msgspec
from rich.console import Console
from rich.table import Table

from contracts.tools.repocontext import Health, IndexStatus
from ops.ask import Asker
from ops.node.options import add_place

_WIDTH = 1_000  # a terminal wraps what is too long for it; a table would cut its numbers short


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_place(parser)
    parser.add_argument("--repo", help="one repository only")


def run(args: argparse.Namespace) -> int:
    """Print one line a repository; 0 when all of them serve, 1 otherwise."""
    asker = Asker(args)
    names = [asker.repository(args.repo)] if args.repo else asker.repositories()
    found: list[tuple[IndexStatus, Health]] = []
    for name in names:
        status = asker.ask("repocontext_index_status", {"repoId": name})
        health = asker.ask("repocontext_health", {"repoId": name})
        assert isinstance(status, IndexStatus)
        assert isinstance(health, Health)
        found.append((status, health))
    serving = all(health.retrieval_ready for _, health in found)
    if args.json:
        print(
            msgspec.json.encode(
                [{"index": status, "health": health} for status, health in found]
            ).decode()
        )
        return 0 if serving else 1
    _table(found)
    return 0 if serving else 1


def _table(found: list[tuple[IndexStatus, Health]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="")
    numbers = ("files", "embedded", "chunks")
    for title in ("repository", "status", "phase", *numbers, "last pass", "retrieval"):
        table.add_column(title, justify="right" if title in numbers else "left", no_wrap=True)
    for status, health in found:
        counts = f"+{status.files_added} ~{status.files_updated} -{status.files_removed}"
        table.add_row(
            status.repo_id,
            status.status,
            status.phase or "",
            f"{status.files_content_projected:,}",
            f"{status.files_embedded:,}",
            f"{status.chunks_committed:,}/{status.chunks_total:,}",
            f"{counts} in {(status.elapsed_milliseconds or 0) / 1000:.1f} s",
            health.retrieval_phase,
        )
    console = Console(width=_WIDTH)
    console.print(table)
    for status, health in found:
        if status.error:
            console.print(
                f"{status.repo_id}: {status.error}", style="red", highlight=False, markup=False
            )
        if not health.retrieval_ready:
            console.print(f"{status.repo_id}: {health.status}", highlight=False, markup=False)
    if not found:
        console.print("nothing is registered yet; start `repofold up PATH`")
