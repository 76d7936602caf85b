"""`repofold provision`: make a NATS server of your own ready for the workers."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from contracts.errors import InvalidArgument
from ops.node import credentials
from ops.node.onboarding import Onboarding
from ops.node.options import base_settings
from ops.node.state import resolve_roots
from services.kernel import logs
from services.kernel.bus import Bus
from services.kernel.provision import provision
from services.kernel.settings import Settings

_PATIENCE_S = 30.0  # a server that is started beside this may need a moment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "In two steps: first `provision --users users.json --conf users.conf`, and put\n"
        "`authorization { include users.conf }` into the server's configuration; then, with the server\n"
        "running, `provision --nats nats://host:4222 --users users.json`. Workers take the same file with\n"
        "--nats-users. Without --users the URL's own credentials are used for everything."
    )
    parser.add_argument(
        "--nats", metavar="URL", help="create or update streams and consumers there"
    )
    parser.add_argument(
        "--users", metavar="FILE", help="passwords of the workers' users; made if missing"
    )
    parser.add_argument(
        "--conf", metavar="FILE", help="write the users block for nats.conf; - prints it"
    )
    parser.add_argument(
        "--replicas", type=int, metavar="N", help="copies of every stream (default: 1)"
    )
    parser.add_argument(
        "--register", metavar="PATH", action="append", default=[],
        help="then have this repository indexed; walkers must see it under the same path",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Write what was asked for, then bring the server into shape; running it again changes nothing."""
    logs.configure("warning", as_json=False, worker="provision")
    settings = _settings(args)
    if not (settings.nats_url or args.users):
        raise InvalidArgument(
            "there is nothing to do", hint="give --nats URL, or --users FILE --conf FILE"
        )
    if args.conf and not settings.nats_users_file:
        raise InvalidArgument(
            "--conf needs --users FILE", hint="the block holds that file's passwords"
        )
    roots = resolve_roots(args.register)
    if settings.nats_users_file:
        passwords = credentials.ensure(Path(settings.nats_users_file))
        _write_conf(args.conf, credentials.users_block(passwords))
    changed = asyncio.run(_provision(settings, roots)) if settings.nats_url else []
    if args.json:
        print(json.dumps({"changed": changed}))
    elif args.conf != "-":
        print(
            "\n".join(changed) or "nothing to change" if settings.nats_url else "users are written"
        )
    return 0


def _settings(args: argparse.Namespace) -> Settings:
    settings = base_settings(args)
    changes: dict[str, object] = {}
    if args.users:
        changes["nats_users_file"] = str(Path(args.users).expanduser().resolve())
    if args.replicas is not None:
        changes["replicas"] = args.replicas
    return msgspec.structs.replace(settings, **changes)


def _write_conf(target: str | None, block: str) -> None:
    if target == "-":
        sys.stdout.write(block)
    elif target:
        path = Path(target).expanduser()
        path.unlink(missing_ok=True)
        credentials.create_once(path, block.encode())


async def _provision(settings: Settings, roots: Sequence[Path]) -> list[str]:
    bus = Bus(settings, "ops")
    print(f"reaching {settings.nats_url}, for {_PATIENCE_S:.0f} s at most", file=sys.stderr)
    await bus.start(_PATIENCE_S)
    try:
        changed = await provision(bus, replicas=settings.replicas)
        await Onboarding(bus, settings.node).run(roots)
    finally:
        await bus.stop()
    return changed + [f"registered {root}" for root in roots]
