"""Which definition does an independent indexer give each name? Reads SCIP indexes.

SCIP is a protocol buffer: an Index holds Documents, a Document its path and Occurrences, an
Occurrence a range, a symbol and roles (bit 1: definition). Only these are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

DEFINITION, IMPORT = 1, 2


@dataclass(frozen=True)
class Occurrence:
    """One name in one file. Lines are 1-based, columns 0-based characters."""

    line: int
    start: int
    end: int
    symbol: str
    roles: int


def documents(data: bytes) -> Iterator[tuple[str, list[Occurrence]]]:
    """Return path and occurrences of every document of an index."""
    for field, value in _fields(data):
        if field == 2 and isinstance(value, bytes):
            path, found = "", []
            for inner, content in _fields(value):
                if inner == 1 and isinstance(content, bytes):
                    path = content.decode()
                elif inner == 2 and isinstance(content, bytes):
                    found.append(_occurrence(content))
            yield path, found


def _occurrence(data: bytes) -> Occurrence:
    places: list[int] = []
    symbol, roles = "", 0
    for field, value in _fields(data):
        if field == 1:
            places = list(_packed(value)) if isinstance(value, bytes) else [*places, value]
        elif field == 2 and isinstance(value, bytes):
            symbol = value.decode()
        elif field == 3 and isinstance(value, int):
            roles = value
    line, start = places[0], places[1]
    end = places[2] if len(places) == 3 else start
    return Occurrence(line + 1, start, end, symbol, roles)


def _packed(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _number(data, at)
        yield value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        field, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = _number(data, at)
            yield field, value
        elif wire == 2:
            size, at = _number(data, at)
            yield field, data[at : at + size]
            at += size
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire}")


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
