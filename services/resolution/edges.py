"""What does a file use of whom? The resolved references of one file, column by column."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
from msgspec import Struct

EDGE_KINDS = (
    "call", "read", "write", "instantiate", "override", "implementation",  # the code map's six
    "type", "base", "import",  # further uses of a name, for indexes of our own
)  # fmt: skip
STATES = ("resolved", "unresolved", "ambiguous", "external")
CONFIDENCES = ("low", "medium", "high")
RELATION_KINDS = ("base", "interface", "implements", "overrides")
MAX_CANDIDATES = 8


class Relation(Struct, frozen=True, array_like=True):
    """One type of the file above which it stands, or one member and the member it stands in for."""

    kind: int  # into RELATION_KINDS; base and interface are declared, implements is structural
    source: int  # index of the symbol in the extract: a type, or a member for `overrides`
    target: str  # symbol id; "" when it is not in the repository
    name: str  # as written
    confidence: int  # into CONFIDENCES


class FileEdges(Struct, frozen=True, array_like=True):
    """Every use of a name in one file, and what it means. Columns are little-endian bytes.

    All columns have one entry per use, in the order of the extract's references, then what has no
    reference of its own (overrides and implementations). Targets are symbol ids and carry no line,
    so that edits in another file never change them.
    """

    strings: tuple[str, ...]  # what target, name, hint and candidates index
    kind: bytes  # u1 into EDGE_KINDS
    state: bytes  # u1 into STATES
    confidence: bytes  # u1 into CONFIDENCES
    source: bytes  # i4 index of the using symbol in the extract; -1 at module level
    target: bytes  # i4 symbol id; -1 unless resolved
    name: bytes  # u4 the used simple name
    hint: bytes  # i4 container hint of what is not resolved: a type, or an outside module; -1
    line: bytes  # u4, 1-based
    column: bytes  # u4, 0-based byte column of the name
    candidates: tuple[tuple[int, tuple[int, ...]], ...] = ()  # (row, symbol ids) of the ambiguous
    relations: tuple[Relation, ...] = ()
    note: str = ""  # why nothing of the file is resolved; "" when it was read as it should be


class Edge(Struct, frozen=True):
    """One row of FileEdges in words."""

    kind: str
    state: str
    confidence: str
    source: int
    target: str
    name: str
    hint: str
    line: int
    column: int
    candidates: tuple[str, ...] = ()


COLUMNS = {
    "kind": "u1", "state": "u1", "confidence": "u1", "source": "<i4", "target": "<i4",
    "name": "<u4", "hint": "<i4", "line": "<u4", "column": "<u4",
}  # fmt: skip

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(FileEdges)


def rows(edges: FileEdges) -> Iterator[Edge]:
    """Read the edges one by one."""
    strings = edges.strings
    columns = [
        np.frombuffer(getattr(edges, name), dtype).tolist() for name, dtype in COLUMNS.items()
    ]
    candidates = dict(edges.candidates)
    for row, (kind, state, confidence, source, target, name, hint, line, column) in enumerate(
        zip(*columns, strict=True)
    ):
        yield Edge(
            EDGE_KINDS[kind], STATES[state], CONFIDENCES[confidence], source,
            strings[target] if target >= 0 else "", strings[name],
            strings[hint] if hint >= 0 else "", line, column,
            tuple(strings[number] for number in candidates.get(row, ())),
        )  # fmt: skip


def encode(edges: FileEdges) -> bytes:
    """Pack for the store, uncompressed."""
    return _encoder.encode(edges)


def decode(data: bytes | memoryview) -> FileEdges:
    """What `encode` was given."""
    return _decoder.decode(data)
