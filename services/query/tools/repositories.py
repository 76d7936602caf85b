"""Repositories: list, onboard, remove, reset, and how far their indexing is."""

from __future__ import annotations

import time
from pathlib import Path

from contracts.errors import Forbidden, InvalidArgument, NotFound
from contracts.events.commands import AddRepo, RemoveRepo, ResetIndex
from contracts.events.log import WalkFilters
from contracts.ids import RepoId
from contracts.tools.repocontext import (
    AddRepoRequest,
    BootstrapRequest,
    IndexReset,
    IndexStatus,
    IndexStatusRequest,
    ListReposRequest,
    Onboarding,
    RemoveRepoRequest,
    RepoList,
    RepoRemoval,
    RepoSummary,
    ResetIndexRequest,
)
from services.query import bounds, jobs
from services.query.entries import time_text
from services.query.host import View
from services.query.registry import tool
from services.source.guard import resolve_root
from services.source.ignore import compile_globs
from services.source.origin import origin_slug
from store import keys
from store.read.live import Snapshot
from store.rows import RepoRow

_SWEPT = (
    "files",
    "paths",
    "bodies",
    "texts",
    "vectors",
    "symbols",
    "segments",
    "changes",
    "ann_parts",
    "ann_heads",
    "sessions",
)
_MEMORY = ("notes", "note_vectors")
_ID_CHARS = 200
_GLOBS_MOST, _GLOB_CHARS = 500, 1_000


@tool(
    "repocontext_list_repos", title="List repositories", family="repocontext", modes=["workspace"]
)
async def list_repos(view: View, request: ListReposRequest) -> RepoList:  # noqa: ARG001
    """The repositories this server holds, in id order, with file counts, how many have vectors, and
    when they were last indexed."""
    with view.read() as snapshot:
        repos = [
            _summary(view, snapshot, row) for row in snapshot.repos() if row.state != "removed"
        ]
    shown = bounds.fitting(repos)
    return RepoList(repos=shown, count=len(repos), repos_left_off=len(repos) - len(shown))


def _summary(view: View, snapshot: Snapshot, row: RepoRow) -> RepoSummary:
    if row.state == "reset":
        return RepoSummary(repo_id=row.repo_id, embedded_vector_count_pending=False)
    totals = row.counters
    measured = totals.embedded or row.last_ingested_ms
    return RepoSummary(
        repo_id=row.repo_id,
        last_ingested=time_text(row.last_ingested_ms),
        file_count=totals.files,
        embedded_vector_count=jobs.embedded_sources(snapshot, row) if measured else None,
        embedded_vector_count_pending=jobs.vectors_come(view.settings, totals),
        indexed_root=row.root or None,
    )


@tool("repocontext_index_status", title="Indexing status", family="repocontext")
async def index_status(view: View, request: IndexStatusRequest) -> IndexStatus:
    """How far a repository's indexing is: phase, counters, attempt, times. Status None means it was
    never onboarded. Poll this after onboarding."""
    try:
        with view.read() as snapshot:
            return jobs.index_status(snapshot, RepoId(request.repo_id), view.host.pacing())
    except NotFound:
        return jobs.index_status(None, RepoId(request.repo_id))


@tool(
    "repocontext_bootstrap", title="Onboard the repository", family="repocontext", writes=True,
    modes=["single"], needs_workspace_root=True,
)  # fmt: skip
async def bootstrap(view: View, request: BootstrapRequest) -> IndexStatus:
    """Start indexing the repository at repoRoot under repoId; returns at once, Running. Repeating it
    re-attaches to a running job or indexes again what changed."""
    return await _onboard(view, request.repo_root, request.repo_id, request)


@tool(
    "repocontext_add_repo", title="Add a repository", family="repocontext", writes=True,
    modes=["workspace"], needs_workspace_root=True,
)  # fmt: skip
async def add_repo(view: View, request: AddRepoRequest) -> IndexStatus:
    """Start indexing a directory of the workspace; returns at once, Running. Poll
    repocontext_index_status. Repeating it re-attaches, or indexes again what changed."""
    return await _onboard(view, request.path, request.repo_id or "", request)


