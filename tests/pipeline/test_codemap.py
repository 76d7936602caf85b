"""The code map's tools over all workers: baselines, workspaces, references, graphs."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from contracts import subjects
from contracts.errors import Fault
from services.query import results
from services.query.catalogue import TOOLS
from services.resolution.index import hashes
from services.resolver import live as live_map
from services.resolver import main as resolver_worker
from services.resolver import recall
from services.resolver.live import LiveMap, Pending
from services.resolver.recall import RecalledIndex
from store import map_segment
from store.read.live import Projections, Snapshot
from store.read.maps import Maps
from tests.broker import Broker
from tests.gitrepo import new_repository
from tests.pipeline.inprocess import Node, node

pytestmark = [pytest.mark.anyio, pytest.mark.broker]

ORDERS = '''"""Orders."""


class Order:
    """One order of a customer."""

    def total(self):
        return price(self)

    def save(self):
        return self.total()


class RushOrder(Order):
    def total(self):
        return price(self) * 2


def price(order):
    """What an order costs."""
    return 1
'''
SHOP = """from orders import Order, price


def checkout():
    order = Order()
    return place(order)


def place(order):
    return price(order) + unheard_of(order)
"""


def git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), "-c", "user.email=a@example.org", "-c", "user.name=a"]
    done = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        (root / f"{name}.py").write_text(text)


def shop(root: Path, *, versioned: bool = True) -> Path:
    root.mkdir(parents=True)
    write(root, orders=ORDERS, shop=SHOP)
    (root / "README.md").write_text("# Shop\n\nSells things.\n")
    if versioned:
        new_repository(root)
        commit(root)
    return root


def commit(root: Path) -> str:
    git(root, "add", ".")
    git(root, "commit", "-qm", "x")
    return git(root, "rev-parse", "HEAD")


class Desk:
    """A node over one repository, and its tools."""

    def __init__(self, running: Node, root: Path) -> None:
        self.node, self.root = running, root

    async def call(self, tool: str, **arguments: Any) -> Any:
        return await self.node.call(tool, repo_path=str(self.root), **arguments)

    async def data(self, tool: str, **arguments: Any) -> Any:
        return (await self.call(tool, **arguments)).data

    async def refused(self, tool: str, **arguments: Any) -> Fault:
        with pytest.raises(Fault) as raised:
            await self.call(tool, **arguments)
        return raised.value

    async def found(self, query: str, **arguments: Any) -> list[str]:
        hits = (await self.data("symbols_search", query=query, **arguments)).hits
        return [hit.symbol_id for hit in hits]

    async def resolved(self) -> None:
        """Wait until the live tree is indexed and its references are resolved."""
        await self.node.indexed(self.root.name)

        def settled(snapshot: Snapshot) -> bool:
            row = snapshot.repo(self.root.name)
            return row is not None and self.node.host.maps.pending(snapshot, row) == 0

        await self.node.until(settled)


@contextlib.asynccontextmanager
async def desk(broker: Broker, tmp_path: Path, root: Path, **changes: Any) -> AsyncIterator[Desk]:
    async with node(broker, tmp_path / "state", root.parent, **changes) as running:
        await running.add(root, root.name)
        made = Desk(running, root)
        await made.resolved()
        yield made


async def test_a_baseline_is_needed_built_once_and_told_of(broker: Broker, tmp_path: Path) -> None:
    root = shop(tmp_path / "trees" / "shop")
    async with desk(broker, tmp_path, root) as here:
        fault = await here.refused("symbols_search", query="Order")
        without = await here.refused("workspace_create", workspace_id="early")
        assert (fault.code, fault.retryable) == ("INDEX_NOT_AVAILABLE", True)
        assert "index_ensure_baseline" in fault.hint

        asked = [here.call("index_ensure_baseline") for _ in range(3)]
        answers = sorted(
            await asyncio.gather(*asked), key=lambda answer: answer.data.already_existed
        )
        built = answers[0]
        again = await here.data("index_ensure_baseline")
        status = await here.data("repo_status")
        found = await here.found("Order")

    assert without.code == "INDEX_NOT_AVAILABLE"
    assert [answer.data.already_existed for answer in answers] == [False, True, True]
    assert not built.data.already_existed
    assert (built.data.stats.file_count, built.data.stats.semantic_level) == (3, "full")
    assert built.data.commit_sha == git(root, "rev-parse", "HEAD") == built.meta.baseline_commit_sha
    assert (again.already_existed, again.stats) == (True, None)
    assert (status.is_clean, status.baseline_index_exists) == (True, True)
    assert found[0] == "T:orders.Order"


async def test_a_search_wants_a_query_or_kinds_and_clamps_its_limit(
    broker: Broker, tmp_path: Path
) -> None:
    async with desk(broker, tmp_path, shop(tmp_path / "trees" / "shop")) as here:
        await here.call("index_ensure_baseline")
        nothing = await here.refused("symbols_search")
        star = await here.refused("symbols_search", query="*")
        blank = await here.refused("symbols_search", query='^"')
        unknown = await here.refused("symbols_search", kinds=["klass"])
        classes = await here.call("symbols_search", query="*", kinds=["Class"], limit=1000)
        either = await here.found("checkout OR price")
        both = await here.found("order cost")
        prefix = await here.found("check*")
        misspelt = await here.call("symbols_search", query="chekcout")
        below = await here.found("total", namespace="ORDERS.rush", file_path="orders")

    codes = {nothing.code, star.code, blank.code, unknown.code}
    assert codes == {"INVALID_ARGUMENT"}
    assert [hit.fully_qualified_name for hit in classes.data.hits] == [
        "orders.Order", "orders.RushOrder",
    ]  # fmt: skip
    assert {hit.score for hit in classes.data.hits} == {1.0}
    limit = classes.meta.limits_applied["max_results"]
    assert (limit.requested, limit.hard_cap) == (1000, 100)
    assert set(either) >= {"M:shop.checkout", "M:orders.price"}
    assert both[0] == "M:orders.price"
    assert prefix == ["M:shop.checkout"]
    assert "checkout" in misspelt.answer
    assert below == ["M:orders.RushOrder.total"]


async def test_an_edit_is_in_the_workspace_after_a_refresh_and_not_in_the_commit(
    broker: Broker, tmp_path: Path
) -> None:
    root = shop(tmp_path / "trees" / "shop")
    async with desk(broker, tmp_path, root) as here:
        await here.call("index_ensure_baseline")
        made = await here.data("workspace_create", workspace_id="mine")
        twice = await here.data("workspace_create", workspace_id="mine")
        await here.call("workspace_create", workspace_id="another agent's")
        idle = await here.data("index_refresh_overlay", workspace_id="mine")
        write(root, shop=SHOP.replace("checkout", "pay"))
        before = await here.found("pay", workspace_id="mine")
        first = await here.data("index_refresh_overlay", workspace_id="mine")
        second = await here.data("index_refresh_overlay", workspace_id="mine")
        mine, theirs = await here.found("pay", workspace_id="mine"), await here.found("pay")
        apart = await here.found("pay", workspace_id="another agent's")
        refs = await here.data("refs_find", symbol_id="M:orders.price", workspace_id="mine")
        diff = await here.data("index_diff", from_commit="HEAD", to_commit="live")
        listed = (await here.data("workspace_list")).workspaces
        reset = await here.data("workspace_reset", workspace_id="mine")
        after = await here.found("pay", workspace_id="mine")

    assert (made.current_revision, twice.current_revision) == (0, 0)
    assert (idle.files_reindexed, idle.new_overlay_revision) == (0, 0)
    assert before == []
    assert (first.files_reindexed, first.new_overlay_revision) == (1, 1)
    assert first.symbols_updated == 2  # one name went, one came
    assert (second.files_reindexed, second.symbols_updated, second.new_overlay_revision) == (
        0,
        0,
        1,
    )
    assert (mine, theirs, apart) == (["M:shop.pay"], [], [])
    assert {ref.file_path for ref in refs.references} == {"orders.py", "shop.py"}
    assert diff.changes == ()  # no watcher runs here, so the live tree has not moved
    assert [(row.overlay_revision, row.modified_file_count, row.is_stale) for row in listed] == [
        (0, 0, False),
        (1, 1, False),
    ]
    assert (reset.previous_revision, reset.new_revision) == (1, 0)
    assert after == []


async def test_a_deleted_file_is_hidden_in_the_workspace_only(
    broker: Broker, tmp_path: Path
) -> None:
    root = shop(tmp_path / "trees" / "shop")
    async with desk(broker, tmp_path, root) as here:
        await here.call("index_ensure_baseline")
        await here.call("workspace_create", workspace_id="mine")
        (root / "orders.py").unlink()
        await here.call("index_refresh_overlay", workspace_id="mine", file_paths=["orders.py"])
        gone = await here.refused(
            "symbols_get_card", symbol_id="M:orders.price", workspace_id="mine"
        )
        there = await here.data("symbols_get_card", symbol_id="M:orders.price")
        callees = await here.data("graph_callees", symbol_id="M:shop.place", workspace_id="mine")
        refs = await here.data("refs_find", symbol_id="M:shop.place", workspace_id="mine")

    assert gone.code == "NOT_FOUND"
    assert there.file_path == "orders.py"
    assert callees.total_nodes_found == 0
    assert refs.total_count == 1


async def test_virtual_files_show_in_spans_for_one_call_of_a_workspace(
    broker: Broker, tmp_path: Path
) -> None:
    wide = [{"file_path": "shop.py", "content": ("x" * 300 + "\n") * 100}]
    virtual = [{"file_path": "shop.py", "content": "def unsaved():\n    pass\n"}]
    span = {"file_path": "shop.py", "start_line": 1, "end_line": 1}
    async with desk(broker, tmp_path, shop(tmp_path / "trees" / "shop")) as here:
        await here.call("index_ensure_baseline")
        refused = await here.refused("code_get_span", **span, virtual_files=virtual)
        shown = await here.data("code_get_span", **span, workspace_id="live", virtual_files=virtual)
        found = await here.found("unsaved", workspace_id="live", virtual_files=virtual)
        next_call = await here.data("code_get_span", **span, workspace_id="live")
        cut = await here.call(
            "code_get_span", file_path="shop.py", start_line=1, end_line=100, max_lines=1_000,
            workspace_id="live", virtual_files=wide,
        )  # fmt: skip
        large = [{"file_path": "shop.py", "content": "x" * 40_001}]
        too_much = await here.refused(
            "code_get_span", **span, workspace_id="live", virtual_files=large
        )

    assert refused.code == "WORKSPACE_REQUIRED"
    assert shown.content == "    1 | def unsaved():"
    assert found == []
    assert next_call.content == "    1 | from orders import Order, price"
    assert too_much.code == "INVALID_ARGUMENT"
    assert cut.data.truncated
    assert len(cut.data.content) <= 12_000
    assert cut.data.end_line == cut.data.content.count("\n") + 1
    assert set(cut.meta.limits_applied) == {"max_lines", "max_chars"}


async def test_references_and_graphs_tell_what_is_certain_and_what_is_not(
    broker: Broker, tmp_path: Path
) -> None:
    async with desk(broker, tmp_path, shop(tmp_path / "trees" / "shop")) as here:
        live = {"workspace_id": "live"}
        refs = await here.call("refs_find", symbol_id="price", kind="Call", **live)
        unresolved = await here.data(
            "refs_find", symbol_id="M:orders.price", resolution_state="unresolved", **live
        )
        bad = {"kind": "calls"}
        with pytest.raises(Fault) as wrong:
            await here.call("refs_find", symbol_id="price", **bad)
        callers = await here.data("graph_callers", symbol_id="M:orders.price", depth=3, **live)
        callees = await here.data("graph_callees", symbol_id="M:shop.checkout", depth=9, **live)
        above = await here.data("types_hierarchy", symbol_id="RushOrder", **live)
        below = await here.data("types_hierarchy", symbol_id="T:orders.Order", **live)
        no_type = await here.refused("types_hierarchy", symbol_id="M:orders.price", **live)
        card = await here.data("symbols_get_card", symbol_id="M:shop.place", **live)
        stable = await here.data("symbols_get_card", symbol_id=card.stable_id, **live)
        ambiguous = await here.refused("symbols_get_card", symbol_id="total", **live)
        trace = await here.data("graph_trace_feature", entry_point="checkout", **live)
        span = await here.data(
            "symbols_get_definition_span", symbol_id="checkout", context_lines=0, **live
        )

    users = [(r.from_symbol, r.resolution_state, r.excerpt) for r in refs.data.references]
    assert ("M:shop.place", "resolved", "return price(order) + unheard_of(order)") in users
    assert refs.data.total_count == 3
    assert refs.meta.workspace_id == "live"
    assert unresolved.references == ()
    assert wrong.value.code == "INVALID_ARGUMENT"
    depths = {item.symbol_id: item.depth for item in callers.nodes}
    assert depths["M:orders.price"] == 0
    assert depths["M:shop.place"] == 1
    assert depths["M:shop.checkout"] == 2
    edges = {item.symbol_id: item.edges_to for item in callees.nodes}
    assert "M:shop.place" in edges["M:shop.checkout"]
    assert above.base_type.symbol_id == "T:orders.Order"
    assert [ref.symbol_id for ref in below.derived_types] == ["T:orders.RushOrder"]
    assert no_type.code == "INVALID_ARGUMENT"
    assert [call.to_symbol for call in card.calls_top] == ["M:orders.price"]
    assert stable.symbol_id == card.symbol_id
    assert ambiguous.code == "AMBIGUOUS"
    assert "M:orders.RushOrder.total" in ambiguous.message
    assert trace.nodes[0].children[-1]["symbol_id"] == "M:shop.place"
    assert span.content.splitlines()[0] == "    4 | def checkout():"


async def test_no_callers_is_never_all_that_is_said(broker: Broker, tmp_path: Path) -> None:
    root = shop(tmp_path / "trees" / "shop")
    write(
        root,
        hooks="from orders import price\n\n\nclass Hook:\n    def __init__(self, run):\n"
        "        self.run = run\n\n\ndef passed():\n    return 1\n\n\nHOOK = Hook(passed)\n",
    )
    async with desk(broker, tmp_path, root) as here:

        async def callers(symbol: str) -> tuple[Any, list[dict[str, object]]]:
            answer = await here.call("graph_callers", symbol_id=symbol, workspace_id="live")
            return answer, [action.parameters for action in answer.next_actions]

        value, value_next = await callers("M:hooks.passed")
        made, made_next = await callers("M:hooks.Hook.__init__")
        over, over_next = await callers("M:orders.RushOrder.total")
        plain, plain_next = await callers("M:shop.checkout")
        trace = await here.call(
            "graph_trace_feature", entry_point="checkout", depth=1, workspace_id="live"
        )

    assert value.data.total_nodes_found == made.data.total_nodes_found == 0
    assert "read 1 times" in value.answer
    assert value_next == [{"symbol_id": "M:hooks.passed", "kind": "read"}]
    assert "T:hooks.Hook" in made.answer
    assert made_next == [{"symbol_id": "T:hooks.Hook"}]
    assert "M:orders.Order.total" in over.answer
    assert over_next[-1] == {"symbol_id": "M:orders.Order.total"}
    assert plain.answer == "0 callers of M:shop.checkout within 1 level"
    assert plain_next == []
    assert trace.answer == "2 calls below shop.checkout"


async def test_a_search_takes_ids_beginnings_and_each_declaration_once(
    broker: Broker, tmp_path: Path
) -> None:
    root = shop(tmp_path / "trees" / "shop")
    (root / "over.ts").write_text(
        "export function pick(): number\nexport function pick(a: string): number\n"
        "export function pick(a?: string): number { return a ? 1 : 2 }\n"
        "export function parseHeader(): void {}\n"
    )
    async with desk(broker, tmp_path, root) as here:
        live = {"workspace_id": "live"}
        by_id = await here.found("M:orders.Order.total", **live)
        once = await here.data("symbols_search", query="pick", **live)
        browsed = await here.data("symbols_search", kinds=["method"], file_path="over.ts", **live)
        begun = await here.call("symbols_search", query="parseHe", **live)

    assert by_id[0] == "M:orders.Order.total"
    assert [hit.symbol_id for hit in once.hits] == ["M:over.pick"]
    assert once.total_count == 1
    assert browsed.total_count == 2
    assert [hit.symbol_id for hit in begun.data.hits] == ["M:over.parseHeader"]
    assert "parseHe*" in begun.answer


async def test_lines_are_those_of_the_index_and_git_keeps_its_own(
    broker: Broker, tmp_path: Path
) -> None:
    root = shop(tmp_path / "trees" / "shop")
    (root / "feed.py").write_bytes(
        b"def one():\r\n    return 1\r\n\x0c\r\ndef two():\r\n    return one()\r\n"
    )
    async with desk(broker, tmp_path, root) as here:
        live = {"workspace_id": "live"}
        span = await here.data(
            "symbols_get_definition_span", symbol_id="two", context_lines=0, **live
        )
        text = await here.data("code_search_text", pattern="def two", **live)
        hidden = [
            await here.refused("code_get_span", file_path=path, start_line=1, end_line=1)
            for path in (".git/config", ".GIT/config", "./.git/HEAD")
        ]

    assert span.content.splitlines() == ["    4 | def two():", "    5 |     return one()"]
    assert [match.line for match in text.matches] == [4]
    assert {fault.code for fault in hidden} == {"NOT_FOUND"}


async def test_a_definition_says_when_the_disk_has_moved_on(broker: Broker, tmp_path: Path) -> None:
    root = shop(tmp_path / "trees" / "shop")
    asked = {"symbol_id": "M:orders.price"}
    async with desk(broker, tmp_path, root) as here:
        await here.call("index_ensure_baseline")
        same = await here.call("symbols_get_definition_span", **asked)
        told = [
            await here.call("symbols_search", query="checkout"),
            await here.call("graph_callers", symbol_id="M:shop.place"),
        ]
        write(root, orders="# Another first line.\n" + ORDERS)
        moved = await here.call("symbols_get_definition_span", **asked)
        (root / "orders.py").unlink()
        gone = await here.refused("symbols_get_definition_span", **asked)
        never = await here.refused("code_get_span", file_path="no.py", start_line=1, end_line=1)

    assert (same.confidence, "changed since" in same.answer) == ("high", False)
    assert [found.answer for found in told] == [
        "1 symbol matches",
        "1 caller of M:shop.place within 1 level",
    ]
    assert (moved.confidence, "changed since" in moved.answer) == ("low", True)
    assert "live" in gone.hint
    assert "relative to the repository root" in never.hint


async def test_a_query_of_one_letter_is_near_nothing(broker: Broker, tmp_path: Path) -> None:
    async with desk(broker, tmp_path, shop(tmp_path / "trees" / "shop")) as here:
        letter = await here.data("symbols_search", query="x", workspace_id="live")
        misspelt = await here.found("checkuot", workspace_id="live")

    assert letter.total_count == 0
    assert misspelt == ["M:shop.checkout"]


async def test_other_commits_and_trees_without_git_have_baselines(
    broker: Broker, tmp_path: Path
) -> None:
    root = shop(tmp_path / "trees" / "shop")
    first = git(root, "rev-parse", "HEAD")
    write(root, shop=SHOP.replace("place", "submit"), orders=ORDERS.replace("return 1", "return 2"))
    commit(root)
    plain = shop(tmp_path / "trees" / "plain", versioned=False)
    (tmp_path / "trees" / "prose").mkdir()
    (tmp_path / "trees" / "prose" / "a.txt").write_text("No code at all.\n")
    async with desk(broker, tmp_path, root) as here:
        await here.call("index_ensure_baseline")
        old = await here.data("index_ensure_baseline", commit_sha=first[:10])
        diff = await here.data("index_diff", from_commit=first)
        listed = await here.data("index_list_baselines")
        await here.call("workspace_create", workspace_id="past", commit_sha=first)
        past = await here.found("place", workspace_id="past")
        unknown = await here.refused("index_ensure_baseline", commit_sha="no-such-branch")
        dry = await here.data("index_cleanup", keep_count=0)

        there = Desk(here.node, plain)
        made = await there.call("index_ensure_baseline")  # onboards it first
        found = await there.found("checkout")
        status = await there.data("repo_status")
        nothing = await Desk(here.node, tmp_path / "trees" / "prose").refused(
            "index_ensure_baseline"
        )

    assert (nothing.code, nothing.retryable) == ("COMPILATION_FAILED", True)
    assert (old.commit_sha, old.already_existed) == (first, False)
    renamed = [(c.change, c.before, c.after) for c in diff.changes if c.change == "renamed"]
    changed = [c.symbol_id for c in diff.changes if c.change == "changed"]
    assert "M:orders.price" in changed  # one character of its body
    assert "T:orders.Order" not in changed
    assert diff.files == ("orders.py", "shop.py")
    assert renamed == [("renamed", "M:shop.place", "M:shop.submit")]
    assert len(listed.baselines) == 2
    assert past == ["M:shop.place"]
    assert unknown.code == "NOT_FOUND"
    assert dry.removed == ()  # one is HEAD's, on the other stands a workspace
    assert "no git" in made.answer
    assert len(made.data.commit_sha) == 40
    assert found == ["M:shop.checkout"]
    assert status.pseudo_commit


async def test_a_baseline_outlives_edits_and_a_replay(broker: Broker, tmp_path: Path) -> None:
    root = shop(tmp_path / "trees" / "shop")
    async with desk(broker, tmp_path, root) as here:
        await here.call("index_ensure_baseline")
        await here.call("workspace_create", workspace_id="mine")
        write(root, shop=SHOP.replace("checkout", "pay"))
        await here.call("index_refresh_overlay", workspace_id="mine")
        await here.node.add(root, "shop")
        await here.resolved()
        before = [await here.found("checkout"), await here.found("pay", workspace_id="mine")]
        live = await here.found("pay", workspace_id="live")

        await here.node.bus.request(subjects.replay_request("local"), b"", timeout=30)
        await here.resolved()
        after = [await here.found("checkout"), await here.found("pay", workspace_id="mine")]

    assert before == after == [["M:shop.checkout"], ["M:shop.pay"]]
    assert live == ["M:shop.pay"]


async def test_machines_share_baselines_by_a_folder(broker: Broker, tmp_path: Path) -> None:
    root = shop(tmp_path / "trees" / "shop")
    shared = str(tmp_path / "shared")
    async with desk(broker, tmp_path, root, codemap_cache_dir=shared) as here:
        built = await here.data("index_ensure_baseline")
        await here.call("index_remove_repo", dry_run=False)
        pulled = await here.data("index_ensure_baseline")
        found = await here.found("checkout")

    assert (built.from_cache, pulled.from_cache) == (False, True)
    assert not pulled.already_existed
    assert found == ["M:shop.checkout"]


async def test_what_lies_outside_is_refused(broker: Broker, tmp_path: Path) -> None:
    root = shop(tmp_path / "trees" / "shop")
    (tmp_path / "secret.py").write_text("password = 1\n")
    (root / "link.py").symlink_to(tmp_path / "secret.py")
    async with desk(broker, tmp_path, root) as here:
        outside = Desk(here.node, tmp_path)
        away = await outside.refused("repo_status")
        by_id = await here.node.call("repo_status", repo_path=root.name)
        assert by_id.data.repo_id == (await here.data("repo_status")).repo_id
        unknown = Desk(here.node, tmp_path / "trees")
        missing = await unknown.refused("symbols_search", query="x")
        reads = [
            await here.refused("code_get_span", file_path=path, start_line=1, end_line=1)
            for path in ("../../secret.py", "link.py", str(tmp_path / "secret.py"), "absent.py")
        ]
        overlay = await here.refused("index_refresh_overlay", workspace_id="a/b")
        reserved = await here.refused("workspace_create", workspace_id="live")
        endless = await here.refused("code_search_text", pattern="(", workspace_id="live")

    assert away.code == "FORBIDDEN"
    assert (missing.code, missing.retryable) == ("INDEX_NOT_AVAILABLE", True)
    assert "index_ensure_baseline" in missing.hint
    assert {fault.code for fault in reads} == {"NOT_FOUND"}
    assert not any("password" in fault.message for fault in reads)
    assert {overlay.code, reserved.code, endless.code} == {"INVALID_ARGUMENT"}


async def test_refusals_are_json_and_reports_answer(broker: Broker, tmp_path: Path) -> None:
    async with desk(broker, tmp_path, shop(tmp_path / "trees" / "shop")) as here:
        fault = await here.refused("symbols_get_card", symbol_id="nope", workspace_id="live")
        written = msgspec.json.decode(results.of_fault(fault, "codemap")["content"][0]["text"])
        live = {"workspace_id": "live"}
        summary = await here.data("codemap_summarize", sections=["overview"], **live)
        export = await here.data("codemap_export", max_tokens=60, **live)
        guide = await here.data("codemap_guide")
        text = await here.data("code_search_text", pattern=r"def \w+\(order\)", **live)
        context = await here.data("symbols_get_context", symbol_id="place", **live)
        surfaces = [
            await here.data(f"surfaces_list_{name}", **live)
            for name in ("endpoints", "config_keys", "db_tables")
        ]
        totals = here.node.host.maps.savings.totals()

    assert written["code"] == "NOT_FOUND"
    assert written["retryable"] is False
    assert "symbols_search" in written["details"]["hint"]
    assert "2 files of python" in summary.sections[0].items
    assert export.truncated
    assert export.token_count <= 60
    assert guide.quick_start
    assert [(match.file_path, match.line) for match in text.matches] == [
        ("orders.py", 19),
        ("shop.py", 9),
    ]
    assert [entry.symbol_id for entry in context.callees] == ["M:orders.price"]
    assert {data.total_count for data in surfaces} == {0}
    assert totals.calls > 0


async def test_the_live_map_follows_edits_as_a_fresh_resolve_would(
    broker: Broker, tmp_path: Path
) -> None:
    root = shop(tmp_path / "trees" / "shop")
    async with desk(broker, tmp_path, root) as here:
        steps: list[dict[str, str]] = [
            {"orders": ORDERS.replace("def price", "def cost")},
            {
                "orders": ORDERS,
                "extra": "from shop import place\n\n\ndef again():\n    return place(1)\n",
            },
            {"shop": "def place(order):\n    return 0\n"},
        ]
        for step in steps:
            write(root, **step)
            await here.node.add(root, "shop")
            await here.resolved()
        (root / "extra.py").unlink()
        await here.node.add(root, "shop")
        await here.resolved()
        followed = stored(here)
        fresh = resolved_anew(here)

    assert followed == fresh
    assert set(followed) == {"README.md", "orders.py", "shop.py"}


async def test_after_a_rest_edits_give_what_a_fresh_resolve_gives(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        resolver_worker, "_IDLE_S", 0.02
    )  # it lets go of everything between the steps
    monkeypatch.setattr(live_map, "_RECALL_FILES", 0)
    monkeypatch.setattr(live_map, "_NEWER_MOST", 2)
    came_back: list[int] = []

    def recalled(projections: Projections, repo_id: str, file: Path) -> RecalledIndex | None:
        found = recall.recalled(projections, repo_id, file)
        if found is not None:
            came_back.append(len(found.summaries))
        return found

    monkeypatch.setattr(live_map, "recall", SimpleNamespace(make=recall.make, recalled=recalled))
    root = shop(tmp_path / "trees" / "shop")
    async with desk(broker, tmp_path, root) as here:
        again = "from shop import place\n\n\ndef again():\n    return place(1)\n"
        steps: list[dict[str, str]] = [
            {"extra": again},
            {"orders": ORDERS.replace("def price", "def cost")},
            {"orders": ORDERS, "shop": SHOP.replace("def place", "def put")},
            {"shop": SHOP, "more": "class Order:\n    pass\n"},
        ]
        for step in steps:
            write(root, **step)
            await here.node.add(root, "shop")
            await here.resolved()
            assert stored(here) == resolved_anew(here)
        (root / "orders.py").unlink()
        await here.node.add(root, "shop")
        await here.resolved()

        assert stored(here) == resolved_anew(here)

    assert max(came_back) >= 3


async def test_a_whole_repository_is_resolved_and_prepared_in_a_process_of_its_own(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver_worker, "_COLD_FILES", 1)
    monkeypatch.setattr(live_map, "_RECALL_FILES", 0)
    root = shop(tmp_path / "trees" / "shop")
    cache = tmp_path / "state" / "cache" / "maps"
    async with desk(broker, tmp_path, root) as here:
        with here.node.host.read() as snapshot:
            repo = snapshot.repo("shop")
        assert repo is not None
        made = [
            map_segment.cache_file(cache, name)
            for name in (map_segment.live_name(repo), map_segment.recall_name(repo))
        ]
        await here.node.until(lambda _: all(file.exists() for file in made))
        segment = map_segment.load(made[0])
        index = recall.recalled(here.node.host.projections, "shop", made[1])
        cold = stored(here)
        with here.node.host.read() as snapshot:
            newest = Maps(snapshot.txn, "shop").newest()
        assert cold == resolved_anew(here)
        assert index is not None
        assert sorted(index.summaries) == ["README.md", "orders.py", "shop.py"]
        importing = set(hashes("python", [("#module", "orders")]))
        assert index.dependents(importing) == ["shop.py"]
        fork = index.copy()
        fork.replace("shop.py", None)
        assert sorted(fork.summaries) == ["README.md", "orders.py"]
        assert len(fork.summaries) == 2
        assert fork.dependents(importing) == []
        assert fork.space("python").facts(("shop", "place")) == ()
        assert index.dependents(importing) == ["shop.py"]
        assert index.space("python").facts(("shop", "place")) != ()
        write(root, shop=SHOP.replace("def place", "def put"))
        await here.node.add(root, "shop")
        await here.resolved()
        assert stored(here) == resolved_anew(here)

    assert segment is not None
    assert segment.upto == index.upto == newest


async def test_what_was_stored_by_another_is_told_and_never_resolved_with(
    broker: Broker, tmp_path: Path
) -> None:
    root = shop(tmp_path / "trees" / "shop")
    file = tmp_path / "recall.seg"
    async with desk(broker, tmp_path, root) as here:
        with here.node.host.read() as snapshot:
            assert recall.make(Maps(snapshot.txn, "shop"), file)
        index = recall.recalled(here.node.host.projections, "shop", file)
        assert index is not None
        assert index.summaries["shop.py"].language == "python"
        write(root, orders=ORDERS.replace("def price", "def cost"))
        await here.node.add(root, "shop")
        await here.resolved()
        known, moved_on = index.summaries["shop.py"], index.summaries["orders.py"]

    assert known.decls
    assert not moved_on.decls
    assert index.broken


def resolved_anew(here: Desk) -> dict[str, tuple[bytes, bytes]]:
    """What a resolver that knows nothing makes of the live files."""
    live = LiveMap(here.node.host.projections, here.root.name, here.root.parent / "fresh")
    live.look()
    live.known = {}
    everything = Pending(tuple(live.rows.values()), ())
    return {result.path: (result.edges, result.columns) for result in live.resolved(everything)}


def stored(here: Desk) -> dict[str, tuple[bytes, bytes]]:
    """Edges and columns of every live file."""
    with here.node.host.read() as snapshot:
        maps = Maps(snapshot.txn, here.root.name)
        return {
            row.path: (maps.live_blob("edges", row.path), maps.live_blob("columns", row.path))
            for row in maps.resolved()
        }


def test_every_tool_of_the_family_is_there_and_says_what_it_needs() -> None:
    family = [tool for tool in TOOLS if tool.family == "codemap"]

    assert len(family) == 28
    assert all("codemap" in tool.profiles for tool in family)
    for tool in family:
        required = tool.arguments.schema["required"]
        assert isinstance(required, list)
        assert "repo_path" in required


APP = """from flask import Flask

