"""What can be wrong with a node, and what is to be done about each of it?

A check answers with what it found; only "failed" means that something does not work.
"""

from __future__ import annotations

import os
import platform
import stat
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from msgspec import Struct

from contracts.errors import Fault, NotFound, Unavailable
from contracts.subjects import DEAD, DURABLES, INDEX, LOG, STREAMS
from ops.commands.init import CLIENTS, NAME
from ops.node.broker import binary, is_free
from ops.node.lock import Holder
from ops.node.state import State
from services.kernel.bus import Bus
from services.kernel.settings import Settings
from store.read.live import Projections

Verdict = Literal["fine", "note", "failed"]

_LEAST_PAYLOAD = 4 << 20
_LEAST_SPACE = 1 << 30
_LEAST_WATCHES = 65_536
_LAG_NOTED = 1_000
_HTTP_S = 3.0
_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")


class Check(Struct, frozen=True, kw_only=True):
    """What one look found."""

    name: str
    verdict: Verdict
    found: str
    next: str = ""  # what to do; "" when nothing is


def fine(name: str, found: str) -> Check:
    return Check(name=name, verdict="fine", found=found)


def note(name: str, found: str, hint: str = "") -> Check:
    return Check(name=name, verdict="note", found=found, next=hint)


def failed(name: str, found: str, hint: str) -> Check:
    return Check(name=name, verdict="failed", found=found, next=hint)


def installation(*, own_broker: bool) -> Iterator[Check]:
    """Python, this product, the bundled broker, the system's limits."""
    try:
        product = version("repofold")
    except PackageNotFoundError:
        product = "not installed, run from a checkout"
    yield fine(
        "program", f"repofold {product}, Python {platform.python_version()} at {sys.executable}"
    )
    if own_broker:
        try:
            yield fine("broker program", binary())
        except Unavailable as fault:
            yield failed("broker program", fault.message, fault.hint)
    if _WATCHES.exists():
        watches = int(_WATCHES.read_text())
        if watches < _LEAST_WATCHES:
            yield note(
                "watch limit",
                f"{watches:,} folders can be watched; beyond that trees are walked now and then",
                "raise it: sudo sysctl fs.inotify.max_user_watches=524288",
            )
        else:
            yield fine("watch limit", f"{watches:,} folders")


def place(state: State, holder: Holder | None) -> Iterator[Check]:
    """The state directory, its disk, its tokens, and who holds it."""
    if not state.root.exists():
        yield note(
            "state directory",
            f"{state.root} does not exist yet",
            "start `repofold up PATH`; --root PATH looks at the node of another folder",
        )
        return
    if not state.info.exists():
        yield note(
            "state directory", f"no node ever ran on {state.root}", "start `repofold up PATH`"
        )
        return
    try:
        state.prepare()
        yield fine("state directory", str(state.root))
    except Fault as fault:
        yield failed("state directory", fault.message, fault.hint)
    free = state.free_bytes()
    if free < _LEAST_SPACE:
        yield note(
            "disk",
            f"{free >> 20:,} MB left",
            "free some space: a node stops before the disk is full",
        )
    else:
        yield fine("disk", f"{free >> 30:,} GB left")
    yield _tokens(state)
    if holder is None:
        yield note("node", "none runs", "start `repofold up PATH`")
    else:
        yield fine("node", f"process {holder.pid}, {len(holder.processes)} processes under it")


def _tokens(state: State) -> Check:
    try:
        mode = stat.S_IMODE(state.tokens.stat().st_mode)
    except FileNotFoundError:
        return note("tokens", "not made yet; the first start with HTTP makes them")
    if mode & 0o077:
        return failed(
            "tokens", f"others may read {state.tokens} ({mode:o})", f"chmod 600 {state.tokens}"
        )
    return fine("tokens", f"{state.tokens}, for its owner alone")


