"""A walk yields what takes part, in order, whatever lies in the tree."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from contracts.errors import InvalidArgument, NotFound
from contracts.events.log import WalkFilters
from contracts.ids import RepoPath, path_from_bytes, path_to_bytes
from services.source.guard import RootReader, open_root
from services.source.rules import TreeRules
from services.source.walk import WalkPart, batches, visit, walk


def paths(root: Path, filters: WalkFilters = WalkFilters()) -> list[str]:  # noqa: B008
    return [entry.path for part in walk(root, filters) for entry in part.entries]


def fill(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


@pytest.fixture
def deep_name() -> bytes:
    """A path longer than the system takes in one call, and deeper than descriptors are kept for."""
    return b"/".join([b"d%03d" % number + b"x" * 20 for number in range(300)])


@pytest.fixture
def deep_root(tmp_path: Path, deep_name: bytes) -> Iterator[Path]:
    folder = os.open(tmp_path, os.O_RDONLY)
    for name in deep_name.split(b"/"):
        os.mkdir(name, dir_fd=folder)
        inner = os.open(name, os.O_RDONLY, dir_fd=folder)
        # A file on the way back up, so that folders closed meanwhile are needed again.
        os.mkdir(b"z", dir_fd=folder)
        os.close(os.open(b"z/f", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
        os.close(folder)
        folder = inner
    os.close(os.open(b"bottom", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
    os.close(folder)
    yield tmp_path
    shutil.rmtree(tmp_path / os.fsdecode(deep_name[:23]), ignore_errors=True)


def test_an_entry_tells_what_lstat_says(tmp_path: Path) -> None:
    fill(tmp_path, "src/a.py")
    status = (tmp_path / "src" / "a.py").lstat()

    (part,) = walk(tmp_path, WalkFilters())

    (entry,) = part.entries
    assert entry.path == "src/a.py"
    assert (entry.size_bytes, entry.mtime_ns, entry.inode) == (8, status.st_mtime_ns, status.st_ino)
    assert part.complete


def test_files_come_in_the_order_of_their_whole_paths(tmp_path: Path) -> None:
    names = ["a.b", "a/b", "a/b.c", "a/b/c", "a0", "a-b/c", "A", "é/x", "z", "日本", "a b"]
    fill(tmp_path, *[name for name in names if name != "a/b"])

    found = paths(tmp_path)

    assert found == sorted(set(names) - {"a/b"})


def test_the_whole_comes_in_parts_of_the_asked_size(tmp_path: Path) -> None:
    fill(tmp_path, *[f"d{number % 3}/{number}" for number in range(10)])

    parts = list(walk(tmp_path, WalkFilters(), batch_entries=4))

    assert [len(part.entries) for part in parts] == [4, 4, 2]
    joined = [entry.path for part in parts for entry in part.entries]
    assert joined == paths(tmp_path)


def test_an_empty_tree_is_one_empty_complete_part(tmp_path: Path) -> None:
    assert list(walk(tmp_path, WalkFilters())) == [WalkPart(())]


def test_git_folders_and_files_are_never_entered_or_yielded(tmp_path: Path) -> None:
    fill(tmp_path, ".git/config", "sub/.git", "sub/a", "deep/x/.git/HEAD", ".github/b")

    assert paths(tmp_path) == [".github/b", "sub/a"]


def test_links_are_not_followed_and_special_files_are_passed_over(tmp_path: Path) -> None:
    fill(tmp_path, "real/a")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").symlink_to("real/a")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "dangling").symlink_to("nothing")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))

        (part,) = walk(tmp_path, WalkFilters())

    assert [entry.path for entry in part.entries] == ["real/a"]
    assert part.complete


def test_names_of_any_bytes_come_back_as_they_are(tmp_path: Path) -> None:
    names = [
        b"caf\xe9",
        "café".encode(),
        b"new\nline",
        b"'q\"",
        b" s ",
        b"\xff/\xfe",
        "\uef80".encode(),
    ]
    for name in names:
        place = os.fsencode(tmp_path) + b"/" + name
        os.makedirs(os.path.dirname(place), exist_ok=True)
        Path(os.fsdecode(place)).write_bytes(name)

    found = paths(tmp_path)

    assert sorted(map(path_to_bytes, found)) == sorted(names)
    assert found == sorted(found)
    with RootReader(tmp_path) as reader:
        assert all(reader.read(RepoPath(p), 100).data == path_to_bytes(p) for p in found)


def test_ten_thousand_files_in_one_folder_all_come(tmp_path: Path) -> None:
    for number in range(10_000):
        os.close(os.open(tmp_path / f"{number}", os.O_CREAT))

    assert paths(tmp_path) == sorted(str(number) for number in range(10_000))


def test_paths_longer_than_the_system_takes_are_walked(deep_root: Path, deep_name: bytes) -> None:
    before = len(os.listdir("/proc/self/fd"))

    parts = list(walk(deep_root, WalkFilters()))

    found = [entry.path for part in parts for entry in part.entries]
    assert all(part.complete for part in parts)
    assert path_from_bytes(deep_name + b"/bottom") in found
    assert len(found) == 301
    assert found == sorted(found)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_walk_keeps_few_descriptors_open(deep_root: Path) -> None:
    most = 0
    root_fd = open_root(deep_root)

    def count(directory_fd: int, path: RepoPath) -> None:
        nonlocal most
        most = max(most, len(os.listdir("/proc/self/fd")))

    before = len(os.listdir("/proc/self/fd"))
    for _ in visit(root_fd, TreeRules(root_fd, WalkFilters()), on_directory=count):
        pass
    os.close(root_fd)

    assert most - before < 70


def test_a_walk_given_up_early_leaves_no_descriptor_open(tmp_path: Path) -> None:
    fill(tmp_path, "a/b/c", "a/b/d", "e")
    before = len(os.listdir("/proc/self/fd"))

    running = walk(tmp_path, WalkFilters(), batch_entries=1)
    next(running)
    running.close()  # type: ignore[attr-defined]

    assert len(os.listdir("/proc/self/fd")) == before


def test_ignored_and_excluded_folders_are_not_even_listed(tmp_path: Path) -> None:
    fill(tmp_path, "node_modules/a/b", "src/x", "old/y")
    (tmp_path / ".gitignore").write_text("node_modules/\n")
    listed: list[str] = []
    root_fd = open_root(tmp_path)
    rules = TreeRules(root_fd, WalkFilters(exclude=("old",)))

    for _ in visit(root_fd, rules, on_directory=lambda _, path: listed.append(path)):
        pass
    os.close(root_fd)

    assert listed == ["", "src"]


def test_include_globs_do_not_keep_a_folder_from_being_entered(tmp_path: Path) -> None:
    fill(tmp_path, "a/b/c.py", "a/b/c.txt", "d.py")

    assert paths(tmp_path, WalkFilters(include=("*.py",))) == ["a/b/c.py", "d.py"]


def test_a_part_of_the_tree_is_walked_under_the_rules_of_all_above_it(tmp_path: Path) -> None:
    fill(tmp_path, "a/b/x", "a/b/y", "a/b/c/x", "a/z", "gen/b/x")
    (tmp_path / ".gitignore").write_text("gen/\n")
    (tmp_path / "a" / ".gitignore").write_text("/b/x\n")
    root_fd = open_root(tmp_path)
    rules = TreeRules(root_fd, WalkFilters())

    def below(path: str) -> list[str]:
        return [item.path for item in visit(root_fd, rules, below=path)]

    assert below("a/b") == ["a/b/c/x", "a/b/y"]
    assert below("gen/b") == []
    assert below("none") == []
    os.close(root_fd)


def test_a_folder_that_vanishes_during_the_walk_is_no_trouble(tmp_path: Path) -> None:
    fill(tmp_path, "a/x", "b/x", "c/x")
    root_fd = open_root(tmp_path)

    def remove(directory_fd: int, path: RepoPath) -> None:
        if path == "a":
            shutil.rmtree(tmp_path / "b")
            (tmp_path / "b").symlink_to("c")

    found = list(visit(root_fd, TreeRules(root_fd, WalkFilters()), on_directory=remove))
    os.close(root_fd)

    assert [item.path for item in found] == ["a/x", "c/x"]


@contextmanager
def without_privilege() -> Iterator[None]:
    """Be an ordinary user for a while, as root may read everything."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_an_unreadable_folder_is_reported_and_makes_the_walk_incomplete(tmp_path: Path) -> None:
    fill(tmp_path, "a/x", "b/x", "c/d/x")
    root_fd = open_root(tmp_path)
    tmp_path.chmod(0o755)
    (tmp_path / "b").chmod(0)

    with without_privilege():
        parts = list(batches(visit(root_fd, TreeRules(root_fd, WalkFilters())), 1))

    (tmp_path / "b").chmod(0o755)
    os.close(root_fd)
    assert [entry.path for part in parts for entry in part.entries] == ["a/x", "c/d/x"]
    assert [trouble.path for part in parts for trouble in part.unreadable] == ["b"]
    assert not all(part.complete for part in parts)


def test_a_missing_root_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        list(walk(tmp_path / "none", WalkFilters()))


def test_a_dead_glob_stops_the_walk_before_it_starts(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument):
        list(walk(tmp_path, WalkFilters(exclude=("[",))))
