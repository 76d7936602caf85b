"""How do NATS users get their passwords, and the broker its list of users?"""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

import msgspec

from contracts.errors import InvalidArgument
from contracts.nats_users import USERS, UserSpec

Passwords = dict[str, dict[str, str]]  # worker -> {"user": …, "password": …}


def ensure(path: Path) -> Passwords:
    """Read the users file, making it first when there is none; it is readable by its owner alone.

    A user that this version has and the file has not is added.
    """
    if not path.exists():
        create_once(path, _encoded(_with_missing({})))
    try:
        present = msgspec.json.decode(path.read_bytes(), type=Passwords)
    except msgspec.MsgspecError:
        raise InvalidArgument(
            f"{path} is not a users file", hint="give another --users FILE, or delete this one"
        ) from None
    complete = _with_missing(present)
    if complete != present:
        temporary = _temporary(path, _encoded(complete))
        temporary.replace(path)
    return complete


def _with_missing(present: Passwords) -> Passwords:
    fresh = {
        spec.name: {"user": spec.name, "password": secrets.token_urlsafe(24)} for spec in USERS
    }
    return fresh | present


def _encoded(passwords: Passwords) -> bytes:
    return msgspec.json.format(msgspec.json.encode(passwords))


def create_once(path: Path, content: bytes) -> None:
    """Make a private file unless it exists; of several processes that try at once, one wins."""
    temporary = _temporary(path, content)
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()


def _temporary(path: Path, content: bytes) -> Path:
    temporary = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return temporary


def users_block(passwords: Passwords) -> str:
    """The `users = […]` list of a nats.conf."""
    return "users = [\n" + "\n".join(_entry(spec, passwords[spec.name]) for spec in USERS) + "\n]\n"


def _entry(spec: UserSpec, entry: dict[str, str]) -> str:
    permissions = {
        "publish": {"allow": list(spec.publish), "deny": list(spec.deny_publish)},
        "subscribe": {"allow": list(spec.subscribe)},
    }
    user, password = json.dumps(entry["user"]), json.dumps(entry["password"])
    return f"  {{user: {user}, password: {password}, permissions: {json.dumps(permissions)}}}"
