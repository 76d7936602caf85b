"""What is counted of passes, and when?

At their end, of which each has one: completed, failed, or cut off in a phase. Files become countable
when a pass completes, because until then the same change may be seen once more.
"""

from __future__ import annotations

from contracts.envelope import now_ms
from services.kernel.instruments import counted
from services.reconciler.running import Ledger, RunningPass

_FILES = "repocontext.ingest.files"
_PASSES = "repocontext.ingest.passes"
_PHASES = frozenset({"Walking", "Reconciling", "Applying", "Vectorising"})


def begun(repo_id: str) -> None:
    """A pass began: what is counted of its repository exists from now on."""
    for name in (
        "repocontext.ingest.files_scanned",
        "repocontext.ingest.files_embedded",
        "repocontext.ingest.symbols_embedded",
        "repocontext.ingest.files_content_projected",
        _FILES,
        _PASSES,
    ):
        counted.prime(name, repo_id)


def ended(repo_id: str, running: RunningPass, ledger: Ledger, status: str) -> None:
    """A pass is over."""
    _ended(repo_id, running, status.lower())
    state = running.state(status, ledger)
    counted.add("repocontext.ingest.files_scanned", repo_id, by=max(running.scanned, 0))
    if status != "Completed":
        return
    for outcome, files in (
        ("added", state.files_added),
        ("updated", state.files_updated),
        ("removed", state.files_removed),
        ("unchanged", state.files_unchanged),
    ):
        counted.add(_FILES, repo_id, outcome, by=files)


def cut_off(repo_id: str, running: RunningPass | None) -> None:
    """A pass was left where it was: by a reset, a removal, another pass, or a stop."""
    if running is None or running.phase not in _PHASES:
        return
    _ended(repo_id, running, "cancelled")
    counted.add("repocontext.bootstrap.phase_cancelled", running.phase)
    counted.add(
        "repocontext.bootstrap.phase_cancelled.discarded_time",
        running.phase,
        by=_taken_ms(running),
    )


def _ended(repo_id: str, running: RunningPass, outcome: str) -> None:
    counted.add(_PASSES, repo_id, outcome)
    seconds = _taken_ms(running) / 1000
    counted.observe("repocontext.ingest.pass.duration", seconds, repo_id, outcome)


def _taken_ms(running: RunningPass) -> int:
    return max(now_ms() - running.started_ms, 0)
