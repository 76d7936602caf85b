"""How far is the pass of a repository, and when is it over?"""

from __future__ import annotations

import time

import msgspec
from msgspec import Struct

from contracts.envelope import now_ms
from contracts.events.index import PassChanged
from services.reconciler.plan import Issued

STUCK_S = 5.0  # without new vectors, when nobody makes any
PATIENCE_S = 60.0  # without new vectors, while an embedder has work and says that it is well
_TELL_S = 20.0  # a running pass tells of itself at least so often
_HEARD_S = 60.0  # unless nothing came of its walk for so long: whoever walked may be gone


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
        return list(self.kinds.values()).count(kind)


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
    audit: bool = False
    audited_ms: int = 0  # when the audit before this pass was over
    diverged: int = 0  # files whose bytes were not on record although size and time said so
    renewed: int = 0  # records appended once more for what they lacked
    told_at: float = 0.0  # monotonic, when the record of the pass was last written
    heard_at: float = msgspec.field(default_factory=time.monotonic)  # when its walk last told
    embedded_seen: int = -1
    embedded_at: float = 0.0

    def state(self, status: str, ledger: Ledger) -> PassChanged:
        """The record of this moment."""
        now = now_ms()
        added, updated = ledger.count("added"), ledger.count("updated")
        audited_ms = now if self.audit and status == "Completed" else self.audited_ms
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
            audited_ms=audited_ms,
        )

    def advance(
        self, *, outstanding: int, wanted: int, embedded: int, patience_s: float = PATIENCE_S
    ) -> str | None:
        """Move on as far as the counts allow; the new phase, or None when nothing changed.

        `outstanding` are versions issued and not yet on record. Vectors are waited for as long as
        they keep coming, and `patience_s` longer: an embedder that is down must not keep a pass
        open. What is missing then is told, and made up for when it is back.
        """
        before = self.phase
        if not self.walked:
            return None
        if outstanding:
            self.phase = "Applying"
        elif wanted > embedded and self.stuck_s(embedded) < patience_s:
            self.phase = "Vectorising"
        else:
            self.phase = "Done"
            if wanted > embedded and not self.notice:
                self.notice = f"{wanted - embedded} files wait for their vectors"
        return self.phase if self.phase != before else None

    def is_to_tell(self) -> bool:
        """Whether it is time to tell once more that the pass goes on.

        One whose walk was lost falls silent, and is walked again (walker/upkeep.py).
        """
        now = time.monotonic()
        alive = self.walked or now - self.heard_at < _HEARD_S
        return alive and now - self.told_at > _TELL_S

    def stuck_s(self, embedded: int) -> float:
        """Seconds since the number of files with vectors last changed."""
        now = time.monotonic()
        if embedded != self.embedded_seen:
            self.embedded_seen, self.embedded_at = embedded, now
        return now - self.embedded_at


class Attempt(Struct):
    """What handling messages once has changed here and is not known to be stored."""

    jobs: dict[str, str] = msgspec.field(default_factory=dict)  # path -> subject
    batches: set[int] = msgspec.field(default_factory=set)  # of the walk
    scanned: int = 0
    issued: int = 0  # jobs of the pass


class RepoWork(Struct):
    """What this process knows of one repository beyond the projection."""

    generation: int
    issued: dict[str, Issued]
    ledger: Ledger
    uncertain: set[str]  # subjects of jobs that an earlier process issued and nobody has done yet
    absent: set[str] = msgspec.field(default_factory=set)  # subjects whose record the stream lost
    seen: Seen | None = None
    noticed: dict[str, int] = msgspec.field(default_factory=dict)  # by the watcher, when (Unix ms)
    running: RunningPass | None = None
    attempt: Attempt = msgspec.field(default_factory=Attempt)
    ended: str = ""  # the walk of the pass that was over last
    stalled_at: float = msgspec.field(default_factory=time.monotonic)  # nothing came since then

    def take_back(self) -> None:
        """The attempt failed, and its messages come again. Its jobs may be stored or not."""
        attempt, self.attempt = self.attempt, Attempt()
        for path, subject in attempt.jobs.items():
            self.issued.pop(path, None)
            self.uncertain.add(subject)
        if self.seen is not None:
            self.seen.batches -= attempt.batches
        if self.running is not None:
            self.running.scanned -= attempt.scanned
            self.running.issued -= attempt.issued
