"""Which files answer a question, by which route, and why?

The ladder: with a query vector and vectors in its space the answer is semantic (words and meaning
fused); without one it is by keyword, and `retrieval_path` says why. Nothing here raises because a
rung is missing.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Literal

from msgspec import Struct

from contracts.extract import ChunkSpan, Symbol
from contracts.ids import RepoId
from contracts.tools.repocontext import RetrievalPath
from services.kernel import logs
from services.kernel.instruments import counted
from services.kernel.settings import Settings
from services.query import searches
from services.query.fallback import INDEX_FAULTS, ExactFallback, budget_of, degraded
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
from services.query.ranking.yardstick import Yardstick, of_files
from services.source.embedding import F4, QueryEmbedder
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
    passages: tuple[int, ...] = ()  # ordinals of the chunks that match best, best first
    shape: Shape | None = None  # what `passages` count in


class Found(Struct, frozen=True):
    """An answer, best file first."""

    mode: Mode
    path: RetrievalPath
    hits: tuple[Hit, ...]
    yardstick: Yardstick | None = None  # what notes are held against; only where it was asked for


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
        self._generations = AnnGenerations(searches.loaded)
        self.fallback = ExactFallback()
        self.observe: Callable[[str], None] = _unobserved
        self.asked: Callable[[], AbstractContextManager[None]] = nullcontext
        self.last: dict[str, LastQuery] = {}

    @property
    def embedder(self) -> QueryEmbedder:
        return self._embedder

    def search(self, repo_id: RepoId, query: str, limit: int, *, measured: bool = False) -> Found:
        """The best `limit` files. An unknown repository answers empty.

        `measured`: with the yardstick that other records are held against.
        """
        searches.begun()
        with self.asked(), self._planes.borrow(repo_id) as plane:
            if plane is None:
                return Found("empty", self._path_without_vectors(), ())
            found = self._ranked(plane, repo_id, query, limit, measured=measured)
            faulty = found.path in _DEGRADED and self._should_have_answered(plane, found.path)
            large = self._is_large(plane)
        self._remember(repo_id, found.path, faulty)
        searches.ended(found.path, large=large)
        self.observe(found.path)
        return found

    def _path_without_vectors(self) -> RetrievalPath:
        without = self._settings.embed_provider == "none"
        return "keyword.no_embedder" if without else "keyword.vector_plane_unavailable"

    def _should_have_answered(self, plane: Plane, path: RetrievalPath) -> bool:
        """Whether a keyword answer is a fault: not while there are no vectors yet, and not for a
        question whose words the model does not know."""
        usable = plane.vectors is not None and plane.vectors.space == self._embedder.space
        return bool(plane.row.counters.embedded) and (
            self._embedder.fault is not None
            or not usable
            or path != "keyword.vector_plane_unavailable"
        )

    def _remember(self, repo_id: RepoId, path: RetrievalPath, faulty: bool) -> None:
        now = time.time_ns() // 1_000_000
        before = self.last.get(repo_id)
        since = (before.faulty_since_ms if before is not None else 0) or now
        self.last[repo_id] = LastQuery(path, now, since if faulty else 0)

    def _ranked(
        self, plane: Plane, repo_id: RepoId, query: str, limit: int, *, measured: bool
    ) -> Found:
        terms = query_terms(query)
        dense, path = self._dense(plane, repo_id, query)
        if dense is not None:
            dense = replace(dense, trust=self._embedder.trust(terms.terms))
        try:
            with searches.stage("keyword_scan"):
                lexical = score_corpus(terms, plane.corpus)
        except INDEX_FAULTS as error:
            searches.because("unknown")
            log.warning("keyword_scan_failed", repo=repo_id, error=repr(error)[:300])
            return Found("empty", path, ())
        history = None if plane.history is None else plane.history.score(terms.terms)
        ranked = Ranking(terms, plane.facts, lexical, dense, history).top(limit)
        with searches.stage("hydrate"):
            hits = _hits(plane, self._shapes, repo_id, terms, ranked, dense)
        if ranked and not hits and dense is not None:
            degraded(repo_id, "no ranked file exists", [each.path for each in ranked])
            dense, path = None, "keyword.index_degraded"
            ranked = Ranking(terms, plane.facts, lexical, None, history).top(limit)
            hits = _hits(plane, self._shapes, repo_id, terms, ranked, None)
        mode: Mode = "empty" if not hits else "keyword" if dense is None else "semantic"
        yardstick = None
        if measured:
            asked = (self._embedder.vector(query), self._embedder.space)
            best_score = hits[0].score if hits else 0.0
            yardstick = of_files(terms, plane.corpus, lexical, dense, best_score, asked)
        return Found(mode, path, tuple(hits), yardstick)

    def _dense(
        self, plane: Plane, repo_id: RepoId, query: str
    ) -> tuple[DenseScores | None, RetrievalPath]:
        """Scores by meaning, or None; and the route, which says why there are none."""
        if self._settings.embed_provider == "none":
            return None, self._path_without_vectors()
        if plane.vector_fault:
            degraded(repo_id, plane.vector_fault, [])
            return None, "keyword.index_degraded"
        vectors = plane.vectors
        if vectors is None or not vectors.table.rows or vectors.space != self._embedder.space:
            return None, "keyword.vector_plane_unavailable"
        with searches.stage("embed"):
            vector = self._embedder.vector(query)
        if vector is None:
            return None, "keyword.vector_plane_unavailable"
        if not self._is_large(plane):
            return self._scanned(plane, repo_id, vector)
        return self._approximated(plane, repo_id, vector, vectors.table.rows)

    def _is_large(self, plane: Plane) -> bool:
        """Whether its vectors are so many that an index answers instead of a scan."""
        rows = 0 if plane.vectors is None else plane.vectors.table.rows
        explicit = self._settings.semantic_retrieval == "exact"
        return not explicit and rows >= self._settings.ann_threshold_vectors

    def _approximated(
        self, plane: Plane, repo_id: RepoId, vector: F4, rows: int
    ) -> tuple[DenseScores | None, RetrievalPath]:
        """By the published index; while there is none by a scan, as far as that may be."""
        try:
            overlay = plane.overlay(self._generations)
            if overlay is not None:
                with searches.stage("vector_search"):
                    near = overlay.search(vector, _POOL)
                    pool = Pool(near.file_sequence, near.chunk, near.score)
                    scores = pooled_scores(plane.corpus, pool)
                self.fallback.answered(repo_id)
                return scores, "semantic.approximate"
        except INDEX_FAULTS as error:
            counted.add("repocontext.ann.index.load", "faulted", "other")
            degraded(repo_id, repr(error)[:300], [])
            return None, "keyword.index_degraded"
        budget = budget_of(rows, self._settings.exact_scan_vectors)
        counted.add("repocontext.retrieval.exact_scan.budget", budget)
        if budget == "exceeded":
            searches.because("saturated")
            return None, "keyword.vector_plane_unavailable"
        return self._scanned(plane, repo_id, vector)

    def _scanned(
        self, plane: Plane, repo_id: RepoId, vector: F4
    ) -> tuple[DenseScores | None, RetrievalPath]:
        """Every vector compared, unless that stalled lately."""
        if not self.fallback.breaker(repo_id).admits():
            return None, "keyword.exact_fallback_suppressed"
        began = self.fallback.clock()
        try:
            dense = plane.dense
            if dense is None:
                return None, "keyword.vector_plane_unavailable"
            with searches.stage("vector_search"):
                scores = dense.score(vector)
        except INDEX_FAULTS as error:
            return None, self.fallback.failed(repo_id, error)
        seconds = self.fallback.clock() - began
        if plane.vectors is not None:
            searches.scanned(seconds, plane.vectors.table.rows, plane.vectors.table.blocks)
        self.fallback.finished(repo_id, seconds)
        return scores, "semantic.exact"

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


def _hits(
    plane: Plane,
    shapes: Shapes,
    repo_id: RepoId,
    terms: QueryTerms,
    ranked: Sequence[RankedFile],
    dense: DenseScores | None,
) -> list[Hit]:
    found = (_hit(plane, shapes, repo_id, terms, each, dense) for each in ranked)
    return [hit for hit in found if hit is not None]


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
    return Hit(
        row, ranked.score, tuple(reasons), passage, meant, passages=ranked.passages, shape=shape
    )


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
