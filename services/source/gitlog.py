"""What does `git log` say, commit by commit?

Merges are left out. Renames are told as git finds them by content. Output is read as it comes and
can be given up between two blocks, so neither a long history nor a vast commit fills the memory.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path

from contracts.errors import Unavailable
from contracts.ids import path_from_bytes
from services.source.commits import MAX_FILES, MAX_MESSAGE_CHARS, Commit
from services.source.gitrepo import GitTree

_HEAD = re.compile(rb"\x1e[0-9a-f]{40,64}\x1f(.*)", re.DOTALL)  # where a status may stand only
_BLOCK = 1 << 16
_TIME_S = 300.0
_MAX_TOKEN_BYTES = 1 << 20  # of a message or path; a longer one is cut
_MAX_RENAMES = 2_000  # of one commit
_LONGEST_LINE = 4_096
_LOG = (
    "log", "-z", "--no-merges", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color",
    "--encoding=UTF-8", "--ignore-submodules", "--name-status", "-M", "-l200", "--relative",
    "--format=tformat:%x1e%H%x1f%B%x1f",
)  # fmt: skip


def commits(
    tree: GitTree, upto: str, *, after: str = "", limit: int, stopped: Callable[[], bool]
) -> Iterator[Commit]:
    """The newest commits up to one, newest first; of those that `after` does not have.

    Raises Unavailable when git fails, takes too long, or `stopped` says so.
    """
    span = f"{after}..{upto}" if after else upto
    with closing(
        _tokens(tree, [*_LOG, f"--max-count={limit}", span, "--", "."], stopped)
    ) as tokens:
        yield from _parsed(tokens)


def is_ancestor(tree: GitTree, older: str, newer: str) -> bool:
    """Whether everything up to `older` is part of `newer`."""
    with tree.started("merge-base", "--is-ancestor", older, newer) as process:
        return process.wait() == 0


def signature(root: Path) -> tuple[int, ...]:
    """What changes when the commit that is checked out does; () where there is no git.

    Costs a few looks at files. Where git keeps no log of its head, a commit on the same branch is
    seen by the branch's own file.
    """
    git = next((f / ".git" for f in (root, *root.parents) if (f / ".git").exists()), None)
    if git is None:
        return ()
    if git.is_file():
        git = git.parent / _line(git).removeprefix("gitdir:").strip()
    branch = _line(git / "HEAD").removeprefix("ref: ")
    return tuple(
        number
        for path in (git / "HEAD", git / "logs" / "HEAD", git / "packed-refs", git / branch)
        for number in _stamp(path)
    )


def _line(path: Path) -> str:
    try:
        return path.read_text(errors="replace")[:_LONGEST_LINE].strip()
    except OSError:
        return ""


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return 0, 0
    return status.st_mtime_ns, status.st_size


def _tokens(
    tree: GitTree, command: list[str], stopped: Callable[[], bool]
) -> Generator[bytes, None, None]:
    """What stands between two zero bytes of a command's output."""
    deadline = time.monotonic() + _TIME_S
    with tree.started(*command) as process:
        try:
            if process.stdout is None:
                raise Unavailable("git has no pipe")
            rest = b""
            while block := process.stdout.read(_BLOCK):
                if stopped() or time.monotonic() > deadline:
                    raise Unavailable("reading the git history was given up")
                *whole, tail = block.split(b"\0")
                for token in whole:
                    yield (rest + token)[:_MAX_TOKEN_BYTES]
                    rest = b""
                rest = (rest + tail)[:_MAX_TOKEN_BYTES]
            if process.wait():
                raise Unavailable("git could not read the history of this repository")
        finally:
            process.kill()


def _parsed(tokens: Iterator[bytes]) -> Iterator[Commit]:
    message: str | None = None
    files: list[str] = []
    renames: list[tuple[str, str]] = []
    for token in tokens:
        head = _HEAD.match(token)
        if head is not None:
            if message is not None:
                yield Commit(message, tuple(files), tuple(renames))
            message, files, renames = _text(head[1]), [], []
            continue
        status = token.lstrip(b"\n")[:1]
        if not status:
            continue
        path = path_from_bytes(next(tokens, b""))
        if status in b"RC":
            before, path = path, path_from_bytes(next(tokens, b""))
            if status == b"R" and len(renames) < _MAX_RENAMES:
                renames.append((before, path))
        if len(files) <= MAX_FILES:  # one more tells that there were too many
            files.append(path)
    if message is not None:
        yield Commit(message, tuple(files), tuple(renames))


def _text(raw: bytes) -> str:
    return raw.rstrip(b"\x1f\n")[: 4 * MAX_MESSAGE_CHARS].decode(errors="replace")
