"""How is the table of term vectors trained?

A query and a document are weighted sums of term vectors, scaled to unit length. In batches of
pairs, the query must find its own document among all documents of the batch, and the document its
query (InfoNCE both ways). Half of the difficulty lies in the batch: it is made of blocks of pairs
of one package, so that most wrong answers are near. Half lies in the dropping of terms that the
query shares with the document, so that the rest of the document has to answer.

Plain numpy: a bag's sum is the product of its weights and its gathered rows, and so are the
gradients of a row that several bags have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ops.train.pairs import Corpus, Floats, Ints
from services.source.terms import U8


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The choices of a training run."""

    dimension: int = 128
    epochs: int = 3
    blocks: int = 16  # in a batch, each of one package
    block_pairs: int = 64
    temperature: float = 0.05
    dropped: float = 0.35  # share of the document terms that the query has too
    learning_rate: float = 2e-3
    seed: int = 1


@dataclass(slots=True)
class Model:
    """What is learned; weights are kept as logarithms."""

    table: Floats  # [terms, dimension]
    query_weight: Floats  # [terms]
    document_weight: Floats  # [terms]


class Bag(NamedTuple):
    """The bags of one batch."""

    offsets: Ints  # of bags that are not empty
    terms: Ints
    weights: Floats


def fit(corpus: Corpus, recipe: Recipe, report: Callable[[int, int, float], None]) -> Model:
    """Train a model; `report(step, steps, loss)` is called every hundred steps."""
    random = np.random.default_rng(recipe.seed)
    model = _initial(corpus, recipe, random)
    batches = [batch for _ in range(recipe.epochs) for batch in _batches(corpus, recipe, random)]
    optimiser = _Adam(model, recipe, len(batches))
    recent: list[float] = []
    for step, batch in enumerate(batches):
        queries, documents = _bags(corpus, batch, recipe.dropped, random)
        recent.append(_step(model, optimiser, queries, documents, corpus.homes[batch], recipe))
        if step % 100 == 99:
            report(step + 1, len(batches), float(np.mean(recent)))
            recent.clear()
    return model


def _initial(corpus: Corpus, recipe: Recipe, random: np.random.Generator) -> Model:
    """Random directions; weights grow with the rarity of the term."""
    terms = len(corpus.vocabulary)
    table = random.standard_normal((terms, recipe.dimension), np.float32)
    table /= np.float32(np.sqrt(recipe.dimension))
    rarity = np.log(len(corpus) / (1.0 + corpus.frequency)).clip(0.3)
    weight = np.log(rarity / rarity.mean()).astype(np.float32)
    return Model(table, weight.copy(), weight)


def _batches(corpus: Corpus, recipe: Recipe, random: np.random.Generator) -> Iterator[Ints]:
    """The pairs of one epoch: blocks of one package each, several packages to a batch."""
    order = random.permutation(len(corpus))
    order = order[np.argsort(corpus.packages[order], kind="stable")]
    starts = np.flatnonzero(np.diff(corpus.packages[order], prepend=-1))
    blocks: list[Ints] = []
    for own in np.split(order, starts[1:]):
        count = max(1, len(own) // recipe.block_pairs)
        blocks += np.array_split(own[: count * recipe.block_pairs], count)
    chosen = random.permutation(len(blocks))
    for at in range(0, len(blocks) - recipe.blocks + 1, recipe.blocks):
        yield np.concatenate([blocks[block] for block in chosen[at : at + recipe.blocks]])


def _bags(
    corpus: Corpus, batch: Ints, dropped: float, random: np.random.Generator
) -> tuple[Bag, Bag]:
    at, offsets = _ranges(corpus.query_offsets, batch)
    queries = Bag(offsets, corpus.query_terms[at], np.ones(len(at), np.float32))
    at, offsets = _ranges(corpus.document_offsets, batch)
    weights = corpus.document_weights[at].copy()
    weights[corpus.shared[at] & (random.random(len(at), np.float32) < dropped)] = 0.0
    return queries, Bag(offsets, corpus.document_terms[at], weights)


def _ranges(offsets: Ints, bags: Ints) -> tuple[Ints, Ints]:
    """Positions of all elements of the chosen bags, and where each bag starts among them."""
    starts = offsets[bags]
    sizes = offsets[bags + 1] - starts
    first = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) + np.repeat(starts - first, sizes), first


def _weighted_sums(factors: Floats, rows: Floats, starts: Ints) -> Floats:
    """The sum of factor x row over each run of elements; no run is empty."""
    sums = rows[starts] * factors[starts, None]
    ends = np.append(starts[1:], len(rows))
    for run in np.flatnonzero(ends - starts > 1).tolist():
        own = slice(starts[run], ends[run])
        np.dot(factors[own], rows[own], out=sums[run])
    return sums


