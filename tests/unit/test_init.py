"""Does `repofold init` add its entry and leave the rest alone?"""

from __future__ import annotations

import argparse
import json
import re
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from contracts.errors import Conflict, InvalidArgument
from ops.commands import init as command
from ops.commands.client_files import merged_json, merged_toml
from ops.commands.init import CLIENTS, FileChange, init

JSON_CLIENTS = [name for name, client in CLIENTS.items() if not client.is_toml]
ENTRY = {"command": "repofold", "args": ["mcp"]}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    return path


def one(client: str, project: Path, home: Path, **options: Any) -> FileChange:
    (change,) = init(client, target_dir=project, home=home, **options)
    return change


def entry(client: str, path: Path) -> dict[str, Any]:
    text = path.read_text()
    document = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    found: dict[str, Any] = document[CLIENTS[client].section]["repofold"]
    return found


# --------------------------------------------------------------------------- writing


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("scope", ["project", "user"])
def test_a_missing_file_is_made(client: str, scope: Any, project: Path, home: Path) -> None:
    change = one(client, project, home, scope=scope)

    assert change.action == "created"
    assert change.path.is_relative_to(project if scope == "project" else home)
    assert entry(client, change.path)["command"] == "repofold"
    assert entry(client, change.path)["args"][0] == "mcp"


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_doing_it_again_changes_nothing(
    client: str, transport: Any, project: Path, home: Path
) -> None:
    first = one(client, project, home, transport=transport)
    before = first.path.read_bytes()

    again = one(client, project, home, transport=transport)

    assert (again.action, again.backup) == ("unchanged", None)
    assert first.path.read_bytes() == before
    assert [p.name for p in first.path.parent.iterdir() if p.is_file()] == [first.path.name]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_token_is_named_and_never_written(
    client: str, project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPOFOLD_TOKEN", "rf-admin-secret")

    change = one(client, project, home, transport="http", url="http://127.0.0.1:9/mcp")

    assert "rf-admin-secret" not in change.text
    assert "REPOFOLD_TOKEN" in change.text
    assert "http://127.0.0.1:9/mcp" in change.text


def test_each_client_refers_to_the_token_in_its_own_way(project: Path, home: Path) -> None:
    written = {
        c.client: entry(c.client, c.path)
        for c in init("all", target_dir=project, home=home, transport="http")
    }

    assert written["claude-code"]["headers"] == {"Authorization": "Bearer ${REPOFOLD_TOKEN}"}
    assert written["cursor"]["headers"] == {"Authorization": "Bearer ${env:REPOFOLD_TOKEN}"}
    assert written["vscode"]["headers"] == {"Authorization": "Bearer ${input:repofold-token}"}
    assert written["gemini"]["headers"] == {"Authorization": "Bearer $REPOFOLD_TOKEN"}
    assert written["codex"]["bearer_token_env_var"] == "REPOFOLD_TOKEN"


def test_the_input_of_vs_code_is_declared_once(project: Path, home: Path) -> None:
    path = project / ".vscode/mcp.json"
    path.parent.mkdir()
    path.write_text('{"inputs": [{"id": "other", "type": "promptString"}]}')

    one("vscode", project, home, transport="http")
    one("vscode", project, home, transport="http")

    assert [item["id"] for item in json.loads(path.read_text())["inputs"]] == [
        "other",
        "repofold-token",
    ]


def test_printing_writes_nothing(project: Path, home: Path) -> None:
    changes = init("all", target_dir=project, home=home, print_only=True)

    assert [change.action for change in changes] == ["created"] * len(CLIENTS)
    assert all("repofold" in change.text for change in changes)
    assert list(project.iterdir()) == []


def test_all_clients_of_a_user_means_those_in_use(project: Path, home: Path) -> None:
    (home / ".cursor").mkdir()
    (home / ".claude.json").write_text("{}")

    actions = {c.client: c.action for c in init("all", target_dir=project, home=home, scope="user")}

    assert actions == {
        "claude-code": "updated", "codex": "skipped", "cursor": "created", "vscode": "skipped", "gemini": "skipped",
    }  # fmt: skip


def test_a_folder_that_does_not_exist_is_refused_and_not_made(project: Path, home: Path) -> None:
    with pytest.raises(InvalidArgument, match="not a directory"):
        init("codex", target_dir=project / "nowhere", home=home)

    assert list(project.iterdir()) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_is_given_the_program_that_it_can_find(
    client: str, project: Path, home: Path
) -> None:
    change = one(client, project, home, command="/opt/fold/bin/repofold")

    assert entry(client, change.path)["command"] == "/opt/fold/bin/repofold"


def test_the_plain_name_needs_a_search_path_that_every_program_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, outside = tmp_path / "venv" / "bin", tmp_path / "bin"
    for folder in (inside, outside):
        folder.mkdir(parents=True)
    own = inside / "repofold"
    own.touch(0o755)
    (outside / "repofold").symlink_to(own)
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(inside))
    monkeypatch.setattr("sys.prefix", str(inside.parent))

    monkeypatch.setenv("PATH", str(inside))
    assert command.own_command() == str(own)
    monkeypatch.setenv("PATH", str(outside))
    assert command.own_command() == "repofold"
    monkeypatch.setenv("PATH", "")
    assert command.own_command() == str(own)


