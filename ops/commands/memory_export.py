"""`repofold memory export [FILE]`: everything that is remembered, as JSON lines."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from contracts.envelope import now_ms
from ops.ask import Asker
from ops.node.options import add_place
from store import archive
from store.read.notes import rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Notes of every repository with their ids, times and the tokens of their claims. A node need not run.\n"
        "An export that holds notes is never replaced by an empty one."
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="default: standard output")
    parser.add_argument("--repo", help="notes of one repository only")
    add_place(parser)


def run(args: argparse.Namespace) -> int:
    """Write the export; the exit code is 0 also when there is nothing."""
    now = now_ms()
    with Asker(args).host.read() as snapshot:
        notes = [row.note for row in rows(snapshot) if args.repo in (None, row.note.repo_id)]
        text = archive.text_of(notes, log=snapshot.positions().log, now_ms=now)
    live = sum(note.is_live(now) for note in notes)
    if args.file is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(text)
        return 0
    archive.write(Path(args.file), text)
    if args.json:
        print(json.dumps({"file": args.file, "notes": live, "bytes": len(text)}))
    else:
        print(f"{live} notes, {len(text):,} bytes in {args.file}")
    return 0
