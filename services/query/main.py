"""The query service: answers over MCP, by HTTP or stdio. Never writes a projection.

reads     this node's LMDB environment; node.<node>.folded to know when it moved
          PROGRESS progress.-.metrics.>    what the workers count, for /metrics
produces  CMD cmd.repo.<repo>, and waits until the fact is folded before it answers
"""

from __future__ import annotations

import asyncio
import signal
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import uvloop
from mcp.server.lowlevel import Server

from contracts.errors import Fault
from services.kernel import logs, memory
from services.kernel.bus import Bus
from services.kernel.settings import Settings
from services.query.access import StaticTokens, load_or_create_tokens
from services.query.catalogue import TOOLS
from services.query.host import Host, View
from services.query.mcp import build_server, local_caller, token_caller
from services.query.metrics import Metrics
from services.query.registry import FULL
from services.query.visibility import Policy

log = logs.get(__name__)


def product_version() -> str:
    try:
        return version("repofold")
    except PackageNotFoundError:
        return "0"


def policy_of(settings: Settings) -> Policy:
    """What the settings offer to clients."""
    return Policy(
        mode="workspace" if settings.mode == "workspace" else "single",
        writes=not settings.read_only,
        workspace_root=bool(settings.workspace_roots),
        profile=settings.profile or FULL,
        results=settings.results,  # type: ignore[arg-type]  # checked by Policy's user
    )


def repository_of(settings: Settings) -> str:
    """The id of the one repository that is served; "" where there may be several.

    As the node names it that registers its one root (ops/node/onboarding.py).
    """
    single = settings.mode == "single" and len(settings.workspace_roots) == 1
    return (Path(settings.workspace_roots[0]).name or "root") if single else ""


def _server(host: Host, settings: Settings, metrics: Metrics, callers: Any) -> Server[Any]:
    return build_server(
        TOOLS,
        lambda caller: View(host, caller),
        policy_of(settings),
        version=product_version(),
        repository=repository_of(settings),
        callers=callers,
        observer=metrics,
    )


async def _open(settings: Settings, worker: str = "query") -> Host:
    bus = Bus(settings, worker)
    host = Host(settings, bus, product_version())
    await bus.start()
    await host.start()
    return host


def run(settings: Settings) -> int:
    """Serve over HTTP until SIGTERM; prints `ready <url>` on standard output once it answers."""
    try:
        return uvloop.run(_serve_http(settings))
    except Fault as fault:
        sys.stderr.write(f"{fault.code}: {fault.message}\n{fault.hint}\n")
        return 1


async def _serve_http(settings: Settings) -> int:
    from services.query.http import Site, build_app
    from services.query.serve import serve_http

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    opening = asyncio.create_task(_open(settings))
    done, _ = await asyncio.wait(
        {opening, asyncio.create_task(stop.wait())}, return_when=asyncio.FIRST_COMPLETED
    )
    if opening not in done:
        opening.cancel()
        return 0
    host = opening.result()
    metrics = Metrics(host)
    await metrics.start(host.bus)
    tidying = asyncio.create_task(memory.keep_tidy())
    tokens = StaticTokens(load_or_create_tokens(settings.state / "tokens.json"))

    def ready() -> str:
        serving, reason = host.ready()
        return "" if serving else reason

    app = build_app(
        _server(host, settings, metrics, token_caller),
        Site(
            host=settings.host,
            names=settings.allowed_hosts,
            tokens=tokens,
            version=host.version,
            ready=ready,
            metrics=metrics.scrape,
        ),
    )

    def announce(base_url: str) -> None:
        sys.stdout.write(f"ready {base_url}/mcp\n")
        sys.stdout.flush()

    try:
        await serve_http(app, host=settings.host, port=settings.port, on_ready=announce, stop=stop)
    finally:
        tidying.cancel()
        metrics.stop()
        await host.stop()
    return 0


def run_stdio(settings: Settings) -> int:
    """Serve one client over standard input and output until it closes its end."""
    return uvloop.run(_serve_stdio(settings))


async def _serve_stdio(settings: Settings) -> int:
    from services.query.stdio import serve_stdio

    bus = Bus(settings, "query")
    host = Host(settings, bus, product_version())
    connecting = asyncio.create_task(_connect(bus, host))
    try:
        await serve_stdio(_server(host, settings, Metrics(host), local_caller))
    finally:
        connecting.cancel()
        if connecting.done() and not connecting.cancelled():
            await host.stop()
    return 0


async def _connect(bus: Bus, host: Host) -> None:
    """Connect beside serving: a client must get its handshake while the node still starts."""
    try:
        await bus.start()
        await host.start()
    except Fault as fault:
        log.warning("no_node", error=fault.message)
