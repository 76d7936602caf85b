"""Which files answer a query best, and which passage of each?

A weighted sum. Each lexical score is divided by its maximum over the files and raised to a power
below one, so that agreement of several weighs more than one outlier; each dense score is placed
between its baseline and its maximum. Ranks are not used: a sum of scores beats a fusion of ranks
by 0.04 to 0.06 nDCG@10 on every set tried. The weights were found on queries of known answer, see
docs/benchmarks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from services.query.ranking.corpus import F4
from services.query.ranking.dense import DenseScores
from services.query.ranking.facts import FileFacts
from services.query.ranking.lexical import LexicalScores
from services.source.terms import QueryTerms

LEXICAL_WEIGHTS: Final = {
    "body": 1.5, "chunk_max": 2.0, "chunk_top3": 0.5, "path": 0.75, "symbols": 0.5, "defs": 0.75,
    "stem": 1.0,
}  # fmt: skip
DENSE_WEIGHTS: Final = {"dense_max": 0.75, "dense_top3": 0.75}
SIZE_WEIGHT: Final = 1.5
_MIN_SPAN: Final = 1e-6


class Evidence(Struct, frozen=True):
    """One more score of every file, such as one drawn from the history of changes."""

    name: str
    weight: float
    score: F4  # [files] 0..1, in corpus order; a file matches when it is above 0


class RankedFile(Struct, frozen=True):
    """One file of an answer."""

    number: int  # in the corpus
    file_sequence: int
    path: str
    score: float  # 0..1, comparable within one answer
    chunk: int | None  # ordinal of its best passage; None when no passage matches
    parts: dict[str, float]  # what each component added to the sum, before the prior; none is 0


class Ranking:
    """Every file's score for one query."""

    def __init__(
        self,
        query: QueryTerms,
        facts: FileFacts,
        lexical: LexicalScores,
        dense: DenseScores | None = None,
        evidence: Sequence[Evidence] = (),
    ) -> None:
        """Fuse the scores; all of them lie in the order of the corpus behind `facts`."""
        self._facts, self._lexical, self._dense = facts, lexical, dense
        parts = dict(_parts(lexical, dense, evidence))
        matched = sum(parts.values(), np.zeros(facts.corpus.file_count, np.float32))
        parts["size"] = np.where(matched > 0, facts.size * np.float32(SIZE_WEIGHT), 0)
        weights = sum(LEXICAL_WEIGHTS.values()) + SIZE_WEIGHT
        weights += sum(DENSE_WEIGHTS.values()) if dense else 0.0
        weights += sum(each.weight for each in evidence)
        self._parts = parts
        self.scores: F4 = (matched + parts["size"]) * facts.prior(query) / np.float32(weights)

    def top(self, limit: int, allowed: NDArray[np.bool_] | None = None) -> list[RankedFile]:
        """Return the `limit` best files that match at all, ties in the order of their paths.

        `allowed` marks the files, in corpus order, that the caller wants to see.
        """
        scores = self.scores if allowed is None else np.where(allowed, self.scores, 0)
        numbers = np.flatnonzero(scores)
        if len(numbers) > limit > 0:
            least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            numbers = np.flatnonzero(scores >= max(least, np.finfo(np.float32).tiny))
        order = np.lexsort((self._facts.path_order[numbers], -scores[numbers]))
        return [self._ranked(int(number)) for number in numbers[order[:limit]]]

    def passages(self, number: int, limit: int = 3) -> list[int]:
        """Return the ordinals of a file's best passages, best first; those that match at all."""
        chunks = slice(*self._facts.corpus.chunk_start[number : number + 2].tolist())
        score = _placed(self._lexical.chunk[chunks], 0.0, self._lexical.chunk_max)
        score *= LEXICAL_WEIGHTS["chunk_max"]
        dense = self._dense
        if dense is not None:
            likeness = _placed(dense.chunk[chunks], dense.best_baseline, dense.best)
            score += np.float32(sum(DENSE_WEIGHTS.values())) * likeness
        best = np.argsort(-score, kind="stable")[:limit]
        return [int(chunk) for chunk in best if score[chunk] > 0]

    def _ranked(self, number: int) -> RankedFile:
        return RankedFile(
            number=number,
            file_sequence=int(self._facts.corpus.file_sequence[number]),
            path=self._facts.paths[number],
            score=float(self.scores[number]),
            chunk=next(iter(self.passages(number, 1)), None),
            parts={name: float(part[number]) for name, part in self._parts.items() if part[number]},
        )


def _parts(
    lexical: LexicalScores, dense: DenseScores | None, evidence: Sequence[Evidence]
) -> Iterator[tuple[str, F4]]:
    for name, weight in LEXICAL_WEIGHTS.items():
        raw: F4 = getattr(lexical, name)
        yield name, np.float32(weight) * _softened(_placed(raw, 0.0, raw))
    if dense is not None:
        for name, raw, baseline in (
            ("dense_max", dense.best, dense.best_baseline),
            ("dense_top3", dense.top3, dense.top3_baseline),
        ):
            yield name, np.float32(DENSE_WEIGHTS[name]) * _placed(raw, baseline, raw)
    for each in evidence:
        yield each.name, np.float32(each.weight) * each.score


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
