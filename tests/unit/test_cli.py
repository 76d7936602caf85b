"""The command line: its table of commands, its errors, its exit codes."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from contracts.errors import InvalidArgument, NotFound, Unavailable
from ops import cli, hints
from ops.commands import dead, memory, up, work
from ops.node.options import base_settings
from ops.node.state import State, default
from services.kernel.settings import Settings
from services.query.catalogue import TOOLS

_ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))


def parsed(module: object, *arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)  # type: ignore[attr-defined]
    return parser.parse_args(arguments)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_of_the_table_can_be_asked_for_help(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([name, "--help"])

    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert f"usage: repofold {name}" in shown
    assert "--json" in shown


def test_every_module_of_commands_is_in_the_table() -> None:
    tables = (*cli.COMMANDS.values(), *memory.COMMANDS.values())
    listed = {place for place, _ in tables if ":" not in place}
    there = {
        f"ops.commands.{path.stem}"
        for path in (_ROOT / "ops" / "commands").glob("*.py")
        if hasattr(importlib.import_module(f"ops.commands.{path.stem}"), "add_arguments")
    }

    assert there == listed


def test_the_overview_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0

    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in cli.COMMANDS)


def test_an_unknown_command_is_wrong_usage_and_shows_what_there_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["frobnicate"]) == cli.USAGE

    told = capsys.readouterr()
    assert told.out == ""
    assert "no command 'frobnicate'" in told.err
    assert "  up " in told.err


def test_what_is_no_folder_is_not_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "index", "/no/such/folder"]) == cli.USAGE

    assert "does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "numbers"),
    [
        (["show", "5", "7", "--json"], [5, 7]),
        (["show", "--json", "5", "7"], [5, 7]),
        (["--json", "show", "5", "--state", "s", "7"], [5, 7]),
        (["--json", "--", "show", "-5"], [-5]),
        (["--json"], []),
    ],
)
def test_options_may_stand_among_the_words(given: list[str], numbers: list[int]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    dead.add_arguments(parser)

    args = cli._parsed(parser, given)

    assert (args.json, args.numbers) == (True, numbers)
    assert args.action == ("show" if numbers else "list")


def test_a_fault_is_told_with_its_next_step(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise NotFound("nothing is there", hint="put something there")

    assert cli.guarded(fail, as_json=False) == 1
    told = capsys.readouterr()
    assert told.err == "error: nothing is there\n  next: put something there\n"

    assert cli.guarded(fail, as_json=True) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert error == {
        "code": "NOT_FOUND",
        "message": "nothing is there",
        "hint": "put something there",
    }


def test_a_next_step_is_told_in_commands(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise NotFound("no", hint="memory_list shows the ids, my_symbols_search does not")

    assert cli.guarded(fail, as_json=False) == 1
    assert "`repofold memory list` shows the ids, my_symbols_search does" in capsys.readouterr().err

    for tool, words in hints.COMMAND_OF.items():
        command, *inner = words.split()
        module = importlib.import_module(cli.COMMANDS[command][0])
        assert tool in {entry.name for entry in TOOLS}
        assert not inner or inner[0] in module.COMMANDS


def test_a_callers_mistake_and_an_interruption_have_codes_of_their_own() -> None:
    def mistaken() -> int:
        raise InvalidArgument("no")

    def interrupted() -> int:
        raise KeyboardInterrupt

    assert cli.guarded(mistaken, as_json=True) == cli.USAGE
    assert cli.guarded(interrupted, as_json=False) == cli.INTERRUPTED


def test_a_reader_that_leaves_is_no_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m ops.cli --help | head -n 1; exit ${{PIPESTATUS[0]}}",
        shell=True, executable="/bin/bash", cwd=_ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert "Traceback" not in done.stderr


def test_the_command_line_loads_nothing_heavy_before_a_command_is_chosen() -> None:
    program = "import sys, ops.cli; print(sorted({'nats', 'faust', 'mcp', 'lmdb', 'rich', 'numpy'} & set(sys.modules)))"

    shown = subprocess.run(
        [sys.executable, "-c", program], cwd=_ROOT, capture_output=True, text=True, check=True
    )

    assert shown.stdout.strip() == "[]"


def test_one_path_is_a_single_repository_and_its_own_workspace_root(tmp_path: Path) -> None:
    args = parsed(
        up, str(tmp_path), "--port", "0", "--no-watch", "--read-only", "--profile", "minimal"
    )

    roots, allowed = up.chosen_roots(args.paths, args.workspace_root)
    settings = up.node_settings(args, roots, allowed)

    assert roots == allowed == [tmp_path]
    assert settings.mode == "single"
    assert settings.workspace_roots == (str(tmp_path),)
    assert (settings.port, settings.watch, settings.read_only, settings.profile) == (
        0,
        False,
        True,
        "minimal",
    )
    assert Path(settings.state_dir).parent == tmp_path / "home" / "repofold"


def test_several_paths_or_a_workspace_root_are_a_workspace(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    several = parsed(up, str(tmp_path / "one"), str(tmp_path / "two"), "--port", "0")
    rooted = parsed(up, "--workspace-root", str(tmp_path), "--port", "0")

    for args, roots in ((several, [tmp_path / "one", tmp_path / "two"]), (rooted, [])):
        found, allowed = up.chosen_roots(args.paths, args.workspace_root)
        assert found == roots
        assert up.node_settings(args, found, allowed).mode == "workspace"


def test_a_repository_outside_the_workspace_root_is_refused(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()

    with pytest.raises(InvalidArgument, match="not below --workspace-root"):
        up.chosen_roots([str(tmp_path)], [str(tmp_path / "inside")])


def test_without_a_path_the_current_folder_is_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert up.chosen_roots([], []) == ([tmp_path], [tmp_path])


def test_the_command_line_beats_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPOFOLD_NATS_URL", "nats://elsewhere:4222")
    monkeypatch.setenv("REPOFOLD_PROFILE", "memory")
    monkeypatch.setenv("REPOFOLD_STATE", str(tmp_path / "by-variable"))
    args = parsed(up, "--nats", "nats://here:4222", "--port", "0")

    assert base_settings(args).nats_url == "nats://here:4222"
    settings = up.node_settings(args, [tmp_path], [tmp_path])
    assert settings.profile == "memory"
    assert settings.state_dir == str(tmp_path / "by-variable")


def test_a_taken_port_is_refused_when_asked_for_and_avoided_when_not(tmp_path: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Unavailable, match=f"port {port} is taken"):
            up.chosen_port(parsed(up, "--port", str(port)), Settings(port=port))
    assert up.chosen_port(parsed(up, "--port", "0"), Settings(port=0)) == 0


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_port_that_cannot_exist_is_wrong_usage(port: int) -> None:
    with pytest.raises(InvalidArgument, match="there is no port"):
        up.chosen_port(parsed(up, "--port", str(port)), Settings(port=port))


def test_an_unknown_profile_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "state"

    assert cli.main(["up", str(tmp_path), "--state", str(place), "--profile", "x"]) == cli.USAGE

    assert "one of agent, codemap, full, memory, read, repocontext" in capsys.readouterr().err
    assert not place.exists()


def test_workers_need_a_server_and_those_that_read_projections_a_directory(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="no NATS server"):
        work.work_settings(parsed(work, "extractor"), ["extractor"])
    with pytest.raises(InvalidArgument, match="state directory"):
        work.work_settings(parsed(work, "query", "--nats", "nats://h:1"), ["query"])

    settings = work.work_settings(
        parsed(work, "extractor", "--nats", "nats://h:1", "--node", "n"), ["extractor"]
    )

    assert settings.node == "n"
    assert Path(settings.state_dir).parent == tmp_path / "home" / "repofold"


def test_an_unknown_worker_is_refused_with_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["work", "walkers", "--nats", "nats://h:1"]) == cli.USAGE

    assert "walker, reconciler, extractor" in capsys.readouterr().err


def test_commands_that_need_a_node_say_how_to_get_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = str(tmp_path / "state")
    for command in (["tail", "--follow"], ["dead"], ["replay"], ["digest"]):
        assert cli.main([*command, "--state", state]) == 1
        assert "repofold up" in capsys.readouterr().err


def test_a_command_in_another_folder_names_the_node_that_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, elsewhere = tmp_path / "tree", tmp_path / "elsewhere"
    tree.mkdir()
    elsewhere.mkdir()
    known = State(default([tree]))
    known.prepare()
    known.info.write_bytes(
        msgspec.json.encode({"pid": os.getpid(), "started_ms": 0, "roots": [str(tree)]})
    )
    monkeypatch.chdir(elsewhere)

    for command in (["search", "word"], ["status"], ["dead"], ["tail"], ["digest"], ["replay"]):
        assert cli.main(command) == 1
        assert f"--root {tree} means the node that runs there" in capsys.readouterr().err


def test_doctor_leaves_a_folder_alone_that_is_no_state_directory(tmp_path: Path) -> None:
    assert cli.main(["doctor", "--state", str(tmp_path)]) == 0

    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == []


def test_doctor_reports_a_token_file_that_others_may_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = State(tmp_path / "state")
    state.prepare()
    state.info.write_text("{}")
    state.tokens.write_text("{}")
    state.tokens.chmod(0o644)

    assert cli.main(["doctor", "--state", str(state.root), "--json"]) == 1

    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)}
    assert checks["tokens"]["verdict"] == "failed"
    assert "chmod 600" in checks["tokens"]["next"]
    assert checks["node"]["verdict"] == "note"
    assert Settings().port == 8765
