"""Promised behaviours, one module per family."""

from __future__ import annotations

from msgspec import Struct


class Row(Struct, frozen=True):
    """One promised behaviour."""

    id: str
    source: str
    rule: str
    tests: tuple[str, ...] = ()  # path::function, without parameters
    deferred: str = ""
