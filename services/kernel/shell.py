"""What is a worker process? The only importer of faust.

A `faust.App` with Kafka switched off gives the process its life: signals, ordered start and stop,
a crash that ends it with code 1. Inside it, mode services hold the message path (consumer.py).
Faust's own agents, streams, tables and topics are not used: they lose messages (docs/adr). One service
more tells what the process counts (reporter.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from typing import Any

import uvloop

from services.kernel import lean, logs, memory
from services.kernel.bus import Bus
from services.kernel.reporter import Reporter
from services.kernel.settings import Settings

_UNUSED = ("aiohttp", "aiokafka")  # by the parts of faust that are used here
with lean.hollow(*_UNUSED), lean.without("yaml"):
    import faust
    from faust.app.base import BootStrategy
    from mode import Service, Worker

log = logs.get(__name__)
_LAST_WORD_S = 2.0


class Parts:
    """What one worker puts into its process: services to run, and a bus as its own NATS user."""

    def __init__(
        self,
        name: str,
        bus: Bus,
        services: Sequence[Service],
        on_stop: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.name = name
        self.bus = bus
        self.services = list(services)
        self.on_stop = on_stop


Assemble = Callable[[Settings, Bus], Awaitable[Parts]]


class _NoKafka(BootStrategy):
    enable_kafka = False
    enable_sensors = False  # its monitor samples every second, for nobody


class _NoHttp:
    """In the place of aiohttp's client, which would be imported by its name."""


class WorkerApp(faust.App):
    """One process of one or more workers."""

    BootStrategy = _NoKafka

    def __init__(self, settings: Settings, workers: dict[str, Assemble]) -> None:
        self._settings = settings
        self._workers = workers
        self._parts: list[Parts] = []
        self._reporter: Reporter | None = None
        super().__init__(
            "repofold-" + "-".join(workers),
            broker="memory://",
            datadir=tempfile.gettempdir(),
            web_enabled=False,
            topic_disable_leader=True,
            autodiscover=False,
            HttpClient=_NoHttp,
        )

    async def on_start(self) -> None:  # the stock method builds a Kafka consumer here
        self.finalize()
        for name, assemble in self._workers.items():
            bus = Bus(self._settings, name)
            await bus.start()
            bus.when_closed(self._connection_lost)
            parts = await assemble(self._settings, bus)
            self._parts.append(parts)
            for service in parts.services:
                await self.add_runtime_dependency(service)
        if self._parts:  # one of them tells what the process counts
            self._reporter = Reporter(self._parts[0].bus, self._parts[0].name)
            await self.add_runtime_dependency(self._reporter)
        self.add_future(memory.keep_tidy())
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
        log.info("worker_started", workers=list(self._workers))

    def _connection_lost(self) -> None:
        # The supervisor starts the process anew; one without a connection would look alive for ever.
        asyncio.get_running_loop().create_task(
            self.crash(RuntimeError("the broker closed the connection"))
        )

    async def on_shutdown(self) -> None:
        if self._reporter is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._reporter.report(), _LAST_WORD_S)
        for parts in reversed(self._parts):
            if parts.on_stop is not None:
                await parts.on_stop()
            await parts.bus.stop()
        await super().on_shutdown()


@cache
def warm() -> None:
    """Have faust import what it imports only once an application asks for it.

    Once, in a process that forks workers, instead of in each of them.
    """
    with lean.hollow(*_UNUSED):
        _ = WorkerApp(Settings(), {}).conf


def run(settings: Settings, workers: dict[str, Assemble]) -> int:
    """Run the chosen workers in this process until SIGTERM or SIGINT; returns the exit code."""
    loop = uvloop.new_event_loop()
    asyncio.set_event_loop(loop)
    warm()
    app = WorkerApp(settings, workers)
    worker = _QuietWorker(
        app, loop=loop, loglevel="error", override_logging=False, redirect_stdouts=False
    )
    try:
        worker.execute_from_commandline()
    except SystemExit as exit_:
        return int(exit_.code or 0) if not isinstance(exit_.code, str) else 1


class _QuietWorker(Worker):
    """mode's worker without its banner and its second of sleep at the end."""

    def on_init_dependencies(self) -> Any:
        return self.services

    async def _sentinel_task(self) -> None:  # pragma: no cover - mode's wake-up poll, not needed
        return

    def _setup_logging(self) -> None:
        return