class _Side(NamedTuple):
    """One side of a batch, with what its gradient needs."""

    bag: Bag
    owner: Ints
    rows: Floats  # gathered vectors, [elements, dimension]
    factors: Floats  # weight of each element, the learned one included
    length: Floats  # of each sum before scaling
    unit: Floats  # [bags, dimension]


def _forward(table: Floats, log_weight: Floats, bag: Bag) -> _Side:
    rows = table[bag.terms]
    factors = bag.weights * np.exp(log_weight[bag.terms])
    sums = _weighted_sums(factors, rows, bag.offsets)
    length = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
    sizes = np.diff(bag.offsets, append=len(bag.terms))
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return _Side(bag, owner, rows, factors, length, sums / length)


def _backward(side: _Side, gradient: Floats) -> tuple[Floats, Floats]:
    """Gradients of each bag's sum, and of the logarithm of each element's weight."""
    along = np.sum(gradient * side.unit, axis=1, keepdims=True)
    of_sums = (gradient - along * side.unit) / side.length
    return of_sums, side.factors * np.einsum("ij,ij->i", of_sums[side.owner], side.rows)


def _step(
    model: Model, optimiser: _Adam, queries: Bag, documents: Bag, homes: U8, recipe: Recipe
) -> float:
    query = _forward(model.table, model.query_weight, queries)
    document = _forward(model.table, model.document_weight, documents)
    loss, of_query, of_document = _contrast(query.unit, document.unit, homes, recipe.temperature)
    query_sums, query_weights = _backward(query, of_query)
    document_sums, document_weights = _backward(document, of_document)
    optimiser.begin_step()
    optimiser.update(
        0,
        np.concatenate((queries.terms, documents.terms)),
        np.concatenate((query.factors, document.factors)),
        np.concatenate((query_sums, document_sums)),
        np.concatenate((query.owner, document.owner + len(query_sums))),
    )
    for part, bag, weights in ((1, queries, query_weights), (2, documents, document_weights)):
        each = np.arange(len(weights))
        optimiser.update(part, bag.terms, np.ones(len(weights), np.float32), weights[:, None], each)
    return loss


def _contrast(
    queries: Floats, documents: Floats, homes: U8, temperature: float
) -> tuple[float, Floats, Floats]:
    """Loss of a batch and its gradients by the unit vectors of both sides.

    Two pairs about the same declaration are no wrong answers to each other.
    """
    scores = (queries @ documents.T) / np.float32(temperature)
    scores[(homes[:, None] == homes[None, :]) & ~np.eye(len(homes), dtype=np.bool_)] = -1e4
    by_query, query_loss = _softmax(scores)
    by_document, document_loss = _softmax(scores.T)
    of_scores: Floats = by_query + by_document.T
    of_scores[np.diag_indices_from(of_scores)] -= 2.0
    of_scores *= np.float32(0.5 / (len(homes) * temperature))
    of_queries: Floats = of_scores @ documents
    of_documents: Floats = of_scores.T @ queries
    return 0.5 * (query_loss + document_loss), of_queries, of_documents


def _softmax(scores: Floats) -> tuple[Floats, float]:
    top = scores.max(axis=1, keepdims=True)
    exponent = np.exp(scores - top)
    total = exponent.sum(axis=1, keepdims=True)
    loss = np.mean(np.log(total[:, 0]) + top[:, 0] - np.diagonal(scores))
    return exponent / total, float(loss)


class _Adam:
    """Adam on the rows that a batch touches, with a learning rate that falls along a cosine."""

    def __init__(self, model: Model, recipe: Recipe, steps: int) -> None:
        parts = [model.table, model.query_weight[:, None], model.document_weight[:, None]]
        self._parts = parts  # views: updates change the model
        self._mean = [np.zeros_like(part) for part in parts]
        self._square = [np.zeros_like(part) for part in parts]
        self._peak = recipe.learning_rate
        self._steps = steps
        self._step = 0

    def begin_step(self) -> None:
        self._step += 1

    def update(
        self, part: int, terms: Ints, factors: Floats, gradients: Floats, owners: Ints
    ) -> None:
        """Descend along the sum, for each term, of factor x gradient of the element's owner."""
        order = np.argsort(terms, kind="stable")
        first = np.flatnonzero(np.diff(terms[order], prepend=-1))
        touched = terms[order][first]
        gradient = _weighted_sums(factors[order], gradients[owners[order]], first)
        mean = self._mean[part][touched] * np.float32(0.9) + np.float32(0.1) * gradient
        square = self._square[part][touched] * np.float32(0.999)
        square += np.float32(0.001) * gradient**2
        self._mean[part][touched] = mean
        self._square[part][touched] = square
        rate = self._peak * 0.5 * (1.0 + np.cos(np.pi * self._step / self._steps))
        rate *= np.sqrt(1.0 - 0.999**self._step) / (1.0 - 0.9**self._step)
        self._parts[part][touched] -= np.float32(rate) * mean / (np.sqrt(square) + 1e-8)
