"""Single decisions about notes and facts that no broker is needed for."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from contracts.events.memory import (
    AddFact,
    ClaimNote,
    FactsPatch,
    ForgetNote,
    NotePatch,
    RememberNote,
    RetireFacts,
    UpdateFact,
)
from contracts.ids import RepoId
from contracts.notes import Claim, Link, Note
from services.memory import facts, fence, notes, restoring
from services.memory.decision import Asked, Decision

REPO = RepoId("demo")
NOW = Asked(id="c", now_ms=10_000, principal="somebody")


def made(decision: Decision) -> Note:
    assert decision.reply.ok, decision.reply.message
    assert decision.note is not None
    return decision.note


def note(**changes: object) -> Note:
    plain = Note(repo_id=REPO, topic="t", id="1", body="text", created_ms=1, updated_ms=1)
    return replace(plain, **changes)


def remember(**changes: object) -> RememberNote:
    plain = RememberNote(repo_id=REPO, topic="t", id="1", principal="p", patch=NotePatch())
    return replace(plain, **changes)


def fact(**patch: object) -> Note:
    command = AddFact(
        repo_id=REPO,
        patch=FactsPatch(**{"content": "a", **patch}),
        principal="p",  # type: ignore[arg-type]
    )
    return made(facts.add(None, 7, command, NOW))


def update(known: Note | None, *, exists: bool = True, seen: int = -1, **patch: object) -> Decision:
    command = UpdateFact(
        repo_id=REPO,
        number=7,
        patch=FactsPatch(**patch),
        seen_update_count=seen,
        principal="p",  # type: ignore[arg-type]
    )
    return facts.update(known, command, NOW, successor_exists=exists)


def test_what_says_nothing_new_is_no_fact() -> None:
    known = note(title="a", tags=("x",), links=(Link("see", "repo/demo/mem/t/2", "d"),))
    patch = NotePatch(title="a", add_tags=("x", " "), add_links=known.links)

    assert notes.decide(known, remember(patch=patch), NOW).change is None


def test_what_is_removed_and_added_at_once_is_there() -> None:
    known = note(tags=("x", "y"), links=(Link("see", "repo/demo/file/a", "old"),))
    patch = NotePatch(
        add_tags=("x",), remove_tags=("x", "y"),
        add_links=(Link("see", "repo/demo/file/a", "new"),),
        remove_links=(("see", "repo/demo/file/a"),),
    )  # fmt: skip

    after = made(notes.decide(known, remember(patch=patch), NOW))

    assert after.tags == ("x",)
    assert after.links == (Link("see", "repo/demo/file/a", "new"),)


def test_a_note_has_a_thousand_links_at_most() -> None:
    links = tuple(Link("see", f"repo/demo/mem/t/{number}") for number in range(1_001))

    refusal = notes.decide(note(), remember(patch=NotePatch(add_links=links)), NOW).reply

    assert (refusal.ok, refusal.code) == (False, "INVALID_ARGUMENT")


def test_a_note_grows_no_larger_than_it_can_be_read() -> None:
    known = note(title="a" * 200_000, body="b" * 200_000)

    refusal = notes.decide(known, remember(patch=NotePatch(author="c")), NOW).reply

    assert (refusal.ok, refusal.code) == (False, "INVALID_ARGUMENT")


def test_a_patch_does_not_blank_a_record_of_the_memory_tools() -> None:
    refusal = notes.decide(fact(), remember(patch=NotePatch(body=" ")), NOW).reply

    assert (refusal.ok, refusal.message) == (False, "content is blank")


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (Claim(issued=3, fence=3, held=True, lease_until_ms=10_001, command="c"), ""),
        (Claim(issued=3, fence=3, held=True, lease_until_ms=10_000, command="c"), "timeout"),
        (Claim(issued=3, fence=3, released=3, lease_until_ms=20_000, command="c"), "timeout"),
    ],
)
def test_a_grant_is_told_again_only_while_it_holds(claim: Claim, reason: str) -> None:
    asking = ClaimNote(
        repo_id=REPO, topic="t", id="1", principal="p", owner="o", lease_ms=1, wait_ms=60_000
    )

    decision = notes.decide(note(claim=claim), asking, NOW)

    assert (decision.reply.reason, decision.change) == (reason, None)


def test_a_lapsed_note_is_created_anew_and_keeps_its_token_counter() -> None:
    known = note(expires_ms=9_999, kind="Decision", claim=Claim(issued=5, fence=5, held=True))

    after = made(notes.decide(known, remember(patch=NotePatch(title="new")), NOW))

    assert (after.kind, after.body, after.title) == ("Note", "", "new")
    assert after.claim == Claim(issued=5)


def test_a_default_lifetime_is_for_creation_only() -> None:
    created = made(notes.decide(None, remember(default_ttl_ms=500), NOW))
    again = notes.decide(note(), remember(default_ttl_ms=500, patch=NotePatch(title="x")), NOW)

    assert created.expires_ms == 10_500
    assert made(again).expires_ms == 0
    explicit = made(notes.decide(None, remember(default_ttl_ms=-1, ttl_ms=7), NOW))
    assert explicit.expires_ms == 10_007
    refused = notes.decide(None, remember(default_ttl_ms=-1), NOW)
    assert (refused.reply.ok, refused.change) == (False, None)


@pytest.mark.parametrize(
    ("claim", "token", "verdict"),
    [
        (Claim(), None, None),
        (Claim(), 99, None),
        (Claim(issued=3), 99, None),  # never claimed in this life
        (Claim(issued=3, fence=3, region="local"), None, "ClaimRequired"),
        (Claim(issued=3, fence=3, released=3, region="local"), None, None),
        (Claim(issued=3, fence=3, region="local"), 2, "StaleToken"),
        (Claim(issued=3, fence=3, released=3, region="local"), 2, "StaleToken"),
        (Claim(issued=3, fence=3, region="local"), 4, "UnissuedToken"),
        (Claim(issued=9, fence=3, region="local", held=True), 9, "UnissuedToken"),
        (Claim(issued=3, fence=3, released=3, region="local"), 4, "UnissuedToken"),
        (Claim(issued=3, fence=3, released=3, region="local"), 3, "ClaimReleased"),
        (Claim(issued=3, fence=3, region="local"), 3, None),
        (Claim(issued=3, fence=3, region="far"), 3, "ForeignRegion"),
    ],
)
def test_the_fencing_table(claim: Claim, token: int | None, verdict: str | None) -> None:
    assert fence.verdict(claim, token) == verdict


@pytest.mark.parametrize(
    ("token", "now_ms", "verdict"),
    [(None, 50, "ClaimRequired"), (2, 50, "StaleToken"), (3, 50, None), (None, 100, None)],
)
def test_an_unreadable_record_goes_by_the_lock(
    token: int | None, now_ms: int, verdict: str | None
) -> None:
    lock = Claim(issued=4, fence=3, held=True, lease_until_ms=100)

    assert fence.verdict_unread(lock, token, now_ms) == verdict


def test_an_unreadable_record_lapses_in_exactly_the_window() -> None:
    known = note(expires_ms=1_000_000)
    command = ForgetNote(repo_id=REPO, topic="t", id="1", principal="p", lapse_ms=60)

    decision = notes.forget_unread(known, command, NOW)

    assert made(decision).expires_ms == 10_060
    assert decision.reply.undecodable


def test_a_patch_of_a_record_of_the_memory_tools_is_measured_and_counted() -> None:
    known = fact(tags_text="A, b")
    patch = NotePatch(body="b", add_tags=("c",))

    after = made(notes.decide(known, remember(topic="machine-memory", id="7", patch=patch), NOW))

    assert after.facts is not None
    assert (after.facts.update_count, after.facts.tags_text) == (1, "A,b,c")
    large = remember(topic="machine-memory", id="7", patch=NotePatch(body="x" * 600))
    refusal = notes.decide(known, large, NOW).reply
    assert (refusal.ok, refusal.code) == (False, "INVALID_ARGUMENT")
    alone = notes.decide(None, remember(topic="machine-memory", id="8"), NOW).reply
    assert alone.code == "INVALID_ARGUMENT"


def test_an_age_goes_with_status_records_only() -> None:
    aged = fact(memory_type="status", expires_after_days=3)
    assert aged.facts is not None
    assert aged.facts.expires_after_days == 3
    changed = made(update(aged, memory_type="decision"))
    assert changed.facts is not None
    assert changed.facts.expires_after_days is None
    assert update(aged, memory_type="decision", expires_after_days=5).reply.code == "INVALID_ARGUMENT"  # fmt: skip


def test_an_update_is_refused_when_it_was_decided_on_something_else() -> None:
    known = fact()
    assert update(known, seen=0, content="b").change == "merged"
    assert update(known, seen=1, content="b").reply.code == "CONFLICT"
    assert update(known).change is None
    assert update(None, content="b").reply.code == "NOT_FOUND"
    assert update(note(), content="b").reply.code == "NOT_FOUND"  # no record of these tools
    assert update(known, superseded_by=7).reply.code == "INVALID_ARGUMENT"
    assert update(known, superseded_by=8, exists=False).reply.code == "NOT_FOUND"
    claimed = replace(known, claim=Claim(issued=1, fence=1))
    assert update(claimed, content="b").reply.fence == "ClaimRequired"


def test_a_long_record_can_still_be_retired() -> None:
    known = replace(fact(), body="x" * 600)
    command = RetireFacts(repo_id=REPO, numbers=(7,), superseded_by=8, principal="p")

    after = made(facts.retire(known, command, NOW))

    assert after.facts is not None
    assert (after.facts.status, after.facts.superseded_by) == ("superseded_by", 8)
    assert update(after, context="c").change == "merged"
    assert facts.without_successor(command, exists=True) is None
    assert facts.without_successor(command, exists=False) is not None
    assert facts.without_successor(replace(command, numbers=(7, 8)), exists=True) is not None


def test_an_import_brings_back_what_is_gone_and_leaves_what_is_there() -> None:
    given = note(claim=Claim(issued=5, fence=5, released=5, owner="a"), tags=("kept",))

    back = made(restoring.restore(None, given, NOW))
    assert replace(back, claim=given.claim) == given
    assert back.claim.issued == 5
    assert restoring.restore(back, given, NOW).change is None
    other = note(body="newer", claim=Claim(issued=9))
    assert restoring.restore(other, given, NOW).change is None
    raised = made(restoring.restore(note(body="newer"), given, NOW))
    assert (raised.body, raised.claim.issued) == ("newer", 5)
    over = note(expires_ms=NOW.now_ms, claim=Claim(issued=3))
    counted = made(restoring.restore(None, over, NOW))
    assert (counted.exists, counted.claim.issued) == (False, 3)
    deleted = note(exists=False, claim=Claim(issued=11))
    again = made(restoring.restore(deleted, given, NOW))
    assert (again.exists, again.claim.issued) == (True, 11)
