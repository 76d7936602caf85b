"""`repofold work NAME …`: run chosen workers, e.g. one per container."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec
import xxhash

from contracts.errors import InvalidArgument
from ops.node import state, workers
from ops.node.options import add_broker, add_state, base_settings, named_state
from services.kernel.settings import Settings

_NEED_STATE = {"projector", "walker", "reconciler", "query"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="NAME", help=", ".join(workers.WORKERS))
    add_state(parser)
    add_broker(parser)
    parser.add_argument(
        "--node",
        metavar="NAME",
        help="name of this projector and its query service (default: local)",
    )
    parser.add_argument("--verbose", action="store_true", help="log what happens")
    parser.add_argument("--supervised", action="store_true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Run the workers until SIGTERM or SIGINT."""
    names = list(dict.fromkeys(args.names))
    workers.check(names)
    settings = work_settings(args, names)
    if args.supervised:
        workers.hold_on_to_lifeline()
    if workers.QUERY in names and len(names) > 1:
        from ops.node.together import run_beside_query

        return run_beside_query(settings, names)
    return workers.run(settings, names)


def work_settings(args: argparse.Namespace, names: list[str]) -> Settings:
    """The settings of the environment with the command line's over them; raises InvalidArgument."""
    settings = base_settings(args)
    changes: dict[str, object] = {}
    if args.node:
        changes["node"] = args.node
    named = named_state(args.state)
    if named is not None:
        changes["state_dir"] = str(named.root)
    if args.verbose and settings.log_level == "warning":
        changes["log_level"] = "info"
    settings = msgspec.structs.replace(settings, **changes)
    if not settings.nats_url:
        raise InvalidArgument(
            "no NATS server is given", hint="give --nats nats://host:port or set REPOFOLD_NATS_URL"
        )
    if not settings.state_dir:
        if _NEED_STATE & set(names):
            raise InvalidArgument(
                "projector, walker, reconciler and query need a state directory that they share",
                hint="give --state DIR or set REPOFOLD_STATE_DIR",
            )
        settings = msgspec.structs.replace(settings, state_dir=str(_caches(settings.nats_url)))
    Path(settings.state_dir).mkdir(parents=True, exist_ok=True, mode=0o700)
    return settings


def _caches(nats_url: str) -> Path:
    """Where workers without a state directory keep their caches: per user and server."""
    return state.base() / f"work-{xxhash.xxh3_64_hexdigest(nats_url.encode())[:12]}"
