"""What the code map says of things declared twice, of files that moved on, of trees inside trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.source import tokens
from tests.broker import Broker
from tests.gitrepo import new_repository
from tests.pipeline.test_codemap import ORDERS, SHOP, Desk, commit, desk, git, shop, write

pytestmark = [pytest.mark.anyio, pytest.mark.broker]

LIVE = {"workspace_id": "live"}
PICK = """/** Picks one. */
export function pick(a: string): number;
export function pick(a: number): number;
export function pick(a: any): any { return inner(process.env.PICK ?? a); }
function inner(a: any) { return a; }
"""
BOX = """namespace store {
class Box {
 public:
  // How many there are.
  int size(int most);
};
}
"""
BOX_CODE = """#include "box.hpp"
namespace store {
static int counted() { return 1; }
int Box::size(int most) { return counted(); }
}
"""
TYPES = """package p;
interface Named { String name(); }
interface Priced extends Named, Comparable<Priced> { int price(); }
abstract class Thing implements Priced { }
class Book extends Thing { }
"""


async def test_what_is_declared_several_times_is_shown_where_its_code_is(
    broker: Broker, tmp_path: Path
) -> None:
    root = shop(tmp_path / "trees" / "shop")
    for name, text in (("pick.ts", PICK), ("box.hpp", BOX), ("code.cpp", BOX_CODE)):
        (root / name).write_text(text)
    async with desk(broker, tmp_path, root) as here:
        pick = await here.data("symbols_get_card", symbol_id="M:pick.pick", **LIVE)
        shown = await here.data(
            "symbols_get_definition_span", symbol_id="pick.pick", context_lines=0, **LIVE
        )
        callees = await here.data("graph_callees", symbol_id="M:pick.pick", **LIVE)
        trace = await here.data("graph_trace_feature", entry_point="M:pick.pick", **LIVE)
        size = await here.data("symbols_get_card", symbol_id="Box.size", **LIVE)
        context = await here.data("symbols_get_context", symbol_id=size.symbol_id, **LIVE)
        box = await here.data("symbols_get_card", symbol_id="T:store.Box", **LIVE)

    assert (pick.span_start, pick.also_declared_in) == (4, ("pick.ts:2", "pick.ts:3"))
    assert pick.documentation == "Picks one."
    assert [call.to_symbol for call in pick.calls_top] == ["M:pick.inner"]
    assert [fact.value for fact in pick.facts] == ["PICK|process.env"]
    assert shown.content.startswith("    4 | export function pick(a: any)")
    assert [node.symbol_id for node in callees.nodes] == ["M:pick.pick", "M:pick.inner"]
    assert [child["symbol_id"] for child in trace.nodes[0].children] == ["M:pick.inner"]
    assert [note.kind for note in trace.nodes[0].annotations] == ["Config"]
    assert (size.file_path, size.also_declared_in) == ("code.cpp", ("box.hpp:5",))
    assert (size.namespace, size.containing_type) == ("store", "Box")
    assert (size.documentation, size.visibility) == ("How many there are.", "public")
    assert [entry.signature for entry in context.callees] == ["static int counted()"]
    assert (box.namespace, box.containing_type) == ("store", None)


async def test_an_interface_has_interfaces_and_no_base(broker: Broker, tmp_path: Path) -> None:
    root = shop(tmp_path / "trees" / "shop")
    (root / "Types.java").write_text(TYPES)
    async with desk(broker, tmp_path, root) as here:
        found = [
            await here.data("types_hierarchy", symbol_id=f"T:p.{name}", **LIVE)
            for name in ("Priced", "Thing", "Book")
        ]

    assert [one.base_type and one.base_type.symbol_id for one in found] == [None, None, "T:p.Thing"]
    assert [[ref.display_name for ref in one.interfaces] for one in found] == [
        ["Named", "Comparable"], ["Priced"], [],
    ]  # fmt: skip


async def test_lines_are_left_out_or_doubted_where_the_file_has_changed(
    broker: Broker, tmp_path: Path
) -> None:
    root = shop(tmp_path / "trees" / "shop")
    unsaved = [{"file_path": "shop.py", "content": "# unsaved\n" + SHOP}]
    async with desk(broker, tmp_path, root) as here:
        await here.call("index_ensure_baseline")
        before = await here.call("refs_find", symbol_id="M:orders.price", kind="call")
        virtual = await here.call(
            "symbols_get_definition_span", symbol_id="M:shop.place", virtual_files=unsaved, **LIVE
        )
        write(root, shop="# one line more\n" + SHOP)
        after = await here.call("refs_find", symbol_id="M:orders.price", kind="call")
        moved = await here.call("symbols_get_context", symbol_id="M:shop.place")
        (root / "shop.py").unlink()
        gone = await here.call("symbols_get_context", symbol_id="M:shop.place")

    assert before.answer == "3 references to M:orders.price"
    assert all(reference.excerpt for reference in before.data.references)
    assert {r.file_path: bool(r.excerpt) for r in after.data.references} == {
        "orders.py": True, "shop.py": False,
    }  # fmt: skip
    assert "1 file changed since" in after.answer
    assert (virtual.confidence, "virtual_files" in virtual.answer) == ("low", True)
    assert (moved.confidence, "changed since" in moved.answer) == ("low", True)
    assert gone.data.code is None
    assert gone.data.callees
    assert "without its code" in gone.answer


async def test_a_git_tree_inside_another_is_a_repository_of_its_own(
    broker: Broker, tmp_path: Path
) -> None:
    root = shop(tmp_path / "trees" / "shop")
    inside = root / ".trees" / "other"
    git(root, "worktree", "add", "-q", str(inside), "-b", "other")
    async with desk(broker, tmp_path, root) as here:
        await here.call("index_ensure_baseline")
        write(inside, extra="def only_there():\n    return 1\n")
        there = commit(inside)
        worktree = Desk(here.node, inside)
        early = await worktree.data("repo_status")
        refused = await worktree.refused("symbols_search", query="only_there")
        await worktree.call("index_ensure_baseline")
        found = await worktree.found("only_there")
        status = await Desk(here.node, inside / "deeper").refused("repo_status")
        outer = await here.data("repo_status")

    assert (early.branch_name, early.current_commit_sha) == ("other", there)
    assert (early.baseline_index_exists, early.workspaces) == (False, ())
    assert early.repo_id == outer.repo_id
    assert (refused.code, refused.retryable) == ("INDEX_NOT_AVAILABLE", True)
    assert found == ["M:extra.only_there"]
    assert status.code == "NOT_FOUND"  # there is no such folder
    assert outer.current_commit_sha != there


async def test_what_comes_into_another_file_or_under_another_name_is_no_new_symbol(
    broker: Broker, tmp_path: Path
) -> None:
    root = shop(tmp_path / "trees" / "shop")
    first = git(root, "rev-parse", "HEAD")
    git(root, "mv", "orders.py", "sales.py")
    write(root, sales=ORDERS.replace("return 1", "return 10"), shop=SHOP.replace("orders", "sales"))
    second = commit(root)
    write(root, sales=ORDERS.replace("RushOrder", "Express"))
    commit(root)
    async with desk(broker, tmp_path, root) as here:
        for revision in (first, second, "HEAD"):
            await here.call("index_ensure_baseline", commit_sha=revision)
        moved = await here.data("index_diff", from_commit=first, to_commit=second)
        renamed = await here.data("index_diff", from_commit=second)
        facts = {change.symbol_id: change for change in renamed.changes}

    assert moved.counts == {"moved": 6}
    pairs = {change.before: change.after for change in moved.changes}
    assert pairs["M:orders.Order.total"] == "M:sales.Order.total"
    assert pairs["M:orders.price"] == "M:sales.price"  # and edited
    assert renamed.counts == {"renamed": 2, "changed": 1}
    assert facts["T:sales.Express"].before == "T:sales.RushOrder"
    assert facts["M:sales.Express.total"].before == "M:sales.RushOrder.total"


async def test_where_nothing_is_committed_or_there_is_no_git_head_still_means_something(
    broker: Broker, tmp_path: Path
) -> None:
    root = shop(tmp_path / "trees" / "shop", versioned=False)
    unborn = tmp_path / "trees" / "unborn"
    unborn.mkdir()
    new_repository(unborn)
    write(unborn, first="def first():\n    return 1\n")
    async with desk(broker, tmp_path, root) as here:
        await here.call("index_ensure_baseline")
        same = await here.data("index_diff", from_commit="HEAD", to_commit="live")
        started = await here.data("workspace_create", workspace_id="w", commit_sha="HEAD")
        empty = Desk(here.node, unborn)
        refused = await empty.refused("index_ensure_baseline")
        created = await empty.refused("workspace_create", workspace_id="w")

    assert (same.changes, same.files) == ((), ())
    assert started.baseline_commit_sha == same.from_commit
    assert refused.code == "NOT_FOUND"
    assert created.code == "INDEX_NOT_AVAILABLE"
    assert created.hint.startswith("commit")


@pytest.mark.parametrize("written", ["json", "markdown"])
async def test_an_export_has_the_tokens_it_tells_and_no_more_than_wanted(
    broker: Broker, tmp_path: Path, written: str
) -> None:
    root = shop(tmp_path / "trees" / "shop")
    write(root, texts="\n".join(f'NAME_{n} = "\\"{n}\\" of \\\\ {n}"' for n in range(40)))
    async with desk(broker, tmp_path, root) as here:
        exports = [
            await here.data("codemap_export", detail="full", format=written, max_tokens=n, **LIVE)
            for n in (0, 1, 60, 150, 400, 4000)
        ]

    for export, most in zip(exports, (1, 1, 60, 150, 400, 4000), strict=True):
        assert export.token_count == tokens.count(export.content)
        assert export.token_count <= most
    assert [export.truncated for export in exports[-2:]] == [True, False]


async def test_reports_of_a_workspace_are_those_of_a_commit_with_its_content(
    broker: Broker, tmp_path: Path
) -> None:
    root = shop(tmp_path / "trees" / "shop")
    for name in ("a.go", "b.rs", "c.rb"):
        (root / name).write_text("\n")
    commit(root)
    async with desk(broker, tmp_path, root) as here:
        await here.call("index_ensure_baseline")
        await here.call("workspace_create", workspace_id="mine")
        (root / "a.go").write_text("package shop\n\nfunc Added() {}\n")
        write(root, orders=ORDERS.replace("def price", "def cost"))
        await here.call("index_refresh_overlay", workspace_id="mine")
        mine = {"workspace_id": "mine"}
        found = [
            await here.data("codemap_summarize", **mine),
            await here.data("codemap_export", detail="full", **mine),
        ]
        commit(root)
        await here.call("index_ensure_baseline")
        same = [
            await here.data("codemap_summarize"),
            await here.data("codemap_export", detail="full"),
        ]

    assert found[0] == same[0]
    lines, others = (reports[1].content.splitlines() for reports in (found, same))
    assert lines[1:] == others[1:]  # the first names the commit
    assert [line for line in lines if line.startswith("##")] == [
        "## a.go", "## orders.py", "## shop.py",
    ]  # fmt: skip


async def test_bounds_that_are_set_aside_are_told_and_blanks_are_none(
    broker: Broker, tmp_path: Path
) -> None:
    virtual = [{"file_path": "../outside.py", "content": "a\n"}]
    span = {"file_path": "../outside.py", "start_line": 1, "end_line": 1, "virtual_files": virtual}
    async with desk(broker, tmp_path, shop(tmp_path / "trees" / "shop")) as here:
        await here.call("index_ensure_baseline")
        await here.call("workspace_create", workspace_id="w")
        nowhere = await here.data(
            "index_refresh_overlay",
            workspace_id="w",
            file_paths=["x" * 300, "x/" * 300 + "x", "orders.py/x"],
        )
        no_path = await here.refused("index_refresh_overlay", workspace_id="w", file_paths=["a\0b"])
        wide = await here.call(
            "symbols_get_definition_span", symbol_id="checkout", context_lines=51, **LIVE
        )
        blank = await here.refused("code_get_span", **span, workspace_id="  ")
        outside = await here.refused("code_get_span", **span, **LIVE)
        plain = await here.found("price", file_path="orders.py", **LIVE)
        dotted = await here.found("price", file_path="./orders", **LIVE)

    limit = wide.meta.limits_applied["context_lines"]
    assert (limit.requested, limit.hard_cap) == (51, 50)
    assert blank.code == "WORKSPACE_REQUIRED"
    assert outside.code == "NOT_FOUND"
    assert dotted == plain != []
    assert (nowhere.files_reindexed, nowhere.new_overlay_revision) == (0, 0)
    assert no_path.code == "INVALID_ARGUMENT"
