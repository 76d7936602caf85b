"""How is a process of the node started, so that it cannot outlive the node?

Each is forked into a session of its own (a terminal's Ctrl-C reaches the supervisor alone). Its
standard input is the node's lifeline: a pipe that nobody writes to and that ends when the
supervisor ends, however that happens. On Linux the kernel kills it as well. The state lock's
descriptor is passed on, so that the lock is free only when all of them are gone.

On Linux a worker runs in the forked child itself, which has the imports of its parent already;
elsewhere, where forking without exec is not safe, and for programs, the child is replaced.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from msgspec import Struct

FORKS = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_libc = ctypes.CDLL(None, use_errno=True) if FORKS else None


class Pipes(Struct, frozen=True):
    """Descriptors that a child gets; -1 for /dev/null, or for none to keep."""

    lifeline: int = -1
    output: int = -1
    errors: int = -1
    keep: int = -1


def start(main: Callable[[], int], pipes: Pipes, *, death: signal.Signals = signal.SIGKILL) -> int:
    """Fork a child that runs `main` and exits with what it returns; returns its process id."""
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        _detach(parent, pipes, death)
        code = main()
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 1
    except BaseException:  # noqa: BLE001 - the last frame of the process: told, and the code says it failed
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def replaced(command: Sequence[str], environ: Mapping[str, str]) -> Callable[[], NoReturn]:
    """A `main` for `start` that turns the child into another program."""

    def main() -> NoReturn:
        os.execve(command[0], list(command), dict(environ))  # noqa: S606 - no shell is wanted

    return main


def _detach(parent: int, pipes: Pipes, death: signal.Signals) -> None:
    os.setsid()
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, int(death), 0, 0, 0)
        if os.getppid() != parent:  # it died before the line above
            os._exit(70)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    kept = os.dup(pipes.keep) if pipes.keep >= 0 else -1
    for target, given in enumerate((pipes.lifeline, pipes.output, pipes.errors)):
        os.dup2(given if given >= 0 else null, target)
    # What is left belongs to the parent: its sockets, its ends of the pipes.
    for descriptor in _open_descriptors():
        if descriptor > 2 and descriptor != kept:
            _close(descriptor)
    if kept >= 0:
        os.set_inheritable(kept, True)


def _open_descriptors() -> list[int]:
    folder = "/proc/self/fd" if FORKS else "/dev/fd"
    return [int(name) for name in os.listdir(folder) if name.isdigit()]


def _close(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:
        return


def rename(title: str) -> None:
    """Show `title` as this process's command line, where the system lets us; at most as long as the old one."""
    if _libc is None:
        return
    short = title.removeprefix("repofold work ").split(" ", 1)[0]
    _libc.prctl(_PR_SET_NAME, f"rf-{short}"[:15].encode(), 0, 0, 0)
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        begin, end = int(fields[45]), int(fields[46])
    except (OSError, ValueError, IndexError):
        return
    room = end - begin
    if room > 1:
        text = title.encode(errors="surrogateescape").replace(b" ", b"\0")[: room - 1]
        ctypes.memmove(begin, text.ljust(room, b"\0"), room)
