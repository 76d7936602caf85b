"""How is memory given back after a burst of work?"""

from __future__ import annotations

import ctypes
import gc

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of mallopt in glibc


def trim() -> None:
    """Return freed memory to the system where the C library can (glibc); elsewhere do nothing.

    The allocator keeps what a burst freed for the next one; an idle node should not hold it.
    """
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        return


def lean() -> None:
    """Have glibc keep little of what is freed: for processes that are idle most of the time.

    Two arenas instead of eight a processor, and blocks from half a megabyte on go straight back.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    for parameter, value in (
        (_ARENA_MAX, 2),
        (_MMAP_THRESHOLD, 1 << 19),
        (_TRIM_THRESHOLD, 1 << 20),
    ):
        mallopt(parameter, value)
