"""Endpoints, configuration, tables and the other facts."""

from __future__ import annotations

from tests.rows import Row

ROWS: tuple[Row, ...] = ()
