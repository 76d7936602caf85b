"""`repofold context TASK…`: the code for a task, packed under a budget of tokens."""

from __future__ import annotations

import argparse
import sys

from rich.text import Text

from contracts.errors import InvalidArgument
from contracts.tools.context import Bundle, BundleEntry
from ops.ask import json_text
from ops.node.live import Live
from ops.node.options import add_place
from ops.terminal import Terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="WORD", help="what is to be done")
    parser.add_argument("--repo", help="repository (default: the only one)")
    parser.add_argument(
        "--budget", type=int, default=8192, metavar="TOKENS", help="ceiling of the whole result, at most 200000 (default 8192)"
    )  # fmt: skip
    parser.add_argument("--top", type=int, default=10, help="files wanted, at most 50 (default 10)")
    parser.add_argument(
        "--detail", choices=["auto", "slices", "outline", "paths"], default="auto",
        help="whole files and passages, declarations, paths alone, or the richest that fits (default)",
    )  # fmt: skip
    parser.add_argument("--session", help="an id: what was delivered under it is not sent again")
    parser.add_argument(
        "--seen", action="append", default=[], metavar="RECEIPT", help="a unit you hold; may be repeated"
    )  # fmt: skip
    parser.add_argument(
        "--known", action="append", default=[], metavar="PATH@HASH", help="a whole file you hold, with --session; may be repeated"
    )  # fmt: skip
    add_place(parser)


def run(args: argparse.Namespace) -> int:
    """Print the files, best first; 0 when there is one, 1 otherwise."""
    for name in ("budget", "top"):
        if getattr(args, name) < 1:
            raise InvalidArgument(f"--{name} {getattr(args, name)} asks for nothing", hint="give 1 or more")  # fmt: skip
    live = Live(args)
    request = {
        "repoId": live.asker.repository(args.repo),
        "task": " ".join(args.words),
        "top": args.top,
        "responseBudgetTokens": args.budget,
        "detail": args.detail,
        "seen": args.seen,
        "known": args.known,
    } | ({"session": args.session} if args.session else {})
    bundle = live.ask("repocontext_context", Bundle, request)
    if args.session and not live.serving:
        print(
            "no node serves here, so the session is not kept; start one with `repofold up PATH`",
            file=sys.stderr,
        )
    if args.json:
        print(json_text(bundle))
    else:
        _print(bundle)
    return 0 if bundle.entries else 1


def _print(bundle: Bundle) -> None:
    console = Terminal(soft_wrap=True)
    for entry in bundle.entries:
        _print_entry(console, entry)
    if bundle.reused_count:
        paths = dict.fromkeys(unit.path for unit in bundle.reused)
        console.print(
            Text(f"held already ({bundle.reused_count} units): {', '.join(paths)}", style="dim")
        )
    if bundle.entries:
        summary = f"{bundle.detail}: {bundle.total_tokens:,} tokens of content, {bundle.response_tokens:,} of {bundle.budget_tokens:,} as sent"
        console.print(Text(summary + (", more did not fit" * bundle.truncated), style="dim"))
    elif bundle.retry_budget_tokens is not None:
        console.print(f"nothing fits; try --budget {bundle.retry_budget_tokens}")
    elif bundle.reused_count:
        console.print("nothing new; all that was found is held already")
    else:
        console.print("nothing found; try other words, or `repofold status` to see whether indexing is done")  # fmt: skip
    if bundle.mode == "keyword":
        console.print(Text(f"found by keyword ({bundle.retrieval_path})", style="yellow"))


def _print_entry(console: Terminal, entry: BundleEntry) -> None:
    line = Text(f"{entry.score:.3f}  ", style="dim")
    line.append(entry.path, style="bold")
    whole = "" if entry.full_read_token_count is None else f" of {entry.full_read_token_count:,}"
    line.append(f"  {entry.token_count:,}{whole} tokens", style="cyan")
    console.print(line)
    console.print(Text(f"       {', '.join(entry.reasons)}", style="dim"))
    if entry.units[0].kind == "pointer":
        unit = entry.units[0]
        where = " ".join(part for part in (unit.symbol, unit.lines) if part)
        console.print(Text(f"       look at {where or 'the file'}\n", style="green"))
    else:
        console.print(Text(f"{entry.content.rstrip()}\n"))
