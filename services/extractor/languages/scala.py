"""Scala."""

from __future__ import annotations
