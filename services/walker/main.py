"""The walker: sees what is there, and what changes.

consumes  WORK work.pass.<repo>            PassJob: walk the whole tree
produces  WORK work.seen.<repo>.<walk>.<n> WalkBatch, WalkFinished
          INDEX index.<repo>.hist.<n>      HistoryStored (history.py)
          WORK work.pass.<repo>            PassJob: at the start, when a watch or the maintainer asks
follows   node.<node>.folded               which repositories are registered
          node.*.foreground                whether people wait for answers

A repository is watched from before its first walk, so nothing falls between the two. Where the
system's watch limit is used up, walks come more often instead and the pass says so. What keeps it
indexed from then on is decided in upkeep.py and looked after by maintainer.py.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from mode import Service
from nats.aio.msg import Msg

from contracts import subjects
from contracts.envelope import Envelope, encode, new_id, now_ms, starting
from contracts.errors import Fault, NotFound, Unavailable
from contracts.events import AnyJob
from contracts.events.jobs import PassJob, SeenEntry, WalkBatch, WalkFinished
from contracts.events.progress import StageProgress
from contracts.ids import RepoId
from contracts.subjects import DURABLES
from services.kernel import logs
from services.kernel.bus import Bus
from services.kernel.consumer import Consumer, Delivery, Outbox, Policy
from services.kernel.pacing import Foreground
from services.kernel.settings import Settings
from services.kernel.shell import Parts
from services.source.walk import WalkPart, walk
from services.walker.history import HistoryReader
from services.walker.maintainer import Maintainer, State
from services.walker.watch import Changed, Degraded, Rescan, watch
from store.env import CorruptEnvironment
from store.read.live import Projections
from store.rows import PassRow, RepoRow

log = logs.get(__name__)
_SPEC = next(spec for spec in DURABLES if spec.name == "walker")
_WATCH = "watch"
_REGISTRATION_TRIES = 40  # of 50 ms


class Watched:
    """One repository under watch."""

    def __init__(self, row: RepoRow) -> None:
        self.row = row
        self.stop = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []
        self.watching = asyncio.Event()  # events are being collected, or there will be none
        self.heard = False  # file events do come from this tree
        self.walking = False
        self.notice = ""

    def matches(self, row: RepoRow) -> bool:
        return (self.row.root, self.row.filters, self.row.index_generation) == (
            row.root,
            row.filters,
            row.index_generation,
        )


class Walker(Service):
    """Walks and watches every registered repository of this node."""

    def __init__(self, bus: Bus, settings: Settings) -> None:
        super().__init__()
        self._bus = bus
        self._settings = settings
        self._projections = Projections(settings.projections)
        self._watched: dict[str, Watched] = {}
        self._sync_lock = asyncio.Lock()
        self._taken: set[str] = set()  # passes that this process walks or walked
        self._blind = False  # the projection could not be read
        self._synced = False  # what was registered before this process is being watched
        self._hurry = asyncio.Event()
        self.foreground = Foreground()
        self.maintainer = Maintainer(
            bus, settings, self._projections, self._ask, self.foreground.lately
        )

    async def on_start(self) -> None:
        await self._bus.subscribe(subjects.folded(self._settings.node), self._folded)
        await self._bus.subscribe(subjects.ANY_FOREGROUND, self._asked)
        await self._sync()
        self.add_future(self._keep_up())

    async def _asked(self, message: Msg) -> None:
        self.foreground.told(message.data)

    async def _keep_up(self) -> None:
        """Look after every repository, tick after tick."""
        while not self.should_stop:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), self.maintainer.tick_s)
            self._hurry.clear()
            await self.look_after_all()

    async def look_after_all(self) -> None:
        """One tick."""
        if self._blind:  # the notice that tells of the rebuild may have been lost
            with contextlib.suppress(Fault):
                await self._sync()
        for watched in list(self._watched.values()):
            events_come = watched.heard and not watched.notice
            await self.maintainer.look_after(State(watched.row, events_come, watched.walking))

    # -- which repositories -----------------------------------------------------------------

    async def _folded(self, message: Msg) -> None:
        repos = msgspec.msgpack.decode(message.data).get("repos", ())
        is_current = not repos or all(self._is_current(repo) for repo in repos)
        if is_current and not self._blind:
            return
        await self._sync()

    def _is_current(self, repo_id: str) -> bool:
        try:
            with self._projections.read() as snapshot:
                row = snapshot.repo(repo_id)
        except (NotFound, CorruptEnvironment):
            return True
        known = self._watched.get(repo_id)
        if row is None or row.state != "registered":
            return known is None
        return known is not None and known.matches(row)

    async def _sync(self) -> None:
        """Watch what is registered, and nothing else; at the start, walk all of it."""
        async with self._sync_lock:
            try:
                with self._projections.read() as snapshot:
                    rows = {
                        row.repo_id: row for row in snapshot.repos() if row.state == "registered"
                    }
                    passes = {name: snapshot.newest_pass(name) for name in rows}
            except NotFound:
                return
            except CorruptEnvironment as error:  # the projector tells when it is rebuilt
                log.warning(
                    "projection_unreadable", error=str(error), action="wait for its rebuild"
                )
                self._blind = True
                return
            self._blind = False
            for name, watched in list(self._watched.items()):
                row = rows.get(RepoId(name))
                if row is None or not watched.matches(row):
                    await self._unwatch(name)
            for name, row in rows.items():
                if name not in self._watched:
                    self._begin(row)
                    if not self._synced:
                        await self._catch_up(row, passes[name])
            self._synced = True

    def _begin(self, row: RepoRow) -> Watched:
        watched = self._watched[row.repo_id] = Watched(row)
        self.maintainer.arm(row)
        if self._settings.watch:
            watched.tasks.append(asyncio.create_task(self._watch(watched)))
        else:
            watched.watching.set()
        return watched

    async def _unwatch(self, name: str) -> None:
        watched = self._watched.pop(name)
        self.maintainer.disarm(name)
        watched.stop.set()
        watched.watching.set()  # whoever waits for it looks again at what is registered
        for task in watched.tasks:
            task.cancel()
        await asyncio.gather(*watched.tasks, return_exceptions=True)

    async def _catch_up(self, row: RepoRow, last: PassRow | None) -> None:
        """Find what changed while nobody watched. A pass just asked for is on its way already."""
        if last is None:
            return
        if last.status == "Running":
            if last.phase != "Pending" and last.pass_id not in self._taken:
                await self._ask(row, "resume", last.attempt, last.pass_id)
            return
        await self._ask(row, "reconcile", last.attempt + 1)

    async def _ask(self, row: RepoRow, reason: str, attempt: int, pass_id: str = "") -> None:
        pass_id = pass_id or new_id()
        job = PassJob(
            pass_id=pass_id,
            reason=reason,
            root=row.root,
            filters=row.filters,
            attempt=attempt,
            audit=reason == "audit",
        )
        stored = await self._bus.put(subjects.pass_job(row.repo_id), self._wrap(row, job, pass_id))
        await stored

    async def _walk_again(self, row: RepoRow) -> None:
        """Ask for a pass even while one is running: it may have been there already."""
        last = None
        with (
            contextlib.suppress(NotFound, CorruptEnvironment),
            self._projections.read() as snapshot,
        ):
            last = snapshot.newest_pass(row.repo_id)
        await self._ask(row, _WATCH, 1 if last is None else last.attempt + 1)

    # -- watching ---------------------------------------------------------------------------

    async def _watch(self, watched: Watched) -> None:
        row = watched.row
        stream = f"{_WATCH}-{new_id()[:12]}"
        number = 0
        notices = watch(Path(row.root), row.filters, stop=watched.stop)
        try:
            async with contextlib.aclosing(notices):
                async for notice in notices:
                    match notice:
                        case Rescan(reason="started"):
                            watched.watching.set()
                        case Rescan():
                            await self._walk_again(row)
                        case Changed():
                            watched.heard = True
                            await self._seen(row, stream, number, notice.entries)
                            number += 1
                        case Degraded():
                            await self._degraded(watched, notice)
        except Fault as fault:
            await self._degraded(watched, Degraded(fault.code, fault.message, fault.hint))
        except Exception as error:
            log.exception("watch_failed", repo=row.repo_id)
            await self._degraded(watched, Degraded("failed", f"the watch failed: {error!r}"[:300]))

    async def _degraded(self, watched: Watched, notice: Degraded) -> None:
        """Walk from time to time from now on, and say so."""
        watched.notice = f"not watched, walked every minute instead: {notice.message}"
        log.warning(
            "watch_degraded", repo=watched.row.repo_id, reason=notice.reason, hint=notice.hint
        )
        watched.watching.set()
        self.maintainer.unwatched(watched.row.repo_id)
        self._hurry.set()

    async def _seen(
        self, row: RepoRow, stream: str, number: int, entries: Sequence[SeenEntry]
    ) -> None:
        batch = WalkBatch(
            pass_id=_WATCH, walk_id=stream, number=number, entries=tuple(entries), reason=_WATCH
        )
        data = self._wrap(row, batch, _WATCH)
        await (await self._bus.put(subjects.seen(row.repo_id, stream, number), data))

    # -- walking ----------------------------------------------------------------------------

    async def handle(self, batch: Sequence[Delivery[AnyJob]], out: Outbox) -> None:
        for delivery in batch:
            job = delivery.event
            if not isinstance(job, PassJob):
                continue
            while (row := await self._row_of(delivery.envelope, job)) is not None:
                watched = await self._watched_of(row)
                self._taken.add(job.pass_id)
                watched.walking = True
                try:
                    await watched.watching.wait()
                    if watched.stop.is_set() and self.should_stop:
                        raise Unavailable("the walker is stopping", hint="try again")
                    if watched.stop.is_set():  # reset, removed or registered anew meanwhile
                        continue
                    await self._walk(row, job, watched, out)
                finally:
                    watched.walking = False
                break

    async def _watched_of(self, row: RepoRow) -> Watched:
        async with self._sync_lock:
            watched = self._watched.get(row.repo_id)
            if watched is None or not watched.matches(row):
                if watched is not None:
                    await self._unwatch(row.repo_id)
                watched = self._begin(row)
            return watched

    async def _row_of(self, envelope: Envelope[AnyJob], job: PassJob) -> RepoRow | None:
        """The registered repository of a job; waits for a projection that lags, drops what is void."""
        for tried in range(200):
            with contextlib.suppress(NotFound), self._projections.read() as snapshot:
                row = snapshot.repo(envelope.repo)
                if row is not None and row.index_generation >= envelope.generation:
                    if row.index_generation > envelope.generation or row.state != "registered":
                        return None
                    # The registration that a job follows may not be folded yet. A job of an older
                    # registration never matches; then the newer one is what counts.
                    follows = (row.root, row.filters) == (job.root, job.filters)
                    if follows or tried >= _REGISTRATION_TRIES:
                        return row
            await asyncio.sleep(0.05)
        raise Unavailable("the projection does not know the repository yet")

    async def _walk(self, row: RepoRow, job: PassJob, watched: Watched, out: Outbox) -> None:
        walk_id, started = new_id(), now_ms()
        number = files = 0
        complete = True
        error = ""
        try:
            parts = walk(Path(row.root), row.filters)
            while (part := await asyncio.to_thread(_following, parts)) is not None:
                complete = complete and part.complete
                for missed in part.unreadable:
                    log.info("unreadable_folder", repo=row.repo_id, reason=missed.reason)
                if part.entries:
                    seen = WalkBatch(
                        pass_id=job.pass_id,
                        walk_id=walk_id,
                        number=number,
                        entries=part.entries,
                        reason=job.reason,
                        attempt=job.attempt,
                        started_ms=started,
                        audit=job.audit,
                    )
                    data = self._wrap(row, seen, job.pass_id)
                    await out.put(subjects.seen(row.repo_id, walk_id, number), data)
                    number += 1
                    files += len(part.entries)
                    await self._progress(row, job, files)
        except Fault as fault:
            error = fault.message
        finished = WalkFinished(
            pass_id=job.pass_id,
            walk_id=walk_id,
            batches=number,
            files=files,
            complete=complete and not error,
            reason=job.reason,
            attempt=job.attempt,
            started_ms=started,
            error=error,
            notice=watched.notice,
            audit=job.audit,
        )
        await self._progress(row, job, files, files)
        await out.stored()
        await out.put(
            subjects.seen(row.repo_id, walk_id, number), self._wrap(row, finished, job.pass_id)
        )

    async def _progress(self, row: RepoRow, job: PassJob, files: int, total: int = 0) -> None:
        event = StageProgress(pass_id=job.pass_id, stage="walk", done=files, total=total)
        await self._bus.publish(
            subjects.progress(row.repo_id, "walk"), self._wrap(row, event, job.pass_id)
        )

    def _wrap(
        self,
        row: RepoRow,
        event: PassJob | WalkBatch | WalkFinished | StageProgress,
        correlation: str,
    ) -> bytes:
        return encode(
            starting(
                "walker",
                event,
                repo=row.repo_id,
                generation=row.index_generation,
                correlation=correlation,
            )
        )

    async def on_stop(self) -> None:
        for name in list(self._watched):
            await self._unwatch(name)

    async def on_shutdown(self) -> None:
        self._projections.close()


def _following(parts: Iterator[WalkPart]) -> WalkPart | None:
    return next(parts, None)


async def assemble(settings: Settings, bus: Bus) -> Parts:
    """The walker's part of a worker process."""
    walker = Walker(bus, settings)
    policy = Policy(batch=1, window=4, grace_s=settings.drain_seconds)
    consumer = Consumer(bus, _SPEC, AnyJob, walker.handle, policy=policy)
    return Parts("walker", bus, [walker, HistoryReader(bus, settings), consumer])
