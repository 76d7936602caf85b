"""Where is work done that takes long? In threads of the code map's own.

Who waits for a view must not keep others from the threads of the loop, which read files and the like.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from services.query.codemap.layers import NotAtHand

T = TypeVar("T")
A = TypeVar("A")
_THREADS = ThreadPoolExecutor(4, "code map")


async def at_hand(opening: Callable[[bool], T]) -> T:
    """What `opening(build)` gives: here where all is at hand, else made in a thread."""
    try:
        return opening(False)
    except NotAtHand:
        return await elsewhere(opening, True)


async def elsewhere(work: Callable[[A], T], about: A) -> T:
    """What `work(about)` gives, done in a thread."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, work, about)
