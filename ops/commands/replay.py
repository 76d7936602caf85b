"""`repofold replay`: fold everything from zero and swap it in."""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path

import msgspec

from contracts import subjects
from contracts.errors import Fault, NotFound
from contracts.events.commands import CommandReply
from ops.node import lock
from ops.node.options import (
    add_broker,
    add_place,
    base_settings,
    find_state,
    indexed_state,
    running_node,
)
from ops.node.standalone import broker_alone
from services.kernel import logs
from services.kernel.bus import Bus
from services.kernel.settings import Settings
from services.projector.rebuild import rebuild
from store.digest import digest_line

_REPLAY_S = 3600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_place(parser)
    add_broker(parser)
    parser.add_argument(
        "--node", metavar="NAME", help="whose projector (default: that of the running node)"
    )


def run(args: argparse.Namespace) -> int:
    """Rebuild the projections; through the projector when a node runs, else here."""
    logs.configure("warning", as_json=False, worker="replay")
    by_url = bool(base_settings(args).nats_url)
    state = find_state(args.state, args.root) if by_url else indexed_state(args)
    began = time.monotonic()
    if by_url or lock.holder(state) is not None:
        settings = running_node(args)
        asyncio.run(_ask(settings, args.node or settings.node))
    elif state.nats.exists():
        with broker_alone(state, base_settings(args)) as settings:
            asyncio.run(_rebuild(settings))
    else:
        raise NotFound(
            f"nothing was ever indexed into {state.root}", hint="start `repofold up PATH` first"
        )
    seconds = time.monotonic() - began
    line = digest_line(state.projections) if state.projections.exists() else ""
    if args.json:
        print(json.dumps({"seconds": round(seconds, 3), "digest": line}))
    else:
        print(f"rebuilt in {seconds:.1f} s {line}".rstrip())
    return 0


async def _ask(settings: Settings, node: str) -> None:
    bus = Bus(settings, "ops")
    await bus.start(patience_s=5.0)
    try:
        answer = await bus.request(subjects.replay_request(node), b"", timeout=_REPLAY_S)
        reply = msgspec.msgpack.decode(answer.data, type=CommandReply)
        if not reply.ok:
            raise Fault(reply.message, hint=reply.hint)
    finally:
        await bus.stop()


async def _rebuild(settings: Settings) -> Path:
    bus = Bus(settings, "projector")
    await bus.start(patience_s=10.0)
    try:
        return await rebuild(bus, settings.projections)
    finally:
        await bus.stop()
