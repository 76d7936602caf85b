"""Requests and answers of the memory tools.

Wire names are snake_case, unlike those of the other families: they are fields of records that
people write into their notes. Bounds refuse here; nothing is clamped.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from contracts.memory_size import SizeReport
from contracts.tools.base import Filled

MemoryType = Literal[
    "decision", "convention", "gotcha", "preference", "constraint", "reference", "status"
]
Certainty = Literal["verified", "inferred", "speculative"]
Status = Literal["active", "deprecated", "superseded_by"]
QueryMode = Literal["hybrid", "keyword", "semantic"]
MEMORY_TYPES: tuple[MemoryType, ...] = (
    "decision", "convention", "gotcha", "preference", "constraint", "reference", "status",
)  # fmt: skip
CERTAINTIES: tuple[Certainty, ...] = ("verified", "inferred", "speculative")
STATUSES: tuple[Status, ...] = ("active", "deprecated", "superseded_by")

Slug = Annotated[str, Meta(description="owner/name")]
Id = Annotated[int, Meta(ge=1)]
Ids = Annotated[
    tuple[Annotated[int, Meta(ge=1)], ...],
    Meta(min_length=1, max_length=100),
]
Limit = Annotated[int, Meta(ge=1, le=50)]
Offset = Annotated[int, Meta(ge=0)]
Days = Annotated[int, Meta(ge=1, le=36_500, description="Only with memory_type status")]
Tags = Annotated[str, Meta(description="area:cli,topic:backend,kind:decision")]
TagFilter = Annotated[str, Meta(description="Part of the tags, any case")]
Content = Annotated[str, Meta(description="At most 512 bytes in all")]


class MemoryRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of one call."""


class MemoryAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of one call. What does not apply is left out."""


# --------------------------------------------------------------------------- records


class MemoryView(Struct, frozen=True, kw_only=True):
    """A record as lists show it."""

    id: int
    repository: str
    content: str
    tags: str
    context: str
    memory_type: str
    status: str
    certainty: str


class ScoredMemory(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record that answers a question."""

    id: int
    repository: str
    content: str
    tags: str
    context: str
    memory_type: str
    status: str
    certainty: str
    score: float  # comparable within one mode only
    contradicted_by: tuple[int, ...] = ()  # newer records that deny it or give other numbers


class MemoryRecord(Struct, frozen=True, kw_only=True):
    """A record with everything that is kept of it."""

    id: int
    repository: str
    content: str
    tags: str
    context: str
    memory_type: str
    status: str
    certainty: str
    superseded_by: int | None
    expires_after_days: int | None
    refs: tuple[str, ...]
    update_count: int
    created_at: str | None
    updated_at: str | None
    source_agent: str
    last_updated_by: str


# --------------------------------------------------------------------------- reading


class ListRepositoriesRequest(MemoryRequest, frozen=True, kw_only=True):
    """One page of the repositories that have memories."""

    limit: Limit = 8
    offset: Offset = 0


class RepositoryCounts(Struct, frozen=True, kw_only=True):
    """How many memories a repository has."""

    slug: str
    total: int
    active: int
    deprecated: int
    superseded: int


class Repositories(MemoryAnswer, frozen=True, kw_only=True):
    """Repositories with memories, by slug."""

    repositories: tuple[RepositoryCounts, ...]
    count: int
    total_count: int
    offset: int
    limit: int
    has_more: bool


class Filters(MemoryRequest, frozen=True, kw_only=True):
    """What query, list and suggest narrow by; nothing is left out unless asked."""

    tags: TagFilter | None = None
    status: Status | None = None
    memory_type: MemoryType | None = None
    certainty: Certainty | None = None


class QueryMemoryRequest(Filters, frozen=True, kw_only=True):
    """A question."""

    repository: Slug
    query: str
    mode: QueryMode = "hybrid"
    limit: Limit = 8


class QueryResults(MemoryAnswer, frozen=True, kw_only=True):
    """What answers the question, best first."""

    count: int
    results: tuple[ScoredMemory, ...]
    degraded: str | None = None  # why a hybrid query was answered by keyword alone


class ListMemoryRequest(Filters, frozen=True, kw_only=True):
    """One page of the memories, newest update first."""

    repository: Slug
    limit: Limit = 8
    offset: Offset = 0


class MemoryPage(MemoryAnswer, frozen=True, kw_only=True):
    """One page; go on with offset + count while has_more."""

    count: int
    total_count: int
    offset: int
    limit: int
    has_more: bool
    results: tuple[MemoryView, ...]


