"""How does a trained model become the file that the product reads?"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ops.train.fit import Model
from services.source.static_model import StaticModel
from services.source.terms import U8

# Mean of the whole-number weights: fine enough to lose nothing, small enough that the sum over a
# chunk stays exact in single precision.
_MEAN_WEIGHT = 18_000


def pack(vocabulary: U8, model: Model) -> StaticModel:
    """The model in whole numbers: rows of the table use all of int8, weights make up for it."""
    step = np.abs(model.table).max(axis=1).astype(np.float64) / 127
    table = np.rint(model.table / np.maximum(step, 1e-12)[:, None]).astype(np.int8)
    query = np.exp(model.query_weight.astype(np.float64)) * step
    document = np.exp(model.document_weight.astype(np.float64)) * step
    return StaticModel(
        vocabulary,
        table,
        np.rint(query * (_MEAN_WEIGHT / query.mean())).astype(np.int64),
        np.rint(document * (_MEAN_WEIGHT / document.mean())).astype(np.int64),
    )


def write(model: StaticModel, path: Path) -> None:
    """Write the package data that `StaticModel.read` expects; the same model gives the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        path,
        terms=model.terms,
        table=model.table,
        query_weight=model.query_weight.astype(np.int32),
        document_weight=model.document_weight.astype(np.int32),
    )
