"""`repofold endpoints [PREFIX]`: the HTTP routes of a program."""

from __future__ import annotations

import argparse

from rich.text import Text

from ops import mapping


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prefix", nargs="?", help="only paths that begin so")
    parser.add_argument("--method", help="GET, POST, …")
    parser.add_argument("-n", type=int, default=100, help="routes wanted (default and most 100)")
    mapping.add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print method, path and handler; 0 when there is one, 1 otherwise."""
    request = {"path_filter": args.prefix, "http_method": args.method, "limit": args.n}
    answer = mapping.ask(args, "surfaces_list_endpoints", request)
    if not mapping.told(args, answer):
        for route in answer.data.endpoints:
            line = (
                Text().append(f"{route.http_method:<7} ", "green").append(route.route_path, "bold")
            )
            line.append(f"  {route.handler_symbol}").append_text(
                mapping.place(route.file_path, route.line)
            )
            mapping.console.print(line, soft_wrap=True)
        mapping.notice(answer.answer)
    return 0 if answer.data.endpoints else 1
