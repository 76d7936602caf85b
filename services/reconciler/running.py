"""How far is the pass of a repository, and when is it over?"""

from __future__ import annotations

import time

from msgspec import Struct

from contracts.envelope import now_ms
from contracts.events.index import PassChanged
from services.reconciler.plan import Issued

_VECTOR_PATIENCE_S = 5.0  # a pass does not wait longer than this for vectors that do not come


class Seen(Struct):
    """What one run of a walk has told so far."""

    walk_id: str
    batches: set[int]
    paths: set[str]


class Ledger(Struct):
    """What became different since the last pass ended, walked into or watched; one kind a path."""

    kinds: dict[str, str]

    def note(self, path: str, kind: str) -> None:
        """Note that a file was added, updated or removed."""
        before = self.kinds.get(path)
        if before == "added" and kind == "removed":
            del self.kinds[path]
        elif before == "added":
            return
        elif before == "removed" and kind == "added":
            self.kinds[path] = "updated"
        else:
            self.kinds[path] = kind

    def count(self, kind: str) -> int:
        return sum(found == kind for found in self.kinds.values())


class RunningPass(Struct):
    """One pass from its first batch to its end."""

    pass_id: str
    reason: str
    attempt: int
    started_ms: int
    phase: str = "Walking"
    scanned: int = 0
    issued: int = 0  # extract jobs of this pass
    error: str = ""
    notice: str = ""
    walked: bool = False  # the walk is finished and removals are issued
    embedded_seen: int = -1
    embedded_at: float = 0.0

    def state(self, status: str, ledger: Ledger) -> PassChanged:
        """The record of this moment."""
        now = now_ms()
        added, updated = ledger.count("added"), ledger.count("updated")
        return PassChanged(
            pass_id=self.pass_id,
            reason=self.reason,
            status=status,
            phase=self.phase,
            attempt=self.attempt,
            files_scanned=self.scanned,
            files_added=added,
            files_updated=updated,
            files_removed=ledger.count("removed"),
            files_unchanged=max(self.scanned - added - updated, 0),
            started_ms=self.started_ms,
            updated_ms=now,
            completed_ms=now if status in ("Completed", "Failed", "Cancelled") else 0,
            error=self.error,
            notice=self.notice,
        )

    def advance(self, *, outstanding: int, wanted: int, embedded: int) -> str | None:
        """Move on as far as the counts allow; the new phase, or None when nothing changed.

        `outstanding` are versions issued and not yet on record. Vectors are waited for as long as
        they keep coming: a dead embedder must not keep a pass open.
        """
        before = self.phase
        if not self.walked:
            return None
        if outstanding:
            self.phase = "Applying"
        elif wanted > embedded and self._coming(embedded):
            self.phase = "Vectorising"
        else:
            self.phase = "Done"
        return self.phase if self.phase != before else None

    def _coming(self, embedded: int) -> bool:
        now = time.monotonic()
        if embedded != self.embedded_seen:
            self.embedded_seen, self.embedded_at = embedded, now
        return now - self.embedded_at < _VECTOR_PATIENCE_S


class RepoWork(Struct):
    """What this process knows of one repository beyond the projection."""

    generation: int
    issued: dict[str, Issued]
    ledger: Ledger
    uncertain: set[str]  # subjects of jobs that an earlier process issued and nobody has done yet
    seen: Seen | None = None
    running: RunningPass | None = None
    stalled_at: float = 0.0
