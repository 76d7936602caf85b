"""Workspaces: an agent's own view of its edits, over a commit."""

from __future__ import annotations

from contracts.errors import InvalidArgument, NotFound
from contracts.events.mapping import CreateWorkspace, EndWorkspace, RefreshOverlay
from contracts.tools.codemap import (
    CreateAnswer,
    CreatedWorkspace,
    CreateRequest,
    DeleteAnswer,
    DeletedWorkspace,
    ListWorkspacesAnswer,
    ListWorkspacesRequest,
    OneWorkspaceRequest,
    RefreshAnswer,
    Refreshed,
    RefreshRequest,
    ResetAnswer,
    ResetWorkspace,
    WorkspaceState,
    WorkspaceStates,
)
from services.query.codemap import desk
from services.query.codemap.disk import is_inside, relative
from services.query.codemap.views import LIVE
from services.query.entries import time_text
from services.query.host import View
from services.query.registry import tool
from services.query.tools.codemap_repo import commit_of
from store.read.maps import Maps


def _own(workspace_id: str) -> str:
    """A workspace that can be written; the live one keeps itself in step."""
    name = desk.checked_workspace(workspace_id)
    if name == LIVE:
        raise InvalidArgument(
            '"live" is the working tree itself, always in step and not to be written',
            hint="choose another workspace_id",
            reason="reserved",
        )
    return name


@tool(
    "workspace_create", title="Create a workspace", family="codemap", writes=True,
    destructive=False,
)  # fmt: skip
async def workspace_create(view: View, request: CreateRequest) -> CreateAnswer:
    """Create a workspace over a commit's baseline (default HEAD), isolated from other agents. The
    working tree itself is "live" and needs no creating."""
    name = _own(request.workspace_id)
    case = desk.opened(view, request.repo_path)
    wanted = (request.commit_sha or "").strip()
    commit = (commit_of(case, wanted) if wanted else "") or case.head.commit
    with view.read() as snapshot:
        maps = Maps(snapshot.txn, case.repo.repo_id)
        known = maps.workspace(name)
        if known is None:
            desk.base_of(maps, commit, case.head)
    command = CreateWorkspace(repo_id=case.repo.repo_id, workspace_id=name, commit=commit)
    reply = await desk.command(view, command)
    case.commit, case.workspace_id, case.revision = reply.commit, name, reply.revision
    data = CreatedWorkspace(
        workspace_id=name, baseline_commit_sha=reply.commit, current_revision=reply.revision
    )
    text = f"workspace {name} {'was there' if reply.existed else 'is created'} over {reply.commit[:12]}"
    return case.answer(CreateAnswer, text, data, confidence="high", tool="workspace_create")


@tool("workspace_reset", title="Reset a workspace", family="codemap", writes=True)
async def workspace_reset(view: View, request: OneWorkspaceRequest) -> ResetAnswer:
    """Drop a workspace's overlay; it is as its baseline again."""
    name = _own(request.workspace_id)
    case = desk.opened(view, request.repo_path)
    command = EndWorkspace(repo_id=case.repo.repo_id, workspace_id=name, delete=False)
    reply = await desk.command(view, command)
    if not reply.existed:
        raise NotFound(
            f"there is no workspace {name!r}", hint="create it with workspace_create",
            workspace_id=name,
        )  # fmt: skip
    case.commit, case.workspace_id = reply.commit, name
    data = ResetWorkspace(workspace_id=name, previous_revision=reply.previous, new_revision=0)
    return case.answer(
        ResetAnswer, f"workspace {name} is at revision 0", data, confidence="high",
        tool="workspace_reset",
    )  # fmt: skip


@tool("workspace_delete", title="Delete a workspace", family="codemap", writes=True)
async def workspace_delete(view: View, request: OneWorkspaceRequest) -> DeleteAnswer:
    """Delete a workspace and its overlay; deleting one that is not there is no mistake."""
    name = _own(request.workspace_id)
    case = desk.opened(view, request.repo_path)
    command = EndWorkspace(repo_id=case.repo.repo_id, workspace_id=name, delete=True)
    reply = await desk.command(view, command)
    data = DeletedWorkspace(workspace_id=name, deleted=reply.existed)
    text = f"workspace {name} {'is deleted' if reply.existed else 'was not there'}"
    return case.answer(DeleteAnswer, text, data, confidence="high", tool="workspace_delete")


@tool("workspace_list", title="List workspaces", family="codemap")
async def workspace_list(view: View, request: ListWorkspacesRequest) -> ListWorkspacesAnswer:
    """Every workspace with its base commit, revision, changed files, and whether HEAD has moved on."""
    case = desk.opened(view, request.repo_path)
    with view.read() as snapshot:
        rows = Maps(snapshot.txn, case.repo.repo_id).workspaces()
    states = tuple(
        WorkspaceState(
            workspace_id=row.workspace_id,
            base_commit_sha=row.commit,
            overlay_revision=row.revision,
            modified_file_count=len(row.changed),
            is_stale=row.commit != case.head.commit,
            semantic_level=desk.level_of(row.full, row.partial) if row.full + row.partial else None,
            fact_count=row.facts,
            created_at=time_text(row.created_ms),
        )
        for row in rows
    )
    data = WorkspaceStates(workspaces=states, current_commit_sha=case.head.commit)
    return case.answer(
        ListWorkspacesAnswer, desk.counted(len(states), "workspaces"), data, confidence="high",
        tool="workspace_list",
    )  # fmt: skip


@tool(
    "index_refresh_overlay", title="Refresh a workspace", family="codemap", writes=True,
    destructive=False,
)  # fmt: skip
async def index_refresh_overlay(view: View, request: RefreshRequest) -> RefreshAnswer:
    """Bring a workspace in step with the working tree: all that differs from its base, or only
    file_paths. Raises the revision by one if anything changed."""
    name = _own(request.workspace_id)
    case = desk.opened(view, request.repo_path)
    with view.read() as snapshot:
        row = desk.workspace_of(Maps(snapshot.txn, case.repo.repo_id), name)
    paths = request.file_paths
    if paths is not None:
        paths = tuple(dict.fromkeys(_inside(path) for path in paths))
    command = RefreshOverlay(repo_id=case.repo.repo_id, workspace_id=name, paths=paths)
    reply = await desk.command(view, command)
    case.commit, case.workspace_id, case.revision = row.commit, name, reply.revision
    data = Refreshed(
        files_reindexed=reply.files,
        symbols_updated=reply.symbols,
        new_overlay_revision=reply.revision,
    )
    text = (
        f"{desk.counted(reply.files, 'files')} read again; workspace {name} is at revision"
        f" {reply.revision}"
        if reply.files
        else f"nothing changed; workspace {name} stays at revision {reply.revision}"
    )
    return case.answer(RefreshAnswer, text, data, confidence="high", tool="index_refresh_overlay")


def _inside(path: str) -> str:
    """A path of the repository as it is recorded; raises InvalidArgument for one that leaves it."""
    text = relative(path)
    if not is_inside(text):
        raise InvalidArgument(
            f"{path[:120]!r} is no path inside the repository",
            hint="give paths relative to the repository root",
            reason="outside",
        )
    return text
