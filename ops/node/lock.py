"""Who holds a state directory?

An exclusive flock on <state>/lock is the truth; node.json beside it only tells who it was. The
lock's descriptor is inherited by every process of the node, so it is free again only when the last
of them is gone: a node that was killed and the next one can never write to the same state at once.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from contracts.errors import StateHeld
from ops.node.state import State, unusable

_TRIES = 10  # over half a second: somebody may only be looking
_LEFTOVERS_S = 30.0


class Holder(Struct, kw_only=True):
    """What a node tells about itself."""

    pid: int
    started_ms: int  # Unix milliseconds
    roots: tuple[str, ...] = ()
    url: str = ""  # of the MCP endpoint; "" while starting, or when it serves none
    nats_url: str = ""
    nats_users_file: str = ""
    node: str = "local"
    mode: str = "single"
    processes: dict[str, int] = {}  # name -> process id


class StateLock:
    """The held lock."""

    def __init__(self, state: State, descriptor: int) -> None:
        self._state = state
        self.descriptor = descriptor

    def tell(self, holder: Holder) -> None:
        """Write who holds the lock; best effort, for people and clients."""
        temporary = self._state.info.with_suffix(f".{os.getpid()}")
        try:
            temporary.write_bytes(msgspec.json.format(msgspec.json.encode(holder)))
            temporary.replace(self._state.info)
        except OSError:
            temporary.unlink(missing_ok=True)

    def release(self) -> None:
        os.close(self.descriptor)


def acquire(state: State, clear_leftovers: Callable[[], None]) -> StateLock:
    """Take the lock or raise StateHeld, saying who has it and what to do.

    When the node that held it was killed, its remaining processes are given time to end;
    `clear_leftovers` is called once to stop those that do not end by themselves.
    """
    try:
        descriptor = os.open(state.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise unusable(state.root, error) from None
    deadline = time.monotonic() + _LEFTOVERS_S
    cleared = False
    tries = 0
    while not _try(descriptor, fcntl.LOCK_EX):
        tries += 1
        if tries >= _TRIES:
            if not _abandoned(state) or time.monotonic() > deadline:
                os.close(descriptor)
                raise _held(state)
            if not cleared:
                clear_leftovers()
                cleared = True
        time.sleep(0.05)
    return StateLock(state, descriptor)


def holder(state: State) -> Holder | None:
    """The node that holds the state directory; None when no node runs on it.

    Its `pid` is 0 while a node is just starting, or when only leftovers of a killed one are there.
    """
    try:
        descriptor = os.open(state.lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if _try(descriptor, fcntl.LOCK_SH):
            return None
    finally:
        os.close(descriptor)
    told = last_holder(state.root)
    return told if told is not None and alive(told.pid) else Holder(pid=0, started_ms=0)


def last_holder(root: Path) -> Holder | None:
    """What node.json says, whether or not that node still runs."""
    try:
        return msgspec.json.decode((root / "node.json").read_bytes(), type=Holder)
    except (OSError, msgspec.MsgspecError):
        return None


def alive(pid: int) -> bool:
    """Whether a process of this id exists."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _try(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _abandoned(state: State) -> bool:
    """Held, but by what a killed node left behind."""
    told = last_holder(state.root)
    return told is not None and not alive(told.pid)


def _held(state: State) -> StateHeld:
    told = last_holder(state.root)
    if told is None or not alive(told.pid):
        return StateHeld(
            f"{state.root} is in use by processes of a node that is gone",
            hint="end them (see node.json for their ids), or choose another place with --state DIR",
        )
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(told.started_ms / 1000))
    where = f", serving {told.url}" if told.url else ""
    return StateHeld(
        f"{state.root} is held by process {told.pid}, running since {since} on {', '.join(told.roots) or 'no repository'}{where}",
        hint=f"use that node, stop it with `kill {told.pid}`, or choose another place with --state DIR",
        pid=told.pid,
        url=told.url,
    )
