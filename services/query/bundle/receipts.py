"""How is a delivered unit recognised, and what does a caller hold already?

A receipt is the start of the SHA-256 over repository, path, content hash, kind, symbol and, of a
part of a file, its lines: the same unit of the same version has the same receipt in every answer,
and an edited file has new ones. 96 bits tell the units of one caller apart, and cost a third of the
tokens of the whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from msgspec import Struct

from contracts.events.index import Possession

RECEIPT_DIGITS = 24


def content_hash(body: str) -> str:
    """Lower-hex SHA-256 of a file's content projection."""
    return hashlib.sha256(body.encode(errors="replace")).hexdigest()


def receipt(
    repo_id: str, path: str, version: str, kind: str, symbol: str | None, lines: str | None
) -> str:
    """The receipt of a unit; `version` is the content hash."""
    parts = "\0".join((repo_id, path, version, kind, symbol or "", lines or ""))
    return hashlib.sha256(parts.encode(errors="replace")).hexdigest()[:RECEIPT_DIGITS]


class Held(Struct, frozen=True):
    """What a caller holds. It can withhold units and nothing else."""

    receipts: frozenset[str] = frozenset()
    files: frozenset[tuple[str, str]] = frozenset()  # path and content hash, possession proven


def held(
    seen: Iterable[str],
    known: Iterable[str],
    receipts: Iterable[str],
    possessions: Iterable[Possession],
) -> Held:
    """Join what the caller says and what its session was given.

    A claim `path@hash` counts only for a version that the session was given as a whole.
    """
    given = {(one.path, one.content_hash) for one in possessions}
    claimed = {(path, version) for path, _, version in (claim.rpartition("@") for claim in known)}
    return Held(frozenset(seen).union(receipts), frozenset(given & claimed))