async def _onboard(view: View, path: str, repo_id: str, request: Onboarding) -> IndexStatus:
    roots = [Path(root) for root in view.settings.workspace_roots]
    if not roots:
        raise Forbidden(
            "no workspace root is configured",
            hint="start the node with --workspace-root",
            reason="no_root",
        )
    root = resolve_root(path, roots)
    checked = _checked_id(repo_id.strip() or _last_segment(path) or root.name)
    _check_globs(request.include_globs)
    _check_globs(request.exclude_globs)
    filters = WalkFilters(
        include=request.include_globs,
        exclude=request.exclude_globs,
        respect_gitignore=request.respect_gitignore,
        exclude_binary=request.exclude_binary,
    )
    slug = origin_slug(root)
    command = AddRepo(
        repo_id=checked,
        root=str(root),
        filters=filters,
        principal=view.caller.principal,
        aliases=(slug,) if slug else (),
    )
    await view.host.command(checked, command)
    with view.read() as snapshot:
        return jobs.index_status(snapshot, checked, view.host.pacing())


def _check_globs(globs: tuple[str, ...]) -> None:
    """Refuse here and now what can never match, and what would hold up every walk."""
    if len(globs) > _GLOBS_MOST or any(len(glob) > _GLOB_CHARS for glob in globs):
        raise InvalidArgument(
            f"a walk is told by at most {_GLOBS_MOST:,} globs of {_GLOB_CHARS:,} characters",
            hint="name folders rather than files, or keep the list in a .gitignore of the tree",
            reason="globs",
        )
    compile_globs(globs)


def _last_segment(path: str) -> str:
    name = Path(path).name
    return "" if name == ".." else name


def _checked_id(repo_id: str) -> RepoId:
    name = repo_id.strip()
    if not name or len(name) > _ID_CHARS or not name.isprintable():
        raise InvalidArgument(
            "a repository id is 1 to 200 printable characters",
            hint="give repoId, for example the folder's name",
            reason="repo_id",
        )
    return RepoId(name)


@tool(
    "repocontext_remove_repo", title="Remove a repository", family="repocontext", writes=True,
    modes=["workspace"],
)  # fmt: skip
async def remove_repo(view: View, request: RemoveRepoRequest) -> RepoRemoval:
    """Forget a repository with everything stored about it, its notes included. The disk is never
    touched. An unknown id removes nothing."""
    repo_id = RepoId(request.repo_id)
    held = sum(_held(view, repo_id, (*_SWEPT, *_MEMORY)).values())
    if not held and not _known(view, repo_id):  # notes need no registered repository
        return RepoRemoval(repo_id=repo_id, entries_deleted=0)
    await view.host.command(repo_id, RemoveRepo(repo_id=repo_id, principal=view.caller.principal))
    return RepoRemoval(repo_id=repo_id, entries_deleted=held)


@tool(
    "repocontext_reset_index", title="Reset an index", family="repocontext", writes=True,
    modes=["workspace"],
)  # fmt: skip
async def reset_index(view: View, request: ResetIndexRequest) -> IndexReset:
    """Drop what can be recomputed of a repository and keep its notes; index it again afterwards with
    repocontext_add_repo. An unknown id resets nothing."""
    repo_id = RepoId(request.repo_id)
    started = time.monotonic()
    if not _known(view, repo_id):
        return IndexReset(
            repo_id=repo_id,
            entries_deleted=0,
            elapsed_milliseconds=0,
            trees_swept=(),
            census_cleared=False,
        )
    held = _held(view, repo_id)
    trees = tuple(name for name in _SWEPT if held[name])
    command = ResetIndex(
        repo_id=repo_id,
        principal=view.caller.principal,
        trees=trees,
        entries=sum(held.values()),
    )
    await view.host.command(repo_id, command)
    return IndexReset(
        repo_id=repo_id,
        entries_deleted=command.entries,
        elapsed_milliseconds=int((time.monotonic() - started) * 1000),
        trees_swept=trees,
        census_cleared=True,
    )


def _known(view: View, repo_id: RepoId) -> bool:
    try:
        with view.read() as snapshot:
            row = snapshot.repo(repo_id)
    except NotFound:
        return False
    return row is not None and row.state != "removed"


def _held(view: View, repo_id: RepoId, tables: tuple[str, ...] = _SWEPT) -> dict[str, int]:
    """Rows of each table that belong to a repository."""
    try:
        with view.read() as snapshot:
            return {name: _count(snapshot, name, repo_id) for name in tables}
    except NotFound:
        return dict.fromkeys(tables, 0)


def _count(snapshot: Snapshot, table: str, repo_id: RepoId) -> int:
    return sum(1 for _ in snapshot.txn.keys(table, keys.repo(repo_id)))