def test_an_unknown_client_is_refused(project: Path, home: Path) -> None:
    with pytest.raises(InvalidArgument, match="emacs"):
        init("emacs", target_dir=project, home=home)


# --------------------------------------------------------------------------- merging


@pytest.mark.parametrize("client", JSON_CLIENTS)
def test_what_a_json_file_holds_stays(client: str, project: Path, home: Path) -> None:
    section = CLIENTS[client].section
    path = project / CLIENTS[client].project
    path.parent.mkdir(exist_ok=True)
    old = {"theme": "dark", section: {"other": {"command": "x", "env": {"É": "1"}}}, "last": [1, 2]}
    path.write_text(json.dumps(old, indent=4, ensure_ascii=False))

    change = one(client, project, home)

    new = json.loads(path.read_text())
    assert list(new) == ["theme", section, "last"]
    assert new[section].pop("repofold")
    assert new == old
    assert '\n    "theme"' in path.read_text()
    assert change.backup is not None
    assert json.loads(change.backup.read_text()) == old


CODEX = """\
# my settings
model = "o9"   # the good one

[mcp_servers.other]
command = "x"
args = ["a]b"]

[profiles.fast]
model = "small"
"""


def test_what_a_toml_file_holds_stays_with_its_comments(project: Path, home: Path) -> None:
    path = project / ".codex/config.toml"
    path.parent.mkdir()
    path.write_text(CODEX)

    change = one("codex", project, home)

    assert path.read_text().startswith(CODEX)
    assert entry("codex", path)["startup_timeout_sec"] > 10
    assert change.backup is not None
    assert change.backup.read_text() == CODEX


def test_a_file_with_comments_is_left_alone_with_the_entry_to_add(
    project: Path, home: Path
) -> None:
    path = project / ".vscode/mcp.json"
    path.parent.mkdir()
    path.write_text('{\n  // mine\n  "servers": {}\n}')

    change = one("vscode", project, home)

    assert change.action == "refused"
    assert "comments" in change.note
    assert '"command": "repofold"' in change.note
    assert path.read_text() == '{\n  // mine\n  "servers": {}\n}'
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "text",
    ["[]", '{"servers": []}', '{"servers": {}, "servers": {}}', "{", '"x"'],
    ids=["list", "section", "twice", "cut", "text"],
)
def test_a_file_of_another_shape_is_left_alone(text: str, project: Path, home: Path) -> None:
    path = project / ".vscode/mcp.json"
    path.parent.mkdir()
    path.write_text(text)

    assert one("vscode", project, home).action == "refused"
    assert path.read_text() == text


@pytest.mark.parametrize(
    "text",
    ["mcp_servers = {}\n", 'mcp_servers = "x"\n', "a = \n"],
    ids=["inline", "text", "broken"],
)
def test_toml_that_cannot_be_added_to_is_left_alone(text: str, project: Path, home: Path) -> None:
    path = project / ".codex/config.toml"
    path.parent.mkdir()
    path.write_text(text)

    assert one("codex", project, home).action == "refused"
    assert path.read_text() == text


