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


class NameIndex:
    """The symbols of one file by name and by the words of their names, to be asked many times."""

    def __init__(self, names: Iterable[tuple[str, str]]) -> None:
        """`names` pairs simple with fully qualified names, in source order, which settles ties."""
        self._fq_names: list[str] = []
        self._terms: list[frozenset[str]] = []
        self._exact: dict[str, list[int]] = {}
        self._lower: dict[str, list[int]] = {}
        self._by_term: dict[str, list[int]] = {}
        for position, (name, fq_name) in enumerate(names):
            terms = _name_terms(name)
            self._fq_names.append(fq_name)
            self._terms.append(terms)
            self._exact.setdefault(name, []).append(position)
            self._lower.setdefault(name.lower(), []).append(position)
            for term in terms:
                self._by_term.setdefault(term, []).append(position)

    def best(self, query: QueryTerms, limit: int = MAX_REASONS) -> list[str]:
        """Return the fully qualified names of the symbols a query seems to mean, best first.

        A name the query spells out comes first, then one that differs by case alone, then those of
        whose words at least half are in the query, by that share and then by how many they are.
        """
        words = frozenset(query.words)
        rank: dict[int, tuple[float, int, int]] = {}
        for word in words:
            for position in self._by_term.get(word, ()):
                if position in rank:
                    continue
                shared, terms = len(self._terms[position] & words), len(self._terms[position])
                if 2 * shared >= terms:
                    rank[position] = (-shared / terms, -shared, position)
        for name in query.identifiers:
            for position in self._lower.get(name.lower(), ()):
                rank[position] = (-2.0, 0, position)
        for name in query.identifiers:
            for position in self._exact.get(name, ()):
                rank[position] = (-3.0, 0, position)
        if limit == 1:
            return [self._fq_names[min(rank.values())[2]]] if rank else []
        found: dict[str, tuple[float, int, int]] = {}
        for position, key in rank.items():
            fq_name = self._fq_names[position]
            found[fq_name] = min(key, found.get(fq_name, key))
        return sorted(found, key=found.__getitem__)[:limit]


def symbol_hits(
    query: QueryTerms, names: Iterable[tuple[str, str]], limit: int = MAX_REASONS
) -> list[str]:
    """What `NameIndex.best` returns for names that are asked once."""
    return NameIndex(names).best(query, limit)


@lru_cache(maxsize=1 << 15)
def _name_terms(name: str) -> frozenset[str]:
    terms = tokenise(name, singles=False)
    # A name of several parts ends with all of them joined, which adds no word of its own.
    return frozenset(terms[:-1] if len(terms) > 1 and name.isascii() else terms)
