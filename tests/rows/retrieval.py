"""Search, its ladder and the languages of people."""

from __future__ import annotations

from tests.rows import Row

ROWS: tuple[Row, ...] = ()
