"""Who reads the commits that search learns from?

Beside the walks, for every registered repository with git: once its newest pass is over, and again
whenever another commit is checked out, which a look at a few files tells. What the projection holds
already is not read again; later commits come as further parts, and everything is read anew when the
old head is not part of the new one, when parts or commits have become many, and when terms are made
in another way. A crash between two parts leaves an edition without its end, which is read again.

produces  INDEX index.<repo>.hist.<n>      HistoryStored
follows   node.<node>.folded               when a pass is over
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from mode import Service
from msgspec import Struct

from contracts import subjects
from contracts.envelope import Envelope, encode, now_ms
from contracts.errors import Fault, NotFound, Unavailable
from contracts.events.index import HistoryStored
from contracts.extract import EXTRACTOR_VERSION
from contracts.history import pack_commits
from services.kernel import logs
from services.kernel.bus import Bus, Msg
from services.kernel.settings import Settings
from services.source.commits import Commit, commits_of
from services.source.gitlog import commits, is_ancestor, signature
from services.source.gitrepo import GitTree, git_tree
from store.env import CorruptEnvironment
from store.read.history import HistoryStanding, standing_of
from store.read.live import Projections
from store.rows import PassRow, RepoRow

log = logs.get(__name__)
_LOOK_S = 30.0  # between two looks at what is checked out
_SETTLE_S = 1.0  # notices of one burst are answered together
_RETRY_S = 900.0  # after git failed
_MAX_PARTS = 24
_SPARE = 1.25  # commits kept beyond the limit before everything is read anew
_PART_BYTES = 1 << 19  # of messages and paths


class Reading(Struct, frozen=True):
    """Runs of commits to be stored, oldest first."""

    edition: int
    first_part: int
    head: str
    runs: tuple[tuple[Commit, ...], ...]
    notice: str = ""


class _Known(Struct, frozen=True):
    """What was found at the last look."""

    signature: tuple[int, ...]
    head: str
    stored: int = 0  # INDEX sequence of what was stored then
    again_at: float = 0.0  # when to look again although nothing changed; 0 for never


class HistoryReader(Service):
    """Keeps the history of every registered repository of this node read."""

    def __init__(self, bus: Bus, settings: Settings) -> None:
        super().__init__()
        self._bus = bus
        self._node = settings.node
        self._limit = settings.history_commits
        self._projections = Projections(settings.projections)
        self._known: dict[str, _Known] = {}
        self._notice = asyncio.Event()
        self._cancelled = threading.Event()

    async def on_start(self) -> None:
        await self._bus.subscribe(subjects.folded(self._node), self._folded)
        self.add_future(self._run())

    async def _folded(self, _message: Msg) -> None:
        self._notice.set()

    async def _run(self) -> None:
        while not self.should_stop:
            await self.look_after_all()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._notice.wait(), _LOOK_S)
            await self.sleep(_SETTLE_S)
            self._notice.clear()

    async def look_after_all(self) -> None:
        """One look at every repository."""
        try:
            with self._projections.read() as snapshot:
                rows = snapshot.repos()
        except (NotFound, CorruptEnvironment):
            return
        for row in rows:
            if self.should_stop:
                return
            try:
                await self.look_after(row)
            except (Fault, CorruptEnvironment, OSError) as error:
                log.info("history_put_off", repo=row.repo_id, error=repr(error)[:300])

    async def look_after(self, row: RepoRow) -> None:
        """Read and store what is new of one repository's history, if it is time."""
        known = self._known.get(row.repo_id)
        with self._projections.read() as snapshot:
            if not _is_quiet(row, snapshot.newest_pass(row.repo_id)):
                return
            if known is not None and snapshot.positions().index < known.stored:
                return
            standing = standing_of(snapshot.txn, row.repo_id)
        root = Path(row.root)
        seen = (row.index_generation, self._limit, *await asyncio.to_thread(signature, root))
        if known is not None and known.signature == seen and _holds(known, standing):
            return
        try:
            reading = await asyncio.to_thread(self._read, root, standing)
        except Fault as fault:
            self._known[row.repo_id] = _Known(
                seen, standing.head, again_at=time.monotonic() + _RETRY_S
            )
            log.info("history_unreadable", repo=row.repo_id, reason=fault.message)
            return
        if reading is None:
            self._known[row.repo_id] = _Known(seen, standing.head)
            return
        stored = await self._store(row, reading)
        self._known[row.repo_id] = _Known(seen, reading.head, stored)

    def _read(self, root: Path, standing: HistoryStanding) -> Reading | None:
        """What is to be stored; None when all of it is. Runs in a thread."""
        try:
            tree = git_tree(root) if self._limit else None
        except Unavailable as fault:
            return None if standing.notice else _nothing(fault.message)
        head = "" if tree is None else tree.head()[0]
        if tree is None or not head:
            return _nothing("") if standing.head or standing.notice else None
        whole = standing.complete and standing.current
        if whole and standing.head == head:
            return None
        if whole and standing.parts < _MAX_PARTS and is_ancestor(tree, standing.head, head):
            fresh = self._commits(tree, head, standing.head)
            if standing.commits + len(fresh) <= self._limit * _SPARE:
                return Reading(standing.edition, standing.parts, head, tuple(_runs(fresh)))
        everything = self._commits(tree, head, "")
        return Reading(time.time_ns(), 0, head, tuple(_runs(everything)))

    def _commits(self, tree: GitTree, head: str, after: str) -> list[Commit]:
        stopped = self._cancelled.is_set
        newest = list(commits(tree, head, after=after, limit=self._limit, stopped=stopped))
        return newest[::-1]

    async def _store(self, row: RepoRow, reading: Reading) -> int:
        """Store all parts, the one that ends the reading last; returns its INDEX sequence."""
        sequence = 0
        for number, run in enumerate(reading.runs):
            part = reading.first_part + number
            event = HistoryStored(
                edition=reading.edition,
                part=part,
                last=number == len(reading.runs) - 1,
                head=reading.head,
                terms_version=EXTRACTOR_VERSION,
                commits=await asyncio.to_thread(_packed, run),
                count=len(run),
                notice=reading.notice,
            )
            message = encode(
                Envelope(
                    id=f"history/{row.repo_id}/{reading.edition}/{part}",
                    repo=row.repo_id,
                    generation=row.index_generation,
                    at_ms=now_ms(),
                    producer="walker",
                    event=event,
                )
            )
            confirmed = await self._bus.put(subjects.history_part(row.repo_id, part), message)
            sequence = (await confirmed).seq
        log.info("history_read", repo=row.repo_id, commits=sum(map(len, reading.runs)))
        return sequence

    async def on_stop(self) -> None:
        self._cancelled.set()
        self._notice.set()

    async def on_shutdown(self) -> None:
        self._projections.close()


def _packed(run: Sequence[Commit]) -> bytes:
    return pack_commits(commits_of(run))


def _is_quiet(row: RepoRow, last: PassRow | None) -> bool:
    """Whether the files are indexed and no pass is under way."""
    indexed = row.state == "registered" and row.last_ingested_ms > 0
    return indexed and last is not None and last.status != "Running"


def _holds(known: _Known, standing: HistoryStanding) -> bool:
    if known.again_at:
        return time.monotonic() < known.again_at
    settled = not standing.edition or (standing.complete and standing.current)
    return settled and known.head == standing.head


def _nothing(notice: str) -> Reading:
    return Reading(time.time_ns(), 0, "", ((),), notice)


def _runs(found: Sequence[Commit]) -> Iterator[tuple[Commit, ...]]:
    """Commits in runs of bounded size; one run at least."""
    run: list[Commit] = []
    size = 0
    for commit in found:
        own = len(commit.message) + sum(map(len, commit.files))
        own += sum(len(before) + len(after) for before, after in commit.renames)
        if run and size + own > _PART_BYTES:
            yield tuple(run)
            run, size = [], 0
        run.append(commit)
        size += own
    yield tuple(run)
