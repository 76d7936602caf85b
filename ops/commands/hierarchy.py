"""`repofold hierarchy TYPE`: what a type stands below and above."""

from __future__ import annotations

import argparse

from rich.text import Text
from rich.tree import Tree

from contracts.tools.codemap import Hierarchy
from ops import mapping


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("symbol", help="the type's id, sym_ id or name")
    mapping.add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print base, interfaces and subtypes."""
    answer = mapping.ask(args, "types_hierarchy", {"symbol_id": args.symbol})
    if mapping.told(args, answer):
        return 0
    found: Hierarchy = answer.data
    tree = Tree(Text(found.target_type, style="bold"), guide_style="dim")
    groups = (
        ("base", [found.base_type] if found.base_type else []),
        ("interfaces", list(found.interfaces)),
        ("subtypes", list(found.derived_types)),
    )
    for name, types in groups:
        branch = tree.add(Text(f"{name} ({len(types)})", style="dim"))
        for one in types:
            branch.add(Text(one.symbol_id or f"{one.display_name} (elsewhere)"))
    mapping.console.print(tree, soft_wrap=True)
    return 0
