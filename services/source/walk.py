"""Which files does a tree hold that take part in the index?

Folders are opened one below the other through descriptors, so a path may be longer than the
system's limit, and a folder swapped for a symbolic link during the walk is not followed. Nothing is
recursive; at most 64 descriptors are open. Files are not opened: whether one is binary is for the
reader of its bytes to say.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from contracts.errors import Fault, NotFound
from contracts.events.jobs import SeenEntry
from contracts.events.log import WalkFilters
from contracts.ids import RepoPath, path_to_bytes
from services.source.guard import open_directory_beneath, open_root
from services.source.rules import GITIGNORE, Scope, TreeRules, entry_names

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FOLDERS = 64
# The entry went away, or became something else, between its listing and its use.
_VANISHED = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})

OnDirectory = Callable[[int, RepoPath], None]
"""Told of every folder entered: its descriptor (valid during the call) and path, before its
entries are listed."""


class Unreadable(Struct, frozen=True):
    """A folder or an entry that the walk could not look at."""

    path: RepoPath
    reason: str  # the system's own words


class WalkPart(Struct, frozen=True):
    """A piece of a walk, in order."""

    entries: tuple[SeenEntry, ...]
    unreadable: tuple[Unreadable, ...] = ()  # what could not be looked at since the part before

    @property
    def complete(self) -> bool:
        """False: something may have been missed, so nothing may be removed on this walk's account."""
        return not self.unreadable


def walk(root: Path, filters: WalkFilters, *, batch_entries: int = 512) -> Iterator[WalkPart]:
    """Yield the files of the tree that take part, in ordinal order of their RepoPath.

    Every part but the last has `batch_entries` entries; the last may have none. Symbolic links are
    not followed, `.git` is not entered, what is neither file nor folder is passed over, mounted
    file systems are entered. Raises NotFound when there is no folder at `root` (which must be
    resolved: a link is refused), Unavailable when it cannot be opened, InvalidArgument for a glob
    that can never match.
    """
    root_fd = open_root(root)
    try:
        seen = visit(root_fd, TreeRules(root_fd, filters))
        yield from batches(seen, batch_entries)
    finally:
        os.close(root_fd)


def batches(seen: Iterator[SeenEntry | Unreadable], batch_entries: int) -> Iterator[WalkPart]:
    """Group what `visit` yields; at least one part comes, and a short one is the last."""
    while True:
        entries: list[SeenEntry] = []
        unreadable: list[Unreadable] = []
        for item in seen:
            if isinstance(item, Unreadable):
                unreadable.append(item)
            else:
                entries.append(item)
                if len(entries) == batch_entries:
                    break
        yield WalkPart(tuple(entries), tuple(unreadable))
        if len(entries) < batch_entries:
            return


def visit(
    root_fd: int,
    rules: TreeRules,
    *,
    below: str = "",
    on_directory: OnDirectory | None = None,
    with_files: bool = True,
) -> Iterator[SeenEntry | Unreadable]:
    """Yield what is in and below one folder, "" being the root; nothing when it takes no part.

    Without `with_files` folders are entered and told of, and only trouble is yielded.
    """
    scope = rules.inherited(below)
    if scope is None:
        return
    try:
        opened = open_directory_beneath(root_fd, path_to_bytes(below))
    except NotFound:
        return
    except Fault as fault:
        yield Unreadable(RepoPath(below), fault.message)
        return
    descent = _Descent(root_fd, rules, on_directory, with_files)
    try:
        descent.enter(opened, scope)
        while (item := descent.following()) is not None:
            yield item
    finally:
        descent.close()


class _Below(NamedTuple):
    """A folder found in a listing, to be entered when its turn comes."""

    name: str  # as the operating system gave it
    text: str
    raw: str


_Item = SeenEntry | Unreadable | _Below


class _Frame:
    """A folder that has been entered."""

    __slots__ = ("fd", "identity", "items", "scope")

    def __init__(
        self, fd: int, scope: Scope, identity: tuple[int, int], items: Iterator[_Item]
    ) -> None:
        self.fd = fd  # -1 once it had to be closed to stay below the limit
        self.scope = scope
        self.identity = identity
        self.items = items


