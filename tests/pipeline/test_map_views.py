"""How are the views of a code map made, renewed, handed on and let go of, on a running node?"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import anyio
import pytest

from services.query.codemap import layers, making
from services.query.codemap.views import MapView
from store.map_segment import live_name
from tests.broker import Broker
from tests.pipeline.test_codemap import SHOP, Desk, desk, shop, write

_LIVE = {"workspace_id": "live"}
_RAISING = """def given(order):
    if not order:
        raise ValueError("nothing is ordered")
    return order
"""
_SETTING = """import os


def given(order):
    return os.environ["SHOP_NAME"]
"""


async def saved(here: Desk, **files: str) -> None:
    write(here.root, **files)
    await here.node.add(here.root, here.root.name)
    await here.resolved()


def view_of(here: Desk) -> MapView:
    with here.node.host.read() as snapshot:
        repo = snapshot.repo(here.root.name)
        assert repo is not None
        return here.node.host.maps.views.live(snapshot, repo)


async def test_a_program_makes_the_segment_while_others_are_answered(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[bool] = []
    ordered = making.ordered

    def told(order: making.Order) -> bool:
        ended.append(ordered(order))
        return ended[-1]

    monkeypatch.setattr(making, "ordered", told)
    root = shop(tmp_path / "trees" / "shop")
    async with desk(broker, tmp_path, root) as here:
        await here.node.call("repo_status", repo_path=str(root))
        small = await here.found("order", **_LIVE)
        view = view_of(here)
        assert (ended, len(small) > 1) == ([], True)

        views = here.node.host.maps.views
        views.release()
        for file in (tmp_path / "state" / "cache" / "maps").glob("*.seg"):
            file.unlink()
        monkeypatch.setattr(making, "_SMALL", 0)
        asking = [asyncio.create_task(here.found("order", **_LIVE)) for _ in range(3)]
        answered = 0
        with anyio.fail_after(60):
            while not ended:
                await here.node.call("repo_status", repo_path=str(root))
                answered += 1
                await asyncio.sleep(0)  # let the three go on
        answers = await asyncio.gather(*asking)
        again = view_of(here)
        await here.call("index_ensure_baseline")
        committed = await here.found("order")

    assert ended == [True, True]  # one for the three questions, one for the baseline
    assert answered > 1
    assert answers == [small] * 3
    assert committed == small
    assert again.layers[0].segment.names.all() == view.layers[0].segment.names.all()


async def test_a_cache_that_cannot_be_written_leaves_questions_answered(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "_SMALL", 0)
    root = shop(tmp_path / "trees" / "shop")
    async with desk(broker, tmp_path, root) as here:
        (tmp_path / "state" / "cache").mkdir(exist_ok=True)
        (tmp_path / "state" / "cache" / "maps").write_text("no folder")

        assert "M:orders.price" in await here.found("price", **_LIVE)


async def test_a_first_segment_that_much_has_changed_since_is_made_anew_beside(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "_REST", 0)
    monkeypatch.setattr(layers, "_SHARE", 1_000)
    root = shop(tmp_path / "trees" / "shop")
    async with desk(broker, tmp_path, root) as here:
        await here.found("order", **_LIVE)
        first = view_of(here).layers[0].segment
        await saved(here, more="def bargain():\n    return 1\n")
        over = view_of(here)
        found = await here.found("bargain", **_LIVE)
        for thread in threading.enumerate():
            if thread.name == "code map":
                await asyncio.to_thread(thread.join)
        with here.node.host.read() as snapshot:
            repo = snapshot.repo("shop")
        assert repo is not None
        renewed = here.node.host.maps.views._segments[live_name(repo)]
        await saved(here, shop=SHOP + "\n\ndef later():\n    return bargain()\n")
        anew = view_of(here)
        assert await here.found("bargain", **_LIVE) == found == ["M:more.bargain"]

    assert over.layers[0].segment is first
    assert (len(over.layers), renewed.upto > first.upto) == (2, True)
    assert anew.layers[0].segment is renewed


async def test_surfaces_are_handed_on_unless_a_file_with_a_part_in_them_changed(
    broker: Broker, tmp_path: Path
) -> None:
    root = shop(tmp_path / "trees" / "shop")
    write(root, given=_RAISING, setting=_SETTING)
    async with desk(broker, tmp_path, root) as here:

        async def keys() -> tuple[object, list[str]]:
            found = await here.data("surfaces_list_config_keys", **_LIVE)
            return view_of(here).memo["surfaces"], [key.key for key in found.keys]

        first = await keys()
        card = await here.data("symbols_get_card", symbol_id="M:given.given", **_LIVE)
        await saved(here, given=_RAISING.replace("ValueError", "KeyError"))
        second = await keys()
        after = await here.data("symbols_get_card", symbol_id="M:given.given", **_LIVE)
        await saved(here, given=_RAISING, setting=_SETTING.replace("SHOP_NAME", "SHOP_SITE"))
        third = await keys()
        await saved(here, given=_SETTING)
        fourth = await keys()
        await saved(here, new="x = 1\n")
        fifth = await keys()
        summary = await here.data("codemap_summarize", sections=["exceptions"], **_LIVE)

    assert first[0] is second[0]
    assert first[1] == second[1] == ["SHOP_NAME"]
    assert third[1] == ["SHOP_SITE"]
    assert fourth[1] == ["SHOP_NAME", "SHOP_SITE"]
    assert fourth[0] is not fifth[0]
    assert fourth[1] == fifth[1]
    assert [fact.value.partition("|")[0] for fact in card.facts] == ["ValueError"]
    assert [fact.value.partition("|")[0] for fact in after.facts] == ["KeyError"]
    assert summary.sections[0].total == 0


async def test_what_nobody_asks_for_is_let_go_of_and_comes_back(
    broker: Broker, tmp_path: Path
) -> None:
    root = shop(tmp_path / "trees" / "shop")
    async with desk(broker, tmp_path, root) as here:
        maps = here.node.host.maps
        found = await here.found("order", **_LIVE)
        maps._look()
        kept = maps.views.held
        maps._used -= 1_000
        maps._look()
        gone = not maps.views.held
        again = await here.found("order", **_LIVE)

    assert (kept, gone) == (True, True)
    assert found == again
