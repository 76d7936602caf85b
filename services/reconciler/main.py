"""The reconciler: compares what was seen with what is on record, and issues what differs.

consumes  WORK work.seen.<repo>.>           WalkBatch WalkFinished
produces  WORK work.extract.<repo>.<path>   ExtractJob, with the file's bytes
          INDEX index.<repo>.file.<path>    FileRemoved, only over an older version; a record that
                                            lacks something once more (backfill.py)
          INDEX index.<repo>.anchor.<path>  AnchorMoved
          INDEX index.<repo>.pass           PassChanged
          WORK work.pass.<repo>             PassJob, when a walk must be repeated
follows   node.<node>.folded                what has come onto record meanwhile
          PROGRESS progress.-.embedder      whether vectors can be expected

What is on record is the projection plus what this process issued and has not seen folded yet. After
a restart that memory is gone; paths with a job still on WORK are then issued again, whatever the
projection says, so that an older job can never have the last word.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from mode import Service
from nats.aio.msg import Msg

from contracts import subjects
from contracts.envelope import Envelope, encode, now_ms, starting
from contracts.errors import Fault, NotFound, Unavailable
from contracts.events import AnyJob
from contracts.events.index import AnchorMoved, FileRemoved, PassChanged
from contracts.events.jobs import ExtractJob, PassJob, SeenEntry, WalkBatch, WalkFinished
from contracts.events.progress import AnyProgress, StageProgress, WorkerState
from contracts.extract import compressed
from contracts.ids import RepoId, RepoPath
from contracts.subjects import DURABLES, INDEX, WORK
from services.kernel import logs, memory
from services.kernel.bus import Bus
from services.kernel.consumer import Consumer, Delivery, Outbox, Policy
from services.kernel.instruments import counted
from services.kernel.settings import Settings
from services.kernel.shell import Parts
from services.reconciler import counting
from services.reconciler.backfill import renew
from services.reconciler.plan import (
    GONE,
    GONE_BELOW,
    Issued,
    is_settled,
    next_version,
    unchanged_by_stat,
)
from services.reconciler.running import (
    PATIENCE_S,
    STUCK_S,
    Attempt,
    Ledger,
    RepoWork,
    RunningPass,
    Seen,
)
from services.source.reading import Outcome, TreeReader
from store.env import CorruptEnvironment
from store.read.gaps import Gap, gaps_of
from store.read.live import Projections, Snapshot
from store.rows import FileRow, RepoRow

log = logs.get(__name__)
_SPEC = next(spec for spec in DURABLES if spec.name == "reconciler")
_FAULTS = "repocontext.bootstrap.pass_arm_faults"
_READ_AT_ONCE = 48  # files read between two looks at the loop
_PROGRESS_S = 0.2
_STALL_S = 15.0
_CHECK_S = 1.0
_LOOK_S = 0.1
_FEW, _LAST_LOOK_S = 64, 0.02  # files outstanding when somebody waits for the last of them
_MISSES = 64
_decode_progress = msgspec.msgpack.Decoder(Envelope[AnyProgress]).decode


class Reconciler(Service):
    """Reconciles every repository of this node."""

    def __init__(self, bus: Bus, settings: Settings) -> None:
        super().__init__()
        self._bus = bus
        self._settings = settings
        self._projections = Projections(settings.projections)
        self._work: dict[str, RepoWork] = {}
        self._readers: dict[str, tuple[str, TreeReader]] = {}
        self._check = asyncio.Event()
        self._index_position = 0
        self._progress_at = 0.0
        self._lock = asyncio.Lock()
        self._embedder = ""  # its state as it last told it
        self._resumed = False  # what earlier processes left running is asked for

    async def on_start(self) -> None:
        await self._bus.subscribe(subjects.folded(self._settings.node), self._folded)
        await self._bus.subscribe(subjects.progress("", "embedder"), self._embedder_said)
        self.add_future(self._finish_passes())
        await self._resume_unfinished()

    async def _resume_unfinished(self) -> None:
        """Walk again for every pass that was running when the last process ended."""
        try:
            with self._projections.read() as snapshot:
                unfinished = [
                    (row, state)
                    for row in snapshot.repos()
                    if row.state == "registered"
                    and (state := snapshot.newest_pass(row.repo_id)) is not None
                    and state.status == "Running"
                ]
        except NotFound:
            self._resumed = True
            return
        except CorruptEnvironment as error:  # the projector tells when it is rebuilt
            log.warning("projection_unreadable", error=str(error), action="wait for its rebuild")
            return
        for row, state in unfinished:
            await self._ask_for_pass(row, "resume", state.attempt, state.pass_id)
        self._resumed = True

    async def _folded(self, message: Msg) -> None:
        notice = msgspec.msgpack.decode(message.data)
        self._index_position = notice["index"]
        self._check.set()

    async def _embedder_said(self, message: Msg) -> None:
        said = _decode_progress(message.data).event
        if isinstance(said, WorkerState):
            self._embedder = said.state
            self._check.set()

    # -- one message after the other --------------------------------------------------------

    async def handle(self, batch: Sequence[Delivery[AnyJob]], out: Outbox) -> None:
        async with self._lock:
            try:
                for delivery in batch:
                    await self._take(delivery, out)
                await out.stored()
            except BaseException:
                for work in self._work.values():
                    work.take_back()
                raise
            for work in self._work.values():
                work.attempt = Attempt()

    async def _take(self, delivery: Delivery[AnyJob], out: Outbox) -> None:
        event = delivery.event
        if not isinstance(event, WalkBatch | WalkFinished):
            return
        row = self._registered(delivery.envelope)
        if row is None:
            return
        work = await self._work_of(row)
        if event.walk_id == work.ended:
            return  # its acknowledgement was lost
        if isinstance(event, WalkBatch):
            await self._batch(row, work, event, delivery.envelope.at_ms, out)
        else:
            await self._walk_finished(row, work, event, out)

    def _registered(self, envelope: Envelope[Any]) -> RepoRow | None:
        """The repository, unless it was removed or reset since the message was made."""
        with self._projections.read() as snapshot:
            row = snapshot.repo(envelope.repo)
        if row is None or row.index_generation < envelope.generation:
            raise Unavailable("the projection lags behind the registry", repo=envelope.repo)
        if row.index_generation > envelope.generation or row.state != "registered":
            self._forget(envelope.repo)
            return None
        return row

    def _forget(self, repo_id: str) -> None:
        if (work := self._work.pop(repo_id, None)) is not None:
            counting.cut_off(repo_id, work.running)

    async def _work_of(self, row: RepoRow) -> RepoWork:
        work = self._work.get(row.repo_id)
        if work is None or work.generation != row.index_generation:
            self._forget(row.repo_id)
            pending = await self._subjects(WORK, f"work.extract.{subjects.token(row.repo_id)}.>")
            work = RepoWork(
                generation=row.index_generation, issued={}, ledger=Ledger({}), uncertain=pending
            )
            self._work[row.repo_id] = work
        return work

    async def _subjects(self, stream: str, pattern: str) -> set[str]:
        """The subjects that a stream holds messages of, e.g. jobs that earlier processes left."""
        found: set[str] = set()
        while True:
            body = {"subjects_filter": pattern, "offset": len(found)}
            answer = await self._bus.api(f"STREAM.INFO.{stream}", body, timeout=10)
            page = answer["state"].get("subjects") or {}
            found |= set(page)
            if not page or len(found) >= answer.get("total", len(found)):
                return found

    # -- a batch of seen files --------------------------------------------------------------

    async def _batch(
        self, row: RepoRow, work: RepoWork, event: WalkBatch, at_ms: int, out: Outbox
    ) -> None:
        running = None
        if event.pass_id.startswith("watch"):
            work.noticed |= {e.path: at_ms for e in event.entries if e.size_bytes >= 0}
        else:
            running = await self._running(row, work, event)
            seen = work.seen
            if seen is None or seen.walk_id != event.walk_id:
                seen = work.seen = Seen(event.walk_id, set(), set())
            if event.number in seen.batches:
                return
            seen.paths.update(entry.path for entry in event.entries)
            running.scanned += len(event.entries)
            work.attempt.scanned += len(event.entries)
        todo = list(event.entries) if event.audit else self._sift(row, work, event.entries)
        present = [entry for entry in todo if entry.size_bytes >= 0]
        for start in range(0, len(present), _READ_AT_ONCE):
            await self._read_and_issue(
                row, work, present[start : start + _READ_AT_ONCE], event.pass_id, running, out
            )
        gone = [entry for entry in todo if entry.size_bytes < 0]
        if gone:
            paths = self._gone_paths(row, work, gone)
            for path in paths:
                work.noticed.pop(path, None)
            await self._remove(row, work, paths, event.pass_id)
        if running is not None and work.seen is not None:
            work.seen.batches.add(event.number)
            work.attempt.batches.add(event.number)
            running.heard_at = time.monotonic()
            await self._progress(row.repo_id, running, "reconcile", running.scanned)

    async def _running(self, row: RepoRow, work: RepoWork, event: WalkBatch) -> RunningPass:
        running = work.running
        if running is None or running.pass_id != event.pass_id:
            counting.cut_off(row.repo_id, running)
            running = work.running = await self._begun(row, work, event)
        if work.seen is None or work.seen.walk_id != event.walk_id:  # the walk began again
            running.scanned = 0
            running.walked = False
            running.phase = "Reconciling"
            await self._tell(row, work, running)
        return running

    async def _begun(
        self, row: RepoRow, work: RepoWork, event: WalkBatch | WalkFinished
    ) -> RunningPass:
        with self._projections.read() as snapshot:
            before = snapshot.newest_pass(row.repo_id)
            recorded = {file.path for file in snapshot.files(row.repo_id)} if event.audit else set()
        if event.audit:  # what is folded here but gone from the stream would be lost by a replay
            held = await self._subjects(INDEX, f"index.{subjects.token(row.repo_id)}.file.>")
            absent = {subjects.file_record(row.repo_id, path) for path in recorded} - held
            work.absent = absent
        counting.begun(row.repo_id)
        return RunningPass(
            event.pass_id,
            event.reason,
            event.attempt,
            event.started_ms or now_ms(),
            audit=event.audit,
            audited_ms=0 if before is None else before.audited_ms,
        )

    def _sift(self, row: RepoRow, work: RepoWork, entries: Iterable[SeenEntry]) -> list[SeenEntry]:
        """Entries that need a look at their bytes or a removal; the others are settled by stat."""
        todo = []
        with self._projections.read() as snapshot:
            for entry in entries:
                uncertain = self._uncertain(row.repo_id, work, entry.path)
                recorded = snapshot.file(row.repo_id, entry.path)
                settled = entry.size_bytes >= 0 and unchanged_by_stat(
                    entry, recorded, work.issued.get(entry.path), uncertain=uncertain
                )
                if not settled:
                    todo.append(entry)
        return todo

    def _uncertain(self, repo: str, work: RepoWork, path: str) -> bool:
        return bool(work.uncertain) and subjects.extract_job(repo, path) in work.uncertain

    async def _read_and_issue(
        self,
        row: RepoRow,
        work: RepoWork,
        entries: list[SeenEntry],
        pass_id: str,
        running: RunningPass | None,
        out: Outbox,
    ) -> None:
        reader = self._reader(row)
        outcomes = await asyncio.to_thread(reader.read_all, entries)
        gone: list[str] = []
        with self._projections.read() as snapshot:
            recorded = {entry.path: snapshot.file(row.repo_id, entry.path) for entry in entries}
        for outcome in outcomes:
            old = recorded[outcome.path]
            if outcome.problem:
                if running is not None:
                    running.notice = f"{outcome.path[:200]}: {outcome.problem}"
                log.info("unreadable_file", repo=row.repo_id, reason=outcome.problem)
                counted.add(_FAULTS, "ingest-files", "unreadable")
                continue
            if not outcome.eligible:
                if running is not None:
                    running.scanned -= 1
                    work.attempt.scanned -= 1
                if old is not None or outcome.path in work.issued:
                    gone.append(outcome.path)
                continue
            await self._issue(row, work, outcome, old, pass_id, running, out)
        if gone:
            await self._remove(row, work, gone, pass_id)

    async def _issue(
        self,
        row: RepoRow,
        work: RepoWork,
        outcome: Outcome,
        old: FileRow | None,
        pass_id: str,
        running: RunningPass | None,
        out: Outbox,
    ) -> None:
        issued = work.issued.get(outcome.path)
        lost = subjects.file_record(row.repo_id, outcome.path) in work.absent
        uncertain = lost or self._uncertain(row.repo_id, work, outcome.path)
        audit = running is not None and running.audit
        proven = old is not None and old.holds_by_stat(outcome.size_bytes, outcome.mtime_ns)
        if is_settled(outcome.digest, old, issued, uncertain=uncertain, audit=audit):
            moved_on = old is not None and old.anchor_ns <= outcome.anchor_ns
            if issued is None and old is not None and moved_on and not (audit and proven):
                moved = AnchorMoved(
                    path=outcome.path,
                    digest=outcome.digest,
                    mtime_ns=outcome.mtime_ns,
                    anchor_ns=outcome.anchor_ns,
                )
                await out.put(
                    subjects.file_anchor(row.repo_id, outcome.path), self._wrap(row, moved, pass_id)
                )
            return
        version = next_version(time.time_ns(), old, issued)
        job = ExtractJob(
            path=outcome.path,
            version=version,
            digest=outcome.digest,
            size_bytes=outcome.size_bytes,
            mtime_ns=outcome.mtime_ns,
            anchor_ns=outcome.anchor_ns,
            pass_id=pass_id,
            expected_sequence=0 if old is None else old.sequence,
            data=b"" if outcome.skipped else compressed(outcome.data),
            skipped=outcome.skipped,
            skipped_detail=outcome.skipped_detail,
        )
        subject = subjects.extract_job(row.repo_id, outcome.path)
        work.attempt.jobs[outcome.path] = subject
        await out.put(subject, self._wrap(row, job, pass_id))
        work.issued[outcome.path] = Issued(version, outcome.digest)
        work.uncertain.discard(subject)
        if old is None:
            work.ledger.note(outcome.path, "added")
        elif old.digest != outcome.digest:
            work.ledger.note(outcome.path, "updated")
        if running is not None:
            running.issued += 1
            work.attempt.issued += 1
            running.diverged += audit and (
                lost or (proven and old is not None and old.digest != outcome.digest)
            )

    def _gone_paths(self, row: RepoRow, work: RepoWork, entries: Iterable[SeenEntry]) -> list[str]:
        paths: set[str] = set()
        with self._projections.read() as snapshot:
            for entry in entries:
                if entry.size_bytes == GONE:
                    if (
                        entry.path in work.issued
                        or snapshot.file(row.repo_id, entry.path) is not None
                    ):
                        paths.add(entry.path)
                elif entry.size_bytes == GONE_BELOW:
                    below = entry.path.rstrip("/") + "/"
                    for file in snapshot.files(row.repo_id, below):
                        if not file.path.startswith(below):
                            break
                        paths.add(file.path)
                    paths |= {path for path in work.issued if path.startswith(below)}
        return sorted(paths)

    async def _remove(
        self,
        row: RepoRow,
        work: RepoWork,
        paths: Iterable[str],
        pass_id: str,
    ) -> None:
        appended: list[tuple[str, int, asyncio.Task[int]]] = []
        with self._projections.read() as snapshot:
            recorded = {path: snapshot.file(row.repo_id, path) for path in paths}
        for path, old in recorded.items():
            issued = work.issued.get(path)
            if issued is not None and issued.digest == "":
                continue
            version = next_version(time.time_ns(), old, issued)
            removal = FileRemoved(path=RepoPath(path), version=version, pass_id=pass_id)
            append = self._bus.append_newer(
                subjects.file_record(row.repo_id, path),
                self._wrap(row, removal, pass_id),
                version=version,
                expected=0 if old is None else old.sequence,
            )
            appended.append((path, version, asyncio.ensure_future(append)))
            if len(appended) % 128 == 0:
                await asyncio.sleep(0)
        for path, version, task in appended:
            try:
                work.issued[path] = Issued(version, "", await task)
            except Fault as fault:
                if fault.code != "SUPERSEDED":
                    counted.add(_FAULTS, "retire", fault.code.lower())
                    raise
            work.ledger.note(path, "removed")

    # -- the end of a walk, and of a pass ---------------------------------------------------

    async def _walk_finished(
        self, row: RepoRow, work: RepoWork, event: WalkFinished, out: Outbox
    ) -> None:
        seen, running = work.seen, work.running
        if running is None and event.batches == 0:  # an empty tree
            running = work.running = await self._begun(row, work, event)
            seen = work.seen = Seen(event.walk_id, set(), set())
        if (
            seen is None
            or running is None
            or seen.walk_id != event.walk_id
            or len(seen.batches) != event.batches
        ):
            # Batches were handled by a process that is gone, or are still to be redelivered.
            await self._ask_for_pass(row, "resume", event.attempt, event.pass_id, audit=event.audit)
            return
        running.reason, running.attempt, running.notice = (
            event.reason,
            event.attempt,
            event.notice or running.notice,
        )
        sound = "conclusive" if event.complete else "probe_failed"
        counted.add("repocontext.bootstrap.coverage_probe", "sweep", sound)
        if event.error:
            running.error = event.error
            await self._close(row, work, running, "Failed")
            return
        if event.complete:
            with self._projections.read() as snapshot:
                live = {file.path for file in snapshot.files(row.repo_id)}
            live |= {RepoPath(path) for path, issued in work.issued.items() if issued.digest}
            # A file made in a folder that the walk had listed already was told by the watcher alone.
            since = {path for path, at_ms in work.noticed.items() if at_ms >= event.started_ms}
            await self._remove(row, work, sorted(live - seen.paths - since), event.pass_id)
            work.noticed = {path: at for path, at in work.noticed.items() if path in since}
        await out.stored()
        work.uncertain.clear()
        work.absent.clear()
        await self._backfill(row, work, running)
        running.walked = True
        running.phase = "Applying"
        work.stalled_at = time.monotonic()
        await self._tell(row, work, running)
        self._check.set()

    async def _backfill(self, row: RepoRow, work: RepoWork, running: RunningPass) -> None:
        """Have made what records lack: vectors, bodies, texts, symbols."""
        reached = await self._embedded_to()

        def look() -> list[Gap]:
            with self._projections.read() as snapshot:
                return gaps_of(snapshot, row.repo_id, reached)

        gaps = [
            gap
            for gap in await asyncio.to_thread(look)
            if gap.lacks != "extract" and gap.path not in work.issued
        ]
        renewed = await renew(self._bus, row.repo_id, gaps)
        for record in renewed:
            work.issued[record.path] = Issued(record.version, record.digest, record.sequence)
        running.renewed = len(renewed)
        running.issued += len(renewed)
        if renewed:
            log.warning("records_renewed", repo=row.repo_id, files=len(renewed))

    async def _embedded_to(self) -> int:
        """INDEX sequence up to which the embedders are done with every record; -1 without any."""
        if self._settings.embed_provider == "none":
            return -1
        info = await self._bus.api(f"CONSUMER.INFO.{INDEX}.embedder", {})
        return int(info["ack_floor"]["stream_seq"])

    async def _finish_passes(self) -> None:
        """Strike out what came onto record; end passes that have nothing left to wait for."""
        while not self.should_stop:
            waiting = any(work.running is not None or work.issued for work in self._work.values())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._check.wait(), _CHECK_S if waiting else None)
            self._check.clear()
            # Many commits come in a row while indexing; looking after each would cost more than it tells.
            outstanding = sum(len(work.issued) for work in self._work.values())
            await asyncio.sleep(_LOOK_S if outstanding > _FEW else _LAST_LOOK_S if waiting else 0)
            async with self._lock:
                if not self._resumed:
                    with contextlib.suppress(Unavailable):  # asked again at the next look
                        await self._resume_unfinished()
                for repo_id, work in list(self._work.items()):
                    try:
                        await self._settle(repo_id, work)
                    except Unavailable as fault:  # the broker is away; looked at again in a second
                        log.info("settling_put_off", repo=repo_id, error=fault.message)

    async def _settle(self, repo_id: str, work: RepoWork) -> None:
        try:
            with self._projections.read() as snapshot:
                row = snapshot.repo(repo_id)
                position = snapshot.positions().index
                before = len(work.issued)
                self._strike_out(snapshot, repo_id, work, position)
        except (NotFound, CorruptEnvironment):
            return
        if row is None or row.index_generation != work.generation or row.state != "registered":
            self._forget(repo_id)
            return
        if len(work.issued) != before or not work.issued:
            work.stalled_at = time.monotonic()
        elif time.monotonic() - work.stalled_at > _STALL_S:
            await self._unstall(repo_id, work)
        running = work.running
        if running is None:
            return
        totals = row.counters
        done = max(running.issued - len(work.issued), 0)
        await self._progress(repo_id, running, "extract", done, running.issued)
        if running.walked:
            await self._progress(repo_id, running, "embed", totals.embedded, totals.wanted)
        patience_s = PATIENCE_S
        if totals.wanted > totals.embedded and running.walked and not work.issued:
            patience_s = await self._patience_s(running.stuck_s(totals.embedded))
        changed = running.advance(
            outstanding=len(work.issued),
            wanted=totals.wanted,
            embedded=totals.embedded,
            patience_s=patience_s,
        )
        if running.walked and running.phase == "Done":
            await self._close(row, work, running, "Completed")
        elif changed is not None or running.is_to_tell():
            await self._tell(row, work, running)

    async def _patience_s(self, stuck_s: float) -> float:
        """How long a pass waits for the next vectors."""
        if self._settings.embed_provider == "none":
            return 0.0
        if self._embedder in ("down", "idle"):
            return STUCK_S
        if stuck_s < STUCK_S:
            return PATIENCE_S
        info = await self._bus.api(f"CONSUMER.INFO.{INDEX}.embedder", {})
        idle = info["num_pending"] == 0 and info["num_ack_pending"] == 0
        return STUCK_S if idle else PATIENCE_S

    async def _tell(self, row: RepoRow, work: RepoWork, running: RunningPass) -> None:
        running.told_at = time.monotonic()
        await self._record(row, running.state("Running", work.ledger))

    def _strike_out(self, snapshot: Snapshot, repo_id: str, work: RepoWork, position: int) -> None:
        """Forget what has come onto record. Jobs are done about in order: a row of misses ends the look."""
        misses: list[str] = []
        for path, issued in list(work.issued.items()):
            recorded = snapshot.file(repo_id, path)
            if issued.sequence:
                folded = position >= issued.sequence
            else:
                folded = recorded is not None and recorded.version >= issued.version
            if folded:
                del work.issued[path]
                continue
            misses.append(path)
            if len(misses) == _MISSES:
                break
        if len(misses) == _MISSES:
            for path in misses:  # looked at last the next time, so that none can hide the others
                work.issued[path] = work.issued.pop(path)

    async def _unstall(self, repo_id: str, work: RepoWork) -> None:
        """Forget jobs that nobody holds any more (parked, purged): the next walk looks again."""
        info = await self._bus.api("CONSUMER.INFO.WORK.extractor", {})
        if info["num_pending"] == 0 and info["num_ack_pending"] == 0:
            log.warning("jobs_without_a_record", repo=repo_id, files=len(work.issued))
            if work.running is not None:
                work.running.notice = (
                    f"{len(work.issued)} files could not be extracted; see `repofold dead list`"
                )
            work.issued.clear()
        work.stalled_at = time.monotonic()

    async def _close(self, row: RepoRow, work: RepoWork, running: RunningPass, status: str) -> None:
        running.phase = "Done"
        if running.diverged:
            log.warning("audit_found_divergence", repo=row.repo_id, files=running.diverged)
            running.notice = running.notice or (
                f"{running.diverged} files differed from their records though size and time did not"
            )
        await self._record(row, running.state(status, work.ledger))
        counting.ended(row.repo_id, running, work.ledger, status)
        for stage in ("walk", "reconcile", "extract", "embed"):
            await self._bus.publish(
                subjects.progress(row.repo_id, stage),
                self._wrap(
                    row,
                    StageProgress(
                        pass_id=running.pass_id, stage=stage, done=1, total=1, notice=status
                    ),
                    running.pass_id,
                ),
            )
        work.running = None
        work.ended = "" if work.seen is None else work.seen.walk_id
        work.seen = None
        if status == "Completed":
            work.ledger.kinds.clear()
        await asyncio.to_thread(memory.trim)

    # -- publishing -------------------------------------------------------------------------

    async def _record(self, row: RepoRow, state: PassChanged) -> None:
        await (
            await self._bus.put(
                subjects.repo_pass(row.repo_id), self._wrap(row, state, state.pass_id)
            )
        )

    async def _ask_for_pass(
        self, row: RepoRow, reason: str, attempt: int, pass_id: str, *, audit: bool = False
    ) -> None:
        job = PassJob(
            pass_id=pass_id,
            reason=reason,
            root=row.root,
            filters=row.filters,
            attempt=attempt,
            audit=audit,
        )
        await (await self._bus.put(subjects.pass_job(row.repo_id), self._wrap(row, job, pass_id)))

    async def _progress(
        self, repo_id: str, running: RunningPass, stage: str, done: int, total: int = 0
    ) -> None:
        now = time.monotonic()
        if stage == "reconcile" and now - self._progress_at < _PROGRESS_S:
            return
        self._progress_at = now
        event = StageProgress(
            pass_id=running.pass_id, stage=stage, done=done, total=total, notice=running.notice
        )
        envelope = starting("reconciler", event, repo=RepoId(repo_id), correlation=running.pass_id)
        await self._bus.publish(subjects.progress(repo_id, stage), encode(envelope))

    def _wrap(self, row: RepoRow, event: Any, correlation: str) -> bytes:
        return encode(
            starting(
                "reconciler",
                event,
                repo=row.repo_id,
                generation=row.index_generation,
                correlation=correlation,
            )
        )

    def _reader(self, row: RepoRow) -> TreeReader:
        key = f"{row.root}\0{row.filters}"
        known = self._readers.get(row.repo_id)
        if known is not None and known[0] == key:
            return known[1]
        if known is not None:
            known[1].close()
        reader = TreeReader(Path(row.root), row.filters, self._settings.max_file_bytes)
        self._readers[row.repo_id] = (key, reader)
        return reader

    async def on_shutdown(self) -> None:
        self._check.set()
        for repo_id in list(self._work):
            self._forget(repo_id)
        for _, reader in self._readers.values():
            reader.close()
        self._projections.close()


async def assemble(settings: Settings, bus: Bus) -> Parts:
    """The reconciler's part of a worker process."""
    reconciler = Reconciler(bus, settings)
    policy = Policy(
        batch=4, window=16, backoff_s=(0.05, 0.2, 1.0, 5.0), grace_s=settings.drain_seconds
    )
    consumer = Consumer(bus, _SPEC, AnyJob, reconciler.handle, policy=policy)
    return Parts("reconciler", bus, [reconciler, consumer])
