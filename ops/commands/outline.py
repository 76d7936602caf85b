"""`repofold outline FILE`: the declarations of one file."""

from __future__ import annotations

import argparse

from rich.text import Text

from contracts.errors import NotFound
from contracts.tools.repocontext import Outline
from ops.ask import Asker, json_text
from ops.node.options import add_place
from ops.terminal import Terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="its path, from the repository root or from here")
    parser.add_argument("--repo", help="repository (default: the only one)")
    add_place(parser)


def run(args: argparse.Namespace) -> int:
    """Print the symbols by line; 0 when the file is indexed, 1 otherwise."""
    asker = Asker(args)
    repository = asker.repository(args.repo)
    path = asker.path_in(repository, args.file)
    found = asker.ask("repocontext_outline", {"repoId": repository, "path": path})
    assert isinstance(found, Outline)
    if args.json:
        print(json_text(found))
        return 0 if found.exists else 1
    if not found.exists:
        raise NotFound(
            f"{path} is not indexed", hint="give its path from the repository root or from here"
        )
    console = Terminal()
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
