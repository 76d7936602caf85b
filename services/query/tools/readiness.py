"""Health: is the surface reachable, and can retrieval serve?"""

from __future__ import annotations

from collections.abc import Sequence

from contracts.envelope import now_ms
from contracts.errors import Fault, NotFound, Unavailable
from contracts.ids import RepoId
from contracts.tools.repocontext import (
    AnnState,
    Health,
    HealthRequest,
    IndexStatus,
    RepositoryReadiness,
    RetrievalPhase,
    VectorCoverage,
    Verdict,
)
from services.query import jobs
from services.query.entries import time_text
from services.query.fallback import budget_of
from services.query.host import View
from services.query.registry import tool
from services.source.embedding import Breaker
from store.read.live import Snapshot
from store.rows import RepoRow

_HOLD_MS = 30_000  # a repository that has served stays ready for so long after a fault
_PHASE: dict[Verdict, RetrievalPhase] = {
    "Serving": "serving",
    "Building": "building",
    "KeywordOnly": "keyword_only",
    "NothingRegistered": "nothing_registered",
    "SaturatedUnavailable": "saturated_unavailable",
}


@tool("repocontext_health", title="Health", family="repocontext")
async def health(view: View, request: HealthRequest) -> Health:
    """Whether this server is reachable and can answer by meaning, for the host or one repository.
    Passive: it never searches, embeds or builds."""
    if request.repo_id is None:
        return _host(view)
    repo_id = RepoId(request.repo_id)
    try:
        with view.read() as snapshot:
            repository = _repository(view, snapshot, repo_id)
    except (NotFound, Unavailable):
        repository = _unknown(repo_id)
    ready = repository.verdict in ("Serving", "KeywordOnly")
    phase = _PHASE[repository.verdict]
    return Health(
        group="repocontext", available=True, retrieval_ready=ready, retrieval_phase=phase,
        status=_told(phase, repository.reason), repository=repository,
    )  # fmt: skip


def _host(view: View) -> Health:
    """The host serves as soon as one repository does; with none registered it is ready as it is."""
    try:
        with view.read() as snapshot:
            rows = [row for row in snapshot.repos() if row.state == "registered"]
            verdicts = [_verdict(view, snapshot, row)[0] for row in rows]
    except Fault:
        verdicts = []
    if view.settings.embed_provider == "none":
        phase: RetrievalPhase = "keyword_only"
    elif not verdicts:
        phase = "nothing_registered"
    elif "Building" in verdicts:
        phase = "building"
    elif "SaturatedUnavailable" in verdicts:
        phase = "saturated_unavailable"
    else:
        phase = "serving"
    ready = phase in ("keyword_only", "nothing_registered", "serving")
    return Health(
        group="repocontext", available=True, retrieval_ready=ready, retrieval_phase=phase,
        status=_sentence(phase),
    )  # fmt: skip


def _told(phase: RetrievalPhase, reason: str | None) -> str:
    return f"{_sentence(phase)} Reason: {reason}." if reason else _sentence(phase)


def _sentence(phase: RetrievalPhase) -> str:
    return {
        "serving": "Retrieval serves by meaning and by words.",
        "keyword_only": "No embedder is configured; answers are by keyword, as intended.",
        "nothing_registered": "Nothing is indexed yet; onboard a repository.",
        "building": "Not all is indexed yet; answers may be by keyword and incomplete.",
        "saturated_unavailable": "More vectors are stored than may be scanned and there is no index of them yet; answers are by keyword.",
    }[phase]


def _verdict(view: View, snapshot: Snapshot, row: RepoRow) -> tuple[Verdict, str | None]:
    totals = row.counters
    if _found_nothing(snapshot, row):
        return "NothingRegistered", "the last pass is over and there is no eligible file"
    if view.settings.embed_provider == "none":
        return "KeywordOnly", "no embedder is configured"
    if row.state == "reset":
        return "Building", f"the index was reset; index it again with {_onboarding(view)}"
    last = view.host.retrieval.last.get(row.repo_id)
    if (refused := _refused(view, snapshot, row)) is not None:
        return "SaturatedUnavailable", refused
    proven = bool(totals.embedded and totals.embedded_chunks)
    if last is not None and last.faulty_since_ms:
        held = proven and now_ms() - last.faulty_since_ms < _HOLD_MS
        return (
            "Serving" if held else "Building",
            f"the last query was answered by {last.path}",
        )
    if proven:
        coming = totals.embedded < totals.wanted
        return (
            "Serving",
            f"{totals.embedded} of {totals.wanted} files have vectors" if coming else None,
        )
    return "Building", "semantic_serving_not_yet_demonstrated"


