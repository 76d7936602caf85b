"""What does one file give to the index of its manifest? Pure: a body and its edges in, columns out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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
from services.resolution.ids import stable_numbers, symbol_id, symbol_kind
from services.source.identifiers import words_of

_WORD = re.compile(r"\w+")
_NAME, _PART, _CONTAINER, _SIGNATURE, _DOC = 24, 10, 4, 3, 1
_DOC_WORDS = 40
_DOC_HEAD = 400  # characters that hold as many words nearly always
_SNIPPET = 160  # characters of a doc that a hit shows
_OPEN_STATES = np.array([state in ("unresolved", "ambiguous") for state in STATES])
_TAGS = np.array([RESOLVED, NAMED, CANDIDATE, RELATION], "u1")
_QUALITIES = {"full": 2, "partial": 1}
_KINDS = {kind: number for number, kind in enumerate(SYMBOL_KINDS)}


def columns_of(path: str, language: str, quality: str, body: Body, edges: FileEdges) -> Columns:
    """The file's columns; the same body and edges give the same bytes."""
    symbols = body.symbols
    ids = [symbol_id(language, symbol) for symbol in symbols]
    kinds = [_KINDS.get(symbol_kind(symbol), 0) for symbol in symbols]
    code = [symbol if kind else None for symbol, kind in zip(symbols, kinds, strict=True)]
    terms, posting_term, posting_symbol, posting_weight = _terms(code)
    links = _links(edges)
    # of a file that did not parse as a whole nothing is certain
    sure = links.confidence if quality == "full" else np.zeros(len(links.key), "u1")
    return Columns(
        ids=joined(ids),
        names=joined([symbol.name for symbol in symbols]),
        id_key=_packed("<u8", [key_of(text) for text in ids]),
        stable_key=_packed("<u8", stable_numbers(path, language, symbols)),
        kind=bytes(kinds),
        start=_packed("<u4", [symbol.start_line for symbol in symbols]),
        end=_packed("<u4", [symbol.end_line for symbol in symbols]),
        parent=_packed("<i4", [symbol.parent for symbol in symbols]),
        terms=joined(terms),
        posting_term=posting_term,
        posting_symbol=posting_symbol,
        posting_weight=posting_weight,
        link_key=links.key.tobytes(),
        link_tag=links.tag.tobytes(),
        link_kind=links.kind.tobytes(),
        link_confidence=sure.tobytes(),
        link_source=links.source.tobytes(),
        link_line=links.line.tobytes(),
        link_row=links.row.tobytes(),
        quality=_QUALITIES.get(quality, 0),
        references=len(edges.kind),
        language=language,
        facts=pack_facts(body.facts),
        signatures=joined([symbol.signature if symbol else "" for symbol in code]),
        docs=joined([" ".join(symbol.doc.split())[:_SNIPPET] if symbol else "" for symbol in code]),
    )


def _packed(kind: str, values: list[int]) -> bytes:
    return np.array(values, kind).tobytes()


class _Links(NamedTuple):
    """Whatever leads from the file to a symbol, in order of the symbols it leads from."""

    key: npt.NDArray[np.uint64]
    tag: npt.NDArray[np.uint8]
    kind: npt.NDArray[np.uint8]
    confidence: npt.NDArray[np.uint8]
    source: npt.NDArray[np.int32]
    line: npt.NDArray[np.uint32]
    row: npt.NDArray[np.uint32]


_DTYPES = ("<u8", "u1", "u1", "u1", "<i4", "<u4", "<u4")
_NO_LINKS = _Links(*(np.zeros(0, dtype) for dtype in _DTYPES))


