"""Are these bytes text?"""

from __future__ import annotations

from services.source.charset import marked_text

SNIFFED_BYTES = 8_000  # as git: a NUL further on does not make a file binary


def is_binary(data: bytes) -> bool:
    """Say whether a NUL stands among the first 8,000 bytes; not where a byte order mark explains it."""
    return data.find(b"\0", 0, SNIFFED_BYTES) >= 0 and not marked_text(data[:SNIFFED_BYTES])
