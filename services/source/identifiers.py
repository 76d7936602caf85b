"""Of which words is an identifier made?"""

from __future__ import annotations

import re
from functools import lru_cache

_PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\dA-Za-z_]+")


@lru_cache(maxsize=32_768)
def words_of(word: str) -> tuple[str, ...]:
    """The word in lower case, and its parts where it is made of several."""
    pieces = [piece.lower() for piece in _PIECE.findall(word)]
    whole = word.lower()
    return (whole, *pieces) if len(pieces) > 1 else (whole,)
