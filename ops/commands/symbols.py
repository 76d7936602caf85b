"""`repofold symbols [WORD …]`: find declarations, or list those of a kind."""

from __future__ import annotations

import argparse

from rich.text import Text

from contracts.tools.codemap import SymbolHit
from ops import mapping


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="WORD", help='names; word* = prefix, "a OR b"')
    parser.add_argument("--kind", action="append", default=[], help="class, method, …; repeatable")
    parser.add_argument("--namespace", help="only names that begin so")
    parser.add_argument("--path", help="only files that begin so")
    parser.add_argument("-n", type=int, default=20, help="hits wanted (default 20)")
    mapping.add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the hits, best first; 0 when there is one, 1 otherwise."""
    request = {
        "query": " ".join(args.words) or None, "kinds": args.kind, "namespace": args.namespace,
        "file_path": args.path, "limit": args.n,
    }  # fmt: skip
    answer = mapping.ask(args, "symbols_search", request)
    hits = answer.data.hits
    if not mapping.told(args, answer):
        for hit in hits:
            mapping.console.print(line(hit), soft_wrap=True)
            if hit.signature != hit.fully_qualified_name:
                mapping.console.print(Text(f"            {hit.signature}", "green"), soft_wrap=True)
        mapping.notice(answer.answer)
    return 0 if hits else 1


def line(hit: SymbolHit) -> Text:
    """Kind, name and place of a hit."""
    told = Text().append(f"{hit.kind:<11} ", "dim").append(hit.fully_qualified_name, "bold")
    return told.append_text(mapping.place(hit.file_path, hit.line))
