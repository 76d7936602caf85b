"""The ANN builder: makes vector indexes of large repositories, beside what is being served.

reads     this node's LMDB environment; INDEX index.=~.space (newest): the space that is filled
consumes  node.<node>.folded                 which repositories have moved
produces  INDEX index.<repo>.ann.<n>         AnnPart
          INDEX index.<repo>.ann.head        AnnPublished, once every part is stored
          PROGRESS progress.=~.ann           WorkerState: building, idle

A repository below `ann_threshold_vectors` is scanned exactly and has no generation. Above it, one is
built when there is none, when more than a fifth of its files changed since, or in another space;
not while a pass runs. One build at a time; a stop ends it within a second and nothing of it stays.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from mode import Service
from msgspec import Struct

from contracts import subjects
from contracts.envelope import Envelope, encode, now_ms
from contracts.errors import Fault, NotFound, Superseded
from contracts.events.index import SpaceAgreed
from contracts.events.progress import FoldedNotice, WorkerState
from contracts.subjects import INDEX
from services.ann.corpus import Corpus, corpus_of, newest_generation, standing_of
from services.ann.plan import Unreadable, is_due, is_filled, is_large, is_running
from services.ann.publish import Edition, claimed, publish
from services.ann.watch import BuildWatch, cause_of_sweep
from services.kernel import logs, memory
from services.kernel.bus import Bus
from services.kernel.instruments import counted
from services.kernel.settings import Settings
from services.kernel.shell import Parts
from store.ann import Built, build
from store.env import CorruptEnvironment
from store.read.live import Projections, Snapshot
from store.rows import RepoRow

if TYPE_CHECKING:
    from nats.aio.msg import Msg

log = logs.get(__name__)
_SWEEP = "repocontext.ann.sweep"
_CORPUS = "repocontext.ann.build.corpus"
_STAGE = "repocontext.ann.build.stage.duration"
_TRAINING = "repocontext.ann.repartition"
_PARTITIONING = "repocontext.ann.partitioning"
_SETTLE_S = 3.0  # notices of one burst are answered together
_SHORTEST_SWEEP_S = 60
_decode_notice = msgspec.msgpack.Decoder(FoldedNotice).decode
_decode_space = msgspec.msgpack.Decoder(Envelope[SpaceAgreed]).decode


class _Made(Struct, frozen=True):
    """A finished build and what it is to be published as."""

    edition: Edition
    built: Built


class AnnBuilder(Service):
    """Builds one generation after the other, as they become due."""

    def __init__(self, bus: Bus, settings: Settings) -> None:
        super().__init__()
        self._bus = bus
        self._node = settings.node
        self._threshold = settings.ann_threshold_vectors
        self._sweep_s = max(settings.ann_sweep_seconds, _SHORTEST_SWEEP_S)
        self._projections = Projections(settings.projections)
        self._unreadable = Unreadable()
        self._is_put_off = False  # what was considered last: because a pass runs
        self._moved: set[str] = set()
        self._notice = asyncio.Event()
        self._cancelled = threading.Event()
        self._task: asyncio.Task[None] | None = None

    async def on_start(self) -> None:
        await self._bus.subscribe(subjects.folded(self._node), self._folded)
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("ann_builder_crashed", exc_info=error)
            asyncio.get_running_loop().create_task(self.crash(error))

    async def _folded(self, message: Msg) -> None:
        self._moved.update(_decode_notice(message.data).repos)
        if self._moved:
            self._notice.set()

    async def _run(self) -> None:
        await self._sweep()
        while not self.should_stop:
            try:
                await asyncio.wait_for(self._notice.wait(), self._sweep_s)
            except TimeoutError:
                await self._sweep()
                continue
            await self.sleep(_SETTLE_S)
            self._notice.clear()
            moved, self._moved = self._moved, set()
            await self._consider_all(sorted(moved), patient=True)

    async def _sweep(self) -> None:
        """Look at every repository, whatever was or was not said about it."""
        try:
            with self._projections.read() as snapshot:
                repos = [row.repo_id for row in snapshot.repos()]
        except NotFound:  # nothing is registered yet
            counted.add(_SWEEP, "empty", "")
            return
        except (Fault, CorruptEnvironment):
            counted.add(_SWEEP, "faulted", "listing-unavailable")
            return
        results = await self._consider_all(repos, patient=False)
        for result, _ in results:
            counted.add("repocontext.ann.sweep.arming", result)
        outcomes = dict(results)
        if "armed" in outcomes:
            counted.add(_SWEEP, "armed", "")
        elif "faulted" in outcomes:
            counted.add(_SWEEP, "faulted", outcomes["faulted"])
        else:
            counted.add(_SWEEP, "empty", "")

    async def _consider_all(self, repos: Sequence[str], *, patient: bool) -> list[tuple[str, str]]:
        """What became of those for which something was due: armed, deferred or faulted, and why."""
        results: list[tuple[str, str]] = []
        for repo_id in repos:
            if self.should_stop:
                break
            try:
                if await self.consider(repo_id, patient=patient):
                    results.append(("armed", ""))
                elif self._is_put_off:
                    results.append(("deferred", ""))
            except (Fault, CorruptEnvironment) as error:
                results.append(("faulted", cause_of_sweep(error)))
                log.info("generation_put_off", repo_id=repo_id, error=repr(error)[:300])
        return results

    async def consider(self, repo_id: str, *, patient: bool) -> bool:
        """Build and publish a generation if one is due; True when it was published.

        A patient builder waits until the vectors of the newest pass have come in: there will be
        another notice.
        """
        if not self._is_candidate(repo_id, patient=patient):
            return False
        space = await self._space()
        if not space:
            return False
        try:
            with BuildWatch(repo_id, space) as watch:
                return await self._build(repo_id, space, watch)
        finally:
            await asyncio.to_thread(memory.trim)

    async def _build(self, repo_id: str, space: str, watch: BuildWatch) -> bool:
        over = await claimed(self._bus, repo_id)
        made = await asyncio.to_thread(self._make, repo_id, space, over, watch)
        if made is None:
            return False
        watch.enter("persisting")
        await self._say("building", f"{repo_id}: {made.built.vectors:,} vectors")
        try:
            with counted.timed(_STAGE, "key_flush"):
                await publish(self._bus, made.edition, made.built)
        except Superseded as fault:
            watch.end("churned")
            log.info("generation_superseded", repo_id=repo_id, reason=fault.message)
            return False
        finally:
            await self._say("idle")
        watch.enter("reconciling")
        log.info(
            "generation_published",
            repo_id=repo_id,
            generation=made.edition.generation,
            vectors=made.built.vectors,
            size_bytes=len(made.built.blob),
        )
        return True

    def _is_candidate(self, repo_id: str, *, patient: bool) -> bool:
        self._is_put_off = False
        with self._projections.read() as snapshot:
            row = snapshot.repo(repo_id)
            if row is None or row.state != "registered":
                return False
            large = is_large(row, self._threshold)
            counted.add(_PARTITIONING, f"unpartitioned-{'large' if large else 'small'}")
            if not large or self._unreadable.is_parked(repo_id, row.stamp):
                return False
            if is_running(snapshot.newest_pass(repo_id), now_ms()):
                self._is_put_off = True
                return False
            return not patient or row.counters.embedded >= row.counters.wanted

    async def _space(self) -> str:
        found = await self._bus.last_message(subjects.embedding_space(), INDEX)
        return "" if found is None else _decode_space(found[2]).event.space

    def _make(self, repo_id: str, space: str, over: int, watch: BuildWatch) -> _Made | None:
        """Read and build; None when nothing is due or the builder is stopped. Runs in a thread."""
        watch.enter("opening")
        with self._projections.read() as snapshot:
            row = snapshot.repo(repo_id)
            if row is None:
                watch.end("idle")
                return None
            with counted.timed(_STAGE, "key_assign"):
                standing = standing_of(snapshot, repo_id)
                due = is_due(standing, space)
            if not due:
                watch.end("idle")
                return None
            watch.enter("ingesting")
            corpus = self._read(snapshot, row, space)
            if not is_filled(standing, len(corpus.files)):
                watch.end("starved")
                counted.add(_TRAINING, "declined")
                return None
            edition = Edition(
                repo=row.repo_id,
                index_generation=row.index_generation,
                generation=newest_generation(snapshot, repo_id) + 1,
                space=space,
                upto=snapshot.positions().index,
                claim_over=over,
            )
        watch.enter("training")
        with counted.timed(_STAGE, "index_upsert"):
            built = build(corpus.files, corpus.dimension, self._cancelled.is_set)
        counted.add(_TRAINING, "declined" if built is None else "partitioned")
        if built is None:
            watch.end("churned")
            return None
        counted.add("repocontext.ann.build.slice.items", by=built.vectors)
        return _Made(edition, built)

    def _read(self, snapshot: Snapshot, row: RepoRow, space: str) -> Corpus:
        """The vectors of a repository; what cannot be read time and again is left alone."""
        try:
            with counted.timed(_STAGE, "source_wait"):
                corpus = corpus_of(snapshot, row.repo_id, space)
        except (CorruptEnvironment, Fault, msgspec.MsgspecError, ValueError) as error:
            counted.add(_CORPUS, "unknown")
            if self._unreadable.failed(row.repo_id, row.stamp):
                log.error("corpus_unreadable", repo_id=row.repo_id, action="left alone")
                counted.add("repocontext.ann.build.denial_terminal")
            raise CorruptEnvironment(str(error)) from error
        self._unreadable.read(row.repo_id)
        counted.add(_CORPUS, "nonempty" if corpus.files else "unrestricted")
        return corpus

    async def _say(self, state: str, detail: str = "") -> None:
        event = WorkerState(worker="ann", state=state, detail=detail)
        at = now_ms()
        envelope = Envelope(id=f"ann/{at}", at_ms=at, producer="ann", event=event)
        await self._bus.put(subjects.progress("", "ann"), encode(envelope))

    async def on_stop(self) -> None:
        self._cancelled.set()
        self._notice.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=5)
            self._task.cancel()
        self._projections.close()


async def assemble(settings: Settings, bus: Bus) -> Parts:
    """The ANN builder's part of a worker process; it has nothing to do where all is scanned exactly."""
    if settings.semantic_retrieval == "exact":
        return Parts("ann", bus, [])
    return Parts("ann", bus, [AnnBuilder(bus, settings)])