class _Descent:
    """The way from the root to the folder that is being read, and what is left to do on it."""

    def __init__(
        self, root_fd: int, rules: TreeRules, on_directory: OnDirectory | None, with_files: bool
    ) -> None:
        self._root_fd = root_fd
        self._rules = rules
        self._on_directory = on_directory
        self._with_files = with_files
        self._frames: list[_Frame] = []
        self._entered: set[tuple[int, int]] = set()

    def following(self) -> SeenEntry | Unreadable | None:
        """Return the next thing seen, or None at the end."""
        while self._frames:
            frame = self._frames[-1]
            for item in frame.items:
                if not isinstance(item, _Below):
                    return item
                trouble = self._open(frame, item)
                if trouble is not None:
                    return trouble
                if frame is not self._frames[-1]:
                    break
            else:
                self._leave()
        return None

    def enter(self, opened: int, scope: Scope) -> None:
        """Take over the descriptor of a folder and read its listing."""
        status = os.fstat(opened)
        identity = (status.st_dev, status.st_ino)
        if identity in self._entered:  # a mount that shows a folder inside itself
            os.close(opened)
            return
        self._frames.append(_Frame(opened, scope, identity, iter(())))
        self._entered.add(identity)
        if len(self._frames) > _OPEN_FOLDERS:
            _close(self._frames[-_OPEN_FOLDERS - 1])
        if self._on_directory is not None:
            self._on_directory(opened, RepoPath(scope.path[:-1]))
        self._frames[-1].items = self._list(self._frames[-1])

    def close(self) -> None:
        while self._frames:
            self._leave()

    def _leave(self) -> None:
        frame = self._frames.pop()
        self._entered.discard(frame.identity)
        _close(frame)

    def _open(self, frame: _Frame, below: _Below) -> Unreadable | None:
        try:
            if frame.fd < 0:
                path = path_to_bytes(frame.scope.path[:-1])
                frame.fd = open_directory_beneath(self._root_fd, path)
            opened = os.open(below.name, _DIRECTORY, dir_fd=frame.fd)
        except NotFound:
            return None
        except Fault as fault:
            return Unreadable(RepoPath(frame.scope.path + below.text), fault.message)
        except OSError as error:
            if error.errno in _VANISHED:
                return None
            return _unreadable(frame.scope, below.text, error)
        self.enter(opened, frame.scope.inner(below.text, below.raw))
        return None

    def _list(self, frame: _Frame) -> Iterator[_Item]:
        try:
            with os.scandir(frame.fd) as entries:
                listing = list(entries)
        except OSError as error:
            return iter((Unreadable(RepoPath(frame.scope.path[:-1]), _reason(error)),))
        if any(entry.name == GITIGNORE for entry in listing):
            frame.scope = self._rules.entered(frame.scope, frame.fd)
        items: list[tuple[str, _Item]] = []
        for entry in listing:
            text, raw = entry_names(entry.name)
            try:
                if entry.is_dir(follow_symlinks=False):
                    if self._rules.admits_directory(frame.scope, text, raw):
                        # With the slash, all that is below sorts where this entry does.
                        items.append((f"{text}/", _Below(entry.name, text, raw)))
                elif (
                    self._with_files
                    and entry.is_file(follow_symlinks=False)
                    and self._rules.admits_file(frame.scope, text, raw)
                ):
                    items.append((text, _seen(frame.scope, text, entry)))
            except FileNotFoundError:
                continue
            except OSError as error:
                items.append((text, _unreadable(frame.scope, text, error)))
        items.sort(key=itemgetter(0))
        return map(itemgetter(1), items)


def _seen(scope: Scope, text: str, entry: os.DirEntry[str]) -> SeenEntry:
    status = entry.stat(follow_symlinks=False)
    path = RepoPath(scope.path + text)
    return SeenEntry(path, status.st_size, status.st_mtime_ns, status.st_ino)


def _close(frame: _Frame) -> None:
    if frame.fd >= 0:
        os.close(frame.fd)
        frame.fd = -1


def _unreadable(scope: Scope, text: str, error: OSError) -> Unreadable:
    return Unreadable(RepoPath(scope.path + text), _reason(error))


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
