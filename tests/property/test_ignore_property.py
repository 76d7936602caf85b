"""Whatever the tree and its .gitignore files, the walk yields the files that git lists."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.events.log import WalkFilters
from contracts.ids import path_to_bytes
from services.source.walk import walk
from tests.gitrepo import listed_by_git, new_repository

NAMES = ["a", "b", "ab", "abc", "a.b", "foo", "foobar", "[", "a]", "!a", "#a", " a", "a ", "é", "a\\b", "*", "-", "A", "0", "a\tb", "q\r", "n\nl", "\udce9"]  # fmt: skip
PIECES = ["a", "b", "ab", "foo", "*", "**", "?", "/", "/", "**/", "/**", "/**/", "*/", "[ab]", "[!a]", "[^a]", "[a-c]", "[a-", "[]a]", "[]-]", "[a-c-e]", "[b-a]", "[!b-a]", "[/]", "[[]", "[!]", "[!]]", "[[:alpha:]]", "[[:digit:]", "[[:none:]]", "[a[:digit:]]", "[[:a]", "[\\]]", "[a\\-c]", "[\\a-c]", "[é]", "\\", "\\*", "\\a", "\\/", "\\ ", "!", "#", " ", "-", ".", "é", "\t", "\r", "A", "\udce9"]  # fmt: skip

Tree = dict[str, "Tree | None"]

bodies = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join)
lines = st.tuples(
    st.sampled_from(["", "", "", "!", "/", "!/"]), bodies, st.sampled_from(["", "", "/", " "])
).map("".join)
ignore_files = st.tuples(
    st.lists(lines, min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"])
).map(lambda drawn: os.fsencode(drawn[1].join(drawn[0])))
names = st.sampled_from(NAMES)
trees: st.SearchStrategy[Tree] = st.recursive(
    st.dictionaries(names, st.none(), min_size=1, max_size=5),
    lambda inner: st.dictionaries(names, st.none() | inner, min_size=1, max_size=5),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("repository")
    new_repository(root)
    yield root
    shutil.rmtree(root)


def lay(folder: Path, tree: Tree, ignores: list[bytes]) -> None:
    """Make the tree; its first folders get the .gitignore files, outermost first."""
    folder.mkdir()
    if ignores:
        (folder / ".gitignore").write_bytes(ignores.pop(0))
    for name, inner in tree.items():
        if inner is None:
            (folder / name).write_bytes(b"")
        else:
            lay(folder / name, inner, ignores)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(trees, st.lists(ignore_files, min_size=1, max_size=3)), min_size=1, max_size=4
    )
)
def test_the_walk_yields_what_git_lists(
    repository: Path, drawn: list[tuple[Tree, list[bytes]]]
) -> None:
    for number, (tree, ignores) in enumerate(drawn):
        lay(repository / str(number), tree, list(ignores))
    try:
        walked = [entry.path for part in walk(repository, WalkFilters()) for entry in part.entries]

        assert {path_to_bytes(path) for path in walked} == listed_by_git(repository)
        assert walked == sorted(walked)
    finally:
        for number in range(len(drawn)):
            shutil.rmtree(repository / str(number))
