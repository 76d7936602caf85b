"""The slug of a working tree, read from git's own files."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.source.origin import origin_slug, slug_of_url


@pytest.mark.parametrize(
    ("url", "slug"),
    [
        ("git@github.com:acme/shop.git", "acme/shop"),
        ("https://github.com/acme/shop", "acme/shop"),
        ("https://user:secret@github.com/acme/shop.git", "acme/shop"),
        ("ssh://git@example.org:2222/acme/shop.git/", "acme/shop"),
        ("https://gitlab.com/group/sub/shop.git", "sub/shop"),
        ("/srv/git/shop.git", ""),
        ("../shop", ""),
        ("https://github.com/shop", ""),
        ("https://github.com/acme/sh op", ""),
        (f"https://github.com/acme/{'x' * 70}", ""),
        ("", ""),
    ],
)
def test_a_slug_is_the_end_of_the_address(url: str, slug: str) -> None:
    assert slug_of_url(url) == slug


def _config(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config").write_text(text)


def test_only_the_remote_named_origin_counts(tmp_path: Path) -> None:
    _config(
        tmp_path / ".git",
        '[core]\n\turl = https://github.com/no/no\n[remote "up"]\n\turl = https://github.com/up/stream\n'
        '[remote "origin"]\n\tfetch = +refs\n\turl = git@github.com:acme/shop.git\n[branch "main"]\n\turl = x\n',
    )

    assert origin_slug(tmp_path) == "acme/shop"


def test_a_worktree_is_called_like_its_main_tree(tmp_path: Path) -> None:
    main, tree = tmp_path / "main", tmp_path / "tree"
    _config(main / ".git", '[remote "origin"]\nurl = git@github.com:acme/shop.git\n')
    own = main / ".git" / "worktrees" / "tree"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {own}\n")

    assert origin_slug(tree) == "acme/shop"


def test_a_tree_without_git_or_origin_has_no_slug(tmp_path: Path) -> None:
    assert origin_slug(tmp_path) == ""
    _config(tmp_path / ".git", "[core]\n")
    assert origin_slug(tmp_path) == ""
    (tmp_path / ".git" / "config").unlink()
    (tmp_path / ".git" / "config").mkdir()
    assert origin_slug(tmp_path) == ""
