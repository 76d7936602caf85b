"""Requests and answers of the repository-context tools.

Times are UTC in ISO 8601. Structs that come by the hundred (`EntryView` and what holds it) leave
null fields out of the wire form; the others write them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from contracts.tools.base import Answer, Filled, Request

Scope = Literal["Files", "Packages", "Symbols", "Memory", "MemoryTopic"]
SearchMode = Literal["semantic", "keyword", "empty"]
RetrievalPath = Literal[
    "semantic.exact",
    "semantic.approximate",
    "keyword.no_embedder",
    "keyword.vector_plane_unavailable",
    "keyword.index_degraded",
    "keyword.exact_fallback_suppressed",
]
RetrievalPhase = Literal[
    "serving", "keyword_only", "nothing_registered", "building", "saturated_unavailable"
]
Verdict = Literal["Serving", "Building", "KeywordOnly", "NothingRegistered", "SaturatedUnavailable"]
JobStatus = Literal["None", "Running", "Completed", "Failed"]
JobPhase = Literal[
    "Pending", "Walking", "Reconciling", "Applying", "Vectorising", "Done", "Resetting"
]
PacingState = Literal["Idle", "Pacing", "Backoff", "Waiting", "Resting", "Yielding", "Disabled"]

Globs = tuple[str, ...]
RecordKeyText = Annotated[
    str,
    Meta(description="repo/{repoId}[/file/{path}, /symbol/{name}, /mem/{topic}/{id}]"),
]


class ContextRequest(Request, frozen=True, kw_only=True):
    """Arguments every tool of this family takes."""

    region: str | None = None  # "" and "local" mean here; nothing else is served


# --------------------------------------------------------------------------- records


class EntryView(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One record. Expiry and staleness fields are absent where they were not evaluated."""

    key: str
    exists: bool
    kind: str
    repo_id: str
    path: str | None = None  # files, packages, content; the declaring file of a symbol
    fully_qualified_name: str | None = None  # symbols
    topic: str | None = None  # memory
    id: str | None = None  # memory
    fields: dict[str, str]
    tags: tuple[str, ...]  # ordinal order
    links: dict[str, tuple[str, ...]]  # relation -> target keys
    expires: bool | None = None
    expires_at_utc: str | None = None
    remaining_seconds: int | None = None  # never negative
    has_expired: bool | None = None
    stale: bool | None = None  # some link target changed since it was linked; memory only
    stale_links: tuple[str, ...] | None = None
    dangling_links: tuple[str, ...] | None = None  # stale because the target is gone


class RecallRequest(ContextRequest, frozen=True, kw_only=True):
    """One record by its key."""

    key: RecordKeyText


class ScanRequest(ContextRequest, frozen=True, kw_only=True):
    """One ordered page of the records under a scope."""

    repo_id: str
    scope: Scope
    topic: Annotated[str, Meta(description="Required for MemoryTopic")] | None = None
    path_prefix: Annotated[str, Meta(description="Directory; Files only")] | None = None
    continuation_token: str | None = None  # "" starts over, as absent does
    page_size: Annotated[int, Meta(description="1-500")] = 100


class ScanPage(Answer, frozen=True, kw_only=True):
    """Entries in ordinal key order, and how to go on."""

    entries: tuple[EntryView, ...]
    continuation_token: str | None = None
    has_more: bool


# --------------------------------------------------------------------------- retrieval


class SearchRequest(ContextRequest, frozen=True, kw_only=True):
    """A question in words, identifiers or both."""

    repo_id: str
    query: Annotated[str, Meta(description="Words, identifiers, a question or an error text")]
    k: Annotated[int, Meta(description="Hits wanted, 1-100")] = 10


