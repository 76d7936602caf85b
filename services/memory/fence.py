"""May this write touch a claimed record? The fencing table, in the order it is checked.

A lease's end is not looked at: whoever held the record last may write until somebody else is granted
a higher token.
"""

from __future__ import annotations

from typing import Literal

from contracts.events.memory import NoteReply
from contracts.notes import REGION, Claim, Note
from services.memory.decision import Decision, key_of

Fence = Literal["ClaimRequired", "StaleToken", "UnissuedToken", "ClaimReleased", "ForeignRegion"]

_HINTS: dict[Fence, str] = {
    "ClaimRequired": "claim it with repocontext_claim and give the fencingToken, or wait for its release",
    "StaleToken": "somebody else was granted the record since; stop writing and claim it again",
    "UnissuedToken": "give the token that repocontext_claim returned",
    "ClaimReleased": "write without a token, or claim it again",
    "ForeignRegion": "write where the claim was taken, or wait for its release",
}


def verdict(claim: Claim, token: int | None, region: str = REGION) -> Fence | None:
    """Why a write is refused; None when it is admitted.

    A grant stamps the record and the lock in one fact, so no token above the mark was ever issued.
    """
    if not claim.fence:
        return None
    if token is None:
        return "ClaimRequired" if claim.live else None
    if token < claim.fence:
        return "StaleToken"
    if token > claim.fence:
        return "UnissuedToken"
    if not claim.live:
        return "ClaimReleased"
    return "ForeignRegion" if claim.region != region else None


def verdict_unread(lock: Claim, token: int | None, now_ms: int) -> Fence | None:
    """As `verdict`, for a record whose stamp nobody can read: only the lock counts."""
    if not lock.is_held(now_ms) or token == lock.fence:
        return None
    return "ClaimRequired" if token is None else "StaleToken"


def refusal(note: Note, fence: Fence, token: int | None) -> Decision:
    """The answer to a write that the claim forbids; it carries the record as it is."""
    claim = note.claim
    presented = "no token" if token is None else f"token {token}"
    state = "claimed by" if claim.live else "released by"
    message = (
        f"{fence}: {key_of(note.repo_id, note.topic, note.id)} was {state} {claim.owner!r} "
        f"in region {claim.region!r} (mark {claim.fence}); presented: {presented}"
    )
    reply = NoteReply(
        ok=False, code="CONFLICT", message=message, hint=_HINTS[fence], fence=fence, note=note
    )
    return Decision(reply=reply)
