"""Who holds a record? Claims, renewals and releases as pure decisions.

The lock lives in the record's own facts, so a grant is one conditional append: of two on the same
state one gets through. A release hands over to the next in the queue within the same fact, and
whoever decides on a record whose lease has run out grants it to the first in line.
"""

from __future__ import annotations

from msgspec.structs import replace

from contracts.events.memory import ClaimNote, ReleaseClaim, RenewClaim
from contracts.notes import REGION, Claim, Note, Waiter
from services.memory.decision import Asked, Decision, alive, changed, unchanged, with_claim

_LONGEST_QUEUE = 10_000


def granted(claim: Claim, waiter: Waiter, now_ms: int, queue: tuple[Waiter, ...]) -> Claim:
    """The claim after a grant: its token is higher than any before."""
    token = claim.issued + 1
    return replace(
        claim,
        issued=token,
        fence=token,
        owner=waiter.owner,
        region=REGION,
        lease_until_ms=now_ms + waiter.lease_ms,
        lease_ms=waiter.lease_ms,
        held=True,
        queue=queue,
        command=waiter.command,
    )


def settled(claim: Claim, now_ms: int) -> Claim:
    """The claim once the first who still waits was given a lock that is free."""
    queue = claim.waiting(now_ms)
    if not queue or claim.is_held(now_ms):
        return claim
    return granted(claim, queue[0], now_ms, queue[1:])


def settle(note: Note | None, asked: Asked) -> Decision:
    """What time alone brings about: the next grant after a lease that ran out."""
    here = alive(note, asked.now_ms)
    if here is None:
        return unchanged(None)
    claim = settled(here.claim, asked.now_ms)
    if claim is here.claim:
        return unchanged(here)
    return changed("granted", with_claim(here, claim), here)


def claim(note: Note | None, command: ClaimNote, asked: Asked) -> Decision:
    """Grant, queue, or tell that somebody else holds it."""
    now = asked.now_ms
    here = alive(note, now)
    if here is None:
        return unchanged(None, reason="missing")
    if here.claim.command == asked.id:  # granted before, perhaps by somebody else's release
        return told_again(here, command, asked)
    lease = min(command.lease_ms, asked.max_lease_ms)
    after = settled(here.claim, now)
    if after.command == asked.id:
        return changed("granted", with_claim(here, after), here)
    queue = after.waiting(now)
    if any(waiter.command == asked.id for waiter in queue):
        kept = unchanged(here) if after is here.claim else _changed(here, after)
        return replace(kept, waits=True)
    if not queue and not after.is_held(now):
        waiter = Waiter(asked.id, command.owner, lease, now)
        return changed("granted", with_claim(here, granted(after, waiter, now, ())), here)
    until = (asked.asked_ms or now) + command.wait_ms
    if command.wait_ms <= 0 or until <= now or len(queue) >= _LONGEST_QUEUE:
        lost = unchanged(here) if after is here.claim else _changed(here, after)
        reason = "timeout" if command.wait_ms > 0 and until <= now else "contended"
        return replace(lost, reply=replace(lost.reply, reason=reason))
    waiter = Waiter(asked.id, command.owner, lease, until)
    queued = with_claim(here, replace(after, queue=(*queue, waiter)))
    return replace(changed("queued", queued, here), waits=True)


def told_again(note: Note | None, command: ClaimNote, asked: Asked) -> Decision:
    """The answer to a claim that an earlier delivery had granted: the grant, while it holds.

    Nobody is told late that the record is theirs when it is not any more.
    """
    here = alive(note, asked.now_ms)
    if here is None:
        return unchanged(None, reason="missing")
    if here.claim.command == asked.id and here.claim.is_held(asked.now_ms):
        return unchanged(here)
    return unchanged(here, reason="timeout" if command.wait_ms > 0 else "contended")


def waited(note: Note | None, asked: Asked, until_ms: int) -> Decision | None:
    """The answer to a claim that stood in the queue; None: it goes on standing there."""
    here = alive(note, asked.now_ms)
    if here is None:
        return unchanged(None, reason="missing")
    if here.claim.command == asked.id:
        return unchanged(here)
    if until_ms <= asked.now_ms:
        return unchanged(here, reason="timeout")
    if not any(waiter.command == asked.id for waiter in here.claim.queue):
        return unchanged(here, reason="timeout")  # forgotten and created anew meanwhile
    return None


def renew(note: Note | None, command: RenewClaim, asked: Asked) -> Decision:
    """Move the lease's end, later or earlier. A lease that ran out is gone, waiters or not."""
    now = asked.now_ms
    here = alive(note, now)
    if here is None:
        return unchanged(None, reason="missing")
    held = here.claim
    if not held.is_held(now) or command.token != held.fence:
        after = settled(held, now)
        lost = unchanged(here) if after is held else _changed(here, after)
        return replace(lost, reply=replace(lost.reply, reason="superseded"))
    lease = min(command.lease_ms, asked.max_lease_ms)
    renewed = replace(held, lease_until_ms=now + lease, lease_ms=lease)
    return changed("renewed", with_claim(here, renewed), here)


def release(note: Note | None, command: ReleaseClaim, asked: Asked) -> Decision:
    """Mark the claim as over and hand the record on. The mark decides, not the lease."""
    now = asked.now_ms
    here = alive(note, now)
    if here is None:
        return unchanged(None, reason="missing")
    held = here.claim
    if not held.fence:
        return unchanged(here, reason="unclaimed")
    if command.token != held.fence:
        return unchanged(here, reason="stale")
    if held.released >= command.token:
        return unchanged(here)
    over = settled(replace(held, released=command.token, held=False), now)
    return changed("released", with_claim(here, over), here)


def _changed(here: Note, claim: Claim) -> Decision:
    return changed("granted", with_claim(here, claim), here)
