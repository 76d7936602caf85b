"""A real node in processes of its own, to be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path

import psutil

from contracts.errors import Fault
from ops.bench.node import Node
from ops.node.workers import command
from store.digest import digest_line
from store.map_digest import map_digest_line

PATIENCE_S = 90


@contextmanager
def running(tree: Path, state: Path, *arguments: str) -> Iterator[Node]:
    node = Node(tree, state, *arguments)
    try:
        yield node
    finally:
        node.stop()


def processes(node: Node) -> dict[str, list[psutil.Process]]:
    """The node's processes by what they run: broker, or the workers' names."""
    found: dict[str, list[psutil.Process]] = {}
    for process in psutil.Process(node.process.pid).children(recursive=True):
        try:
            line = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if "nats-server" in line:
            found.setdefault("broker", []).append(process)
        for name in ("walker", "projector", "extractor", "query", "resolver"):
            if f"work {name}" in line:
                found.setdefault(name, []).append(process)
    return found


def kill(victims: list[psutil.Process]) -> None:
    for victim in victims:
        try:
            victim.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue


def kill_everything(node: Node) -> None:
    """Kill -9 of the supervisor and of all it started, at once."""
    everyone = [
        psutil.Process(node.process.pid),
        *psutil.Process(node.process.pid).children(recursive=True),
    ]
    kill(everyone)
    node.process.wait()
    psutil.wait_procs(everyone, timeout=10)


def wait_folded(node: Node, files: int) -> None:
    """Wait until at least so many files are on record."""
    end = time.monotonic() + PATIENCE_S
    status: dict[str, object] = {}
    while time.monotonic() < end:
        try:
            status = node.client.call("repocontext_index_status", repoId=node.repo_id)
        except (OSError, HTTPException, Fault):  # the query service may be the one that was killed
            time.sleep(0.05)
            continue
        if int(str(status["filesContentProjected"])) >= files:
            return
        time.sleep(0.02)
    raise AssertionError(f"{files} files were never recorded: {status}")


def settled_digest(node: Node) -> str:
    """The digest once everything is indexed; the query service may have been restarted meanwhile."""
    end = time.monotonic() + PATIENCE_S
    last = ""
    while time.monotonic() < end:
        try:
            node.client.close()
            node.wait_indexed(PATIENCE_S)
            line = digest_line(node.state / "projections")
        except Exception as error:
            last = repr(error)
            time.sleep(0.2)
            continue
        if line == last:
            return line
        last = line
        time.sleep(0.3)
    raise AssertionError(f"never settled: {last}")


def settled_map(node: Node) -> str:
    """The digest of the code map once every live file is resolved."""
    end = time.monotonic() + PATIENCE_S
    last = ""
    while time.monotonic() < end:
        try:
            status = node.client.call("repo_status", repo_path=str(node.root))
            if status["data"]["live_pending_files"] == 0:
                line = map_digest_line(node.state / "projections")
                if line == last:
                    return line
                last = line
        except (OSError, HTTPException, Fault) as error:
            last = repr(error)
        time.sleep(0.2)
    raise AssertionError(f"never resolved: {last}")


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    line, environ = command(list(arguments))
    return subprocess.run(
        line, env={**os.environ, **environ}, capture_output=True, text=True, timeout=60
    )
