"""How well do the words of a query fit each file?

Body and passages are scored with BM25 over the same postings: those of a file's chunks are added up
for the body. Path and symbol names are fields of their own. A name that the query spells out and a
file defines counts apart, and so does a file called what the query says.

Neighbouring query words are also looked up joined, at half weight: "creation form" finds
`CreationForm`, whose parts were indexed joined as well. How much of the query a file holds at all
counts apart: BM25 alone likes a file that says one rare word often.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from services.query.ranking.corpus import F4, K1, U8, Corpus, Hits
from services.source.terms import (
    DEFINED,
    DEFINED_LOWER,
    PATH,
    STEM,
    SYMBOL,
    QueryTerms,
    field_salt,
    hash_term,
    plural_variant,
)
from store.segments import SegmentView

_COMPOUND_SHARE: Final = 0.5  # weight of a joined form beside that of a word
_LOWER_CASE_SHARE: Final = 0.6  # of a definition that matches only without its case
_MIN_LOWER_CASE: Final = 4  # characters; shorter names are matched with their case only
_PLURAL_SHARE: Final = 0.8  # of a file stem that matches only as plural or singular


@dataclass(frozen=True, slots=True, eq=False)
class LexicalScores:
    """Raw scores, zero or more, in corpus order: [files], and [chunks] for `chunk`."""

    body: F4
    chunk_max: F4
    chunk_top3: F4  # sum of the three best chunks
    path: F4
    symbols: F4
    defs: F4
    stem: F4
    cover: F4  # share of the query's words, by their weight, that stand in the file
    chunk: F4


@dataclass(frozen=True, slots=True, eq=False)
class _Words:
    """What is looked up in running text, paths and symbol names."""

    terms: U8
    share: F4  # weight of each
    single: int  # words of the query itself; those after them are joined


def score(query: QueryTerms, segments: Sequence[SegmentView]) -> LexicalScores:
    """Score every live file of `segments`; for many queries make the `Corpus` once."""
    return score_corpus(query, Corpus(segments))


def score_corpus(query: QueryTerms, corpus: Corpus) -> LexicalScores:
    """Score every file of `corpus`."""
    words = _words(query)
    hits = corpus.body_hits(words.terms)
    chunk = _chunk_scores(words, hits, corpus)
    chunk_max, chunk_top3 = corpus.best_chunks(chunk)
    path, symbols, defs, stem = _field_scores(query, words, corpus)
    body, cover = _body_scores(words, hits, corpus)
    return LexicalScores(
        body=body,
        chunk_max=chunk_max,
        chunk_top3=chunk_top3,
        path=path,
        symbols=symbols,
        defs=defs,
        stem=stem,
        cover=cover,
        chunk=chunk,
    )


def _words(query: QueryTerms) -> _Words:
    known = set(query.words)
    weights = zip(query.stems, query.stem_weights, strict=True)
    compounds = {stem: _COMPOUND_SHARE * weight for stem, weight in weights if stem not in known}
    joined = np.fromiter(compounds.values(), np.float32, len(compounds))
    return _Words(
        terms=np.concatenate((query.terms, _hashes(compounds, ""))),
        share=np.concatenate((query.weights, joined)),
        single=len(query.terms),
    )


def _chunk_scores(words: _Words, hits: Hits, corpus: Corpus) -> F4:
    worth = words.share * _inverse_frequency(hits.document_frequency, corpus.chunk_count)
    weight = worth[hits.term]
    weight *= hits.tf
    weight /= hits.tf + corpus.chunk_norm[hits.number]
    return np.bincount(hits.number, weight, minlength=corpus.chunk_count).astype(np.float32)


def _body_scores(words: _Words, hits: Hits, corpus: Corpus) -> tuple[F4, F4]:
    """Return the BM25 score of each file's body, and how much of the query it holds, 0..1."""
    if not len(hits.number):
        return np.zeros(corpus.file_count, np.float32), np.zeros(corpus.file_count, np.float32)
    file = corpus.chunk_file[hits.number]
    is_head = np.empty(len(file), np.bool_)
    np.not_equal(file[1:], file[:-1], out=is_head[1:])
    is_head[hits.heads] = True
    heads = np.flatnonzero(is_head)
    file, term, tf = file[heads], hits.term[heads], np.add.reduceat(hits.tf, heads)
    frequency = np.bincount(term, minlength=len(words.terms))
    worth = words.share * _inverse_frequency(frequency, corpus.file_count)
    weight = worth[term]
    weight *= tf
    weight /= tf + corpus.body_norm[file]
    body = np.bincount(file, weight, minlength=corpus.file_count).astype(np.float32)
    # Words that no file holds, and words joined, say nothing here.
    asked = np.where(frequency > 0, worth, np.float32(0))
    asked[words.single :] = 0
    cover = np.bincount(file, asked[term], minlength=corpus.file_count)
    return body, (cover / max(float(asked.sum()), 1e-9)).astype(np.float32)


