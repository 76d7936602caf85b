"""Files are read below the root and nowhere else; a read tells what it saw."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.errors import Fault, Forbidden, InvalidArgument, NotFound
from contracts.ids import RepoPath, path_from_bytes
from services.source.digest import digest_of
from services.source.guard import (
    RootReader,
    open_beneath,
    open_directory_beneath,
    resolve_root,
    stat_beneath,
)

LIMIT = 1_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_bytes(b"print()\n")
    (tmp_path / "secret").write_bytes(b"secret")
    return folder


@pytest.fixture
def reader(root: Path) -> Iterator[RootReader]:
    with RootReader(root) as opened:
        yield opened


def refusal(reader: RootReader, path: bytes) -> Fault:
    with pytest.raises(Fault) as caught:
        open_beneath(reader.fd, path)
    assert caught.value.hint
    return caught.value


def test_a_read_tells_content_size_mtime_and_inode(root: Path, reader: RootReader) -> None:
    status = (root / "src" / "a.py").stat()

    result = reader.read(RepoPath("src/a.py"), LIMIT)

    assert result.data == b"print()\n"
    assert result.whole
    assert (result.size, result.mtime_ns, result.inode) == (8, status.st_mtime_ns, status.st_ino)


def test_a_long_file_is_read_up_to_the_limit_and_says_so(root: Path, reader: RootReader) -> None:
    (root / "long").write_bytes(b"x" * 5_000)

    result = reader.read(RepoPath("long"), 100)

    assert (result.data, result.size, result.whole) == (b"x" * 100, 5_000, False)


def test_a_file_of_any_length_has_a_digest(root: Path, reader: RootReader) -> None:
    content = os.urandom(3_000_001)
    (root / "long").write_bytes(content)

    digest, head = reader.digest(RepoPath("long"), 10)

    assert digest == digest_of(content)
    assert (head.data, head.size) == (content[:10], len(content))


def test_a_write_after_the_read_never_looks_older_than_the_anchor(
    root: Path, reader: RootReader
) -> None:
    for number in range(200):
        result = reader.read(RepoPath("src/a.py"), LIMIT)
        (root / "src" / "a.py").write_bytes(b"%08d" % number)

        assert (root / "src" / "a.py").stat().st_mtime_ns >= result.anchor_ns


def test_an_untouched_file_is_older_than_the_anchor(root: Path, reader: RootReader) -> None:
    os.utime(root / "src" / "a.py", ns=(0, time.time_ns() - 5_000_000_000))

    result = reader.read(RepoPath("src/a.py"), LIMIT)

    assert result.mtime_ns < result.anchor_ns


def test_whole_second_stamps_get_an_anchor_two_seconds_back(root: Path, reader: RootReader) -> None:
    now = time.time_ns()
    os.utime(root / "src" / "a.py", ns=(now, now // 1_000_000_000 * 1_000_000_000))

    result = reader.read(RepoPath("src/a.py"), LIMIT)

    assert result.anchor_ns < now - 1_000_000_000


@pytest.mark.parametrize(
    "path", [b"../secret", b"src/../../secret", b"..", b"/etc/hosts", b"src/.."]
)
def test_a_path_that_leaves_the_root_is_refused(reader: RootReader, path: bytes) -> None:
    fault = refusal(reader, path)

    assert isinstance(fault, Forbidden)
    assert fault.details["reason"] == "outside"


@pytest.mark.parametrize("path", [b"", b"src//a.py", b"./src/a.py", b"src/a.py/", b"src/a\0.py"])
def test_a_path_that_is_not_plain_is_refused(reader: RootReader, path: bytes) -> None:
    assert isinstance(refusal(reader, path), InvalidArgument)


def test_a_symbolic_link_is_followed_nowhere_on_the_way(root: Path, reader: RootReader) -> None:
    (root / "link").symlink_to("src/a.py")
    (root / "out").symlink_to("../secret")
    (root / "folder").symlink_to("src")
    (root / "src" / "up").symlink_to("..")

    for path in (b"link", b"out", b"folder/a.py", b"src/up/src/a.py"):
        fault = refusal(reader, path)
        assert isinstance(fault, Forbidden)
        assert fault.details["reason"] == "symlink"


def test_only_regular_files_are_opened(root: Path, reader: RootReader) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "socket"))

        for path in (b"pipe", b"socket", b"src"):
            fault = refusal(reader, path)
            assert isinstance(fault, Forbidden)
            assert fault.details["reason"] == "not_regular"


@pytest.mark.parametrize("path", [b"none", b"none/a", b"src/a.py/below", b"src/" + b"n" * 300])
def test_what_is_not_there_is_not_found(reader: RootReader, path: bytes) -> None:
    assert isinstance(refusal(reader, path), NotFound)


def test_names_of_any_bytes_and_paths_of_any_length_are_read(
    root: Path, reader: RootReader
) -> None:
    folder = os.open(root, os.O_RDONLY)
    for _ in range(30):
        os.mkdir(b"d" * 199 + b"\xff", dir_fd=folder)
        inner = os.open(b"d" * 199 + b"\xff", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    file = os.open(b"\xe9\n", os.O_WRONLY | os.O_CREAT, dir_fd=folder)
    os.write(file, b"deep")
    os.close(file)
    os.close(folder)

    path = path_from_bytes(b"/".join([b"d" * 199 + b"\xff"] * 30 + [b"\xe9\n"]))

    assert reader.read(path, LIMIT).data == b"deep"


def test_a_replaced_folder_is_read_as_it_is_now(root: Path, reader: RootReader) -> None:
    assert reader.read(RepoPath("src/a.py"), LIMIT).data == b"print()\n"
    (root / "src").rename(root / "old")
    (root / "src").mkdir()
    (root / "src" / "a.py").write_bytes(b"new")

    assert reader.read(RepoPath("src/a.py"), LIMIT).data == b"new"


def test_no_descriptor_is_left_open_whatever_happens(root: Path, reader: RootReader) -> None:
    (root / "link").symlink_to("src")
    before = len(os.listdir("/proc/self/fd"))

    reader.read(RepoPath("src/a.py"), LIMIT)
    for path in (b"src/none", b"link/a.py", b"src/a.py/x", b"src", b"../x"):
        refusal(reader, path)
    os.close(open_directory_beneath(reader.fd, b""))

    assert len(os.listdir("/proc/self/fd")) == before


def test_a_stat_does_not_look_through_links(root: Path, reader: RootReader) -> None:
    (root / "folder").symlink_to("src")

    found = stat_beneath(reader.fd, b"src/a.py")

    assert found is not None
    assert found.st_size == 8
    assert stat_beneath(reader.fd, b"folder/a.py") is None
    for nowhere in (
        b"src/none",
        b"src/a.py/b",
        b"x" * 300,
        b"x" * 300 + b"/a.py",
        b"s/" * 3000 + b"a",
    ):
        assert stat_beneath(reader.fd, nowhere) is None


def test_a_root_inside_the_workspace_is_resolved(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to("repository")

    for path in (root, "repository", "./repository/src/..", tmp_path / "alias", "alias"):
        assert resolve_root(path, [tmp_path]) == root.resolve()
    assert resolve_root(tmp_path, [tmp_path]) == tmp_path.resolve()


def test_the_first_workspace_root_that_has_the_folder_wins(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()

    assert resolve_root("repository", [other, tmp_path]) == root.resolve()


def test_a_root_outside_is_refused_in_the_same_words_whether_it_exists_or_not(
    root: Path, tmp_path: Path
) -> None:
    (root / "out").symlink_to(tmp_path / "secret")
    (root / "dangling").symlink_to(tmp_path / "nothing")
    (tmp_path / "repository2").mkdir()

    for path in (
        "..",
        "../secret",
        "../nothing",
        tmp_path,
        "/etc",
        "/nothing",
        "out",
        "dangling",
        "../repository2",
    ):
        with pytest.raises(Forbidden) as caught:
            resolve_root(path, [root])
        assert caught.value.message == f"{os.fspath(path)!r} lies outside the workspace"


def test_a_root_that_is_no_folder_is_not_found(root: Path, tmp_path: Path) -> None:
    for path in ("none", "repository/src/a.py"):
        with pytest.raises(NotFound):
            resolve_root(path, [tmp_path])


@pytest.mark.parametrize("path", ["", "  ", "a\0b"])
def test_a_root_that_is_no_path_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(InvalidArgument):
        resolve_root(path, [tmp_path])


def test_without_a_workspace_root_every_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Forbidden):
        resolve_root(tmp_path, [])


def test_a_missing_root_is_told_with_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        RootReader(tmp_path / "none")

    assert caught.value.hint
