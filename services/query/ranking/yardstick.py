"""How good is the best file of an answer, in terms that another kind of record can be held against?

Scores of files say how they compare with each other in one answer. A note has no path and no symbols
to be found by, so what is compared is the evidence of single passages: BM25 over the words, relative
to a passage of mean length that holds each word once, and the cosine of the vectors, relative to the
best passage of any file.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from services.query.ranking.corpus import CHUNK_B, K1, Corpus
from services.query.ranking.dense import DenseScores
from services.query.ranking.fuse import WEIGHTS
from services.query.ranking.lexical import LexicalScores
from services.source.embedding import F4
from services.source.terms import QueryTerms

F8 = NDArray[np.float64]
WORDS_WEIGHT: Final = sum(WEIGHTS[name] for name in ("body", "chunk_max", "chunk_top3"))
MEANING_WEIGHT: Final = WEIGHTS["dense_max"] + WEIGHTS["dense_top3"]
_MOST_LIKENESS: Final = 1.5  # of what is nearer than every file
_LEAST: Final = 1e-6


class Yardstick(Struct, frozen=True):
    """What the files of one answer come to."""

    words: tuple[str, ...]  # of the query
    worth: tuple[float, ...]  # of each word
    in_files: tuple[bool, ...]  # whether some file holds it
    mean_terms: float  # of a passage; 0 when there is none
    best_evidence: float  # of any file; 0 when none has any
    best_score: float  # of the first file; 1 when there is none
    vector: F4 | None = None  # of the query, when files were compared by it
    space: str = ""
    baseline: float = 0.0  # the cosine that counts as no likeness
    nearest: float = 1.0  # the highest cosine of a file

    @property
    def ideal(self) -> float:
        """BM25 of a passage of mean length that holds each word once."""
        return max(sum(self.worth), _LEAST)

    def evidence(self, bm25: F8, cosine: F8) -> F8:
        """The evidence of passages."""
        evidence: F8 = WORDS_WEIGHT * bm25 / self.ideal
        if self.vector is not None:
            span = max(self.nearest - self.baseline, _LEAST)
            likeness = np.clip((cosine - self.baseline) / span, 0.0, _MOST_LIKENESS)
            evidence = evidence + MEANING_WEIGHT * likeness
        return evidence

    def score(self, evidence: float) -> float:
        """Where evidence stands among the files' scores."""
        best = self.best_evidence or WORDS_WEIGHT + MEANING_WEIGHT
        return self.best_score * evidence / best


def passage_bm25(worth: float, counts: F8, terms: F8, mean_terms: float) -> F8:
    """What one word adds to the BM25 of passages that hold it so often, of so many terms."""
    norm = K1 * (1 - CHUNK_B + CHUNK_B * terms / max(mean_terms, _LEAST))
    added: F8 = worth * (K1 + 1) * counts / (counts + norm)
    return added


def word_worth(frequency: int, documents: int) -> float:
    """The inverse frequency of a word that so many passages hold."""
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def of_files(
    query: QueryTerms,
    corpus: Corpus,
    lexical: LexicalScores,
    dense: DenseScores | None,
    best_score: float,
    asked: tuple[F4 | None, str],
) -> Yardstick:
    """Measure the files of one answer. `asked` are the query's vector and its space."""
    vector, space = asked if dense is not None else (None, "")
    frequency = corpus.document_frequency(query.terms)
    worth = tuple(
        float(weight) * word_worth(int(df), corpus.chunk_count)
        for weight, df in zip(query.weights, frequency, strict=True)
    )
    mean = float(corpus.body_length.sum()) / max(corpus.chunk_count, 1)
    stick = Yardstick(
        words=query.words, worth=worth, in_files=tuple(int(df) > 0 for df in frequency), mean_terms=mean, best_evidence=0.0,
        best_score=best_score or 1.0,
        vector=vector, space=space,
        baseline=0.0 if dense is None else dense.best_baseline,
        nearest=1.0 if dense is None else _highest(dense.best),
    )  # fmt: skip
    evidence = WORDS_WEIGHT * lexical.chunk_max / np.float32(stick.ideal)
    if dense is not None:
        span = max(stick.nearest - stick.baseline, _LEAST)
        likeness = np.clip((dense.best - stick.baseline) / np.float32(span), 0, 1)
        evidence = evidence + np.float32(MEANING_WEIGHT) * likeness
    return replace(stick, best_evidence=_highest(evidence))


def _highest(values: F4) -> float:
    return float(values.max()) if len(values) else 0.0