class GetMemoryRequest(MemoryRequest, frozen=True, kw_only=True):
    """One memory."""

    repository: Slug
    id: Id


class GotMemory(MemoryRecord, MemoryAnswer, frozen=True, kw_only=True):
    """The memory, whole."""


class SuggestRequest(Filters, frozen=True, kw_only=True):
    """Files about to be edited."""

    repository: Slug
    files: Annotated[str, Meta(description="Comma-separated paths")]
    query: str = ""
    limit: Limit = 8


class Neighborhood(Struct, frozen=True, kw_only=True):
    """What the files' directories hint at."""

    tags: tuple[str, ...]
    paths: tuple[str, ...]


class Suggestions(MemoryAnswer, frozen=True, kw_only=True):
    """Memories that concern the files, best first."""

    files: tuple[str, ...]
    normalized_path_terms: tuple[str, ...]
    derived_terms: tuple[str, ...]
    neighborhood: Neighborhood
    count: int
    results: tuple[ScoredMemory, ...]


class VerifyRequest(MemoryRequest, frozen=True, kw_only=True):
    """A statement to hold against a memory."""

    repository: Slug
    id: Id
    fact: str


class Verification(MemoryAnswer, frozen=True, kw_only=True):
    """Whether the statement agrees with the memory's content."""

    id: int
    ok: bool
    result: Literal["consistent", "conflict"]
    similarity: float  # 0..1
    warning: str | None = None  # "Conflict"


class DiffRequest(MemoryRequest, frozen=True, kw_only=True):
    """A content to compare a memory with."""

    repository: Slug
    id: Id
    content: Content


class Difference(MemoryAnswer, frozen=True, kw_only=True):
    """What the content would change; nothing is written."""

    id: int
    conflict: bool
    similarity: float
    added_terms: tuple[str, ...]
    removed_terms: tuple[str, ...]


class SizeRequest(MemoryRequest, frozen=True, kw_only=True):
    """A memory to measure."""

    content: Content
    tags: Tags = ""
    context: str = ""
    memory_type: MemoryType = "convention"
    certainty: Certainty = "inferred"
    status: Status = "active"


class Size(MemoryAnswer, frozen=True, kw_only=True):
    """What it measures."""

    size: SizeReport


# --------------------------------------------------------------------------- maintenance


class RepositoryRequest(MemoryRequest, frozen=True, kw_only=True):
    """One repository."""

    repository: Slug


