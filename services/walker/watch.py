"""What has changed in a tree, as it changes?

`watch` yields, in this order of events:

* `Rescan` once the watch is set, and whenever a list of changes would not do: a .gitignore changed,
  events were lost, too many came at once. The caller walks the tree anew. Because the first one
  comes after the watch is set, nothing that happens during that first walk is missed.
* `Changed` with what is now at the paths something happened to. Editors' swap files, a save by
  renaming and a file written many times within the debounce come out as their final state.
* `Degraded` when the system cannot watch (any more); nothing follows. The caller walks from time
  to time instead and tells people so.

Files and folders that take no part are left out, symbolic links count as nothing.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path

from msgspec import Struct

from contracts.errors import Fault, NotFound, Unavailable
from contracts.events.jobs import SeenEntry
from contracts.events.log import WalkFilters
from contracts.ids import RepoPath, path_to_bytes
from services.source.guard import open_root, stat_beneath
from services.source.rules import GITIGNORE, TreeRules
from services.source.walk import visit
from services.walker.burst import Burst, Source, in_thread
from services.walker.inotify import Inotify
from services.walker.portable import Portable

FLOOD_EVENTS = 5_000  # more at once, and a walk is cheaper than a list
_QUIET_SECONDS = 0.2
_LONGEST_STORM_SECONDS = 2.0


class Changed(Struct, frozen=True):
    """What is there now, as SeenEntry tells it, in an order that may be applied one by one.

    A path may come twice: first size -2 (all that was below it is gone), then the file that is
    there now. After a -2, files below the same path are what the folder holds now.
    """

    entries: tuple[SeenEntry, ...]


class Rescan(Struct, frozen=True):
    """Walk the whole tree: what changed is not known file by file."""

    reason: str  # started, gitignore, flood, lost
    detail: str = ""


class Degraded(Struct, frozen=True):
    """No further change will be told."""

    reason: str  # watch_limit, root_missing, ... : stable
    message: str
    hint: str = ""


Notice = Changed | Rescan | Degraded


def source_for(root: Path) -> Source:
    """Return this system's best source of file events."""
    return Inotify() if Inotify.available() else Portable(root)


async def watch(
    root: Path,
    filters: WalkFilters,
    *,
    stop: asyncio.Event,
    source: Source | None = None,
    batch_entries: int = 512,
) -> AsyncGenerator[Notice, None]:
    """Yield notices of changes below `root` until `stop` is set or the system cannot watch.

    Raises InvalidArgument for a glob that can never match. Close the generator (`aclosing`) when
    leaving it early: it holds descriptors and system watches.
    """
    source = source or source_for(root)
    tree: _Tree | None = None
    try:
        await source.start()
        tree = await in_thread(lambda: _Tree(root, filters, source))
        await in_thread(tree.arm)
        yield Rescan("started")
        while (burst := await source.burst(stop, None)) is not None:
            tree.check_root()
            if (rescan := tree.needs_rescan(burst)) is not None:
                await _wait_for_quiet(source, stop)
                await in_thread(tree.arm)
                yield rescan
                continue
            entries = await in_thread(lambda: tree.settle(burst))
            for at in range(0, len(entries), batch_entries):
                yield Changed(tuple(entries[at : at + batch_entries]))
    except (Unavailable, NotFound) as fault:
        yield Degraded(str(fault.details.get("reason", fault.code)), fault.message, fault.hint)
    finally:
        await source.close()
        if tree is not None:
            tree.close()


async def _wait_for_quiet(source: Source, stop: asyncio.Event) -> None:
    """Let a checkout or a build come to its end, so that one walk sees all of it."""
    clock = asyncio.get_running_loop().time
    ends = clock() + _LONGEST_STORM_SECONDS
    while clock() < ends and await source.burst(stop, _QUIET_SECONDS) is not None:
        pass


class _Tree:
    """What takes part in the tree, and what is there now. Works in a thread, one call at a time."""

    def __init__(self, root: Path, filters: WalkFilters, source: Source) -> None:
        self._root = root
        self._root_fd = open_root(root)
        try:
            self._rules = TreeRules(self._root_fd, filters)
        except Fault:
            self.close()
            raise
        self._reads_gitignore = filters.respect_gitignore
        self._source = source

    def close(self) -> None:
        os.close(self._root_fd)

    def check_root(self) -> None:
        """Raise NotFound when the root folder is no longer the one that is watched."""
        opened = os.fstat(self._root_fd)
        try:
            there = os.lstat(self._root)
        except OSError:
            there = None
        if there is None or (there.st_dev, there.st_ino) != (opened.st_dev, opened.st_ino):
            raise NotFound(
                f"the folder {self._root} was moved, replaced or deleted",
                hint="register the repository again from where it is now",
                reason="root_missing",
            )

    def arm(self) -> None:
        """Tell the source every folder that takes part, under the rules as they are now."""
        self._rules.forget()
        self._source.begin()
        for _ in visit(self._root_fd, self._rules, on_directory=self._source.add, with_files=False):
            pass
        self._source.finish()

    def needs_rescan(self, burst: Burst) -> Rescan | None:
        if burst.lost:
            return Rescan("lost", burst.lost)
        if len(burst) > FLOOD_EVENTS:
            return Rescan("flood", f"{len(burst)} names changed at once")
        if self._reads_gitignore:
            for path in burst.touched:
                folder, _, name = path.rpartition("/")
                if name == GITIGNORE and self._rules.eligible(RepoPath(folder), is_directory=True):
                    return Rescan("gitignore", path)
        return None

    def settle(self, burst: Burst) -> list[SeenEntry]:
        """Return what is there now at the paths of a burst."""
        departed = _topmost(burst.departed)
        arrived = _topmost(burst.arrived)
        self._source.drop(departed)
        gone: list[SeenEntry] = []
        for path in departed:
            if self._rules.eligible(RepoPath(path), is_directory=True):
                gone.append(SeenEntry(RepoPath(path), -2, 0, 0))
            self._rules.forget(path)
        there: dict[str, SeenEntry] = {}
        for path in arrived:
            self._rules.forget(path)
            for item in visit(
                self._root_fd, self._rules, below=path, on_directory=self._source.add
            ):
                if isinstance(item, SeenEntry):
                    there[item.path] = item
        told = tuple(f"{path}/" for path in (*departed, *arrived))
        for path, born in burst.touched.items():
            if not path.startswith(told) and (seen := self._look(RepoPath(path), born)) is not None:
                there[path] = seen
        return gone + [there[path] for path in sorted(there)]

    def _look(self, path: RepoPath, born: bool) -> SeenEntry | None:
        if not self._rules.eligible(path, is_directory=False):
            return None
        status = stat_beneath(self._root_fd, path_to_bytes(path))
        if status is not None and stat.S_ISREG(status.st_mode):
            return SeenEntry(path, status.st_size, status.st_mtime_ns, status.st_ino)
        if born:
            return None  # it came and went within the burst: nobody has heard of it
        return SeenEntry(path, -1, 0, 0)


def _topmost(paths: Iterable[str]) -> list[str]:
    """Return the paths that lie below no other one of them, in order."""
    kept: list[str] = []
    for path in sorted(f"{path}/" for path in paths):
        if not kept or not path.startswith(kept[-1]):
            kept.append(path)
    return [path[:-1] for path in kept]
