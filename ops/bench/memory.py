"""How long does a durable write to memory take, and how many go through?

Commands go over the node's own broker, as the query service sends them, and are answered once the fact
is synced to disk and folded here; `tool` figures are the same over MCP.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path
from typing import Any

import msgspec

from contracts.events.memory import NotePatch, RememberNote
from contracts.ids import RepoId
from ops.bench.node import Node
from ops.node import lock
from ops.node.state import State
from services.kernel import logs
from services.kernel.bus import Bus
from services.kernel.settings import Settings
from services.query.host import Host

_WRITES = 400
_CLIENTS = 32
_EACH = 60
_TOOL_WRITES = 200
_BODY = "The build needs NATS 2.11 or newer; older ones lack direct reads of a subject. " * 4


def measure(path: Path, state: Path) -> dict[str, Any]:
    """Writes by one client, then by many at once; on a node of its own."""
    logs.configure("error", as_json=False, worker="bench")
    with Node(path, state) as node:
        node.wait_indexed()
        figures = asyncio.run(_commands(state))
        times = []
        for number in range(_TOOL_WRITES):
            began = time.perf_counter()
            node.client.call(
                "repocontext_remember", repoId="bench", topic="tool", id=str(number), body=_BODY
            )
            times.append(time.perf_counter() - began)
        return {**figures, **spread("tool_write_ms", times)}


async def _commands(state: Path) -> dict[str, Any]:
    told = lock.holder(State(state))
    assert told is not None
    settings = msgspec.structs.replace(
        Settings(state_dir=str(state)),
        nats_url=told.nats_url, nats_users_file=told.nats_users_file, node=told.node,
    )  # fmt: skip
    hosts = []
    for _ in range(2):
        bus = Bus(settings, "ops")
        await bus.start()
        hosts.append(Host(settings, bus, ""))
        await hosts[-1].start()
    try:
        times = [await _write(hosts[0], f"one-{number}") for number in range(_WRITES)]
        began = time.perf_counter()
        many = await asyncio.gather(
            *(_client(hosts[number % len(hosts)], number) for number in range(_CLIENTS))
        )
        elapsed = time.perf_counter() - began
    finally:
        for host in hosts:
            await host.stop()
    together = [one for client in many for one in client]
    return {
        **spread("write_ms", times),
        f"writes_per_s_{_CLIENTS}_clients": round(len(together) / elapsed),
        **spread(f"write_ms_{_CLIENTS}_clients", together),
    }


async def _client(host: Host, client: int) -> list[float]:
    return [await _write(host, f"{client}-{number}") for number in range(_EACH)]


async def _write(host: Host, item: str) -> float:
    command = RememberNote(
        repo_id=RepoId("bench"), topic="command", id=item, principal="bench",
        patch=NotePatch(title="A fact about the build", body=_BODY),
    )  # fmt: skip
    began = time.perf_counter()
    await host.note_command(command)
    return time.perf_counter() - began


def spread(name: str, seconds: list[float]) -> dict[str, Any]:
    """Median and 99th percentile in milliseconds."""
    ordered = sorted(seconds)
    worst = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return {
        f"{name}_median": round(statistics.median(ordered) * 1000, 2),
        f"{name}_p99": round(worst * 1000, 2),
    }
