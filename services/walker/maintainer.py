"""Who sees to it that each registered repository stays indexed?

One maintainer for all repositories of a node, one `Upkeep` for each. It looks at the projection and
asks for passes like anybody else, so everything it starts is single flight and survives a restart:
what is armed is what is registered, and when the last audit was stands in the pass record.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable

from msgspec import Struct

from contracts.envelope import now_ms
from contracts.errors import Fault, NotFound
from contracts.subjects import INDEX
from services.kernel import logs
from services.kernel.bus import Bus
from services.kernel.instruments import counted
from services.kernel.settings import Settings
from services.walker.upkeep import Due, Intervals, Look, Upkeep, cadence_of
from store.env import CorruptEnvironment
from store.read.gaps import gaps_of
from store.read.live import Projections
from store.rows import PassRow, RepoRow

log = logs.get(__name__)
_PROBE = "repocontext.bootstrap.coverage_probe"
_VERDICT = "repocontext.bootstrap.coverage_verdict"


class State(Struct, frozen=True):
    """What the walker knows of a repository at this moment."""

    row: RepoRow
    watched: bool  # file events come, and did come
    walking: bool


# (row, reason, attempt, pass id or "" for a new one)
Ask = Callable[[RepoRow, str, int, str], Awaitable[None]]


class Maintainer:
    """Looks after every repository, one tick after the other."""

    def __init__(
        self,
        bus: Bus,
        settings: Settings,
        projections: Projections,
        ask: Ask,
        busy: Callable[[], bool],
    ) -> None:
        self._bus, self._projections = bus, projections
        self._ask, self._busy = ask, busy
        self._embeds = settings.embed_provider != "none"
        self._cadence = cadence_of(
            Intervals(
                tick_s=settings.tick_seconds,
                reconcile_s=settings.reconcile_seconds,
                jitter_s=settings.reconcile_jitter_seconds,
                walk_s=settings.full_walk_seconds,
                scan_s=settings.gap_scan_seconds,
                audit_s=settings.audit_seconds,
            )
        )
        self._upkeep: dict[str, Upkeep] = {}
        self.clock: Callable[[], float] = time.monotonic
        self.jitter: Callable[[], float] = random.random

    @property
    def tick_s(self) -> float:
        return self._cadence.tick_s

    def arm(self, row: RepoRow) -> None:
        """Look after a repository from now on."""
        last = self._newest_pass(row.repo_id)
        audited = max(row.registered_ms, 0 if last is None else last.audited_ms)
        ago_s = (now_ms() - audited) / 1000 if audited else 0.0
        self._upkeep[row.repo_id] = Upkeep(self._cadence, self.clock(), ago_s, self.jitter)

    def disarm(self, repo_id: str) -> None:
        """It was removed or reset."""
        self._upkeep.pop(repo_id, None)

    def unwatched(self, repo_id: str) -> None:
        """No events come any more."""
        if (upkeep := self._upkeep.get(repo_id)) is not None:
            upkeep.unwatched(self.clock())

    async def look_after(self, state: State) -> None:
        """One tick of one repository; what fails is tried at the next."""
        upkeep = self._upkeep.get(state.row.repo_id)
        if upkeep is None:
            return
        try:
            await self._tick(state, upkeep)
        except (Fault, CorruptEnvironment) as error:
            counted.add(_VERDICT, "probe_unmeasurable")
            log.info("upkeep_put_off", repo=state.row.repo_id, error=repr(error)[:200])

    async def _tick(self, state: State, upkeep: Upkeep) -> None:
        row = state.row
        with self._projections.read() as snapshot:
            now = snapshot.repo(row.repo_id)
            last = snapshot.newest_pass(row.repo_id)
        if now is None or now.state != "registered":
            return
        if (
            last is None
        ):  # its record is still on its way, or was never written: as if it had failed
            last = _never_ran()
        due = upkeep.due(
            Look(
                now_s=self.clock(),
                status=last.status,
                silent_ms=now_ms() - last.updated_ms,
                walking=state.walking,
                watched=state.watched,
                missing=self._embeds and now.counters.embedded < now.counters.wanted,
                busy=self._busy(),
            )
        )
        await self._do(now, last, due, upkeep)

    async def _do(self, row: RepoRow, last: PassRow, due: Due, upkeep: Upkeep) -> None:
        reason = due.walk
        if reason == "failed":
            counted.add(_VERDICT, "arm_failure")
        if not reason and due.scan and await self._has_gap(row, due, upkeep):
            reason = "gap"
        if not reason:
            return
        log.info("upkeep_pass", repo=row.repo_id, reason=reason)
        if reason == "resume":
            await self._ask(row, reason, last.attempt, last.pass_id)
        else:
            await self._ask(row, reason, last.attempt + 1, "")

    async def _has_gap(self, row: RepoRow, due: Due, upkeep: Upkeep) -> bool:
        """Whether a pass is to make good what records lack."""
        reached = -1
        if self._embeds:
            info = await self._bus.api(f"CONSUMER.INFO.{INDEX}.embedder", {})
            if not due.cycle and info["num_pending"] + info["num_ack_pending"]:
                return False  # the missing vectors may still be made
            reached = int(info["ack_floor"]["stream_seq"])

        def look() -> frozenset[str]:
            with self._projections.read() as snapshot:
                return frozenset(gap.path for gap in gaps_of(snapshot, row.repo_id, reached))

        outcome = "probe_failed"
        try:
            lacking = await asyncio.to_thread(look)
            outcome = "conclusive"
        finally:  # one look finds both kinds
            counted.add(_PROBE, "file", outcome)
            counted.add(_PROBE, "symbol", outcome)
        gap = upkeep.confirmed(lacking, self.clock())
        counted.add(_VERDICT, "gap_found" if gap else "converged")
        return gap

    def _newest_pass(self, repo_id: str) -> PassRow | None:
        try:
            with self._projections.read() as snapshot:
                return snapshot.newest_pass(repo_id)
        except NotFound:
            return None


def _never_ran() -> PassRow:
    """What stands for the pass of a repository that has none: one that failed before its record."""
    return PassRow(
        pass_id="", reason="", status="Failed", phase="Pending", attempt=0, files_scanned=0,
        files_added=0, files_updated=0, files_removed=0, files_unchanged=0, started_ms=0,
        updated_ms=0, completed_ms=0, error="", notice="",
    )  # fmt: skip
