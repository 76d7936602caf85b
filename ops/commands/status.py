"""`repofold status`: what is indexed and how far it is."""

from __future__ import annotations

import argparse
import sys
import time

import msgspec
from rich.console import Group
from rich.live import Live as Screen
from rich.table import Table
from rich.text import Text

from contracts.tools.repocontext import Health, IndexStatus
from ops.node.live import Live
from ops.node.options import add_place
from ops.terminal import Terminal

_WIDTH = 1_000  # a terminal wraps what is too long for it; a table would cut its numbers short
_EVERY_S = 1.0
Found = list[tuple[IndexStatus, Health]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_place(parser)
    parser.add_argument("--repo", help="one repository only")
    parser.add_argument(
        "--watch", action="store_true", help="show it anew every second until interrupted"
    )


def run(args: argparse.Namespace) -> int:
    """Print one line a repository; 0 when all of them serve, 1 otherwise."""
    if args.watch:
        return _watch(args)
    found = _look(Live(args), args.repo)
    if args.json:
        print(_json(found))
    else:
        _print(found)
    return 0 if all(health.retrieval_ready for _, health in found) else 1


def _look(live: Live, repo: str | None) -> Found:
    names = [live.asker.repository(repo)] if repo else live.asker.repositories()
    return [
        (
            live.ask("repocontext_index_status", IndexStatus, {"repoId": name}),
            live.ask("repocontext_health", Health, {"repoId": name}),
        )
        for name in names
    ]


def _json(found: Found) -> str:
    rows = [{"index": status, "health": health} for status, health in found]
    return msgspec.json.encode(rows).decode()


def _watch(args: argparse.Namespace) -> int:
    """Show it again and again: a line of JSON each time, or one picture that changes."""
    live = Live(args)
    if args.json or not sys.stdout.isatty():
        while True:
            found = _look(live, args.repo)
            print(_json(found) if args.json else _lines(found), flush=True)
            time.sleep(_EVERY_S)
    picture = _picture(_look(live, args.repo))
    with Screen(picture, console=Terminal(), auto_refresh=False) as screen:
        while True:
            time.sleep(_EVERY_S)
            screen.update(_picture(_look(live, args.repo)), refresh=True)


def _lines(found: Found) -> str:
    return "\n".join(
        f"{status.repo_id}: {status.status} {status.phase or ''} "
        f"{status.chunks_committed:,}/{status.chunks_total:,} chunks, {health.retrieval_phase}"
        for status, health in found
    )


def _picture(found: Found) -> Group:
    notes = [Text(line) for line in _notes(found)]
    return Group(_table(found), *notes)


def _print(found: Found) -> None:
    console = Terminal(width=_WIDTH)
    console.print(_table(found))
    for status, _ in found:
        if status.error:
            console.print(f"{status.repo_id}: {status.error}", style="red")
    for line in _notes(found):
        console.print(line)
    if not found:
        console.print("nothing is registered yet; start `repofold up PATH`")


def _notes(found: Found) -> list[str]:
    """What the table has no column for."""
    lines = []
    for status, health in found:
        if not health.retrieval_ready:
            lines.append(f"{status.repo_id}: {health.status}")
        pacing = status.pacing
        if pacing is not None and pacing.state not in ("Idle", "Pacing", "Disabled"):
            delay = f", {pacing.batch_delay_milliseconds} ms a batch" * bool(
                pacing.batch_delay_milliseconds
            )
            lines.append(f"{status.repo_id}: {pacing.state.lower()}: {pacing.reason}{delay}")
    return lines


def _table(found: Found) -> Table:
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
    return table
