"""The memory_* tools."""

from __future__ import annotations

from tests.rows import Row

ROWS: tuple[Row, ...] = ()
