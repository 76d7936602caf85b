"""Bundles on an indexed tree: ceiling, levels, reuse, sessions, savings."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp_types import JSONRPCResponse

from contracts import subjects
from contracts.errors import InvalidArgument
from contracts.events.index import Possession
from contracts.ids import RepoPath
from contracts.tools.context import Bundle
from ops.cli import main
from services.kernel.bus import Bus
from services.query import results
from services.query.host import Host
from services.query.ledger import Ledger
from services.query.sessions import RECEIPTS_MOST, TTL_MS, Sessions, SessionState
from services.source import tokens
from tests.broker import Broker
from tests.pipeline.inprocess import Node, node

pytestmark = [pytest.mark.anyio, pytest.mark.broker]

SERVICE = '''"""Orders of "quoted" baskets \\\\ with escapes."""


class OrderService:
    def place(self, basket):
        """Place the order of a basket."""
        return basket.total

    def cancel(self, order):
        return order.void()
'''
TASK = "place the order of a basket"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "ws" / "demo"
    root.mkdir(parents=True)
    (root / "service.py").write_text(SERVICE)
    (root / "basket.py").write_text("class Basket:\n    def total(self):\n        return 0\n")
    (root / "orders.md").write_text("# Orders\n\nHow an order of a basket is placed.\n")
    (root / "注文.py").write_text(
        "def order_of_basket():\n    return '注文を確定する \\\\ \"🦘\"'\n"
    )
    (root / "order_huge.py").write_text(
        "".join(f"def order_{n}(basket):\n    return basket.place({n})\n\n\n" for n in range(400))
    )
    (root / "blob.py").write_text("order = 1\n" * 200_000)
    return root


@pytest.fixture
async def running(broker: Broker, tmp_path: Path, tree: Path) -> AsyncIterator[Node]:
    async with node(broker, tmp_path / "state", tree.parent) as started:
        await started.add(tree)
        await started.indexed()
        yield started


async def ask(running: Node, task: str = TASK, **arguments: Any) -> Bundle:
    found: Bundle = await running.call("repocontext_context", repoId="demo", task=task, **arguments)
    return found


def receipts(bundle: Bundle) -> set[str]:
    return {unit.receipt for entry in bundle.entries for unit in entry.units}


def paths(bundle: Bundle) -> list[str]:
    return [entry.path for entry in bundle.entries]


def sent_tokens(bundle: Bundle) -> int:
    message = JSONRPCResponse(jsonrpc="2.0", id=1, result=results.of_answer(bundle))
    return tokens.count(message.model_dump_json(by_alias=True, exclude_unset=True))


async def test_no_result_is_larger_than_its_budget(running: Node) -> None:
    for detail in ("auto", "slices", "outline", "paths"):
        for budget in (400, 700, 1_000, 1_500, 3_000, 8_192, 50_000):
            bundle = await ask(running, detail=detail, responseBudgetTokens=budget)
            if bundle.entries:
                assert sent_tokens(bundle) <= bundle.response_tokens <= budget
            assert bundle.total_tokens == sum(tokens.count(one.content) for one in bundle.entries)


async def test_an_empty_bundle_says_what_a_retry_costs_or_that_nothing_matches(
    running: Node,
) -> None:
    for detail in ("auto", "slices", "outline", "paths"):
        poor = await ask(running, responseBudgetTokens=1, detail=detail)
        assert (poor.entries, poor.response_tokens, poor.truncated) == ((), 0, True)
        assert poor.retry_budget_tokens is not None
        assert (
            await ask(running, responseBudgetTokens=poor.retry_budget_tokens, detail=detail)
        ).entries

    for nothing in (
        await ask(running, task="zzqqxx"),
        await running.call("repocontext_context", repoId="none", task=TASK),
    ):
        assert (nothing.entries, nothing.retry_budget_tokens, nothing.mode) == ((), None, "empty")
        assert nothing.detail == "paths"


async def test_arguments_out_of_bounds_are_brought_within_them(running: Node) -> None:
    odd = await ask(running, detail="xyz", top=999, responseBudgetTokens=10**9)
    plain = await ask(running, top=50, responseBudgetTokens=200_000)

    assert odd == plain
    assert (odd.budget_tokens, odd.detail) == (200_000, "slices")
    assert (await ask(running, top=-1, responseBudgetTokens=0)).budget_tokens == 8_192
    assert len((await ask(running, top=1)).entries) == 1
    with pytest.raises(InvalidArgument):
        await ask(running, session="s" * 201)


async def test_units_describe_the_content_and_hold_no_text(running: Node, tree: Path) -> None:
    bundle = await ask(running, responseBudgetTokens=20_000)
    whole = next(entry for entry in bundle.entries if entry.path == "service.py")
    parts = next(entry for entry in bundle.entries if entry.path == "order_huge.py")
    text = (tree / "service.py").read_text()

    assert whole.content == text
    assert whole.content_hash == hashlib.sha256(text.encode()).hexdigest()
    assert [(unit.kind, unit.lines) for unit in whole.units] == [("span", None)]
    assert whole.full_read_token_count == whole.token_count == tokens.count(text)
    rebuilt = []
    lines = (tree / "order_huge.py").read_text().split("\n")
    for unit in parts.units:
        first, last = map(int, (unit.lines or "").split("-"))
        body = "\n".join(lines[first - 1 : last])
        rebuilt.append(body if unit.token_count == tokens.count(body) else f"@@ {unit.lines} @@\n{body}")  # fmt: skip
    assert parts.content == "\n".join(rebuilt)
    assert not hasattr(parts.units[0], "text")

    outline = await ask(running, detail="outline")
    entry = next(entry for entry in outline.entries if entry.path == "service.py")
    assert [unit.kind for unit in entry.units] == ["outline"]
    assert entry.content.split("\n") == [
        "class OrderService @4", "  def place(self, basket) @5", "  def cancel(self, order) @9",
    ]  # fmt: skip
    assert (await ask(running, detail="paths")).entries[0].units[0].kind == "pointer"


async def test_a_receipt_withholds_its_unit_and_makes_room_for_another(running: Node) -> None:
    first = await ask(running, top=2)
    entry = next(entry for entry in first.entries if entry.path == "service.py")
    second = await ask(running, top=2, seen=[entry.units[0].receipt])

    assert len(second.entries) == 2
    assert "service.py" not in paths(second)
    assert set(paths(second)) - set(paths(first))
    assert [(unit.path, unit.receipt, unit.content_hash) for unit in second.reused] == [
        (entry.path, entry.units[0].receipt, entry.content_hash)
    ]
    assert sent_tokens(second) <= second.response_tokens


async def test_a_claim_counts_only_where_the_session_was_given_the_whole_file(
    running: Node,
) -> None:
    bundle = await ask(running, detail="slices")
    entry = next(entry for entry in bundle.entries if entry.path == "service.py")
    claim = [f"{entry.path}@{entry.content_hash}"]
    assert entry.path in paths(await ask(running, known=claim))

    await ask(running, detail="outline", session="s")
    given = await ask(running, detail="slices", session="s", known=claim)
    assert entry.path in paths(given)

    outline = await ask(running, detail="outline", session="t")
    assert entry.path in paths(outline)
    proven = await ask(running, detail="paths", session="s", known=claim)
    assert entry.path not in paths(proven)
    assert proven.reused[0].kind == "file"
    assert entry.path in paths(await ask(running, detail="paths", session="t", known=claim))


async def test_a_session_is_given_nothing_twice_but_what_changed(running: Node, tree: Path) -> None:
    first = await ask(running, session="s")
    second = await ask(running, session="s")
    assert receipts(first).isdisjoint(receipts(second))
    assert second.reused_count == len(receipts(first))
    assert {unit.receipt for unit in second.reused} <= receipts(first)
    for _ in range(4):
        last = await ask(running, session="s", top=50, responseBudgetTokens=100_000)
    assert (last.entries, last.response_tokens, last.retry_budget_tokens) == ((), 0, None)
    assert last.reused_count
    assert not last.truncated

    (tree / "service.py").write_text(SERVICE + "\n\ndef place_order(basket):\n    return basket\n")
    await running.add(tree)
    await running.until(lambda s: bool(s.declaring("demo", "service.place_order")))
    third = await ask(running, session="s")
    assert "service.py" in paths(third)
    assert "place_order" in next(e.content for e in third.entries if e.path == "service.py")


async def test_a_session_is_kept_by_the_stream_for_other_processes_and_restarts(
    running: Node,
) -> None:
    first = await ask(running, session="a/b")
    key = "repo/demo/session/a%2Fb"
    entry = await running.call("repocontext_recall", key=key)
    assert (entry.exists, entry.kind, entry.expires) == (True, "Session", True)
    assert set(entry.fields["receipts"].split("\n")) == receipts(first)

    await running.until(lambda s: bool(s.txn.count("sessions")))
    bus = Bus(running.settings, "query")
    await bus.start()
    other = Host(running.settings, bus, "test")
    mine, running.host = running.host, other
    second = await ask(running, session="a/b")
    assert receipts(second).isdisjoint(receipts(first))

    # Neither process saw the other's last delivery; none is lost.
    running.host = mine
    third = await ask(running, task="void an order", session="a/b")
    await other.sessions.deliver("demo", "a/b", 1, ["late"], [])
    found = await bus.last_message(subjects.session("demo", "a/b"), "INDEX")
    assert found is not None
    for receipt in {"late"} | receipts(first) | receipts(second) | receipts(third):
        assert receipt.encode() in found[2]
    await other.stop()


async def test_concurrent_deliveries_to_one_session_are_joined(running: Node) -> None:
    buses = [Bus(running.settings, "query") for _ in range(3)]
    for bus in buses:
        await bus.start()
    processes = [Sessions(lambda bus=bus: bus) for bus in buses]  # type: ignore[misc]
    await asyncio.gather(
        *(
            process.deliver("demo", "s", 1, [f"{number}-{turn}"], [])
            for number, process in enumerate(processes)
            for turn in range(4)
        )
    )
    wanted = {f"{number}-{turn}" for number in range(3) for turn in range(4)}

    def complete(snapshot: Any) -> bool:
        state = running.host.sessions.state(snapshot, "demo", "s")
        return set(state.receipts) == wanted

    await running.until(complete, seconds=10)
    for bus in buses:
        await bus.stop()


async def test_a_session_ends_six_hours_after_its_last_delivery(running: Node) -> None:
    now = [1_000_000_000_000]
    running.host.sessions = Sessions(lambda: running.bus, lambda: now[0])
    first = await ask(running, session="s", top=1)
    now[0] += TTL_MS - 1
    second = await ask(running, session="s", top=1)
    assert receipts(second).isdisjoint(receipts(first))

    now[0] += TTL_MS - 1  # renewed by the second
    assert receipts(await ask(running, session="s", top=1)).isdisjoint(receipts(first))
    now[0] += TTL_MS
    assert (await running.call("repocontext_recall", key="repo/demo/session/s")).exists is False
    assert receipts(await ask(running, session="s", top=1)) == receipts(first)


async def test_a_reset_drops_the_sessions(running: Node) -> None:
    first = await ask(running, session="s")
    await running.call("repocontext_reset_index", repoId="demo")

    assert (await running.call("repocontext_recall", key="repo/demo/session/s")).exists is False
    assert first.entries


def test_what_a_session_holds_is_bounded_and_the_newest_stays() -> None:
    state = SessionState()
    for turn in range(3):
        given = tuple(f"{turn}-{number}" for number in range(RECEIPTS_MOST // 2))
        state = state.joined(SessionState(given, (), turn))
    again = state.joined(SessionState(("1-0",), (), 9))

    assert len(state.receipts) == RECEIPTS_MOST
    assert not any(receipt.startswith("0-") for receipt in state.receipts)
    assert (again.receipts[-1], again.expires_ms, len(again.receipts)) == ("1-0", 9, RECEIPTS_MOST)


async def test_notes_are_no_files_and_take_no_place_in_a_bundle(running: Node) -> None:
    before = await ask(running)
    await running.call(
        "repocontext_remember", repoId="demo", topic="orders", title=TASK, body=f"{TASK}: how to"
    )
    found = await running.call("repocontext_search", repoId="demo", query=TASK)
    assert any("/mem/" in hit.entry.key for hit in found.hits)

    assert paths(await ask(running)) == paths(before)


async def test_a_message_stays_small_however_long_the_paths_are(running: Node) -> None:
    long = [Possession(RepoPath("p" * 3_000 + str(number)), "hash") for number in range(900)]
    await running.host.sessions.deliver("demo", "s", 1, ["r"], long)

    found = await running.bus.last_message(subjects.session("demo", "s"), "INDEX")
    assert found is not None
    assert 100_000 < len(found[2]) < 600_000
    assert long[-1].path.encode() in found[2]


async def test_the_command_line_tells_the_same(
    running: Node, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--state", running.settings.state_dir, "--root", str(tree)]
    words = TASK.split()
    assert await asyncio.to_thread(main, ["context", *words, *place, "--json"]) == 0
    told = msgspec.json.decode(capsys.readouterr().out, type=Bundle)
    assert told == await ask(running)

    assert await asyncio.to_thread(main, ["context", *words, *place, "--session", "s"]) == 0
    shown = capsys.readouterr()
    assert "service.py" in shown.out
    assert "class OrderService:" in shown.out
    assert "not kept" in shown.err
    assert await asyncio.to_thread(main, ["context", *words, *place, "--budget", "20"]) == 1
    assert "try --budget" in capsys.readouterr().out
    assert await asyncio.to_thread(main, ["stats", *place]) == 1
    assert "repofold up" in capsys.readouterr().err


async def test_stats_count_bundles_of_the_last_hour_and_nothing_else(running: Node) -> None:
    now = [0.0]
    running.host.ledger = Ledger(lambda: now[0])
    told: list[tuple[str, int, int]] = []
    running.host.ledger.observe = lambda *call: told.append(call)
    await running.call("repocontext_search", repoId="demo", query=TASK)
    assert (await running.call("repocontext_stats")).calls == 0

    bundle = await ask(running, detail="slices")
    stats = await running.call("repocontext_stats")
    replaced = sum(entry.full_read_token_count or 0 for entry in bundle.entries if entry.units[0].kind == "span")  # fmt: skip
    assert (stats.calls, stats.response_tokens, stats.reads_replaced_tokens) == (1, bundle.response_tokens, replaced)  # fmt: skip
    assert stats.net_saved_tokens == replaced - bundle.response_tokens
    assert stats.window_seconds == 3600
    assert told == [("repocontext_context", bundle.response_tokens, replaced)]

    now[0] = 1_800.0
    await ask(running, detail="paths")
    empty = await ask(running, responseBudgetTokens=1)
    later = await running.call("repocontext_stats")
    assert (later.calls, empty.response_tokens) == (3, 0)
    assert later.reads_replaced_tokens == replaced
    assert later.net_saved_tokens < stats.net_saved_tokens
    now[0] = 3_600.0
    assert (await running.call("repocontext_stats")).calls == 2
    now[0] = 9_000.0
    assert (await running.call("repocontext_stats")).calls == 0
