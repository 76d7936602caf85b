"""What does the operating system say has changed, where there is no inotify?

watchfiles (FSEvents on macOS, kqueue on the BSDs) watches the whole tree, ignored folders and all;
what takes no part is dropped afterwards. It looks for events twenty times a
second even when there are none, which costs a thousandth of a core.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path

from watchfiles import Change, awatch

from contracts.errors import Unavailable
from contracts.ids import RepoPath, path_from_bytes, path_to_bytes
from services.walker.burst import Burst, happens, in_thread

_STEP_MS = 50
_DEBOUNCE_MS = 100
_IDLE_MS = 3_600_000

_Changes = set[tuple[Change, str]]


class Portable:
    """A recursive watch of one tree through watchfiles."""

    def __init__(self, root: Path) -> None:
        self._root = os.fspath(root)
        self._directories: set[str] = set()
        self._told: set[str] = set()
        self._stopped = asyncio.Event()
        self._changes: AsyncGenerator[_Changes, None] | None = None
        self._following: asyncio.Future[_Changes] | None = None

    async def start(self) -> None:
        self._changes = awatch(
            self._root,
            watch_filter=_outside_git,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            rust_timeout=_IDLE_MS,
            stop_event=self._stopped,
            ignore_permission_denied=True,
        )
        self._following = asyncio.ensure_future(anext(self._changes))
        await asyncio.sleep(0)  # the watch is set when the generator first runs
        if self._following.done() and (error := self._following.exception()) is not None:
            raise _refusal(error)

    def begin(self) -> None:
        self._told = set()

    def add(self, directory_fd: int, path: RepoPath) -> None:  # noqa: ARG002
        self._directories.add(path)
        self._told.add(path)

    def finish(self) -> None:
        self._directories = self._told.copy()

    def drop(self, gone: Iterable[str]) -> None:
        heads = tuple(f"{path}/" for path in gone)
        self._directories = {p for p in self._directories if not f"{p}/".startswith(heads)}

    async def burst(self, stop: asyncio.Event, timeout_seconds: float | None) -> Burst | None:
        if self._following is None or self._changes is None:
            return None
        if not await happens(self._following, stop, timeout_seconds):
            return None
        try:
            changes = self._following.result()
        except StopAsyncIteration:
            return None
        except (OSError, RuntimeError, ExceptionGroup) as error:
            cause = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
            if "limit" in str(cause):
                raise _refusal(cause) from None
            # One name it cannot decode ends a watch of watchfiles for good.
            await self.close()
            await self.start()
            return Burst(lost=f"the watch had to be set anew: {cause}")
        self._following = asyncio.ensure_future(anext(self._changes))
        return await in_thread(lambda: self._sort(changes))

    async def close(self) -> None:
        self._stopped.set()
        if self._following is not None:
            await asyncio.wait({self._following})
            if not self._following.cancelled():
                self._following.exception()  # seen; whatever it is, the watch is over
        if self._changes is not None:
            await self._changes.aclose()
        self._following = self._changes = None
        self._stopped = asyncio.Event()

    def _sort(self, changes: _Changes) -> Burst:
        burst = Burst()
        for change, place in changes:
            path = path_from_bytes(os.fsencode(os.path.relpath(place, self._root)))
            if path == ".":
                continue
            known = path in self._directories
            deleted = change is Change.deleted
            folder = not deleted and self._is_directory(path)
            if known and not folder:
                burst.departed.add(path)
            if folder and (not known or change is Change.added):
                burst.arrived.add(path)
            if not folder and not (known and deleted):
                burst.touched[path] = False
        return burst

    def _is_directory(self, path: str) -> bool:
        place = os.path.join(os.fsencode(self._root), path_to_bytes(path))
        try:
            return stat.S_ISDIR(os.lstat(place).st_mode)
        except OSError:
            return False


def _outside_git(change: Change, place: str) -> bool:  # noqa: ARG001
    return "/.git/" not in place and not place.endswith("/.git")


def _refusal(error: BaseException) -> Unavailable:
    return Unavailable(
        f"the system refused to watch the folder: {error}",
        hint="raise its allowance of file watches; until then changes are found by walking",
        reason="watch_limit" if "limit" in str(error) else "watch_refused",
    )
