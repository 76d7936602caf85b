"""By which words are the symbols of a file found? Its search terms, and how much each counts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from contracts.extract import Symbol
from services.source.identifiers import words_of

NAME, PART, AROUND, SIGNATURE, DOC = 24, 10, 4, 3, 1
DOC_WORDS = 40
_DOC_HEAD = 400  # characters that hold as many words nearly always
_WORD = re.compile(r"\w+")


class Postings(NamedTuple):
    """Which symbols of a file each search term finds."""

    terms: list[str]  # distinct, in order
    term: bytes  # u4[postings], ascending
    symbol: bytes  # u4[postings], ascending for each term
    weight: bytes  # u1[postings], that of the place which counts most


def postings_of(symbols: Sequence[Symbol | None]) -> Postings:
    """The postings of a file's symbols; None stands for a symbol without terms."""
    weighted = [_weighted(symbol) if symbol else _NO_TERMS for symbol in symbols]
    terms = sorted(set().union(*weighted))
    numbers = {term: number for number, term in enumerate(terms)}
    sizes = [len(found) for found in weighted]
    count = sum(sizes)
    term = np.fromiter(map(numbers.__getitem__, chain.from_iterable(weighted)), "<u4", count)
    order = np.argsort(term, kind="stable")
    symbol = np.repeat(np.arange(len(sizes), dtype="<u4"), sizes)
    weight = np.frombuffer(bytes(chain.from_iterable(map(dict.values, weighted))), "u1")
    return Postings(terms, term[order].tobytes(), symbol[order].tobytes(), weight[order].tobytes())


_NO_TERMS: dict[str, int] = {}


def _weighted(symbol: Symbol) -> dict[str, int]:
    # In order of weight, so that of several places of a word the heaviest counts.
    found = dict.fromkeys([word.lower() for word in _first_words(symbol.doc)], DOC)
    found.update(dict.fromkeys(_parts(symbol.signature), SIGNATURE))
    found.update(_around(around(symbol)))
    found.update(_named(symbol.name))
    return found


def around(symbol: Symbol) -> str:
    """What a symbol's full name has besides its name."""
    container, _, last = symbol.fq_name.rpartition(".")
    # Else all of the last part is in the name.
    return container if last == symbol.name and last.isidentifier() else symbol.fq_name


def _parts(text: str) -> Iterator[str]:
    return chain.from_iterable(map(words_of, _WORD.findall(text)))


def _first_words(doc: str) -> list[str]:
    if not doc:
        return []
    words = _WORD.findall(doc[:_DOC_HEAD])
    if len(words) <= DOC_WORDS and len(doc) > _DOC_HEAD:
        words = _WORD.findall(doc)  # few, or the last one is cut
    return words[:DOC_WORDS]


@lru_cache(maxsize=256)
def _around(text: str) -> dict[str, int]:
    return dict.fromkeys(_parts(text), AROUND)


@lru_cache(maxsize=1_024)
def _named(name: str) -> dict[str, int]:
    whole, *parts = words_of(name)
    found = dict.fromkeys(parts, PART)
    if whole:
        found[whole] = NAME
    return found
