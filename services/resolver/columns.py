"""What does one file give to the index of its manifest? Pure: a body and its edges in, columns out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np

from contracts.extract import Body, Symbol
from contracts.filemap import (
    CANDIDATE,
    NAMED,
    RELATION,
    RESOLVED,
    SYMBOL_KINDS,
    Columns,
    joined,
    key_of,
    pack_facts,
)
from services.resolution.edges import MAX_CANDIDATES, STATES, FileEdges
from services.resolution.ids import stable_ids, symbol_id, symbol_kind
from services.source.identifiers import words_of

_WORD = re.compile(r"\w+")
_NAME, _PART, _CONTAINER, _SIGNATURE, _DOC = 24, 10, 4, 3, 1
_DOC_WORDS = 40
_DOC_HEAD = 400  # characters that hold as many words nearly always
_SNIPPET = 160  # characters of a doc that a hit shows
_UNRESOLVED = frozenset({STATES.index("unresolved"), STATES.index("ambiguous")})
_QUALITIES = {"full": 2, "partial": 1}
_KINDS = {kind: number for number, kind in enumerate(SYMBOL_KINDS)}


def columns_of(path: str, language: str, quality: str, body: Body, edges: FileEdges) -> Columns:
    """The file's columns; the same body and edges give the same bytes."""
    symbols = body.symbols
    ids = [symbol_id(language, symbol) for symbol in symbols]
    kinds = [_KINDS.get(symbol_kind(symbol), 0) for symbol in symbols]
    stable = [int(text[4:], 16) for text in stable_ids(path, language, symbols)]
    terms = _Terms(symbols, kinds)
    links = sorted(_links(edges), key=lambda link: (link[4], link[5], link[6], link[0]))
    link = list(zip(*links, strict=True)) if links else [()] * 7
    return Columns(
        ids=joined(ids),
        names=joined(symbol.name for symbol in symbols),
        id_key=_packed("<u8", [key_of(text) for text in ids]),
        stable_key=_packed("<u8", stable),
        kind=_packed("u1", kinds),
        start=_packed("<u4", [symbol.start_line for symbol in symbols]),
        end=_packed("<u4", [symbol.end_line for symbol in symbols]),
        parent=_packed("<i4", [symbol.parent for symbol in symbols]),
        terms=joined(terms.terms),
        posting_term=terms.numbers,
        posting_symbol=terms.symbols,
        posting_weight=terms.weights,
        link_key=_packed("<u8", link[0]),
        link_tag=_packed("u1", link[1]),
        link_kind=_packed("u1", link[2]),
        # of a file that did not parse as a whole nothing is certain
        link_confidence=_packed("u1", link[3] if quality == "full" else [0] * len(link[3])),
        link_source=_packed("<i4", link[4]),
        link_line=_packed("<u4", link[5]),
        link_row=_packed("<u4", link[6]),
        quality=_QUALITIES.get(quality, 0),
        references=len(edges.kind),
        language=language,
        facts=pack_facts(body.facts),
        signatures=joined(
            symbol.signature if kind else "" for symbol, kind in zip(symbols, kinds, strict=True)
        ),
        docs=joined(
            " ".join(symbol.doc.split())[:_SNIPPET] if kind else ""
            for symbol, kind in zip(symbols, kinds, strict=True)
        ),
    )


def _packed(kind: str, values: Iterable[int]) -> bytes:
    return np.array(list(values), kind).tobytes()


_Link = tuple[int, int, int, int, int, int, int]


def _links(edges: FileEdges) -> Iterator[_Link]:
    """(key, tag, kind, confidence, source, line, row) of whatever leads from the file to a symbol."""
    strings = edges.strings
    resolved = {number: key_of(strings[number]) for number in _distinct(edges.target)}
    kind, confidence = edges.kind, edges.confidence
    source, line = _read(edges.source, "<i4"), _read(edges.line, "<u4")
    target, name = _read(edges.target, "<i4"), _read(edges.name, "<u4")
    named: dict[int, int] = {}
    # Where all candidates are known, a symbol that is none of them is not meant.
    settled = {row for row, found in edges.candidates if 0 < len(found) < MAX_CANDIDATES}
    for row, state in enumerate(edges.state):
        at = (kind[row], confidence[row], source[row], line[row], row)
        if target[row] >= 0:
            yield resolved[target[row]], RESOLVED, *at
        elif state in _UNRESOLVED and row not in settled:
            number = name[row]
            key = named.get(number)
            if key is None:
                key = named[number] = key_of(strings[number], NAMED)
            yield key, NAMED, *at
    for row, candidates in edges.candidates:
        for number in candidates:
            at = (kind[row], confidence[row], source[row], line[row], row)
            yield key_of(strings[number], CANDIDATE), CANDIDATE, *at
    for row, relation in enumerate(edges.relations):
        if relation.target:
            key = key_of(relation.target, RELATION)
            yield key, RELATION, relation.kind, relation.confidence, relation.source, 0, row


def _distinct(column: bytes) -> list[int]:
    return [number for number in set(_read(column, "<i4")) if number >= 0]


def _read(column: bytes, kind: str) -> list[int]:
    found: list[int] = np.frombuffer(column, kind).tolist()
    return found


class _Terms:
    """The file's distinct terms in order, and the symbols each one leads to, in order as well."""

    def __init__(self, symbols: tuple[Symbol, ...], kinds: list[int]) -> None:
        found: dict[str, list[tuple[int, int]]] = {}
        for index, symbol in enumerate(symbols):
            if kinds[index]:
                for term, weight in _weighted(symbol).items():
                    uses = found.get(term)
                    if uses is None:
                        found[term] = [(index, weight)]
                    else:
                        uses.append((index, weight))
        self.terms = sorted(found)
        ordered = [found[term] for term in self.terms]
        counts = [len(uses) for uses in ordered]
        self.numbers = np.repeat(np.arange(len(counts), dtype="<u4"), counts).tobytes()
        self.symbols = _packed("<u4", [index for uses in ordered for index, _ in uses])
        self.weights = bytes([weight for uses in ordered for _, weight in uses])


def _weighted(symbol: Symbol) -> dict[str, int]:
    # In order of weight, so that of several places of a word the heaviest counts.
    found = dict.fromkeys([word.lower() for word in _first_words(symbol.doc)], _DOC)
    for word in _WORD.findall(symbol.signature):
        for part in words_of(word):
            found[part] = _SIGNATURE
    found.update(_around(symbol.fq_name))
    whole, *parts = words_of(symbol.name) or ("",)
    for part in parts:
        found[part] = _PART
    if whole:
        found[whole] = _NAME
    return found


def _first_words(doc: str) -> list[str]:
    if not doc:
        return []
    words = _WORD.findall(doc[:_DOC_HEAD])
    if len(words) <= _DOC_WORDS and len(doc) > _DOC_HEAD:
        words = _WORD.findall(doc)  # few, or the last one is cut
    return words[:_DOC_WORDS]


def _around(full_name: str) -> dict[str, int]:
    container, _, name = full_name.rpartition(".")
    found = dict(_container(container))
    for word in _WORD.findall(name):
        for part in words_of(word):
            found[part] = _CONTAINER
    return found


@lru_cache(maxsize=256)
def _container(name: str) -> dict[str, int]:
    return {part: _CONTAINER for word in _WORD.findall(name) for part in words_of(word)}
