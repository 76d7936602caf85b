"""`repofold refs SYMBOL`: every use of a symbol."""

from __future__ import annotations

import argparse

from rich.text import Text

from ops import mapping


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("symbol", help="its id, sym_ id or name")
    parser.add_argument("--kind", help="call read write instantiate override implementation")
    parser.add_argument("--only", choices=["resolved", "unresolved"], help="leave the others out")
    parser.add_argument("-n", type=int, default=100, help="uses wanted (default 100)")
    mapping.add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the uses by file; 0 when there is one, 1 otherwise."""
    request = {
        "symbol_id": args.symbol, "kind": args.kind, "resolution_state": args.only,
        "limit": args.n,
    }  # fmt: skip
    answer = mapping.ask(args, "refs_find", request)
    if not mapping.told(args, answer):
        path = ""
        for use in answer.data.references:
            if use.file_path != path:
                path = use.file_path
                mapping.console.print(Text(path, style="bold"), soft_wrap=True)
            sure = use.resolution_state == "resolved"
            line = Text().append(f"{use.line_start:>6} ", "cyan")
            line.append(f"{use.kind:<14} ", style="green" if sure else "yellow")
            line.append(use.excerpt or "")
            if not sure:
                line.append(f"  ? {use.to_container_hint or use.to_name or ''}", style="dim")
            mapping.console.print(line, soft_wrap=True)
        mapping.notice(answer.answer)
    return 0 if answer.data.total_count else 1
