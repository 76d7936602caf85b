"""How does one machine run the whole pipeline?

    broker                           nats-server, on the port of this state directory
    query                            the MCP endpoint
    projector                        the one writer of the projections
    pipeline                         walker, reconciler, memory, embedder, ann: little to do each
    resolver                         what names mean: busy after edits, asleep otherwise
    extractor, extractor-2, …        as many as the backlog asks for

Everything is started at once and waits for the broker by itself. What ends is started again; at the
end it is stopped in the order query, pipeline, extractors, projector, broker, so that each can
still hand on what it has in hand.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from contracts.envelope import now_ms
from contracts.errors import Fault
from contracts.subjects import WORK
from ops.node import process, workers
from ops.node.broker import Broker
from ops.node.children import Child, Lines, Reaper
from ops.node.fleet import Fleet, processors
from ops.node.lock import Holder, StateLock
from ops.node.onboarding import Onboarding
from ops.node.relief import Relief, spent_by
from ops.node.screen import Screen
from ops.node.state import State
from services.kernel.bus import Bus, Msg
from services.kernel.provision import provision
from services.kernel.settings import Settings

_PIPELINE = ("walker", "reconciler", "memory", "embedder", "ann")
_STOP_S = 20.0
_OWN_BROKER_S = 120.0  # a broker that recovers large streams takes its time
_OTHER_BROKER_S = 15.0  # one that is named is expected to run
_LOOK_S = 10.0
_OF_NO_REPOSITORY = "progress.-."


class Plan(Struct, frozen=True, kw_only=True):
    """What this node is to run."""

    settings: Settings  # of the workers; nats_url is filled in when the broker is ours
    roots: tuple[Path, ...] = ()  # repositories to register
    http: bool = True  # serve MCP over HTTP
    bound_to_input: bool = False  # stop when standard input ends


class OwnBroker(Struct, frozen=True):
    """The broker of this node, and the process that it was started as."""

    broker: Broker
    pid: int


class Node:
    """One running node."""

    def __init__(
        self,
        plan: Plan,
        state: State,
        lock: StateLock,
        screen: Screen,
        ready: Callable[[str], None],
        own: OwnBroker | None = None,
    ) -> None:
        self._plan, self._state, self._lock = plan, state, lock
        self._screen, self._announce = screen, ready
        self._settings = plan.settings
        self._cold = not (state.projections / "current").exists()
        self._started_ms = now_ms()
        self._own = own
        self._fleet: Fleet | None = None  # once there is one to change
        self._relief: Relief | None = None  # of the broker that is ours
        self._children: list[Child] = []
        self._extractors: list[Child] = []
        self._lifeline, self._lifeline_end = os.pipe()
        self._url = ""

    async def run(self) -> int:
        """Run until a signal; returns the exit code. Raises the Fault that made it impossible to go on."""
        loop = asyncio.get_running_loop()
        self._reaper = Reaper()
        self._stop = asyncio.Event()
        self._failed: asyncio.Future[Fault] = loop.create_future()
        self._serving: asyncio.Future[str] = loop.create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._stop.set)
        if self._plan.bound_to_input:
            loop.add_reader(0, self._input)
        self._tell()
        work = self._task(self._work())
        self._task(self._look_around())
        try:
            self._failed.add_done_callback(lambda _: self._stop.set())
            await self._stop.wait()
        finally:
            await self._stop_all(work)
        if self._failed.done():
            raise self._failed.result()
        return 0

    # -- starting ---------------------------------------------------------------------------

    async def _work(self) -> None:
        """Start everything, register the repositories, say that it is ready, then follow the progress."""
        if self._own is not None:
            self._keep_broker(self._own)
        bus = Bus(self._settings, "ops")
        try:
            if self._own is None:
                # To find it may take a thread, and who has threads had better not fork.
                await self._start_workers()
                await self._open(bus)
            else:
                opening = asyncio.create_task(self._open(bus))
                try:
                    await self._start_workers()
                    await opening
                finally:
                    # A connection that somebody leaves half open would keep the process from ending.
                    opening.cancel()
                    await asyncio.wait([opening])
            if self._own is not None:
                broker = self._children[0]
                self._relief = Relief(bus, lambda: spent_by(broker.pid))
            await bus.subscribe("progress.>", self._on_progress)
            await Onboarding(bus, self._settings.node).run(self._plan.roots)
            if self._cold:
                self._start_extractors(processors())
            if self._plan.http:
                url = await self._serving
                self._screen.clear()
                self._announce(url)
            if not self._extractors:
                self._start_extractors(1)
            self._fleet = Fleet(
                lambda: _backlog(bus), self._resize, len(self._extractors), processors()
            )
            self._fleet.nudge()
            await self._stop.wait()
        finally:
            await bus.stop()

    async def _open(self, bus: Bus) -> None:
        """Connect to the broker, and see to it that it has what the workers ask for."""
        await bus.start(patience_s=_OWN_BROKER_S if self._own else _OTHER_BROKER_S)
        await provision(bus, replicas=self._settings.replicas)

    def _keep_broker(self, own: OwnBroker) -> None:
        self._settings = msgspec.structs.replace(
            self._settings, nats_url=own.broker.url, nats_users_file=str(self._state.users)
        )
        self._tell()
        started = [own.pid]

        def start() -> int:
            return started.pop() if started else own.broker.start(self._lock.descriptor)

        self._child("broker", start, signal.SIGINT, own.broker.last_words)

    async def _start_workers(self) -> None:
        if self._plan.http:
            # First: what it has to import takes the longest.
            if process.FORKS:
                workers.preload_query()
            self._worker(workers.QUERY, (workers.QUERY,))
        if process.FORKS:
            await workers.preload_pipeline()
        self._worker("projector", ("projector",))
        self._worker("pipeline", _PIPELINE)
        self._worker("resolver", ("resolver",))

    def _worker(self, name: str, names: Sequence[str]) -> Child:
        words: list[Lines] = []

        def start() -> int:
            output, output_end = os.pipe() if name == workers.QUERY else (-1, -1)
            errors, errors_end = os.pipe()
            pipes = process.Pipes(
                lifeline=self._lifeline,
                output=output_end,
                errors=errors_end,
                keep=self._lock.descriptor,
            )
            pid = process.start(self._main(names), pipes)
            words[:] = [Lines(errors, self._screen.line)]
            os.close(errors_end)
            if output >= 0:
                Lines(output, self._query_said)
                os.close(output_end)
            return pid

        return self._child(
            name, start, signal.SIGTERM, lambda: "\n".join(words[0].last) if words else ""
        )

    def _main(self, names: Sequence[str]) -> Callable[[], int]:
        settings = self._settings
        if process.FORKS:

            def main() -> int:
                workers.hold_on_to_lifeline()
                return workers.run(settings, names)

            return main
        return process.replaced(*workers.command(["work", *names, "--supervised"], settings))

    def _child(
        self,
        name: str,
        start: Callable[[], int],
        end_signal: signal.Signals,
        last_words: Callable[[], str],
    ) -> Child:
        child = Child(name, start, self._reaper, end_signal=end_signal, last_words=last_words)
        self._children.append(child)
        child.start()
        self._task(child.keep(self._tell, self._check_disk))
        return child

    def _start_extractors(self, count: int) -> None:
        if process.FORKS:
            workers.preload_extractor()
        for _ in range(count):
            self._add_extractor()

    def _add_extractor(self) -> None:
        number = len(self._extractors) + 1
        name = "extractor" if number == 1 else f"extractor-{number}"
        self._extractors.append(self._worker(name, ("extractor",)))

    async def _resize(self, count: int) -> None:
        leaving: list[Child] = []
        if count < len(self._extractors):
            # All of them grew with what they read; a fresh one has the memory of a fresh one.
            leaving, self._extractors = self._extractors, []
        while len(self._extractors) < count:
            self._add_extractor()
        await asyncio.gather(*(child.stop(_STOP_S) for child in leaving))
        self._children = [child for child in self._children if child not in leaving]

    def _task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run beside everything else; its failure is the node's."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or task.exception() is None or self._failed.done():
            return
        error = task.exception()
        if isinstance(error, Fault):
            self._failed.set_result(error)
        else:
            self._failed.set_exception(error or RuntimeError("a task of the node ended"))

    # -- running ----------------------------------------------------------------------------

    def _query_said(self, line: str) -> None:
        if not line.startswith("ready "):
            self._screen.line(line)
            return
        self._url = line.removeprefix("ready ").strip()
        # A query service that is started again must be found where the first one was.
        port = int(self._url.rpartition(":")[2].partition("/")[0])
        self._settings = msgspec.structs.replace(self._settings, port=port)
        self._tell()
        if not self._serving.done():
            self._serving.set_result(self._url)

    async def _on_progress(self, message: Msg) -> None:
        self._screen.progress(message.data)
        if self._relief is not None:
            self._relief.stirred()
        of_workers = message.subject.startswith(_OF_NO_REPOSITORY)  # they tell of themselves there
        if self._fleet is not None and not of_workers:
            self._fleet.nudge()
        if self._state.is_full() and not self._failed.done():
            self._failed.set_result(self._state.full())

    async def _look_around(self) -> None:
        while not self._stop.is_set():
            await asyncio.sleep(_LOOK_S)
            self._check_disk()
            if self._relief is not None:
                await self._relief.look()

    def _check_disk(self) -> None:
        """Stop in order while that is possible; the broker and LMDB both need space to go on."""
        if self._state.is_full():
            raise self._state.full()

    def _input(self) -> None:
        if not os.read(0, 4096):
            asyncio.get_running_loop().remove_reader(0)
            self._stop.set()

    def _tell(self) -> None:
        settings = self._settings
        self._lock.tell(
            Holder(
                pid=os.getpid(),
                started_ms=self._started_ms,
                roots=tuple(map(str, self._plan.roots)) or settings.workspace_roots,
                url=self._url,
                nats_url=settings.nats_url,
                nats_users_file=settings.nats_users_file,
                node=settings.node,
                mode=settings.mode,
                processes={child.name: child.pid for child in self._children if child.pid},
            )
        )

    # -- stopping ---------------------------------------------------------------------------

    async def _stop_all(self, work: asyncio.Task[None]) -> None:
        """Stop the children, whoever feeds others first; what does not end in time is killed."""
        self._stop.set()
        self._screen.clear()
        deadline = time.monotonic() + _STOP_S
        if self._fleet is not None:
            self._fleet.stop()
        work.cancel()  # nothing new is started, and our own connection is closed in time
        await asyncio.wait([work], timeout=_STOP_S / 4)
        # Those that were just leaving the fleet as well.
        extractors = [child.name for child in self._children if child.name.startswith("extractor")]
        for names in (
            [workers.QUERY],
            ["pipeline", "resolver"],
            extractors,
            ["projector"],
            ["broker"],
        ):
            leaving = [child for child in self._children if child.name in names]
            await asyncio.gather(*(child.stop(deadline - time.monotonic()) for child in leaving))
        os.close(self._lifeline_end)
        for task in self._tasks:
            task.cancel()


def run(node: Node) -> int:
    """Run a node until a signal; returns the exit code."""
    return asyncio.run(node.run())


async def _backlog(bus: Bus) -> int:
    info = await bus.api(f"CONSUMER.INFO.{WORK}.extractor", {})
    return int(info["num_pending"])
