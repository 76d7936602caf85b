"""Columns of many files at once are those that plain code gives of each."""

from __future__ import annotations

import re
from collections.abc import Callable
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.extract import Body, Symbol
from contracts.filemap import (
    CANDIDATE,
    NAMED,
    RELATION,
    RESOLVED,
    joined,
    key_of,
    keys_of,
    split,
)
from services.resolution.edges import COLUMNS, MAX_CANDIDATES, FileEdges, Relation, rows
from services.resolver import columns, posting_batches
from services.resolver.columns import ResolvedFile, columns_of_each
from services.resolver.links import Links, links_of
from services.resolver.posting_batches import postings_of_each
from services.resolver.postings import Postings, postings_of
from services.source.identifier_table import IdentifierTable
from services.source.identifiers import words_of

# Letters whose case is odd, a mark and a dot that are parts of names but of no word, and traps.
_LETTERS = "aBxYz19_ .-(\n\0éÉİΣß中²\u0301·"
_ALONE = "\ud800"  # a surrogate
_WORDS = st.sampled_from(["HTTPServer", "getURLs2", "snake_case", "A", "aB", "x1y", "ΑΣ", ""])
_TEXTS = st.text(_LETTERS, max_size=12) | _WORDS
_ANY_TEXTS = st.text(_LETTERS + _ALONE, max_size=12) | _WORDS


@st.composite
def symbols(draw: st.DrawFn, texts: st.SearchStrategy[str] = _TEXTS) -> Symbol:
    long = st.lists(texts, max_size=60).map(" ".join) | texts
    name, around = draw(texts), draw(texts)
    full = draw(st.sampled_from([f"{around}.{name}", name, around]))
    return Symbol(
        draw(st.sampled_from(["class", "function", "heading"])), name, full, draw(long),
        draw(st.integers(1, 9)), draw(st.integers(1, 9)), 0, 0, doc=draw(long),
    )  # fmt: skip


def plain_postings(symbols: list[Symbol | None]) -> Postings:
    weight_of: dict[tuple[str, int], int] = {}
    for place, symbol in enumerate(symbols):
        if symbol is None:
            continue
        around, _, last = symbol.fq_name.rpartition(".")
        whole, *parts = words_of(symbol.name)
        weights = [(word.lower(), 1) for word in re.findall(r"\w+", symbol.doc)[:40]]
        weights += [(t, 3) for word in re.findall(r"\w+", symbol.signature) for t in words_of(word)]
        weights += [(t, 4) for word in re.findall(r"\w+", around) for t in words_of(word)]
        if last != symbol.name or not symbol.name.isidentifier():
            weights += [(t, 4) for word in re.findall(r"\w+", last) for t in words_of(word)]
        weights += [(part, 10) for part in parts] + [(whole, 24)] * bool(whole)
        for term, weight in weights:
            weight_of[term, place] = max(weight, weight_of.get((term, place), 0))
    terms = sorted({term for term, _ in weight_of})
    found = sorted((terms.index(term), place, w) for (term, place), w in weight_of.items())
    term, place, weight = zip(*found, strict=True) if found else ((), (), ())
    return Postings(
        terms, np.array(term, "<u4").tobytes(), np.array(place, "<u4").tobytes(), bytes(weight)
    )


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(symbols(_ANY_TEXTS) | st.none(), max_size=5), min_size=1, max_size=4))
def test_search_terms_of_many_files_are_those_of_each(files: list[list[Symbol | None]]) -> None:
    expected = [plain_postings(file) for file in files]

    with mock.patch.object(posting_batches, "_FEW", 1):
        assert postings_of_each(files) == expected
    assert [postings_of(file) for file in files] == expected


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(_ANY_TEXTS, max_size=8), max_size=4))
def test_identifiers_together_have_the_words_of_each(batches: list[list[str]]) -> None:
    table = IdentifierTable()
    for names in batches:
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        ends = np.cumsum([len(name) + 1 for name in encoded], dtype=np.int64)
        starts = ends - np.array([len(name) for name in encoded], np.int64)
        numbers = table.numbers(b"".join([b"\n" + name for name in encoded]), starts, ends)
        parts = table.parts()

        found = [
            tuple(parts.terms[at] for at in parts.own[parts.starts[n] : parts.starts[n + 1]])
            for n in numbers.tolist()
        ]
        assert found == [words_of(name) if name else () for name in names]


