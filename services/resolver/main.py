"""The resolver: what every name means, in the live tree, in baselines and in workspaces.

reads     this node's LMDB environment; the working tree and git objects of repositories
consumes  node.<node>.folded                 which repositories have moved
          CMD cmd.map.<repo>                 EnsureBaseline DropBaselines CreateWorkspace EndWorkspace RefreshOverlay
produces  INDEX index.<repo>.edges.<path>    EdgesResolved EdgesDropped, beside the file's record
          INDEX index.<repo>.base.<commit>.* ManifestPart, BaselinePublished, BaselineDropped
          INDEX index.<repo>.ws.<workspace>.* ManifestPart, OverlayPublished
          LOG log.<repo>.ws.<workspace>      WorkspaceRecorded
          WORK work.extract.<repo>.=~.*      ReadJob, for bytes that no live file holds
answers   each command on its reply subject, once everything it brought about is stored

Live files are resolved once the pass that brings them has extracted them, so that text search comes
first; single edits at once. One thing at a time per repository. What the resolver holds in memory
goes after five quiet minutes and is loaded again from the stored summaries.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator, Sequence

import msgspec
from mode import Service

from contracts import subjects
from contracts.envelope import now_ms
from contracts.errors import Fault, NotFound, Unavailable
from contracts.events.mapping import (
    AnyMapCommand,
    CreateWorkspace,
    DropBaselines,
    EndWorkspace,
    EnsureBaseline,
    MapReply,
    RefreshOverlay,
)
from contracts.events.progress import FoldedNotice
from contracts.subjects import DURABLES
from services.kernel import logs, memory
from services.kernel.bus import Bus, Msg
from services.kernel.consumer import Consumer, Delivery, Outbox, Policy
from services.kernel.settings import Settings
from services.kernel.shell import Parts
from services.resolver.baselines import Baselines
from services.resolver.compute import Computation, Preparation, Request
from services.resolver.live import LiveMap, Pending, Result, parted
from services.resolver.publish import Target, publish_drops, publish_edges
from services.resolver.workspaces import Workspaces
from store.env import CorruptEnvironment
from store.read.live import Projections
from store.read.maps import Maps
from store.rows import PassRow

log = logs.get(__name__)
_SETTLE_S = 0.01  # notices of one burst are answered together
_IDLE_S = 300.0  # loading again after an edit takes a second on a large repository
_SWEEP_S = 900.0
_STALLED_MS = 600_000
_INDEXED_S = 1_800.0
_BATCH = 256
_FOLD_TRIES = 60
_COLD_FILES, _COLD_SHARE = 300, 0.3
_EARLY = frozenset({"Pending", "Walking", "Reconciling", "Applying"})
_SPEC = next(spec for spec in DURABLES if spec.name == "resolver")
_decode_notice = msgspec.msgpack.Decoder(FoldedNotice).decode
_encode = msgspec.msgpack.Encoder().encode


class Resolving(Service):
    """Keeps the live map of every repository in step, and carries out commands."""

    def __init__(self, bus: Bus, settings: Settings) -> None:
        super().__init__()
        self._bus, self._settings = bus, settings
        self._cache = settings.state / "cache" / "maps"
        self.projections = Projections(settings.projections)
        self._maps: dict[str, LiveMap] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._moved: set[str] = set()
        self._notice = asyncio.Event()
        self._folded = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._computations: dict[str, Computation] = {}  # one of a repository, while it is of use
        self._commands: set[asyncio.Task[None]] = set()
        self.consumer: Consumer[AnyMapCommand]
        self._grown = False
        self._preparing: set[str] = set()  # repositories resolved anew since their segment was made
        self._ending = threading.Event()

    async def on_start(self) -> None:
        await self._bus.subscribe(subjects.folded(self._settings.node), self._on_folded)
        self._bus.when_reconnected(self._notice_all)  # notices are not stored
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("resolver_crashed", exc_info=error)
            asyncio.get_running_loop().create_task(self.crash(error))

    async def _on_folded(self, message: Msg) -> None:
        self._moved.update(_decode_notice(message.data).repos)
        self._notice.set()
        told, self._folded = self._folded, asyncio.Event()
        told.set()

    def _notice_all(self) -> None:
        self._moved.update(self._registered())
        self._notice.set()

    # -- the live tree ----------------------------------------------------------------------

    async def _run(self) -> None:
        self._moved.update(self._registered())
        swept = time.monotonic()
        while not self.should_stop:
            moved, self._moved = self._moved, set()
            self._notice.clear()
            for repo_id in sorted(moved):
                await self._consider(repo_id)
            try:
                await asyncio.wait_for(self._notice.wait(), _IDLE_S)
                await asyncio.sleep(_SETTLE_S)
            except TimeoutError:
                await self._rest()
            if time.monotonic() - swept > _SWEEP_S:
                self._moved.update(self._registered())
                swept = time.monotonic()

    async def _rest(self) -> None:
        if not self._grown:
            return
        self._grown = False
        for live in self._maps.values():
            live.release()
        await asyncio.to_thread(memory.trim)

    def _registered(self) -> list[str]:
        try:
            with self.projections.read() as snapshot:
                return [row.repo_id for row in snapshot.repos() if row.state == "registered"]
        except (Fault, CorruptEnvironment):
            return []

    async def _consider(self, repo_id: str) -> None:
        if self.should_stop:
            return
        try:
            newest = self._early(repo_id)
            if newest is not None:  # another notice comes with what the pass does next
                if _ends_cold(newest) and repo_id not in self._computations:
                    self._computations[repo_id] = Computation()
                return
            async with self._locks[repo_id]:
                await self.settle(repo_id)
        except (Fault, CorruptEnvironment) as error:
            log.info("resolving_put_off", repo_id=repo_id, error=repr(error)[:300])
            self._again(repo_id)

    def _again(self, repo_id: str) -> None:
        def wake() -> None:
            self._moved.add(repo_id)
            self._notice.set()

        asyncio.get_running_loop().call_later(1.0, wake)

    def _early(self, repo_id: str) -> PassRow | None:
        """The pass that is still bringing files, so that their text comes first; None for none."""
        with self.projections.read() as snapshot:
            newest = snapshot.newest_pass(repo_id)
        return newest if newest is not None and _brings_files(newest) else None

    async def settle(self, repo_id: str) -> LiveMap:
        """Resolve and store whatever is pending; returns the map with nothing pending."""
        live = self._maps.get(repo_id)
        if live is None:
            live = self._maps[repo_id] = LiveMap(self.projections, repo_id, self._cache)
        while not self.should_stop:
            pending = await asyncio.to_thread(live.look)
            if not pending:
                if live.repo_id in self._preparing:
                    await self._prepare(live)
                self._close(repo_id)
                return live
            self._grown = True
            started = time.monotonic()
            try:
                if _is_cold(live, pending):
                    await self._resolve_all(live, pending)
                    self._preparing.add(live.repo_id)
                else:
                    await self._resolve(live, pending)
            except BaseException:
                live.release()  # it has taken in what is not stored
                raise
            if any(live.known.get(row.path) != row.sequence for row in pending.changed):
                # A newer record came first; it has to be folded before there is anything to do.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._folded.wait(), 1.0)
            log.info(
                "resolved",
                repo_id=repo_id,
                changed=len(pending.changed),
                gone=len(pending.gone),
                seconds=round(time.monotonic() - started, 3),
            )
        raise Unavailable("the resolver is stopping", hint="try again")

    async def _resolve(self, live: LiveMap, pending: Pending) -> None:
        target = self.target(live)
        changed = frozenset(row.path for row in pending.changed)
        hold = any(path not in changed for path in live.known)
        results = live.resolved(pending)
        held = []
        while True:
            batch = await asyncio.to_thread(_taken, results, _BATCH, self._ending)
            if not batch:
                break
            dependent, own = parted(batch, changed)
            if hold:
                held += own
            else:  # nothing stored depends on them yet
                dependent += own
            live.known.update(await publish_edges(self._bus, target, dependent))
        if self._ending.is_set():
            raise Unavailable("the resolver is stopping", hint="try again")
        live.known.update(await publish_edges(self._bus, target, held))
        for path in await publish_drops(self._bus, target, pending.gone):
            live.known.pop(path, None)

    async def _resolve_all(self, live: LiveMap, pending: Pending) -> None:
        """Resolve every file anew: first those that stand, then the changed ones."""
        target = self.target(live)
        changed = {row.path for row in pending.changed}
        rows = tuple(live.rows[path] for path in sorted(live.rows))
        phases = (
            tuple(row.path for row in rows if row.path not in changed),
            tuple(row.path for row in rows if row.path in changed),
        )
        request = Request(
            str(self._settings.projections), live.repo_id, rows, phases, _processors()
        )
        live.release()
        computation = self._computations.get(live.repo_id)
        if computation is None or live.repo_id in self._preparing:  # it has resolved already
            self._close(live.repo_id)
            computation = self._computations[live.repo_id] = Computation()
        computation.ask(request)
        try:
            for _ in phases:
                async with contextlib.aclosing(_batches(computation)) as batches:
                    async for batch in batches:
                        live.known.update(await publish_edges(self._bus, target, batch))
                        if self._ending.is_set():
                            raise Unavailable("the resolver is stopping", hint="try again")
        except BaseException:
            self._close(live.repo_id)
            raise
        for path in await publish_drops(self._bus, target, pending.gone):
            live.known.pop(path, None)

    async def _prepare(self, live: LiveMap) -> None:
        """Make what the first question and the first edit need."""
        self._preparing.discard(live.repo_id)
        for _ in range(_FOLD_TRIES):
            folded = self._folded
            with self.projections.read() as snapshot:
                there = sum(1 for _ in Maps(snapshot.txn, live.repo_id).resolved())
            if there >= len(live.known):
                break
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(folded.wait(), 1.0)
        # In the process that resolved, so that this one stays as small as it was.
        known = self._computations.get(live.repo_id)
        computation = self._computations[live.repo_id] = known or Computation()
        preparation = Preparation(str(self._settings.projections), live.repo_id, str(self._cache))
        try:
            await asyncio.to_thread(computation.prepare, preparation)
        except Unavailable as fault:  # whoever asks first makes it
            log.info("not_prepared", repo_id=live.repo_id, error=fault.message)
        finally:
            self._close(live.repo_id)

    def _close(self, repo_id: str) -> None:
        computation = self._computations.pop(repo_id, None)
        if computation is not None:
            computation.close()

    def target(self, live: LiveMap) -> Target:
        with self.projections.read() as snapshot:
            row = snapshot.repo(live.repo_id)
        if row is None:
            raise NotFound(f"{live.repo_id} is not registered")
        return Target(row.repo_id, row.index_generation)

    # -- commands ---------------------------------------------------------------------------

    async def handle(self, batch: Sequence[Delivery[AnyMapCommand]], out: Outbox) -> None:  # noqa: ARG002
        """Begin each command; one that waits for its repository holds up no other's."""
        for delivery in batch:
            delivery.kept = True
            task = asyncio.create_task(self._carry_out(delivery))
            self._commands.add(task)
            task.add_done_callback(self._commands.discard)

    async def _carry_out(self, delivery: Delivery[AnyMapCommand]) -> None:
        try:
            reply = await self._execute(delivery.event, delivery.envelope.id)
        except Fault as fault:
            if self.should_stop:
                return  # handed back at the stop, and carried out by whoever is next
            reply = _refusal(fault)
        except Exception:  # the caller must not wait for an answer that never comes
            log.exception("command_failed", command=type(delivery.event).__name__)
            reply = _refusal(Fault("the resolver failed", hint="its log has the details"))
        if delivery.envelope.reply_to:
            await self._bus.publish(delivery.envelope.reply_to, _encode(reply))
        await self.consumer.finish(delivery)

    async def _execute(self, command: AnyMapCommand, cause: str) -> MapReply:
        await self._indexed(command.repo_id)
        async with self._locks[command.repo_id]:
            self._grown = True
            started = now_ms()
            reply = await self._dispatch(command, cause)
            await self._shown(reply.index_sequence)  # to whoever is next as well
            return msgspec.structs.replace(reply, elapsed_ms=now_ms() - started)

    async def _dispatch(self, command: AnyMapCommand, cause: str) -> MapReply:
        match command:
            case EnsureBaseline():
                return await Baselines(self._bus, self._settings, self).ensure(command)
            case DropBaselines():
                return await Baselines(self._bus, self._settings, self).drop(command)
            case CreateWorkspace():
                return await Workspaces(self._bus, self._settings, self).create(command, cause)
            case EndWorkspace():
                return await Workspaces(self._bus, self._settings, self).end(command, cause)
            case RefreshOverlay():
                return await Workspaces(self._bus, self._settings, self).refresh(command)

    async def _shown(self, sequence: int) -> None:
        """Wait, not for ever, until the projection has what was published."""
        for _ in range(_FOLD_TRIES):
            folded = self._folded
            with self.projections.read() as snapshot:
                if snapshot.positions().index >= sequence:
                    return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(folded.wait(), 1.0)

    async def _indexed(self, repo_id: str) -> None:
        """Wait until the repository is registered and no pass brings files."""
        deadline = time.monotonic() + _INDEXED_S
        while time.monotonic() < deadline and not self.should_stop:
            folded = self._folded
            with self.projections.read() as snapshot:
                row, newest = snapshot.repo(repo_id), snapshot.newest_pass(repo_id)
            if row is None or row.state != "registered":
                raise NotFound(f"{repo_id} is not indexed", hint="onboard it first")
            if newest is not None and not _brings_files(newest):
                return
            try:
                await asyncio.wait_for(folded.wait(), 1.0)
            except TimeoutError:
                continue
        raise Unavailable("the repository is still being indexed", hint="try again")

    async def on_stop(self) -> None:
        self._ending.set()
        self._notice.set()
        for repo_id in list(self._computations):
            self._close(repo_id)  # whoever reads from it is woken
        for task in self._commands:
            task.cancel()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=10)
            self._task.cancel()
        self.projections.close()


