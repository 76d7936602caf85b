"""Which options do commands share, and what do they mean?"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from contracts.errors import NotFound, Unavailable
from ops.node import lock, state
from ops.node.state import State
from services.kernel.settings import Settings, from_environment


def add_state(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--state",
        metavar="DIR",
        help="state directory (default: per user, one per set of repositories)",
    )


def add_place(parser: argparse.ArgumentParser) -> None:
    """Arguments that say which state directory is meant, by itself or by what `up` was given."""
    parser.add_argument("--state", metavar="DIR", help="state directory (default: that of --root)")
    parser.add_argument(
        "--root",
        metavar="PATH",
        action="append",
        help="the PATH that `up` was given, or a folder in it (default: this folder)",
    )


def add_offer(parser: argparse.ArgumentParser) -> None:
    """Arguments that say what a node offers and follows."""
    parser.add_argument(
        "--profile",
        metavar="NAME",
        help="tools to list: full, agent, read, repocontext, memory, codemap (default: full over HTTP, agent on stdio)",
    )
    parser.add_argument("--no-watch", action="store_true", help="do not follow file events")
    parser.add_argument(
        "--read-only", action="store_true", help="offer no tool that changes anything"
    )
    parser.add_argument(
        "--workspace-root",
        metavar="DIR",
        action="append",
        default=[],
        help="repositories below DIR may be added at run time",
    )


def add_broker(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    parser.add_argument(
        "--nats",
        metavar="URL",
        required=required,
        help="use this NATS server, nats://host:port[,…]",
    )
    parser.add_argument(
        "--nats-users", metavar="FILE", help="users file that `repofold provision` wrote"
    )


def named_state(given: str | None) -> State | None:
    """The state directory that --state or the environment names."""
    named = given or os.environ.get("REPOFOLD_STATE") or from_environment().state_dir
    return State(Path(named).expanduser().resolve()) if named else None


def find_state(given: str | None, paths: Sequence[str] | None = None) -> State:
    """The state directory that is named, or that the paths (default: this folder) mean.

    Several paths mean the node of that very set; one path any node whose repositories hold it.
    """
    named = named_state(given)
    if named is not None:
        return named
    roots = state.resolve_roots(paths or ["."])
    known = _serving(roots[0]) if len(roots) == 1 else None
    return State(known or state.default(roots))


def indexed_state(args: argparse.Namespace) -> State:
    """As `find_state`, for commands that need one where something was indexed.

    Raises NotFound when there is none, naming the nodes that run elsewhere.
    """
    found = find_state(args.state, args.root)
    if found.info.exists() or found.projections.exists():
        return found
    running = sorted(_running_roots())
    start = "start one with `repofold up PATH`"
    others = f"--root {running[0]} means the node that runs there; or {start}" if running else start
    if named_state(args.state) is not None:
        raise NotFound(f"no node ever ran on {found.root}", hint=others)
    places = ", ".join(map(str, state.resolve_roots(args.root or ["."])))
    raise NotFound(f"no node ever ran for {places}", hint=others)


def _running_roots() -> Iterator[str]:
    for info in state.base().glob("*/node.json"):
        told = lock.last_holder(info.parent)
        if told is not None and lock.alive(told.pid):
            yield from told.roots[:1]


def _serving(path: Path) -> Path | None:
    """Among the user's state directories, the one whose roots hold `path`: a running one, then the closest."""
    best: tuple[bool, int, Path] | None = None
    for info in state.base().glob("*/node.json"):
        told = lock.last_holder(info.parent)
        if told is None:
            continue
        closest = max((len(root) for root in told.roots if path.is_relative_to(root)), default=0)
        if closest:
            candidate = (lock.alive(told.pid), closest, info.parent)
            best = candidate if best is None else max(best, candidate)
    return None if best is None else best[2]


def base_settings(args: argparse.Namespace) -> Settings:
    """Settings of the environment with the broker options of the command line over them."""
    settings = from_environment()
    changes: dict[str, str] = {}
    if getattr(args, "nats", None):
        changes["nats_url"] = args.nats
    if getattr(args, "nats_users", None):
        changes["nats_users_file"] = str(Path(args.nats_users).expanduser().resolve())
    return msgspec.structs.replace(settings, **changes)


def running_node(args: argparse.Namespace) -> Settings:
    """Settings that reach the broker of --nats, or of the node that runs on the state directory.

    Raises NotFound or Unavailable when there is neither.
    """
    settings = base_settings(args)
    if settings.nats_url:
        found = find_state(args.state, args.root)
        return msgspec.structs.replace(settings, state_dir=str(found.root))
    found = indexed_state(args)
    settings = msgspec.structs.replace(settings, state_dir=str(found.root))
    told = lock.holder(found)
    if told is None or not told.nats_url:
        state_of_it = "no node runs" if told is None else "a node is just starting"
        raise Unavailable(
            f"{state_of_it} on {found.root}",
            hint="start one with `repofold up PATH`, or give --root PATH, --state DIR or --nats URL",
        )
    return msgspec.structs.replace(
        settings, nats_url=told.nats_url, nats_users_file=told.nats_users_file, node=told.node
    )


@contextmanager
def any_broker(args: argparse.Namespace) -> Iterator[Settings]:
    """As `running_node`; without a running node its broker is started for the time of the block."""
    from ops.node.standalone import broker_alone

    found = find_state(args.state, args.root)
    if base_settings(args).nats_url or lock.holder(found) is not None or not found.nats.exists():
        yield running_node(args)
        return
    with broker_alone(found, base_settings(args)) as settings:
        yield settings
