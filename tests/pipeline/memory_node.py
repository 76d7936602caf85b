"""Several memory workers and a projector in one process, over a real broker: memory alone."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from contracts.events.memory import (
    ClaimNote,
    ForgetNote,
    NotePatch,
    NoteReply,
    ReleaseClaim,
    RememberNote,
    RenewClaim,
)
from contracts.ids import RepoId
from services.kernel.bus import Bus
from services.kernel.provision import provision
from services.kernel.settings import Settings
from services.kernel.shell import Parts
from services.memory.main import assemble as memory
from services.projector.main import assemble as projector
from services.query.access import LOCAL
from services.query.catalogue import TOOLS
from services.query.host import Host, View
from tests.broker import Broker

REPO = RepoId("demo")


class MemoryNode:
    """A query service beside the workers that its commands need."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.workers: list[Parts] = []
        self.bus = Bus(settings, "query")
        self.host = Host(settings, self.bus, "test")

    async def start(self, kind: Any) -> Parts:
        name = "projector" if kind is projector else "memory"
        bus = Bus(self.settings, name)
        await bus.start()
        parts: Parts = await kind(self.settings, bus)
        for service in parts.services:
            await service.start()
        self.workers.append(parts)
        return parts

    async def start_memory(self) -> Parts:
        return await self.start(memory)

    async def stop(self, parts: Parts) -> None:
        self.workers.remove(parts)
        for service in reversed(parts.services):
            await service.stop()
        if parts.on_stop is not None:
            await parts.on_stop()
        await parts.bus.stop()

    async def call(self, tool: str, **arguments: Any) -> Any:
        declared = TOOLS[tool]
        return await declared.body(View(self.host, LOCAL), declared.arguments.read(arguments))

    # -- commands, as the tools send them --------------------------------------------------------

    async def remember(self, item: str, **changes: Any) -> NoteReply:
        patch = {name: changes.pop(name) for name in ("title", "body") if name in changes}
        command = RememberNote(
            repo_id=REPO, topic="t", id=item, principal="test", patch=NotePatch(**patch), **changes
        )
        return await self.host.note_command(command)

    async def forget(self, item: str, **changes: Any) -> NoteReply:
        command = ForgetNote(repo_id=REPO, topic="t", id=item, principal="test", **changes)
        return await self.host.note_command(command)

    async def claim(
        self, item: str, owner: str = "somebody", *, lease_s: float = 30.0, wait_s: float = 0.0
    ) -> NoteReply:
        command = ClaimNote(
            repo_id=REPO, topic="t", id=item, principal="test", owner=owner,
            lease_ms=int(lease_s * 1000), wait_ms=int(wait_s * 1000),
        )  # fmt: skip
        return await self.host.note_command(command, wait_s=wait_s)

    async def renew(self, item: str, token: int, *, lease_s: float = 30.0) -> NoteReply:
        command = RenewClaim(
            repo_id=REPO, topic="t", id=item, principal="test", token=token,
            lease_ms=int(lease_s * 1000),
        )  # fmt: skip
        return await self.host.note_command(command)

    async def release(self, item: str, token: int) -> NoteReply:
        command = ReleaseClaim(repo_id=REPO, topic="t", id=item, principal="test", token=token)
        return await self.host.note_command(command)


@contextlib.asynccontextmanager
async def memory_node(
    broker: Broker, *, memory_workers: int = 1, state: Path | None = None, **changes: Any
) -> AsyncIterator[MemoryNode]:
    """A memory node on a broker of its own; `changes` are settings."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            state_dir=str(state or folder), nats_url=broker.url, mode="workspace", **changes
        )
        node = MemoryNode(settings)
        await node.bus.start()
        await provision(node.bus)
        await node.host.start()
        await node.start(projector)
        for _ in range(memory_workers):
            await node.start_memory()
        while not node.host.ready()[0]:
            await asyncio.sleep(0.01)
        try:
            yield node
        finally:
            for parts in reversed(list(node.workers)):
                await node.stop(parts)
            await node.host.stop()


def token_of(reply: NoteReply) -> int:
    """The token of a grant; 0 of a lost claim."""
    return 0 if reply.reason or reply.note is None else reply.note.claim.fence
