"""How well does the model find code in packages it has never seen?

For every held-out package, each docstring or comment is asked as a query; the answers are all
pieces of code of that package, without the text that was asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ops.train.mine import Pair
from services.source.static_model import SCALE, StaticModel
from services.source.terms import build_terms

MAX_PIECES = 4_000


class Quality(NamedTuple):
    """Means over the queries of one or more packages."""

    queries: int
    reciprocal_rank: float  # of the first ten answers
    found_at_10: float


def measure(model: StaticModel, pairs: Sequence[Pair]) -> Quality:
    """Ask every doc and note pair of one package among all of the package's pieces."""
    asked = [pair for pair in pairs if pair.kind != "name"][:MAX_PIECES]
    terms = [build_terms(pair.path, [pair.body], [pair.enclosing], [], [], []) for pair in asked]
    pieces = np.concatenate(model.embed_many(terms)).astype(np.float32) / SCALE
    queries = np.stack([model.embed_query(pair.query) for pair in asked])
    scores = queries @ pieces.T
    own = np.diagonal(scores)[:, None]
    ranks = 1 + np.sum(scores > own, axis=1)
    within = ranks <= 10
    return Quality(len(asked), float(np.mean(within / ranks)), float(np.mean(within)))


def mean(qualities: Sequence[Quality]) -> Quality:
    """Every package counts the same."""
    return Quality(
        sum(each.queries for each in qualities),
        float(np.mean([each.reciprocal_rank for each in qualities])),
        float(np.mean([each.found_at_10 for each in qualities])),
    )
