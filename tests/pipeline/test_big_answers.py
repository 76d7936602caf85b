"""Does every list end before an answer is too large, and say what was left off?"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from services.query.bounds import ANSWER_BYTES, PATHS_SHOWN, fitting
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


def test_one_entry_is_always_shown_and_never_more_than_fit() -> None:
    assert fitting(["x" * 100], 10) == ("x" * 100,)
    assert fitting(["aaaa"] * 10, 21) == ("aaaa",) * 3
    assert fitting([]) == ()
