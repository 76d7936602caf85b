"""Profiles, the finder and big answers."""

from __future__ import annotations

from tests.rows import Row

ROWS: tuple[Row, ...] = ()
