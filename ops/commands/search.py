"""`repofold search WORDS …`: search a repository from a terminal."""

from __future__ import annotations

import argparse

from rich.text import Text

from contracts.errors import InvalidArgument
from contracts.tools.repocontext import SearchResults
from ops.ask import Asker, json_text
from ops.node.options import add_place
from ops.terminal import Terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words", nargs="+", metavar="WORD", help="words, identifiers, a question or an error text"
    )
    parser.add_argument("--repo", help="repository (default: the only one)")
    parser.add_argument("-k", type=int, default=10, help="hits wanted (default 10)")
    add_place(parser)


def run(args: argparse.Namespace) -> int:
    """Print the hits, best first; 0 when there is one, 1 otherwise."""
    if args.k < 1:
        raise InvalidArgument(f"-k {args.k} asks for no hits", hint="give -k 1 or more")
    asker = Asker(args)
    request = {"repoId": asker.repository(args.repo), "query": " ".join(args.words), "k": args.k}
    found = asker.ask("repocontext_search", request)
    assert isinstance(found, SearchResults)
    if args.json:
        print(json_text(found))
    else:
        _print(found)
    return 0 if found.hits else 1


def _print(found: SearchResults) -> None:
    console = Terminal()
    for hit in found.hits:
        fields = hit.entry.fields
        line = Text(f"{hit.score:.3f}  ", style="dim")
        line.append(hit.entry.path or hit.entry.key, style="bold")
        line.append(f":{fields['matchLines']}" if "matchLines" in fields else "", style="cyan")
        console.print(line, soft_wrap=True)
        detail = fields.get("matchSymbol", "")
        if detail:
            console.print(Text(f"       {detail}", style="green"), soft_wrap=True)
        console.print(Text(f"       {', '.join(hit.reasons)}", style="dim"), soft_wrap=True)
    if not found.hits:
        console.print(
            "nothing found; try other words, or `repofold status` to see whether indexing is done",
            soft_wrap=True,
        )
    elif found.mode != "semantic":
        console.print(Text(f"answered by keyword ({found.retrieval_path})", style="yellow"))
