"""How is a node run for a measurement, and what does it use?"""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from contracts.errors import Unavailable
from ops.bench.client import ToolClient
from ops.node.workers import command

_READY = re.compile(r"ready (http://\S+)")
_START_S = 120.0
_SAMPLE_S = 0.2
_LISTED = any(Path("/proc/self/task").glob("*/children"))  # whether the system lists children
_PSS_TURNS = 5  # adding up the pages of all processes takes a good part of a tenth of a second


class Usage:
    """CPU seconds and peak memory of a process and everything below it, sampled.

    The sampling takes its time from what is measured, so it asks the system for little.
    """

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._known: dict[int, psutil.Process] = {}
        self._cpu: dict[tuple[int, float], float] = {}
        self.peak_rss = 0
        self.peak_pss = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def _processes(self) -> list[psutil.Process]:
        try:
            if not _LISTED:
                return [self._root, *self._root.children(recursive=True)]
            below = _below(self._root.pid)
            self._known = {pid: self._known.get(pid) or psutil.Process(pid) for pid in below}
        except psutil.Error:
            return []
        return [self._root, *self._known.values()]

    def _sample(self) -> None:
        turn = 0
        while not self._stop.wait(_SAMPLE_S):
            self.look(with_pss=turn % _PSS_TURNS == 0)
            turn += 1

    def look(self, *, with_pss: bool) -> None:
        rss = pss = 0
        for process in self._processes():
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    self._cpu[process.pid, process.create_time()] = times.user + times.system
                    rss += process.memory_info().rss
                if with_pss:
                    pss += process.memory_full_info().pss
            except psutil.Error:
                continue
        self.peak_rss = max(self.peak_rss, rss)
        self.peak_pss = max(self.peak_pss, pss)

    @property
    def cpu_seconds(self) -> float:
        return sum(self._cpu.values())

    def close(self) -> None:
        self._stop.set()
        self._thread.join()


def _below(pid: int) -> list[int]:
    """The processes below one, without a look at all there are."""
    found: list[int] = []
    pending = [pid]
    while pending:
        with suppress(OSError):  # ended meanwhile
            for task in Path(f"/proc/{pending.pop()}/task").iterdir():
                children = [int(child) for child in (task / "children").read_text().split()]
                found += children
                pending += children
    return found


class Node:
    """A node in a child process, as `repofold up` starts it."""

    def __init__(self, path: Path, state: Path, *arguments: str) -> None:
        line, environ = command(["up", str(path), "--state", str(state), "--port", "0", *arguments])
        self.state = state
        self.root = path
        self.repo_id = path.name
        self.started_at = time.monotonic()
        self.process = subprocess.Popen(
            line,
            env={**os.environ, **environ},
            stdout=subprocess.PIPE,
            stderr=sys.stderr,
            text=True,
        )
        self.usage = Usage(self.process.pid)
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.url = self._ready()
        self.ready_seconds = time.monotonic() - self.started_at
        self.client = ToolClient.of_state(self.url, state)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def _ready(self) -> str:
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            try:
                line = self._lines.get(timeout=1)
            except queue.Empty:
                continue
            found = _READY.match(line)
            if found:
                return found[1]
            if not line:
                break
        raise Unavailable("the node did not get ready", hint="run `repofold up` by hand to see why")

    def wait_indexed(self, seconds: float = 900) -> dict[str, object]:
        """Wait until the newest pass is over and every vector is stored; returns its status."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            status = self.client.call("repocontext_index_status", repoId=self.repo_id)
            done = status["status"] in ("Completed", "Failed")
            if done and status["chunksCommitted"] == status["chunksTotal"]:
                return status
            # Asking takes its time from the node too: often only when the end is near.
            is_near = status["chunksCommitted"] >= 0.97 * max(status["chunksTotal"], 1)
            time.sleep(0.03 if is_near else 0.2)
        raise Unavailable(f"not indexed within {seconds} s")

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(40)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.usage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
