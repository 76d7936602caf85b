"""How well does the model find code in packages it has never seen?

For every held-out package, docstrings, comments and messages are asked as queries; the answers are
all pieces of code that belong to them, each without the text that is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ops.train.mine import Pair
from services.source.static_model import SCALE, StaticModel
from services.source.terms import build_terms

MAX_QUERIES = 4_000


class Quality(NamedTuple):
    """Means over the queries of one or more packages."""

    queries: int
    reciprocal_rank: float  # 0 beyond the first ten answers
    found_at_10: float  # share of queries whose own piece is among the first ten


def measure(model: StaticModel, pairs: Sequence[Pair]) -> Quality:
    """Ask for the piece of every pair (names aside) among the pieces of all."""
    asked = [pair for pair in pairs if pair.kind != "name"][:MAX_QUERIES]
    if not asked:
        return Quality(0, 0.0, 0.0)
    terms = [build_terms(pair.path, [pair.body], [pair.enclosing], [], [], []) for pair in asked]
    pieces = np.concatenate(model.embed_many(terms)).astype(np.float32) / SCALE
    queries = np.stack([model.embed_query(pair.query) for pair in asked])
    scores = queries @ pieces.T
    ranks = 1 + np.sum(scores > np.diagonal(scores)[:, None], axis=1)
    found = ranks <= 10
    return Quality(len(asked), float(np.mean(found / ranks)), float(np.mean(found)))


def mean(qualities: Sequence[Quality]) -> Quality:
    """The mean of several packages, each counting the same; zeros for none."""
    if not qualities:
        return Quality(0, 0.0, 0.0)
    return Quality(
        sum(each.queries for each in qualities),
        float(np.mean([each.reciprocal_rank for each in qualities])),
        float(np.mean([each.found_at_10 for each in qualities])),
    )
