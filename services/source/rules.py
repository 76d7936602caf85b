"""Does a path of the tree take part in the index?

The walker, the watcher and the reconciler all decide here. A path takes part when no part of it is
`.git`, no .gitignore excludes it or a folder above it, no exclude glob selects it or a folder above
it, and, with include globs, one of them selects it or a folder above it.

As in git, an excluded folder is not entered, so nothing below it can be re-included. Other than
git: files that git tracks have no privilege, the index is not read; the .gitignore files above the
root, `.git/info/exclude` and the user's global excludes are not read; a nested repository is a
folder like any other. Include globs never keep a folder from being entered.
"""

from __future__ import annotations

import os
import stat

from contracts.errors import Fault
from contracts.events.log import WalkFilters
from contracts.ids import RepoPath, path_from_bytes, path_to_bytes
from services.source.guard import open_directory_beneath
from services.source.ignore import IgnoreFile, compile_globs

GITIGNORE = ".gitignore"
# git caps these files too (at 100 MB); a longer one is passed over as if it were not there.
_LARGEST_GITIGNORE_BYTES = 1 << 20


class Scope:
    """The rules that hold for the entries of one folder that itself takes part."""

    __slots__ = ("_files", "_raw", "path")

    def __init__(self, path: str, raw: str, files: tuple[tuple[IgnoreFile, int], ...]) -> None:
        self.path = path  # of the folder, as RepoPath, with a "/" behind; "" for the root
        self._raw = raw  # the same as Latin-1 text of its bytes
        self._files = files  # deepest first, each with the length of its own folder in `_raw`

    def inner(self, name: str, raw: str) -> Scope:
        """Return the scope of a folder in this one, its own .gitignore not yet regarded."""
        return Scope(f"{self.path}{name}/", f"{self._raw}{raw}/", self._files)

    def with_patterns(self, patterns: IgnoreFile) -> Scope:
        """Return this scope with the patterns of the folder's own .gitignore before all others."""
        return Scope(self.path, self._raw, ((patterns, len(self._raw)), *self._files))

    def ignores(self, raw: str, is_directory: bool) -> bool:
        """Say whether a .gitignore excludes the entry of that name (Latin-1 text of its bytes)."""
        for patterns, above in self._files:
            below = f"{self._raw[above:]}{raw}" if patterns.anchored else ""
            verdict = patterns.verdict(raw, below, is_directory)
            if verdict is not None:
                return verdict
        return False


class TreeRules:
    """The rules of one tree under one set of filters.

    `eligible` remembers the .gitignore files it has read; whoever learns that one has changed, or
    that a folder came or went, calls `forget`. Not for use by several threads at once.
    """

    def __init__(self, root_fd: int, filters: WalkFilters) -> None:
        """`root_fd` stays the caller's. Raises InvalidArgument for a glob that can never match."""
        self._root_fd = root_fd
        self._respects_gitignore = filters.respect_gitignore
        self._include = compile_globs(filters.include)
        self._exclude = compile_globs(filters.exclude)
        self._scopes: dict[str, Scope | None] = {}

    def admits_file(self, scope: Scope, name: str, raw: str) -> bool:
        """Say whether a file of that name in the folder of `scope` takes part."""
        if name == ".git" or scope.ignores(raw, is_directory=False):
            return False
        if self._exclude is None and self._include is None:
            return True
        path = scope.path + name
        if self._exclude is not None and self._exclude.match_file(path):
            return False
        return self._include is None or self._include.match_file(path)

    def admits_directory(self, scope: Scope, name: str, raw: str) -> bool:
        """Say whether a folder of that name in the folder of `scope` is entered."""
        if name == ".git" or scope.ignores(raw, is_directory=True):
            return False
        return self._exclude is None or not self._exclude.match_file(f"{scope.path}{name}/")

    def entered(self, scope: Scope, directory_fd: int) -> Scope:
        """Return `scope` with the .gitignore of its own folder, which is open as `directory_fd`."""
        if not self._respects_gitignore:
            return scope
        data = _read_gitignore(directory_fd)
        return scope.with_patterns(IgnoreFile(data)) if data else scope

    def scope(self, directory: str) -> Scope | None:
        """Return the rules inside a folder, "" being the root; None when it takes no part."""
        known = self._scopes.get(directory, _UNKNOWN)
        if known is not _UNKNOWN:
            return known
        found: Scope | None = self._step(_ROOT, "")
        at = 0
        while found is not None and at < len(directory):
            at = directory.find("/", at + 1) % (len(directory) + 1)
            found = self._step(found, directory[:at])
        return found

    def inherited(self, directory: str) -> Scope | None:
        """Return the rules inside a folder without those of its own .gitignore."""
        if not directory:
            return _ROOT
        folder, _, name = directory.rpartition("/")
        above = self.scope(folder)
        raw = raw_name(name)
        if above is None or not self.admits_directory(above, name, raw):
            return None
        return above.inner(name, raw)

    def eligible(self, path: RepoPath, is_directory: bool) -> bool:
        """Say whether `path` takes part, were it a file or a folder; the root always does.

        Nothing is asked of the path itself, so it may be gone, but the .gitignore files of the
        folders above it are read from the disk.
        """
        if not path:
            return True
        folder, _, name = path.rpartition("/")
        scope = self.scope(folder)
        if scope is None:
            return False
        admits = self.admits_directory if is_directory else self.admits_file
        return admits(scope, name, raw_name(name))

    def forget(self, directory: str = "") -> None:
        """Read the .gitignore files in and below a folder anew when they are next needed."""
        below = f"{directory}/"
        for path in [p for p in self._scopes if not directory or f"{p}/".startswith(below)]:
            del self._scopes[path]

    def _step(self, above: Scope, path: str) -> Scope | None:
        known = self._scopes.get(path, _UNKNOWN)
        if known is not _UNKNOWN:
            return known
        scope: Scope | None = _ROOT
        if path:
            name = path.rpartition("/")[2]
            raw = raw_name(name)
            scope = above.inner(name, raw) if self.admits_directory(above, name, raw) else None
        if scope is not None and self._respects_gitignore:
            try:
                opened = open_directory_beneath(self._root_fd, path_to_bytes(path))
            except Fault:
                return scope  # gone or unreadable for now: nothing to read, nothing to remember
            try:
                scope = self.entered(scope, opened)
            finally:
                os.close(opened)
        self._scopes[path] = scope
        return scope


_ROOT = Scope("", "", ())
_UNKNOWN = Scope("", "", ())


def raw_name(name: str) -> str:
    """Return the Latin-1 text of the bytes behind a name of a RepoPath."""
    return name if name.isascii() else path_to_bytes(name).decode("latin-1")


def entry_names(name: str) -> tuple[str, str]:
    """Return, for a name as the operating system gave it, its RepoPath text and its Latin-1 text."""
    if name.isascii():
        return name, name
    encoded = os.fsencode(name)
    return path_from_bytes(encoded), encoded.decode("latin-1")


def _read_gitignore(directory_fd: int) -> bytes:
    """Return the folder's .gitignore; empty when there is none, or one that git would not read."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        opened = os.open(GITIGNORE, flags, dir_fd=directory_fd)
    except OSError:
        return b""
    try:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_GITIGNORE_BYTES:
            return b""
        with open(opened, "rb", closefd=False) as file:
            return file.read(_LARGEST_GITIGNORE_BYTES)
    except OSError:
        return b""
    finally:
        os.close(opened)
