"""What do people ask of a code map? Names and symbols to ask with, chosen out of the map itself.

Often asked is what is used often: names that many things bear, functions that are called from everywhere,
interfaces that much stands below. Beside them what is there once, and what is misspelt. The same map
gives the same samples.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
from msgspec import Struct

from contracts.filemap import RELATION, RESOLVED, SYMBOL_KINDS, key_of
from services.query.codemap.graph import IS_CALL
from services.source.identifiers import words_of
from store.map_segment import Array, Segment

T = TypeVar("T")
_NAME = re.compile(rb"[A-Za-z]\w{3,}")
_FIRST_MEMBER = SYMBOL_KINDS.index("method")
_CALLABLE = ("method", "constructor")
_LONG = 9  # letters, from which on people misspell


class Samples(Struct, frozen=True):
    """Texts for a search, and symbol ids; empty where the map has nothing of the kind."""

    popular: tuple[str, ...]  # names that many symbols bear
    rare: tuple[str, ...]  # names of one symbol
    misspelt: tuple[str, ...]
    beginnings: tuple[str, ...]  # with the star
    parts: tuple[str, ...]  # some words of a name, in one: placeOrder of PlaceOrderNow
    both: tuple[str, ...]  # two words, AND
    either: tuple[str, ...]  # two words, OR
    called: tuple[str, ...]  # most often
    callers: tuple[str, ...]  # of the most
    functions: tuple[str, ...]  # any
    types: tuple[str, ...]  # with the most below them
    kinds: tuple[str, ...]  # that the map has


def samples(segment: Segment, count: int) -> Samples:
    """`count` of each, where there are as many."""
    names = Counter(
        name.decode()
        for name, kind in zip(_texts(segment), segment.kind.tolist(), strict=True)
        if kind and _NAME.fullmatch(name)
    )
    popular = [name for name, _ in sorted(names.items(), key=lambda each: (-each[1], each[0]))]
    once = _spread(sorted(name for name, times in names.items() if times == 1), count)
    long = _spread(sorted(n for n, t in names.items() if t == 1 and len(n) >= _LONG), count)
    made = _spread(sorted(name for name in names if len(words_of(name)) > 3), count)
    words = [words_of(name)[1:] for name in made]
    kinds = np.bincount(segment.kind, minlength=len(SYMBOL_KINDS))
    return Samples(
        popular=tuple(popular[:count]),
        rare=tuple(once),
        misspelt=tuple(map(_swapped, long)),
        beginnings=tuple(f"{name[:4]}*" for name in popular[:count]),
        parts=tuple(first + second.capitalize() for first, second, *_ in words),
        both=tuple(f"{first} {second}" for first, second, *_ in words),
        either=tuple(f"{one} OR {other}" for one, other in zip(popular, once, strict=False)),
        called=_ids(segment, _most_called(segment, count)),
        callers=_ids(segment, _most_calling(segment, count)),
        functions=_ids(segment, _spread(_functions(segment), count)),
        types=_ids(segment, _most_below(segment, count)),
        kinds=tuple(kind for n, kind in enumerate(SYMBOL_KINDS) if n and kinds[n]),
    )


def _texts(segment: Segment) -> Iterable[bytes]:
    return (segment.names.raw(number) for number in range(segment.symbol_count))


def _spread(found: Sequence[T], count: int) -> list[T]:
    """Members at even distances."""
    if len(found) <= count:
        return list(found)
    return [found[number * len(found) // count] for number in range(count)]


def _swapped(name: str) -> str:
    """A name with two letters in the middle the wrong way round."""
    half = len(name) // 2
    return name[:half] + name[half + 1] + name[half] + name[half + 2 :]


def _ids(segment: Segment, symbols: Iterable[int]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(segment.ids[symbol] for symbol in symbols))


def _functions(segment: Segment) -> list[int]:
    kinds = [SYMBOL_KINDS.index(kind) for kind in _CALLABLE]
    found: list[int] = np.flatnonzero(np.isin(segment.kind, kinds)).tolist()
    return found


def _calls(segment: Segment) -> Array:
    found: Array = np.flatnonzero((segment.link_tag == RESOLVED) & IS_CALL[segment.link_kind])
    return found


def _most_called(segment: Segment, count: int) -> list[int]:
    return _keyed_most(segment, segment.link_key[_calls(segment)], count)


def _most_below(segment: Segment, count: int) -> list[int]:
    """Types by how many name them as what they stand below."""
    related = np.flatnonzero(segment.link_tag == RELATION)
    below = Counter[int](segment.link_key[related].tolist())
    types = np.flatnonzero((segment.kind > 0) & (segment.kind < _FIRST_MEMBER)).tolist()
    target = {key_of(segment.ids[number], RELATION): number for number in types}
    found = [target[key] for key, _ in below.most_common() if key in target]
    return found[:count]


def _keyed_most(segment: Segment, keys: Array, count: int) -> list[int]:
    different, times = np.unique(keys, return_counts=True)
    found: list[int] = []
    for place in np.argsort(-times, kind="stable").tolist():
        if len(found) == count:
            break
        found += segment.symbols_keyed(int(different[place]))[:1]
    return found


def _most_calling(segment: Segment, count: int) -> list[int]:
    calls = _calls(segment)
    sources = segment.link_source[calls].astype(np.int64)
    inside = sources >= 0
    starts = segment.symbol_start[segment.files_of_links(calls)].astype(np.int64)
    times = np.bincount((starts + sources)[inside], minlength=segment.symbol_count)
    found: list[int] = np.argsort(-times, kind="stable")[:count].tolist()
    return [symbol for symbol in found if times[symbol]]
