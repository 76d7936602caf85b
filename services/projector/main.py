"""The projector: folds LOG and INDEX into this node's environment. Its only writer.

consumes  LOG, INDEX (ordered, from the environment's own positions)
produces  node.<node>.folded (core NATS): positions after each commit
answers   node.<node>.replay: rebuild from zero beside the live environment, then swap
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
from mode import Service
from nats.aio.msg import Msg

from contracts import subjects
from contracts.errors import NotFound
from contracts.events.commands import CommandReply
from contracts.events.progress import FoldedNotice
from services.kernel import logs
from services.kernel.bus import Bus
from services.kernel.instruments import counted
from services.kernel.settings import Settings
from services.kernel.shell import Parts
from services.projector.fold_loop import FoldLoop, StreamsRewound, reachable
from services.projector.rebuild import rebuild
from store import location
from store.env import CorruptEnvironment, Env
from store.fold import Folded, Folder, open_writable

log = logs.get(__name__)
_REBUILT = "repocontext.vectorplane.rederive"
_encode = msgspec.msgpack.Encoder().encode


class Projector(Service):
    """Keeps one environment folded up to the streams' tails."""

    def __init__(self, bus: Bus, settings: Settings) -> None:
        super().__init__()
        self._bus = bus
        self._root = settings.projections
        self._node = settings.node
        self._folding: FoldLoop | None = None
        self._env: Env | None = None
        self._replay = asyncio.Event()
        self._waiting: list[str] = []  # reply subjects of replay requests
        self._task: asyncio.Task[None] | None = None

    async def on_start(self) -> None:
        await self._bus.subscribe(subjects.replay_request(self._node), self._requested)
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            log.error("projector_crashed", exc_info=task.exception())
            asyncio.get_running_loop().create_task(
                self.crash(task.exception() or RuntimeError("ended"))
            )

    async def _requested(self, message: Msg) -> None:
        counted.add(_REBUILT, "projection", "suppressed" if self._replay.is_set() else "observed")
        self._waiting.append(message.reply)
        self._replay.set()
        if self._folding is not None:
            self._folding.stop()

    async def _run(self) -> None:
        await reachable(self._bus)
        while not self.should_stop:
            env = await self._open()
            self._env = env
            self._folding = FoldLoop(self._bus, Folder(env))
            try:
                if not self._replay.is_set():
                    await self._announce(Folded(self._folding.folder.positions, 0, (), 0, 0))
                    await self._folding.run(self._announce)
            except (CorruptEnvironment, StreamsRewound) as error:
                log.error("projection_unusable", error=repr(error), action="rebuild")
                counted.add(_REBUILT, "projection", "observed")
                self._replay.set()
            finally:
                env.close()
                await self._folding.close()
            if self._replay.is_set():
                await self._rebuild()

    async def _open(self) -> Env:
        try:
            path = location.current(self._root)
        except NotFound:
            return self._create()
        try:
            return open_writable(path)
        except CorruptEnvironment as error:
            log.error("projection_unreadable", error=str(error), action="rebuild")
            counted.add(_REBUILT, "projection", "observed")
            return await self._reopen()

    def _create(self) -> Env:
        target = location.fresh(self._root)
        env = open_writable(target)
        location.swap(self._root, target)
        return env

    async def _reopen(self) -> Env:
        return open_writable(await self._rebuilt())

    async def _rebuild(self) -> None:
        self._replay.clear()
        waiting, self._waiting = self._waiting, []
        path = await self._rebuilt()
        for reply in waiting:
            if reply:
                await self._bus.publish(reply, _encode(CommandReply(ok=True, detail=path.name)))

    async def _rebuilt(self) -> Path:
        try:
            path = await rebuild(self._bus, self._root)
        except Exception:
            counted.add(_REBUILT, "projection", "failed")
            raise
        counted.add(_REBUILT, "projection", "completed")
        return path

    async def _announce(self, folded: Folded) -> None:
        notice = FoldedNotice(
            log=folded.positions.log, index=folded.positions.index, repos=folded.touched
        )
        await self._bus.publish(subjects.folded(self._node), _encode(notice))

    async def on_stop(self) -> None:
        if self._folding is not None:
            self._folding.stop()
        if self._task is not None:
            if self._folding is None:  # still waiting for the streams
                self._task.cancel()
            await asyncio.wait([self._task], timeout=15)
            self._task.cancel()


async def assemble(settings: Settings, bus: Bus) -> Parts:
    """The projector's part of a worker process."""
    Path(settings.projections).mkdir(parents=True, exist_ok=True)
    return Parts("projector", bus, [Projector(bus, settings)])
