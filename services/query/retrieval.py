"""Which files answer a question, by which route, and why?

The ladder: with a query vector and vectors in its space the answer is semantic (words and meaning
fused); without one it is by keyword, and `retrieval_path` says why. Nothing here raises because a
rung is missing.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from contracts.extract import ChunkSpan, Symbol
from contracts.ids import RepoId
from contracts.tools.repocontext import RetrievalPath
from services.kernel import logs
from services.kernel.settings import Settings
from services.query.planes import Plane, Planes
from services.query.ranking.dense import DenseScores, Pool, pooled_scores
from services.query.ranking.fuse import RankedFile, Ranking
from services.query.ranking.lexical import score_corpus
from services.query.ranking.reasons import (
    NameIndex,
    file_match,
    keyword_reasons,
    semantic_reasons,
)
from services.source.embedding import QueryEmbedder
from services.source.terms import QueryTerms, query_terms
from store.ann import AnnGenerations
from store.read.live import Projections, Snapshot
from store.rows import FileRow

log = logs.get(__name__)
Mode = Literal["semantic", "keyword", "empty"]
_HEAVY_CHUNKS = 60_000
_SHAPES_KEPT = 512
_POOL = 1_000  # passages taken from the approximate index
_DEGRADED: frozenset[RetrievalPath] = frozenset(
    {
        "keyword.vector_plane_unavailable",
        "keyword.index_degraded",
        "keyword.exact_fallback_suppressed",
    }
)


class Passage(Struct, frozen=True):
    """The part of a file that matches best."""

    chunk: int  # ordinal within the file
    start_line: int
    end_line: int
    symbols: tuple[Symbol, ...]  # innermost symbol around it first


class Hit(Struct, frozen=True):
    """One file of an answer."""

    file: FileRow
    score: float
    reasons: tuple[str, ...]
    passage: Passage | None
    symbol: Symbol | None  # the symbol that the query seems to mean


class Found(Struct, frozen=True):
    """An answer, best file first."""

    mode: Mode
    path: RetrievalPath
    hits: tuple[Hit, ...]


class Shape(Struct, frozen=True):
    """What a hit needs of its file's body."""

    symbols: tuple[Symbol, ...]
    chunks: tuple[ChunkSpan, ...]
    names: NameIndex
    by_fq_name: dict[str, Symbol]


