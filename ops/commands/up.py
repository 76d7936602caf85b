"""`repofold up`: index and serve, in the foreground."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, cast

import msgspec

from contracts.errors import InvalidArgument, Unavailable
from ops.node import broker, lock
from ops.node.options import add_broker, add_offer, add_state, base_settings, named_state
from ops.node.state import State, default, resolve_roots
from services.kernel.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="repositories to index (default: this folder)"
    )
    add_state(parser)
    parser.add_argument(
        "--port",
        type=int,
        help="port of the MCP endpoint; 0 = any free one (default: 8765, or any when that is taken)",
    )
    parser.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    add_broker(parser)
    add_offer(parser)
    parser.add_argument("--verbose", action="store_true", help="log what happens")
    parser.add_argument("--no-http", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--bound-to-input", action="store_true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Run a node until a signal ends it."""
    roots, workspace_roots = chosen_roots(args.paths, args.workspace_root)
    settings = node_settings(args, roots, workspace_roots)
    state = State(Path(settings.state_dir))
    _known_choices(settings)
    state.prepare()
    own = broker.Broker(state)
    held = lock.acquire(state, own.stop_orphan)
    try:
        if not args.no_http:
            settings = msgspec.structs.replace(settings, port=chosen_port(args, settings))
        own.stop_orphan()
        pid = 0
        if not settings.nats_url:
            own.prepare()
            pid = own.start(held.descriptor)
        # What runs the rest is imported while the broker starts.
        from ops.node import screen, supervisor
        from services.kernel import logs

        logs.configure(settings.log_level, as_json=settings.log_json, worker="node")
        plan = supervisor.Plan(
            settings=settings,
            roots=tuple(roots),
            http=not args.no_http,
            bound_to_input=args.bound_to_input,
        )
        shown = screen.choose(verbose=args.verbose, as_json=args.json)
        running = supervisor.OwnBroker(own, pid) if pid else None
        return supervisor.run(supervisor.Node(plan, state, held, shown, _ready, running))
    finally:
        held.release()


def _ready(url: str) -> None:
    print(f"ready {url}", flush=True)


def chosen_roots(paths: list[str], workspace: list[str]) -> tuple[list[Path], list[Path]]:
    """Repositories to index, and the roots below which repositories may be added."""
    roots = resolve_roots(paths or ([] if workspace else ["."]))
    workspace_roots = resolve_roots(workspace) or roots
    for root in roots:
        if not any(root.is_relative_to(allowed) for allowed in workspace_roots):
            raise InvalidArgument(
                f"{root} is not below --workspace-root",
                hint="add another --workspace-root DIR for it",
            )
    return roots, workspace_roots


def node_settings(
    args: argparse.Namespace, roots: list[Path], workspace_roots: list[Path]
) -> Settings:
    """The settings of the environment, with the command line's over them."""
    settings = base_settings(args)
    named = named_state(args.state)
    state_dir = named.root if named else default({*roots, *workspace_roots})
    single = len(roots) == 1 and not args.workspace_root
    changes: dict[str, object] = {
        "state_dir": str(state_dir),
        "workspace_roots": tuple(map(str, workspace_roots)),
        "mode": "single" if single else "workspace",
        "watch": settings.watch and not args.no_watch,
        "read_only": settings.read_only or args.read_only,
        "host": args.host or settings.host,
        "port": settings.port if args.port is None else args.port,
        "profile": args.profile or settings.profile,
    }
    if args.verbose and settings.log_level == "warning":
        changes["log_level"] = "info"
    return msgspec.structs.replace(settings, **changes)


def _known_choices(settings: Settings) -> None:
    """Refuse here what the query service would refuse at each of its starts."""
    default = Settings()
    if (settings.profile, settings.results) == (default.profile, default.results):
        return
    from services.query.catalogue import TOOLS
    from services.query.registry import FULL
    from services.query.visibility import Policy, Visibility

    results = cast("Any", settings.results)  # checked there, with the profile
    Visibility(TOOLS, Policy(profile=settings.profile or FULL, results=results))


def chosen_port(args: argparse.Namespace, settings: Settings) -> int:
    """The port asked for; the default one gives way to a free one when it is taken."""
    port = settings.port
    if not 0 <= port <= 65_535:
        raise InvalidArgument(f"there is no port {port}", hint="give --port 0 to 65535")
    if port == 0 or broker.is_free(settings.host, port):
        return port
    if args.port is not None or port != Settings().port:
        raise Unavailable(
            f"port {port} is taken", hint="give another --port N; --port 0 takes any free one"
        )
    print(f"port {port} is taken, choosing a free one", file=sys.stderr)
    return 0
