"""The measurement of bundles, on a tree of a few files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contracts.errors import InvalidArgument
from ops.bench.bundles import BUDGETS, LEVELS, measure


def test_it_tells_which_share_of_the_wanted_files_bundles_name_and_show(tmp_path: Path) -> None:
    tree = tmp_path / "trees" / "shop"
    tree.mkdir(parents=True)
    (tree / "orders.py").write_text("def cancel_order(order):\n    return order.void()\n")
    (tree / "basket.py").write_text("class Basket:\n    def total(self):\n        return 0\n")
    queries = tmp_path / "queries.jsonl"
    asked = {"repo": "shop", "query": "cancel an order", "gold": ["orders.py", "gone.py"]}
    queries.write_text(json.dumps(asked) + "\n")

    report = measure(queries, tmp_path / "trees")

    assert (report.tasks, report.repositories) == (1, 1)
    figures = {(each.level, each.budget): each for each in report.figures}
    assert set(figures) == {(name, budget) for name, _ in LEVELS for budget in BUDGETS}
    for budget in BUDGETS:
        assert (figures["auto", budget].named, figures["auto", budget].shown) == (0.5, 0.5)
        assert (figures["paths", budget].named, figures["paths", budget].shown) == (0.5, 0)
    assert all(0 < each.sent <= each.used <= 1 for each in report.figures)


def test_a_missing_tree_is_told(tmp_path: Path) -> None:
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"repo": "none", "query": "x", "gold": ["a.py"]}\n')

    with pytest.raises(InvalidArgument, match="no tree"):
        measure(queries, tmp_path)
