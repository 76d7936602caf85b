"""`repofold digest`: one line that depends on the projections' content alone."""

from __future__ import annotations

import argparse
import json

from ops.node.options import add_place, indexed_state
from store.digest import digest_line
from store.map_digest import map_digest_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--map", action="store_true", help="of the code map: references, baselines, workspaces"
    )
    add_place(parser)


def run(args: argparse.Namespace) -> int:
    """Print the digest of the live projections; equal lines mean equal answers."""
    made = map_digest_line if args.map else digest_line
    line = made(indexed_state(args).projections)
    print(json.dumps({"digest": line}) if args.json else line)
    return 0
