"""How is work on many files spread over the processors? By forks that take pieces of it in turn.

What this process has in memory the forks share with it. The first pieces are large, since files that
lie together ask for the same things; the last ones small, so that all forks end at the same time.
"""

from __future__ import annotations

import os
import select
import selectors
import signal
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial

_LENGTH = struct.Struct("<I")
_PIECE = struct.Struct("<II")  # where it starts and ends; read and written as a whole
_LEAST = 8
_AT_ONCE = 64 << 10

Work = Callable[[Sequence[str]], Iterator[bytes]]


def spread(work: Work, paths: Sequence[str], processes: int) -> Iterator[bytes]:
    """Yield what `work` yields of all paths, in any order. Ends the process when a fork has failed."""
    selector = selectors.DefaultSelector()
    forks: dict[int, tuple[int, bytearray]] = {}
    waiting, pieces = _given(len(paths), processes)
    for _ in range(min(processes, pieces)):
        readable, writable = os.pipe()
        fork = os.fork()
        if fork == 0:
            os.close(readable)
            _take_part(work, paths, waiting, partial(_write, writable))
        os.close(writable)
        forks[readable] = (fork, bytearray())
        selector.register(readable, selectors.EVENT_READ)
    os.close(waiting)
    failed = False
    while forks:
        for key, _ in selector.select():
            fork, held = forks[key.fd]
            data = os.read(key.fd, _AT_ONCE)
            held += data
            yield from _frames(held)
            if not data:
                selector.unregister(key.fd)
                os.close(key.fd)
                _, status = os.waitpid(fork, 0)
                failed = failed or status != 0 or bool(held)
                del forks[key.fd]
    selector.close()
    if failed:
        raise SystemExit(1)


def pour(work: Work, paths: Sequence[str], processes: int, out: int) -> None:
    """Let the forks write what `work` yields of all paths to the descriptor `out`, as frames.

    Each has its length in front. Ends the process when a fork has failed.
    """
    waiting, pieces = _given(len(paths), processes)
    turn, done = os.pipe()  # holds one byte: whoever has taken it writes
    os.set_blocking(turn, False)
    os.write(done, b".")
    parent, alive = os.pipe()  # `alive` is open in this process alone

    def write(held: bytearray) -> None:
        _await_turn(turn, parent)
        _write(out, held)
        os.write(done, b".")

    forks: set[int] = set()
    for _ in range(min(processes, pieces)):
        fork = os.fork()
        if fork == 0:
            os.close(alive)
            _take_part(work, paths, waiting, write)
        forks.add(fork)
    for descriptor in (waiting, turn, done, parent):
        os.close(descriptor)
    while forks:
        fork, status = os.wait()
        forks.discard(fork)
        if status != 0:  # it may have died in its turn, which then never ends
            for other in forks:
                os.kill(other, signal.SIGKILL)
                os.waitpid(other, 0)
            os.close(alive)
            raise SystemExit(1)
    os.close(alive)


def _await_turn(turn: int, parent: int) -> None:
    """Take the turn; ends this fork when its parent is gone, with whom a turn may be lost."""
    while True:
        ready, _, _ = select.select((turn, parent), (), ())
        if parent in ready:
            raise SystemExit(1)
        with suppress(BlockingIOError):  # another fork was quicker
            os.read(turn, 1)
            return


def _given(count: int, processes: int) -> tuple[int, int]:
    """A descriptor that the pieces of the work are read from, and how many there are."""
    waiting, given = os.pipe()
    pieces = _pieces(count, processes)
    for piece in pieces:
        os.write(given, _PIECE.pack(*piece))
    os.close(given)
    return waiting, len(pieces)


def _pieces(count: int, processes: int) -> list[tuple[int, int]]:
    found, start = [], 0
    while start < count:
        end = min(count, start + max(_LEAST, (count - start) // (2 * processes)))
        found.append((start, end))
        start = end
    return found


def _frames(held: bytearray) -> Iterator[bytes]:
    """Take the whole frames off the front."""
    at = 0
    while at + _LENGTH.size <= len(held):
        start = at + _LENGTH.size
        end = start + _LENGTH.unpack_from(held, at)[0]
        if end > len(held):
            break
        yield bytes(held[start:end])
        at = end
    del held[:at]


def _take_part(
    work: Work, paths: Sequence[str], waiting: int, write: Callable[[bytearray], None]
) -> None:
    """Work on one piece after the other, write whole frames and end; never returns."""
    code = 1
    try:
        held = bytearray()
        while piece := os.read(waiting, _PIECE.size):
            start, end = _PIECE.unpack(piece)
            for frame in work(paths[start:end]):
                held += _LENGTH.pack(len(frame))
                held += frame
                if len(held) >= _AT_ONCE:  # whole frames, so that none is waited for
                    write(held)
                    held.clear()
        write(held)
        code = 0
    finally:
        os._exit(code)


def _write(writable: int, data: bytearray) -> None:
    with memoryview(data) as view:
        at = 0
        while at < len(view):
            at += os.write(writable, view[at:])
