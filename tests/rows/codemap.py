"""Symbols, references, graphs, baselines and overlays."""

from __future__ import annotations

from tests.rows import Row

ROWS: tuple[Row, ...] = ()
