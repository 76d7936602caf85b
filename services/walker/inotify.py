"""What does the Linux kernel say has changed in the folders that take part?

Talks to inotify itself, through the C library, because a recursive watch is the wrong tool for a
repository: it spends watches on `.git` and `node_modules` (which can use up the user's allowance),
wakes for every object git writes and every file a build makes, drops events without a word when
the kernel's queue is full, and gives up at the first name that is not UTF-8. Here a watch is set
on a folder through its open descriptor, before the folder is listed, so nothing falls between.
Nothing runs while nothing happens.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import select
import struct
import time
from collections.abc import Iterable

from contracts.errors import Unavailable
from contracts.ids import RepoPath, path_from_bytes
from services.walker.burst import Burst, happens, in_thread

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_MOVE_SELF, _UNMOUNT, _OVERFLOW, _IGNORED = 0x800, 0x2000, 0x4000, 0x8000
_ONLYDIR, _EXCL_UNLINK, _ISDIR = 0x0100_0000, 0x0400_0000, 0x4000_0000
# Writes through a memory map show only when the file is closed; writes of a log that stays open
# show only as they are made.
_CONTENT = _MODIFY | _CLOSE_WRITE | _ATTRIB
_NAMES = _CREATE | _DELETE | _MOVED_FROM | _MOVED_TO
_WATCHED = _CONTENT | _NAMES | _ONLYDIR | _EXCL_UNLINK
_EVENT = struct.Struct("iIII")
_READ_BYTES = 1 << 18
_VANISHED = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EBADF})


class Inotify:
    """Watches on single folders, all on one kernel queue."""

    def __init__(self, *, step_seconds: float = 0.02, debounce_seconds: float = 0.05) -> None:
        """A burst ends when nothing came for `step_seconds`, or `debounce_seconds` after it began."""
        self._step_seconds = step_seconds
        self._debounce_seconds = debounce_seconds
        self._fd = -1
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._path_by_watch: dict[int, str] = {}
        self._watch_by_path: dict[str, int] = {}
        self._told: set[int] = set()

    @staticmethod
    def available() -> bool:
        """Say whether this system has inotify, and /proc to reach a folder by its descriptor."""
        libc = ctypes.CDLL(None)
        return hasattr(libc, "inotify_init1") and os.path.isdir("/proc/self/fd")

    @property
    def watches(self) -> int:
        """How many folders are watched."""
        return len(self._path_by_watch)

    async def start(self) -> None:
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise _refused(ctypes.get_errno())

    def begin(self) -> None:
        self._told = set()

    def add(self, directory_fd: int, path: RepoPath) -> None:
        # A root that is moved must wake the watcher; one that is deleted does so by its link count.
        mask = _WATCHED if path else _WATCHED | _MOVE_SELF
        place = b"/proc/self/fd/%d" % directory_fd
        watch = self._libc.inotify_add_watch(self._fd, place, ctypes.c_uint32(mask))
        if watch < 0:
            number = ctypes.get_errno()
            if number in _VANISHED:
                return
            raise _refused(number)
        # The kernel knows a folder by its inode: one that was moved keeps its watch.
        before = self._path_by_watch.get(watch)
        if before is not None and self._watch_by_path.get(before) == watch:
            del self._watch_by_path[before]
        self._path_by_watch[watch] = path
        self._watch_by_path[path] = watch
        self._told.add(watch)

    def finish(self) -> None:
        for watch in self._path_by_watch.keys() - self._told:
            self._remove(watch)

    def drop(self, gone: Iterable[str]) -> None:
        heads = tuple(f"{path}/" for path in gone)
        if heads:
            for path in [p for p in self._watch_by_path if f"{p}/".startswith(heads)]:
                self._remove(self._watch_by_path[path])

    async def burst(self, stop: asyncio.Event, timeout_seconds: float | None) -> Burst | None:
        loop = asyncio.get_running_loop()
        readable: asyncio.Future[None] = loop.create_future()

        def tell() -> None:
            if not readable.done():
                readable.set_result(None)

        loop.add_reader(self._fd, tell)
        try:
            if not await happens(readable, stop, timeout_seconds):
                return None
        finally:
            loop.remove_reader(self._fd)
        return await in_thread(lambda: self._collect(stop))

    async def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _collect(self, stop: asyncio.Event) -> Burst:
        burst = Burst()
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        ends = time.monotonic() + self._debounce_seconds
        while not stop.is_set():
            self._drain(burst)
            left = min(self._step_seconds, ends - time.monotonic())
            if left <= 0 or not poll.poll(left * 1000):
                break
        return burst

    def _drain(self, burst: Burst) -> None:
        try:
            data = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return
        at = 0
        while at < len(data):
            watch, mask, _, length = _EVENT.unpack_from(data, at)
            at += _EVENT.size + length
            self._hear(burst, watch, mask, data[at - length : at].rstrip(b"\0"))

    def _hear(self, burst: Burst, watch: int, mask: int, name: bytes) -> None:
        if mask & _OVERFLOW:
            burst.lost = "the kernel's queue of file events was full"
            return
        if mask & _IGNORED:
            self._unknow(watch)
            return
        folder = self._path_by_watch.get(watch)
        if folder is None:
            return  # said before the watch was removed
        if mask & _UNMOUNT:
            burst.lost = "a mounted file system went away"
        elif name:
            text = name.decode() if name.isascii() else path_from_bytes(name)
            self._note(burst, f"{folder}/{text}" if folder else text, mask)

    def _note(self, burst: Burst, path: str, mask: int) -> None:
        if not mask & _ISDIR:
            burst.touched.setdefault(path, bool(mask & _CREATE))
        elif mask & (_DELETE | _MOVED_FROM):
            burst.departed.add(path)
        elif mask & (_CREATE | _MOVED_TO) or path not in self._watch_by_path:
            burst.arrived.add(path)  # an unwatched folder whose mode changed: readable now, perhaps

    def _remove(self, watch: int) -> None:
        self._libc.inotify_rm_watch(self._fd, watch)
        self._unknow(watch)

    def _unknow(self, watch: int) -> None:
        path = self._path_by_watch.pop(watch, None)
        if path is not None and self._watch_by_path.get(path) == watch:
            del self._watch_by_path[path]


def _refused(number: int) -> Unavailable:
    if number == errno.ENOSPC:
        return Unavailable(
            "the system's allowance of file watches is used up",
            hint="raise fs.inotify.max_user_watches, or let .gitignore exclude generated folders",
            reason="watch_limit",
        )
    if number == errno.EMFILE:
        return Unavailable(
            "the system's allowance of file watchers is used up",
            hint="raise fs.inotify.max_user_instances, or stop other programs that watch files",
            reason="watch_limit",
        )
    return Unavailable(
        f"the kernel refused to watch a folder: {os.strerror(number)}",
        hint="changes are found by walking the tree from time to time",
        reason=errno.errorcode.get(number, "unknown"),
    )