@pytest.mark.parametrize("client", CLIENTS)
def test_another_entry_of_our_name_is_replaced_only_by_force(
    client: str, project: Path, home: Path
) -> None:
    path = one(client, project, home, transport="http").path

    kept = one(client, project, home)
    forced = one(client, project, home, force=True)

    assert (kept.action, forced.action) == ("refused", "updated")
    assert "--force" in kept.note
    assert entry(client, path)["command"] == "repofold"
    assert "url" not in entry(client, path)


def test_replacing_a_toml_entry_takes_its_subtables_and_nothing_else() -> None:
    text = (
        CODEX
        + '\n[mcp_servers.repofold]\nurl = "http://old"\n\n[mcp_servers.repofold.env]\nA = "1"\n'
        + '\n[mcp_servers.repofolder]\ncommand = "y"\n'
    )

    new = tomllib.loads(merged_toml(text, "mcp_servers", "repofold", ENTRY, force=True))

    assert new["mcp_servers"]["repofold"] == ENTRY
    assert new["mcp_servers"]["repofolder"] == {"command": "y"}
    assert new["profiles"] == {"fast": {"model": "small"}}


def test_a_table_header_inside_a_text_is_not_taken_for_one() -> None:
    text = 'note = """\n[mcp_servers.repofold]\nkeep me\n"""\n[mcp_servers.repofold]\nurl = "http://old"\n'

    with pytest.raises(Conflict):
        merged_toml(text, "mcp_servers", "repofold", ENTRY, force=True)


def test_line_ends_tabs_and_byte_order_mark_are_understood(project: Path, home: Path) -> None:
    path = project / ".mcp.json"
    path.write_bytes(b'\xef\xbb\xbf{\r\n\t"a": 1\r\n}\r\n')

    one("claude-code", project, home)

    data = path.read_bytes()
    assert data.startswith(b'{\r\n\t"a": 1,\r\n\t"mcpServers"')
    assert data.count(b"\n") == data.count(b"\r\n")


def test_an_empty_file_is_filled() -> None:
    assert json.loads(merged_json("\n", "mcpServers", "repofold", ENTRY, force=False)) == {
        "mcpServers": {"repofold": ENTRY}
    }


# --------------------------------------------------------------------------- files


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links of POSIX")
def test_mode_and_link_of_the_file_stay(project: Path, home: Path) -> None:
    real = home / "dotfiles" / "codex.toml"
    real.parent.mkdir()
    real.write_text(CODEX)
    real.chmod(0o600)
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").symlink_to(real)

    one("codex", project, home, scope="user")

    assert (home / ".codex/config.toml").is_symlink()
    assert "repofold" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
def test_a_project_cannot_lead_the_write_elsewhere(project: Path, home: Path) -> None:
    (project / ".cursor").symlink_to(home)

    assert one("cursor", project, home).action == "refused"
    assert list(home.iterdir()) == []


def test_an_earlier_backup_is_kept(project: Path, home: Path) -> None:
    path = project / ".mcp.json"
    path.write_text("{}")
    path.with_name(".mcp.json.bak").write_text("the first")

    change = one("claude-code", project, home)

    assert change.backup == path.resolve().with_name(".mcp.json.bak1")
    assert path.with_name(".mcp.json.bak").read_text() == "the first"


# --------------------------------------------------------------------------- command line


def invoke(*arguments: str, as_json: bool = False) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true", default=as_json)
    command.add_arguments(parser)
    return command.run(parser.parse_args(arguments))


def test_the_command_says_what_it_did(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke("--client", "claude-code", "--transport", "http", str(project)) == 0

    said = capsys.readouterr().out
    assert f"Claude Code: {project / '.mcp.json'} created" in said
    assert "set REPOFOLD_TOKEN" in said


def test_the_command_shows_what_it_would_write(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke("--client", "gemini", "--print", str(project)) == 0

    said = capsys.readouterr().out
    assert "would be created" in said
    assert re.search(r'"command": "([^"]*/)?repofold"', said)
    assert list(project.iterdir()) == []


def test_the_command_fails_when_a_file_was_left_alone(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / ".mcp.json").write_text("// mine")

    assert invoke("--client", "all", str(project), as_json=True) == 1

    actions = {change["client"]: change["action"] for change in json.loads(capsys.readouterr().out)}
    assert actions["claude-code"] == "refused"
    assert actions["cursor"] == "created"
