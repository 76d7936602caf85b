"""How far is a repository's indexing, and can retrieval serve it?"""

from __future__ import annotations

import time

from contracts.ids import RepoId
from contracts.tools.repocontext import IndexStatus, JobStatus, Pacing
from services.query.entries import time_text
from store.read.live import Snapshot


def index_status(snapshot: Snapshot | None, repo_id: RepoId) -> IndexStatus:
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
            pacing=None if done else _PACING_OFF,
        )  # fmt: skip
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
        attempt=state.attempt,
        started_at=time_text(state.started_ms),
        updated_at=time_text(state.updated_ms),
        completed_at=time_text(state.completed_ms),
        elapsed_milliseconds=max(end - state.started_ms, 0) if state.started_ms else None,
        error=state.error or None,
        pacing=_PACING_OFF if running else None,
    )


_PACING_OFF = Pacing(
    state="Disabled", reason=None, batch_delay_milliseconds=0, foreground_requests=0
)


_STATUS: dict[str, JobStatus] = {
    "Running": "Running", "Completed": "Completed", "Failed": "Failed", "Cancelled": "Failed",
}  # fmt: skip
