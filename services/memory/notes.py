"""What becomes of a command on one record? Pure decisions; nothing here waits or asks."""

from __future__ import annotations

from msgspec.structs import replace

from contracts.events.memory import (
    ClaimNote,
    ForgetNote,
    ReleaseClaim,
    RememberNote,
    RenewClaim,
)
from contracts.note_rules import MOST_CHARS, MOST_EDGES, chars_of
from contracts.notes import MEMORY_TOPIC, Claim, Note
from services.memory import claims, facts, fence
from services.memory.decision import (
    Asked,
    Decision,
    alive,
    changed,
    gone,
    issued,
    key_of,
    refused,
    unchanged,
)
from services.memory.merging import later, merged

RecordCommand = RememberNote | ForgetNote | ClaimNote | RenewClaim | ReleaseClaim


def decide(note: Note | None, command: RecordCommand, asked: Asked) -> Decision:
    """Decide about one record, given its newest state (None: there never was one)."""
    match command:
        case RememberNote():
            return remember(note, command, asked)
        case ForgetNote():
            return forget(note, command, asked)
        case ClaimNote():
            return claims.claim(note, command, asked)
        case RenewClaim():
            return claims.renew(note, command, asked)
        case ReleaseClaim():
            return claims.release(note, command, asked)


def remember(note: Note | None, command: RememberNote, asked: Asked) -> Decision:
    """Create the note or merge into it."""
    here = alive(note, asked.now_ms)
    if here is None:
        return _create(note, command, asked)
    forbidden = fence.verdict(here.claim, command.token)
    if forbidden is not None:
        return fence.refusal(here, forbidden, command.token)
    after = merged(here, command.patch)
    if (too_many := _too_many(after)) is not None:
        return too_many
    if after != here and after.facts is not None:
        by = command.patch.author or asked.principal
        count = after.facts.update_count + 1
        after = replace(after, facts=replace(after.facts, update_count=count, last_updated_by=by))
        unfit = facts.mistake(after)
        if unfit is not None:
            return unfit
    expires = here.expires_ms
    if command.ttl_ms > 0:
        expires = later(expires, asked.now_ms + command.ttl_ms)
    if after == here and expires == here.expires_ms:
        return unchanged(here)
    change = "expiry_extended" if after == here else "merged"
    after = replace(after, expires_ms=expires, updated_ms=asked.now_ms)
    return changed("merged" if change == "merged" else "expiry_extended", after, here)


def _create(note: Note | None, command: RememberNote, asked: Asked) -> Decision:
    key = key_of(command.repo_id, command.topic, command.id)
    if command.must_exist:
        return refused(
            "NOT_FOUND",
            f"there is no record {key}",
            "repocontext_remember creates one; repocontext_scan shows the keys there are",
        )
    if command.topic == MEMORY_TOPIC:
        return refused(
            "INVALID_ARGUMENT",
            f"records of topic {MEMORY_TOPIC} are created by memory_add, which numbers them",
            "use memory_add, or another topic",
        )
    ttl = command.ttl_ms or command.default_ttl_ms
    if ttl < 0:
        return refused(
            "FORBIDDEN",
            "the default lifetime of this repository's memory is not a positive number of seconds",
            "correct the setting memory_default_ttl, or give ttlSeconds",
        )
    now = asked.now_ms
    fresh = Note(
        repo_id=command.repo_id,
        topic=command.topic,
        id=command.id,
        kind=command.kind,
        created_ms=now,
        updated_ms=now,
        expires_ms=now + ttl if ttl else 0,
        claim=Claim(issued=issued(note)),
    )
    made = merged(fresh, command.patch)
    return _too_many(made) or changed("created", made, None)


def _too_many(note: Note) -> Decision | None:
    if len(note.links) > MOST_EDGES or len(note.tags) > MOST_EDGES:
        return refused(
            "INVALID_ARGUMENT",
            f"a note has at most {MOST_EDGES} links and {MOST_EDGES} tags",
            "remove some in the same call, or write another note",
        )
    if (chars := chars_of(note)) > MOST_CHARS:
        return refused(
            "INVALID_ARGUMENT",
            f"the note has {chars:,} characters with all its fields and may have {MOST_CHARS:,}",
            "keep the gist, and link to the file that has the rest",
        )
    return None


def forget(note: Note | None, command: ForgetNote, asked: Asked) -> Decision:
    """Delete the note, or let it lapse. An absent one is forgotten already."""
    here = alive(note, asked.now_ms)
    if here is None:
        return unchanged(None)
    forbidden = fence.verdict(here.claim, command.token)
    if forbidden is not None:
        return fence.refusal(here, forbidden, command.token)
    if not command.lapse_ms:
        return changed("deleted", gone(here, asked.now_ms), here)
    expires = later(here.expires_ms, asked.now_ms + command.lapse_ms)
    if expires == here.expires_ms:
        return unchanged(here)
    return changed("lapsed", replace(here, expires_ms=expires), here)


def forget_unread(lock: Note, command: ForgetNote, asked: Asked) -> Decision:
    """As `forget`, for a record whose newest fact cannot be read.

    `lock` is what the newest readable fact before it says, its tokens counted on past what may have
    been granted since. The window of a lapse is set exactly.
    """
    forbidden = fence.verdict_unread(lock.claim, command.token, asked.now_ms)
    if forbidden is not None:
        refusal = fence.refusal(lock, forbidden, command.token)
        return replace(refusal, reply=replace(refusal.reply, undecodable=True))
    if command.lapse_ms and lock.exists:
        after = replace(lock, expires_ms=asked.now_ms + command.lapse_ms)
        decision = changed("lapsed", after, lock)
    else:
        decision = changed("deleted", gone(lock, asked.now_ms), lock)
    return replace(decision, reply=replace(decision.reply, undecodable=True))
