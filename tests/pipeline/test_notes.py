"""Notes and claims as clients see them, over a real broker."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from contracts import subjects
from contracts.envelope import Envelope, now_ms
from contracts.errors import (
    Conflict,
    Fault,
    Forbidden,
    InvalidArgument,
    NotFound,
    Poisoned,
    Unavailable,
)
from contracts.events.commands import AddRepo, RemoveRepo
from contracts.events.log import WalkFilters
from contracts.events.memory import (
    AddFact,
    ClaimNote,
    FactsPatch,
    ForgetNote,
    ImportNotes,
    NotePatch,
    NoteRecorded,
    NoteReply,
    ReleaseClaim,
    RememberNote,
    RenewClaim,
    RetireFacts,
    UpdateFact,
)
from contracts.notes import Claim, Note
from contracts.subjects import LOG
from services.kernel.reader import StreamReader
from services.memory.decision import Asked
from services.memory.disk import LogDisk
from services.memory.note_worker import NoteWorker
from services.memory.notes import RecordCommand, decide
from services.memory.waiting import Queues, Waiting
from store.read.notes import live_note
from tests.broker import Broker, running
from tests.pipeline.memory_node import REPO, MemoryNode, memory_node, token_of

pytestmark = [pytest.mark.anyio, pytest.mark.broker]
_decode = msgspec.msgpack.Decoder(Envelope[NoteRecorded]).decode


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[MemoryNode]:
    with running(tmp_path_factory.mktemp("broker")) as broker:
        async with memory_node(broker, memory_workers=2) as started:
            yield started


@pytest.fixture
async def node(shared: MemoryNode) -> AsyncIterator[MemoryNode]:
    """A node without notes; the tokens of its keys go on where they were."""
    yield shared
    await shared.host.command("demo", RemoveRepo(repo_id=REPO, principal="test"))


async def remembered(node: MemoryNode, **changes: Any) -> str:
    answer = await node.call(
        "repocontext_remember", **{"repoId": "demo", "topic": "t", "body": "text", **changes}
    )
    key: str = answer.key
    return key


async def refusal(node: MemoryNode, tool: str, **arguments: Any) -> Fault:
    with pytest.raises(Fault) as caught:
        await node.call(tool, **arguments)
    return caught.value


# -- records ------------------------------------------------------------------------------------


async def test_a_note_is_read_back_as_it_was_written(node: MemoryNode) -> None:
    key = await remembered(
        node, id="1", kind="Decision", title="Use NATS", body="because", author="ada",
        provenance="ADR 1", tags=["queue", "arch"], addLinks={"see": ["repo/demo/mem/t/2"]},
    )  # fmt: skip

    entry = await node.call("repocontext_recall", key=key)

    assert (entry.exists, entry.kind, entry.topic, entry.id) == (True, "Memory", "t", "1")
    assert entry.fields["kind"] == "Decision"
    assert entry.fields["title"] == "Use NATS"
    assert (entry.fields["author"], entry.fields["provenance"]) == ("ada", "ADR 1")
    assert entry.tags == ("arch", "queue")
    assert entry.links == {"see": ("repo/demo/mem/t/2",)}
    assert (entry.expires, entry.stale, entry.stale_links) == (False, False, None)


async def test_a_missing_note_is_no_error_and_a_malformed_key_is(node: MemoryNode) -> None:
    absent = await node.call("repocontext_recall", key="repo/demo/mem/t/none")
    assert (absent.exists, absent.fields, absent.links) == (False, {}, {})

    assert isinstance(await refusal(node, "repocontext_recall", key="repo/demo/mem/t"), InvalidArgument)  # fmt: skip


async def test_without_an_id_every_note_is_new_and_with_one_it_is_merged(node: MemoryNode) -> None:
    first, second = await remembered(node), await remembered(node)
    assert first != second

    await remembered(node, id="same", kind="Decision", title="a", tags=["x"])
    again = await node.call(
        "repocontext_remember", repoId="demo", topic="t", id="same", kind="Note", author="b", tags=["y"]
    )  # fmt: skip
    entry = await node.call("repocontext_recall", key=again.key)

    assert again.created is False
    assert entry.fields["kind"] == "Decision"
    assert (entry.fields["title"], entry.fields["author"]) == ("a", "b")
    assert entry.tags == ("x", "y")


async def test_a_topic_with_a_slash_and_a_percent_sign_is_shown_as_it_is(node: MemoryNode) -> None:
    topic = "build/50%2F"
    key = await remembered(node, topic=topic, id="a/b%")

    assert (await node.call("repocontext_recall", key=key)).exists
    topics = await node.call("repocontext_list_topics", repoId="demo")
    assert [(entry.topic, entry.entry_count) for entry in topics.topics] == [(topic, 1)]


async def test_pages_of_notes_join_without_gap_or_repeat(node: MemoryNode) -> None:
    for topic in ("b", "a", "a-b", "c"):
        for number in range(3):
            await remembered(node, topic=topic, id=str(number))
    keys: list[str] = []
    token = None
    while True:
        page = await node.call(
            "repocontext_scan", repoId="demo", scope="Memory", pageSize=5, continuationToken=token
        )
        keys += [entry.key for entry in page.entries]
        assert all(entry.stale is None and entry.expires is None for entry in page.entries)
        token = page.continuation_token
        if not page.has_more:
            break

    assert len(keys) == 12
    assert keys == sorted(keys, key=str.encode)
    topic_page = await node.call("repocontext_scan", repoId="demo", scope="MemoryTopic", topic="a")
    assert [entry.id for entry in topic_page.entries] == ["0", "1", "2"]


async def test_update_takes_names_in_any_case_and_no_others(node: MemoryNode) -> None:
    key = await remembered(node, id="1")

    done = await node.call(
        "repocontext_update", key=key, fields={"TITLE": "new"}, addTags=["a"],
        addLinks={"see": ["repo/demo/mem/t/2"]},
    )  # fmt: skip

    assert (done.kind, done.fields_updated, done.tags_added, done.links_added) == ("Memory", 1, 1, 1)  # fmt: skip
    assert (await node.call("repocontext_recall", key=key)).fields["title"] == "new"
    for name in ("kind", "fence", "owner", "createdAt"):
        assert isinstance(await refusal(node, "repocontext_update", key=key, fields={name: "x"}), Forbidden)  # fmt: skip
    missing = await refusal(node, "repocontext_update", key="repo/demo/mem/t/none", fields={"title": "x"})  # fmt: skip
    assert isinstance(missing, NotFound)


async def test_two_parallel_updates_of_different_fields_both_survive(node: MemoryNode) -> None:
    key = await remembered(node, id="1")

    await asyncio.gather(
        *(
            node.call("repocontext_update", key=key, fields={field: "new"}, addTags=[field])
            for field in ("title", "body", "author", "provenance")
        )
    )

    entry = await node.call("repocontext_recall", key=key)
    assert {entry.fields[field] for field in ("title", "body", "author", "provenance")} == {"new"}
    assert len(entry.tags) == 4


async def test_links_that_are_none_and_names_nobody_can_read_are_refused(node: MemoryNode) -> None:
    for links in ({" ": ["repo/demo/mem/t/1"]}, {"see": ["nonsense"]}):
        assert isinstance(
            await refusal(node, "repocontext_remember", repoId="demo", topic="t", addLinks=links),
            Forbidden,
        )
    hidden = await refusal(node, "repocontext_remember", repoId="demo", topic="t\u202e", body="x")
    assert isinstance(hidden, InvalidArgument)


async def test_swallowed_arguments_and_credentials_are_refused_and_nothing_is_written(
    node: MemoryNode,
) -> None:
    swallowed = 'text</body>\n<parameter name="author">me'
    fault = await refusal(node, "repocontext_remember", repoId="demo", topic="t", body=swallowed)
    assert "author" in fault.message
    assert fault.details["reason"] == "rejected_content"

    secret = "see https://ada:hunter2@host/x"
    fault = await refusal(node, "repocontext_remember", repoId="demo", topic="t", body=secret)
    assert "hunter2" not in fault.message + fault.hint

    topics = await node.call("repocontext_list_topics", repoId="demo")
    assert topics.topics == ()
    await remembered(node, body=f"{swallowed}</parameter> is markup.\n\nIt is talked about here.")


async def test_what_hides_in_a_note_is_shown_when_it_is_read(node: MemoryNode) -> None:
    key = await remembered(node, id="1", body="safe\u202etxt.exe\u200b\x1b[2J", author="a\u2066b")

    entry = await node.call("repocontext_recall", key=key)

    assert entry.fields["body"] == "safe<U+202E>txt.exe<U+200B><U+001B>[2J"
    assert entry.fields["author"] == "a<U+2066>b"
    assert entry.fields["provenance"] == ""


@pytest.mark.parametrize(
    "given",
    [
        {"ttlSeconds": 10**15},
        {"ttlSeconds": 10**40},
        {"tags": ["x" * 201]},
        {"addLinks": {"r" * 201: ["repo/demo"]}},
        {"addLinks": {"r": ["repo/demo/file/" + "x" * 4_000]}},
        {"body": "\x07" * 100_000},
    ],
)
async def test_what_could_not_be_read_again_is_not_written(
    node: MemoryNode, given: dict[str, Any]
) -> None:
    fault = await refusal(node, "repocontext_remember", repoId="demo", topic="t", id="1", **given)

    assert isinstance(fault, InvalidArgument)
    assert not (await node.call("repocontext_recall", key="repo/demo/mem/t/1")).exists


async def test_a_lapse_beyond_all_times_is_refused(node: MemoryNode) -> None:
    key = await remembered(node, id="1")

    fault = await refusal(node, "repocontext_forget", key=key, lapse=True, lapseSeconds=10**15)

    assert "hundred years" in fault.message


async def test_a_token_that_no_message_can_carry_is_judged_as_any_other(node: MemoryNode) -> None:
    key = await remembered(node, id="1")
    unclaimed = await node.call("repocontext_release_claim", key=key, fencingToken=10**40)
    await node.call("repocontext_claim", key=key, owner="a")

    released = await node.call("repocontext_release_claim", key=key, fencingToken=10**40)
    renewed = await node.call("repocontext_renew_claim", key=key, fencingToken=-(10**40))
    fault = await refusal(
        node, "repocontext_update", key=key, fields={"title": "x"}, fencingToken=10**40
    )

    assert (unclaimed.reason, released.reason) == ("unclaimed", "stale")
    assert released.fencing_token == 10**40
    assert renewed.reason == "superseded"
    assert "UnissuedToken" in fault.message


# -- lifetime -----------------------------------------------------------------------------------


async def test_a_note_whose_time_is_over_is_gone_everywhere_at_once(node: MemoryNode) -> None:
    key = await remembered(node, id="1", ttlSeconds=1)
    before = await node.call("repocontext_recall", key=key)
    assert (before.expires, before.has_expired, before.remaining_seconds) == (True, False, 1)

    while (await node.call("repocontext_recall", key=key)).exists:
        await asyncio.sleep(0.05)

    page = await node.call("repocontext_scan", repoId="demo", scope="Memory")
    topics = await node.call("repocontext_list_topics", repoId="demo")
    status = await node.call("repocontext_claim_status", key=key)
    claim = await node.call("repocontext_claim", key=key, owner="a")
    assert (page.entries, topics.topics, status.exists) == ((), (), False)
    assert (claim.granted, claim.reason) == (False, "missing")
    assert await remembered(node, id="1") == key  # and may be written anew
    assert (await node.call("repocontext_recall", key=key)).expires is False


async def test_an_expiry_only_moves_later(node: MemoryNode) -> None:
    async def ttl(seconds: int) -> str:
        answer = await node.call(
            "repocontext_remember", repoId="demo", topic="t", id="1", ttlSeconds=seconds
        )
        expires: str = answer.expires_at_utc
        return expires

    first = await ttl(100)
    assert await ttl(10) == first
    later = await ttl(1000)
    assert later > first

    key = "repo/demo/mem/t/1"
    await node.call("repocontext_update", key=key, fields={"title": "x"})
    assert (await node.call("repocontext_recall", key=key)).expires_at_utc == later
    lapsed = await node.call("repocontext_forget", key=key, lapse=True, lapseSeconds=5)
    assert (lapsed.mode, lapsed.existed, lapsed.expires_at_utc) == ("lapse", True, later)


async def test_a_durable_note_lapses_in_the_window_and_a_delete_looks_at_none(
    node: MemoryNode,
) -> None:
    key = await remembered(node, id="1")
    lapsed = await node.call("repocontext_forget", key=key, lapse=True, lapseSeconds=50)
    entry = await node.call("repocontext_recall", key=key)
    assert lapsed.expires_at_utc == entry.expires_at_utc
    assert 45 < entry.remaining_seconds <= 50

    fault = await refusal(node, "repocontext_forget", key=key, lapse=True, lapseSeconds=0)
    assert isinstance(fault, InvalidArgument)
    deleted = await node.call("repocontext_forget", key=key, lapseSeconds=0)
    assert (deleted.mode, deleted.existed, deleted.expires_at_utc) == ("delete", True, None)
    again = await node.call("repocontext_forget", key=key)
    assert (again.existed, again.undecodable) == (False, False)


async def test_the_default_lifetime_is_the_repositorys_and_a_senseless_one_creates_nothing(
    broker: Broker,
) -> None:
    defaults = ("demo=100", "wrong=soon", "*=200")
    async with memory_node(broker, memory_default_ttl=defaults) as node:
        key = await remembered(node)
        assert (await node.call("repocontext_recall", key=key)).remaining_seconds == 100
        other = await remembered(node, repoId="other")
        assert (await node.call("repocontext_recall", key=other)).remaining_seconds == 200
        fault = await refusal(node, "repocontext_remember", repoId="wrong", topic="t", body="x")
        assert isinstance(fault, Forbidden)
        await remembered(node, repoId="wrong", ttlSeconds=5)


# -- links --------------------------------------------------------------------------------------


async def test_neighbours_come_breadth_first_and_bounded(node: MemoryNode) -> None:
    leaf = [f"repo/demo/mem/t/leaf{number}" for number in range(3)]
    for number in range(3):
        await remembered(node, id=f"leaf{number}")
    middle = await remembered(node, id="middle", addLinks={"see": leaf})
    seed = await remembered(
        node, id="seed", addLinks={"see": [middle, "repo/demo/mem/t/gone"], "not": leaf[:1]}
    )

    one = await node.call("repocontext_neighbors", key=seed, relation="see")
    assert [(entry.id, entry.exists) for entry in one.neighbors if entry.exists] == [("middle", True)]  # fmt: skip
    assert [entry.key for entry in one.neighbors if not entry.exists] == ["repo/demo/mem/t/gone"]
    assert one.truncated is False

    far = await node.call("repocontext_neighbors", key=seed, depth=9, maxNodes=0)
    assert {entry.key for entry in far.neighbors} == {middle, "repo/demo/mem/t/gone", *leaf}
    exact = await node.call("repocontext_neighbors", key=middle, maxNodes=3)
    short = await node.call("repocontext_neighbors", key=middle, maxNodes=2)
    assert (exact.truncated, len(exact.neighbors)) == (False, 3)
    assert (short.truncated, len(short.neighbors)) == (True, 2)
    for absent in ("repo/demo/mem/t/never", "repo/demo/file/never.py"):
        none = await node.call("repocontext_neighbors", key=absent)
        assert (none.key, none.exists, none.neighbors) == (absent, False, ())


# -- claims -------------------------------------------------------------------------------------


async def test_a_claim_is_granted_to_one_and_told_to_the_others(node: MemoryNode) -> None:
    key = await remembered(node, id="1")
    held = await node.call("repocontext_claim", key=key, owner="a", leaseSeconds=60)
    assert (held.granted, held.owner, held.region, held.lease_seconds) == (True, "a", "local", 60)

    lost = await node.call("repocontext_claim", key=key, owner="b")
    late = await node.call("repocontext_claim", key=key, owner="b", maxWaitSeconds=1)
    none = await node.call("repocontext_claim", key="repo/demo/mem/t/none", owner="b")
    assert (lost.granted, lost.reason) == (False, "contended")
    assert (late.granted, late.reason) == (False, "timeout")
    assert (none.granted, none.reason) == (False, "missing")
    for seconds in (0, -1):
        assert isinstance(await refusal(node, "repocontext_claim", key=key, owner="b", leaseSeconds=seconds), Forbidden)  # fmt: skip
    assert isinstance(await refusal(node, "repocontext_claim", key="repo/demo", owner="b"), Forbidden)  # fmt: skip


async def test_waiters_are_granted_in_the_order_they_came(node: MemoryNode) -> None:
    await node.remember("1")
    first = token_of(await node.claim("1", "first"))
    order: list[tuple[str, int]] = []

    async def wait(owner: str) -> None:
        reply = await node.claim("1", owner, wait_s=20)
        order.append((owner, token_of(reply)))
        await node.release("1", token_of(reply))

    waiting = []
    for owner in ("b", "c", "d", "e"):
        waiting.append(asyncio.create_task(wait(owner)))
        await queued(node, len(waiting))
    await node.release("1", first)
    await asyncio.gather(*waiting)

    assert [owner for owner, _ in order] == ["b", "c", "d", "e"]
    assert [token for _, token in order] == [first + 1, first + 2, first + 3, first + 4]


async def queued(node: MemoryNode, depth: int, item: str = "1") -> None:
    """Wait until so many claims stand in the queue."""
    while True:
        status = await node.call("repocontext_claim_status", key=f"repo/demo/mem/t/{item}")
        if status.queue_depth == depth:
            return
        await asyncio.sleep(0.01)


async def test_every_row_of_the_fencing_table_holds(node: MemoryNode) -> None:
    await node.remember("1", token=77)  # never claimed: any token, or none
    first = token_of(await node.claim("1", "a"))

    async def write(token: int | None = None) -> str:
        try:
            await node.remember("1", body=f"by {token} {id(object())}", token=token)
        except Conflict as fault:
            return str(fault.details["reason"])
        return "accepted"

    assert await write() == "ClaimRequired"
    assert await write(first) == "accepted"
    assert await write(first + 1) == "UnissuedToken"
    await node.release("1", first)
    assert await write() == "accepted"
    assert await write(first) == "ClaimReleased"
    assert await write(first + 1) == "UnissuedToken"
    second = token_of(await node.claim("1", "b"))
    assert await write(first) == "StaleToken"
    assert await write(second) == "accepted"
    await node.release("1", second)
    assert await write(first) == "StaleToken"
    claim = Claim(issued=9, fence=9, owner="far", region="elsewhere", held=True)
    note = Note(repo_id=REPO, topic="t", id="far", created_ms=1, claim=claim)
    await node.host.note_command(ImportNotes(repo_id=REPO, notes=(note,), principal="test"))
    with pytest.raises(Conflict, match="ForeignRegion"):
        await node.remember("far", body="x", token=9)


async def test_a_claim_stops_every_tool_that_writes(node: MemoryNode) -> None:
    key = await remembered(node, id="1")
    token = (await node.call("repocontext_claim", key=key, owner="a")).fencing_token

    for tool, arguments in (
        ("repocontext_remember", {"repoId": "demo", "topic": "t", "id": "1", "body": "x"}),
        ("repocontext_update", {"key": key, "fields": {"body": "x"}}),
        ("repocontext_forget", {"key": key}),
        ("repocontext_forget", {"key": key, "lapse": True}),
    ):
        fault = await refusal(node, tool, **arguments)
        assert isinstance(fault, Conflict)
        assert fault.details["reason"] == "ClaimRequired"
        assert all(part in fault.message for part in (key, "'a'", "local", f"mark {token}", "no token"))  # fmt: skip
    assert (await node.call("repocontext_forget", key=key, fencingToken=token)).existed


async def test_memory_tools_have_no_way_around_a_claim(node: MemoryNode) -> None:
    added = await node.host.note_command(
        AddFact(repo_id=REPO, patch=FactsPatch(content="a fact"), principal="test")
    )
    assert added.note is not None
    assert added.note.facts is not None
    number = added.note.facts.number
    key = f"repo/demo/mem/machine-memory/{number}"
    token = (await node.call("repocontext_claim", key=key, owner="a")).fencing_token

    with pytest.raises(Conflict, match="ClaimRequired"):
        await node.host.note_command(
            UpdateFact(repo_id=REPO, number=number, patch=FactsPatch(content="b"), principal="t")
        )
    for delete in (False, True):
        left = await node.host.note_command(
            RetireFacts(repo_id=REPO, numbers=(number, 999), delete=delete, principal="t")
        )
        assert (left.done, left.claimed, left.missing) == ((), (number,), (999,))
    await node.call("repocontext_release_claim", key=key, fencingToken=token)
    gone = await node.host.note_command(
        RetireFacts(repo_id=REPO, numbers=(number, 999), delete=True, principal="t")
    )
    assert (gone.done, gone.missing) == ((number,), (999,))


async def test_after_a_lapse_the_holder_may_write_until_the_next_claim(node: MemoryNode) -> None:
    await node.remember("1")
    first = token_of(await node.claim("1", "a", lease_s=0.05))
    while (await node.call("repocontext_claim_status", key="repo/demo/mem/t/1")).is_held:
        await asyncio.sleep(0.01)

    status = await node.call("repocontext_claim_status", key="repo/demo/mem/t/1")
    assert (status.claimed, status.fencing_token, status.lock_fencing_token) == (True, first, 0)
    renewed = await node.renew("1", first)
    assert renewed.reason == "superseded"
    await node.remember("1", body="still mine", token=first)
    second = token_of(await node.claim("1", "b"))
    assert second == first + 1
    with pytest.raises(Conflict, match="StaleToken"):
        await node.remember("1", body="too late", token=first)


async def test_a_waiter_gets_the_note_when_the_lease_runs_out(node: MemoryNode) -> None:
    await node.remember("1")
    first = token_of(await node.claim("1", "a", lease_s=0.2))

    assert token_of(await node.claim("1", "b", wait_s=10)) == first + 1


async def test_a_renewal_keeps_the_token_and_tells_when_it_shrank(node: MemoryNode) -> None:
    key = await remembered(node, id="1")
    held = await node.call("repocontext_claim", key=key, owner="a", leaseSeconds=300)

    shrunk = await node.call("repocontext_renew_claim", key=key, fencingToken=held.fencing_token)
    grown = await node.call(
        "repocontext_renew_claim", key=key, fencingToken=held.fencing_token, leaseSeconds=9999
    )

    assert (shrunk.granted, shrunk.lease_shortened, shrunk.lease_seconds) == (True, True, 30)
    assert shrunk.previous_lease_expires_at_utc == held.lease_expires_at_utc
    assert (grown.lease_shortened, grown.lease_seconds) == (False, 300)
    assert grown.fencing_token == held.fencing_token
    foreign = await node.call("repocontext_renew_claim", key=key, fencingToken=99)
    assert (foreign.granted, foreign.reason) == (False, "superseded")


async def test_a_release_can_be_repeated_and_is_decided_by_the_mark(node: MemoryNode) -> None:
    key = await remembered(node, id="1")

    async def release(token: int, where: str = key) -> tuple[bool, str | None]:
        answer = await node.call("repocontext_release_claim", key=where, fencingToken=token)
        return answer.released, answer.reason

    assert await release(1) == (False, "unclaimed")
    assert await release(1, "repo/demo/mem/t/none") == (False, "missing")
    token = (await node.call("repocontext_claim", key=key, owner="a")).fencing_token
    assert await release(token + 1) == (False, "stale")
    assert await release(token) == (True, None)
    assert await release(token) == (True, None)
    assert await release(token - 1) == (False, "stale")
    status = await node.call("repocontext_claim_status", key=key)
    assert (status.claimed, status.released_fencing_token) == (False, token)
    assert status.authoritative is False


async def test_tokens_only_rise_whatever_happens_to_the_note(broker: Broker) -> None:
    tokens: list[int] = []

    async def claimed(node: MemoryNode) -> None:
        await node.remember("1", body=f"again {len(tokens)}")
        tokens.append(token_of(await node.claim("1", "a")))
        await node.release("1", tokens[-1])

    async with memory_node(broker) as node:
        await claimed(node)
        await claimed(node)
        await node.forget("1")
        status = await node.call("repocontext_claim_status", key="repo/demo/mem/t/1")
        assert (status.exists, status.claimed) == (False, False)
        await claimed(node)
        await node.forget("1", lapse_ms=1)
        await claimed(node)
        await node.call("repocontext_remove_repo", repoId="demo")
        await claimed(node)
        await node.stop(node.workers[-1])
        await node.start_memory()
        await claimed(node)
    async with memory_node(broker) as node:  # another projection, folded from zero
        await claimed(node)

    assert tokens == sorted(set(tokens))
    assert tokens == list(range(1, 8))


async def test_whoever_left_the_queue_does_not_block_it(node: MemoryNode) -> None:
    await node.remember("1")
    first = token_of(await node.claim("1", "a"))
    gone = asyncio.create_task(node.claim("1", "gone", wait_s=60, lease_s=60))
    await queued(node, 1)
    there = asyncio.create_task(node.claim("1", "there", wait_s=60))
    await queued(node, 2)
    gone.cancel()
    await asyncio.wait([gone])

    await node.release("1", first)

    assert token_of(await asyncio.wait_for(there, 10)) == first + 2


async def test_a_deleted_note_sends_its_waiters_away(node: MemoryNode) -> None:
    await node.remember("1")
    token = token_of(await node.claim("1", "a"))
    waiting = asyncio.create_task(node.claim("1", "b", wait_s=60))
    await queued(node, 1)

    await node.forget("1", token=token)

    assert (await asyncio.wait_for(waiting, 10)).reason == "missing"


async def test_a_waiter_finds_its_place_again_when_its_worker_goes(node: MemoryNode) -> None:
    await node.remember("1")
    first = token_of(await node.claim("1", "a"))
    waiting = [asyncio.create_task(node.claim("1", "b", wait_s=60))]
    await queued(node, 1)
    waiting.append(asyncio.create_task(node.claim("1", "c", wait_s=60)))
    await queued(node, 2)

    for parts in [parts for parts in node.workers if parts.name == "memory"]:
        await node.start_memory()
        await node.stop(parts)
    await queued(node, 2)
    await node.release("1", first)

    assert token_of(await asyncio.wait_for(waiting[0], 20)) == first + 1
    await node.release("1", first + 1)
    assert token_of(await asyncio.wait_for(waiting[1], 20)) == first + 2


async def test_a_look_at_the_queue_decides_nothing_about_who_came_after_it(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, add = Queues.look, Queues.add
    looked, told, both = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def held_up(queues: Queues, subject: str, waiting: Waiting) -> tuple[Note | None, int]:
        found = await look(queues, subject, waiting)
        looked.set()
        await told.wait()
        return found

    def added(queues: Queues, subject: str, waiting: Waiting) -> None:
        add(queues, subject, waiting)
        if queues.waiting == 2:
            both.set()

    monkeypatch.setattr(Queues, "look", held_up)
    monkeypatch.setattr(Queues, "add", added)
    async with memory_node(broker) as node:
        await node.remember("1")
        first = token_of(await node.claim("1", "a"))
        waiting = [asyncio.create_task(node.claim("1", "b", wait_s=60))]
        await asyncio.wait_for(looked.wait(), 20)
        waiting.append(asyncio.create_task(node.claim("1", "c", wait_s=60)))
        await asyncio.wait_for(both.wait(), 20)
        told.set()

        await node.release("1", first)
        assert token_of(await asyncio.wait_for(waiting[0], 20)) == first + 1
        await node.release("1", first + 1)
        assert token_of(await asyncio.wait_for(waiting[1], 20)) == first + 2


async def test_a_thousand_waiters_leave_room_for_everybody_else(node: MemoryNode) -> None:
    await node.remember("1")
    token = token_of(await node.claim("1", "a", lease_s=120))
    waiting = [
        asyncio.create_task(node.claim("1", f"w{number}", wait_s=100)) for number in range(1000)
    ]
    await queued(node, 1000)

    await asyncio.wait_for(node.remember("2", body="not held up"), 5)

    await node.forget("1", token=token)
    replies = await asyncio.wait_for(asyncio.gather(*waiting), 30)
    assert {reply.reason for reply in replies} == {"missing"}


async def test_any_course_of_commands_ends_as_the_pure_decisions_say(node: MemoryNode) -> None:
    """Two workers take turns; neither may decide on what it remembers of the record alone."""
    course = random.Random(7)
    known: dict[str, Note | None] = {"course 1": None, "course 2": None}
    for step in range(150):
        item = course.choice(list(known))
        named = {"repo_id": REPO, "topic": "t", "id": item, "principal": "test"}
        token = course.choice([None, 0, 1, 2, 3, 4, 5])
        command: RecordCommand = course.choice(
            [
                RememberNote(**named, patch=NotePatch(body=str(step)), token=token),
                RememberNote(**named, patch=NotePatch(title="same"), token=token),
                ForgetNote(**named, token=token),
                ClaimNote(**named, owner="a", lease_ms=100_000),
                ClaimNote(**named, owner="b", lease_ms=100_000),
                RenewClaim(**named, token=token or 1, lease_ms=100_000),
                ReleaseClaim(**named, token=token or 1),
                ReleaseClaim(**named, token=token or 2),
            ]
        )
        expected = decide(known[item], command, Asked(id=f"{step}", now_ms=now_ms()))
        if expected.note is not None:
            known[item] = expected.note

        fence, reply = await outcome(node, command)

        assert fence == expected.reply.fence
        if reply is None:
            continue
        assert (reply.reason, reply.existed) == (expected.reply.reason, expected.reply.existed)
        if reply.note is not None and expected.reply.note is not None:
            mine, theirs = expected.reply.note, reply.note
            assert (mine.exists, mine.body, mine.claim.issued) == (theirs.exists, theirs.body, theirs.claim.issued)  # fmt: skip
            assert (mine.claim.fence, mine.claim.released) == (theirs.claim.fence, theirs.claim.released)  # fmt: skip


async def outcome(node: MemoryNode, command: RecordCommand) -> tuple[str, NoteReply | None]:
    """Why the fence refused, and the answer of a command that it did not refuse."""
    try:
        return "", await node.host.note_command(command)
    except Conflict as fault:
        return str(fault.details["reason"]), None


# -- repositories, failures ---------------------------------------------------------------------


async def test_removing_a_repository_drops_its_memory_registered_or_not(node: MemoryNode) -> None:
    key = await remembered(node, id="1")
    await node.claim("1", "a")

    removed = await node.call("repocontext_remove_repo", repoId="demo")

    assert removed.entries_deleted == 1
    assert not (await node.call("repocontext_recall", key=key)).exists
    listed = await node.call("repocontext_list_repos")
    assert listed.repos == ()
    assert (await node.call("repocontext_remove_repo", repoId="demo")).entries_deleted == 0
    await remembered(node, id="1", body="a new life")
    assert (await node.call("repocontext_recall", key=key)).fields["body"] == "a new life"


async def test_what_a_slow_writer_stores_after_the_removal_is_void(
    broker: Broker, tmp_path: Path
) -> None:
    async with memory_node(broker) as node:
        await node.remember("1", body="old")
        found = await node.bus.last_message(subjects.note_log("demo", "t", "1"), LOG)
        assert found is not None
        command = RemoveRepo(repo_id=REPO, principal="test")
        await node.host.command("demo", command)

        await (await node.bus.put(subjects.note_log("demo", "t", "1"), found[2]))

        made = await node.remember("2", body="later")
        with node.host.read() as snapshot:
            assert live_note(snapshot, "demo", "t", "1", 2) is None
        assert made.existed is False
        assert (await node.remember("1", body="new")).existed is False


async def test_registering_keeps_the_memory_that_was_there(
    node: MemoryNode, tmp_path: Path
) -> None:
    key = await remembered(node, id="1")

    await node.host.command(
        "demo", AddRepo(repo_id=REPO, root=str(tmp_path), filters=WalkFilters(), principal="t")
    )
    await node.call("repocontext_reset_index", repoId="demo")

    assert (await node.call("repocontext_recall", key=key)).exists


async def test_a_note_that_cannot_be_read_can_still_be_forgotten(node: MemoryNode) -> None:
    await node.remember("1", body="fine")
    token = token_of(await node.claim("1", "a", lease_s=100))
    subject = subjects.note_log("demo", "t", "1")
    await (await node.bus.put(subject, b"\xc1 not of this world"))
    key = "repo/demo/mem/t/1"

    with pytest.raises(Conflict, match="cannot be read"):
        await node.remember("1", body="x")
    assert (await refusal(node, "repocontext_forget", key=key)).details["reason"] == "ClaimRequired"
    stale = await refusal(node, "repocontext_forget", key=key, fencingToken=token + 5)
    assert stale.details["reason"] == "StaleToken"
    gone = await node.call("repocontext_forget", key=key, fencingToken=token)

    assert (gone.existed, gone.undecodable) == (True, True)
    await node.remember("1", body="again")
    assert token_of(await node.claim("1", "a")) > token + 1  # one may have been granted unread


async def test_a_command_tried_again_after_its_fact_was_stored_has_one_effect(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = iter(range(1_000))

    async def sync(disk: LogDisk) -> None:
        if next(failing) % 2 == 0:
            raise Unavailable("the disk is away")

    monkeypatch.setattr(LogDisk, "sync", sync)
    async with memory_node(broker) as node:
        add = AddFact(repo_id=REPO, patch=FactsPatch(content="once"), principal="test")
        numbers = []
        for _ in range(3):
            reply = await node.host.note_command(add)
            assert reply.note is not None
            numbers.append(reply.note.id)
        made = await node.remember("1", body="once")
        grants = []
        for _ in range(2):
            grants.append(await node.claim("1", "a"))
            await node.release("1", token_of(grants[-1]))
        await node.host.note_command(RetireFacts(repo_id=REPO, numbers=(1, 2), principal="test"))
        facts = await stored_facts(node)

    assert numbers == ["1", "2", "3"]
    assert made.existed is False
    assert [token_of(grant) for grant in grants] == [1, 2]
    assert Counter(facts) == {"created": 4, "granted": 2, "released": 2, "deprecated": 2}


async def test_a_command_that_fails_for_good_is_answered_and_parked(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any) -> Any:
        raise Poisoned("nobody can handle this")

    monkeypatch.setattr(NoteWorker, "_work_off", broken)
    async with memory_node(broker) as node:
        with pytest.raises(Fault, match="failed for good"):
            await asyncio.wait_for(node.remember("1", body="x"), 10)
        dead = await node.bus.api("STREAM.INFO.DEAD", {})
    assert dead["state"]["messages"] == 1


async def stored_facts(node: MemoryNode) -> list[str]:
    """The change of every fact of a note in the log."""
    reader = StreamReader(node.workers[0].bus, LOG, 0, filters=["log.*.mem.>"])
    changes: list[str] = []
    while not reader.exhausted:
        if not await reader.ready():
            await reader.wake.wait()
            reader.wake.clear()
        changes += [_decode(entry.data).event.change for entry in reader.take(1_000, 1 << 20)]
    return changes
