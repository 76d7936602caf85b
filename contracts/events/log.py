"""Facts that nothing can recompute: what is registered, reset and removed, notes and workspaces."""

from __future__ import annotations

from msgspec import Struct

from contracts.events.mapping import WorkspaceRecorded
from contracts.events.memory import NoteRecorded, NumbersTaken
from contracts.events.patches import RecordPatched
from contracts.ids import RepoId


class WalkFilters(Struct, frozen=True, omit_defaults=True):
    """Which files of the tree take part. Exclude beats include; both and gitignore must allow."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    exclude_binary: bool = True


class RepoRegistered(Struct, frozen=True, kw_only=True, tag="repo.registered"):
    """A repository was onboarded, or onboarded again with this request."""

    repo_id: RepoId
    root: str  # absolute, resolved
    filters: WalkFilters
    display_name: str
    aliases: tuple[str, ...] = ()
    index_generation: int
    memory_generation: int


class IndexReset(Struct, frozen=True, kw_only=True, tag="repo.reset"):
    """Everything recomputable was dropped; memory stays."""

    repo_id: RepoId
    index_generation: int  # events of earlier generations are void
    memory_generation: int  # unchanged; every fact carries both, so that the newest tells all
    reason: str


class RepoRemoved(Struct, frozen=True, kw_only=True, tag="repo.removed"):
    """The repository and its memory were dropped."""

    repo_id: RepoId
    index_generation: int
    memory_generation: int


AnyRepoFact = RepoRegistered | IndexReset | RepoRemoved
AnyLogEvent = AnyRepoFact | NoteRecorded | NumbersTaken | WorkspaceRecorded | RecordPatched
