"""Who is calling, and what may they do?

Over stdio the owner of the process is the caller and may do everything. Over HTTP a bearer token
says who calls: one token per scope, made once per state directory. Tokens are compared by their
SHA-256, every one of them on every try, so the time taken tells nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from contracts.errors import Unavailable
from services.kernel import logs

log = logs.get(__name__)

Scope = Literal["read", "write", "admin"]

SCOPES: dict[Scope, frozenset[Scope]] = {  # what holding a scope includes
    "read": frozenset({"read"}),
    "write": frozenset({"read", "write"}),
    "admin": frozenset({"read", "write", "admin"}),
}
EVERYTHING = SCOPES["admin"]
NOTHING: frozenset[Scope] = frozenset()


class Caller(Struct, frozen=True):
    """Whoever a call is made for."""

    principal: str
    scopes: frozenset[Scope]


LOCAL = Caller("local", EVERYTHING)  # the owner of the process
NOBODY = Caller("", NOTHING)


class TokenStore(Protocol):
    """Tells whose a bearer token is."""

    def find(self, token: str) -> Caller | None:
        """Return the caller, or None for a token that is not ours."""
        ...


class Tokens(Struct, frozen=True):
    """The three bearer tokens of a node. Its text form shows none of them."""

    read: str
    write: str
    admin: str

    def __repr__(self) -> str:
        return "Tokens(...)"


class StaticTokens:
    """A TokenStore over one token per scope."""

    def __init__(self, tokens: Tokens) -> None:
        self._rows: list[tuple[bytes, Caller]] = [
            (_digest(getattr(tokens, scope)), Caller(scope, held)) for scope, held in SCOPES.items()
        ]

    def find(self, token: str) -> Caller | None:
        presented = _digest(token)
        found: Caller | None = None
        for digest, caller in self._rows:
            if hmac.compare_digest(digest, presented):
                found = caller
        return found


def load_or_create_tokens(path: Path) -> Tokens:
    """Return the tokens kept in `path`, made on first use, readable by their owner only.

    Several processes may come at once: all get the tokens of whoever was first. Raises Unavailable
    when the file can be neither read nor made.
    """
    try:
        if not path.exists():
            _create(path)
        _warn_of_readers(path)
        return msgspec.json.decode(path.read_bytes(), type=Tokens)
    except (OSError, msgspec.MsgspecError) as error:
        raise Unavailable(
            f"the token file {path} cannot be used: {error}",
            hint="delete it to have new tokens made, and check that its directory is writable",
        ) from error


def _create(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    tokens = Tokens(*(f"rf-{scope}-{secrets.token_urlsafe(32)}" for scope in SCOPES))
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(tokens))
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # unlike a rename, leaves the file of a faster process alone
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _warn_of_readers(path: Path) -> None:
    if os.name == "posix" and path.stat().st_mode & 0o077:
        log.warning("token_file_readable_by_others", path=str(path))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
