"""How long may a list in an answer be?

Clients cut or refuse what is over about 25,000 tokens, and a model reads the first part of a long
list at best. So a list ends before its answer would be that large, and the answer says how many
entries were left off.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeVar

import msgspec

ANSWER_BYTES = 64_000  # of one answer's lists, as JSON: 16,000 to 25,000 tokens
PATHS_SHOWN = 300  # of one list of paths or names

T = TypeVar("T")
_encode = msgspec.json.Encoder().encode


def fitting(entries: Iterable[T], limit: int = ANSWER_BYTES) -> tuple[T, ...]:
    """The first entries whose JSON together stays within `limit` bytes; at least one if any."""
    shown: list[T] = []
    size = 0
    for entry in entries:
        size += len(_encode(entry)) + 1
        if size > limit and shown:
            break
        shown.append(entry)
    return tuple(shown)


def first(paths: Sequence[str], limit: int = PATHS_SHOWN) -> tuple[str, ...]:
    """The first `limit` paths, fewer when they are very long."""
    return fitting(islice(paths, limit), ANSWER_BYTES // 4)
