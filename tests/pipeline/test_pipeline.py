"""From a tree to an answer, with every worker in one process over a real broker."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from contracts.events.log import WalkFilters
from services.source.walk import walk
from services.walker import main as walker
from store.digest import digest_of
from tests.broker import Broker
from tests.pipeline.inprocess import Node, node

pytestmark = [pytest.mark.anyio, pytest.mark.broker]

ORDERS = '''"""Orders."""


class OrderService:
    """Places and cancels orders."""

    def place(self, basket):
        """Turn a basket into an order."""
        return basket.total()
'''
BASKET = "class Basket:\n    def total(self):\n        return sum(self.prices)\n"
TESTS = "from orders import OrderService\n\n\nclass OrderServiceTests:\n    def test_place(self):\n        OrderService().place(None)\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "demo"
    (root / "shop").mkdir(parents=True)
    (root / "shop" / "orders.py").write_text(ORDERS)
    (root / "shop" / "basket.py").write_text(BASKET)
    (root / "test_orders.py").write_text(TESTS)
    (root / "README.md").write_text("# Shop\n\nHow to run the shop.\n")
    return root


@pytest.fixture
async def running(broker: Broker, tmp_path: Path, tree: Path) -> AsyncIterator[Node]:
    async with node(broker, tmp_path / "state", tree.parent) as started:
        await started.add(tree)
        await started.indexed()
        yield started


def digest(running: Node) -> str:
    with running.host.read() as snapshot:
        return digest_of(snapshot.txn)


async def again(running: Node, tree: Path) -> None:
    """Another pass over the tree, to its end."""
    before = await running.call("repocontext_index_status", repoId="demo")
    await running.add(tree)
    await running.until(
        lambda s: (state := s.newest_pass("demo")) is not None and state.attempt > before.attempt
    )
    await running.indexed()


async def test_a_tree_becomes_searchable_with_reasons_and_a_route(running: Node) -> None:
    found = await running.call(
        "repocontext_search", repoId="demo", query="place an order from a basket"
    )

    assert found.mode == "semantic"
    assert found.retrieval_path == "semantic.exact"
    assert found.hits[0].entry.path == "shop/orders.py"
    assert found.hits[0].reasons[0] == "semantic"
    assert all(len(hit.reasons) <= 6 for hit in found.hits)


async def test_the_status_counts_what_the_walk_saw(running: Node) -> None:
    status = await running.call("repocontext_index_status", repoId="demo")

    assert (status.status, status.phase, status.attempt) == ("Completed", "Done", 1)
    assert (status.files_scanned, status.files_added, status.files_unchanged) == (4, 4, 0)
    assert status.chunks_committed == status.chunks_total > 0


async def test_one_edited_one_new_and_one_deleted_file_are_counted_as_that(
    running: Node, tree: Path
) -> None:
    (tree / "shop" / "orders.py").write_text(ORDERS.replace("place", "submit"))
    (tree / "new.py").write_text("def brand_new(): ...\n")
    (tree / "README.md").unlink()

    await again(running, tree)

    status = await running.call("repocontext_index_status", repoId="demo")
    assert (status.files_added, status.files_updated, status.files_removed) == (1, 1, 1)
    assert running.paths() == ["new.py", "shop/basket.py", "shop/orders.py", "test_orders.py"]


async def test_an_unchanged_tree_changes_nothing_but_the_attempt(running: Node, tree: Path) -> None:
    before = digest(running)

    await again(running, tree)

    status = await running.call("repocontext_index_status", repoId="demo")
    assert (status.files_added, status.files_updated, status.files_removed, status.attempt) == (
        0,
        0,
        0,
        2,
    )
    assert digest(running) == before


async def test_a_touched_file_keeps_its_record_and_is_settled_by_stat_from_then_on(
    running: Node, tree: Path
) -> None:
    path = tree / "shop" / "orders.py"
    with running.host.read() as snapshot:
        before = snapshot.file("demo", "shop/orders.py")
    os.utime(path, ns=(1_700_000_000_123_456_789, 1_700_000_000_123_456_789))

    await again(running, tree)

    await running.until(
        lambda s: (
            (row := s.file("demo", "shop/orders.py")) is not None
            and row.mtime_ns == 1_700_000_000_123_456_789
        )
    )
    with running.host.read() as snapshot:
        after = snapshot.file("demo", "shop/orders.py")
    assert before is not None
    assert after is not None
    assert (after.sequence, after.embedded) == (before.sequence, True)
    assert after.anchor_ns >= before.anchor_ns
    status = await running.call("repocontext_index_status", repoId="demo")
    assert status.files_updated == 0


async def test_edits_made_while_the_node_was_down_are_found_at_the_next_start(
    broker: Broker, tmp_path: Path, tree: Path
) -> None:
    async with node(broker, tmp_path / "state", tree.parent) as first:
        await first.add(tree)
        await first.indexed()
    (tree / "shop" / "basket.py").write_text(BASKET.replace("total", "grand_total"))

    async with node(broker, tmp_path / "state", tree.parent) as second:
        await second.until(lambda s: bool(s.declaring("demo", "shop.basket.Basket.grand_total")))
        await second.indexed()
        status = await second.call("repocontext_index_status", repoId="demo")
    assert (status.files_updated, status.files_unchanged) == (1, 3)


async def test_an_edit_is_found_by_the_watcher_without_a_walk(
    broker: Broker, tmp_path: Path, tree: Path
) -> None:
    async with node(broker, tmp_path / "state", tree.parent, watch=True) as started:
        await started.add(tree)
        await started.indexed()

        (tree / "fresh.py").write_text("def zirconium_valve(): ...\n")
        await started.until(lambda s: s.file("demo", "fresh.py") is not None)
        found = await started.call("repocontext_search", repoId="demo", query="zirconium_valve")
        (tree / "fresh.py").unlink()
        await started.until(lambda s: s.file("demo", "fresh.py") is None)

    assert found.hits[0].entry.path == "fresh.py"
    assert found.hits[0].reasons


async def test_a_file_made_behind_a_walk_stays(
    broker: Broker, tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder was listed before it was there; only the watcher told of it."""
    told = threading.Event()

    def slow_walk(*arguments: Any) -> Iterator[Any]:
        yield from walk(*arguments)
        (tree / "shop" / "late.py").write_text("def came_late(): ...\n")
        told.wait(30)

    async with node(broker, tmp_path / "state", tree.parent, watch=True) as started:
        await started.add(tree)
        await started.indexed()
        monkeypatch.setattr(walker, "walk", slow_walk)
        await started.add(tree)
        await started.until(lambda s: s.file("demo", "shop/late.py") is not None)
        told.set()
        await started.until(
            lambda s: (state := s.newest_pass("demo")) is not None and state.attempt > 1
        )
        await started.indexed()

        assert "shop/late.py" in started.paths()


