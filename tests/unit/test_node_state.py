"""The state directory: where it is, and what makes it unusable."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from contracts.errors import Forbidden, InvalidArgument, Unavailable
from ops.node import state
from ops.node.options import find_state
from ops.node.state import State


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("REPOFOLD_STATE", raising=False)


def test_every_set_of_roots_has_one_directory_whatever_their_order(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"

    assert state.default([one, two]) == state.default([two, one])
    assert len({state.default([one]), state.default([two]), state.default([one, two])}) == 3
    assert state.default([one]).parent == tmp_path / "home" / "repofold"
    assert state.default([one]).name.startswith("one-")


def test_a_folder_with_an_unspeakable_name_still_has_a_directory() -> None:
    name = state.default([Path("/a b\n'\udcff/…")]).name

    assert name.isascii()
    assert "/" not in name
    assert state.default([Path("/")]).name.startswith("root-")


def test_the_directory_is_private_and_asks_git_to_stay_out(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "state"

    State(root).prepare()

    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert (root / ".gitignore").read_text() == "*\n"


def test_rules_that_are_there_already_stay(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("build/\n")

    State(tmp_path).prepare()

    assert (tmp_path / ".gitignore").read_text() == "build/\n"


def test_a_file_in_its_place_is_said_to_be_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(InvalidArgument, match="is not a directory"):
        State(tmp_path / "file").prepare()
    with pytest.raises(InvalidArgument, match="is not a directory"):
        State(tmp_path / "file" / "below").prepare()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_is_refused_with_a_way_out(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(Forbidden, match="cannot be written") as caught:
            State(tmp_path).prepare()
    finally:
        tmp_path.chmod(0o700)

    assert "--state DIR" in caught.value.hint


def test_a_read_only_file_system_is_refused_with_a_way_out() -> None:
    with pytest.raises(Forbidden, match="cannot be written") as caught:
        State(Path("/proc/repofold")).prepare()

    assert "--state DIR" in caught.value.hint


def test_a_full_disk_is_refused_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=5 << 20))

    with pytest.raises(Unavailable, match="is full") as caught:
        State(tmp_path / "state").prepare()

    assert "free some space" in caught.value.hint
    assert State(tmp_path).is_full()


def test_only_folders_can_be_roots_and_each_counts_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path)

    assert state.resolve_roots([str(tmp_path), str(tmp_path / "link")]) == [tmp_path.resolve()]
    with pytest.raises(InvalidArgument, match="does not exist"):
        state.resolve_roots([str(tmp_path / "nowhere")])
    with pytest.raises(InvalidArgument, match="is not a directory"):
        state.resolve_roots([str(tmp_path / "file")])
    (foreign := tmp_path / os.fsdecode(b"latin-\xe9")).mkdir()
    with pytest.raises(InvalidArgument, match="not UTF-8"):
        state.resolve_roots([str(foreign)])


def test_a_command_finds_the_directory_from_a_folder_below_its_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    (tree / "inner").mkdir(parents=True)
    known = State(state.default([tree]))
    known.prepare()
    known.info.write_text(json.dumps({"pid": 0, "started_ms": 0, "roots": [str(tree)]}))
    monkeypatch.chdir(tree / "inner")

    assert find_state(None).root == known.root
    assert find_state(None, [str(tree / "inner")]).root == known.root
    assert find_state(None, [str(tree), str(tmp_path)]).root != known.root
    assert find_state(str(tmp_path / "named")).root == tmp_path / "named"
    monkeypatch.setenv("REPOFOLD_STATE", str(tmp_path / "by-variable"))
    assert find_state(None).root == tmp_path / "by-variable"
