"""A real nats-server with the workers' users and their permissions, as a node runs it."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from ops.node.broker import Broker
from ops.node.state import State
from services.kernel.bus import Bus
from services.kernel.settings import Settings


@contextlib.contextmanager
def guarded(folder: Path) -> Iterator[Settings]:
    """Run it; yields settings that reach it."""
    state = State(folder)
    state.prepare()
    broker = Broker(state)
    broker.prepare()
    process = subprocess.Popen(broker.command())
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", broker.port), 0.2),
            ):
                break
        yield Settings(state_dir=str(folder), nats_url=broker.url, nats_users_file=str(state.users))
    finally:
        process.terminate()
        process.wait(20)


@contextlib.asynccontextmanager
async def connected(settings: Settings, user: str) -> AsyncIterator[Bus]:
    bus = Bus(settings, user)
    await bus.start(10.0)
    try:
        yield bus
    finally:
        await bus.stop()
