"""How far is a repository's indexing, and can retrieval serve it?"""

from __future__ import annotations

import time

from contracts.ids import RepoId
from contracts.tools.repocontext import IndexStatus, JobStatus, Pacing
from services.kernel.settings import Settings
from services.query.entries import time_text
from store.read import notes
from store.read.history import standing_of
from store.read.live import Snapshot
from store.rows import Counters, RepoRow

# Of a command line that asks the projection: it hears no worker.
_UNKNOWN_PACE = Pacing(state="Idle", batch_delay_milliseconds=0, foreground_requests=0)


def index_status(
    snapshot: Snapshot | None, repo_id: RepoId, pacing: Pacing = _UNKNOWN_PACE
) -> IndexStatus:
    """The newest pass with the counters of this moment; status "None" when never onboarded."""
    row = None if snapshot is None else snapshot.repo(repo_id)
    state = None if snapshot is None else snapshot.newest_pass(repo_id)
    if row is None or row.state == "removed" or snapshot is None:
        return IndexStatus(repo_id=repo_id, status="None")
    totals = row.counters
    if state is None:
        done = row.state == "reset"
        return IndexStatus(
            repo_id=repo_id, status="Completed" if done else "Running", phase="Done" if done else "Pending",
            pacing=None if done else pacing,
        )  # fmt: skip
    history = standing_of(snapshot.txn, repo_id)
    running = state.status == "Running"
    end = state.completed_ms or time.time_ns() // 1_000_000
    return IndexStatus(
        repo_id=repo_id,
        status=_STATUS.get(state.status, "Failed"),
        phase=state.phase,  # type: ignore[arg-type]  # the reconciler's phases are the contract's
        files_scanned=state.files_scanned,
        files_added=state.files_added,
        files_updated=state.files_updated,
        files_removed=state.files_removed,
        files_unchanged=state.files_unchanged,
        chunks_total=totals.chunks,
        chunks_committed=totals.embedded_chunks,
        files_embedded=totals.embedded,
        symbols_embedded=totals.embedded_symbols,
        files_content_projected=totals.extracted,
        trees_swept=state.trees_swept,
        entries_deleted=state.entries_deleted,
        attempt=state.attempt,
        started_at=time_text(state.started_ms),
        updated_at=time_text(state.updated_ms),
        completed_at=time_text(state.completed_ms),
        elapsed_milliseconds=max(end - state.started_ms, 0) if state.started_ms else None,
        error=state.error or None,
        pacing=pacing if running else None,
        history_commits=history.commits,
        history_notice=history.notice or None,
    )


def embedded_sources(snapshot: Snapshot, row: RepoRow) -> int:
    """Files, symbols and notes that have a vector."""
    return (
        row.counters.embedded
        + row.counters.embedded_symbols
        + notes.embedded(snapshot, row.repo_id)
    )


def vectors_come(settings: Settings, totals: Counters) -> bool:
    """Whether there will be more vectors than there are; without an embedder nobody makes any."""
    return settings.embed_provider != "none" and totals.embedded < totals.wanted


_STATUS: dict[str, JobStatus] = {
    "Running": "Running", "Completed": "Completed", "Failed": "Failed", "Cancelled": "Failed",
}  # fmt: skip
