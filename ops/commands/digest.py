"""`repofold digest`: one line that depends on the projections' content alone."""

from __future__ import annotations

import argparse
import json

from ops.node.options import add_place, indexed_state
from store.digest import digest_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_place(parser)


def run(args: argparse.Namespace) -> int:
    """Print the digest of the live projections; equal lines mean equal answers."""
    line = digest_line(indexed_state(args).projections)
    print(json.dumps({"digest": line}) if args.json else line)
    return 0
