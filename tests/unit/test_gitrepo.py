"""History is read as git has it, and nothing is written or run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from contracts.errors import NotFound
from services.source.gitrepo import GitTree, git_tree, hashed_id, quick_head
from tests.gitrepo import new_repository


def git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), "-c", "user.email=a@example.org", "-c", "user.name=a"]
    done = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "inner").mkdir(parents=True)
    new_repository(root)
    (root / "a.py").write_text("a = 1\n")
    (root / "inner" / "b é.py").write_text("b = 1\n")
    (root / "link").symlink_to("a.py")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


def opened(root: Path) -> GitTree:
    found = git_tree(root)
    assert found is not None
    return found


def test_a_commit_is_read_without_touching_the_tree(root: Path) -> None:
    (root / "a.py").write_text("a = 2\n")
    index = (root / ".git" / "index").read_bytes()
    tree = opened(root)
    commit, branch = tree.head()
    blobs = tree.files(commit)

    assert quick_head(root) == (commit, branch)
    assert [blob.path for blob in blobs] == ["a.py", "inner/b é.py"]  # no link
    assert [data for _, data in tree.contents(blobs)] == [b"a = 1\n", b"b = 1\n"]
    assert tree.differing(commit) == {"a.py"}
    assert not tree.is_clean()
    assert (root / ".git" / "index").read_bytes() == index


def test_a_folder_of_a_repository_is_read_as_if_it_were_all(root: Path) -> None:
    (root / "a.py").write_text("a = 2\n")
    tree = opened(root / "inner")

    assert [blob.path for blob in tree.files(tree.head()[0])] == ["b é.py"]
    assert tree.differing("HEAD") == set()
    assert tree.is_clean()


def test_head_is_followed_through_branches_packs_worktrees_and_detachment(
    root: Path, tmp_path: Path
) -> None:
    commit = git(root, "rev-parse", "HEAD")
    git(root, "branch", "-M", "deep/name")
    assert quick_head(root) == (commit, "deep/name")
    git(root, "pack-refs", "--all")
    assert quick_head(root) == (commit, "deep/name")
    git(root, "worktree", "add", "-q", str(tmp_path / "other"), "-b", "other")
    assert quick_head(tmp_path / "other") == (commit, "other")
    git(root, "checkout", "-q", "--detach")
    assert quick_head(root) == (commit, "HEAD") == opened(root).head()


def test_revisions_are_resolved_and_options_are_not_taken_for_them(root: Path) -> None:
    tree = opened(root)
    commit = tree.head()[0]

    assert tree.resolve(commit[:8]) == tree.resolve("HEAD") == commit
    for wrong in ("nowhere", "--all", "-x", "a b", ""):
        with pytest.raises(NotFound):
            tree.resolve(wrong)


def test_nothing_that_the_configuration_names_is_run(root: Path, tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    script = tmp_path / "trap.sh"
    script.write_text(f"#!/bin/sh\ntouch '{trap}'\n")
    script.chmod(0o755)
    for name in ("core.fsmonitor", "diff.external", "core.pager", "core.sshCommand"):
        git(root, "config", name, str(script))
    trap.unlink(missing_ok=True)
    (root / "a.py").write_text("a = 3\n")
    tree = opened(root)

    tree.differing(tree.head()[0])
    tree.is_clean()

    assert not trap.exists()


def test_worktrees_of_a_repository_without_a_remote_have_one_id(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "-q", str(tmp_path / "beside"), "-b", "beside")
    (tmp_path / "beside" / "inner").mkdir(exist_ok=True)

    assert hashed_id("", tmp_path / "beside") == hashed_id("", root)
    assert hashed_id("", tmp_path / "beside" / "inner") == hashed_id("", root / "inner")
    assert hashed_id("", tmp_path) != hashed_id("", root)


def test_clones_of_one_remote_have_one_id(tmp_path: Path) -> None:
    ways = (
        "https://example.org/team/shop.git", "git@example.org:team/shop.git",
        "ssh://git@example.org/team/shop", "https://someone@EXAMPLE.org/team/shop/",
    )  # fmt: skip

    assert len({hashed_id(way, tmp_path) for way in ways}) == 1
    assert hashed_id("", tmp_path).startswith("local-")
    assert hashed_id("", tmp_path) != hashed_id("", tmp_path / "other")


def test_a_tree_without_git_has_no_history(tmp_path: Path) -> None:
    assert git_tree(tmp_path) is None
    assert quick_head(tmp_path) is None
