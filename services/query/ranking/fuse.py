"""Which files answer a query best, and which passage of each?

A weighted sum. Most lexical scores are divided by their maximum over the files and raised to a power
below one, so that agreement of several weighs more than one outlier; each dense score is placed
between its baseline and its maximum. Earlier commits and what is known of a file beforehand add to
files that match, and make none match. Ranks are not used: a sum of scores beats a fusion of ranks
by 0.04 to 0.06 nDCG@10 on every set tried. The weights were found on queries of known answer, see
docs/benchmarks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from services.query.ranking.corpus import F4
from services.query.ranking.dense import DenseScores
from services.query.ranking.facts import FileFacts
from services.query.ranking.history import HistoryScores
from services.query.ranking.lexical import LexicalScores
from services.source.terms import QueryTerms

WEIGHTS: Final[Mapping[str, float]] = {
    # Words. The first seven are divided by their maximum over the files and softened.
    "body": 1.1, "chunk_max": 1.1, "chunk_top3": 0.5, "path": 0.8, "symbols": 0.4, "defs": 0.75,
    "stem": 0.85, "cover": 0.75,
    # Meaning, above its baseline.
    "dense_max": 0.6, "dense_top3": 0.6,
    # Earlier commits, of files that match by words or meaning.
    "history_words": 2.25, "history_nearest": 1.25,
    # What is known of a file before any question, of files that match.
    "size": 1.0, "language": 1.0,
}  # fmt: skip
_RELATIVE: Final = ("body", "chunk_max", "chunk_top3", "path", "symbols", "defs", "stem")
_FULL_SAY: Final = 0.2  # of the best match; below, what is known beforehand counts in proportion
_MIN_SPAN: Final = 1e-6
_PASSAGES: Final = 8  # told of each file
_LEAST: Final = float(np.finfo(np.float32).tiny)  # score of a file that matches
_STRETCHES: Final = 4  # of files, for each file of an answer


class RankedFile(Struct, frozen=True):
    """One file of an answer."""

    number: int  # in the corpus
    file_sequence: int
    path: str
    score: float  # 0..1, comparable within one answer
    chunk: int | None  # ordinal of its best passage; None when no passage matches
    parts: dict[str, float]  # what each component added to the sum, before the prior; none is 0
    passages: tuple[int, ...] = ()  # ordinals of its best passages, best first


class Ranking:
    """Every file's score for one query."""

    def __init__(
        self,
        query: QueryTerms,
        facts: FileFacts,
        lexical: LexicalScores,
        dense: DenseScores | None = None,
        history: HistoryScores | None = None,
        weights: Mapping[str, float] = WEIGHTS,
    ) -> None:
        """Fuse the scores; all of them lie in the order of the corpus behind `facts`."""
        self._facts, self._lexical, self._dense, self._weights = facts, lexical, dense, weights
        parts = {
            name: np.float32(weights[name]) * score
            for name, score in text_scores(lexical, dense).items()
        }
        matched = sum(parts.values(), np.zeros(facts.corpus.file_count, np.float32))
        for name, score in history_scores(history).items():
            parts[name] = np.where(matched > 0, np.float32(weights[name]) * score, np.float32(0))
        # A file that hardly matches is not lifted by what is known of it before any question.
        say = np.minimum(_placed(matched, 0.0, matched) / np.float32(_FULL_SAY), 1)
        for name, score in prior_scores(query, facts).items():
            parts[name] = np.float32(weights[name]) * score * say
        whole = np.float32(sum(weights[name] for name in parts))
        self._parts = parts
        total = sum(parts.values(), np.zeros(facts.corpus.file_count, np.float32))
        self.scores: F4 = total * facts.prior(query) / whole

    def top(self, limit: int, allowed: NDArray[np.bool_] | None = None) -> list[RankedFile]:
        """Return the `limit` best files that match at all, ties in the order of their paths.

        `allowed` marks the files, in corpus order, that the caller wants to see.
        """
        scores = self.scores if allowed is None else np.where(allowed, self.scores, 0)
        least = max(_reached(scores, limit), _LEAST)
        numbers = np.flatnonzero(scores >= least)
        order = np.lexsort((self._facts.path_order[numbers], -scores[numbers]))
        best = numbers[order[:limit]]
        passages = self._best_passages(best, _PASSAGES)
        return [self._ranked(*each) for each in zip(best.tolist(), passages, strict=True)]

    def passages(self, number: int, limit: int = 3) -> list[int]:
        """Return the ordinals of a file's best passages, best first; those that match at all."""
        return self._best_passages(np.array([number]), limit)[0]

    def _best_passages(self, numbers: NDArray[np.int64], limit: int) -> list[list[int]]:
        """Return what `passages` does for each of several files."""
        starts, ends = self._facts.corpus.chunk_start[[numbers, numbers + 1]].tolist()
        spans = [slice(*span) for span in zip(starts, ends, strict=True)]
        if not spans:
            return []
        chunk = np.concatenate([self._lexical.chunk[span] for span in spans])
        score = _placed(chunk, 0.0, self._lexical.chunk_max)
        score *= np.float32(self._weights["chunk_max"])
        dense = self._dense
        if dense is not None:
            chunk = np.concatenate([dense.chunk[span] for span in spans])
            likeness = _placed(chunk, dense.best_baseline, dense.best)
            weight = self._weights["dense_max"] + self._weights["dense_top3"]
            score += np.float32(weight) * likeness
        below, found, end = -score, [], 0
        for span in spans:
            begin, end = end, end + span.stop - span.start
            own = below[begin:end]
            best = np.argsort(own, kind="stable")[:limit]
            found.append(list(compress(best.tolist(), (own[best] < 0).tolist())))
        return found

    def _ranked(self, number: int, passages: Sequence[int]) -> RankedFile:
        parts = ((name, float(part[number])) for name, part in self._parts.items())
        return RankedFile(
            number=number,
            file_sequence=int(self._facts.corpus.file_sequence[number]),
            path=self._facts.paths[number],
            score=float(self.scores[number]),
            chunk=next(iter(passages), None),
            parts={name: part for name, part in parts if part},
            passages=tuple(passages),
        )


