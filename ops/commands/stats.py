"""`repofold stats`: what bundles cost and saved within the last hour."""

from __future__ import annotations

import argparse

from contracts.errors import Unavailable
from contracts.tools.context import Stats
from ops.ask import json_text
from ops.node.live import Live
from ops.node.options import add_place
from ops.terminal import Terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_place(parser)


def run(args: argparse.Namespace) -> int:
    """Print the figures of the running node, which keeps them in memory."""
    live = Live(args)
    stats = live.ask("repocontext_stats", Stats, {}) if live.serving else None
    if stats is None or not live.serving:
        raise Unavailable(
            "no node serves here, and the figures are kept by the process that answers",
            hint="start one with `repofold up PATH`",
        )
    if args.json:
        print(json_text(stats))
        return 0
    console = Terminal()
    console.print(f"bundles in the last {stats.window_seconds // 60} minutes: {stats.calls:,}")
    console.print(f"  tokens delivered                  {stats.response_tokens:>12,}")
    console.print(f"  tokens of files not read for them {stats.reads_replaced_tokens:>12,}")
    console.print(f"  saved                             {stats.net_saved_tokens:>12,}")
    return 0
