"""Search."""

from __future__ import annotations

import msgspec

from contracts.extract import Symbol
from contracts.ids import RepoId
from contracts.tools.repocontext import SearchHit, SearchRequest, SearchResults
from services.query import bounds, entries, note_views, paging
from services.query.host import View
from services.query.notebook import searching
from services.query.notebook.merge import NoteHit
from services.query.registry import tool
from services.query.retrieval import Hit, Passage

_HITS, _HITS_MOST = 10, 100
_NOTE_BYTES = 8_000  # of a note's text in a hit, as JSON


@tool("repocontext_search", title="Search code", family="repocontext")
async def search(view: View, request: SearchRequest) -> SearchResults:
    """Find the files, and the notes kept in memory, that answer a question in words, identifiers or an
    error text, by meaning and by words together. Each hit names its best passage (matchLines) and why
    it was chosen."""
    limit = paging.clamp(request.k, _HITS, _HITS_MOST)
    repo_id = RepoId(request.repo_id)
    found = await searching.search(view, repo_id, request.query, limit)
    hits = bounds.fitting(
        _note(hit) if isinstance(hit, NoteHit) else _shown(repo_id, hit) for hit in found.hits
    )
    return SearchResults(
        repo_id=repo_id,
        query=bounds.echoed(request.query),
        mode=found.mode,
        retrieval_path=found.path,
        hits=hits,
        hits_left_off=len(found.hits) - len(hits),
    )


def _around(passage: Passage) -> Symbol | None:
    """The smallest symbol that most of the passage belongs to; one among many would mislead."""
    most = (passage.end_line - passage.start_line + 1) / 2
    return next((symbol for symbol in passage.symbols if _shared(symbol, passage) > most), None)


def _shared(symbol: Symbol, passage: Passage) -> int:
    """Lines that a symbol and a passage have in common."""
    last = min(symbol.end_line, passage.end_line)
    return last - max(symbol.start_line, passage.start_line) + 1


def _note(hit: NoteHit) -> SearchHit:
    entry = note_views.entry(hit.note)
    body = entry.fields.get("body", "")
    shown = bounds.beginning(body, _NOTE_BYTES)
    if len(shown) < len(body):
        left_off = f"{len(body) - len(shown)} characters; repocontext_recall gives them"
        fields = {**entry.fields, "body": shown, "bodyLeftOff": left_off}
        entry = msgspec.structs.replace(entry, fields=fields)
    return SearchHit(score=round(hit.score, 4), entry=entry, reasons=hit.reasons)


def _shown(repo_id: RepoId, hit: Hit) -> SearchHit:
    entry = entries.of_file(repo_id, hit.file)
    passage = hit.passage
    if passage is None:
        return SearchHit(score=round(hit.score, 4), entry=entry, reasons=hit.reasons)
    fields = {**entry.fields, "matchLines": f"{passage.start_line}-{passage.end_line}"}
    if hit.symbol is not None:
        fields["matchSymbol"] = (
            f"{hit.symbol.signature or hit.symbol.name} @{hit.symbol.start_line}-{hit.symbol.end_line}"
        )
    elif (inner := _around(passage)) is not None:
        fields["matchSymbol"] = (
            f"{inner.signature or inner.name} @{inner.start_line}-{inner.end_line}"
        )
    entry = msgspec.structs.replace(entry, fields=fields)
    return SearchHit(
        score=round(hit.score, 4),
        entry=entry,
        vector_id=f"{hit.file.sequence}#{passage.chunk}",
        reasons=hit.reasons,
    )