@st.composite
def edges(draw: st.DrawFn) -> FileEdges:
    strings = tuple(draw(st.lists(_ANY_TEXTS, min_size=1, max_size=5)))
    text, no_text = st.integers(0, len(strings) - 1), st.integers(-1, len(strings) - 1)
    small = st.integers(0, 2)
    value = {
        "kind": small, "state": st.integers(0, 3), "confidence": small,
        "source": st.integers(-1, 2), "target": no_text, "name": text, "hint": no_text,
        "line": small, "column": small,
    }  # fmt: skip
    count = draw(st.integers(0, 6))
    made = {
        name: np.array([draw(value[name]) for _ in range(count)], dtype).tobytes()
        for name, dtype in COLUMNS.items()
    }
    candidates = st.lists(text, max_size=MAX_CANDIDATES).map(tuple)
    relation = st.builds(
        Relation, small, st.integers(0, 2), st.just("") | _ANY_TEXTS, st.just("Base"), small
    )
    return FileEdges(
        strings, **made,
        candidates=tuple((row, draw(candidates)) for row in range(count) if draw(st.booleans())),
        relations=tuple(draw(st.lists(relation, max_size=3))),
    )  # fmt: skip


def plain_links(edges: FileEdges) -> Links:
    candidates = dict(edges.candidates)
    kinds = np.frombuffer(edges.kind, "u1").tolist()
    sureness = np.frombuffer(edges.confidence, "u1").tolist()
    found = []
    for row, edge in enumerate(rows(edges)):
        known = candidates.get(row, ())
        use = (kinds[row], sureness[row], edge.source, edge.line, row)
        if np.frombuffer(edges.target, "<i4")[row] >= 0:
            found.append((key_of(edge.target, RESOLVED), RESOLVED, *use))
        elif edge.state in ("unresolved", "ambiguous") and not 0 < len(known) < MAX_CANDIDATES:
            found.append((key_of(edge.name, NAMED), NAMED, *use))
    for row, numbers in edges.candidates:
        edge = list(rows(edges))[row]
        use = (kinds[row], sureness[row], edge.source, edge.line, row)
        found += [(key_of(edges.strings[n], CANDIDATE), CANDIDATE, *use) for n in numbers]
    for row, one in enumerate(edges.relations):
        if one.target:
            key = key_of(one.target, RELATION)
            found.append((key, RELATION, one.kind, one.confidence, one.source, 0, row))
    found.sort(key=lambda link: (link[4], link[5], link[6], link[0]))
    dtypes = ("<u8", "u1", "u1", "u1", "<i4", "<u4", "<u4")
    columns = zip(*found, strict=True) if found else [()] * len(dtypes)
    return Links(*[np.array(c, t).tobytes() for c, t in zip(columns, dtypes, strict=True)])


@settings(max_examples=150, deadline=None)
@given(st.lists(edges(), min_size=1, max_size=4))
def test_links_of_many_files_are_those_of_each(files: list[FileEdges]) -> None:
    assert links_of(files) == [plain_links(file) for file in files]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.lists(symbols(), max_size=4), edges()), max_size=6),
    st.integers(1, 4),
    st.integers(1, 8),
)
def test_columns_do_not_depend_on_the_files_around(
    given_files: list[tuple[list[Symbol], FileEdges]], files_at_once: int, symbols_at_once: int
) -> None:
    files = [
        ResolvedFile(f"{number}.py", "python", "full", Body(tuple(own), (), None, (), ()), found)
        for number, (own, found) in enumerate(given_files)
    ]
    alone = [next(columns_of_each([file])) for file in files]

    with (
        mock.patch.object(columns, "_BATCH_FILES", files_at_once),
        mock.patch.object(columns, "_BATCH_SYMBOLS", symbols_at_once),
        mock.patch.object(posting_batches, "_FEW", 1),
    ):
        assert list(columns_of_each(iter(files))) == alone


@given(st.lists(_ANY_TEXTS, max_size=6), st.sampled_from([RESOLVED, NAMED]))
def test_texts_of_a_column(texts: list[str], tag: int) -> None:
    shown: Callable[[str], str] = lambda text: text.encode("utf-8", "replace").decode()  # noqa: E731

    assert split(joined(texts)) == [shown(text.replace("\n", " ") or " ") for text in texts]
    assert keys_of(texts, tag) == [key_of(text, tag) for text in texts]