def _refused(view: View, snapshot: Snapshot, row: RepoRow) -> str | None:
    """Why this corpus is scanned by nobody: it is over the bound and has no index. Clears by itself."""
    settings, vectors = view.settings, row.counters.embedded_chunks
    indexed = settings.semantic_retrieval == "exact" or vectors < settings.ann_threshold_vectors
    if indexed or snapshot.ann_head(row.repo_id) is not None:
        return None
    if budget_of(vectors, settings.exact_scan_vectors) != "exceeded":
        return None
    return (
        f"{vectors:,} vectors have no index yet and exceed the {settings.exact_scan_vectors:,}"
        " that are scanned without one"
    )


def _found_nothing(snapshot: Snapshot, row: RepoRow) -> bool:
    """Whether a pass over the whole tree is over and there is not a single file on record."""
    newest = snapshot.newest_pass(row.repo_id)
    if newest is None or newest.status != "Completed" or not row.last_ingested_ms:
        return False
    return not row.counters.files  # nor since that pass, whatever it found


def _onboarding(view: View) -> str:
    mode = view.settings.mode
    return "repocontext_add_repo" if mode == "workspace" else "repocontext_bootstrap"


def _repository(view: View, snapshot: Snapshot, repo_id: RepoId) -> RepositoryReadiness:
    row = snapshot.repo(repo_id)
    if row is None or row.state == "removed":
        return _unknown(repo_id)
    verdict, reason = _verdict(view, snapshot, row)
    ingest: IndexStatus = jobs.index_status(snapshot, repo_id, view.host.pacing())
    totals = row.counters
    head = snapshot.ann_head(repo_id)
    last = view.host.retrieval.last.get(repo_id)
    retrieval = view.host.retrieval
    breakers = (retrieval.embedder.breaker, retrieval.fallback.breaker(repo_id))
    measured = totals.embedded or row.last_ingested_ms
    return RepositoryReadiness(
        repo_id=repo_id,
        verdict=verdict,
        reason=reason,
        ingest=ingest,
        vector_coverage=VectorCoverage(
            embedded_sources=jobs.embedded_sources(snapshot, row) if measured else None,
            pending=jobs.vectors_come(view.settings, totals) if measured else None,
        ),
        embedding_space=retrieval.embedder.known_space or None,
        ann=None
        if head is None
        else AnnState(
            phase="published",
            generation=head.generation,
            vectors=head.vectors,
            partitions=head.partitions,
        ),
        ann_can_serve=bool(totals.embedded) and verdict != "SaturatedUnavailable",
        breaker_open=any(breaker.is_open for breaker in breakers),
        breaker_probe_due_in=_probe_due_in(breakers),
        last_retrieval_path=None if last is None else last.path,
        last_query_at=None if last is None else time_text(last.at_ms),
        content_phase="Serving"
        if totals.extracted
        else "NothingRegistered"
        if measured
        else "Building",
        content_reason=None,
        content_observed_at=time_text(row.last_ingested_ms),
    )


def _probe_due_in(breakers: Sequence[Breaker]) -> float | None:
    """Seconds until the last of what is left alone is tried again; looking uses no try up."""
    due = [breaker.probe_due_in_s for breaker in breakers if breaker.is_open]
    return round(max(due), 1) if due else None


def _unknown(repo_id: RepoId) -> RepositoryReadiness:
    return RepositoryReadiness(
        repo_id=repo_id,
        verdict="NothingRegistered",
        reason="no such repository is registered",
        ingest=None,
        ingest_reason="never onboarded",
        vector_coverage=VectorCoverage(),
        ann_can_serve=False,
        breaker_open=False,
        content_phase="NothingRegistered",
    )
