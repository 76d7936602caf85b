"""`repofold note …` over folded projections: words for people, the tool's JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops import cli
from tests.folded_notes import SLUG, FoldedNotes, memory


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    notes = FoldedNotes(tmp_path / "state")
    notes.put(memory(1, "Deploy from main"))
    yield tmp_path / "state"
    notes.close()


def run(state: Path, *words: str) -> int:
    return cli.main(["note", *words, "--state", str(state)])


def test_notes_are_listed_in_words(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(state, "list", "--repo", SLUG) == 0

    shown = capsys.readouterr().out
    assert "body: Deploy from main" in shown
    assert "exists: yes" in shown
    assert "hasMore" not in shown


@pytest.mark.parametrize("what", ["list", "topics"])
def test_where_there_are_no_notes_nothing_but_that_is_told(
    state: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    assert run(state, what, "--repo", "nobody") == 0

    told = capsys.readouterr()
    assert "there are no notes" in told.err
    assert "LeftOff" not in told.out

    assert run(state, what, "--repo", "nobody", "--json") == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert json.loads(told.out)


def test_a_claim_that_nobody_holds_is_told_with_a_no(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(state, "status", "repo/owner%2Fdemo/mem/machine-memory/1") == 0

    assert "isHeld: no" in capsys.readouterr().out
