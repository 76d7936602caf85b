"""Notes and claims."""

from __future__ import annotations

from tests.rows import Row

ROWS: tuple[Row, ...] = ()
