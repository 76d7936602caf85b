"""The block about memory that `repofold init --memory` keeps in a repository's own files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.errors import Conflict
from ops import cli
from ops.commands.agents_file import END, START, managed_block, with_block, write_blocks

BLOCK = managed_block("acme/shop")


def written(folder: Path, **options: str) -> dict[str, str]:
    changes = write_blocks(folder, options, path=None, print_only=False)
    return {change.path.name: change.action for change in changes}


def test_a_missing_file_is_created_and_a_second_time_changes_nothing(tmp_path: Path) -> None:
    assert written(tmp_path) == {"AGENTS.md": "created"}
    text = (tmp_path / "AGENTS.md").read_text()

    assert text.startswith(START)
    assert text.rstrip().endswith(END)
    for promised in (
        "memory_suggest", "memory_size", "512 bytes", "Before you edit", "upsert_match", "expires_after_days",
        "area:", "topic:", "kind:", "scanned", "reviewed", "considered", "will persist",
    ):  # fmt: skip
        assert promised in text, promised
    assert written(tmp_path) == {"AGENTS.md": "unchanged"}
    assert [path.name for path in tmp_path.iterdir()] == ["AGENTS.md"]


@given(st.text("ab\n# ", max_size=60), st.text("ab\n# ", max_size=60))
def test_everything_around_the_block_is_kept(before: str, after: str) -> None:
    text = f"{before}{START}\nold\n{END}{after}"

    new = with_block(text, BLOCK)

    assert new == f"{before}{BLOCK}{after}"
    assert with_block(new, BLOCK) == new


def test_the_block_is_appended_once_and_duplicates_go(tmp_path: Path) -> None:
    text = with_block("# Mine\n\ntext\n", BLOCK)
    assert text == f"# Mine\n\ntext\n\n{BLOCK}\n"

    doubled = with_block(f"{text}\nmiddle\n{BLOCK}\nend\n", BLOCK)

    assert doubled.count(START) == doubled.count(END) == 1
    assert all(kept in doubled for kept in ("# Mine", "middle", "end"))


@pytest.mark.parametrize(
    "heading", ["# Project memory\n\nold rules\n", "\n## Project Memory: rules\n"]
)
def test_a_legacy_file_is_replaced(heading: str) -> None:
    assert with_block(heading, BLOCK) == f"{BLOCK}\n"


@pytest.mark.parametrize("text", [f"a\n{START}\nb\n", f"a\n{END}\n", f"{START}{START}{END}"])
def test_a_lonely_marker_is_refused_and_the_file_left(tmp_path: Path, text: str) -> None:
    (tmp_path / "AGENTS.md").write_text(text)

    with pytest.raises(Conflict):
        with_block(text, BLOCK)
    assert written(tmp_path) == {"AGENTS.md": "refused"}
    assert (tmp_path / "AGENTS.md").read_text() == text


def test_claude_md_gets_the_block_unless_it_leads_to_agents_md(tmp_path: Path) -> None:
    claude = tmp_path / "CLAUDE.md"
    claude.write_text("# Claude\r\n")
    assert written(tmp_path) == {"AGENTS.md": "created", "CLAUDE.md": "updated"}
    assert (tmp_path / "CLAUDE.md.bak").read_bytes() == b"# Claude\r\n"
    assert b"\r\n" in claude.read_bytes()
    assert b"\n\n" not in claude.read_bytes()

    claude.write_text("@AGENTS.md\n")
    assert written(tmp_path) == {"AGENTS.md": "unchanged"}
    claude.unlink()
    claude.symlink_to("AGENTS.md")
    assert written(tmp_path) == {"AGENTS.md": "unchanged"}


def test_the_variable_and_the_option_name_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert written(tmp_path, MACHINE_MEMORY_AGENTS_MD="docs/agents.md") == {"agents.md": "created"}
    assert not (tmp_path / "AGENTS.md").exists()
    monkeypatch.setenv("MACHINE_MEMORY_AGENTS_MD", "docs/agents.md")

    assert cli.main(["init", "--memory", "--path", "own.md", str(tmp_path)]) == 0

    assert (tmp_path / "own.md").read_text().startswith(START)


def test_a_link_out_of_the_project_is_refused(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside.md"
    project.mkdir()
    outside.write_text("mine")
    (project / "AGENTS.md").symlink_to(outside)

    assert written(project) == {"AGENTS.md": "refused"}
    assert outside.read_text() == "mine"


def test_the_slug_is_told_where_it_is_known(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(
        '[remote "origin"]\nurl = git@github.com:acme/shop.git\n'
    )

    written(tmp_path)

    assert "`acme/shop`" in (tmp_path / "AGENTS.md").read_text()
    assert "list_repositories" in managed_block("")


def test_init_without_anything_to_write_says_what_it_needs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["init"]) == cli.USAGE
    assert "--memory" in capsys.readouterr().err