class Shapes:
    """Shapes of the files that were answers lately; reading them costs most of a hit."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, int], Shape] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, snapshot: Snapshot, repo_id: RepoId, sequence: int) -> Shape:
        """The shape of a file record; without symbols and chunks where there is no extract."""
        key = (repo_id, sequence)
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
                return found
        body = snapshot.body(repo_id, sequence)
        symbols = () if body is None else body.symbols
        found = Shape(
            symbols,
            () if body is None else body.chunks,
            NameIndex((symbol.name, symbol.fq_name) for symbol in symbols),
            {symbol.fq_name: symbol for symbol in reversed(symbols)},
        )
        with self._lock:
            self._known[key] = found
            while len(self._known) > _SHAPES_KEPT:
                self._known.popitem(last=False)
        return found


class LastQuery(Struct):
    """The newest question to a repository, for its readiness."""

    path: RetrievalPath
    at_ms: int
    faulty_since_ms: int  # since when vectors that should answer do not; 0 while they do


class Retrieval:
    """Answers questions from the planes."""

    def __init__(self, settings: Settings, projections: Projections) -> None:
        self._settings = settings
        self._embedder = QueryEmbedder(settings)
        self._planes = Planes(projections, lambda: self._embedder.space)
        self._shapes = Shapes()
        self._generations = AnnGenerations()
        self.observe: Callable[[str], None] = _unobserved
        self.last: dict[str, LastQuery] = {}

    @property
    def embedder(self) -> QueryEmbedder:
        return self._embedder

    def search(self, repo_id: RepoId, query: str, limit: int) -> Found:
        """The best `limit` files. An unknown repository answers empty."""
        with self._planes.borrow(repo_id) as plane:
            if plane is None:
                return Found("empty", self._path_without_vectors(), ())
            found = self._ranked(plane, repo_id, query, limit)
            faulty = found.path in _DEGRADED and self._should_have_answered(plane)
        self._remember(repo_id, found.path, faulty)
        self.observe(found.path)
        return found

    def _path_without_vectors(self) -> RetrievalPath:
        without = self._settings.embed_provider == "none"
        return "keyword.no_embedder" if without else "keyword.vector_plane_unavailable"

    def _should_have_answered(self, plane: Plane) -> bool:
        """Whether a keyword answer is a fault: not while there are no vectors yet, and not for a
        question whose words the model does not know."""
        usable = plane.vectors is not None and plane.vectors.space == self._embedder.space
        return bool(plane.row.counters.embedded) and (
            self._embedder.fault is not None or not usable
        )

    def _remember(self, repo_id: RepoId, path: RetrievalPath, faulty: bool) -> None:
        now = time.time_ns() // 1_000_000
        before = self.last.get(repo_id)
        since = (before.faulty_since_ms if before is not None else 0) or now
        self.last[repo_id] = LastQuery(path, now, since if faulty else 0)

    def _ranked(self, plane: Plane, repo_id: RepoId, query: str, limit: int) -> Found:
        terms = query_terms(query)
        dense, path = self._dense(plane, query)
        ranking = Ranking(terms, plane.facts, score_corpus(terms, plane.corpus), dense)
        ranked = ranking.top(limit)
        hits = [
            hit
            for each in ranked
            if (hit := _hit(plane, self._shapes, repo_id, terms, each, dense)) is not None
        ]
        mode: Mode = "empty" if not hits else "keyword" if dense is None else "semantic"
        return Found(mode, path, tuple(hits))

    def _dense(self, plane: Plane, query: str) -> tuple[DenseScores | None, RetrievalPath]:
        if self._settings.embed_provider == "none":
            return None, self._path_without_vectors()
        vectors = plane.vectors
        if vectors is None or not vectors.table.rows or vectors.space != self._embedder.space:
            return None, "keyword.vector_plane_unavailable"
        vector = self._embedder.vector(query)
        overlay = None
        if (
            self._settings.semantic_retrieval != "exact"
            and vectors.table.rows >= self._settings.ann_threshold_vectors
        ):
            overlay = plane.overlay(self._generations)
        if vector is not None and overlay is not None:
            near = overlay.search(vector, _POOL)
            pool = Pool(near.file_sequence, near.chunk, near.score)
            return pooled_scores(plane.corpus, pool), "semantic.approximate"
        plane_dense = plane.dense
        if vector is None or plane_dense is None:
            return None, "keyword.vector_plane_unavailable"
        return plane_dense.score(vector), "semantic.exact"

    def is_heavy(self, repo_id: RepoId) -> bool:
        """Whether a search takes long enough, or waits for a server, so that it belongs in a thread."""
        remote = self._settings.embed_provider == "http"
        return remote or self._planes.chunks(repo_id) > _HEAVY_CHUNKS

    def release(self) -> None:
        """The projection moved on: let go of pinned snapshots."""
        self._planes.unpin()

    def close(self) -> None:
        self._planes.close()


def _unobserved(_path: str) -> None:
    return


def _hit(
    plane: Plane,
    shapes: Shapes,
    repo_id: RepoId,
    terms: QueryTerms,
    ranked: RankedFile,
    dense: DenseScores | None,
) -> Hit | None:
    row = plane.snapshot.file(repo_id, ranked.path)
    if row is None:
        return None
    shape = shapes.get(plane.snapshot, repo_id, ranked.file_sequence)
    passage = None
    if ranked.chunk is not None and ranked.chunk < len(shape.chunks):
        span = shape.chunks[ranked.chunk]
        passage = Passage(
            ranked.chunk,
            span.start_line,
            span.end_line,
            _around(shape.symbols, span.start_line, span.end_line),
        )
    names = shape.names.best(terms, 1)
    meant = shape.by_fq_name[names[0]] if names else None
    named = meant.fq_name if meant is not None else ""
    semantic = dense is not None and float(dense.best[ranked.number]) > 0
    if semantic:
        reasons = semantic_reasons(
            "symbol" if passage is not None and passage.symbols else "file", named
        )
    else:
        reasons = keyword_reasons(file_match(ranked.parts, named))
    return Hit(row, ranked.score, tuple(reasons), passage, meant)


def _around(symbols: tuple[Symbol, ...], start: int, end: int) -> tuple[Symbol, ...]:
    """Symbols that overlap the lines, the smallest first."""
    overlapping = [
        symbol for symbol in symbols if symbol.start_line <= end and symbol.end_line >= start
    ]
    return tuple(
        sorted(
            overlapping, key=lambda symbol: (symbol.end_line - symbol.start_line, symbol.start_line)
        )
    )
