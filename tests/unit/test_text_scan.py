"""A search of text by pattern: what need not be tried is left out, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.query.codemap import text_scan

_PIECES = ("ab", "a", "Kb", "k", "\n", "\r\n", "é", "\u017f", "K", "1", "(", "|", ".", " ")
_TOKENS = (
    "a", "b", "ab", "K", "é", r"\.", r"\(", r"\w", r"\b", ".", "^", "$", "*", "+", "?", "{2}", "{0,1}",
    "{", "}", "[ab]", "[^a]", "[]a]", "(", "(?:", ")", "|", "(?=", "(?i)", r"\n",
)  # fmt: skip


def _pattern(tokens: list[str]) -> str:
    pattern = "".join(tokens)
    try:
        re.compile(pattern)
    except (re.error, OverflowError):
        return "ab"
    return pattern


patterns = st.lists(st.sampled_from(_TOKENS), min_size=1, max_size=6).map(_pattern)
texts = st.lists(st.sampled_from(_PIECES), max_size=10).map("".join)


@settings(max_examples=400, deadline=None)
@given(pattern=patterns, text=texts)
def test_what_a_pattern_requires_is_in_whatever_it_matches(pattern: str, text: str) -> None:
    found = re.search(pattern, text.replace("\n", ""))

    assert found is None or text_scan.required(pattern) in found.string


@settings(max_examples=150, deadline=None)
@given(pattern=patterns, files=st.lists(texts, min_size=1, max_size=3), ignore_case=st.booleans())
def test_lines_are_those_that_match_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, pattern: str, files: list[str], ignore_case: bool
) -> None:
    root = tmp_path_factory.mktemp("tree")
    paths = [f"folder{number % 2}/{number}.txt" for number in range(len(files))]
    expected = []
    for path, text in zip(paths, files, strict=True):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_bytes(text.encode())
        for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
            shown = line.removesuffix("\r")
            if re.search(pattern, shown, re.IGNORECASE if ignore_case else 0):
                expected.append((path, number, shown.strip()))

    found, read = text_scan.matches(str(root), paths, pattern, 100, ignore_case=ignore_case)

    assert (found, read) == (expected, len(files))


def test_the_text_that_is_required() -> None:
    known = {
        "func NewController": "func NewController",
        r"^\s*def main\(": "def main(",
        "x?yz": "yz",
        "a{2}bc": "bc",
        "(foo|bar)baz": "baz",
        "foo|bar": "",
        "(?i)abc": "",
    }

    assert {pattern: text_scan.required(pattern) for pattern in known} == known


def test_a_link_on_the_way_is_not_followed_and_a_missing_file_is_passed_over(
    tmp_path: Path,
) -> None:
    outside, root = tmp_path / "outside", tmp_path / "tree"
    for folder in (outside, root / "kept"):
        folder.mkdir(parents=True)
        (folder / "a.txt").write_text("needle\n")
    (root / "linked").symlink_to(outside)
    (root / "kept" / "b.txt").symlink_to(outside / "a.txt")
    paths = ["kept/a.txt", "kept/b.txt", "kept/gone.txt", "linked/a.txt", "no/such.txt"]

    found, read = text_scan.matches(str(root), paths, "needle", 10, ignore_case=False)

    assert (found, read) == ([("kept/a.txt", 1, "needle")], 5)
