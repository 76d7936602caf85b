"""What does a repository need now, so that it stays indexed without anybody asking?

Pure decisions of the one maintainer of a repository: it is armed by the registration and gone with
it. Every tick it looks at the newest pass; every reconcile interval (with jitter) begins a cycle.
Longer intervals are counted in cycles, so that a node that is busy or asleep does not fall behind
with everything at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct

STALE_MS = 90_000  # a running pass tells of itself more often than that
POSTPONED_MOST = 12  # audits put off in a row because people wait for answers
_UNWATCHED_S = 60.0  # between walks where the system cannot watch


class Cadence(Struct, frozen=True, kw_only=True):
    """How often what is done."""

    tick_s: float
    reconcile_s: float
    jitter_s: float
    walk_cycles: int  # a watched tree is walked at every n-th cycle
    scan_cycles: int
    audit_cycles: int

    @property
    def cycle_s(self) -> float:
        """The longest cycle."""
        return self.reconcile_s + self.jitter_s


class Intervals(Struct, frozen=True, kw_only=True):
    """What the settings say, in seconds."""

    tick_s: float
    reconcile_s: float
    jitter_s: float
    walk_s: float
    scan_s: float
    audit_s: float


def cadence_of(intervals: Intervals) -> Cadence:
    """Turn the longer intervals into numbers of cycles, at least one of each."""
    cycle_s = intervals.reconcile_s + intervals.jitter_s
    return Cadence(
        tick_s=intervals.tick_s,
        reconcile_s=intervals.reconcile_s,
        jitter_s=intervals.jitter_s,
        walk_cycles=_cycles(intervals.walk_s, cycle_s),
        scan_cycles=_cycles(intervals.scan_s, cycle_s),
        audit_cycles=_cycles(intervals.audit_s, cycle_s),
    )


def _cycles(interval_s: float, cycle_s: float) -> int:
    # A cycle shorter than the clock's tick is none.
    return max(1, math.ceil(interval_s / cycle_s)) if cycle_s > 0.001 else 1


class Look(Struct, frozen=True, kw_only=True):
    """What the maintainer sees at one tick."""

    now_s: float  # monotonic
    status: str  # of the newest pass; "" when there is none
    silent_ms: int = 0  # since the pass last told of itself
    walking: bool = False  # this process walks it at this moment
    watched: bool = True  # file events come
    missing: bool = False  # there are files that want vectors and have none
    busy: bool = False  # people wait for answers


class Due(Struct, frozen=True):
    """What is to be done now."""

    walk: str = ""  # reason of the pass to ask for: resume failed reconcile audit; "" for none
    scan: bool = False  # look for gaps
    cycle: bool = False  # the look is the periodic one


class Upkeep:
    """The maintainer's memory of one repository."""

    def __init__(
        self, cadence: Cadence, now_s: float, audited_s_ago: float, jitter: Callable[[], float]
    ) -> None:
        """`audited_s_ago`: since every file was last read; `jitter()` is in [0, 1)."""
        self._cadence, self._jitter = cadence, jitter
        since = int(max(audited_s_ago, 0.0) / cadence.cycle_s) if cadence.cycle_s else 0
        self._until_audit = max(1, cadence.audit_cycles - since)
        self._until_walk = cadence.walk_cycles
        self._until_scan = cadence.scan_cycles
        self._postponed = 0
        self._rescues = 0
        self._rescue_at = now_s + cadence.tick_s  # what was just asked for may be on its way
        self._resumed_at = -math.inf
        self._watched = True
        self._gaps: frozenset[str] = frozenset()
        self._fills = 0  # acted on in a row without all gaps being gone
        self._fill_at = now_s
        self._cycle_at = 0.0
        self._next_cycle(now_s)

    def _next_cycle(self, now_s: float) -> None:
        pause = self._cadence.reconcile_s + self._jitter() * self._cadence.jitter_s
        self._cycle_at = now_s + (pause if self._watched else min(pause, _UNWATCHED_S))

    def unwatched(self, now_s: float) -> None:
        """The system cannot watch any more: walk now, and often from now on."""
        self._watched = False
        self._cycle_at = now_s

    def due(self, look: Look) -> Due:
        """What to do at this tick; each cycle and each rescue is told once."""
        if look.status == "Running":
            return self._running(look)
        if look.status == "Failed":
            return self._failed(look)
        self._rescues = 0
        if look.now_s < self._cycle_at:
            return Due(scan=look.missing)
        self._next_cycle(look.now_s)
        walk = self._walk(look)
        self._until_scan -= 1
        scan = self._until_scan <= 0
        if scan:
            self._until_scan = self._cadence.scan_cycles
        return Due(walk, scan=(scan or look.missing) and not walk, cycle=scan and not walk)

    def _running(self, look: Look) -> Due:
        """Nothing, unless whoever ran the pass is gone and so is its job."""
        lost = look.silent_ms > STALE_MS and not look.walking
        if not lost or look.now_s - self._resumed_at < STALE_MS / 1000:
            return Due()
        self._resumed_at = look.now_s
        return Due("resume")

    def _failed(self, look: Look) -> Due:
        """Drive it again: at once, then less and less often while it goes on failing."""
        if look.now_s < self._rescue_at:
            return Due()
        pause = self._cadence.tick_s * 2.0 ** min(self._rescues, 16)
        self._rescue_at = look.now_s + min(pause, max(self._cadence.reconcile_s, 1.0))
        self._rescues += 1
        return Due("failed")

    def _walk(self, look: Look) -> str:
        self._until_audit -= 1
        self._until_walk -= 1
        if self._until_audit <= 0 and not (look.busy and self._postponed < POSTPONED_MOST):
            self._until_audit = self._cadence.audit_cycles
            self._until_walk = self._cadence.walk_cycles
            self._postponed = 0
            return "audit"
        if self._until_audit <= 0:
            self._postponed += 1
        if self._until_walk <= 0 or not look.watched:
            self._until_walk = self._cadence.walk_cycles
            return "reconcile"
        return ""

    def confirmed(self, gaps: frozenset[str], now_s: float) -> bool:
        """Whether to act on gaps: those of the look before as well, for what is just coming in is none.

        Gaps that stay although they were acted on are acted on less and less often.
        """
        again = bool(gaps & self._gaps)
        self._gaps = gaps
        if not gaps:
            self._fills = 0
        if not again or now_s < self._fill_at:
            return False
        pause_s = self._cadence.tick_s * 2.0 ** min(self._fills, 32)
        self._fill_at = now_s + min(pause_s, self._cadence.audit_cycles * self._cadence.cycle_s)
        self._fills += 1
        return True
