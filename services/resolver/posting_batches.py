"""By which words are the symbols of many files found? The postings of all at once, by arrays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from contracts.extract import Symbol
from services.resolver.postings import (
    AROUND,
    DOC,
    DOC_WORDS,
    NAME,
    PART,
    SIGNATURE,
    Postings,
    around,
    postings_of,
)
from services.source.identifier_table import I4, current_table
from services.source.ragged import bounds, ranges
from services.source.word_keys import I8, find_words

_FEW = 60  # symbols that take less time one by one
_WEIGHT_BITS = 5
_GAP = re.compile(r"\W+")


def postings_of_each(files: Sequence[Sequence[Symbol | None]]) -> list[Postings]:
    """What `postings_of` gives of each file."""
    symbols = list(chain.from_iterable(files))
    code = [symbol for symbol in symbols if symbol is not None]
    if len(code) < _FEW:
        return [postings_of(own) for own in files]
    sizes = np.array([len(own) for own in files])
    is_code = np.array([symbol is not None for symbol in symbols])
    file = np.repeat(np.arange(len(files)), sizes)[is_code]
    place = ranges(np.zeros_like(sizes), sizes)[is_code]
    texts = _texts(code)
    is_there = np.zeros(len(texts.all_terms), np.bool_)
    is_there[texts.term] = True
    order = sorted(np.flatnonzero(is_there).tolist(), key=texts.all_terms.__getitem__)
    layout = _Layout(int(sizes.max()).bit_length(), len(order).bit_length())
    ranks = np.empty(len(texts.all_terms), np.int64)
    ranks[order] = np.arange(len(order)) << layout.term_shift
    owners = (file << layout.file_shift) + (place << _WEIGHT_BITS)
    found = layout.ordered(_of_symbols(texts, ranks[texts.term] + texts.weight, owners))
    placed = found >> _WEIGHT_BITS
    heaviest = np.ones(len(found), np.bool_)
    heaviest[:-1] = placed[1:] != placed[:-1]
    terms = [texts.all_terms[number] for number in order]
    return _parted(found[heaviest], layout, terms, len(files))


class _Layout(NamedTuple):
    """How one number holds a file, a term, a symbol and a weight."""

    symbol_bits: int
    term_bits: int

    @property
    def term_shift(self) -> int:
        return _WEIGHT_BITS + self.symbol_bits

    @property
    def file_shift(self) -> int:
        return self.term_shift + self.term_bits

    def ordered(self, found: I8) -> I8:
        """Numbers in order; those of a file and symbol must already lie together, in order."""
        terms = (found >> self.term_shift) & ((1 << self.term_bits) - 1)
        found = found[_stable_order(terms)]
        return found[_stable_order(found >> self.file_shift)]


def _stable_order(numbers: I8) -> npt.NDArray[np.intp]:
    # Up to 16 bits, which are enough for the terms and files of most batches, nothing is compared.
    narrow = numbers.astype(np.min_scalar_type(numbers.max(initial=0)))
    return np.argsort(narrow, kind="stable")


def _parted(found: I8, layout: _Layout, terms: Sequence[str], files: int) -> list[Postings]:
    """Sorted numbers as the postings of each file; `terms` are those of all files, in order."""
    heads = found >> layout.term_shift
    begins = np.ones(len(heads), np.bool_)
    begins[1:] = heads[1:] != heads[:-1]
    distinct = heads[begins]
    edges = np.arange(files + 1) << layout.term_bits
    firsts, ends = np.searchsorted(distinct, edges), np.searchsorted(heads, edges)
    number = np.cumsum(begins) - 1 - np.repeat(firsts[:-1], np.diff(ends))
    words = [terms[rank] for rank in (distinct & ((1 << layout.term_bits) - 1)).tolist()]
    term = number.astype("<u4").tobytes()
    place = (found >> _WEIGHT_BITS) & ((1 << layout.symbol_bits) - 1)
    symbol = place.astype("<u4").tobytes()
    weight = (found & ((1 << _WEIGHT_BITS) - 1)).astype("u1").tobytes()
    return [
        Postings(
            words[first:last], term[4 * start : 4 * end], symbol[4 * start : 4 * end],
            weight[start:end],
        )
        for (first, last), (start, end) in zip(
            pairwise(firsts.tolist()), pairwise(ends.tolist()), strict=True
        )
    ]  # fmt: skip


class _Texts(NamedTuple):
    """The terms of what is around symbols, which many share, of their docs, signatures and names."""

    term: I4  # number of each term, text by text
    weight: I8
    starts: I8  # i8[texts + 1] into both
    around: I8  # the text of each symbol that many may share; those of its own are behind all these
    all_terms: Sequence[str]  # by number


def _texts(code: Sequence[Symbol]) -> _Texts:
    table, own = current_table(), len(code)
    shared: dict[str, int] = {}
    arounds = [shared.setdefault(around(symbol), len(shared)) for symbol in code]
    docs = slice(len(shared), len(shared) + own)
    data, offsets = _laid_out(
        [*shared, *[symbol.doc for symbol in code], *[symbol.signature for symbol in code]]
    )
    starts, ends = find_words(data)
    firsts = np.searchsorted(starts, offsets)
    counts = np.diff(firsts)
    counts[docs] = np.minimum(counts[docs], DOC_WORDS)
    chosen = ranges(firsts[:-1], counts)
    names, name_offsets = _laid_out([symbol.name for symbol in code], whole=True)
    name_offsets += len(data)
    numbers = table.numbers(
        data + names,
        np.concatenate((starts[chosen], name_offsets[:-1])),
        np.concatenate((ends[chosen], name_offsets[1:] - 1)),
    )
    words = bounds(np.concatenate((counts, np.ones(own, np.int64))))
    parts = table.parts()
    first = parts.starts[numbers].astype(np.int64)
    sizes = parts.starts[numbers + 1] - first
    sizes[words[docs.start] : words[docs.stop]] = 1  # a word of a doc counts as a whole
    in_text = bounds(sizes)[words]
    weights = np.repeat((AROUND, DOC, SIGNATURE, PART), (len(shared), own, own, own))
    weight = np.repeat(weights, np.diff(in_text))
    weight[in_text[-own - 1 : -1][sizes[-own:] > 0]] = NAME
    return _Texts(parts.own[ranges(first, sizes)], weight, in_text, np.array(arounds), parts.terms)


def _laid_out(texts: list[str], *, whole: bool = False) -> tuple[bytes, I8]:
    """UTF-8 of texts, each between line feeds, and where each starts; last, where one more would.

    Of what is not ASCII only the words are kept, unless texts are wanted as a `whole`: a byte from
    128 on is then part of a word.
    """
    joined = "\n".join(["", *texts, ""])
    if joined.isascii():
        data, sizes = joined.encode(), list(map(len, texts))
    else:
        if not whole:
            texts = [text if text.isascii() else _GAP.sub(" ", text) for text in texts]
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        data, sizes = b"\n".join([b"", *encoded, b""]), list(map(len, encoded))
    return data, bounds(np.array(sizes) + 1) + 1


def _of_symbols(texts: _Texts, entries: I8, owners: I8) -> I8:
    """The entries of all texts of each symbol in turn, those that count least first."""
    counts = np.diff(texts.starts)
    doc, signature, name = np.arange(len(counts))[-3 * len(owners) :].reshape(3, -1)
    own = np.stack((doc, signature, texts.around, name), axis=1).ravel()
    lengths = counts[own]
    found: I8 = entries[ranges(texts.starts[own], lengths)]
    found += np.repeat(np.repeat(owners, 4), lengths)
    return found
