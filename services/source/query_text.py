"""What does a query ask for?"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from services.source.emphasis import opening, topic
from services.source.words import DOTTED_WORD, hash_term, normal_stem, stem, tokenise

_STOP_TEXT = """
    a an the and or of to in on for with by from as is are was were be been it its this that these
    those not no into at if when then than so we i you they he she can could should would will may
    might must do does did done has have had also only just more some any all each other such which
    who what how where there here up out about after before over under between because while via
    per use used using uses
"""
STOP_WORDS: Final = frozenset(_STOP_TEXT.split()) | frozenset(map(stem, _STOP_TEXT.split()))
# A sentence's first word is capitalised anyway; as one of these it names nothing.
_OPENING_TEXT = """
    add allow avoid bump change check clean create delete disable drop enable ensure extend find fix
    handle implement improve increase introduce make merge move optimize pass prevent reduce
    refactor remove rename replace return revert rewrite set show simplify skip support switch treat
    update wrap write
"""
_OPENING_VERBS = frozenset(_OPENING_TEXT.split())
_TESTS = re.compile(r"\b(tests?|testing|tested|specs?|unit-?tests?|fixtures?|mocks?)\b", re.I)
_DOCS = re.compile(
    r"\b(docs?|documentation|documented|readme|guides?|tutorials?|changelog|manuals?)\b", re.I
)
_NAME = re.compile(
    r"`([^`]+)`|\b("
    r"[A-Za-z_$][\w$]*(?:(?:\.|::|\#|->|/)[A-Za-z_$][\w$]*)+"  # a.b  A::b  A#b  a->b  a/b
    r"|[a-z]+(?:_[a-z0-9]+)+|_\w+|[A-Z][A-Z0-9]*_[A-Z0-9_]+"  # snake_case _private CONSTANT_CASE
    r"|[A-Z]+[a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+|[A-Z]{2,}[a-z]\w+|[a-z]+[A-Z]\w*"  # PascalCase camelCase
    r"|[A-Z][a-z]\w{2,})"  # Capitalised
)
_SIMPLE_NAME = re.compile(r"[\w$]+")
_LONGEST = 8_000  # characters; of a longer query, such as a log, its beginning and its end are read
_MOST_WORDS = 200
_MOST_NAMES = 64
_MOST_STEMS = 64  # words compared with the names of files, and joined with their neighbours
_LATER = 0.5  # weight of what only the sentences after the first say
_TOPIC = 2.0  # of what is named before a colon

_Slice = TypeVar("_Slice", str, tuple[str, ...], list[str])


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """What a query asks for."""

    terms: npt.NDArray[np.uint64]  # body hashes of the distinct terms in order, without stop words
    words: tuple[str, ...]  # the same terms as text
    identifiers: tuple[str, ...]  # names the query seems to mean, exact case, distinct
    stems: tuple[str, ...]  # normal stems worth comparing with `file_stem`, distinct
    asks_tests: bool
    asks_docs: bool
    weights: npt.NDArray[np.float32]  # of each term: what is said first counts most
    stem_weights: tuple[float, ...]  # of each stem, at most 1


def query_terms(query: str) -> QueryTerms:
    """Read a query. One made of stop words alone keeps them, so that it still can match.

    What is read of it is bounded, so that a log or a file given as a query costs little.
    """
    query = unicodedata.normalize("NFC", _ends(query, _LONGEST, "\n"))
    every = dict.fromkeys(tokenise(query, singles=False))
    words = tuple(word for word in every if word not in STOP_WORDS) or tuple(every)
    words = _ends(words, _MOST_WORDS, ())
    identifiers = _ends(_identifiers(query), _MOST_NAMES, ())
    stems = _stems(query, identifiers)
    first, named = opening(query), frozenset(tokenise(topic(query), singles=False))
    if first == query:
        weights, stem_weights = [1.0] * len(words), (1.0,) * len(stems)
    else:
        early = frozenset(tokenise(first, singles=False))
        weights = [1.0 if word in early else _LATER for word in words]
        early = frozenset(_stems(first, _identifiers(first)))
        stem_weights = tuple(1.0 if stem in early else _LATER for stem in stems)
    if named:
        pairs = zip(words, weights, strict=True)
        weights = [weight * _TOPIC if word in named else weight for word, weight in pairs]
    return QueryTerms(
        terms=np.array(list(map(hash_term, words)), np.uint64),
        words=words,
        identifiers=identifiers,
        stems=stems,
        asks_tests=_TESTS.search(query) is not None,
        asks_docs=_DOCS.search(query) is not None,
        weights=np.array(weights, np.float32),
        stem_weights=stem_weights,
    )


def _ends(whole: _Slice, limit: int, between: _Slice) -> _Slice:
    """The first and last of what is longer than the limit: errors tell what happened at the end."""
    if len(whole) <= limit:
        return whole
    return whole[: limit // 2] + between + whole[-limit // 2 :]


def _identifiers(query: str) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for found in _NAME.finditer(query):
        text = found[1] or found[2]
        opening = not query[: found.start()].strip() and text.lower() in _OPENING_VERBS
        if not opening:
            for name in _SIMPLE_NAME.findall(text):
                if len(name) > 2 and not name.isdigit():
                    names[name] = None
    if not query.isascii():
        names.update(dict.fromkeys(filter(_names_something, _SIMPLE_NAME.findall(query))))
    if len(query.split()) == 1:
        names.update(dict.fromkeys(name for name in _SIMPLE_NAME.findall(query) if len(name) > 1))
    return tuple(names)


def _names_something(word: str) -> bool:
    """Whether a word that is not ASCII is built like an identifier."""
    if word.isascii() or len(word) < 3:
        return False
    return "_" in word.strip("_") or any(a.islower() and b.isupper() for a, b in pairwise(word))


def _stems(query: str, identifiers: Iterable[str]) -> tuple[str, ...]:
    words = [normal_stem(word) for word in DOTTED_WORD.findall(query)]
    words = [word for word in words if len(word) > 2 and word not in STOP_WORDS]
    words = _ends(words, _MOST_STEMS, [])
    joined = [first + second for first, second in pairwise(words)]
    return tuple(dict.fromkeys([*words, *joined, *filter(None, map(normal_stem, identifiers))]))