def endpoint(holder: Holder | None, settings: Settings) -> Check:
    """Whether the MCP endpoint answers, or could be opened."""
    if holder is not None and holder.url:
        target = holder.url.removesuffix("/mcp") + "/ready"
        try:
            with urllib.request.urlopen(target, timeout=_HTTP_S):  # noqa: S310 - our own node's URL
                return fine("endpoint", f"{holder.url} serves")
        except urllib.error.HTTPError as error:
            return note(
                "endpoint",
                f"{holder.url} is not ready: {error.read(300).decode(errors='replace')}",
                "wait, then look again",
            )
        except OSError as error:
            return failed(
                "endpoint",
                f"{holder.url} does not answer: {error}",
                "look at the node's output; start it again",
            )
    if holder is not None:
        return fine("endpoint", "this node serves its stdio clients only")
    if not is_free(settings.host, settings.port):
        return note(
            "endpoint",
            f"port {settings.port} is taken",
            "`repofold up` will choose another; or give --port N",
        )
    return fine("endpoint", f"port {settings.port} is free")


async def broker(bus: Bus, state: State) -> list[Check]:
    """Streams, limits, dead letters, and how far the projections are behind."""
    checks: list[Check] = []
    payload = bus.client.max_payload
    if payload < _LEAST_PAYLOAD:
        checks.append(
            failed(
                "message size",
                f"the server takes {payload:,} bytes at most",
                "set max_payload: 8MB in nats.conf",
            )
        )
    else:
        checks.append(fine("message size", f"{payload >> 20} MB"))
    tails: dict[str, int] = {}
    missing: list[str] = []
    for spec in STREAMS:
        try:
            info = await bus.api(f"STREAM.INFO.{spec.name}", {})
        except Unavailable:
            missing.append(f"stream {spec.name}")
            continue
        tails[spec.name] = info["state"]["last_seq"]
        if spec.name == DEAD:
            checks.append(_dead(info["state"]["messages"]))
    for durable in DURABLES:
        try:
            await bus.api(f"CONSUMER.INFO.{durable.stream}.{durable.name}", {})
        except Unavailable:
            missing.append(f"consumer {durable.name}")
    if missing:
        checks.append(
            failed(
                "streams",
                f"missing: {', '.join(missing)}",
                "run `repofold provision --nats URL`, or start the node again",
            )
        )
    else:
        checks.append(fine("streams", f"{len(STREAMS)} streams, {len(DURABLES)} consumers"))
    checks.append(projections(state, tails))
    return checks


def _dead(count: int) -> Check:
    if count:
        return note(
            "dead letters",
            f"{count} messages failed for good",
            "`repofold dead list` shows them and why",
        )
    return fine("dead letters", "none")


def projections(state: State, tails: dict[str, int]) -> Check:
    """Whether the projections can be read, and how far they are behind the streams' tails (if known)."""
    try:
        with Projections(state.projections).read() as snapshot:
            position = snapshot.positions()
            repos = sum(row.state != "removed" for row in snapshot.repos())
    except NotFound:
        return note("projections", "nothing was folded yet", "start `repofold up PATH`")
    except Exception as error:  # noqa: BLE001 - whatever a broken environment makes lmdb or msgspec say
        return failed(
            "projections",
            f"cannot be read: {error}",
            "run `repofold replay`: the streams hold everything",
        )
    lag = max(tails.get(LOG, 0) - position.log, 0) + max(tails.get(INDEX, 0) - position.index, 0)
    found = f"{repos} {'repository' if repos == 1 else 'repositories'}"
    if tails:
        found += f", {lag:,} events behind"
    if lag > _LAG_NOTED:
        return note(
            "projections", found, "indexing goes on; if this stays, start the node with --verbose"
        )
    return fine("projections", found)


def clients(project: Path) -> Check:
    """Which MCP clients were told of this server."""
    told = []
    for client in CLIENTS.values():
        for path in (project / client.project, client.user(Path.home())):
            try:
                if NAME in path.read_text(errors="replace"):
                    told.append(client.title)
                    break
            except OSError:
                continue
    if told:
        return fine("clients", f"configured: {', '.join(told)}")
    return note("clients", "no MCP client knows this server", "run `repofold init --client all`")


def environment() -> Check:
    """Whether the command line would be the same in another shell."""
    names = sorted(name for name in os.environ if name.startswith("REPOFOLD_"))
    return fine("environment", ", ".join(names) or "no REPOFOLD_ variable is set")
