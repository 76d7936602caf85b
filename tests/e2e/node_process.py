"""A real `repofold up` process for tests, and what can be seen of it from outside."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil

from ops.node import lock
from ops.node.lock import Holder
from ops.node.state import State
from ops.node.workers import command

PLAIN = {"REPOFOLD_EMBED_PROVIDER": "none"}  # processes are the subject here, not vectors
READY_S = 60.0
END_S = 40.0


class Node:
    """One running node, started as a user would."""

    def __init__(self, state: Path, *arguments: str, bound: bool = False) -> None:
        self.state = State(state)
        words, environ = command(["up", *arguments, "--state", str(state), "--port", "0"])
        self.log = state.parent / f"{state.name}.log"
        self.process = subprocess.Popen(
            words,
            env=environ | PLAIN,
            stdin=subprocess.PIPE if bound else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.log.open("ab"),
        )
        self.url = ""

    def ready(self) -> str:
        """Wait for the one line on standard output; returns the URL in it."""
        assert self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], READY_S)
        line = self.process.stdout.readline().decode() if readable else ""
        assert line.startswith("ready http://127.0.0.1:"), self.log.read_text()
        self.url = line.removeprefix("ready ").strip()
        return self.url

    def holder(self) -> Holder:
        told = lock.holder(self.state)
        assert told is not None
        return told

    def family(self) -> list[psutil.Process]:
        """Every process of the node, the supervisor included."""
        parent = psutil.Process(self.process.pid)
        return [parent, *parent.children(recursive=True)]

    def token(self, scope: str = "admin") -> str:
        tokens: dict[str, str] = json.loads(self.state.tokens.read_bytes())
        return tokens[scope]

    def answers(self) -> bool:
        """Whether the endpoint says that it serves."""
        try:
            with urllib.request.urlopen(
                self.url.removesuffix("/mcp") + "/ready", timeout=5
            ) as answer:
                return answer.status == 200
        except OSError:
            return False

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(END_S)

    def clean_up(self) -> None:
        """Leave nothing behind, however the test ended."""
        with contextlib.suppress(psutil.NoSuchProcess):
            family = self.family()
            self.process.terminate()
            _, alive = psutil.wait_procs(family, timeout=END_S)
            for process in alive:
                process.kill()
        self.process.wait(END_S)
        if self.process.stdout is not None:
            self.process.stdout.close()


@contextlib.contextmanager
def running(state: Path, *arguments: str, bound: bool = False) -> Iterator[Node]:
    node = Node(state, *arguments, bound=bound)
    try:
        yield node
    finally:
        node.clean_up()


def repofold(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run another command to its end."""
    words, environ = command(arguments)
    return subprocess.run(
        words,
        env=environ | PLAIN,
        capture_output=True,
        text=True,
        timeout=READY_S,
        check=False,
        **more,
    )


def ended(processes: Sequence[psutil.Process]) -> bool:
    """Wait until all of them are gone."""
    _, alive = psutil.wait_procs(processes, timeout=END_S)
    return not alive


def until(what: str, holds: Any, seconds: float = READY_S) -> None:
    """Wait for a state of another process that nothing announces; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"still not: {what}"
        time.sleep(0.02)


def make_repository(root: Path, files: int = 3) -> Path:
    root.mkdir(parents=True)
    for number in range(files):
        (root / f"module_{number}.py").write_text(
            f'"""Module {number}."""\n\n\ndef answer_{number}() -> int:\n    return {number}\n'
        )
    return root


def exit_of(pid: int) -> int:
    """Wait for the end of a process that is no child of ours, on Linux; returns its former id."""
    descriptor = os.pidfd_open(pid)
    try:
        readable, _, _ = select.select([descriptor], [], [], END_S)
        assert readable, f"process {pid} goes on"
    finally:
        os.close(descriptor)
    return pid
