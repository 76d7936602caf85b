"""How are the node's processes kept alive?"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import deque
from collections.abc import Callable

from contracts.errors import Fault, Unavailable
from services.kernel import logs

log = logs.get(__name__)
_LINES_KEPT = 8


class Restarts:
    """When is an ended process started again, and when is it given up?"""

    FIRST_S, LAST_S = 0.1, 5.0
    HEALTHY_S = 60.0  # a process that lived so long starts with a clean record
    STARTED_S = 10.0  # an error that ends it sooner means that it cannot start
    ATTEMPTS = 8

    def __init__(self) -> None:
        self._pause_s = self.FIRST_S
        self._failures = 0

    def pause_s(self, lived_s: float, exit_code: int) -> float | None:
        """Seconds until the next start; None when it could not start too often in a row.

        A negative exit code is the signal that ended it: whoever was killed may try again for ever.
        """
        if lived_s >= self.HEALTHY_S:
            self._pause_s, self._failures = self.FIRST_S, 0
        if exit_code >= 0 and lived_s < self.STARTED_S:
            self._failures += 1
        if self._failures >= self.ATTEMPTS:
            return None
        pause_s, self._pause_s = self._pause_s, min(2 * self._pause_s, self.LAST_S)
        return pause_s


class Reaper:
    """Collects the exit codes of child processes. Uses SIGCHLD, so it needs no thread per child."""

    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[int]] = {}
        self._loop = asyncio.get_running_loop()
        self._loop.add_signal_handler(signal.SIGCHLD, self._collect)

    def watch(self, pid: int) -> asyncio.Future[int]:
        """The future exit code (negative: the signal) of a child that was just started."""
        future: asyncio.Future[int] = self._loop.create_future()
        self._waiting[pid] = future
        self._loop.call_soon(self._collect)  # it may have ended before anybody listened
        return future

    def _collect(self) -> None:
        for pid, future in list(self._waiting.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._waiting[pid]
                if not future.done():
                    future.set_result(os.waitstatus_to_exitcode(status))


class Lines:
    """Reads a pipe line by line without blocking, and remembers the last few."""

    def __init__(self, descriptor: int, arrived: Callable[[str], None]) -> None:
        self._descriptor, self._arrived = descriptor, arrived
        self._rest = b""
        self.last: deque[str] = deque(maxlen=_LINES_KEPT)
        os.set_blocking(descriptor, False)
        asyncio.get_running_loop().add_reader(descriptor, self._readable)

    def _readable(self) -> None:
        try:
            data = os.read(self._descriptor, 1 << 16)
        except BlockingIOError:
            return
        if not data:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if not data and self._rest:
            lines.append(self._rest)
        for line in lines:
            text = line.decode(errors="replace")
            self.last.append(text)
            self._arrived(text)


class Child:
    """One process that is started again whenever it ends, until it is stopped."""

    def __init__(
        self,
        name: str,
        start: Callable[[], int],
        reaper: Reaper,
        *,
        end_signal: signal.Signals = signal.SIGTERM,
        last_words: Callable[[], str] = str,
    ) -> None:
        self.name = name
        self.pid = 0  # 0 while it does not run
        self._start, self._reaper = start, reaper
        self._end_signal = end_signal
        self._last_words = last_words
        self._restarts = Restarts()
        self._stopping = asyncio.Event()
        self._exit: asyncio.Future[int] | None = None

    def start(self) -> asyncio.Future[int]:
        """Start it now, before `keep` comes to it; returns the future exit code."""
        self.pid = self._start()
        self._exit = self._reaper.watch(self.pid)
        return self._exit

    async def keep(self, started: Callable[[], None], ended: Callable[[], None]) -> None:
        """Run it until `stop`; `ended` is called after each end that nobody asked for and may raise.

        Raises Unavailable when it cannot start.
        """
        while not self._stopping.is_set():
            began = time.monotonic()
            exit_code = self._exit if self.pid and self._exit else self.start()
            started()
            code = await exit_code
            self.pid = 0
            if self._stopping.is_set():
                return
            ended()
            pause_s = self._restarts.pause_s(time.monotonic() - began, code)
            if pause_s is None:
                raise self._hopeless()
            log.warning("process_ended", process=self.name, code=code, again_in_s=pause_s)
            try:
                await asyncio.wait_for(self._stopping.wait(), pause_s)
            except TimeoutError:
                continue

    def _hopeless(self) -> Fault:
        words = self._last_words().strip()
        return Unavailable(
            f"the {self.name} process cannot start ({Restarts.ATTEMPTS} attempts)"
            + (f"; its last words:\n{words}" if words else ""),
            hint="run `repofold doctor`, or start again with --verbose",
        )

    async def stop(self, seconds: float) -> None:
        """Ask it to end, and kill it when it has not by then."""
        self._stopping.set()
        if self._exit is None or self._exit.done():
            return
        os.kill(self.pid, self._end_signal)
        done, _ = await asyncio.wait([self._exit], timeout=max(seconds, 0.0))
        if not done:
            log.warning("process_killed", process=self.name, after_s=seconds)
            os.kill(self.pid, signal.SIGKILL)
            await asyncio.wait([self._exit])
