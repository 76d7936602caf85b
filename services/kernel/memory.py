"""How is memory given back after a burst of work?"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of mallopt in glibc
_DONT_NEED = 4  # of madvise in Linux
_LOOK_S = 15.0
_REST = 0.01  # of a processor: less is rest
_WORKED_S = 0.25  # since memory was given back: less leaves little,
_MAPPED = 8 << 20  # unless it was spent on reading


def trim() -> None:
    """Return freed memory to the system where the C library can (glibc); elsewhere do nothing.

    The allocator keeps what a burst freed for the next one, and what was read of a database stays
    mapped; an idle node should hold neither.
    """
    gc.collect()
    try:
        library = ctypes.CDLL(None, use_errno=True)
        library.malloc_trim(0)
    except (AttributeError, OSError):
        return
    for start, size in _mapped_databases():
        # The page cache keeps them; here they come back when they are read again.
        library.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), _DONT_NEED)


async def keep_tidy(
    look_s: float = _LOOK_S,
    rested: Callable[[], None] = trim,
    spent_s: Callable[[], float] = time.process_time,
) -> None:
    """Give memory back whenever this process rests after it has worked; runs until it is cancelled."""
    worked = before = spent_s()
    mapped = _mapped_bytes()
    while True:
        await asyncio.sleep(look_s)
        now = spent_s()
        rests = now - before < _REST * look_s
        if rests and (now - worked > _WORKED_S or _mapped_bytes() - mapped > _MAPPED):
            await asyncio.to_thread(rested)
            worked = now = spent_s()
            mapped = _mapped_bytes()
        before = now


def _mapped_bytes() -> int:
    """How much of mapped files is in this process; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[2])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _mapped_databases(maps: Path = Path("/proc/self/maps")) -> Iterator[tuple[int, int]]:
    """Where LMDB files are mapped, and how much of each: for reading only, as LMDB does by itself."""
    try:
        lines = maps.read_text(errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        if line.endswith("/data.mdb") and line.split(" ", 2)[1] == "r--s":
            start, _, end = line.partition(" ")[0].partition("-")
            yield int(start, 16), int(end, 16) - int(start, 16)


def lean(*, trims: bool) -> None:
    """Have glibc keep little of what is freed: for processes that are idle most of the time.

    Two arenas instead of eight a processor. Blocks from half a megabyte on go straight back; not in a
    process that `trims` after each burst, where each such block costs the faults of all its pages.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    for parameter, value in (
        (_ARENA_MAX, 2),
        (_MMAP_THRESHOLD, 1 << 25 if trims else 1 << 19),
        (_TRIM_THRESHOLD, 1 << 26 if trims else 1 << 20),
    ):
        mallopt(parameter, value)
