"""How does a command read the streams of a state directory that no node runs on?"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from contracts.envelope import now_ms
from ops.node import lock
from ops.node.broker import Broker
from ops.node.state import State
from services.kernel.settings import Settings


@contextmanager
def broker_alone(state: State, settings: Settings) -> Iterator[Settings]:
    """Hold the state directory and run its broker; yields the settings that reach it."""
    state.prepare()
    broker = Broker(state)
    held = lock.acquire(state, broker.stop_orphan)
    told = lock.last_holder(state.root)
    try:
        broker.stop_orphan()
        broker.prepare()
        held.tell(
            lock.Holder(pid=os.getpid(), started_ms=now_ms(), roots=told.roots if told else ())
        )
        pid = broker.start(held.descriptor)
        try:
            yield msgspec.structs.replace(
                settings,
                state_dir=str(state.root),
                nats_url=broker.url,
                nats_users_file=str(state.users),
            )
        finally:
            os.kill(pid, signal.SIGINT)
            os.waitpid(pid, 0)
    finally:
        held.release()
