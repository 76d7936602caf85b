"""What text stands for a chunk when a model wants text?

The chunk as it stands in the file, under a line that names the file and the symbols around it. Only
what the record's content projection still holds can be given; a chunk beyond it keeps its first line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from contracts.extract import ChunkSpan, Packed, Symbol, decompressed, unpack_body

_LONGEST_CHUNK = 6_000  # characters; a chunk is 1,500 bytes unless its lines are very long


def chunk_texts(path: str, extract: Packed) -> list[str]:
    """One text for each chunk, in order; none is empty."""
    body = unpack_body(extract.body)
    raw = decompressed(extract.text)
    pieces = _by_lines(raw, body.chunks) if "�".encode() in raw else _by_bytes(raw, body.chunks)
    around = _Enclosing(body.symbols)
    return [
        f"{' '.join((path, *around.names_at(chunk.start_byte)))}\n{piece[:_LONGEST_CHUNK]}"
        for chunk, piece in zip(body.chunks, pieces, strict=True)
    ]


def _by_bytes(raw: bytes, chunks: Sequence[ChunkSpan]) -> list[str]:
    return [raw[chunk.start_byte : chunk.end_byte].decode("utf-8", "ignore") for chunk in chunks]


def _by_lines(raw: bytes, chunks: Sequence[ChunkSpan]) -> list[str]:
    """Where a replacement character stands for a byte, byte offsets no longer fit; lines do."""
    lines = raw.decode("utf-8", "replace").split("\n")
    return ["\n".join(lines[chunk.start_line - 1 : chunk.end_line]) for chunk in chunks]


class _Enclosing:
    """Names of the symbols around a byte, outermost first."""

    def __init__(self, symbols: Sequence[Symbol]) -> None:
        self._symbols = symbols
        self._order = sorted(range(len(symbols)), key=lambda number: symbols[number].start_byte)
        self._starts = [symbols[number].start_byte for number in self._order]

    def names_at(self, byte: int) -> list[str]:
        at = bisect_right(self._starts, byte) - 1
        number = self._order[at] if at >= 0 else -1
        names: list[str] = []
        while number >= 0:
            symbol = self._symbols[number]
            if symbol.start_byte <= byte < symbol.end_byte:
                names.append(symbol.name)
            number = symbol.parent
        return names[::-1]
