"""How is a text without a grammar cut for search?

Like the files beside it: into passages of about 1,500 bytes that end where a line does, and inside
a line only where it is longer than that.
"""

from __future__ import annotations

PASSAGE_BYTES = 1_500
MAX_PASSAGES = 64


def passages(text: str) -> list[str]:
    """The passages in order, without blank ones, up to the first 64."""
    found: list[str] = []
    filled = ""
    for line in text.splitlines(keepends=True):
        for piece in _pieces(line):
            if (
                filled
                and len(filled.encode(errors="replace")) + len(piece.encode(errors="replace"))
                > PASSAGE_BYTES
            ):
                found.append(filled)
                filled = ""
            filled += piece
        if len(found) > MAX_PASSAGES:
            break
    found.append(filled)
    return [passage for passage in found if passage.strip()][:MAX_PASSAGES]


def _pieces(line: str) -> list[str]:
    """A line, in parts where it is too long for one passage."""
    raw = line.encode(errors="replace")
    if len(raw) <= PASSAGE_BYTES:
        return [line]
    pieces: list[str] = []
    start = 0
    while start < len(raw):
        end = min(start + PASSAGE_BYTES, len(raw))
        while end < len(raw) and raw[end] & 0xC0 == 0x80:  # not inside a character
            end -= 1
        pieces.append(raw[start:end].decode())
        start = end
    return pieces
