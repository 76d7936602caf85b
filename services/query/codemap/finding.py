"""Which symbols answer a text? A small query language over the terms of names, signatures and docs.

    order service      both words, anywhere        order OR invoice     either
    Ord*               words that begin so         "place order"        both words

A word of several parts (placeOrder, place_order) is met whole first, and by all of its parts. Where
nothing is found at all, words are taken as beginnings, then as nearly spelled. An id may be given with
its letter. Declarations of one id in one file, as overload signatures are, count once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from contracts.errors import InvalidArgument
from contracts.filemap import SYMBOL_KINDS
from services.query.codemap.views import MapView, Symbol
from services.source.identifiers import words_of
from store.map_segment import Array, Segment

_WORD = re.compile(r"\w+\*?")
_LETTER = re.compile(r"(?<!\w)[TMPFE]:(?=\w)")
_NAME_BONUS = 60.0
_IN_TESTS = 0.85
_LEAST_PREFIX = 3  # letters
# What a term is worth by where it stands: the whole name, a part of it, a name around it.
_BONUS = np.zeros(256, np.float32)
_BONUS[24], _BONUS[10], _BONUS[4] = 40.0, 12.0, 14.0
_TEST_PATH = re.compile(
    r"(^|/)(tests?|testing|spec|__tests__)(/|$)|(^|/)test_|_test\.|\.(test|spec)\."
)
_LAST = b"\xff"  # no UTF-8 text has it, so it stands behind all that begin alike

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
        allowed = _allowed(view, number, filters)
        total += int(allowed.sum())
        taken = 0
        for symbol in segment.name_order:
            if taken == limit:
                break
            if allowed[symbol]:
                found = Symbol(number, segment.file_of_symbol(int(symbol)), int(symbol))
                first.append((view.name(found), view.id(found), found))
                taken += 1
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
        scores = np.zeros(segment.symbol_count, _F)
        for words in alternatives:
            np.maximum(scores, _scores(segment, words), out=scores)
        scores[~_allowed(view, number, filters)] = 0
        hits = np.flatnonzero(scores)
        total += len(hits)
        lengths = segment.ids_at_lengths(hits)
        values = scores[hits] - np.minimum(lengths, 200) * _F(0.02)
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
    return Found([(symbol, round(score, 3)) for score, _, _, symbol in best[:limit]], total)


def _scores(segment: Segment, words: list[Word]) -> Array:
    """What each symbol is worth; 0 where a word is missing."""
    total = np.zeros(segment.symbol_count, _F)
    met = np.zeros(segment.symbol_count, np.uint8)
    for word in words:
        one = _of_word(segment, word)
        hit = one > 0
        met += hit
        total += one
    total[met < len(words)] = 0
    return total


def _of_word(segment: Segment, word: Word) -> Array:
    found = np.zeros(segment.symbol_count, _F)
    if word.prefix:
        wanted = word.text.lower().encode()
        _raise(segment, segment.terms.find(wanted), segment.terms.find(wanted + _LAST), found)
        return found
    term = _term(segment, word.text.lower())
    if term is not None:
        _raise(segment, term, term + 1, found)
    _, *parts = words_of(word.text)
    if parts:
        np.maximum(found, _scores(segment, [Word(part, False) for part in parts]), out=found)
    return found


def _raise(segment: Segment, low: int, high: int, found: Array) -> None:
    """Count in the terms from `low` to before `high`, which are those of one word."""
    first, last = int(segment.posting_start[low]), int(segment.posting_start[high])
    symbols, weight = segment.posting_symbol[first:last], segment.posting_weight[first:last]
    rarity = _F(np.log1p(segment.symbol_count / (last - first + 0.5)))
    np.maximum.at(found, symbols, weight.astype(_F) * rarity + _BONUS[weight])


def _term(segment: Segment, text: str) -> int | None:
    wanted = text.encode()
    at = segment.terms.find(wanted)
    return at if at < len(segment.terms) and segment.terms.raw(at) == wanted else None


def _allowed(view: MapView, number: int, filters: Filters) -> Array:
    """Which symbols of a layer may be shown at all."""
    layer = view.layers[number]
    segment = layer.segment
    if filters.kinds:
        kinds = [SYMBOL_KINDS.index(kind) for kind in filters.kinds]
        allowed = np.isin(segment.kind, kinds)
    else:
        allowed = segment.kind > 0
    allowed &= ~segment.repeated
    files = np.ones(segment.file_count, bool) if layer.hidden is None else ~layer.hidden
    if filters.file_path:
        prefix = filters.file_path.removeprefix("./").encode()
        paths = segment.paths
        files &= [paths.raw(file).startswith(prefix) for file in range(segment.file_count)]
    if not files.all():
        allowed &= np.repeat(files, segment.symbols_per_file)
    if filters.namespace:
        prefix_text = filters.namespace.lower()
        for symbol in np.flatnonzero(allowed).tolist():
            if not segment.ids[symbol][2:].lower().startswith(prefix_text):
                allowed[symbol] = False
    return allowed


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
    most = 1 if len(text) < 5 else 2
    best, distance = "", most + 1
    for same_start in (True, False):
        for layer in view.layers:
            terms = layer.segment.terms
            near = np.abs(terms.lengths - len(text.encode())) <= most
            if len(terms):
                near &= (terms.first_bytes == text.encode()[0]) == same_start
            for number in np.flatnonzero(near).tolist():
                term = terms[number]
                found = _distance(text, term, distance - 1)
                if found < distance:
                    best, distance = term, found
                    if distance == 1:
                        return best
        if best:
            return best
    return best


def _distance(left: str, right: str, most: int) -> int:
    """Edits between two words, neighbours swapped counting as one; `most` + 1 for more than most."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for at, char in enumerate(left):
        earlier, before, row = before, row, [at + 1]
        for place, other in enumerate(right):
            cost = min(before[place] + (char != other), before[place + 1] + 1, row[place] + 1)
            if at and place and char == right[place - 1] and other == left[at - 1]:
                cost = min(cost, earlier[place - 1] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]
