"""What a reference means."""

from __future__ import annotations

from tests.rows import Row

ROWS: tuple[Row, ...] = ()
