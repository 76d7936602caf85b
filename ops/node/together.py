"""How do the query service and other workers run under one command?

The query service is no faust application and keeps a process of its own; this one only sees to it
that both run, and that one ends with the other.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence

from ops.node import process, workers
from ops.node.children import Reaper
from services.kernel.settings import Settings


def run_beside_query(settings: Settings, names: Sequence[str]) -> int:
    """Run the query service and the other workers as two processes until a signal, or one ends."""
    return asyncio.run(
        _run(settings, [[workers.QUERY], [name for name in names if name != workers.QUERY]])
    )


async def _run(settings: Settings, groups: Sequence[Sequence[str]]) -> int:
    loop = asyncio.get_running_loop()
    reaper = Reaper()
    lifeline, lifeline_end = os.pipe()
    exits: dict[int, asyncio.Future[int]] = {}
    for group in groups:
        command = workers.command(["work", *group, "--supervised"], settings)
        pid = process.start(
            process.replaced(*command), process.Pipes(lifeline=lifeline, output=1, errors=2)
        )
        exits[pid] = reaper.watch(pid)

    def stop() -> None:
        for pid, code in exits.items():
            if not code.done():
                os.kill(pid, signal.SIGTERM)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    await asyncio.wait(exits.values(), return_when=asyncio.FIRST_COMPLETED)
    stop()
    await asyncio.wait(exits.values())
    os.close(lifeline_end)
    return max(abs(code.result()) for code in exits.values())
