"""How is a file read without ever leaving the root?

Every name of a path is opened by itself, below the folder opened before it, and no symbolic link
is followed: there is no moment between checking a path and using it. An open this way costs about
5 us at the usual depth, a fraction of reading and hashing the file, so no descriptor is kept from
one read to the next and a folder that was replaced meanwhile can never be read by mistake.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from msgspec import Struct

from contracts.errors import Fault, Forbidden, InvalidArgument, NotFound, Unavailable
from contracts.ids import Digest, RepoPath, path_to_bytes
from services.source.digest import RunningDigest

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a FIFO that took a file's place must not hold the reader up.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_UNREACHABLE = frozenset({
    errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG,
})  # fmt: skip
_CHUNK_BYTES = 1 << 20
_TRIES = 3
_SECOND_NS = 1_000_000_000


class ReadResult(Struct, frozen=True):
    """A file as one read found it."""

    data: bytes  # at most the limit asked for; shorter than `size` when the file is longer
    size: int  # bytes of the whole file
    mtime_ns: int
    inode: int
    # A later change carries an mtime that is not before this, so an mtime strictly before it
    # (with the same size) proves the content unchanged since this read.
    anchor_ns: int

    @property
    def whole(self) -> bool:
        return len(self.data) == self.size


def open_root(root: Path) -> int:
    """Return a descriptor of the root folder; the caller closes it."""
    try:
        return os.open(root, _DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(
            f"there is no folder at {root}",
            hint="was it moved or unmounted? register the repository again from where it is now",
            reason="root_missing",
        ) from None
    except OSError as error:
        raise Unavailable(
            f"the folder {root} cannot be opened: {error.strerror}",
            hint="make it readable for this process",
            reason="root_unreadable",
        ) from None


def open_beneath(root_fd: int, path: bytes) -> int:
    """Return a descriptor of the regular file at `path` below the root; the caller closes it.

    Raises Forbidden for a path that is absolute or has `..`, for a symbolic link anywhere on the
    way, for anything but a regular file and for one without read permission, NotFound where there
    is nothing, Unavailable when the system refuses for now.
    """
    return _open(root_fd, path, _open_file)


def open_directory_beneath(root_fd: int, path: bytes) -> int:
    """Return a descriptor of the folder at `path` below the root ("" for the root itself)."""
    if not path:
        return os.dup(root_fd)
    return _open(root_fd, path, _open_directory)


def stat_beneath(root_fd: int, path: bytes) -> os.stat_result | None:
    """Return what lstat says of `path`, or None when no such name can be reached without a link."""
    folder, _, name = path.rpartition(b"/")
    try:
        parent = open_directory_beneath(root_fd, folder)
    except (NotFound, Forbidden):
        return None
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _UNREACHABLE:
            raise
        return None
    finally:
        os.close(parent)


def _open(root_fd: int, path: bytes, open_last: Callable[[bytes, int], int]) -> int:
    names = path.split(b"/")
    if b".." in names or path.startswith(b"/"):
        raise Forbidden(
            f"the path {_shown(path)} leaves the repository",
            hint="give a path relative to the repository root, without ..",
            reason="outside",
        )
    if b"" in names or b"." in names or b"\0" in path:
        raise InvalidArgument(
            f"the path {_shown(path)} is not a plain relative path",
            hint="write it as the listing does: names joined by single slashes",
            reason="malformed_path",
        )
    folder = root_fd
    try:
        for name in names[:-1]:
            inner = _step(_open_directory, name, folder, path)
            if folder != root_fd:
                os.close(folder)
            folder = inner
        return _step(open_last, names[-1], folder, path)
    finally:
        if folder != root_fd:
            os.close(folder)


def _open_directory(name: bytes, folder: int) -> int:
    return os.open(name, _DIRECTORY, dir_fd=folder)


def _open_file(name: bytes, folder: int) -> int:
    opened = os.open(name, _FILE, dir_fd=folder)
    if stat.S_ISREG(os.fstat(opened).st_mode):
        return opened
    os.close(opened)
    raise OSError(errno.ENXIO, "not a regular file")


def _step(open_one: Callable[[bytes, int], int], name: bytes, folder: int, path: bytes) -> int:
    try:
        return open_one(name, folder)
    except OSError as error:
        _refuse(error, name, folder, path)


def _refuse(error: OSError, name: bytes, folder: int, path: bytes) -> NoReturn:
    shown = _shown(path)
    fault: Fault
    # A link where a folder is asked for is ENOTDIR, like a file in that place.
    if error.errno == errno.ELOOP or (error.errno == errno.ENOTDIR and _is_link(name, folder)):
        fault = Forbidden(
            f"{shown} goes through a symbolic link",
            hint="name the file by its real place in the repository",
            reason="symlink",
        )
    elif error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
        fault = NotFound(f"there is no file {shown}", hint="list the folder to see what is there")
    elif error.errno in (errno.ENXIO, errno.ENODEV):
        fault = Forbidden(
            f"{shown} is not a regular file",
            hint="folders, sockets, pipes and devices are not read",
            reason="not_regular",
        )
    elif error.errno in (errno.EACCES, errno.EPERM):
        fault = Forbidden(
            f"{shown} may not be read by this process",
            hint="give the process read permission",
            reason="permission",
        )
    else:
        fault = Unavailable(
            f"{shown} cannot be opened now: {error.strerror}",
            hint="it will be tried again",
            reason=errno.errorcode.get(error.errno or 0, "unknown"),
        )
    raise fault from None


def _is_link(name: bytes, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _shown(path: bytes) -> str:
    shown = repr(path)[1:]
    return shown if len(shown) <= 120 else f"{shown[:117]}..."


class RootReader:
    """Reads files of one tree, many in a row. Safe to use from several threads at once."""

    def __init__(self, root: Path) -> None:
        """Open the root; raises NotFound or Unavailable when that is not possible."""
        self.fd = open_root(root)

    def read(self, path: RepoPath, limit_bytes: int) -> ReadResult:
        """Read a file's first `limit_bytes` bytes; raises as `open_beneath`.

        A file that changes while it is read is read again, three times at most. What came then is
        returned with the mtime and the anchor from before the last read, so the next look at the
        file cannot take it for unchanged.
        """
        opened = open_beneath(self.fd, path_to_bytes(path))
        try:
            return _read(opened, limit_bytes)
        except OSError as error:
            raise _read_failed(error, path) from None
        finally:
            os.close(opened)

    def digest(self, path: RepoPath, head_bytes: int) -> tuple[Digest, ReadResult]:
        """Return the digest of a file of any length, and its first `head_bytes` bytes as `read`."""
        opened = open_beneath(self.fd, path_to_bytes(path))
        try:
            for _ in range(_TRIES):
                head = _read(opened, head_bytes)
                running = RunningDigest()
                read_bytes = 0
                while chunk := os.pread(opened, _CHUNK_BYTES, read_bytes):
                    running.update(chunk)
                    read_bytes += len(chunk)
                after = os.fstat(opened)
                if (after.st_size, after.st_mtime_ns) == (head.size, head.mtime_ns):
                    break
            return running.value(), head
        except OSError as error:
            raise _read_failed(error, path) from None
        finally:
            os.close(opened)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _read(opened: int, limit_bytes: int) -> ReadResult:
    for _ in range(_TRIES):
        anchor_ns = _file_clock_ns()
        before = os.fstat(opened)
        wanted = min(before.st_size, limit_bytes)
        data = os.pread(opened, wanted, 0)
        while len(data) < wanted and (more := os.pread(opened, wanted - len(data), len(data))):
            data += more
        after = os.fstat(opened)
        if (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns):
            break
    if before.st_mtime_ns % _SECOND_NS == 0:
        # Perhaps a file system that keeps whole or even seconds: a change made after this read may
        # then carry a time up to two seconds back.
        anchor_ns -= 2 * _SECOND_NS
    size = before.st_size if len(data) == wanted else len(data)
    return ReadResult(data, size, before.st_mtime_ns, before.st_ino, anchor_ns)


def _file_clock_ns() -> int:
    """Return the time as the kernel stamps files: its last tick, milliseconds behind the clock.

    With the exact clock, a write in the same tick as the read would look older than the read.
    """
    coarse = getattr(time, "CLOCK_REALTIME_COARSE", None)
    if coarse is None:
        return time.time_ns() - 20_000_000
    return time.clock_gettime_ns(coarse)


def _read_failed(error: OSError, path: RepoPath) -> Unavailable:
    return Unavailable(
        f"reading {_shown(path_to_bytes(path))} failed: {error.strerror}",
        hint="look at the disk or the network share it lies on",
        reason=errno.errorcode.get(error.errno or 0, "unknown"),
    )


def resolve_root(path: str | Path, workspace_roots: Sequence[Path]) -> Path:
    """Return the real folder behind `path`, which must lie in one of the workspace roots.

    A relative path is looked for in the workspace roots, in their order. Raises Forbidden for a
    path that leads outside, by `..` or by a symbolic link, whether or not anything is there;
    NotFound for one inside that is no folder; InvalidArgument for one that is no path.
    """
    text = os.fspath(path)
    if not text.strip() or "\0" in text:
        raise InvalidArgument(
            "the path of the repository is empty or has a NUL in it",
            hint="give the folder's path, absolute or relative to the workspace root",
            reason="malformed_path",
        )
    roots = [os.path.realpath(root) for root in workspace_roots]
    inside = [
        real
        for base in roots
        if _is_inside(real := os.path.realpath(os.path.join(base, text)), roots)
    ]
    for real in inside:
        if os.path.isdir(real):
            return Path(real)
    if inside:
        raise NotFound(
            f"there is no folder {text[:200]!r} in the workspace",
            hint="check the spelling; the path may be relative to the workspace root",
            reason="root_missing",
        )
    raise Forbidden(
        f"{text[:200]!r} lies outside the workspace",
        hint="name a folder below a workspace root, or start the node with another --workspace-root",
        reason="outside",
    )


def _is_inside(real: str, roots: Sequence[str]) -> bool:
    return any(real == root or real.startswith(root.rstrip("/") + "/") for root in roots)
