"""How is memory given back after a burst of work?"""

from __future__ import annotations

import ctypes
import gc


def trim() -> None:
    """Return freed memory to the system where the C library can (glibc); elsewhere do nothing.

    The allocator keeps what a burst freed for the next one; an idle node should not hold it.
    """
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        return
