"""Does every list end before an answer is too large, and say what was left off?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from services.query.bounds import (
    ANSWER_BYTES,
    ECHO_CHARS,
    PATHS_SHOWN,
    TEXT_BYTES,
    beginning,
    fitting,
)
from tests.broker import Broker
from tests.pipeline.inprocess import Node, node

pytestmark = [pytest.mark.anyio, pytest.mark.broker]

FUNCTIONS = 2_500
HEADROOM = 4_000  # what an answer says beside its lists


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "demo"
    root.mkdir()
    body = "".join(
        f"def process_record_number_{n}(first_argument, second_argument):\n    return {n}\n"
        for n in range(FUNCTIONS)
    )
    (root / "generated_by_hand.py").write_text(body)
    (root / "small.py").write_text("def one():\n    return 1\n")
    (root / "plain.txt").write_text("plain words " * 10_000)
    (root / "foreign.txt").write_text("諸行無常の響きあり\n" * 10_000)
    return root


@pytest.fixture
async def running(broker: Broker, tmp_path: Path, tree: Path) -> AsyncIterator[Node]:
    async with node(broker, tmp_path / "state", tree.parent) as started:
        await started.add(tree)
        await started.indexed()
        yield started


def size(answer: Any) -> int:
    return len(msgspec.json.encode(answer))


async def test_an_outline_says_how_many_symbols_it_left_off(running: Node) -> None:
    long = await running.call("repocontext_outline", repoId="demo", path="generated_by_hand.py")
    short = await running.call("repocontext_outline", repoId="demo", path="small.py")

    assert len(long.symbols) + long.symbols_left_off == FUNCTIONS
    assert long.symbols_left_off > 0
    assert size(long) < ANSWER_BYTES + HEADROOM
    assert short.symbols_left_off == 0


async def test_drift_of_thousands_is_counted_in_full_and_listed_in_part(
    running: Node, tree: Path
) -> None:
    for number in range(PATHS_SHOWN + 50):
        (tree / f"fresh_{number:04}.py").write_text("x = 1\n")

    found = await running.call("repocontext_changed", repoId="demo", path=".")

    assert found.added_count == PATHS_SHOWN + 50
    assert found.added == tuple(f"fresh_{number:04}.py" for number in range(PATHS_SHOWN))
    assert size(found) < ANSWER_BYTES + HEADROOM


async def test_a_page_of_long_entries_ends_early_and_the_next_goes_on_from_there(
    running: Node,
) -> None:
    names: list[str] = []
    token = None
    more = True
    while more:
        page = await running.call(
            "repocontext_scan",
            repoId="demo",
            scope="Symbols",
            pageSize=500,
            continuationToken=token,
        )
        assert size(page) < ANSWER_BYTES + HEADROOM
        names += [entry.fully_qualified_name for entry in page.entries]
        token, more = page.continuation_token, page.has_more

    assert len(names) == len(set(names))
    assert sum(name.startswith("generated_by_hand.process_record") for name in names) == FUNCTIONS


async def test_a_recalled_text_is_complete_or_says_how_much_was_left_off(running: Node) -> None:
    plain = await running.call("repocontext_recall", key="repo/demo/content/plain.txt")
    foreign = await running.call("repocontext_recall", key="repo/demo/content/foreign.txt")

    assert len(plain.fields["text"]) == 65_536
    assert "textLeftOff" not in plain.fields
    left_off = int(foreign.fields["textLeftOff"].split()[0])
    assert len(foreign.fields["text"]) + left_off == 65_536
    assert size(foreign) < TEXT_BYTES + HEADROOM


async def test_a_walk_along_long_notes_ends_early_and_says_so(running: Node) -> None:
    note = {"repoId": "demo", "topic": "long", "body": "word " * 2_000}
    keys = [
        (await running.call("repocontext_remember", id=f"n{number}", **note)).key
        for number in range(12)
    ]
    seed = await running.call("repocontext_remember", id="seed", addLinks={"see": keys}, **note)

    found = await running.call("repocontext_neighbors", key=seed.key, maxNodes=100)

    assert 0 < len(found.neighbors) < len(keys)
    assert found.truncated
    assert size(found) < ANSWER_BYTES + 10_000 + HEADROOM  # the note that went over is shown


async def test_a_long_note_takes_no_room_from_the_other_hits(running: Node) -> None:
    note = {"repoId": "demo", "topic": "long"}
    for number in range(3):
        await running.call(
            "repocontext_remember", id=f"n{number}", body="zebra " * (1_000 << number), **note
        )

    found = await running.call("repocontext_search", repoId="demo", query="zebra")

    bodies = {hit.entry.id: hit.entry.fields for hit in found.hits if hit.entry.kind == "Memory"}
    assert set(bodies) == {"n0", "n1", "n2"}
    assert "bodyLeftOff" not in bodies["n0"]
    left_off = int(bodies["n2"]["bodyLeftOff"].split()[0])
    assert len(bodies["n2"]["body"]) + left_off == 24_000
    assert size(found) < ANSWER_BYTES + HEADROOM


async def test_a_pasted_log_is_not_told_back(running: Node) -> None:
    log = "ValueError in process_record_number_7\n" * 3_000

    found = await running.call("repocontext_search", repoId="demo", query=log)

    assert found.hits
    assert len(found.query) == ECHO_CHARS


def test_a_beginning_is_as_long_as_its_json_may_be() -> None:
    assert beginning("short") == "short"
    assert beginning("éé\n" * 10, limit=8) == "éé\n"  # 2 quotes, 2 + 2 bytes, an escape of 2
    assert beginning("é", limit=1) == ""


def test_one_entry_is_always_shown_and_never_more_than_fit() -> None:
    assert fitting(["x" * 100], 10) == ("x" * 100,)
    assert fitting(["aaaa"] * 10, 21) == ("aaaa",) * 3
    assert fitting([]) == ()
