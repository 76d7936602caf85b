"""`repofold doctor`: what is wrong, and what to do about it."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

import msgspec

from contracts.errors import Fault, Unavailable
from ops.node import checks, lock
from ops.node.checks import Check
from ops.node.options import add_broker, add_place, base_settings, find_state, running_node
from ops.node.state import State
from services.kernel import logs
from services.kernel.bus import Bus
from services.kernel.settings import Settings

_MARKS = {"fine": "ok  ", "note": "note", "failed": "FAIL"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", nargs="?", metavar="PATH", help="the repository; the same as --root PATH"
    )
    add_place(parser)
    add_broker(parser)


def run(args: argparse.Namespace) -> int:
    """Print one line a check; 1 when something does not work."""
    logs.configure("critical", as_json=False, worker="doctor")
    settings = base_settings(args)
    if args.path:
        args.root = [args.path]
    state = find_state(args.state, args.root)
    holder = lock.holder(state)
    found = [
        *checks.installation(own_broker=not settings.nats_url),
        checks.environment(),
        *checks.place(state, holder),
        checks.endpoint(holder, settings),
        *_broker(args, state, running=holder is not None or bool(settings.nats_url)),
        checks.clients(Path((args.root or ["."])[0]).resolve()),
    ]
    if args.json:
        print(msgspec.json.encode(found).decode())
    else:
        for check in found:
            print(f"{_MARKS[check.verdict]}  {check.name:<16} {check.found}")
            if check.next:
                print(f"      {'':<16} next: {check.next}")
    return int(any(check.verdict == "failed" for check in found))


def _broker(args: argparse.Namespace, state: State, *, running: bool) -> list[Check]:
    if not running:
        return [checks.projections(state, {})]
    try:
        args.state = str(state.root)
        settings = running_node(args)
        return asyncio.run(_ask_broker(settings, state))
    except Unavailable as fault:
        return [checks.failed("broker", fault.message, fault.hint), checks.projections(state, {})]


async def _ask_broker(settings: Settings, state: State) -> list[Check]:
    bus = Bus(settings, "ops")
    await bus.start(patience_s=3.0)
    try:
        return [
            checks.fine("broker", f"{settings.nats_url} answers"),
            *await checks.broker(bus, state),
        ]
    except Fault as fault:
        return [checks.failed("broker", fault.message, fault.hint)]
    finally:
        await bus.stop()
