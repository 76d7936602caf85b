"""Baselines and workspaces: the lifecycle that nothing can recompute, and the commands behind it.

Whoever handles a command answers once its facts are stored, with the positions to wait for.
"""

from __future__ import annotations

from msgspec import Struct

from contracts.ids import RepoId


class WorkspaceRecorded(Struct, frozen=True, kw_only=True, tag="workspace.recorded"):
    """A workspace as its newest fact leaves it: created, reset (anew, with no overlay) or deleted.

    An overlay belongs to the fact it was made after, so a later fact voids it.
    """

    workspace_id: str
    commit: str  # of its baseline
    state: str  # created reset deleted
    created_ms: int


class EnsureBaseline(Struct, frozen=True, kw_only=True, tag="cmd.ensure_baseline"):
    """Build a commit's baseline unless there is one."""

    repo_id: RepoId
    commit: str  # 40 hex; "" for a tree without git: what is indexed now


class DropBaselines(Struct, frozen=True, kw_only=True, tag="cmd.drop_baselines"):
    """Forget baselines."""

    repo_id: RepoId
    commits: tuple[str, ...]


class CreateWorkspace(Struct, frozen=True, kw_only=True, tag="cmd.create_workspace"):
    """Create a workspace over a baseline that exists; an existing one is left as it is."""

    repo_id: RepoId
    workspace_id: str
    commit: str


class EndWorkspace(Struct, frozen=True, kw_only=True, tag="cmd.end_workspace"):
    """Drop a workspace's overlay, and with `delete` the workspace as well."""

    repo_id: RepoId
    workspace_id: str
    delete: bool


class RefreshOverlay(Struct, frozen=True, kw_only=True, tag="cmd.refresh_overlay"):
    """Bring an overlay in step with the working tree, wholly or in some paths."""

    repo_id: RepoId
    workspace_id: str
    paths: tuple[str, ...] | None  # None: whatever differs from the base


class MapReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to a command of this family, or a fault."""

    ok: bool
    log_sequence: int = 0
    index_sequence: int = 0
    code: str = ""
    message: str = ""
    hint: str = ""
    retryable: bool = False
    existed: bool = False
    commit: str = ""
    from_cache: bool = False
    elapsed_ms: int = 0
    revision: int = 0
    previous: int = 0  # revision before a reset
    files: int = 0  # read again by a refresh
    symbols: int = 0  # added, changed and deleted by it


AnyMapCommand = EnsureBaseline | DropBaselines | CreateWorkspace | EndWorkspace | RefreshOverlay