class SearchHit(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One record that answers, and why it was chosen."""

    score: float  # comparable within one answer only
    entry: EntryView
    vector_id: str | None = None  # the passage that matched; semantic hits
    reasons: tuple[str, ...]  # at most 6


class SearchResults(Answer, frozen=True, kw_only=True):
    """Hits, best first, and by which route they were found."""

    repo_id: str
    query: str
    mode: SearchMode
    retrieval_path: RetrievalPath
    hits: tuple[SearchHit, ...]
    hits_left_off: int = 0  # of those asked for: the answer would have become too large


class OutlineRequest(ContextRequest, frozen=True, kw_only=True):
    """The declarations of one file."""

    repo_id: str
    path: Annotated[str, Meta(description="Relative to the repository root")]


class OutlineSymbol(Struct, frozen=True, kw_only=True, rename="camel"):
    """One declaration; lines are 1-based and inclusive."""

    fully_qualified_name: str
    kind: str
    signature: str
    start_line: int
    end_line: int


class Outline(Answer, frozen=True, kw_only=True):
    """Symbols by start line, then name. An unknown path has exists=false and nothing else."""

    repo_id: str
    path: str
    exists: bool
    full_read_token_count: int | None = None  # tokens that reading the whole file would cost
    symbols: tuple[OutlineSymbol, ...]
    symbols_left_off: int = 0  # of a file that declares more than an answer holds


class RelatedRequest(ContextRequest, frozen=True, kw_only=True):
    """What a file uses, and what uses or tests it."""

    repo_id: str
    path: Annotated[str, Meta(description="Relative to the repository root")]


class Referrer(Struct, frozen=True, kw_only=True, rename="camel"):
    """A symbol that refers to the file."""

    symbol: str
    path: str | None = None  # null when the declaring file is not known


class Related(Answer, frozen=True, kw_only=True):
    """Neighbours of a file, by name; its own symbols are left out.

    Lists of hundreds are cut to the most telling entries, the counts are complete.
    """

    repo_id: str
    path: str
    exists: bool
    imports: tuple[str, ...]  # sorted names the file refers to
    import_count: int = 0
    dependents: tuple[Referrer, ...]  # by path, then symbol
    dependent_count: int = 0
    tests: tuple[Referrer, ...]
    test_count: int = 0


class ChangedRequest(ContextRequest, frozen=True, kw_only=True):
    """Drift between the index and the disk below a directory."""

    repo_id: str
    path: Annotated[str, Meta(description="Repository root or a directory in it")]


class Changed(Answer, frozen=True, kw_only=True):
    """Paths relative to the repository root, each list in ordinal order, at most 300 of each.

    The counts are complete.
    """

    repo_id: str
    added: tuple[str, ...]
    updated: tuple[str, ...]
    removed: tuple[str, ...]
    dependents: tuple[str, ...]  # unchanged files that refer to what changed
    added_count: int = 0
    updated_count: int = 0
    removed_count: int = 0
    dependent_count: int = 0


# --------------------------------------------------------------------------- jobs and readiness


class IndexStatusRequest(ContextRequest, frozen=True, kw_only=True):
    """How far a repository's indexing job is."""

    repo_id: str


class Pacing(Struct, frozen=True, kw_only=True, rename="camel"):
    """How far a running job holds itself back."""

    state: PacingState
    reason: str | None = None
    batch_delay_milliseconds: int
    since: str | None = None
    foreground_requests: int


class IndexStatus(Answer, frozen=True, kw_only=True):
    """Snapshot of a job. Never onboarded: status "None", every counter 0, no error."""

    repo_id: str
    status: JobStatus
    phase: JobPhase | None = None
    files_scanned: int = 0
    files_added: int = 0
    files_updated: int = 0
    files_removed: int = 0
    files_unchanged: int = 0
    chunks_total: int = 0
    chunks_committed: int = 0
    files_embedded: int = 0
    symbols_embedded: int = 0
    files_content_projected: int = 0
    trees_swept: tuple[str, ...] = ()
    entries_deleted: int = 0
    attempt: int = 0  # run starts so far; a resume after a restart does not count
    started_at: str | None = None
    updated_at: str | None = None
    completed_at: str | None = None
    elapsed_milliseconds: int | None = None
    error: str | None = None
    pacing: Pacing | None = None  # only while Running
    history_commits: int = 0  # earlier commits that search learns from
    history_notice: str | None = None  # why there are none, where there should be


class HealthRequest(ContextRequest, frozen=True, kw_only=True):
    """Without a repository the answer is about the host."""

    repo_id: Filled | None = None


class VectorCoverage(Struct, frozen=True, kw_only=True, rename="camel"):
    """Null means not measured yet, which is not 0."""

    embedded_sources: int | None = None
    pending: bool | None = None  # the figure is from before the newest vectors


class AnnState(Struct, frozen=True, kw_only=True, rename="camel"):
    """The approximate index this process holds."""

    phase: str
    generation: int
    vectors: int
    partitions: int


class RepositoryReadiness(Struct, frozen=True, kw_only=True, rename="camel"):
    """Can retrieval serve this repository, and on what grounds is that said?"""

    repo_id: str
    verdict: Verdict
    reason: str | None = None
    authoritative: Literal[False] = False
    ingest: IndexStatus | None = None
    ingest_reason: str | None = None  # why `ingest` is null
    vector_coverage: VectorCoverage
    embedding_space: str | None = None
    ann: AnnState | None = None
    ann_can_serve: bool | None = None
    breaker_open: bool
    breaker_probe_due_in: float | None = None  # seconds
    last_retrieval_path: RetrievalPath | None = None
    last_query_at: str | None = None
    content_phase: Literal["Serving", "NothingRegistered", "Building"]
    content_reason: str | None = None
    content_observed_at: str | None = None


class Health(Answer, frozen=True, kw_only=True):
    """Reachability, and whether retrieval is more than a degraded guess."""

    group: Literal["repocontext"] = "repocontext"
    available: bool  # reachable; stays true when degraded
    retrieval_ready: bool
    retrieval_phase: RetrievalPhase
    status: str  # one sentence
    repository: RepositoryReadiness | None = None


# --------------------------------------------------------------------------- registry


class ListReposRequest(ContextRequest, frozen=True, kw_only=True):
    """No arguments."""


class RepoSummary(Struct, frozen=True, kw_only=True, rename="camel"):
    """One registered repository; the nulls of a reset index mean no information yet."""

    repo_id: str
    last_ingested: str | None = None
    file_count: int | None = None
    embedded_vector_count: int | None = None
    embedded_vector_count_pending: bool
    indexed_root: str | None = None
    indexed_commit: str | None = None


class RepoList(Answer, frozen=True, kw_only=True):
    """Repositories in ascending id order."""

    repos: tuple[RepoSummary, ...]
    count: int  # of all, shown or not
    repos_left_off: int = 0  # the answer would have become too large


class Onboarding(ContextRequest, frozen=True, kw_only=True):
    """Which files of the tree take part. Exclude beats include; the ignore files must allow too."""

    include_globs: Globs = ()
    exclude_globs: Globs = ()
    respect_gitignore: bool = True
    exclude_binary: bool = True


class AddRepoRequest(Onboarding, frozen=True, kw_only=True):
    """Onboard a directory of the workspace, or index it again."""

    path: Annotated[str, Meta(description="Absolute, or relative to the workspace root")]
    repo_id: Annotated[str, Meta(description="Default: the last path segment")] | None = None


class BootstrapRequest(Onboarding, frozen=True, kw_only=True):
    """Onboard the server's repository, or index it again."""

    repo_root: str
    repo_id: str


class RemoveRepoRequest(ContextRequest, frozen=True, kw_only=True):
    """Forget a repository, its memory included."""

    repo_id: str


class RepoRemoval(Answer, frozen=True, kw_only=True):
    """An unknown repository deletes 0 entries."""

    repo_id: str
    entries_deleted: int


class ResetIndexRequest(ContextRequest, frozen=True, kw_only=True):
    """Drop what can be recomputed; memory stays."""

    repo_id: str


class IndexReset(Answer, frozen=True, kw_only=True):
    """What the reset dropped."""

    repo_id: str
    entries_deleted: int
    elapsed_milliseconds: int
    trees_swept: tuple[str, ...]  # names, in sweep order
    memory_preserved: Literal[True] = True
    census_cleared: bool
