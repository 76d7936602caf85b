"""Child processes: how they are started, kept alive and ended."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from contracts.errors import Unavailable
from ops.node import process, workers
from ops.node.children import Child, Lines, Reaper, Restarts

_ROOT = Path(__file__).parents[2]


def nothing() -> None:
    """Nobody needs to know."""


def test_a_restart_waits_longer_each_time_up_to_a_limit() -> None:
    restarts = Restarts()

    pauses = [restarts.pause_s(1.0, -signal.SIGKILL) for _ in range(10)]

    assert pauses[:4] == [0.1, 0.2, 0.4, 0.8]
    assert pauses[-1] == Restarts.LAST_S


def test_a_process_that_was_healthy_starts_again_at_once() -> None:
    restarts = Restarts()
    for _ in range(6):
        restarts.pause_s(1.0, 1)

    assert restarts.pause_s(Restarts.HEALTHY_S, 1) == Restarts.FIRST_S


def test_what_cannot_start_is_given_up_and_what_is_killed_never_is() -> None:
    failing, killed = Restarts(), Restarts()

    assert [failing.pause_s(0.1, 1) is None for _ in range(8)] == [False] * 7 + [True]
    assert all(killed.pause_s(0.1, -9) is not None for _ in range(50))


async def test_a_killed_child_is_started_again_and_a_stopped_one_is_not() -> None:
    reaper = Reaper()
    started: asyncio.Queue[int] = asyncio.Queue()
    child = Child("sleeper", lambda: process.start(_wait_for_signal, process.Pipes()), reaper)
    keeping = asyncio.create_task(child.keep(lambda: started.put_nowait(child.pid), nothing))

    first = await started.get()
    os.kill(first, signal.SIGKILL)
    second = await started.get()
    await child.stop(10.0)
    await keeping

    assert first != second
    assert started.empty()
    assert child.pid == 0


async def test_a_process_that_ended_before_anybody_listened_is_noticed() -> None:
    pid = process.start(lambda: 3, process.Pipes())
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

    assert await asyncio.wait_for(Reaper().watch(pid), 10) == 3


async def test_a_child_that_ignores_its_end_is_killed() -> None:
    reading, writing = os.pipe()

    def stubborn() -> int:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(1, b"x")
        return _wait_for_signal()

    child = Child(
        "stubborn", lambda: process.start(stubborn, process.Pipes(output=writing)), Reaper()
    )
    keeping = asyncio.create_task(child.keep(nothing, nothing))
    assert await asyncio.to_thread(os.read, reading, 1) == b"x"

    await child.stop(0.05)

    await asyncio.wait_for(keeping, 10)
    os.close(reading)
    os.close(writing)


async def test_a_child_that_cannot_start_is_given_up_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Restarts, "FIRST_S", 0.001)
    monkeypatch.setattr(Restarts, "LAST_S", 0.001)
    ends: list[int] = []
    child = Child(
        "broken",
        lambda: process.start(lambda: 3, process.Pipes()),
        Reaper(),
        last_words=lambda: "no such thing",
    )

    with pytest.raises(Unavailable, match="no such thing") as caught:
        await child.keep(nothing, lambda: ends.append(1))

    assert "the broken process cannot start" in caught.value.message
    assert len(ends) == Restarts.ATTEMPTS


async def test_lines_arrive_whole_and_the_last_ones_are_remembered() -> None:
    reading, writing = os.pipe()
    arrived: list[str] = []
    closed = asyncio.Event()

    def keep(text: str) -> None:
        arrived.append(text)
        if text == "end":
            closed.set()

    lines = Lines(reading, keep)
    os.write(writing, b"one\ntw")
    os.write(writing, b"o\n\xff\nend")
    os.close(writing)
    await asyncio.wait_for(closed.wait(), 10)

    assert arrived == ["one", "two", "\N{REPLACEMENT CHARACTER}", "end"]
    assert list(lines.last) == arrived


def test_a_child_shares_nothing_but_what_it_was_given() -> None:
    reading, writing = os.pipe()
    secret, secret_end = os.pipe()

    def main() -> int:
        names = [int(name) for name in os.listdir("/proc/self/fd" if process.FORKS else "/dev/fd")]
        os.write(1, b"%d" % sum(1 for number in names if number > 2 and _is_open(number)))
        return 0

    child = process.start(main, process.Pipes(output=writing))
    os.waitpid(child, 0)

    assert os.read(reading, 10) == b"0"
    for descriptor in (reading, writing, secret, secret_end):
        os.close(descriptor)


def test_the_exit_code_of_a_child_is_what_its_main_returned_or_that_it_failed() -> None:
    def broken() -> int:
        raise RuntimeError("told on standard error, here /dev/null")

    codes = []
    for main in (lambda: 0, lambda: 7, broken):
        _, status = os.waitpid(process.start(main, process.Pipes()), 0)
        codes.append(os.waitstatus_to_exitcode(status))

    assert codes == [0, 7, 70]


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
@pytest.mark.parametrize("how", ["kernel", "lifeline"])
def test_no_child_outlives_a_supervisor_that_was_killed(how: str) -> None:
    program = textwrap.dedent(
        """
        import os, signal, sys, time
        from ops.node import process, workers
        if sys.argv[1] == "lifeline":
            process._libc = None  # as on systems whose kernel does not see to it
        reading, writing = os.pipe()
        def main():
            workers.hold_on_to_lifeline()
            os.write(1, b"%d\\n" % os.getpid())
            while True:
                signal.pause()
        process.start(main, process.Pipes(lifeline=reading, output=1))
        signal.pause()
        """
    )
    supervisor = subprocess.Popen(
        [sys.executable, "-c", program, how], cwd=_ROOT, stdout=subprocess.PIPE
    )
    assert supervisor.stdout is not None
    child = os.pidfd_open(int(supervisor.stdout.readline()))

    supervisor.kill()
    supervisor.wait()

    ended, _, _ = select.select([child], [], [], 20)
    os.close(child)
    supervisor.stdout.close()
    assert ended


@pytest.mark.skipif(not process.FORKS, reason="needs Linux")
def test_a_worker_is_listed_under_its_own_name() -> None:
    program = textwrap.dedent(
        """
        from ops.node.process import rename
        rename("repofold work extractor --state /somewhere")
        print(open("/proc/self/cmdline").read().rstrip("\\0").replace("\\0", " "))
        print(open("/proc/self/comm").read())
        """
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], cwd=_ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()

    assert shown[:2] == ["repofold work extractor --state /somewhere", "rf-extractor"]


def test_a_started_command_takes_no_package_from_the_folder_it_is_started_in(
    tmp_path: Path,
) -> None:
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "__init__.py").write_text("raise SystemExit(99)")
    command, environ = workers.command(["--help"])

    done = subprocess.run(
        command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0
    assert "usage: repofold" in done.stdout


def _wait_for_signal() -> int:
    while True:
        signal.pause()


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
