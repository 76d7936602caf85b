"""`repofold mcp`: MCP on standard input and output, for clients that start their servers."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from ops.commands import up
from ops.node import lock
from ops.node.broker import Broker
from ops.node.companion import Companion
from ops.node.options import add_broker, add_offer, add_state
from ops.node.state import State
from services.kernel import logs
from services.kernel.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="repositories to index (default: this folder)"
    )
    add_state(parser)
    add_broker(parser)
    add_offer(parser)
    parser.add_argument(
        "--verbose", action="store_true", help="log what happens, on standard error"
    )
    parser.set_defaults(no_http=True, host=None, port=None)


def run(args: argparse.Namespace) -> int:
    """Serve one client until it closes our standard input; the node comes up meanwhile."""
    roots, workspace_roots = up.chosen_roots(args.paths, args.workspace_root)
    settings = up.node_settings(args, roots, workspace_roots)
    logs.configure(settings.log_level, as_json=settings.log_json, worker="mcp")
    state = State(Path(settings.state_dir))
    state.prepare()
    companion = Companion(state, _node_arguments(args, settings, roots))
    settings = _reaching_node(settings, state)
    companion.start()
    try:
        # Here, after the node is on its way: it takes most of a second.
        from services.query import main as query
        from services.query.registry import AGENT

        profile = settings.profile or AGENT
        return query.run_stdio(msgspec.structs.replace(settings, profile=profile))
    finally:
        companion.stop()


def _reaching_node(settings: Settings, state: State) -> Settings:
    """Where the node's broker is, or will be: its port and its users are fixed before it starts."""
    if settings.nats_url:
        return settings
    holder = lock.holder(state)
    if holder is not None and holder.nats_url:
        return msgspec.structs.replace(
            settings,
            nats_url=holder.nats_url,
            nats_users_file=holder.nats_users_file,
            node=holder.node,
        )
    broker = Broker(state)
    broker.reserve(running=holder is not None)
    return msgspec.structs.replace(settings, nats_url=broker.url, nats_users_file=str(state.users))


def _node_arguments(args: argparse.Namespace, settings: Settings, roots: list[Path]) -> list[str]:
    arguments = [*map(str, roots), "--state", settings.state_dir]
    for root in args.workspace_root:
        arguments += ["--workspace-root", str(Path(root).expanduser().resolve())]
    if args.nats:
        arguments += ["--nats", args.nats]
    if args.nats_users:
        arguments += ["--nats-users", settings.nats_users_file]
    arguments += [
        flag
        for flag, given in (("--no-watch", args.no_watch), ("--verbose", args.verbose))
        if given
    ]
    return arguments
