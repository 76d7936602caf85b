"""How long may a list in an answer be?

Clients cut or refuse what is over about 25,000 tokens, and a model reads the first part of a long
list at best. So a list ends before its answer would be that large, and the answer says how many
entries were left off.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeVar

import msgspec

ANSWER_BYTES = 64_000  # of one answer's lists, as JSON: 16,000 to 25,000 tokens
PATHS_SHOWN = 300  # of one list of paths or names
TEXT_BYTES = 96_000  # of one long text, as JSON; 65,536 characters of code fit
ECHO_CHARS = 1_000  # of what was asked, told back

T = TypeVar("T")
_encode = msgspec.json.Encoder().encode


def fitting(entries: Iterable[T], limit: int = ANSWER_BYTES) -> tuple[T, ...]:
    """The first entries whose JSON together stays within `limit` bytes; at least one if any."""
    shown: list[T] = []
    size = 0
    for entry in entries:
        size += size_of(entry)
        if size > limit and shown:
            break
        shown.append(entry)
    return tuple(shown)


def size_of(entry: object) -> int:
    """Bytes that an entry of a list takes, as JSON."""
    return len(_encode(entry)) + 1


def first(paths: Sequence[str], limit: int = PATHS_SHOWN) -> tuple[str, ...]:
    """The first `limit` paths, fewer when they are very long."""
    return fitting(islice(paths, limit), ANSWER_BYTES // 4)


def beginning(text: str, limit: int = TEXT_BYTES) -> str:
    """The longest beginning of a text whose JSON stays within `limit` bytes."""
    if len(_encode(text)) <= limit:
        return text
    lengths = range(len(text) + 1)
    return text[: bisect_right(lengths, limit, key=lambda length: len(_encode(text[:length]))) - 1]


def echoed(text: str) -> str:
    """What a caller asked, told back: nobody needs a pasted log a second time."""
    return text if len(text) <= ECHO_CHARS else f"{text[: ECHO_CHARS - 1]}…"
