"""Every promised behaviour has a test that exists, or says why not yet."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.requirements import ROWS, Row

ROOT = Path(__file__).parents[2]


@cache
def functions(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    return {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_promise_names_tests_that_exist_or_a_reason(row: Row) -> None:
    assert bool(row.tests) != bool(row.deferred), "either tests or a reason"
    for name in row.tests:
        path, _, function = name.partition("::")
        assert function in functions(path), name


def test_every_promise_has_an_id_of_its_own() -> None:
    ids = [row.id for row in ROWS]
    assert len(ids) == len(set(ids))
