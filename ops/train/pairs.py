"""How do mined pairs become numbers to train on?

With the terms of the index itself: a query is what `query_terms` reads, a document is what
`count_terms` counts for one chunk and its context, so the trained table fits what it will be asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ops.train.mine import Pair
from services.source.terms import U8, context_text, count_terms, hash_term, query_terms

_TEXTS_AT_ONCE = 512
MIN_QUERY_TERMS = 2
MIN_DOCUMENT_TERMS = 5

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PackagePairs:
    """The pairs of one package as term hashes, one bag after the other."""

    query_offsets: Ints  # [pairs + 1]
    query_terms: U8
    document_offsets: Ints  # [pairs + 1]
    document_terms: U8
    document_weights: Floats  # log(1 + tf)
    homes: U8  # pairs with the same number speak of the same declaration

    def __len__(self) -> int:
        return len(self.homes)


@dataclass(frozen=True, slots=True)
class Corpus:
    """The pairs of all packages, their terms numbered by a common vocabulary."""

    vocabulary: U8  # term hashes, ascending
    frequency: Ints  # bags that hold each term
    query_offsets: Ints
    query_terms: Ints
    document_offsets: Ints
    document_terms: Ints
    document_weights: Floats
    shared: npt.NDArray[np.bool_]  # for each document term: the pair's query has it too
    packages: Ints  # package of each pair
    homes: U8

    def __len__(self) -> int:
        return len(self.packages)


def encode(pairs: Sequence[Pair]) -> PackagePairs:
    """Read the pairs of one package with the terms of the index."""
    queries = [query_terms(pair.query).terms for pair in pairs]
    texts = [
        text for pair in pairs for text in (pair.body, context_text(pair.path, pair.enclosing))
    ]
    offsets = np.zeros(1, np.int64)
    terms = [np.zeros(0, np.uint64)]
    counts = [np.zeros(0, np.int64)]
    for at in range(0, len(texts), _TEXTS_AT_ONCE):
        counted = count_terms(texts[at : at + _TEXTS_AT_ONCE])
        offsets = np.concatenate((offsets, offsets[-1] + counted.offsets[1:]))
        terms.append(counted.hashes)
        counts.append(counted.tf)
    in_body = np.repeat(np.arange(len(texts)) % 2 == 0, np.diff(offsets))
    tf = np.minimum(np.concatenate(counts), np.where(in_body, 255, 1))
    return PackagePairs(
        query_offsets=offsets_of(np.array([len(each) for each in queries], np.int64)),
        query_terms=np.concatenate([np.zeros(0, np.uint64), *queries]),
        document_offsets=offsets[::2],
        document_terms=np.concatenate(terms),
        document_weights=np.log1p(tf).astype(np.float32),
        homes=np.array([hash_term(f"{pair.path}:{pair.home}") for pair in pairs], np.uint64),
    )


def assemble(packages: Sequence[PackagePairs], size: int, min_frequency: int) -> Corpus:
    """Number all terms by a vocabulary of the `size` most frequent; pairs left too thin go."""
    query_terms = np.concatenate([package.query_terms for package in packages])
    document_terms = np.concatenate([package.document_terms for package in packages])
    vocabulary = _most_frequent(query_terms, document_terms, size, min_frequency)
    query_offsets, queries, _ = _numbered(
        [package.query_offsets for package in packages],
        query_terms,
        np.ones(len(query_terms), np.float32),
        vocabulary,
    )
    document_offsets, documents, weights = _numbered(
        [package.document_offsets for package in packages],
        document_terms,
        np.concatenate([package.document_weights for package in packages]),
        vocabulary,
    )
    kept = (np.diff(query_offsets) >= MIN_QUERY_TERMS) & (
        np.diff(document_offsets) >= MIN_DOCUMENT_TERMS
    )
    in_query = np.repeat(kept, np.diff(query_offsets))
    in_document = np.repeat(kept, np.diff(document_offsets))
    query_offsets = offsets_of(np.diff(query_offsets)[kept])
    document_offsets = offsets_of(np.diff(document_offsets)[kept])
    queries, documents, weights = queries[in_query], documents[in_document], weights[in_document]
    counts = [len(package) for package in packages]
    return Corpus(
        vocabulary=vocabulary,
        frequency=np.bincount(documents, minlength=len(vocabulary)),
        query_offsets=query_offsets,
        query_terms=queries,
        document_offsets=document_offsets,
        document_terms=documents,
        document_weights=weights,
        shared=_shared(query_offsets, queries, document_offsets, documents),
        packages=np.repeat(np.arange(len(packages)), counts)[kept],
        homes=np.concatenate([package.homes for package in packages])[kept],
    )


def offsets_of(sizes: Ints) -> Ints:
    """Where each of several runs of the given sizes starts, and where the last one ends."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def _most_frequent(query_terms: U8, document_terms: U8, size: int, min_frequency: int) -> U8:
    terms, counts = np.unique(np.concatenate((query_terms, document_terms)), return_counts=True)
    order = np.lexsort((terms, -counts))[:size]
    return np.sort(terms[order[counts[order] >= min_frequency]])


def _numbered(
    offsets: Sequence[Ints], terms: U8, weights: Floats, vocabulary: U8
) -> tuple[Ints, Ints, Floats]:
    """Offsets, vocabulary numbers and weights of the known terms of every bag."""
    sizes = np.concatenate([np.diff(each) for each in offsets])
    number = np.minimum(np.searchsorted(vocabulary, terms), len(vocabulary) - 1)
    known = vocabulary[number] == terms
    owner = np.repeat(np.arange(len(sizes)), sizes)[known]
    return offsets_of(np.bincount(owner, minlength=len(sizes))), number[known], weights[known]


def _shared(
    query_offsets: Ints, queries: Ints, document_offsets: Ints, documents: Ints
) -> npt.NDArray[np.bool_]:
    """Which document terms occur in the query of the same pair."""
    width = np.int64(1) << 32
    asked = np.repeat(np.arange(len(query_offsets) - 1), np.diff(query_offsets)) * width + queries
    held = np.repeat(np.arange(len(document_offsets) - 1), np.diff(document_offsets)) * width
    return np.isin(held + documents, asked)