def _field_scores(query: QueryTerms, words: _Words, corpus: Corpus) -> tuple[F4, F4, F4, F4]:
    """Return path, symbols, defs and stem scores: all fields lie in one dictionary, asked once."""
    names, stems = query.identifiers, _stem_shares(query)
    asked = np.concatenate(
        (
            words.terms ^ np.uint64(field_salt(PATH)),
            words.terms ^ np.uint64(field_salt(SYMBOL)),
            _hashes(names, DEFINED),
            _hashes([name.lower() for name in names], DEFINED_LOWER),
            _hashes(stems, STEM),
        )
    )
    hits = corpus.field_hits(asked)
    files, frequency = corpus.file_count, hits.document_frequency
    in_words, in_names = 2 * len(words.terms), 2 * len(words.terms) + 2 * len(names)
    worth = np.concatenate(
        (
            np.tile(words.share, 2) * _inverse_frequency(frequency[:in_words], files),
            _name_worth(names, frequency[in_words:in_names], files),
            _stem_worth(stems, frequency[in_names:]),
        )
    )
    weight = worth[hits.term]
    field = np.searchsorted([len(words.terms), in_words, in_names], hits.term, side="right")
    counted = np.flatnonzero(field < 2)
    tf, norm = hits.tf[counted], corpus.field_norm[field[counted], hits.number[counted]]
    weight[counted] *= tf / (tf + norm)
    summed = field < 3
    sums = np.bincount(
        field[summed] * files + hits.number[summed], weight[summed], minlength=3 * files
    )
    path, symbols, defs = sums.astype(np.float32).reshape(3, files)
    stem = np.zeros(files, np.float32)
    np.maximum.at(stem, hits.number[~summed], weight[~summed])
    return path, symbols, defs, stem


def _name_worth(names: Sequence[str], frequency: NDArray[np.int64], files: int) -> F4:
    """Return what defining each name is worth: with its case, then without (if no file has it)."""
    worth = np.zeros(2 * len(names), np.float32)
    for position, name in enumerate(names):
        exact, lower = int(frequency[position]), int(frequency[position + len(names)])
        if exact:
            worth[position] = _rarity(exact, files)
        elif lower and len(name) >= _MIN_LOWER_CASE:
            worth[position + len(names)] = _LOWER_CASE_SHARE * _rarity(lower, files)
    return worth


def _stem_shares(query: QueryTerms) -> dict[str, float]:
    shares = dict(zip(query.stems, query.stem_weights, strict=True))
    for stem, weight in list(shares.items()):
        variant = plural_variant(stem)
        shares[variant] = max(shares.get(variant, 0.0), _PLURAL_SHARE * weight)
    return shares


def _stem_worth(shares: dict[str, float], frequency: NDArray[np.int64]) -> F4:
    share = np.fromiter(shares.values(), np.float32, len(shares))
    return (share / np.maximum(1, np.log2(1 + frequency))).astype(np.float32)


def _rarity(frequency: int, files: int) -> float:
    return math.log(1 + files / frequency) / math.log(1 + files)


def _inverse_frequency(frequency: NDArray[Any], documents: int) -> F4:
    """Return BM25's idf times (k1 + 1)."""
    idf = np.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))
    return ((K1 + 1) * idf).astype(np.float32)


def _hashes(texts: Sequence[str] | dict[str, float], field: str) -> U8:
    return np.fromiter((hash_term(text, field) for text in texts), np.uint64, len(texts))
