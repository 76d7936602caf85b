"""A .gitignore means what git says it means, line by line; globs mean what the reference says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from contracts.errors import InvalidArgument
from contracts.events.log import WalkFilters
from contracts.ids import RepoPath, path_from_bytes
from services.source.guard import open_root
from services.source.ignore import compile_globs, parse_lines
from services.source.rules import TreeRules
from tests.gitrepo import listed_by_git, new_repository

# What the .gitignore at the root holds, a file of the tree, whether git leaves that file out.
CASES = [
    (b"# a comment\nfoo", b"foo", True),
    (b"\\#a", b"#a", True),
    (b"#a", b"#a", False),
    (b"\n\nfoo\n\n", b"foo", True),
    (b"!foo", b"foo", False),
    (b"\\!a", b"!a", True),
    (b"foo\n!foo", b"foo", False),
    (b"!foo\nfoo", b"foo", True),
    (b"/foo", b"foo", True),
    (b"/foo", b"x/foo", False),
    (b"x/foo", b"x/foo", True),
    (b"x/foo", b"y/x/foo", False),
    (b"foo/", b"foo", False),
    (b"foo/", b"foo/a", True),
    (b"foo", b"x/foo/a", True),
    (b"x/", b"y/x/a", True),
    (b"[ab].c", b"a.c", True),
    (b"[!ab].c", b"a.c", False),
    (b"[^ab].c", b"c.c", True),
    (b"[a-c].c", b"b.c", True),
    (b"[c-a].c", b"b.c", False),
    (b"[!c-a].c", b"b.c", True),
    (b"[]a].c", b"].c", True),
    (b"[]-].c", b"-.c", True),
    (b"[a-].c", b"-.c", True),
    (b"[!]a-].c", b"b.c", True),
    (b"[a-c-e]", b"d", False),
    (b"[a-c-e]", b"-", True),
    (b"[\\]]x", b"]x", True),
    (b"[a\\-c]", b"b", False),
    (b"[a\\-c]", b"-", True),
    (b"[\\a-\\c]", b"b", True),
    (b"[[:alpha:]]x", b"qx", True),
    (b"[[:digit:][:space:]]x", b" x", True),
    (b"[![:digit:]]x", b"5x", False),
    (b"[[:nope:]]", b"n", False),
    (b"[[:alpha]", b"a", True),
    (b"[[:a]", b"a", True),
    (b"[[:]a]", b"[a]", True),
    (b"[a", b"[a", False),
    (b"a[", b"a[", False),
    (b"[", b"[", False),
    (b"a[/]b", b"a/b", False),
    (b"a[!x]b", b"a/b", False),
    (b"a?b", b"a/b", False),
    (b"a*b", b"a/b", False),
    (b"*.o", b"x/y.o", True),
    (b"*", b"a", True),
    (b"*/", b"a", False),
    (b"*/", b"a/b", True),
    (b"?.c", b"ab.c", False),
    (b"a?", b"ab", True),
    (b"/*.c", b"a.c", True),
    (b"/*.c", b"x/a.c", False),
    (b"**/foo", b"foo", True),
    (b"**/foo", b"x/y/foo", True),
    (b"foo/**", b"foo/a", True),
    (b"foo/**/bar", b"foo/bar", True),
    (b"foo/**/bar", b"foo/x/y/bar", True),
    (b"a/**b", b"a/x/b", False),
    (b"a/**b", b"a/xb", True),
    (b"**", b"a", True),
    (b"**/", b"a", False),
    (b"**/", b"a/b", True),
    (b"foo**/bar", b"foobar", True),
    (b"foo**/bar", b"foo1/x/bar", True),
    (b"f[o]o**/bar", b"foo1/x/bar", False),
    (b"**/x/**/y", b"x/y", True),
    (b"**/x/**/y", b"a/x/b/c/y", True),
    (b"a**\\/b", b"a/c/b", True),
    (b"**\\/b", b"b", False),
    (b"**\\/b", b"x/b", True),
    (b"a/b\\/c", b"a/b/c", True),
    (b"a//b", b"a/b", False),
    (b"//a", b"a", False),
    (b"/", b"a", False),
    (b"foo//", b"foo/a", False),
    (b"x\\", b"x", False),
    (b"x\\", b"x\\", False),
    (b"a\\\\b", b"a\\b", True),
    (b"\\a", b"a", True),
    (b"\\*", b"*", True),
    (b"\\*", b"a", False),
    (b"foo ", b"foo", True),
    (b"foo ", b"foo ", False),
    (b"foo\\ ", b"foo ", True),
    (b"foo\\  ", b"foo ", True),
    (b"foo\\\\ ", b"foo\\", True),
    (b" foo", b" foo", True),
    (b" foo", b"foo", False),
    (b"foo\t", b"foo", False),
    (b"foo\t", b"foo\t", True),
    (b"   ", b"   ", False),
    (b"foo\r\n", b"foo", True),
    (b"foo\r\r\n", b"foo", False),
    (b"foo\r\r\n", b"foo\r", True),
    (b"foo \r\n", b"foo", True),
    (b"\xef\xbb\xbffoo", b"foo", True),
    (b"x\n\xef\xbb\xbffoo", b"foo", False),
    (b"fo\x00o", b"fo", True),
    (b"?.t", b"\xc3\xa9.t", False),
    (b"??.t", b"\xc3\xa9.t", True),
    (b"\xe9", b"\xe9", True),
    (b"[\xe0-\xef]", b"\xe9", True),
    (b"[\xc3\xa9].t", b"\xc3\xa9.t", False),
    (b"Foo", b"foo", False),
    (b"/x/**\n!/x/y", b"x/y/z", True),
    (b"/x/*\n!/x/y", b"x/y/z", False),
    (b"/x/*\n!/x/y", b"x/a", True),
    (b"x\n!x/y", b"x/y", True),
    (b"x/\n!x", b"x/y", False),
    (b"!x/\nx", b"x/y", True),
    (b"a\nb\n!*", b"b", False),
    (b"*\n!*/\n!*.c", b"d/a.c", False),
    (b"*\n!*/\n!*.c", b"d/a.o", True),
    (b"new\nline", b"new\nline", False),
    (b"a*a*b", b"aXaXb", True),
    (b"a*a*b", b"aXb", False),
    (b"x/*a*/b", b"x/a/b", True),
    (b"x/*a*/b", b"x/bab/b", True),
    (b"x/*a*/b", b"x/a/c/b", False),
]


def lay(folder: Path, lines: bytes, path: bytes) -> None:
    place = os.fsencode(folder) + b"/" + path
    os.makedirs(os.path.dirname(place), exist_ok=True)
    Path(os.fsdecode(place)).write_bytes(b"")
    (folder / ".gitignore").write_bytes(lines)


def takes_part(folder: Path, path: bytes, filters: WalkFilters = WalkFilters()) -> bool:  # noqa: B008
    root_fd = open_root(folder)
    try:
        return TreeRules(root_fd, filters).eligible(path_from_bytes(path), is_directory=False)
    finally:
        os.close(root_fd)


@pytest.mark.parametrize(("lines", "path", "ignored"), CASES)
def test_a_line_decides_as_git_does(
    tmp_path: Path, lines: bytes, path: bytes, ignored: bool
) -> None:
    lay(tmp_path, lines, path)

    assert takes_part(tmp_path, path) is not ignored


def test_git_itself_decides_every_case_as_the_table_says(tmp_path: Path) -> None:
    new_repository(tmp_path)
    for number, (lines, path, _) in enumerate(CASES):
        (tmp_path / str(number)).mkdir()
        lay(tmp_path / str(number), lines, path)

    listed = listed_by_git(tmp_path)

    for number, (lines, path, ignored) in enumerate(CASES):
        assert (b"%d/%s" % (number, path) not in listed) is ignored, (lines, path)


def test_a_deeper_gitignore_beats_a_shallower_one(tmp_path: Path) -> None:
    lay(tmp_path, b"*.log\n!keep.log\n", b"a/x.log")
    lay(tmp_path / "a", b"!x.log\nkeep.log\n", b"keep.log")

    assert takes_part(tmp_path, b"a/x.log")
    assert not takes_part(tmp_path, b"a/keep.log")
    assert takes_part(tmp_path, b"keep.log")


def test_an_anchor_counts_from_the_folder_of_its_own_gitignore(tmp_path: Path) -> None:
    lay(tmp_path, b"", b"a/b/out/x")
    lay(tmp_path / "a", b"/b/out\n", b"out/x")

    assert not takes_part(tmp_path, b"a/b/out/x")
    assert takes_part(tmp_path, b"a/out/x")


def test_a_gitignore_below_an_excluded_folder_re_includes_nothing(tmp_path: Path) -> None:
    lay(tmp_path, b"out/\n", b"out/x")
    lay(tmp_path / "out", b"!*\n", b"x")

    assert not takes_part(tmp_path, b"out/x")


def test_a_gitignore_that_is_a_link_or_a_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("a\n")
    (tmp_path / ".gitignore").symlink_to("rules")
    (tmp_path / "d" / ".gitignore").mkdir(parents=True)

    assert takes_part(tmp_path, b"a")
    assert takes_part(tmp_path, b"d/a")


def test_gitignore_files_are_not_regarded_when_the_filters_say_so(tmp_path: Path) -> None:
    lay(tmp_path, b"*", b"a/x")

    assert takes_part(tmp_path, b"a/x", WalkFilters(respect_gitignore=False))


def test_nothing_in_or_named_git_takes_part(tmp_path: Path) -> None:
    assert not takes_part(tmp_path, b".git/config")
    assert not takes_part(tmp_path, b"sub/.git")
    assert takes_part(tmp_path, b".github/x.yml")


def test_rules_are_remembered_until_they_are_forgotten(tmp_path: Path) -> None:
    lay(tmp_path / "a", b"x\n", b"b/x")
    root_fd = open_root(tmp_path)
    rules = TreeRules(root_fd, WalkFilters())
    assert not rules.eligible(RepoPath("a/b/x"), is_directory=False)
    (tmp_path / "a" / ".gitignore").write_bytes(b"y\n")
    assert not rules.eligible(RepoPath("a/b/x"), is_directory=False)

    rules.forget("a")

    assert rules.eligible(RepoPath("a/b/x"), is_directory=False)
    assert not rules.eligible(RepoPath("a/b/y"), is_directory=False)
    os.close(root_fd)


@pytest.mark.parametrize(
    "line",
    [
        b"*a*a*a*a*a*a*a*a*a*a*b",
        b"**/*a*a*a*a*a*a*a*a*a*/b",
        b"/" + b"**/a/" * 12 + b"b",
        b"x/" + b"[!b]*" * 40 + b"c",
    ],
)
def test_a_pattern_of_many_wildcards_comes_to_an_end(tmp_path: Path, line: bytes) -> None:
    (tmp_path / ".gitignore").write_bytes(line)

    assert takes_part(tmp_path, b"a" * 250)
    assert takes_part(tmp_path, b"a/" * 200 + b"c")
    assert takes_part(tmp_path, b"x/" + b"a" * 250)


def test_lines_that_can_match_nothing_are_left_out() -> None:
    assert parse_lines(b"# note\n\n   \n/\nx\\\n[z\n") == []


@pytest.mark.parametrize(
    ("globs", "path", "selected"),
    [
        (("*.py",), "a/b.py", True),
        (("*.py",), "a/b.pyc", False),
        (("src",), "src/a/b.c", True),
        (("src/",), "src", False),
        (("src/",), "x/src/b", True),
        (("/src",), "x/src/b", False),
        (("./src",), "src/b", True),
        (("./src",), "x/src/b", False),
        (("src/**/*.c",), "src/a.c", True),
        (("src/*.c",), "src/x/a.c", False),
        (("a?c",), "aéc", True),
        (("[à-ü]*",), "école", True),
        (("*.py", "!test_*"), "test_a.py", False),
        (("!test_*", "*.py"), "test_a.py", True),
        (("#a",), "#a", True),
        (("a ",), "a ", True),
        (("docs/**",), "docs/a", True),
        (("docs/**",), "docs2/a", False),
    ],
)
def test_a_glob_selects_what_it_matches_and_all_below(
    globs: tuple[str, ...], path: str, selected: bool
) -> None:
    spec = compile_globs(globs)

    assert spec is not None
    assert spec.match_file(path) is selected


@pytest.mark.parametrize("glob", ["", "/", "a[", "x\\", "a\0b", "!"])
def test_a_glob_that_can_match_nothing_is_refused(glob: str) -> None:
    with pytest.raises(InvalidArgument, match="can never match"):
        compile_globs((glob,))


def test_exclude_beats_include_and_both_need_the_gitignore(tmp_path: Path) -> None:
    lay(tmp_path, b"gen\n", b"src/a.py")
    filters = WalkFilters(include=("*.py", "docs/"), exclude=("*_test.py", "docs/old"))

    assert takes_part(tmp_path, b"src/a.py", filters)
    assert takes_part(tmp_path, b"docs/x.txt", filters)
    assert not takes_part(tmp_path, b"src/a_test.py", filters)
    assert not takes_part(tmp_path, b"docs/old/x.py", filters)
    assert not takes_part(tmp_path, b"src/a.c", filters)
    assert not takes_part(tmp_path, b"src/gen/a.py", filters)
