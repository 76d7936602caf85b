"""All workers of a node in one process, over a real broker: quick to start, exact to wait for."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

from contracts.errors import NotFound
from contracts.events.commands import AddRepo
from contracts.events.log import WalkFilters
from contracts.ids import RepoId
from services.embedder.main import assemble as embedder
from services.extractor.main import assemble as extractor
from services.kernel.bus import Bus
from services.kernel.provision import provision
from services.kernel.settings import Settings
from services.kernel.shell import Parts
from services.memory.main import assemble as memory
from services.projector.main import assemble as projector
from services.query.access import LOCAL
from services.query.catalogue import TOOLS
from services.query.host import Host, View
from services.reconciler.main import assemble as reconciler
from services.resolver.main import assemble as resolver
from services.walker.main import assemble as walker
from store.read.live import Snapshot
from tests.broker import Broker

Assemble = Callable[[Settings, Bus], Awaitable[Parts]]
WORKERS: dict[str, Assemble] = {
    "projector": projector,
    "memory": memory,
    "reconciler": reconciler,
    "walker": walker,
    "extractor": extractor,
    "embedder": embedder,
    "resolver": resolver,
}


class Node:
    """A running node."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.parts: dict[str, Parts] = {}
        self.bus = Bus(settings, "query")
        self.host = Host(settings, self.bus, "test")

    async def start(self, *names: str) -> None:
        for name in names or WORKERS:
            bus = Bus(self.settings, name)
            await bus.start()
            parts = await WORKERS[name](self.settings, bus)
            for service in parts.services:
                await service.start()
            self.parts[name] = parts

    async def stop(self, *names: str) -> None:
        for name in names or reversed(list(self.parts)):
            parts = self.parts.pop(name)
            for service in reversed(parts.services):
                await service.stop()
            if parts.on_stop is not None:
                await parts.on_stop()
            await parts.bus.stop()

    async def call(self, tool: str, **arguments: Any) -> Any:
        declared = TOOLS[tool]
        return await declared.body(View(self.host, LOCAL), declared.arguments.read(arguments))

    async def add(
        self, root: Path, repo_id: str = "demo", filters: WalkFilters | None = None
    ) -> None:
        command = AddRepo(
            repo_id=RepoId(repo_id),
            root=str(root),
            filters=filters or WalkFilters(),
            principal="test",
        )
        await self.host.command(repo_id, command)

    async def until(self, holds: Callable[[Snapshot], bool], seconds: float = 30) -> None:
        """Wait until the projection satisfies a condition."""
        with anyio.fail_after(seconds):
            while True:
                folded = self.host.folded
                with contextlib.suppress(NotFound), self.host.read() as snapshot:
                    if holds(snapshot):
                        return
                with anyio.move_on_after(0.5):
                    await folded.wait()

    async def indexed(self, repo_id: str = "demo", seconds: float = 60) -> None:
        """Wait until the newest pass is over and all vectors are in."""

        def done(snapshot: Snapshot) -> bool:
            row, state = snapshot.repo(repo_id), snapshot.newest_pass(repo_id)
            if row is None or state is None or state.status == "Running":
                return False
            return row.counters.embedded == row.counters.wanted

        await self.until(done, seconds)

    def paths(self, repo_id: str = "demo") -> list[str]:
        with self.host.read() as snapshot:
            return [row.path for row in snapshot.files(repo_id)]


@contextlib.asynccontextmanager
async def node(broker: Broker, state: Path, root: Path, **changes: Any) -> AsyncIterator[Node]:
    """A node on a provisioned broker; `changes` are settings."""
    settings = Settings(
        state_dir=str(state), nats_url=broker.url, workspace_roots=(str(root),),
        **{"watch": False, "reconcile_seconds": 3600, **changes},
    )  # fmt: skip
    running = Node(settings)
    await running.bus.start()
    await provision(running.bus)
    await running.host.start()
    await running.start()
    try:
        yield running
    finally:
        await running.stop()
        await running.host.stop()