def _links(edges: FileEdges) -> _Links:
    if not edges.kind and not edges.relations:
        return _NO_LINKS
    target, name = np.frombuffer(edges.target, "<i4"), np.frombuffer(edges.name, "<u4")
    state = np.frombuffer(edges.state, "u1")
    # Where all candidates are known, a symbol that is none of them is not meant.
    open_ = _OPEN_STATES[state] & (target < 0)
    open_[[row for row, found in edges.candidates if 0 < len(found) < MAX_CANDIDATES]] = False
    resolved, named = np.flatnonzero(target >= 0), np.flatnonzero(open_)
    possible = [(row, number) for row, found in edges.candidates for number in found]
    relations = [(row, one) for row, one in enumerate(edges.relations) if one.target]
    rows = np.concatenate([resolved, named, np.array([row for row, _ in possible], np.int64)])
    strings = edges.strings
    given = [key_of(strings[number], CANDIDATE) for _, number in possible]
    given += [key_of(one.target, RELATION) for _, one in relations]
    sizes = (len(resolved), len(named), len(possible), len(relations))
    found = (
        np.concatenate([
            _keys(target[resolved], strings, RESOLVED),
            _keys(name[named], strings, NAMED),
            np.array(given, "<u8"),
        ]),
        np.repeat(_TAGS, sizes),
        _with(np.frombuffer(edges.kind, "u1")[rows], [one.kind for _, one in relations]),
        _with(np.frombuffer(edges.confidence, "u1")[rows], [one.confidence for _, one in relations]),
        _with(np.frombuffer(edges.source, "<i4")[rows], [one.source for _, one in relations]),
        _with(np.frombuffer(edges.line, "<u4")[rows], [0] * len(relations)),
        _with(rows.astype("<u4"), [row for row, _ in relations]),
    )  # fmt: skip
    order = np.lexsort((found[0], found[6], found[5], found[4]))
    return _Links(*(column[order] for column in found))


def _with(column: npt.NDArray[Any], more: list[int]) -> npt.NDArray[Any]:
    return np.concatenate([column, np.array(more, column.dtype)]) if more else column


def _keys(numbers: npt.NDArray[Any], strings: tuple[str, ...], tag: int) -> npt.NDArray[np.uint64]:
    """The keys of strings by their numbers."""
    table = np.zeros(len(strings), "<u8")
    for number in set(numbers.tolist()):
        table[number] = key_of(strings[number], tag)
    found: npt.NDArray[np.uint64] = table[numbers]
    return found


def _terms(symbols: list[Symbol | None]) -> tuple[list[str], bytes, bytes, bytes]:
    """The distinct terms of symbols of code in order; term, symbol and weight of every posting."""
    weighted = [_weighted(symbol) if symbol else _NO_TERMS for symbol in symbols]
    terms = sorted(set().union(*weighted))
    numbers = {term: number for number, term in enumerate(terms)}
    sizes = [len(found) for found in weighted]
    count = sum(sizes)
    term = np.fromiter(map(numbers.__getitem__, chain.from_iterable(weighted)), "<u4", count)
    order = np.argsort(term, kind="stable")
    symbol = np.repeat(np.arange(len(sizes), dtype="<u4"), sizes)
    weight = np.frombuffer(bytes(chain.from_iterable(map(dict.values, weighted))), "u1")
    return terms, term[order].tobytes(), symbol[order].tobytes(), weight[order].tobytes()


_NO_TERMS: dict[str, int] = {}


def _weighted(symbol: Symbol) -> dict[str, int]:
    # In order of weight, so that of several places of a word the heaviest counts.
    found = dict.fromkeys([word.lower() for word in _first_words(symbol.doc)], _DOC)
    found.update(dict.fromkeys(_parts(symbol.signature), _SIGNATURE))
    container, _, last = symbol.fq_name.rpartition(".")
    found.update(_container(container))
    name = symbol.name
    if last != name or not name.isidentifier():  # else all of it is in the name
        found.update(dict.fromkeys(_parts(last), _CONTAINER))
    found.update(_named(name))
    return found


def _parts(text: str) -> Iterator[str]:
    return chain.from_iterable(map(words_of, _WORD.findall(text)))


def _first_words(doc: str) -> list[str]:
    if not doc:
        return []
    words = _WORD.findall(doc[:_DOC_HEAD])
    if len(words) <= _DOC_WORDS and len(doc) > _DOC_HEAD:
        words = _WORD.findall(doc)  # few, or the last one is cut
    return words[:_DOC_WORDS]


@lru_cache(maxsize=256)
def _container(name: str) -> dict[str, int]:
    return dict.fromkeys(_parts(name), _CONTAINER)


@lru_cache(maxsize=8_192)
def _named(name: str) -> dict[str, int]:
    whole, *parts = words_of(name) or ("",)
    found = dict.fromkeys(parts, _PART)
    if whole:
        found[whole] = _NAME
    return found