class Details(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a finding is about; which fields there are depends on its kind."""

    keep_id: int | None = None  # exact_duplicate, near_duplicate
    duplicate_ids: tuple[int, ...] = ()
    duplicate_id: int | None = None
    similarity: float | None = None
    stale_id: int | None = None  # stale_status_overlap, canonical_thread_overlap
    superseded_by: int | None = None
    shared_tags: tuple[str, ...] = ()
    canonical_id: int | None = None
    thread_key: str | None = None
    suggested_days: int | None = None  # status_missing_expiry
    memory_type: str | None = None  # transient_non_status
    suggested_type: str | None = None
    tags: str | None = None  # invalid_tags
    normalized_tags: str | None = None
    taxonomy_issues: tuple[str, ...] = ()


class Finding(Struct, frozen=True, kw_only=True):
    """One thing to look at."""

    kind: str
    ids: tuple[int, ...]
    details: Details = Details()


class Contradiction(Struct, frozen=True, kw_only=True):
    """Two memories that cannot both hold."""

    older_id: int
    newer_id: int
    reason: Literal["negated", "renumbered"]
    shared_terms: tuple[str, ...]


class InstructionLike(Struct, frozen=True, kw_only=True):
    """A memory that speaks to the reader's agent instead of stating something."""

    id: int
    signs: tuple[str, ...]


class Diagnosis(MemoryAnswer, frozen=True, kw_only=True):
    """Findings over the active memories. Suggestions: read before you act."""

    repository: str
    checked: int
    count: int
    findings: tuple[Finding, ...]
    counts_by_kind: dict[str, int]
    contradictions: tuple[Contradiction, ...] = ()
    instruction_like: tuple[InstructionLike, ...] = ()


class Oldest(Struct, frozen=True, kw_only=True):
    id: int
    created_at: str | None


class Statistics(MemoryAnswer, frozen=True, kw_only=True):
    """Figures over all memories of a repository, whatever their status."""

    repository: str
    total_memories: int
    active: int
    deprecated: int
    superseded: int
    breakdown_by_memory_type: dict[str, int]
    breakdown_by_certainty: dict[str, int]
    tag_frequency_map: dict[str, int]
    oldest_memory: Oldest | None
    memories_not_updated_over_90_days: int
    memories_with_no_tags: int


class Expired(MemoryAnswer, frozen=True, kw_only=True):
    """Status memories whose time has run out; nothing was changed."""

    repository: str
    dry_run: bool
    count: int
    ids: tuple[int, ...]
    expired: tuple[MemoryRecord, ...]


# --------------------------------------------------------------------------- writing


class AddMemoryRequest(MemoryRequest, frozen=True, kw_only=True):
    """A new memory, or with upsert_match perhaps an old one renewed."""

    repository: Slug
    content: Content
    tags: Tags | None = None
    context: str | None = None
    memory_type: Annotated[MemoryType, Meta(description="Default convention")] | None = None
    certainty: Annotated[Certainty, Meta(description="Default inferred")] | None = None
    status: Annotated[Status, Meta(description="Default active")] | None = None
    expires_after_days: Days | None = None
    upsert_match: (
        Annotated[str, Meta(description="What it is about: a strong match is updated instead")]
        | None
    ) = None
    force: Annotated[bool, Meta(description="Create in spite of a weak match")] = False
    upsert_threshold: Annotated[int, Meta(ge=0, le=100)] = 32


class UpsertMatch(Struct, frozen=True, kw_only=True):
    """The memory that upsert_match found."""

    id: int
    score: float
    similarity: float
    memory_type: str
    status: str
    content_head: str


class Added(MemoryAnswer, frozen=True, kw_only=True):
    """Where it was written, and as what."""

    written_to: str
    id: int
    mode: Literal["created", "updated"]
    memory: MemoryRecord
    size: SizeReport
    potential_conflicts: tuple[ScoredMemory, ...] | None = None  # of a plain new record
    contradicts: tuple[Contradiction, ...] = ()  # older records that it denies or renumbers
    upsert_match: UpsertMatch | None = None
    notice: str | None = None


class UpdateMemoryRequest(MemoryRequest, frozen=True, kw_only=True):
    """Changes; what is not given stays."""

    repository: Slug
    id: Id | None = None
    match: (
        Annotated[
            str, Meta(description="Instead of id: the best active match", extra={"filled": True})
        ]
        | None
    ) = None
    content: Annotated[Filled, Meta(description="New text")] | None = None
    tags: Tags | None = None
    context: str | None = None
    memory_type: MemoryType | None = None
    certainty: Certainty | None = None
    status: Status | None = None
    expires_after_days: Days | None = None
    superseded_by: Id | None = None


class Matched(Struct, frozen=True, kw_only=True):
    """What `match` chose."""

    query: str
    id: int
    score: float


class Updated(MemoryAnswer, frozen=True, kw_only=True):
    """Where it was written, and as what."""

    written_to: str
    id: int
    memory: MemoryRecord
    size: SizeReport
    matched: Matched | None = None
    notice: str | None = None


class DeprecateRequest(MemoryRequest, frozen=True, kw_only=True):
    """Memories that no longer hold."""

    repository: Slug
    ids: Ids
    superseded_by: Annotated[int, Meta(ge=1)] | None = None


class Deprecated(MemoryAnswer, frozen=True, kw_only=True):
    """What was deprecated; claimed memories were left alone."""

    written_to: str
    status: Literal["deprecated", "superseded_by"]
    superseded_by: int | None
    requested_ids: tuple[int, ...]
    deprecated: tuple[MemoryRecord, ...]
    not_found: tuple[int, ...]
    count: int
    claimed: tuple[int, ...] | None = None
    notice: str | None = None


class DeleteRequest(MemoryRequest, frozen=True, kw_only=True):
    """One memory to delete for good."""

    repository: Slug
    id: Id


class Deleted(MemoryAnswer, frozen=True, kw_only=True):
    """Whether it was there, and is gone."""

    deleted_from: str
    id: int
    deleted: bool
    existed: bool


class DeleteManyRequest(MemoryRequest, frozen=True, kw_only=True):
    """Memories to delete for good."""

    repository: Slug
    ids: Ids


class DeletedMany(MemoryAnswer, frozen=True, kw_only=True):
    """What is gone; claimed memories were left alone."""

    deleted_from: str
    requested_ids: tuple[int, ...]
    deleted_ids: tuple[int, ...]
    not_found: tuple[int, ...]
    count: int
    claimed: tuple[int, ...] = ()
