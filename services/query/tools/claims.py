"""Claims: exclusive authorship of a note for a bounded time."""

from __future__ import annotations

from contracts.envelope import now_ms
from contracts.errors import Forbidden, NotFound
from contracts.events.memory import ClaimNote, NoteReply, ReleaseClaim, RenewClaim
from contracts.ids import RecordKey
from contracts.notes import Claim
from contracts.tools.notes import (
    ClaimGrant,
    ClaimRelease,
    ClaimRequest,
    ClaimStatus,
    ClaimStatusRequest,
    ReleaseClaimRequest,
    RenewClaimRequest,
)
from services.query.entries import time_text
from services.query.host import View
from services.query.note_keys import note_key, sendable
from services.query.registry import tool
from services.source.free_text import visible
from store.read import notes as stored

_LEASE_S = 30  # when nobody says; deliberately short
_LONGEST_WAIT_S = 3_600
_OWNER_CHARS = 200


@tool(
    "repocontext_claim", title="Claim a note", family="repocontext", writes=True, idempotent=False
)
async def claim(view: View, request: ClaimRequest) -> ClaimGrant:
    """Claim a note before working on it: granted to one at a time. Give the fencingToken with every
    write and release it afterwards. A lost race answers granted=false; maxWaitSeconds queues."""
    key = note_key(request.key, "repocontext_claim")
    wait_s = min(_duration(request.max_wait_seconds, "maxWaitSeconds", 0), _LONGEST_WAIT_S)
    lease_s = _duration(request.lease_seconds, "leaseSeconds", _LEASE_S)
    command = ClaimNote(
        repo_id=key.repo_id,
        topic=key.name,
        id=key.item,
        principal=view.caller.principal,
        owner=request.owner.strip()[:_OWNER_CHARS],
        lease_ms=min(lease_s, view.settings.longest_lease_seconds) * 1000,
        wait_ms=wait_s * 1000,
    )
    reply = await view.host.note_command(command, wait_s=wait_s)
    return _grant(key, reply)


@tool("repocontext_renew_claim", title="Renew a claim", family="repocontext", writes=True)
async def renew(view: View, request: RenewClaimRequest) -> ClaimGrant:
    """Extend the lease of a claim you hold; its token stays. granted=false, superseded means that
    it is lost: stop writing and claim again."""
    key = note_key(request.key, "repocontext_renew_claim")
    lease_s = _duration(request.lease_seconds, "leaseSeconds", _LEASE_S)
    command = RenewClaim(
        repo_id=key.repo_id,
        topic=key.name,
        id=key.item,
        principal=view.caller.principal,
        token=sendable(request.fencing_token),
        lease_ms=min(lease_s, view.settings.longest_lease_seconds) * 1000,
    )
    return _grant(key, await view.host.note_command(command), renewed=True)


@tool("repocontext_release_claim", title="Release a claim", family="repocontext", writes=True)
async def release(view: View, request: ReleaseClaimRequest) -> ClaimRelease:
    """Give a claim up: the next in the queue gets the note. Write everything first, a released
    token stays refused. Repeating it is safe."""
    key = note_key(request.key, "repocontext_release_claim")
    command = ReleaseClaim(
        repo_id=key.repo_id,
        topic=key.name,
        id=key.item,
        principal=view.caller.principal,
        token=sendable(request.fencing_token),
    )
    reply = await view.host.note_command(command)
    return ClaimRelease(
        key=str(key),
        lock_name=str(key),
        released=not reply.reason,
        fencing_token=request.fencing_token,
        reason=reply.reason or None,  # type: ignore[arg-type]  # the worker's words
    )


@tool("repocontext_claim_status", title="Who holds a note", family="repocontext")
async def claim_status(view: View, request: ClaimStatusRequest) -> ClaimStatus:
    """Who holds a note, until when, and how many wait. An observation of a moment, never a right to
    write."""
    key = note_key(request.key, "repocontext_claim_status")
    now = now_ms()
    try:
        with view.read() as snapshot:
            note = stored.live_note(snapshot, key.repo_id, key.name, key.item, now)
    except NotFound:
        note = None
    if note is None:
        return ClaimStatus(
            key=str(key), lock_name=str(key), exists=False, claimed=False, is_held=False,
            lock_fencing_token=0, queue_depth=0,
        )  # fmt: skip
    return _status(key, note.claim, now)


def _status(key: RecordKey, claim: Claim, now: int) -> ClaimStatus:
    known, held = bool(claim.fence), claim.is_held(now)
    return ClaimStatus(
        key=str(key),
        lock_name=str(key),
        exists=True,
        claimed=claim.live,
        fencing_token=claim.fence if known else None,
        released_fencing_token=claim.released if claim.released else None,
        owner=visible(claim.owner) if known else None,
        region=claim.region if known else None,
        is_held=held,
        lock_fencing_token=claim.fence if held else 0,
        lease_expires_at_utc=time_text(claim.lease_until_ms) if held else None,
        queue_depth=len(claim.waiting(now)),
    )


def _grant(key: RecordKey, reply: NoteReply, *, renewed: bool = False) -> ClaimGrant:
    note = reply.note
    if reply.reason or note is None:
        return ClaimGrant(
            key=str(key),
            lock_name=str(key),
            granted=False,
            reason=reply.reason or "missing",  # type: ignore[arg-type]  # the worker's words
        )
    claim, before = note.claim, reply.before
    earlier = before.claim.lease_until_ms if renewed and before is not None else 0
    return ClaimGrant(
        key=str(key),
        lock_name=str(key),
        granted=True,
        fencing_token=claim.fence,
        owner=visible(claim.owner),
        region=claim.region,
        lease_expires_at_utc=time_text(claim.lease_until_ms),
        lease_seconds=claim.lease_ms // 1000,
        previous_lease_expires_at_utc=time_text(earlier),
        lease_shortened=claim.lease_until_ms < earlier if earlier else None,
    )


def _duration(seconds: int | None, name: str, default: int) -> int:
    """The duration asked for; zero or less is refused, and counted as a fault, not as a mistake."""
    if seconds is None:
        return default
    if seconds <= 0:
        raise Forbidden(
            f"{name} is {seconds}", hint=f"give {name} a positive number", reason="duration"
        )
    return seconds
