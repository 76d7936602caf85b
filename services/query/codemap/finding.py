"""Which symbols answer a text? A small query language over the terms of names, signatures and docs.

    order service      both words, anywhere        order OR invoice     either
    Ord*               words that begin so         "place order"        both words

A word of several parts (placeOrder, place_order) is met whole first, and by all of its parts. Where
nothing is found at all, words are taken as beginnings, then as nearly spelled. An id may be given with
its letter. Declarations of one id in one file, as overload signatures are, count once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from contracts.errors import InvalidArgument
from contracts.filemap import SYMBOL_KINDS
from services.query.codemap.views import MapView, Symbol
from services.source.identifiers import words_of
from store.map_segment import Array, Segment, letters

_WORD = re.compile(r"\w+\*?")
_LETTER = re.compile(r"(?<!\w)[TMPFE]:(?=\w)")
_NAME_BONUS = 60.0
_IN_TESTS = 0.85
_WORST = -0.001  # scores are below zero, however little a hit is worth
_LEAST_PREFIX = 3  # letters
# What a term is worth by where it stands: the whole name, a part of it, a name around it.
_BONUS = np.zeros(256, np.float32)
_BONUS[24], _BONUS[10], _BONUS[4] = 40.0, 12.0, 14.0
_TEST_PATH = re.compile(
    r"(^|/)(tests?|testing|spec|__tests__)(/|$)|(^|/)test_|_test\.|\.(test|spec)\."
)

_F = np.float32


class Word(Struct, frozen=True):
    """One word of a query."""

    text: str
    prefix: bool


class Filters(Struct, frozen=True):
    """What narrows a search down, whatever is asked."""

    kinds: frozenset[str] = frozenset()
    namespace: str = ""
    file_path: str = ""


class Found(Struct, frozen=True):
    """What a search gave."""

    symbols: list[tuple[Symbol, float]]
    total: int
    spelling: str = ""  # what was looked for instead, where the words themselves gave nothing


def parse(text: str) -> list[list[Word]]:
    """Alternatives, each a list of words that all must be met. Raises InvalidArgument for none."""
    cleaned = _LETTER.sub("", text.strip().lstrip("^"))
    if cleaned.count('"') % 2:
        cleaned = cleaned.replace('"', " ")
    alternatives = []
    for part in re.split(r"\bOR\b", cleaned):
        words = [word for word in _WORD.findall(part) if word not in ("AND", "*")]
        if words:
            alternatives.append([Word(w.rstrip("*"), w.endswith("*")) for w in words])
    if not alternatives:
        raise InvalidArgument(
            "the query has no word",
            hint='give letters or digits; "*" or no query with kinds browses',
            reason="empty_query",
        )
    return alternatives


def search(view: MapView, text: str, filters: Filters, limit: int) -> Found:
    """The best symbols first; scores are negative, lower is better."""
    alternatives = parse(text)
    found = _ranked(view, alternatives, text, filters, limit)
    if found.total:
        return found
    for other in (_beginning, _near):
        spelled = [words for words in (other(view, words) for words in alternatives) if words]
        tried = _ranked(view, spelled, "", filters, limit) if spelled else found
        if tried.total:
            shown = " OR ".join(" ".join(map(_shown, words)) for words in spelled)
            return Found(tried.symbols, tried.total, shown)
    return found


def _shown(word: Word) -> str:
    return f"{word.text}*" if word.prefix else word.text


def browse(view: MapView, filters: Filters, limit: int) -> Found:
    """Symbols of the chosen kinds in order of their names; score 1."""
    total = 0
    first: list[tuple[str, str, Symbol]] = []
    for number, layer in enumerate(view.layers):
        segment = layer.segment
        allowed = _allowed(view, number, filters, np.arange(segment.symbol_count))
        total += int(allowed.sum())
        order = segment.name_order
        for symbol in order[allowed[order]][:limit].tolist():
            found = Symbol(number, segment.file_of_symbol(symbol), symbol)
            first.append((view.name(found), view.id(found), found))
    first.sort()
    return Found([(symbol, 1.0) for _, _, symbol in first[:limit]], total)


def _ranked(
    view: MapView, alternatives: Sequence[list[Word]], text: str, filters: Filters, limit: int
) -> Found:
    whole = text.strip().lower()
    best: list[tuple[float, str, str, Symbol]] = []
    total = 0
    for number, layer in enumerate(view.layers):
        segment = layer.segment
        found = _scores(segment, alternatives[0])
        for words in alternatives[1:]:
            found = _either(found, _scores(segment, words))
        shown = _allowed(view, number, filters, found.symbols)
        hits, worths = found.symbols[shown], found.worth[shown]
        total += len(hits)
        values = worths - segment.id_length[hits] * _F(0.02)
        if len(hits) > 4 * limit:
            keep = np.argpartition(-values, 4 * limit)[: 4 * limit]
            hits, values = hits[keep], values[keep]
        for hit, value in zip(hits.tolist(), values.tolist(), strict=True):
            symbol = Symbol(number, segment.file_of_symbol(hit), hit)
            name = view.name(symbol)
            worth = value + (_NAME_BONUS if name.lower() == whole else 0.0)
            if _TEST_PATH.search(view.path(symbol)):
                worth *= _IN_TESTS
            best.append((-worth, name, view.id(symbol), symbol))
    best.sort()
    first = best[:limit]
    return Found([(symbol, round(min(score, _WORST), 3)) for score, _, _, symbol in first], total)


class _Hits(NamedTuple):
    """Symbols in order of their numbers, and what each is worth."""

    symbols: Array
    worth: Array


def _both(left: _Hits, right: _Hits) -> _Hits:
    """What is in both, worth the sum."""
    few, many = (left, right) if len(left.symbols) <= len(right.symbols) else (right, left)
    at = np.searchsorted(many.symbols, few.symbols)
    inside = at < len(many.symbols)
    inside[inside] = many.symbols[at[inside]] == few.symbols[inside]
    return _Hits(few.symbols[inside], few.worth[inside] + many.worth[at[inside]])


def _either(left: _Hits, right: _Hits) -> _Hits:
    """What is in one or the other, worth the more."""
    if not len(left.symbols) or not len(right.symbols):
        return left if len(left.symbols) else right
    symbols = np.concatenate((left.symbols, right.symbols))
    order = np.argsort(symbols, kind="stable")
    symbols = symbols[order]
    first = np.flatnonzero(np.append(True, symbols[1:] != symbols[:-1]))
    worth = np.concatenate((left.worth, right.worth))[order]
    return _Hits(symbols[first], np.maximum.reduceat(worth, first))


def _scores(segment: Segment, words: Sequence[Word]) -> _Hits:
    """The symbols in which every word is met."""
    found = _of_word(segment, words[0])
    for word in words[1:]:
        if not len(found.symbols):
            break
        found = _both(found, _of_word(segment, word))
    return found


def _of_word(segment: Segment, word: Word) -> _Hits:
    text = word.text.lower()
    if word.prefix:
        return _met(segment, *segment.terms.beginning(text.encode()))
    term = _term(segment, text)
    found = _met(segment, 0, 0) if term is None else _met(segment, term, term + 1)
    _, *parts = words_of(word.text)
    if parts:
        found = _either(found, _scores(segment, [Word(part, False) for part in parts]))
    return found


def _met(segment: Segment, low: int, high: int) -> _Hits:
    """Where the terms from `low` to before `high` stand, which are those of one word."""
    first, last = int(segment.posting_start[low]), int(segment.posting_start[high])
    symbols, weight = segment.posting_symbol[first:last], segment.posting_weight[first:last]
    rarity = _F(np.log1p(segment.symbol_count / (last - first + 0.5)))
    worth = weight.astype(_F) * rarity + _BONUS[weight]
    if high - low < 2:
        return _Hits(symbols, worth)
    every = np.zeros(segment.symbol_count, _F)
    np.maximum.at(every, symbols, worth)
    met = np.flatnonzero(every)
    return _Hits(met, every[met])


def _term(segment: Segment, text: str) -> int | None:
    wanted = text.encode()
    at = segment.terms.find(wanted)
    return at if at < len(segment.terms) and segment.terms.raw(at) == wanted else None


def _allowed(view: MapView, number: int, filters: Filters, symbols: Array) -> Array:
    """Which of some symbols of a layer, in order of their numbers, may be shown at all."""
    layer = view.layers[number]
    segment = layer.segment
    kinds = np.zeros(256, bool)
    kinds[[SYMBOL_KINDS.index(kind) for kind in filters.kinds or SYMBOL_KINDS[1:]]] = True
    allowed: Array = kinds[segment.kind[symbols]] & ~segment.repeated[symbols]
    if layer.hidden is not None:
        allowed &= ~np.repeat(layer.hidden, segment.symbols_per_file)[symbols]
    if filters.file_path:
        files = segment.paths.beginning(filters.file_path.encode())
        low, high = segment.symbol_start[list(files)]
        allowed &= (symbols >= low) & (symbols < high)
    if filters.namespace:
        _inside(segment, filters.namespace.lower(), symbols, allowed)
    return allowed


def _inside(segment: Segment, prefix: str, symbols: Array, allowed: Array) -> None:
    """Leave those whose full names begin with a text in lower case."""
    chosen = np.flatnonzero(allowed)
    if prefix.isascii():
        allowed[chosen] = segment.ids_begin(symbols[chosen], prefix.encode())
        return
    for place in chosen.tolist():
        allowed[place] = segment.ids[symbols[place]][2:].lower().startswith(prefix)


def _beginning(view: MapView, words: list[Word]) -> list[Word]:
    """The words as beginnings, where some of them are no whole words."""
    return [
        word if _known(view, word) or len(word.text) < _LEAST_PREFIX else Word(word.text, True)
        for word in words
    ]


def _known(view: MapView, word: Word) -> bool:
    text = word.text.lower()
    return any(_term(layer.segment, text) is not None for layer in view.layers)


def _near(view: MapView, words: list[Word]) -> list[Word]:
    """The words as they are spelled in the index, as near as possible; empty without any."""
    spelled = []
    for word in words:
        if word.prefix or _known(view, word):
            spelled.append(word)
            continue
        best = _nearest(view, word.text.lower())
        if best:
            spelled.append(Word(best, False))
    return spelled


def _nearest(view: MapView, text: str) -> str:
    if len(text) < _LEAST_PREFIX:
        return ""  # every word of so few letters is near
    most = 1 if len(text) < 5 else 2
    best, distance = "", most + 1
    encoded = text.encode()
    own = letters(np.frombuffer(encoded, "u1"), np.zeros(1, np.int64))
    away = distance_from(text)
    for same_start in (True, False):
        for layer in view.layers:
            segment, terms = layer.segment, layer.segment.terms
            near = np.bitwise_count(segment.term_letters ^ own) <= 2 * most
            near &= np.abs(terms.lengths - len(encoded)) <= most
            low, high = terms.beginning(encoded[:1])
            if same_start:
                near[:low] = near[high:] = False
            else:
                near[low:high] = False
            for number in np.flatnonzero(near).tolist():
                term = terms[number]
                found = away(term)
                if found < distance:
                    best, distance = term, found
                    if distance == 1:
                        return best
        if best:
            return best
    return best


def distance_from(text: str) -> Callable[[str], int]:
    """Edits from a text to another, neighbours swapped counting as one.

    A column of the usual table is two numbers whose bits say where it rises and falls (Hyyrö 2003).
    """
    last, every = 1 << max(len(text) - 1, 0), (1 << len(text)) - 1
    places: dict[str, int] = {}
    for at, char in enumerate(text):
        places[char] = places.get(char, 0) | 1 << at

    def distance(other: str) -> int:
        rises, falls, same, before = every, 0, 0, 0
        found = len(text)
        for char in other:
            here = places.get(char, 0)
            swapped = ((~same & here) << 1) & before
            same = (((here & rises) + rises) ^ rises) | here | falls | swapped
            up, down = falls | (every & ~(same | rises)), same & rises
            found += bool(up & last) - bool(down & last)
            up, down = up << 1 | 1, down << 1
            rises, falls = (down | ~(same | up)) & every, up & same & every
            before = here
        return found

    return distance if text else len
