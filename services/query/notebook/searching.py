"""What does repocontext_search answer: which files and notes, by which route?"""

from __future__ import annotations

import asyncio

from msgspec import Struct

from contracts.ids import RepoId
from contracts.tools.repocontext import RetrievalPath, SearchMode
from services.query.host import View
from services.query.notebook.book import NoteBook
from services.query.notebook.merge import NoteHit, interleaved, own_yardstick, rank
from services.query.notebook.nearness import nearest_notes
from services.query.notebook.scope import Scope, scope_of_repo
from services.query.ranking.yardstick import Yardstick
from services.query.retrieval import Found, Hit
from store.read.live import Snapshot


class Answered(Struct, frozen=True):
    """Files and notes, best first."""

    mode: SearchMode
    path: RetrievalPath
    hits: tuple[Hit | NoteHit, ...]


async def search(view: View, repo_id: RepoId, query: str, limit: int) -> Answered:
    """The best `limit` files and notes."""

    with view.read() as snapshot:
        scope = scope_of_repo(snapshot, repo_id)
        noted = any(snapshot.has_notes(namespace) for namespace in scope.repo_ids)
        quick = not view.host.retrieval.is_heavy(repo_id) and (
            not noted or view.host.notebooks.is_quick(snapshot, scope, texts=True)
        )

    def answer() -> Answered:
        found = view.host.retrieval.search(repo_id, query, limit, measured=noted)
        if not noted:
            return Answered(found.mode, found.path, found.hits)
        with view.read() as snapshot, view.host.notebooks.open(snapshot, scope) as book:
            if not len(book):
                return Answered(found.mode, found.path, found.hits)
            yardstick, path = _measure(view, book, found, query)
            notes = _notes(snapshot, scope, book, yardstick, limit)
        merged = interleaved([(hit, hit.score) for hit in found.hits], notes, limit)
        return Answered(_mode(found, merged), path, tuple(merged))

    return answer() if quick else await asyncio.to_thread(answer)


def _measure(
    view: View, book: NoteBook, found: Found, query: str
) -> tuple[Yardstick, RetrievalPath]:
    yardstick = found.yardstick
    if yardstick is not None and yardstick.mean_terms:
        return yardstick, found.path
    # There is no passage of a file: then the notes alone say by which route they were found.
    embedder = view.host.retrieval.embedder
    vector = None if view.settings.embed_provider == "none" else embedder.vector(query)
    space = "" if vector is None else embedder.space
    path: RetrievalPath = found.path if vector is None else "semantic.exact"
    return own_yardstick(book, query, vector, space), path


def _notes(
    snapshot: Snapshot, scope: Scope, book: NoteBook, yardstick: Yardstick, limit: int
) -> list[NoteHit]:
    near = []
    if yardstick.vector is not None:
        near = nearest_notes(snapshot, scope, book, yardstick.vector, yardstick.space)
    return rank(book, yardstick, near, limit)


def _mode(found: Found, merged: list[Hit | NoteHit]) -> SearchMode:
    if found.hits or not merged:
        return found.mode
    by_meaning = any(isinstance(hit, NoteHit) and hit.by_meaning for hit in merged)
    return "semantic" if by_meaning else "keyword"
