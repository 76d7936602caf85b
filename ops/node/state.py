"""Where does a node keep its state, and is that place usable?

<state>/lock           held for as long as any process of the node lives (lock.py)
<state>/node.json      who holds it, or held it last
<state>/tokens.json    bearer tokens of the HTTP endpoint (0600)
<state>/nats/          broker: server.conf, users.json (0600), server.pid, server.log, jetstream/
<state>/projections/   the LMDB environments
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import xxhash

from contracts.errors import Fault, Forbidden, InvalidArgument, Unavailable

_SPACE_TO_START = 64 << 20
_SPACE_TO_RUN = 16 << 20
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


class State:
    """The paths of one state directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lock = root / "lock"
        self.info = root / "node.json"
        self.tokens = root / "tokens.json"
        self.nats = root / "nats"
        self.users = self.nats / "users.json"
        self.projections = root / "projections"

    def prepare(self) -> None:
        """Make the directory, private to its owner.

        Raises Forbidden when it cannot be written, Unavailable when its disk is full.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.nats.mkdir(exist_ok=True, mode=0o700)
            with tempfile.TemporaryFile(dir=self.root) as probe:
                probe.write(b"\0" * 4096)
                probe.flush()
            # It may lie inside a tree that is indexed; or be one, by mistake, with rules of its own.
            if not (ignore := self.root / ".gitignore").exists():
                ignore.write_text("*\n")
        except OSError as error:
            raise unusable(self.root, error) from None
        if self.free_bytes() < _SPACE_TO_START:
            raise self.full()

    def free_bytes(self) -> int:
        return shutil.disk_usage(self.root).free

    def is_full(self) -> bool:
        """Whether so little is left that the node had better stop while it can still do so in order."""
        return self.free_bytes() < _SPACE_TO_RUN

    def full(self) -> Fault:
        return Unavailable(
            f"the disk that holds {self.root} is full ({self.free_bytes() >> 20} MB left)",
            hint="free some space, or choose another place with --state DIR; nothing is lost",
        )


def unusable(root: Path, error: OSError) -> Fault:
    """The fault that tells why a state directory cannot be used."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Unavailable(
            f"no space left for the state directory {root}",
            hint="free some space, or choose another place with --state DIR",
        )
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return InvalidArgument(
            f"{root} is not a directory", hint="choose another place with --state DIR"
        )
    return Forbidden(
        f"the state directory {root} cannot be written: {error.strerror}",
        hint="make it writable for this user, or choose another place with --state DIR",
    )


def base() -> Path:
    """The per-user directory that holds the state directories."""
    home = os.environ.get("XDG_STATE_HOME", "")
    return (Path(home) if home else Path.home() / ".local" / "state") / "repofold"


def default(roots: Iterable[Path]) -> Path:
    """The state directory of one set of roots (resolved), whatever their order."""
    ordered = sorted({str(root) for root in roots})
    names = [Path(root).name for root in ordered]
    name = _PLAIN.sub("-", names[0])[:40] or "root"
    if len(names) > 1:
        name = f"{name}-and-{len(names) - 1}"
    return (
        base()
        / f"{name}-{xxhash.xxh3_64_hexdigest(chr(0).join(ordered).encode(errors='surrogateescape'))[:12]}"
    )


def resolve_roots(paths: Sequence[str]) -> list[Path]:
    """The directories named on the command line, resolved, each once; raises InvalidArgument."""
    roots: list[Path] = []
    for text in paths:
        path = Path(text).expanduser()
        if not path.is_dir():
            problem = "is not a directory" if path.exists() else "does not exist"
            raise InvalidArgument(f"{text} {problem}", hint="give the folder of a repository")
        resolved = path.resolve()
        if os.fsencode(resolved).decode(errors="replace") != str(resolved):
            raise InvalidArgument(
                f"the path {os.fsencode(resolved)!r} is not UTF-8", hint="rename the folder"
            )
        if resolved not in roots:
            roots.append(resolved)
    return roots
