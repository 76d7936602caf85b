"""`repofold callers SYMBOL`: who calls a symbol, as a tree."""

from __future__ import annotations

import argparse

from ops import mapping


def add_arguments(parser: argparse.ArgumentParser) -> None:
    mapping.add_graph_options(parser, depth=2)


def run(args: argparse.Namespace) -> int:
    """Print the tree; 0 when there is anybody, 1 otherwise."""
    return mapping.run_graph(args, "graph_callers")
