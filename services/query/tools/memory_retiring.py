"""Retiring memories and deleting them. Claimed ones are told and left alone."""

from __future__ import annotations

from collections.abc import Iterable

from contracts.errors import Conflict, InvalidArgument
from contracts.events.memory import NoteReply, RetireFacts
from contracts.ids import RepoId
from contracts.tools.memory import (
    Deleted,
    DeletedMany,
    DeleteManyRequest,
    DeleteRequest,
    Deprecated,
    DeprecateRequest,
)
from services.query.host import View
from services.query.notebook import views
from services.query.notebook.ask import facts_of
from services.query.notebook.desk import Desk, consult
from services.query.notebook.scope import Scope
from services.query.registry import tool

_LARGEST = 2**63 - 1
_CLAIMED = "claimed memories were left alone: wait until the claim is released, or use repocontext_update with its token"


@tool(
    "memory_deprecate", title="Deprecate memories", family="memory", writes=True, idempotent=False
)
async def deprecate(view: View, request: DeprecateRequest) -> Deprecated:
    """Retire memories that no longer hold, with superseded_by when another one takes their place.
    They are kept. Prefer this to deleting."""
    ids = tuple(dict.fromkeys(request.ids))
    if request.superseded_by in ids:
        raise InvalidArgument(
            f"memory {request.superseded_by} cannot be superseded by itself",
            hint="leave it out of ids", reason="superseded_by",
        )  # fmt: skip
    scope, replies = await _retire(
        view, request.repository, ids, superseded_by=request.superseded_by
    )
    notes = {facts_of(note).number: note for reply in replies for note in reply.notes}
    retired = tuple(views.record(notes[number], scope.slug) for number in ids if number in notes)
    claimed = _in_order(ids, (number for reply in replies for number in reply.claimed))
    return Deprecated(
        written_to=scope.slug,
        status="deprecated" if request.superseded_by is None else "superseded_by",
        superseded_by=request.superseded_by, requested_ids=ids, deprecated=retired,
        not_found=_in_order(ids, (number for reply in replies for number in reply.missing)),
        count=len(retired), claimed=claimed or None, notice=_CLAIMED if claimed else None,
    )  # fmt: skip


@tool("memory_delete", title="Delete a memory", family="memory", writes=True)
async def delete(view: View, request: DeleteRequest) -> Deleted:
    """Delete one memory for good. Prefer memory_deprecate, which keeps it. deleted is false when there
    was none."""
    scope, replies = await _retire(view, request.repository, (request.id,), delete=True)
    if any(reply.claimed for reply in replies):
        raise Conflict(
            f"memory {request.id} is claimed", reason="ClaimRequired",
            hint="wait until the claim is released, or use repocontext_forget with its token",
        )  # fmt: skip
    done = any(reply.done for reply in replies)
    return Deleted(deleted_from=scope.slug, id=request.id, deleted=done, existed=done)


@tool("memory_delete_many", title="Delete memories", family="memory", writes=True)
async def delete_many(view: View, request: DeleteManyRequest) -> DeletedMany:
    """Delete 1 to 100 memories for good. Prefer memory_deprecate, which keeps them."""
    ids = tuple(dict.fromkeys(request.ids))
    scope, replies = await _retire(view, request.repository, ids, delete=True)
    done = _in_order(ids, (number for reply in replies for number in reply.done))
    return DeletedMany(
        deleted_from=scope.slug, requested_ids=ids, deleted_ids=done,
        not_found=_in_order(ids, (number for reply in replies for number in reply.missing)),
        count=len(done),
        claimed=_in_order(ids, (number for reply in replies for number in reply.claimed)),
    )  # fmt: skip


async def _retire(
    view: View,
    repository: str,
    ids: tuple[int, ...],
    *,
    delete: bool = False,
    superseded_by: int | None = None,
) -> tuple[Scope, list[NoteReply]]:
    """Send one command to each namespace that holds some of the records."""

    def place(desk: Desk) -> tuple[Scope, str, dict[RepoId, list[int]]]:
        successor = None if superseded_by is None else desk.record(superseded_by)
        placed: dict[RepoId, list[int]] = {}
        for number in known:
            note = desk.book.find(number)
            # What is not seen here may be too new for this projection: the worker decides.
            placed.setdefault(desk.scope.home if note is None else note.repo_id, []).append(number)
        return desk.scope, "" if successor is None else successor.repo_id, placed

    # No number is ever that large, and a message could not carry it.
    known = [number for number in ids if number <= _LARGEST]
    scope, successor_repo, placed = await consult(view, repository, place)
    replies = [NoteReply(ok=True, missing=tuple(set(ids) - set(known)))]
    replies += [
        await view.host.note_command(
            RetireFacts(
                repo_id=repo_id, numbers=tuple(numbers), delete=delete,
                superseded_by=superseded_by, principal=view.caller.principal,
                successor_repo=successor_repo,
            )
        )
        for repo_id, numbers in placed.items()
    ]  # fmt: skip
    return scope, replies


def _in_order(ids: tuple[int, ...], numbers: Iterable[int]) -> tuple[int, ...]:
    found = set(numbers)
    return tuple(number for number in ids if number in found)