from shop import checkout

app = Flask(__name__)


@app.route("/checkout", methods=["POST"])
def pay():
    return checkout()
"""


async def test_surfaces_follow_edits_and_annotate_traces(broker: Broker, tmp_path: Path) -> None:
    root = shop(tmp_path / "trees" / "shop")
    write(root, app=APP)
    live = {"workspace_id": "live"}
    async with desk(broker, tmp_path, root) as here:

        async def routes() -> list[tuple[str, str, str]]:
            found = (await here.data("surfaces_list_endpoints", path_filter="/C", **live)).endpoints
            return [(one.http_method, one.route_path, one.handler_symbol) for one in found]

        first = await routes()
        card = await here.data("symbols_get_card", symbol_id="M:app.pay", **live)
        trace = await here.data("graph_trace_feature", entry_point="M:app.pay", **live)
        write(root, shop="# one line more\n" + SHOP)
        await here.node.add(root, "shop")
        await here.resolved()
        second = await routes()
        write(root, app="# one line more\n" + APP.replace("/checkout", "/cash"))
        await here.node.add(root, "shop")
        await here.resolved()
        third = await routes()
        other = await here.data("surfaces_list_endpoints", http_method="get", **live)

    assert first == second == [("POST", "/checkout", "M:app.pay")]
    assert third == [("POST", "/cash", "M:app.pay")]
    assert other.endpoints == ()
    assert [(fact.kind, fact.value.partition("|")[0]) for fact in card.facts] == [
        ("route", "POST /checkout")
    ]
    assert trace.entry_point_route == "POST /checkout"
    assert trace.nodes[0].annotations[0].kind == "Route"
    assert trace.nodes[0].children[0]["symbol_id"] == "M:shop.checkout"
