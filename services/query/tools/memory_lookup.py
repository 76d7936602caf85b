"""Finding memories."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from contracts.errors import InvalidArgument, Unavailable
from contracts.memory_size import MAX_BYTES, RESERVED_BYTES
from contracts.tools.memory import (
    Filters,
    GetMemoryRequest,
    GotMemory,
    ListMemoryRequest,
    ListRepositoriesRequest,
    MemoryPage,
    Neighborhood,
    QueryMemoryRequest,
    QueryResults,
    Repositories,
    RepositoryCounts,
    ScoredMemory,
    Suggestions,
    SuggestRequest,
)
from services.query.host import View
from services.query.notebook import ask, views
from services.query.notebook.ask import Filter, Scored
from services.query.notebook.contradictions import newer
from services.query.notebook.desk import Desk, consult
from services.query.notebook.nearness import nearest_notes
from services.query.notebook.suggest import derive, suggest
from services.query.registry import tool

Vector = NDArray[np.float32]


@tool("list_repositories", title="Repositories with memories", family="memory")
async def list_repositories(view: View, request: ListRepositoriesRequest) -> Repositories:
    """List the repositories that have memories, with counts by status. Call it before a write when
    the slug is not certain."""

    def count() -> list[RepositoryCounts]:
        with view.read() as snapshot:
            return [
                RepositoryCounts(
                    slug=each.slug, total=each.total, active=each.active,
                    deprecated=each.deprecated, superseded=each.superseded,
                )
                for each in view.host.notebooks.counts(snapshot)
            ]  # fmt: skip

    known = await asyncio.to_thread(count)
    page = tuple(known[request.offset : request.offset + request.limit])
    return Repositories(
        repositories=page, count=len(page), total_count=len(known), offset=request.offset,
        limit=request.limit, has_more=request.offset + len(page) < len(known),
    )  # fmt: skip


@tool("memory_query", title="Query memories", family="memory")
async def query(view: View, request: QueryMemoryRequest) -> QueryResults:
    """Find memories by words and meaning (hybrid), words (keyword) or meaning (semantic).
    Deprecated ones are included unless status is given. Scores compare within one mode only."""
    if request.mode != "keyword":
        _check_size(request.query)
    wanted = _filter(request)
    degraded: str | None = None
    vector: Vector | None = None
    space = ""
    if request.mode != "keyword":
        vector, space, degraded = await _embedded(view, request.query)
        if vector is None and request.mode == "semantic":
            raise Unavailable(
                f"nothing can be found by meaning: {degraded}",
                hint="use mode keyword",
                reason="no_embedder",
            )

    def answer(desk: Desk) -> tuple[ScoredMemory, ...]:
        found: list[Scored] = []
        near: list[Scored] = []
        if request.mode != "semantic":
            found = ask.keyword(desk.book, request.query, wanted, desk.now_ms)
        if vector is not None:
            near = _nearest(desk, vector, space, wanted, request.limit)
        if request.mode == "semantic":
            found = near
        elif request.mode == "hybrid" and vector is not None:
            found = ask.fused([found, near])
        return _shown(desk, found[: request.limit])

    results = await consult(view, request.repository, answer)
    return QueryResults(
        count=len(results),
        results=results,
        degraded=f"answered by keyword: {degraded}" if degraded else None,
    )


@tool("memory_list", title="List memories", family="memory")
async def list_memories(view: View, request: ListMemoryRequest) -> MemoryPage:
    """List a repository's memories, newest update first; deprecated ones are included unless status
    is given. Go on with offset + count while has_more."""
    wanted = _filter(request)

    def answer(desk: Desk) -> MemoryPage:
        matching = [note for note in desk.book.newest_first() if wanted.admits(note)]
        page = matching[request.offset : request.offset + request.limit]
        return MemoryPage(
            count=len(page), total_count=len(matching), offset=request.offset, limit=request.limit,
            has_more=request.offset + len(page) < len(matching),
            results=tuple(views.in_list(note, desk.scope.slug) for note in page),
        )  # fmt: skip

    return await consult(view, request.repository, answer)


@tool("memory_get", title="Get a memory", family="memory")
async def get(view: View, request: GetMemoryRequest) -> GotMemory:
    """Get one memory whole, with its history fields. Do this before you rely on a memory or change
    it."""

    def answer(desk: Desk) -> GotMemory:
        return views.whole(desk.record(request.id), desk.scope.slug)

    return await consult(view, request.repository, answer)


@tool("memory_suggest", title="Memories for files", family="memory")
async def suggestions(view: View, request: SuggestRequest) -> Suggestions:
    """Find the memories that concern files before you edit them, by their paths and an optional
    query. Deprecated ones are included unless status is given."""
    derived = derive(request.files, request.query)
    wanted = _filter(request)

    def answer(desk: Desk) -> tuple[ScoredMemory, ...]:
        found = suggest(desk.book, derived, request.query, wanted, desk.now_ms)
        return _shown(desk, found[: request.limit])

    results = await consult(view, request.repository, answer)
    return Suggestions(
        files=derived.files, normalized_path_terms=derived.path_terms, derived_terms=derived.terms,
        neighborhood=Neighborhood(tags=derived.tags, paths=derived.paths),
        count=len(results), results=results,
    )  # fmt: skip


def _filter(request: Filters) -> Filter:
    return Filter(request.tags, request.status, request.memory_type, request.certainty)


def _check_size(text: str) -> None:
    size = len(text.encode(errors="replace")) + RESERVED_BYTES
    if size > MAX_BYTES:
        raise InvalidArgument(
            f"the query has {size} bytes and may have {MAX_BYTES}",
            hint="shorten it, or use mode keyword",
            reason="query_size",
        )


async def _embedded(view: View, text: str) -> tuple[Vector | None, str, str | None]:
    """The vector of a question, its space, and why there is none."""
    embedder = view.host.retrieval.embedder
    if view.settings.embed_provider == "none":
        return None, "", "no embedder is configured"

    def embed() -> tuple[Vector | None, str]:
        return embedder.vector(text), embedder.space

    remote = view.settings.embed_provider == "http"
    vector, space = await asyncio.to_thread(embed) if remote else embed()
    if vector is not None:
        return vector, space, None
    fault = embedder.fault
    return (
        None,
        "",
        "the embedder does not answer" if fault else "the model knows none of the words",
    )


def _nearest(desk: Desk, vector: Vector, space: str, wanted: Filter, limit: int) -> list[Scored]:
    near = nearest_notes(desk.snapshot, desk.scope, desk.book, vector, space)
    return ask.semantic(desk.book, near, wanted, limit)


def _shown(desk: Desk, found: Sequence[Scored]) -> tuple[ScoredMemory, ...]:
    return tuple(
        views.scored(note, desk.scope.slug, score, newer(desk.book, note)) for note, score in found
    )
