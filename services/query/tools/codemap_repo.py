"""Repositories, baselines and what is different between two of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from pathlib import Path

from contracts.errors import Fault, Forbidden, IndexNotAvailable, NotFound
from contracts.events.commands import AddRepo
from contracts.events.log import WalkFilters
from contracts.events.mapping import DropBaselines, EndWorkspace, EnsureBaseline
from contracts.ids import RepoId
from contracts.tools.codemap import (
    BaselineList,
    BaselineView,
    Cleanup,
    CleanupAnswer,
    CleanupRequest,
    DiffAnswer,
    Difference,
    DiffRequest,
    EnsureBaselineAnswer,
    EnsureBaselineRequest,
    EnsuredBaseline,
    FactChange,
    IndexStats,
    ListBaselinesAnswer,
    ListBaselinesRequest,
    NextAction,
    RemovedMap,
    RemoveMapAnswer,
    RemoveMapRequest,
    RepoStatus,
    RepoStatusAnswer,
    RepoStatusRequest,
    WorkspaceSummary,
)
from services.query.codemap import desk
from services.query.codemap.difference import compare, differing_files
from services.query.codemap.views import LIVE, MapView
from services.query.codemap.waiting import at_hand
from services.query.entries import time_text
from services.query.host import View
from services.query.registry import tool
from services.query.tools.codemap_symbols import checked_kinds
from services.source.gitrepo import COMMIT, git_tree, hashed_id, path_hash
from store.read.maps import Maps
from store.rows import BaselineRow, RepoRow, WorkspaceRow

_DAY_MS = 86_400_000
_FILES = 200


@tool("repo_status", title="Repository status", family="codemap")
async def repo_status(view: View, request: RepoStatusRequest) -> RepoStatusAnswer:
    """HEAD, branch, whether the tree is clean, whether HEAD has a baseline, and the workspaces."""
    case = desk.looked_at(view, request.repo_path)
    head, root = case.head, Path(case.repo.root)
    git = None if head.pseudo else git_tree(root)
    repo_id = hashed_id("" if git is None else git.remote(), root)

    def opening(build: bool) -> tuple[bool, list[WorkspaceRow], int]:
        if not case.repo.repo_id:
            return False, [], -1
        with view.read() as snapshot:
            maps = Maps(snapshot.txn, case.repo.repo_id)
            there = bool(head.commit) and maps.baseline(head.commit) is not None
            pending = view.host.maps.pending(snapshot, case.repo, build=build)
            return there, maps.workspaces(), pending

    there, rows, pending = await at_hand(opening)
    workspaces = tuple(
        WorkspaceSummary(
            workspace_id=row.workspace_id,
            repo_id=repo_id,
            baseline_commit_sha=row.commit,
            changed_file_count=len(row.changed),
            overlay_symbol_count=row.symbols,
            created_at=time_text(row.created_ms) or "",
            last_accessed_at=time_text(
                max(
                    row.refreshed_ms,
                    row.created_ms,
                    view.host.maps.accessed_ms(case.repo.repo_id, row.workspace_id),
                )
            )
            or "",
        )
        for row in rows
    )
    data = RepoStatus(
        repo_id=repo_id,
        current_commit_sha=head.commit,
        branch_name=head.branch,
        is_clean=True if git is None else git.is_clean(),
        baseline_index_exists=there,
        workspaces=workspaces,
        live_pending_files=pending,
        pseudo_commit=head.pseudo,
    )
    text = f"{head.branch} at {head.commit[:12] or 'nothing yet'}; the baseline is "
    text += "there" if there else "missing"
    actions = [] if there else [_ensure(request.repo_path)]
    return case.answer(
        RepoStatusAnswer, text, data, confidence="high", actions=actions, tool="repo_status"
    )


def _ensure(repo_path: str) -> NextAction:
    return NextAction(
        tool="index_ensure_baseline",
        rationale="queries without workspace_id need HEAD's baseline",
        parameters={"repo_path": repo_path},
    )


@tool(
    "index_ensure_baseline", title="Ensure a baseline", family="codemap", writes=True,
    destructive=False,
)  # fmt: skip
async def index_ensure_baseline(view: View, request: EnsureBaselineRequest) -> EnsureBaselineAnswer:
    """Build the index of a commit (default HEAD) unless it is there; a new repository is indexed
    first. A tree without git gets a commit made from its content."""
    await _onboarded(view, request.repo_path)
    case = desk.opened(view, request.repo_path)
    commit = commit_of(case, request.commit_sha)
    reply = await desk.command(view, EnsureBaseline(repo_id=case.repo.repo_id, commit=commit))
    case.commit = reply.commit

    def opening(build: bool) -> BaselineRow:
        with view.read() as snapshot:
            repo = desk.repository(view, snapshot, request.repo_path)
            row = Maps(snapshot.txn, repo.repo_id).baseline(reply.commit)
            if row is None:
                raise IndexNotAvailable("the baseline is not folded yet", hint="ask again")
            case.map = view.host.maps.in_use().baseline(snapshot, repo, row, build=build)
            return row

    row = await at_hand(opening)
    data = EnsuredBaseline(
        commit_sha=reply.commit,
        already_existed=reply.existed,
        stats=None if reply.existed else _stats(row, case.map, reply.elapsed_ms),
        from_cache=reply.from_cache,
    )
    how = "was there" if reply.existed else f"was built in {reply.elapsed_ms / 1000:.1f} s"
    text = f"the baseline of {reply.commit[:12]} {how}: {row.files} files, {row.symbols} symbols"
    if row.pseudo:
        text += "; the tree has no git, so the commit stands for its content"
    return case.answer(EnsureBaselineAnswer, text, data, tool="index_ensure_baseline")


def _stats(row: BaselineRow, view: MapView, elapsed_ms: int) -> IndexStats:
    level = desk.level_of(row.full, row.partial)
    return IndexStats(
        symbol_count=row.symbols,
        reference_count=row.references,
        file_count=row.files,
        elapsed_seconds=elapsed_ms / 1000,
        confidence="high" if level == "full" else "medium" if level == "partial" else "low",
        semantic_level=level,
        project_diagnostics=desk.diagnostics(view),
    )


def commit_of(case: desk.Case, revision: str | None) -> str:
    """The commit that a revision names; "" for what is indexed now, of a tree without git."""
    wanted = (revision or "").strip()
    if case.head.pseudo:
        if wanted in ("", "HEAD"):
            return ""
        with case.view.read() as snapshot:
            if Maps(snapshot.txn, case.repo.repo_id).baseline(wanted) is not None:
                return wanted
        raise NotFound(
            "the tree has no git, so it has no commits to choose from",
            hint="leave commit_sha out; what is indexed now becomes the baseline",
        )
    if not wanted or wanted == "HEAD":
        if not case.head.commit:
            raise NotFound("nothing is committed yet", hint='commit, or use workspace_id "live"')
        return case.head.commit
    git = git_tree(Path(case.repo.root))
    if git is None:
        raise NotFound("the tree has no git any more")
    return git.resolve(wanted)


async def _onboarded(view: View, repo_path: str) -> None:
    """Register the repository if it is not."""
    try:
        with view.read() as snapshot:
            rows = [row for row in snapshot.repos() if row.state != "removed"]
    except NotFound:
        rows = []
    root = desk.guarded_root(view, repo_path, rows)
    if desk.around(root, rows) is not None:
        return
    if view.settings.read_only:
        raise Forbidden("the server does not write", hint="index it with `repofold up`")
    repo_id = _free_id(root, rows)
    command = AddRepo(
        repo_id=repo_id, root=str(root), filters=WalkFilters(), principal=view.caller.principal
    )
    await view.host.command(repo_id, command)


def _free_id(root: Path, rows: Iterable[RepoRow]) -> RepoId:
    taken = {row.repo_id for row in rows if row.root != str(root)}
    name = root.name or "root"
    return RepoId(name if name not in taken else f"{name}-{path_hash(root)[-8:]}")


@tool("index_list_baselines", title="List baselines", family="codemap")
async def index_list_baselines(view: View, request: ListBaselinesRequest) -> ListBaselinesAnswer:
    """The commits that have an index, newest first, and the workspaces that stand on each."""
    case = desk.opened(view, request.repo_path)
    with view.read() as snapshot:
        maps = Maps(snapshot.txn, case.repo.repo_id)
        rows, workspaces = maps.baselines(), maps.workspaces()
    found = tuple(
        BaselineView(
            commit_sha=row.commit,
            created_at=time_text(row.created_ms) or "",
            file_count=row.files,
            symbol_count=row.symbols,
            is_head=row.commit == case.head.commit,
            workspaces=tuple(w.workspace_id for w in workspaces if w.commit == row.commit),
        )
        for row in rows
    )
    data = BaselineList(baselines=found, current_commit_sha=case.head.commit)
    return case.answer(
        ListBaselinesAnswer, desk.counted(len(found), "baselines"), data, confidence="high",
        tool="index_list_baselines",
    )  # fmt: skip


@tool("index_cleanup", title="Clean up baselines", family="codemap", writes=True)
async def index_cleanup(view: View, request: CleanupRequest) -> CleanupAnswer:
    """Forget old baselines but the newest keep_count. HEAD's and those under a workspace stay. A dry
    run unless dry_run is false."""
    case = desk.opened(view, request.repo_path)
    with view.read() as snapshot:
        maps = Maps(snapshot.txn, case.repo.repo_id)
        rows, bases = maps.baselines(), {row.commit for row in maps.workspaces()}
    protected = {*bases, case.head.commit}
    limit = 0 if request.older_than_days is None else request.older_than_days * _DAY_MS
    now = time.time() * 1000
    removed = tuple(
        row.commit
        for row in rows[max(0, request.keep_count) :]
        if row.commit not in protected and now - row.created_ms >= limit
    )
    if removed and not request.dry_run:
        await desk.command(view, DropBaselines(repo_id=case.repo.repo_id, commits=removed))
    kept = tuple(row.commit for row in rows if row.commit not in removed)
    data = Cleanup(removed=removed, kept=kept, dry_run=request.dry_run)
    would = "would be" if request.dry_run else "were"
    return case.answer(
        CleanupAnswer, f"{desk.counted(len(removed), 'baselines')} {would} forgotten", data,
        confidence="high", tool="index_cleanup",
    )  # fmt: skip


@tool("index_remove_repo", title="Forget a code map", family="codemap", writes=True)
async def index_remove_repo(view: View, request: RemoveMapRequest) -> RemoveMapAnswer:
    """Forget every baseline and workspace of a repository, HEAD's included. The live index and notes
    stay. A dry run unless dry_run is false."""
    case = desk.opened(view, request.repo_path)
    with view.read() as snapshot:
        maps = Maps(snapshot.txn, case.repo.repo_id)
        commits = tuple(row.commit for row in maps.baselines())
        workspaces = tuple(row.workspace_id for row in maps.workspaces())
    if not request.dry_run:
        for name in workspaces:
            command = EndWorkspace(repo_id=case.repo.repo_id, workspace_id=name, delete=True)
            await desk.command(view, command)
        if commits:
            await desk.command(view, DropBaselines(repo_id=case.repo.repo_id, commits=commits))
    data = RemovedMap(baselines=commits, workspaces=workspaces, dry_run=request.dry_run)
    would = "would be" if request.dry_run else "were"
    text = f"{desk.counted(len(commits), 'baselines')} and "
    text += f"{desk.counted(len(workspaces), 'workspaces')} {would} forgotten"
    return case.answer(RemoveMapAnswer, text, data, confidence="high", tool="index_remove_repo")


@tool("index_diff", title="Compare two commits", family="codemap")
async def index_diff(view: View, request: DiffRequest) -> DiffAnswer:
    """Symbols added, removed, changed, renamed and moved between two commits that have baselines, or
    from one to the working tree."""
    newer = (request.to_commit or "").strip() or "HEAD"
    if LIVE in (request.from_commit.strip(), newer):
        await desk.settled(view, request.repo_path)
    case = desk.opened(view, request.repo_path)
    limit = case.limit("max_references", request.limit)
    kinds = checked_kinds(request.kinds)
    before, first = await asyncio.to_thread(_side, case, request.from_commit)
    after, second = await asyncio.to_thread(_side, case, newer)
    touched = await asyncio.to_thread(differing_files, before, after)
    lines = await asyncio.to_thread(_lines, case, first, second)
    found = await asyncio.to_thread(compare, before, after, touched, kinds, lines)
    shown = found[:limit]
    counts: dict[str, int] = {}
    for change in found:
        counts[change.change] = counts.get(change.change, 0) + 1
    case.map, case.commit = after, second if COMMIT.fullmatch(second) else first
    data = Difference(
        from_commit=first, to_commit=second, changes=tuple(shown), counts=counts,
        facts=_facts(before, after) if request.include_facts else None,
        truncated=len(found) > len(shown), files=tuple(sorted(touched)[:_FILES]),
    )  # fmt: skip
    kinds_told = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    told = f"{desk.counted(len(touched), 'different files')}; {kinds_told or 'no symbol'}"
    return case.answer(DiffAnswer, told, data, tool="index_diff")


def _lines(case: desk.Case, first: str, second: str) -> dict[str, list[tuple[int, int]]]:
    """Which lines differ, as git tells; nothing where it does not know both sides."""
    git = None if case.head.pseudo else git_tree(Path(case.repo.root))
    if git is None or not COMMIT.fullmatch(first):
        return {}
    try:
        return git.changed_lines(first, "" if second == LIVE else second)
    except Fault:
        return {}


def _side(case: desk.Case, revision: str) -> tuple[MapView, str]:
    view = case.view
    wanted = revision.strip()
    with view.read() as snapshot:
        maps = Maps(snapshot.txn, case.repo.repo_id)
        if wanted == LIVE:
            return view.host.maps.views.live(snapshot, case.repo), LIVE
        commit = wanted
        if maps.baseline(wanted) is None:
            commit = commit_of(case, wanted) or case.head.commit
        row = desk.base_of(maps, commit, case.head)
        return view.host.maps.views.baseline(snapshot, case.repo, row), commit


def _facts(before: MapView, after: MapView) -> tuple[FactChange, ...]:
    old, new = _told(before), _told(after)
    gone = [("removed", fact) for fact in sorted(old - new)]
    come = [("added", fact) for fact in sorted(new - old)]
    return tuple(
        FactChange(change=change, kind=kind, value=value, file_path=path)  # type: ignore[arg-type]
        for change, (path, kind, value) in (*come, *gone)
    )


def _told(view: MapView) -> set[tuple[str, str, str]]:
    return {
        (segment.paths[file], fact.kind, fact.value)
        for segment, file in view.files_shown()
        for fact in segment.facts_of(file)
    }
