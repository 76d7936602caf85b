"""What does a source of file events hand to the watcher?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from contracts.ids import RepoPath

T = TypeVar("T")


@dataclass(slots=True)
class Burst:
    """Names that something happened to within one short time; what is there now is looked up."""

    # By path of what is no folder: whether the first thing heard was that it came into being.
    touched: dict[str, bool] = field(default_factory=dict)
    arrived: set[str] = field(default_factory=set)  # folders that came, or became readable
    departed: set[str] = field(default_factory=set)  # folders that went
    lost: str = ""  # why events may be missing from this burst

    def __len__(self) -> int:
        return len(self.touched) + len(self.arrived) + len(self.departed)


class Source(Protocol):
    """A source of bursts for one tree.

    `start` comes first. Then `begin`, an `add` for every folder that takes part, and `finish` tell
    it the whole set, at first and whenever the rules changed; between these, `add` and `drop` tell
    of single folders. All but the coroutines run in a thread, one call at a time.
    """

    async def start(self) -> None:
        """Take what the system has to give; raises Unavailable when it refuses."""
        ...

    def begin(self) -> None: ...

    def add(self, directory_fd: int, path: RepoPath) -> None:
        """Hear of events in a folder; raises Unavailable when the system has no room for it."""
        ...

    def finish(self) -> None:
        """Forget the folders that were not told since `begin`."""
        ...

    def drop(self, gone: Iterable[str]) -> None:
        """Forget these folders and all below them."""
        ...

    async def burst(self, stop: asyncio.Event, timeout_seconds: float | None) -> Burst | None:
        """Wait for events and return them; None at the timeout or when `stop` is set."""
        ...

    async def close(self) -> None: ...


async def happens(
    event: asyncio.Future[T], stop: asyncio.Event, timeout_seconds: float | None
) -> bool:
    """Wait until `event` is done; False when `stop` is set or the time is over before."""
    stopping = asyncio.ensure_future(stop.wait())
    either: set[asyncio.Future[Any]] = {event, stopping}
    try:
        await asyncio.wait(either, timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
    return event.done() and not stop.is_set()


async def in_thread(call: Callable[[], T]) -> T:
    """Run blocking work in a thread; a cancelled caller leaves only after the thread is done.

    So the descriptors that the work uses are never closed under its hands.
    """
    work = asyncio.get_running_loop().run_in_executor(None, call)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait({work})
        if not work.cancelled():
            work.exception()  # seen, so that the loop does not report it as forgotten
        raise
