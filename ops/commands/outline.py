"""`repofold outline FILE`: the declarations of one file."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.text import Text

from contracts.tools.repocontext import Outline
from ops.ask import Asker, add_place, json_text, settings_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="path relative to the repository root")
    parser.add_argument("--repo", help="repository (default: the only one)")
    add_place(parser)


def run(args: argparse.Namespace) -> int:
    """Print the symbols by line; 0 when the file is indexed, 1 otherwise."""
    asker = Asker(settings_of(args))
    found = asker.ask(
        "repocontext_outline", {"repoId": asker.repository(args.repo), "path": args.file}
    )
    assert isinstance(found, Outline)
    if args.json:
        print(json_text(found))
        return 0 if found.exists else 1
    console = Console(highlight=False)
    if not found.exists:
        console.print(
            Text(f"{found.path} is not indexed; paths are relative to the repository root")
        )
        return 1
    for symbol in found.symbols:
        line = Text(f"{symbol.start_line:>6}-{symbol.end_line:<6} ", style="dim")
        line.append(f"{symbol.kind:<12}", style="cyan")
        line.append(symbol.signature)
        console.print(line, soft_wrap=True)
    if found.full_read_token_count is not None:
        console.print(
            Text(
                f"reading the whole file costs {found.full_read_token_count:,} tokens", style="dim"
            )
        )
    return 0