async def test_a_reset_drops_the_index_and_keeps_the_repository_listed(
    running: Node, tree: Path
) -> None:
    dropped = await running.call("repocontext_reset_index", repoId="demo")

    assert dropped.memory_preserved
    assert dropped.entries_deleted > 0
    listed = await running.call("repocontext_list_repos")
    assert [
        (repo.repo_id, repo.last_ingested, repo.file_count, repo.indexed_root)
        for repo in listed.repos
    ] == [("demo", None, None, None)]
    assert running.paths() == []

    await running.add(tree)
    await running.until(lambda s: len(list(s.files("demo"))) == 4)
    await running.indexed()


async def test_a_removed_repository_is_gone_and_can_come_back(running: Node, tree: Path) -> None:
    before = digest(running)

    gone = await running.call("repocontext_remove_repo", repoId="demo")
    assert gone.entries_deleted > 0
    assert (await running.call("repocontext_list_repos")).count == 0
    assert (await running.call("repocontext_index_status", repoId="demo")).status == "None"
    assert (await running.call("repocontext_search", repoId="demo", query="order")).mode == "empty"
    assert (await running.call("repocontext_remove_repo", repoId="demo")).entries_deleted == 0

    await running.add(tree)
    await running.until(lambda s: len(list(s.files("demo"))) == 4)
    await running.indexed()
    assert digest(running) == before


async def test_related_names_dependents_and_covering_tests(running: Node) -> None:
    related = await running.call("repocontext_related", repoId="demo", path="shop/orders.py")

    assert {test.path for test in related.tests} == {"test_orders.py"}
    assert {where.path for where in related.dependents} == {"test_orders.py"}


async def test_drift_is_told_before_it_is_indexed(running: Node, tree: Path) -> None:
    (tree / "shop" / "orders.py").write_text(ORDERS + "\n# changed\n")
    (tree / "added.py").write_text("x = 1\n")
    (tree / "README.md").unlink()

    changed = await running.call("repocontext_changed", repoId="demo", path=str(tree))

    assert (changed.added, changed.updated, changed.removed) == (
        ("added.py",),
        ("shop/orders.py",),
        ("README.md",),
    )
    assert changed.dependents == ("test_orders.py",)


async def test_filters_of_the_onboarding_hold(broker: Broker, tmp_path: Path, tree: Path) -> None:
    (tree / "blob.bin").write_bytes(b"a\0b")
    filters = WalkFilters(
        include=("**/*.py", "*.bin"), exclude=("shop/basket.py",), exclude_binary=False
    )
    async with node(broker, tmp_path / "state", tree.parent) as started:
        await started.add(tree, filters=filters)
        await started.indexed()
        assert started.paths() == ["blob.bin", "shop/orders.py", "test_orders.py"]
        with started.host.read() as snapshot:
            blob = snapshot.file("demo", "blob.bin")
    assert blob is not None
    assert blob.skipped == "binary"


async def test_scan_pages_join_without_gap_or_repeat(running: Node) -> None:
    for scope in ("Files", "Symbols", "Packages"):
        whole = await running.call("repocontext_scan", repoId="demo", scope=scope, pageSize=500)
        keys: list[str] = []
        token = None
        while True:
            page = await running.call(
                "repocontext_scan", repoId="demo", scope=scope, pageSize=1, continuationToken=token
            )
            keys += [entry.key for entry in page.entries]
            token = page.continuation_token
            if not page.has_more:
                break
        assert keys == [entry.key for entry in whole.entries]
        assert len(keys) == len(set(keys)) > 0


async def test_every_scanned_key_can_be_recalled(running: Node) -> None:
    for scope in ("Files", "Symbols", "Packages"):
        page = await running.call("repocontext_scan", repoId="demo", scope=scope)
        for entry in page.entries:
            recalled = await running.call("repocontext_recall", key=entry.key)
            assert recalled.exists
            assert recalled.key == entry.key
