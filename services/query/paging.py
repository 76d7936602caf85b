"""How does a page of a listing say where the next one starts?

A token carries the arguments it was made for (as a hash) and the last key shown. It is opaque to
the caller; one that was changed, or is used with other arguments, is refused.
"""

from __future__ import annotations

import base64
import binascii

import xxhash

from contracts.errors import InvalidArgument

_FINGERPRINT_BYTES = 8


def _fingerprint(arguments: tuple[str, ...], last: bytes) -> bytes:
    return xxhash.xxh64_digest("\0".join(arguments).encode() + b"\0" + last)


def token(arguments: tuple[str, ...], last: bytes) -> str:
    """Return the token of the page after key `last`."""
    return base64.urlsafe_b64encode(_fingerprint(arguments, last) + last).decode().rstrip("=")


def last_key(text: str, arguments: tuple[str, ...]) -> bytes:
    """Return the last key shown; raises InvalidArgument for a token that is not of these arguments."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    mark, last = raw[:_FINGERPRINT_BYTES], raw[_FINGERPRINT_BYTES:]
    if not last or mark != _fingerprint(arguments, last):
        raise InvalidArgument(
            "the continuationToken was not made for these arguments",
            hint="repeat the call with the arguments of the first page, or leave the token out",
            reason="continuation_token",
        )
    return last


def clamp(value: int, default: int, most: int) -> int:
    """`default` for zero and below, `most` above it."""
    return default if value <= 0 else min(value, most)
