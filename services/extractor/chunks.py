"""Cut a file into passages of about 1,500 bytes for search.

With a tree, neighbouring nodes are merged while they fit, and only nodes too large are opened; a
piece that is still too large, and a file without a grammar, is cut at line ends. Passages cover the
file without gaps, apart from blank ones, up to the first 400.
"""

from __future__ import annotations

from tree_sitter import Node

from contracts.extract import ChunkSpan
from services.extractor.table import Lines

CHUNK_BYTES = 1_500
MAX_CHUNKS = 400


def cut(data: bytes, root: Node | None, lines: Lines) -> tuple[ChunkSpan, ...]:
    """Return the passages of a file in order."""
    ends = _line_ends(data, 0, len(data)) if root is None else _tree_ends(data, root)
    spans: list[tuple[int, int]] = []
    start = 0
    for end in ends:
        if end > start and not data[start:end].isspace():
            spans.append((start, end))
        start = max(start, end)
    spans = spans[:MAX_CHUNKS]
    first = lines.of([start for start, _ in spans])
    last = lines.of([end - 1 for _, end in spans])
    return tuple(
        ChunkSpan(start, end, first_line, last_line)
        for (start, end), first_line, last_line in zip(spans, first, last, strict=True)
    )


def _tree_ends(data: bytes, root: Node) -> list[int]:
    """Return where passages end; each begins where the one before ended."""
    size = len(data)
    ends: list[int] = []
    start = 0  # of the passage being filled
    filled = 0  # end of the last node put into it
    stack = [(0, size, root)]
    while stack and len(ends) < MAX_CHUNKS:
        first, last, node = stack.pop()
        if last - start <= CHUNK_BYTES:
            filled = max(filled, last)
            continue
        children = node.children if last - first > CHUNK_BYTES else []
        if children:
            stack += [(child.start_byte, child.end_byte, child) for child in reversed(children)]
            continue
        if filled > start:
            start = filled = _after_line(data, filled, first)
            ends.append(start)
        if last - start <= CHUNK_BYTES:
            filled = max(filled, last)
        else:
            ends += _line_ends(data, start, last)
            start = filled = max(start, last)
    if len(ends) < MAX_CHUNKS:
        ends += _line_ends(data, start, size)
    return ends


def _after_line(data: bytes, end: int, following: int) -> int:
    """Move a cut to the next line's start when what follows begins there or later."""
    line_end = data.find(b"\n", end, following)
    return end if line_end < 0 else line_end + 1


def _line_ends(data: bytes, start: int, stop: int) -> list[int]:
    """Cut a region at line ends, or anywhere when a line is too long."""
    ends: list[int] = []
    while stop - start > CHUNK_BYTES and len(ends) < MAX_CHUNKS:
        least = start + CHUNK_BYTES // 3
        line_end = data.rfind(b"\n", least, start + CHUNK_BYTES)
        start = line_end + 1 if line_end >= 0 else _whole_character(data, start + CHUNK_BYTES)
        ends.append(start)
    if stop > start:
        ends.append(stop)
    return ends


def _whole_character(data: bytes, at: int) -> int:
    """Move a cut back to the start of a UTF-8 character."""
    for back in range(4):
        if data[at - back] & 0xC0 != 0x80:
            return at - back
    return at
