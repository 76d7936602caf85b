"""What does a repository's history say? Read through git's own plumbing, never written.

Nothing of the repository's configuration that names a program to run is heeded, and no lock is
taken. A tree that is a part of a repository is read as if it were all of it: paths are relative to
the tree.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from contracts.errors import NotFound, Unavailable
from contracts.ids import RepoPath, path_from_bytes

COMMIT = re.compile(r"[0-9a-f]{40}\Z")
_REVISION = re.compile(r"[A-Za-z0-9][\w./@{}^~+-]{0,199}\Z")
_SCHEME = re.compile(r"^[a-z+]+://|^[^/@]+@(?=[^/]+:)", re.IGNORECASE)
_REGULAR = (b"100644", b"100755", b"100664")
_HUNK = re.compile(rb"@@ -\S+ \+(\d+)(?:,(\d+))? @@")
_SECONDS = 120
_QUIET = (
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false",
    "-c", "protocol.allow=never",
)  # fmt: skip


class Blob(Struct, frozen=True):
    """A regular file of a commit."""

    path: RepoPath
    object_id: str
    size_bytes: int


class GitTree:
    """A folder in a git repository."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._git = _program()

    # -- names ------------------------------------------------------------------------------

    def head(self) -> tuple[str, str]:
        """Commit and branch; ("", branch) before the first commit, branch "HEAD" when detached."""
        try:
            commit = self._text("rev-parse", "--verify", "-q", "HEAD^{commit}")
        except NotFound:
            commit = ""
        try:
            branch = self._text("symbolic-ref", "--short", "-q", "HEAD")
        except NotFound:
            branch = "HEAD"
        return commit, branch

    def resolve(self, revision: str) -> str:
        """The commit that a SHA, a branch or a tag names; raises NotFound."""
        if _REVISION.fullmatch(revision):
            try:
                return self._text("rev-parse", "--verify", "-q", f"{revision}^{{commit}}")
            except NotFound:
                pass
        raise NotFound(
            f"there is no commit {revision[:80]!r} in this repository",
            hint="give a SHA, a branch or a tag that `git rev-parse` knows",
        )

    def remote(self) -> str:
        """URL of the remote, origin preferred; "" without one."""
        names = self._lines("remote")
        if not names:
            return ""
        name = "origin" if "origin" in names else names[0]
        try:
            return self._text("remote", "get-url", name)
        except NotFound:
            return ""

    # -- content ----------------------------------------------------------------------------

    def files(self, commit: str) -> list[Blob]:
        """The regular files of a commit."""
        found = []
        for record in self._run("ls-tree", "-r", "-z", "-l", commit).split(b"\0"):
            head, _, path = record.partition(b"\t")
            fields = head.split()
            if len(fields) == 4 and fields[0] in _REGULAR and fields[3].isdigit():
                blob = Blob(path_from_bytes(path), fields[2].decode(), int(fields[3]))
                found.append(blob)
        return found

    def differing(self, commit: str) -> set[RepoPath]:
        """Tracked paths whose content in the working tree is not that of the commit."""
        raw = self._run(
            "diff", "--relative", "--no-renames", "--no-ext-diff", "--no-textconv",
            "--ignore-submodules", "--name-only", "-z", commit, "--",
        )  # fmt: skip
        return {path_from_bytes(path) for path in raw.split(b"\0") if path}

    def changed_lines(self, old: str, new: str) -> dict[str, list[tuple[int, int]]]:
        """Lines of the newer side that differ, first and last; `new` "" is the working tree.

        Where lines are only gone, the one before them stands for them.
        """
        sides = (old, new) if new else (old,)
        raw = self._run(
            "diff", "--relative", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
            "--ignore-submodules", "--unified=0", "--src-prefix=a/", "--dst-prefix=b/", *sides, "--",
        )  # fmt: skip
        found: dict[str, list[tuple[int, int]]] = {}
        ranges: list[tuple[int, int]] = []
        for line in raw.split(b"\n"):
            if line.startswith(b"+++ "):
                name = line[4:].removeprefix(b"b/").rstrip(b"\t")
                ranges = found.setdefault(path_from_bytes(name), [])
            elif (hunk := _HUNK.match(line)) is not None:
                first, count = int(hunk[1]), int(hunk[2] or b"1")
                ranges.append((first, first + max(count, 1) - 1))
        return found

    def is_clean(self) -> bool:
        """Whether neither a tracked file is changed nor an untracked one there."""
        status = ("status", "--porcelain", "-z", "--ignore-submodules", "--", ".")
        return not self._run(*status)

    def contents(self, blobs: Sequence[Blob]) -> Iterator[tuple[Blob, bytes]]:
        """The bytes of blobs, in order."""
        command = [*self._command("cat-file", "--batch")]
        with subprocess.Popen(  # noqa: S603 - git, found by its absolute path
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment()
        ) as reader:
            if reader.stdin is None or reader.stdout is None:
                raise Unavailable("git has no pipes")
            for blob in blobs:
                reader.stdin.write(f"{blob.object_id}\n".encode())
                reader.stdin.flush()
                head = reader.stdout.readline().split()
                if len(head) != 3:
                    raise Unavailable(f"git does not give the content of {blob.path[:120]!r}")
                data = reader.stdout.read(int(head[2]))
                reader.stdout.read(1)
                yield blob, data
            reader.stdin.close()

    def started(self, *arguments: str) -> subprocess.Popen[bytes]:
        """A git command whose output is read as it comes; the caller ends it."""
        return subprocess.Popen(  # noqa: S603 - git, found by its absolute path
            self._command(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        )

    # -- plumbing ---------------------------------------------------------------------------

    def _command(self, *arguments: str) -> list[str]:
        # In a container the tree seldom belongs to whoever serves it.
        return [self._git, *_QUIET, "-c", "safe.directory=*", "-C", str(self._root), *arguments]

    def _run(self, *arguments: str) -> bytes:
        try:
            done = subprocess.run(  # noqa: S603 - git, found by its absolute path
                self._command(*arguments),
                capture_output=True,
                env=_environment(),
                timeout=_SECONDS,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"git {arguments[0]} did not end: {type(error).__name__}") from None
        if done.returncode:
            words = done.stderr.decode(errors="replace").strip().replace(str(self._root), ".")
            raise NotFound(f"git {arguments[0]} failed: {words[:200]}", reason="git")
        return done.stdout

    def _text(self, *arguments: str) -> str:
        return self._run(*arguments).decode(errors="replace").strip()

    def _lines(self, *arguments: str) -> list[str]:
        return self._text(*arguments).splitlines()


def git_tree(root: Path) -> GitTree | None:
    """The git repository that a folder lies in, None where there is none.

    Raises Unavailable when there is one and no git to read it with.
    """
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        return None
    return GitTree(root)


def hashed_id(remote: str, root: Path) -> str:
    """16 hex of the remote, the same for every clone; without one "local-" and the path's.

    Worktrees of one repository have one id either way, and so one baseline a commit.
    """
    if remote:
        text = _SCHEME.sub("", remote.strip()).rstrip("/").removesuffix(".git")
        text = text.rpartition("@")[2].replace(":", "/", 1).lower()
        return hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"local-{path_hash(_main_root(root))}"


def path_hash(root: Path) -> str:
    """16 hex of where a folder is."""
    return hashlib.sha256(str(root).encode()).hexdigest()[:16]


def _main_root(root: Path) -> Path:
    """Return where a folder of a linked worktree is in its main tree; any other folder itself."""
    for folder in (root, *root.parents):
        link = folder / ".git"
        if link.is_dir():
            return root
        if link.is_file():
            try:
                own = (folder / link.read_text().strip().removeprefix("gitdir: ")).resolve()
                shared = (own / (own / "commondir").read_text().strip()).resolve()
            except (OSError, UnicodeDecodeError):
                return root  # a submodule, or nothing git would read either
            main = shared.parent if shared.name == ".git" else folder
            return main / root.relative_to(folder)
    return root


def _program() -> str:
    found = shutil.which("git")
    if found is None:
        raise Unavailable(
            "this tree has a git repository, but there is no git to read it with",
            hint='install git beside the server; or use workspace_id "live", which needs none',
        )
    return found


def _environment() -> dict[str, str]:
    return {
        "PATH": os.defpath,
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "HOME": "/nonexistent",
    }


def quick_head(root: Path) -> tuple[str, str] | None:
    """Commit and branch of HEAD, read from git's files alone; None where that does not tell.

    For every question anew, so it must not cost a process.
    """
    folder = _git_folder(root)
    if folder is None:
        return None
    try:
        head = (folder / "HEAD").read_text().strip()
        if COMMIT.fullmatch(head):
            return head, "HEAD"
        if not head.startswith("ref: refs/heads/"):
            return None
        name = head.removeprefix("ref: ")
        common = folder / "commondir"
        shared = (folder / common.read_text().strip()) if common.exists() else folder
        loose = shared / name
        commit = loose.read_text().strip() if loose.exists() else _packed(shared, name)
    except OSError:
        return None
    branch = name.removeprefix("refs/heads/")
    return (commit, branch) if COMMIT.fullmatch(commit) else None


def _git_folder(root: Path) -> Path | None:
    for folder in (root, *root.parents):
        found = folder / ".git"
        if found.is_dir():
            return found
        if found.is_file():  # a worktree or a submodule
            target = found.read_text().strip().removeprefix("gitdir: ")
            return (folder / target).resolve()
    return None


def _packed(folder: Path, name: str) -> str:
    for line in (folder / "packed-refs").read_text().splitlines():
        commit, _, ref = line.partition(" ")
        if ref == name:
            return commit
    return ""
