"""The shape of docker-compose.yml with processes: a broker cluster, scaled workers, two replicas."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.errors import NotFound
from ops.node.workers import command
from store.digest import digest_line
from tests.broker import free_port, server_binary
from tests.faults import node as nodes
from tests.faults.trees import grow

pytestmark = [pytest.mark.slow, pytest.mark.broker, pytest.mark.timeout(400)]
FILES = 240
PATIENCE_S = 150


class Cluster:
    """Three nats-servers with replicated streams."""

    def __init__(self, folder: Path, users: Path) -> None:
        self.ports = [free_port() for _ in range(3)]
        routes = [free_port() for _ in range(3)]
        self.url = ",".join(f"nats://127.0.0.1:{port}" for port in self.ports)
        self._configs = []
        for number, port in enumerate(self.ports):
            config = folder / f"n{number}.conf"
            links = ", ".join(f"nats://127.0.0.1:{route}" for route in routes)
            config.write_text(
                f'server_name: n{number}\nlisten: "127.0.0.1:{port}"\nmax_payload: 8MB\n'
                f'jetstream {{ store_dir: "{folder / f"js{number}"}", sync_interval: 1s }}\n'
                f'cluster {{ name: c, listen: "127.0.0.1:{routes[number]}", routes: [{links}] }}\n'
                f'authorization {{ include "{os.path.relpath(users, folder)}" }}\n'
            )
            self._configs.append(config)
        self._servers = [self._spawn(config) for config in self._configs]

    def _spawn(self, config: Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [server_binary(), "-c", str(config)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def wait(self) -> None:
        end = time.monotonic() + 30
        for port in self.ports:
            while time.monotonic() < end:
                with (
                    contextlib.suppress(OSError),
                    socket.create_connection(("127.0.0.1", port), 0.2),
                ):
                    break

    def kill_one(self) -> None:
        self._servers[1].kill()
        self._servers[1].wait()

    def revive(self) -> None:
        self._servers[1] = self._spawn(self._configs[1])

    def stop(self) -> None:
        for server in self._servers:
            server.terminate()
        for server in self._servers:
            server.wait(20)


class Fleet:
    """Worker processes as an orchestrator runs them: what ends is started again."""

    def __init__(self, *common: str) -> None:
        self._common = common
        self._running: list[tuple[list[str], subprocess.Popen[bytes]]] = []

    def run(self, *arguments: str) -> None:
        self._running.append((list(arguments), self._spawn(list(arguments))))

    def _spawn(self, arguments: list[str]) -> subprocess.Popen[bytes]:
        line, environ = command(["work", *arguments, *self._common])
        return subprocess.Popen(line, env=environ, stdout=subprocess.DEVNULL)

    def kill_one_of(self, worker: str) -> None:
        for number, (arguments, process) in enumerate(self._running):
            if arguments[0] == worker:
                process.send_signal(signal.SIGKILL)
                process.wait()
                self._running[number] = (arguments, self._spawn(arguments))
                return
        raise AssertionError(f"no {worker} runs")

    def stop(self) -> None:
        for _, process in self._running:
            process.terminate()
        for _, process in self._running:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


@contextlib.contextmanager
def cluster_of_three(folder: Path) -> Iterator[tuple[Cluster, Path]]:
    users, conf = folder / "users.json", folder / "users.conf"
    done = nodes.cli("provision", "--users", str(users), "--conf", str(conf))
    assert done.returncode == 0, done.stderr
    cluster = Cluster(folder, conf)
    try:
        cluster.wait()
        yield cluster, users
    finally:
        cluster.stop()


def provision(cluster: Cluster, users: Path, *more: str) -> None:
    """As an operator does, until the freshly elected cluster takes it."""
    end = time.monotonic() + 60
    while True:
        done = nodes.cli(
            "provision", "--nats", cluster.url, "--users", str(users), "--replicas", "3", *more
        )
        if done.returncode == 0:
            return
        assert time.monotonic() < end, done.stderr
        time.sleep(0.5)


def digest_or_empty(state: Path) -> str:
    try:
        return digest_line(state / "projections")
    except NotFound:
        return ""


def test_replicas_of_a_cluster_under_fire_end_with_the_digest_of_a_clean_run(
    tmp_path: Path,
) -> None:
    tree = grow(tmp_path / "shop", FILES)
    with nodes.running(tree, tmp_path / "clean") as node:
        clean = nodes.settled_digest(node)
    first, second = tmp_path / "first", tmp_path / "second"
    with cluster_of_three(tmp_path) as (cluster, users):
        provision(cluster, users)
        fleet = Fleet("--nats", cluster.url, "--nats-users", str(users))
        try:
            for worker in ("projector", "memory", "walker", "reconciler", "query"):
                fleet.run(worker, "--state", str(first), "--node", "first")
            for worker in ("projector", "query"):
                fleet.run(worker, "--state", str(second), "--node", "second")
            for _ in range(2):
                fleet.run("extractor")
            for _ in range(3):
                fleet.run("embedder")
            fleet.run("ann", "--state", str(first), "--node", "first")
            provision(cluster, users, "--register", str(tree))
            _wait_for(
                lambda: " files=0 " not in digest_or_empty(first) and digest_or_empty(first) != ""
            )

            cluster.kill_one()
            for worker in (
                "extractor",
                "embedder",
                "walker",
                "reconciler",
                "memory",
                "projector",
                "ann",
                "query",
            ):
                fleet.kill_one_of(worker)
            cluster.revive()

            _wait_for(
                lambda: digest_or_empty(first) == clean,
                lambda: f"{digest_or_empty(first)} is not {clean}",
            )
            _wait_for(
                lambda: digest_or_empty(second) == clean,
                lambda: f"{digest_or_empty(second)} is not {clean}",
            )
        finally:
            fleet.stop()


def _wait_for(holds, told=lambda: ""):  # type: ignore[no-untyped-def]
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, told()
        time.sleep(0.2)
