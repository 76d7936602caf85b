"""What does a query ask for?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from services.source.words import hash_term, normal_stem, stem, tokenise

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


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """What a query asks for."""

    terms: npt.NDArray[np.uint64]  # body hashes of the distinct terms in order, without stop words
    words: tuple[str, ...]  # the same terms as text
    identifiers: tuple[str, ...]  # names the query seems to mean, exact case, distinct
    stems: tuple[str, ...]  # normal stems worth comparing with `file_stem`, distinct
    asks_tests: bool
    asks_docs: bool


def query_terms(query: str) -> QueryTerms:
    """Read a query. One made of stop words alone keeps them, so that it still can match."""
    every = dict.fromkeys(tokenise(query))
    words = tuple(word for word in every if word not in STOP_WORDS) or tuple(every)
    identifiers = _identifiers(query)
    return QueryTerms(
        terms=np.array(list(map(hash_term, words)), np.uint64),
        words=words,
        identifiers=identifiers,
        stems=_stems(query, identifiers),
        asks_tests=_TESTS.search(query) is not None,
        asks_docs=_DOCS.search(query) is not None,
    )


def _identifiers(query: str) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for found in _NAME.finditer(query):
        text = found[1] or found[2]
        opening = not query[: found.start()].strip() and text.lower() in _OPENING_VERBS
        if not opening:
            for name in _SIMPLE_NAME.findall(text):
                if len(name) > 2 and not name.isdigit():
                    names[name] = None
    if len(query.split()) == 1:
        names.update(dict.fromkeys(name for name in _SIMPLE_NAME.findall(query) if len(name) > 1))
    return tuple(names)


def _stems(query: str, identifiers: Iterable[str]) -> tuple[str, ...]:
    words = [normal_stem(word) for word in re.findall(r"[\w.\-]+", query)]
    words = [word for word in words if len(word) > 2 and word not in STOP_WORDS]
    joined = [first + second for first, second in pairwise(words)]
    return tuple(dict.fromkeys([*words, *joined, *filter(None, map(normal_stem, identifiers))]))