def _is_cold(live: LiveMap, pending: Pending) -> bool:
    """Whether so much has changed that everything is resolved anew, on all processors."""
    return _is_much(len(pending.changed), len(live.rows))


def _ends_cold(newest: PassRow) -> bool:
    """Whether a pass has found all it will bring, and all is resolved anew after it."""
    changed = newest.files_added + newest.files_updated
    return newest.phase == "Applying" and _is_much(changed, newest.files_scanned)


def _is_much(changed: int, files: int) -> bool:
    return changed >= _COLD_FILES and changed >= _COLD_SHARE * files


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _refusal(fault: Fault) -> MapReply:
    return MapReply(
        ok=False,
        code=fault.code,
        message=fault.message,
        hint=fault.hint,
        retryable=fault.retryable,
    )


def _brings_files(newest: PassRow) -> bool:
    if newest.status != "Running" or now_ms() - newest.updated_ms > _STALLED_MS:
        return False
    return newest.phase in _EARLY


async def _batches(computation: Computation) -> AsyncGenerator[list[Result]]:
    """The results of a phase; the next ones are read while some are stored."""
    reading = asyncio.create_task(asyncio.to_thread(computation.take, _BATCH))
    try:
        while batch := await reading:
            reading = asyncio.create_task(asyncio.to_thread(computation.take, _BATCH))
            yield batch
    finally:
        reading.add_done_callback(_heard)


def _heard(reading: asyncio.Task[list[Result]]) -> None:
    if not reading.cancelled():
        reading.exception()  # of one that is no longer waited for


def _taken(results: Iterator[Result], limit: int, ending: threading.Event) -> list[Result]:
    """The next results; none once the worker is being stopped."""
    found: list[Result] = []
    while len(found) < limit and not ending.is_set():
        result = next(results, None)
        if result is None:
            break
        found.append(result)
    return found


async def assemble(settings: Settings, bus: Bus) -> Parts:
    """The resolver's part of a worker process."""
    resolving = Resolving(bus, settings)
    policy = Policy(batch=1, window=16, grace_s=settings.drain_seconds)
    consumer = Consumer(bus, _SPEC, AnyMapCommand, resolving.handle, policy=policy)
    resolving.consumer = consumer
    return Parts("resolver", bus, [resolving, consumer])
