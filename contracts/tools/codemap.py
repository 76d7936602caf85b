"""Requests and answers of the code map's tools: symbols, references, graphs, baselines, workspaces.

Names are snake_case, nulls are left out. A limit that is left out has its default, one above its cap
is clamped and told in `meta.limits_applied`; zero and less count as one.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

Confidence = Literal["high", "medium", "low"]
RefKind = Literal["call", "read", "write", "instantiate", "override", "implementation"]
ResolutionState = Literal["resolved", "unresolved"]
SemanticLevel = Literal["full", "partial", "syntax_only"]
SymbolKind = Literal[
    "class", "struct", "interface", "enum", "delegate", "record", "method", "property", "field",
    "event", "constant", "constructor", "indexer", "operator",
]  # fmt: skip

RepoPath = Annotated[str, Meta(description="absolute path, or repoId")]
WorkspaceId = Annotated[str, Meta(description="or live; absent: HEAD")]
SymbolRef = Annotated[str, Meta(description="symbol_id, sym_… or a name")]


class VirtualFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Content of a file that is not on disk, for one call."""

    file_path: str
    content: str


class MapRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every tool of this family takes."""

    repo_path: RepoPath


class ViewRequest(MapRequest, frozen=True, kw_only=True):
    """What every query takes."""

    workspace_id: WorkspaceId | None = None


# --------------------------------------------------------------------------- envelope


class EvidencePointer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Reserved: answers carry none."""

    repo_id: str
    file_path: str
    line_start: int
    line_end: int
    symbol_id: str | None = None
    excerpt: str | None = None


