"""How is a file's content named, and does a stored name still hold?

A digest is `xx128:` and the 32 hex digits of XXH3-128 (canonical byte order). It tells versions
apart; it is no protection against somebody who wants two files to have the same one. Records of
older stores carry 64 bare hex digits, a SHA-256, and are checked under that until content changes.
"""

from __future__ import annotations

import hashlib
import re

import xxhash

from contracts.errors import InvalidArgument
from contracts.ids import Digest

_CURRENT = re.compile(r"xx128:[0-9a-f]{32}")
_LEGACY = re.compile(r"[0-9a-fA-F]{64}")


def digest_of(data: bytes) -> Digest:
    """Return the digest of a whole file."""
    return Digest(f"xx128:{xxhash.xxh3_128_hexdigest(data)}")


class RunningDigest:
    """The digest of a file too long to hold, fed piece by piece."""

    __slots__ = ("_state",)

    def __init__(self) -> None:
        self._state = xxhash.xxh3_128()

    def update(self, data: bytes) -> None:
        self._state.update(data)

    def value(self) -> Digest:
        """Return the digest of everything fed so far."""
        return Digest(f"xx128:{self._state.hexdigest()}")


def holds(stored: str, data: bytes) -> bool:
    """Say whether `data` is what `stored` names, under the algorithm `stored` was made with.

    Raises InvalidArgument for a text that is no digest.
    """
    if _CURRENT.fullmatch(stored):
        return stored == digest_of(data)
    if _LEGACY.fullmatch(stored):
        return stored.lower() == hashlib.sha256(data).hexdigest()
    raise InvalidArgument(
        f"not a digest: {stored[:80]!r}",
        hint="a digest is xx128: and 32 hex digits, or 64 bare hex digits",
        reason="malformed_digest",
    )
