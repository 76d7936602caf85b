"""Bundles, sessions and savings."""

from __future__ import annotations

from tests.rows import Row

ROWS: tuple[Row, ...] = ()