class NextAction(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call that would go on from here."""

    tool: str
    rationale: str
    parameters: dict[str, Any] | None = None


class Timing(Struct, frozen=True, kw_only=True):
    """Milliseconds of each phase."""

    total_ms: float
    db_query_ms: float = 0.0
    cache_lookup_ms: float = 0.0  # until the manifest's index was at hand
    roslyn_compile_ms: float = 0.0  # nothing compiles here
    ranking_ms: float = 0.0


class LimitApplied(Struct, frozen=True):
    """A limit that was asked for above its cap."""

    requested: int
    hard_cap: int


class ProjectDiagnostic(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How well the files of one language could be read."""

    project_name: str  # the language
    compiled: bool  # every file without a syntax error
    symbol_count: int
    reference_count: int
    errors: tuple[str, ...] | None = None


class ResponseMeta(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the answer was made from and what it spared."""

    timing: Timing
    baseline_commit_sha: str  # "" before anything is committed
    limits_applied: dict[str, LimitApplied]
    tokens_saved: int  # of the files it stands for, less the answer's (by its bytes); never below 0
    cost_avoided: float
    overlay_revision: int
    workspace_id: str | None = None
    semantic_level: SemanticLevel | None = None
    project_diagnostics: tuple[ProjectDiagnostic, ...] | None = None


class Envelope(Struct, frozen=True, kw_only=True):
    """What is around the data of every answer."""

    answer: str
    evidence: tuple[EvidencePointer, ...] = ()
    next_actions: tuple[NextAction, ...] = ()
    confidence: Confidence
    meta: ResponseMeta


# --------------------------------------------------------------------------- repositories and baselines


class RepoStatusRequest(MapRequest, frozen=True, kw_only=True):
    """One repository."""


class WorkspaceSummary(Struct, frozen=True, kw_only=True):
    """A workspace as the repository's status shows it."""

    workspace_id: str
    repo_id: str
    baseline_commit_sha: str
    changed_file_count: int
    overlay_symbol_count: int
    created_at: str
    last_accessed_at: str


class RepoStatus(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the repository stands."""

    repo_id: str
    current_commit_sha: str
    branch_name: str  # "HEAD" when detached, "(no git)" without a repository
    is_clean: bool
    baseline_index_exists: bool
    workspaces: tuple[WorkspaceSummary, ...]
    live_pending_files: int = -1  # live files whose references are still being resolved
    pseudo_commit: bool = False  # there is no git; the commit is made from the content


class RepoStatusAnswer(Envelope, frozen=True, kw_only=True):
    data: RepoStatus


class EnsureBaselineRequest(MapRequest, frozen=True, kw_only=True):
    """A commit to build; HEAD when left out."""

    commit_sha: Annotated[str, Meta(description="SHA, branch or tag; default HEAD")] | None = None
    solution_path: str | None = None  # taken for compatibility; nothing here needs it


class IndexStats(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a build made."""

    symbol_count: int
    reference_count: int
    file_count: int
    elapsed_seconds: float
    confidence: Confidence
    semantic_level: SemanticLevel
    project_diagnostics: tuple[ProjectDiagnostic, ...] | None = None


class EnsuredBaseline(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A baseline that is there now."""

    commit_sha: str
    already_existed: bool
    stats: IndexStats | None = None  # of a build
    from_cache: bool


class EnsureBaselineAnswer(Envelope, frozen=True, kw_only=True):
    data: EnsuredBaseline


class ListBaselinesRequest(MapRequest, frozen=True, kw_only=True):
    """One repository."""


class BaselineView(Struct, frozen=True, kw_only=True):
    """One baseline."""

    commit_sha: str
    created_at: str
    file_count: int
    symbol_count: int
    is_head: bool
    workspaces: tuple[str, ...]  # that stand on it


class BaselineList(Struct, frozen=True, kw_only=True):
    """Every baseline, newest first."""

    baselines: tuple[BaselineView, ...]
    current_commit_sha: str


class ListBaselinesAnswer(Envelope, frozen=True, kw_only=True):
    data: BaselineList


class CleanupRequest(MapRequest, frozen=True, kw_only=True):
    """Which baselines may stay."""

    keep_count: int = 5
    older_than_days: int | None = None
    dry_run: bool = True


class Cleanup(Struct, frozen=True, kw_only=True):
    """What was, or would be, forgotten."""

    removed: tuple[str, ...]
    kept: tuple[str, ...]
    dry_run: bool


class CleanupAnswer(Envelope, frozen=True, kw_only=True):
    data: Cleanup


class RemoveMapRequest(MapRequest, frozen=True, kw_only=True):
    """Whether it is only looked at."""

    dry_run: bool = True


class RemovedMap(Struct, frozen=True, kw_only=True):
    """Every baseline and workspace of a repository."""

    baselines: tuple[str, ...]
    workspaces: tuple[str, ...]
    dry_run: bool


class RemoveMapAnswer(Envelope, frozen=True, kw_only=True):
    data: RemovedMap


class DiffRequest(MapRequest, frozen=True, kw_only=True):
    """Two commits that have baselines."""

    from_commit: str
    to_commit: Annotated[str, Meta(description='default HEAD; "live" = working tree')] | None = None
    kinds: tuple[str, ...] = ()
    include_facts: bool = False
    limit: int = 100


class SymbolChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One symbol that differs."""

    change: Literal["added", "removed", "changed", "renamed", "moved"]
    symbol_id: str
    kind: str
    file_path: str
    line: int
    # Signatures; ids of what was renamed or moved, and paths where the id stayed
    before: str | None = None
    after: str | None = None


class FactChange(Struct, frozen=True, kw_only=True):
    """One fact that came or went."""

    change: Literal["added", "removed"]
    kind: str
    value: str
    file_path: str


class Difference(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """From one manifest to another."""

    from_commit: str
    to_commit: str
    changes: tuple[SymbolChange, ...]
    counts: dict[str, int]
    files: tuple[str, ...]  # whose bytes differ, at most 200
    facts: tuple[FactChange, ...] | None = None
    truncated: bool


class DiffAnswer(Envelope, frozen=True, kw_only=True):
    data: Difference


# --------------------------------------------------------------------------- symbols


class SearchRequest(ViewRequest, frozen=True, kw_only=True):
    """What to look for; a query, kinds, or both."""

    query: Annotated[str, Meta(description="space = AND, OR, word* = prefix")] | None = None
    kinds: tuple[str, ...] = ()
    namespace: str | None = None
    file_path: str | None = None
    limit: int = 20
    virtual_files: tuple[VirtualFile, ...] | None = None


class SymbolHit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One symbol found."""

    symbol_id: str
    fully_qualified_name: str
    kind: SymbolKind
    signature: str
    documentation_snippet: str | None = None
    file_path: str
    line: int
    score: float  # negative, lower is better; 1 when browsing


class SymbolHits(Struct, frozen=True, kw_only=True):
    """The best of them."""

    hits: tuple[SymbolHit, ...]
    total_count: int
    truncated: bool


class SearchAnswer(Envelope, frozen=True, kw_only=True):
    data: SymbolHits


class CardRequest(ViewRequest, frozen=True, kw_only=True):
    """One symbol."""

    symbol_id: SymbolRef


class Call(Struct, frozen=True, kw_only=True):
    """One outgoing call and where it stands."""

    to_symbol: str
    fully_qualified_name: str
    kind: RefKind
    file_path: str
    line: int


class Fact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a symbol says of the program's surface."""

    kind: str
    value: str  # "display|metadata"
    detail: str | None = None


class SymbolCard(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything known of a symbol but its body."""

    symbol_id: str
    fully_qualified_name: str
    kind: SymbolKind
    signature: str
    documentation: str | None = None
    namespace: str
    containing_type: str | None = None
    file_path: str
    span_start: int
    span_end: int
    visibility: str
    calls_top: tuple[Call, ...]
    facts: tuple[Fact, ...]
    side_effects: tuple[str, ...]
    thrown_exceptions: tuple[str, ...]
    evidence: tuple[EvidencePointer, ...]
    confidence: Confidence
    stable_id: str | None = None
    also_declared_in: tuple[str, ...] | None = None  # path:line of further declarations


class CardAnswer(Envelope, frozen=True, kw_only=True):
    data: SymbolCard


class ContextRequest(ViewRequest, frozen=True, kw_only=True):
    """A symbol with its code and what it calls."""

    symbol_id: SymbolRef
    callee_depth: int = 1
    max_callees: int = 10
    include_code: bool = True


class ContextEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A symbol around the one asked for."""

    symbol_id: str
    signature: str
    file_path: str
    span_start: int
    span_end: int
    depth: int
    documentation: str | None = None


class SymbolContext(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Card, code, and callees."""

    card: SymbolCard
    code: str | None = None
    callees: tuple[ContextEntry, ...]
    truncated: bool


class ContextAnswer(Envelope, frozen=True, kw_only=True):
    data: SymbolContext


# --------------------------------------------------------------------------- code


class SpanRequest(ViewRequest, frozen=True, kw_only=True):
    """Lines of a file."""

    file_path: str
    start_line: int
    end_line: int
    context_lines: int = 0
    max_lines: int = 120
    virtual_files: tuple[VirtualFile, ...] | None = None


class DefinitionRequest(ViewRequest, frozen=True, kw_only=True):
    """The lines of a symbol."""

    symbol_id: SymbolRef
    max_lines: int = 120
    context_lines: int = 2
    virtual_files: tuple[VirtualFile, ...] | None = None


class Span(Struct, frozen=True, kw_only=True):
    """Lines as they are on disk, each with its number."""

    file_path: str
    start_line: int
    end_line: int
    total_file_lines: int
    content: str
    truncated: bool


class SpanAnswer(Envelope, frozen=True, kw_only=True):
    data: Span


class TextRequest(ViewRequest, frozen=True, kw_only=True):
    """A regular expression over the lines of indexed files."""

    pattern: str
    file_path: str | None = None
    ignore_case: bool = False
    limit: int = 50


class TextMatch(Struct, frozen=True, kw_only=True):
    """One line."""

    file_path: str
    line: int
    excerpt: str


class TextMatches(Struct, frozen=True, kw_only=True):
    """Lines in order of path."""

    matches: tuple[TextMatch, ...]
    files_searched: int
    truncated: bool


class TextAnswer(Envelope, frozen=True, kw_only=True):
    data: TextMatches


# --------------------------------------------------------------------------- graph


class RefsRequest(ViewRequest, frozen=True, kw_only=True):
    """Who refers to a symbol."""

    symbol_id: SymbolRef
    kind: RefKind | None = None
    resolution_state: ResolutionState | None = None
    limit: int = 50


class Reference(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One use."""

    kind: RefKind
    from_symbol: str  # the file's path where code of no symbol refers
    file_path: str
    line_start: int
    line_end: int
    excerpt: str | None = None
    resolution_state: ResolutionState
    to_name: str | None = None
    to_container_hint: str | None = None


class References(Struct, frozen=True, kw_only=True):
    """Resolved uses first, each kind in order of path and line."""

    target_symbol: str
    references: tuple[Reference, ...]
    total_count: int
    truncated: bool


class RefsAnswer(Envelope, frozen=True, kw_only=True):
    data: References


class GraphRequest(ViewRequest, frozen=True, kw_only=True):
    """A walk along calls."""

    symbol_id: SymbolRef
    depth: int = 1
    limit_per_level: int = 20


class GraphNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One symbol of the walk; `edges_to` are the shown symbols it calls."""

    symbol_id: str
    display_name: str
    kind: str
    depth: int
    file_path: str | None = None
    line: int
    edges_to: tuple[str, ...]


class Graph(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Nodes by depth, then id; the root has depth 0."""

    root: str
    nodes: tuple[GraphNode, ...]
    total_nodes_found: int
    truncated: bool
    unresolved_candidates: int = 0  # uses of the root's name that may or may not mean it


class GraphAnswer(Envelope, frozen=True, kw_only=True):
    data: Graph


class HierarchyRequest(ViewRequest, frozen=True, kw_only=True):
    """One type."""

    symbol_id: SymbolRef


class TypeRef(Struct, frozen=True, kw_only=True):
    """A type; the id is "" where it is not in the repository."""

    symbol_id: str
    display_name: str


class Hierarchy(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a type stands below and above."""

    target_type: str
    base_type: TypeRef | None = None
    interfaces: tuple[TypeRef, ...]
    derived_types: tuple[TypeRef, ...]


class HierarchyAnswer(Envelope, frozen=True, kw_only=True):
    data: Hierarchy


class TraceRequest(ViewRequest, frozen=True, kw_only=True):
    """Where a feature starts."""

    entry_point: SymbolRef
    depth: int = 3
    limit: int = 100


class Annotation(Struct, frozen=True, kw_only=True):
    """A fact at a node."""

    kind: str  # Route, Config, DbTable, ...
    value: str
    confidence: Confidence


class TraceNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call of the feature; `children` are nodes of the same form."""

    symbol_id: str
    stable_id: str | None = None
    display_name: str
    depth: int
    annotations: tuple[Annotation, ...]
    children: tuple[dict[str, Any], ...]


class Trace(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The tree below an entry point."""

    entry_point: str
    entry_point_name: str
    entry_point_route: str | None = None
    nodes: tuple[TraceNode, ...]
    total_nodes_traversed: int
    depth: int
    truncated: bool


class TraceAnswer(Envelope, frozen=True, kw_only=True):
    data: Trace


# --------------------------------------------------------------------------- workspaces


class CreateRequest(MapRequest, frozen=True, kw_only=True):
    """A workspace over a commit's baseline."""

    workspace_id: str
    commit_sha: str | None = None
    solution_path: str | None = None  # taken for compatibility; nothing here needs it


class CreatedWorkspace(Struct, frozen=True, kw_only=True):
    """The workspace as it stands."""

    workspace_id: str
    baseline_commit_sha: str
    current_revision: int


class CreateAnswer(Envelope, frozen=True, kw_only=True):
    data: CreatedWorkspace


class OneWorkspaceRequest(MapRequest, frozen=True, kw_only=True):
    """One workspace."""

    workspace_id: str


class ResetWorkspace(Struct, frozen=True, kw_only=True):
    """The overlay is gone."""

    workspace_id: str
    previous_revision: int
    new_revision: int


class ResetAnswer(Envelope, frozen=True, kw_only=True):
    data: ResetWorkspace


class DeletedWorkspace(Struct, frozen=True, kw_only=True):
    """Whether there was one."""

    workspace_id: str
    deleted: bool


class DeleteAnswer(Envelope, frozen=True, kw_only=True):
    data: DeletedWorkspace


class ListWorkspacesRequest(MapRequest, frozen=True, kw_only=True):
    """One repository."""


class WorkspaceState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A workspace and how far it is from HEAD."""

    workspace_id: str
    base_commit_sha: str
    overlay_revision: int
    modified_file_count: int
    is_stale: bool
    semantic_level: SemanticLevel | None = None
    fact_count: int
    created_at: str | None = None


class WorkspaceStates(Struct, frozen=True, kw_only=True):
    """Every workspace."""

    workspaces: tuple[WorkspaceState, ...]
    current_commit_sha: str


class ListWorkspacesAnswer(Envelope, frozen=True, kw_only=True):
    data: WorkspaceStates


class RefreshRequest(OneWorkspaceRequest, frozen=True, kw_only=True):
    """What to bring in step; everything when left out."""

    file_paths: tuple[str, ...] | None = None


class Refreshed(Struct, frozen=True, kw_only=True):
    """What an effective refresh did; zeros when nothing had changed."""

    files_reindexed: int
    symbols_updated: int
    new_overlay_revision: int


class RefreshAnswer(Envelope, frozen=True, kw_only=True):
    data: Refreshed


# --------------------------------------------------------------------------- surfaces


class EndpointsRequest(ViewRequest, frozen=True, kw_only=True):
    """Which routes."""

    path_filter: str | None = None
    http_method: str | None = None
    limit: int = 20


class Endpoint(Struct, frozen=True, kw_only=True):
    """One method at one path."""

    http_method: str
    route_path: str
    handler_symbol: str
    file_path: str
    line: int
    confidence: Confidence


class Endpoints(Struct, frozen=True, kw_only=True):
    endpoints: tuple[Endpoint, ...]
    total_count: int
    truncated: bool


class EndpointsAnswer(Envelope, frozen=True, kw_only=True):
    data: Endpoints


class ConfigKeysRequest(ViewRequest, frozen=True, kw_only=True):
    """Which keys."""

    key_filter: str | None = None
    limit: int = 20


class ConfigKey(Struct, frozen=True, kw_only=True):
    """One use of one key."""

    key: str
    used_by_symbol: str
    file_path: str
    line: int
    usage_pattern: str
    confidence: Confidence


class ConfigKeys(Struct, frozen=True, kw_only=True):
    keys: tuple[ConfigKey, ...]
    total_count: int
    truncated: bool


class ConfigKeysAnswer(Envelope, frozen=True, kw_only=True):
    data: ConfigKeys


class TablesRequest(ViewRequest, frozen=True, kw_only=True):
    """Which tables."""

    table_filter: str | None = None
    limit: int = 20


class Table(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One table and everything that names it."""

    table_name: str
    schema: str | None = None
    entity_symbol: str | None = None
    referenced_by: tuple[str, ...]
    confidence: Confidence


class Tables(Struct, frozen=True, kw_only=True):
    tables: tuple[Table, ...]
    total_count: int
    truncated: bool


class TablesAnswer(Envelope, frozen=True, kw_only=True):
    data: Tables


# --------------------------------------------------------------------------- reports


class SummaryRequest(ViewRequest, frozen=True, kw_only=True):
    """Which parts; all when left out."""

    sections: tuple[str, ...] = ()


class SummarySection(Struct, frozen=True, kw_only=True):
    """One part of a summary."""

    name: str
    total: int
    items: tuple[str, ...]


class Summary(Struct, frozen=True, kw_only=True):
    sections: tuple[SummarySection, ...]


class SummaryAnswer(Envelope, frozen=True, kw_only=True):
    data: Summary


class ExportRequest(ViewRequest, frozen=True, kw_only=True):
    """How much of the map, and how written."""

    detail: Literal["summary", "standard", "full"] = "standard"
    format: Literal["markdown", "json"] = "markdown"
    max_tokens: int = 4000


class Export(Struct, frozen=True, kw_only=True):
    """The map as one text."""

    format: str
    content: str
    token_count: int
    truncated: bool


class ExportAnswer(Envelope, frozen=True, kw_only=True):
    data: Export


class GuideRequest(MapRequest, frozen=True, kw_only=True):
    """How much to say."""

    verbose: bool = False


class Guide(Struct, frozen=True, kw_only=True):
    """How to work with these tools here."""

    quick_start: tuple[str, ...]
    notes: tuple[str, ...]


class GuideAnswer(Envelope, frozen=True, kw_only=True):
    data: Guide
