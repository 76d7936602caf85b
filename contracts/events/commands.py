"""Requests with a reply. Whoever handles one answers on the envelope's `reply_to`, once the fact is stored."""

from __future__ import annotations

from msgspec import Struct

from contracts.events.log import WalkFilters
from contracts.ids import RepoId


class AddRepo(Struct, frozen=True, kw_only=True, tag="cmd.add_repo"):
    """Onboard a repository and start a pass; re-attaches to a running one."""

    repo_id: RepoId
    root: str  # absolute, resolved, already checked against the workspace roots
    filters: WalkFilters
    principal: str
    aliases: tuple[str, ...] = ()  # other names it answers to, such as owner/name of its origin


class RemoveRepo(Struct, frozen=True, kw_only=True, tag="cmd.remove_repo"):
    """Drop every record of a repository, memory included."""

    repo_id: RepoId
    principal: str


class ResetIndex(Struct, frozen=True, kw_only=True, tag="cmd.reset_index"):
    """Drop what can be recomputed; keep memory."""

    repo_id: RepoId
    principal: str
    trees: tuple[str, ...] = ()  # what holds entries of it, in order; for the pass record
    entries: int = 0


class ReplayProjections(Struct, frozen=True, kw_only=True, tag="cmd.replay"):
    """Fold everything from zero beside the live environment and swap."""

    node: str


class CommandReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to a command: the position to wait for, or a fault."""

    ok: bool
    log_sequence: int = 0
    index_sequence: int = 0
    code: str = ""
    message: str = ""
    hint: str = ""
    existed: bool = False
    detail: str = ""


AnyCommand = AddRepo | RemoveRepo | ResetIndex | ReplayProjections
