"""Why is this an answer?

Reasons are short tokens from a closed set of forms, never the query's text, in a fixed order:

    semantic hits   semantic, chunk:file | chunk:symbol | chunk:memory, symbol:<name> or topic:<topic>
    keyword hits    path-name-match, symbol:<name>, tag:<tag> ..., topic-match, content-match, key-match
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct

from services.source.terms import QueryTerms, tokenise

MAX_REASONS: Final = 6
Source = Literal["file", "symbol", "memory"]


class KeywordMatch(Struct, frozen=True):
    """Where the words of a query were found."""

    path: bool = False
    symbol: str = ""  # fully qualified name; "" for none
    tags: Sequence[str] = ()
    topic: bool = False
    content: bool = False
    key: bool = False


def semantic_reasons(source: Source, symbol: str = "", topic: str = "") -> list[str]:
    """Return the reasons of a hit found by its vector.

    `source` says what was embedded; `symbol` is the fully qualified name of the symbol meant, and
    `topic` that of a memory record, "" for none.
    """
    reasons = ["semantic", f"chunk:{source}"]
    if symbol:
        reasons.append(f"symbol:{symbol}")
    elif topic:
        reasons.append(f"topic:{topic}")
    return reasons


def keyword_reasons(match: KeywordMatch) -> list[str]:
    """Return the reasons of a hit found by its words, at most six."""
    reasons = ["path-name-match"] if match.path else []
    if match.symbol:
        reasons.append(f"symbol:{match.symbol}")
    reasons += [f"tag:{tag}" for tag in sorted(set(match.tags))]
    if match.topic:
        reasons.append("topic-match")
    if match.content:
        reasons.append("content-match")
    if match.key:
        reasons.append("key-match")
    return reasons[:MAX_REASONS]


def file_match(parts: Mapping[str, float], symbol: str = "") -> KeywordMatch:
    """Read a file's match off the parts of its score (see `fuse.RankedFile`)."""
    return KeywordMatch(
        path="path" in parts or "stem" in parts,
        symbol=symbol,
        content="body" in parts,
    )


def symbol_hits(
    query: QueryTerms, names: Iterable[tuple[str, str]], limit: int = MAX_REASONS
) -> list[str]:
    """Return the fully qualified names of the symbols a query seems to mean, best first.

    `names` pairs simple with fully qualified names, in source order, which settles ties. A name
    the query spells out comes first, then one that differs by case alone, then those of whose
    words at least half are in the query, by that share and then by how many they are.
    """
    words = frozenset(query.words)
    exact, lower = set(query.identifiers), {name.lower() for name in query.identifiers}
    found: dict[str, tuple[float, int, int]] = {}
    for position, (name, fq_name) in enumerate(names):
        rank: tuple[float, int, int]
        if name in exact:
            rank = (-3.0, 0, position)
        elif name.lower() in lower:
            rank = (-2.0, 0, position)
        else:
            terms = _name_terms(name)
            shared = len(terms & words)
            if not shared or 2 * shared < len(terms):
                continue
            rank = (-shared / len(terms), -shared, position)
        found[fq_name] = min(rank, found.get(fq_name, rank))
    return sorted(found, key=found.__getitem__)[:limit]


@lru_cache(maxsize=1 << 15)
def _name_terms(name: str) -> frozenset[str]:
    terms = tokenise(name)
    # A name of several parts ends with all of them joined, which adds no word of its own.
    return frozenset(terms[:-1] if len(terms) > 1 else terms)
