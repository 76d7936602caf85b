"""A whole node as a user runs it: real processes, a real broker, real signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ops.node import lock
from ops.node.state import State
from ops.node.workers import command
from tests.e2e.node_process import (
    END_S,
    PLAIN,
    Node,
    ended,
    make_repository,
    repofold,
    running,
    until,
)

pytestmark = [pytest.mark.broker, pytest.mark.slow]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node on a small repository; tests that share it leave it running."""
    folder = tmp_path_factory.mktemp("shared")
    repository = make_repository(folder / "demo")
    with running(folder / "state", str(repository)) as node:
        node.ready()
        yield node


def test_a_second_node_is_refused_and_told_who_holds_the_state(node: Node) -> None:
    second = repofold("up", str(node.state.root.parent / "demo"), "--state", str(node.state.root))

    assert second.returncode == 1
    assert second.stdout == ""
    assert f"process {node.process.pid}" in second.stderr
    assert node.url in second.stderr
    assert "next:" in second.stderr
    assert node.answers()


def test_tokens_and_passwords_are_for_the_owner_alone(node: Node) -> None:
    tokens = json.loads(node.state.tokens.read_bytes())

    assert set(tokens) == {"read", "write", "admin"}
    for path in (node.state.tokens, node.state.users, node.state.root):
        assert path.stat().st_mode & 0o077 == 0, path


def test_every_process_of_the_node_is_known_by_name(node: Node) -> None:
    told = node.holder()

    assert set(told.processes) >= {"broker", "query", "projector", "pipeline", "extractor"}
    assert set(told.processes.values()) <= {process.pid for process in node.family()}
    assert told.url == node.url
    assert told.roots == (str(node.state.root.parent / "demo"),)


def test_commands_reach_the_running_node(node: Node) -> None:
    state = str(node.state.root)

    tail = repofold("tail", "LOG", "--state", state, "--json")
    dead = repofold("dead", "--state", state, "--json")
    doctor = repofold("doctor", "--state", state, "--json")

    events = [json.loads(line) for line in tail.stdout.splitlines()]
    assert ("repo.registered", "demo") in [(event["type"], event["repo"]) for event in events]
    assert json.loads(dead.stdout) == []
    checks = {check["name"]: check for check in json.loads(doctor.stdout)}
    assert doctor.returncode == 0, doctor.stdout
    assert checks["streams"]["verdict"] == checks["endpoint"]["verdict"] == "fine"


def test_a_replay_gives_the_same_digest_with_and_without_a_node(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "demo")
    state = tmp_path / "state"
    with running(state, str(repository)) as node:
        node.ready()
        until("three files are recorded", lambda: "files=3" in _digest(state))
        replayed = repofold("replay", "--state", str(state), "--json")
        assert replayed.returncode == 0, replayed.stderr
        assert node.stop() == 0
    settled = _digest(state)

    alone = repofold("replay", "--state", str(state), "--json")

    assert alone.returncode == 0, alone.stderr
    assert json.loads(alone.stdout)["digest"] == settled == _digest(state)
    assert lock.holder(State(state)) is None


def _digest(state: Path) -> str:
    return repofold("digest", "--state", str(state)).stdout.strip()


def test_a_signal_ends_everything_in_order(tmp_path: Path) -> None:
    with running(tmp_path / "state", str(make_repository(tmp_path / "demo"))) as node:
        node.ready()
        family = node.family()

        assert node.stop() == 0

        assert ended(family)
        assert node.process.stdout is not None
        assert node.process.stdout.read() == b""  # one line was all
        assert lock.holder(node.state) is None


def test_whatever_is_killed_comes_back_and_the_endpoint_stays_where_it_was(tmp_path: Path) -> None:
    with running(tmp_path / "state", str(make_repository(tmp_path / "demo"))) as node:
        node.ready()
        before = node.holder().processes

        for pid in before.values():
            os.kill(pid, signal.SIGKILL)

        def replaced() -> bool:
            now = node.holder().processes
            return set(now) >= set(before) and not set(now.values()) & set(before.values())

        until("every process is replaced", replaced)
        until("the endpoint serves again", node.answers)
        tail = repofold("tail", "LOG", "--state", str(node.state.root))
        assert "repo.registered" in tail.stdout
        assert node.stop() == 0


def test_nothing_outlives_a_killed_supervisor_and_the_next_node_takes_over(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "demo")
    with running(tmp_path / "state", str(repository)) as node:
        node.ready()
        family = node.family()
        node.process.kill()
        node.process.wait()

        with running(tmp_path / "state", str(repository)) as successor:  # at once, without waiting
            successor.ready()
            assert successor.answers()
            assert ended(family)
            assert successor.stop() == 0


