"""How does a stdio server come to have a node, and the node not outlive it?

A node that runs already is used. Otherwise one is started, bound to a pipe that ends with this
process. When the node that was used ends, because its owner left, another one is started: several
clients of one state directory share a node, and whoever is left keeps one.
"""

from __future__ import annotations

import os
import select
import subprocess
import threading
import time
from collections.abc import Sequence
from io import FileIO
from pathlib import Path

from ops.node import lock, workers
from ops.node.state import State
from services.kernel import logs

log = logs.get(__name__)
_LOG_BYTES = 1 << 20
_PAUSE_S = (0.1, 1.0, 5.0, 15.0)


class Companion:
    """Sees to it that a node runs on the state directory for as long as this process lives."""

    def __init__(self, state: State, arguments: Sequence[str]) -> None:
        self._state = state
        self._arguments = ["up", *arguments, "--no-http", "--bound-to-input"]
        self._child: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._guard = threading.Lock()

    def start(self) -> None:
        threading.Thread(target=self._keep, name="companion", daemon=True).start()

    def stop(self) -> None:
        """Let the node that was started here end, in order and by itself."""
        self._stopping.set()
        with self._guard:
            if self._child is not None and self._child.stdin is not None:
                self._child.stdin.close()

    def _keep(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            holder = lock.holder(self._state)
            if holder is not None and lock.alive(holder.pid):
                _wait_for_end(holder.pid)
                failures = 0
                continue
            began = time.monotonic()
            child = self._start_node()
            if child is None:
                return
            code = child.wait()
            if time.monotonic() - began > _PAUSE_S[-1]:
                failures = 0
            if not self._stopping.is_set():
                log.warning("node_ended", code=code, log=str(self._log))
                self._stopping.wait(_PAUSE_S[min(failures, len(_PAUSE_S) - 1)])
                failures += 1

    def _start_node(self) -> subprocess.Popen[bytes] | None:
        command, environ = workers.command(self._arguments)
        environ |= {key: value for key, value in os.environ.items() if key.startswith("REPOFOLD_")}
        with self._guard, _opened(self._log) as output:
            if self._stopping.is_set():
                return None
            # A session of its own: a signal for the client's terminal is not meant for the node.
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=output,
                env=environ,
                start_new_session=True,
            )
            return self._child

    @property
    def _log(self) -> Path:
        return self._state.root / "node.log"


def _opened(path: Path) -> FileIO:
    if path.exists() and path.stat().st_size > _LOG_BYTES:
        path.unlink()
    return path.open("ab", buffering=0)


def _wait_for_end(pid: int) -> None:
    """Block until a process that is not our child has ended."""
    if hasattr(os, "pidfd_open"):
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            return
        try:
            select.select([descriptor], [], [])
        finally:
            os.close(descriptor)
        return
    while lock.alive(pid):
        time.sleep(1.0)
