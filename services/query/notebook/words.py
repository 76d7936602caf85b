"""Which words of a memory and of a question are compared?

Tokens are runs of letters and digits without case and accents, as SQLite's unicode61 has them; for
ASCII text that is a-z and 0-9.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

_STOP_TEXT = "the and with from that this into your have for are use uses using"
STOP_WORDS: Final = frozenset(_STOP_TEXT.split())
PATH_WORDS: Final = frozenset({"src", "lib", "app", "test", "tests"})  # say nothing in a fact
_SHORTEST = 2
_ASCII_TOKEN = re.compile(r"[a-z0-9]+")
_TOKEN = re.compile(r"[^\W_]+")
_NEGATIONS = re.compile(r"\b(?:not|no|never|without|cannot|can['\u2019]t)\b", re.IGNORECASE)


def tokens(text: str) -> list[str]:
    """Every token in order."""
    if text.isascii():
        return _ASCII_TOKEN.findall(text.lower())
    bare = "".join(
        c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c)
    )
    return _TOKEN.findall(bare)


def extract_terms(text: str) -> list[str]:
    """The tokens worth searching for, each once, in order of their first occurrence."""
    return [
        term
        for term in dict.fromkeys(tokens(text))
        if len(term) >= _SHORTEST and term not in STOP_WORDS
    ]


def fact_terms(text: str) -> list[str]:
    """The terms that two statements are compared by."""
    return [term for term in extract_terms(text) if term not in PATH_WORDS]


def is_negated(text: str) -> bool:
    return _NEGATIONS.search(text) is not None


@lru_cache(maxsize=1 << 15)
def tag_list(tags: str) -> tuple[str, ...]:
    """The tags of a comma-separated text: trimmed, lower case, each once."""
    return tuple(dict.fromkeys(tag for part in tags.split(",") if (tag := part.strip().lower())))


def jaccard(first: Iterable[str], second: Iterable[str]) -> float:
    """How much two sets share, 0..1; two empty ones are alike."""
    one, other = set(first), set(second)
    shared = len(one & other)
    union = len(one) + len(other) - shared
    return shared / union if union else 1.0
