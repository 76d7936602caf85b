"""`repofold dead`: what failed for good."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from contracts.errors import InvalidArgument
from ops.node.events import described
from ops.node.letters import RETRIED, Letter, drop, letter, letters, retry
from ops.node.options import add_broker, add_place, any_broker
from services.kernel import logs
from services.kernel.bus import Bus
from services.kernel.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "A message ends here when it cannot be handled, or failed too often. `retry` puts it back where it\n"
        "came from unless something newer has taken its place; `drop` forgets it."
    )
    parser.add_argument(
        "action", nargs="?", default="list", choices=("list", "show", "retry", "drop")
    )
    parser.add_argument(
        "numbers", nargs="*", type=int, metavar="NUMBER", help="as `dead list` shows them"
    )
    parser.add_argument("--all", action="store_true", help="retry or drop every one")
    add_place(parser)
    add_broker(parser)


def run(args: argparse.Namespace) -> int:
    """Do what was asked for with the chosen dead letters."""
    if args.action != "list" and not args.numbers and not args.all:
        raise InvalidArgument(f"which ones to {args.action}?", hint="give their numbers, or --all")
    logs.configure("warning", as_json=False, worker="dead")
    with any_broker(args) as settings:
        rows = asyncio.run(_run(settings, args.action, args.numbers))
    if args.json:
        print(json.dumps(rows))
    else:
        _print(args.action, rows)
    return 0


async def _run(settings: Settings, action: str, numbers: Sequence[int]) -> list[dict[str, Any]]:
    bus = Bus(settings, "ops")
    await bus.start(patience_s=10.0)
    try:
        chosen = (
            [await letter(bus, number) for number in numbers]
            if numbers
            else [found async for found in letters(bus)]
        )
        return [await _one(bus, action, found) for found in chosen]
    finally:
        await bus.stop()


async def _one(bus: Bus, action: str, found: Letter) -> dict[str, Any]:
    row: dict[str, Any] = {
        "number": found.number,
        "at": found.at,
        "durable": found.durable,
        "attempts": found.attempts,
        "bytes": len(found.data),
        "subject": found.subject,
        "cause": found.cause,
    }
    if action == "show":
        row["message"] = described(found.subject, found.data)
    elif action == "retry":
        row["outcome"] = await retry(bus, found)
    elif action == "drop":
        await drop(bus, found)
        row["outcome"] = "dropped"
    return row


def _print(action: str, rows: list[dict[str, Any]]) -> None:
    if not rows:
        print("nothing failed for good", file=sys.stderr)
        return
    if action == "show":
        print(json.dumps(rows if len(rows) > 1 else rows[0], indent=2))
        return
    for row in rows:
        said = f" -> {row['outcome']}" if "outcome" in row else ""
        print(
            f"{row['number']:>6}  {row['at'][:19]}  {row['durable']:<10} {row['attempts']}x"
            f"  {row['bytes']:>9,} B  {row['subject']}{said}\n        {row['cause']}"
        )
    if action == "retry" and any(row["outcome"] != RETRIED for row in rows):
        print(
            "superseded: something newer has taken its place, so it was only taken off the list",
            file=sys.stderr,
        )
