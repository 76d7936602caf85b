"""`repofold trace ENTRY`: what a feature touches, from its entry point down."""

from __future__ import annotations

import argparse

import msgspec
from rich.tree import Tree

from ops import mapping


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("symbol", metavar="ENTRY", help="id, sym_ id or name of where it starts")
    parser.add_argument("-d", "--depth", type=int, default=3, help="levels (default 3)")
    parser.add_argument("-n", type=int, default=100, help="calls at most (default 100)")
    mapping.add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the tree of calls with routes, tables, keys and the like beside them."""
    request = {"entry_point": args.symbol, "depth": args.depth, "limit": args.n}
    answer = mapping.ask(args, "graph_trace_feature", request)
    if mapping.told(args, answer):
        return 0
    root = msgspec.to_builtins(answer.data.nodes[0])
    tree = Tree(mapping.trace_label(root), guide_style="dim")
    mapping.branches(tree, root["children"])
    mapping.console.print(tree, soft_wrap=True)
    mapping.notice(answer.answer)
    return 0
