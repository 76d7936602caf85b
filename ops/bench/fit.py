"""How much of a gain is left on repositories that the weights were not fitted on?

A listwise fit: the weights make the files that answer a query likely in a softmax over the files
that come into question, and are held near those the search began with. The weights of the product
are such a fit on all repositories, rounded; its figure there flatters, these do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ops.bench.retrieval import METRICS, Asked, IndexedTree, Report, Scores, Trial
from services.query.ranking.fuse import WEIGHTS, history_scores, prior_scores, text_scores

F8 = NDArray[np.float64]
# The published recipe that the product began with, and round numbers for what was added.
_BEGUN: Final[Mapping[str, float]] = {
    "body": 1.5, "chunk_max": 2.0, "chunk_top3": 0.5, "path": 0.75, "symbols": 0.5, "defs": 0.75,
    "stem": 1.0, "cover": 0.6, "dense_max": 0.75, "dense_top3": 0.75, "history_words": 1.5,
    "history_nearest": 1.5, "size": 1.5, "language": 1.0,
}  # fmt: skip
_CANDIDATES: Final = 80
_SHARPNESS: Final = 2.0
_HOLD: Final = 0.03
_STEPS: Final = 600
_RATE: Final = 0.02


class _Sample(Struct, frozen=True):
    """The files in question for one query."""

    scores: F8  # [files, weights], the kind's prior included
    right: F8  # [files], sums to 1
    worth: float  # of the query: every repository counts alike


def fitted(trial: Trial, report: Report) -> Report:
    """The report with each half judged by weights fitted on the other."""
    fits = [_fit(trial, half) for half in report.halves]
    scores: dict[str, Scores] = {}
    for stack in trial.stacks:
        by_half = [
            [trial.figures(repo, stack, weights) for repo in half]
            for half, weights in zip(report.halves, reversed(fits), strict=True)
        ]
        means = [
            np.mean(rows, axis=0).tolist() if rows else [0.0] * len(METRICS) for rows in by_half
        ]
        everything = np.mean([row for rows in by_half for row in rows], axis=0).tolist()
        scores[stack] = Scores(tuple(everything), tuple(means[0]), tuple(means[1]))
    return msgspec.structs.replace(report, fitted=scores, fitted_weights=tuple(fits))


def _fit(trial: Trial, repos: Sequence[str]) -> dict[str, float]:
    """Weights that suit some repositories, scaled so that they add up to those of the product."""
    names = [
        name
        for name in WEIGHTS
        if not name.startswith("history") or "hybrid_history" in trial.stacks
    ]
    samples = [
        sample
        for repo in repos
        for asked in trial.asked[repo]
        if (sample := _sample(trial.trees[repo], asked, names, len(trial.asked[repo]))) is not None
    ]
    begun = np.array([_BEGUN[name] for name in names])
    found = _descended(samples, begun)
    whole = sum(WEIGHTS[name] for name in names)
    return {**WEIGHTS, **dict(zip(names, (found * whole / found.sum()).tolist(), strict=True))}


def _sample(tree: IndexedTree, asked: Asked, names: Sequence[str], queries: int) -> _Sample | None:
    scores = text_scores(asked.lexical, asked.dense)
    matched = sum(scores.values(), np.zeros(len(tree.facts.paths), np.float32)) > 0
    for name, score in (
        *history_scores(asked.history).items(),
        *prior_scores(asked.terms, tree.facts).items(),
    ):
        scores[name] = np.where(matched, score, np.float32(0))
    prior = tree.facts.prior(asked.terms)
    columns = np.stack([scores[name] for name in names], axis=1) * prior[:, None]
    wanted = set(asked.gold)
    right = np.fromiter((path in wanted for path in tree.facts.paths), np.bool_, len(prior))
    if not right.any():
        return None
    total = columns @ np.array([_BEGUN[name] for name in names], np.float32)
    chosen = np.union1d(np.argsort(-total, kind="stable")[:_CANDIDATES], np.flatnonzero(right))
    return _Sample(columns[chosen].astype(np.float64), right[chosen] / right.sum(), 1.0 / queries)


def _descended(samples: Sequence[_Sample], begun: F8) -> F8:
    """Adam on the listwise loss, weights kept at zero or above."""
    scores = np.concatenate([sample.scores for sample in samples])
    right = np.concatenate([sample.right * sample.worth for sample in samples])
    worth = np.array([sample.worth for sample in samples])
    total = worth.sum()
    counts = [len(sample.right) for sample in samples]
    starts, owner = np.cumsum([0, *counts[:-1]]), np.repeat(np.arange(len(samples)), counts)
    scale = np.maximum(begun, 0.5)
    weights, mean, spread = begun.copy(), np.zeros(len(begun)), np.zeros(len(begun))
    for step in range(1, _STEPS + 1):
        heat = _SHARPNESS * (scores @ weights)
        likely = np.exp(heat - np.maximum.reduceat(heat, starts)[owner])
        likely *= (worth / np.add.reduceat(likely, starts))[owner]
        slope = _SHARPNESS * (scores.T @ (likely - right)) / total
        slope += 2 * _HOLD * (weights - begun) / scale**2
        mean = 0.9 * mean + 0.1 * slope
        spread = 0.999 * spread + 0.001 * slope**2
        ahead = mean / (1 - 0.9**step) / (np.sqrt(spread / (1 - 0.999**step)) + 1e-9)
        weights = np.maximum(weights - _RATE * (1 - step / (_STEPS + 1)) * ahead, 0)
    return weights
