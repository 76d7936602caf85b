"""The vectorised count must equal the plain tokeniser, whatever the text."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.extract import Terms
from services.source.terms import (
    DEFINED,
    DEFINED_LOWER,
    PATH,
    QUALIFIED,
    REFERENCE,
    STEM,
    SYMBOL,
    FileWords,
    TermArrays,
    build_terms,
    build_terms_many,
    file_stem,
    hash_term,
    tokenise,
)

SCRIPTS = "aZé9_ -./\nßİﬁ\uff21\uff12дЖأبहिंदीกำที่ក្រ漢字かなガ゙한글ㄱ々ー½①𝒳\u0301\u200d—“”"
plain = st.text(max_size=200)
identifiers = st.text(alphabet="aBcDeS0_9xy .", max_size=200)
mixed = st.text(alphabet=SCRIPTS, max_size=200)
texts = st.one_of(plain, identifiers, mixed)
names = st.lists(st.one_of(st.text(min_size=1, max_size=12), identifiers), max_size=6)


def expected(terms: list[str], field: str = "") -> Counter[int]:
    return Counter(hash_term(term, field) for term in terms)


def slices(offsets: np.ndarray, values: np.ndarray) -> list[list[int]]:
    return [values[start:end].tolist() for start, end in pairwise(offsets.tolist())]


@settings(max_examples=300, deadline=None)
@given(st.lists(texts, max_size=5))
def test_each_chunk_counts_what_the_plain_tokeniser_gives(chunks: list[str]) -> None:
    arrays = TermArrays.of(build_terms("a.py", chunks, [[]] * len(chunks), [], [], []))

    hashes = slices(arrays.chunk_offsets, arrays.chunk_hash)
    counts = slices(arrays.chunk_offsets, arrays.chunk_tf)
    for chunk, found, tf, length in zip(
        chunks, hashes, counts, arrays.chunk_length.tolist(), strict=True
    ):
        terms = tokenise(chunk)
        assert found == sorted(set(found))
        assert dict(zip(found, tf, strict=True)) == dict(expected(terms))
        assert length == len(terms)


@settings(max_examples=150, deadline=None)
@given(texts, st.lists(names, max_size=4), names, names, names)
def test_context_and_fields_hold_what_was_given(
    path: str, enclosing: list[list[str]], symbols: list[str], fq_names: list[str], used: list[str]
) -> None:
    terms = build_terms(path, ["x"] * len(enclosing), enclosing, symbols, fq_names, used)
    arrays = TermArrays.of(terms)

    contexts = slices(arrays.context_offsets, arrays.context_hash)
    for found, around in zip(contexts, enclosing, strict=True):
        assert found == sorted(expected(tokenise(" ".join([path, *around]))))
    path_terms, symbol_terms = tokenise(path), tokenise(" ".join(symbols))
    fields = expected(path_terms, PATH) + expected(symbol_terms, SYMBOL)
    fields += expected(symbols, DEFINED) + expected([s.lower() for s in symbols], DEFINED_LOWER)
    fields += expected([file_stem(path)], STEM) + expected(used, REFERENCE)
    fields += expected(fq_names, QUALIFIED)
    assert dict(zip(arrays.field_hash.tolist(), arrays.field_tf.tolist(), strict=True)) == fields
    assert arrays.field_hash.tolist() == sorted(fields)
    assert arrays.path_length == len(path_terms)
    assert arrays.symbols_length == len(symbol_terms)


@settings(max_examples=50, deadline=None)
@given(st.lists(texts, min_size=1, max_size=4), st.lists(texts, max_size=3))
def test_a_file_gives_the_same_bytes_whatever_was_read_before(
    chunks: list[str], before: list[str]
) -> None:
    def build() -> Terms:
        return build_terms("a/b.py", chunks, [[]] * len(chunks), ["A"], ["b.A"], ["c"])

    first = build()
    build_terms("c.py", before, [[]] * len(before), [], [], [])
    assert build() == first


files = st.builds(
    lambda path, chunks, symbols, fq_names, used: FileWords(
        path,
        [text for text, _ in chunks],
        [around for _, around in chunks],
        symbols,
        fq_names,
        used,
    ),
    st.sampled_from(["a.py", "a/b.py", "src/Größe.java"]),
    st.lists(st.tuples(texts, names), max_size=3),
    names,
    names,
    names,
)


@settings(max_examples=100, deadline=None)
@given(st.lists(files, max_size=5))
def test_files_counted_together_give_what_each_gives_alone(together: list[FileWords]) -> None:
    alone = [
        build_terms(
            file.path,
            file.chunks,
            file.enclosing,
            file.symbol_names,
            file.fq_names,
            file.references,
        )
        for file in together
    ]
    assert build_terms_many(together) == alone


@given(names)
def test_a_name_with_its_count_weighs_as_much_as_its_repetitions(used: list[str]) -> None:
    counts = Counter(used)
    counted = FileWords("a.py", references=list(counts), reference_counts=list(counts.values()))
    assert build_terms_many([counted]) == [build_terms("a.py", [], [], [], [], used)]