def test_a_node_bound_to_its_input_ends_with_it(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "demo")
    with running(tmp_path / "state", str(repository), "--bound-to-input", bound=True) as node:
        node.ready()
        family = node.family()
        assert node.process.stdin is not None

        node.process.stdin.close()

        assert node.process.wait(END_S) == 0
        assert ended(family)


class Client:
    """An MCP client on the standard streams of `repofold mcp`."""

    def __init__(self, state: Path, repository: Path) -> None:
        words, environ = command(["mcp", str(repository), "--state", str(state)])
        self._log = (state.parent / "mcp.log").open("ab")
        self.process = subprocess.Popen(
            words,
            env=environ | PLAIN,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )

    def initialize(self) -> dict[str, object]:
        request = {
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        }  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        answer: dict[str, object] = json.loads(self.process.stdout.readline())["result"]
        return answer

    def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(END_S)
        self.discard()
        return code

    def discard(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self._log):
            assert stream is not None
            stream.close()


def _node_of(state: State) -> psutil.Process:
    until("a node holds the state", lambda: (lock.holder(state) or _nobody()).pid > 0)
    return psutil.Process((lock.holder(state) or _nobody()).pid)


def test_a_stdio_client_gets_a_node_that_ends_with_it(tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    client = Client(state.root, make_repository(tmp_path / "demo"))
    try:
        assert client.initialize()["serverInfo"]
        node = _node_of(state)
        until(
            "the pipeline runs", lambda: "pipeline" in (lock.holder(state) or _nobody()).processes
        )
        family = [node, *node.children(recursive=True)]

        assert client.close() == 0

        assert ended(family)
        assert lock.holder(state) is None
    finally:
        client.discard()


def test_the_node_of_a_killed_stdio_client_ends_as_well(tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    client = Client(state.root, make_repository(tmp_path / "demo"))
    try:
        client.initialize()
        node = _node_of(state)
        until(
            "the pipeline runs", lambda: "pipeline" in (lock.holder(state) or _nobody()).processes
        )
        family = [node, *node.children(recursive=True)]

        client.process.kill()

        assert ended(family)
    finally:
        client.discard()


def test_stdio_clients_share_a_node_and_whoever_is_left_keeps_one(tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    repository = make_repository(tmp_path / "demo")
    first = Client(state.root, repository)
    second = None
    try:
        first.initialize()
        node = _node_of(state)
        second = Client(state.root, repository)
        second.initialize()
        assert _node_of(state) == node

        first.close()

        assert ended([node])
        successor = _node_of(state)
        assert successor != node
        assert second.close() == 0
        assert ended([successor])
    finally:
        first.discard()
        if second is not None:
            second.discard()


def _nobody() -> lock.Holder:
    return lock.Holder(pid=0, started_ms=0)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["/nowhere/at/all"], 2, "does not exist"),
        ([".", "--state", "/proc/repofold"], 1, "cannot be written"),
        ([".", "--state", "/dev/null"], 2, "is not a directory"),
        ([".", "--host", "203.0.113.1", "--port", "9"], 1, "--host"),
    ],
)
def test_what_cannot_work_is_refused_at_once_with_a_way_out(
    arguments: list[str], code: int, said: str, tmp_path: Path
) -> None:
    if "--state" not in arguments:
        arguments = [*arguments, "--state", str(tmp_path / "state")]

    done = repofold("up", *arguments)

    assert done.returncode == code
    assert said in done.stderr
    assert "next:" in done.stderr
    assert done.stdout == ""


def test_two_workers_and_the_query_service_run_against_a_server_of_ones_own(tmp_path: Path) -> None:
    with running(tmp_path / "state", str(make_repository(tmp_path / "demo"))) as node:
        node.ready()
        told = node.holder()
        words, environ = command(["work", "projector", "query", "--node", "second"])
        environ |= PLAIN | {
            "REPOFOLD_NATS_URL": told.nats_url,
            "REPOFOLD_NATS_USERS_FILE": told.nats_users_file,
            "REPOFOLD_STATE_DIR": str(tmp_path / "replica"),
            "REPOFOLD_PORT": "0",
        }
        replica = subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, cwd=tmp_path)
        try:
            assert replica.stdout is not None
            assert replica.stdout.readline().startswith(b"ready http://127.0.0.1:")
            until(
                "both replicas hold the same",
                lambda: "files=3" in _digest(node.state.root) == _digest(tmp_path / "replica"),
            )
            replica.terminate()
            assert replica.wait(END_S) == 0
        finally:
            replica.kill()
            replica.wait()
            assert replica.stdout is not None
            replica.stdout.close()
