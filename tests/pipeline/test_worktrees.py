"""What do worktrees of one repository share: extracts, vectors and baselines?"""

from __future__ import annotations

from pathlib import Path

import pytest

from services.kernel.instruments import counted
from tests.broker import Broker
from tests.pipeline.test_codemap import commit, desk, git, shop

pytestmark = [pytest.mark.anyio, pytest.mark.broker]


def asked() -> dict[tuple[str, ...], float]:
    """How often the content cache knew what it was asked for, and how often not."""
    return {
        labels: values[0]
        for (name, labels), values in counted.cells().items() if name == "repofold.cache"
    }  # fmt: skip


async def test_a_worktree_is_indexed_without_reading_its_files_out_again(
    broker: Broker, tmp_path: Path
) -> None:
    root = shop(tmp_path / "trees" / "shop")
    beside = tmp_path / "trees" / "beside"
    before = asked()
    git(root, "worktree", "add", "-q", str(beside), "-b", "beside")
    async with desk(broker, tmp_path, root, codemap_cache_dir=str(tmp_path / "shared")) as here:
        await here.node.indexed("shop")
        first = asked()
        await here.node.add(beside, "beside")
        await here.node.indexed("beside")
        second = asked()
        built = await here.data("index_ensure_baseline")
        there = type(here)(here.node, beside)
        pulled = await there.data("index_ensure_baseline")
        (beside / "more.py").write_text(
            "from shop import checkout\n\n\ndef more():\n    checkout()\n"
        )
        only_there = commit(beside)
        made = await there.data("index_ensure_baseline", commit_sha=only_there)
        shared = await here.data("index_ensure_baseline", commit_sha=only_there)

    made_first = {labels: first[labels] - before.get(labels, 0) for labels in first}
    grown = {labels: second[labels] - first.get(labels, 0) for labels in second}
    for of in ("extracts", "vectors"):
        assert grown[of, "hit"] == made_first[of, "miss"] == 3
        assert grown[of, "miss"] == 0
    assert (built.from_cache, pulled.from_cache) == (False, True)
    assert (made.from_cache, shared.from_cache) == (False, True)