def _reached(scores: F4, limit: int) -> float:
    """Return a score that at least `limit` files reach, and few more; 0 where there are few files.

    Each of the best stretches of files has one: far cheaper than the very score of rank `limit`.
    """
    stretches = _STRETCHES * limit
    width = len(scores) // stretches if limit > 0 else 0
    if not width:
        return 0.0
    highest = scores[: stretches * width].reshape(stretches, width).max(axis=1)
    return float(np.partition(highest, stretches - limit)[stretches - limit])


def text_scores(lexical: LexicalScores, dense: DenseScores | None) -> dict[str, F4]:
    """Return what makes a file match, each 0..1 in corpus order."""
    scores = {name: _softened(_placed(raw, 0.0, raw)) for name, raw in _relative(lexical)}
    scores["cover"] = lexical.cover
    if dense is not None:
        trust = np.float32(dense.trust)
        scores["dense_max"] = trust * _placed(dense.best, dense.best_baseline, dense.best)
        scores["dense_top3"] = trust * _placed(dense.top3, dense.top3_baseline, dense.top3)
    return scores


def history_scores(history: HistoryScores | None) -> dict[str, F4]:
    """Return what earlier commits say for a file that matches, each 0..1 in corpus order."""
    if history is None:
        return {}
    return {"history_words": _softened(history.words), "history_nearest": history.nearest}


def prior_scores(query: QueryTerms, facts: FileFacts) -> dict[str, F4]:
    """Return what speaks for a file as such, each 0..1 in corpus order."""
    return {"size": facts.size, "language": facts.language(query)}


def _relative(lexical: LexicalScores) -> Iterator[tuple[str, F4]]:
    for name in _RELATIVE:
        yield name, getattr(lexical, name)


def _placed(raw: F4, baseline: float, among: F4) -> F4:
    """Return where the scores lie between the baseline and the maximum of `among`, 0..1."""
    highest = float(among.max()) if len(among) else 0.0
    if baseline == 0.0:
        return raw / np.float32(max(highest, _MIN_SPAN))
    placed: F4 = np.clip((raw - baseline) / np.float32(max(highest - baseline, _MIN_SPAN)), 0, 1)
    return placed


def _softened(score: F4) -> F4:
    """Return the scores to the power 3/4."""
    root: F4 = np.sqrt(score)
    power: F4 = root * np.sqrt(root)
    return power
