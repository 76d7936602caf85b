"""Writing memories. Each answer says where it was written, so that a wrong repository is seen."""

from __future__ import annotations

from msgspec.structs import replace

from contracts.errors import Conflict, InvalidArgument, NotFound, OverBudget
from contracts.events.memory import AddFact, FactsPatch, NoteReply, UpdateFact
from contracts.memory_size import composed_text, refusal, size_of, size_of_note
from contracts.notes import Note
from contracts.tools.memory import (
    Added,
    AddMemoryRequest,
    Contradiction,
    Matched,
    Size,
    Updated,
    UpdateMemoryRequest,
    UpsertMatch,
)
from services.query.host import View
from services.query.notebook import ask, contradictions, views
from services.query.notebook.ask import STRONG_SIMILARITY, Scored, facts_of
from services.query.notebook.desk import Desk, consult
from services.query.notebook.scope import Scope
from services.query.registry import tool
from services.source import free_text

_RETIRED_BYTES = 8_192  # of a record that is not active: fifty of them fit into one answer


@tool(
    "memory_add",
    title="Add a memory",
    family="memory",
    writes=True,
    destructive=False,
    idempotent=False,
)
async def add(view: View, request: AddMemoryRequest) -> Added:
    """Store a memory: commands, paths and identifiers in the first sentence. With upsert_match a
    strong match is updated in place, a weak one refused unless forced."""
    _check_texts(request)
    _check_size(_text_of(request))
    if request.upsert_match and request.upsert_match.strip():
        return await _upsert(view, request, request.upsert_match.strip())
    return await _create(view, request, None)


@tool("memory_update", title="Update a memory", family="memory", writes=True, idempotent=False)
async def update(view: View, request: UpdateMemoryRequest) -> Updated:
    """Change given fields of a memory, named by id or by match (the best active match, echoed).
    Fields left out stay. To retire a memory use memory_deprecate."""
    if (request.id is None) == (request.match is None):
        raise InvalidArgument(
            "give either id or match", hint="id is exact; match takes the best active memory",
            reason="id_or_match",
        )  # fmt: skip
    _check_texts(request)
    matched: Matched | None = None

    successor_repo = ""

    def find(desk: Desk) -> tuple[Scope, Scored]:
        nonlocal successor_repo
        best = (
            (desk.record(request.id or 0), 0.0)
            if request.match is None
            else ask.best_match(desk.book, request.match, desk.now_ms)
        )
        if best is None:
            raise NotFound(
                "no active memory matches", hint="give its id; memory_query finds it",
                reason="no_match",
            )  # fmt: skip
        if request.superseded_by is not None:
            successor_repo = desk.record(request.superseded_by).repo_id
        return desk.scope, best

    scope, (note, score) = await consult(view, request.repository, find)
    if request.match is not None:
        matched = Matched(query=request.match, id=facts_of(note).number, score=score)
    patch = FactsPatch(
        content=request.content, tags_text=request.tags, context=request.context,
        memory_type=request.memory_type, certainty=request.certainty, status=request.status,
        superseded_by=request.superseded_by, expires_after_days=request.expires_after_days,
    )  # fmt: skip
    if patch != FactsPatch():
        _check_patched(note, patch)
        # What `match` chose was chosen for what it said: another writer's change voids the choice.
        seen = facts_of(note).update_count if matched is not None else -1
        reply = await _send_update(view, note, patch, seen, successor_repo)
        note = _noted(reply)
    return Updated(
        written_to=scope.slug, id=facts_of(note).number, memory=views.record(note, scope.slug),
        size=size_of_note(note), matched=matched,
    )  # fmt: skip


# --------------------------------------------------------------------------- adding


async def _create(view: View, request: AddMemoryRequest, forced_past: UpsertMatch | None) -> Added:
    scope = await consult(view, request.repository, lambda desk: desk.scope)
    command = AddFact(
        repo_id=scope.home,
        patch=FactsPatch(
            content=request.content, tags_text=request.tags, context=request.context,
            memory_type=request.memory_type, certainty=request.certainty, status=request.status,
            expires_after_days=request.expires_after_days,
        ),
        source_agent=view.caller.principal,
        principal=view.caller.principal,
    )  # fmt: skip
    note = _noted(await view.host.note_command(command))

    def look(desk: Desk) -> tuple[list[Scored], list[Contradiction]]:
        overlapping = ask.overlapping(desk.book, note, desk.now_ms)
        return overlapping, contradictions.older(desk.book, note)

    overlapping, denied = await consult(view, request.repository, look)
    conflicts = tuple(views.scored(other, scope.slug, score) for other, score in overlapping)
    return Added(
        written_to=scope.slug, id=facts_of(note).number, mode="created",
        memory=views.record(note, scope.slug), size=size_of_note(note),
        potential_conflicts=None if forced_past is not None else conflicts,
        contradicts=tuple(denied), upsert_match=forced_past,
    )  # fmt: skip


async def _upsert(view: View, request: AddMemoryRequest, topic: str) -> Added:
    scope, best = await consult(
        view,
        request.repository,
        lambda desk: (desk.scope, ask.best_match(desk.book, topic, desk.now_ms)),
    )
    if best is None:
        return await _create(view, request, None)
    note, score = best
    facts = facts_of(note)
    similarity = ask.similarity(note, request.content, request.tags or "", request.context or "")
    match = UpsertMatch(
        id=facts.number, score=score, similarity=similarity, memory_type=facts.memory_type,
        status=facts.status, content_head=views.head(note.body),
    )  # fmt: skip
    if not (similarity >= STRONG_SIMILARITY and score >= request.upsert_threshold):
        if request.force:
            return await _create(view, request, match)
        raise Conflict(
            f"memory {facts.number} ({match.content_head!r}) matches weakly: similarity {similarity} "
            f"(bar {STRONG_SIMILARITY}), score {score} (bar {request.upsert_threshold}); nothing was written",
            hint="update it with memory_update, or repeat with force=true to add another one",
            reason="weak_match",
            mistake=True,
        )
    patch = FactsPatch(
        content=request.content, tags_text=request.tags, context=request.context,
        memory_type=request.memory_type, certainty=request.certainty,
        expires_after_days=request.expires_after_days,
    )  # fmt: skip
    _check_patched(note, patch)
    changed = _noted(await _send_update(view, note, patch, facts.update_count))
    return Added(
        written_to=scope.slug, id=facts.number, mode="updated",
        memory=views.record(changed, scope.slug), size=size_of_note(changed), upsert_match=match,
    )  # fmt: skip


async def _send_update(
    view: View, note: Note, patch: FactsPatch, seen: int, successor_repo: str = ""
) -> NoteReply:
    return await view.host.note_command(
        UpdateFact(
            repo_id=note.repo_id, number=facts_of(note).number, patch=patch,
            seen_update_count=seen, principal=view.caller.principal,
            successor_repo=successor_repo,
        )
    )  # fmt: skip


# --------------------------------------------------------------------------- texts


def _check_texts(request: AddMemoryRequest | UpdateMemoryRequest) -> None:
    """Refuse what no note may hold: swallowed arguments, and addresses with a password."""
    texts = {"content": request.content, "tags": request.tags, "context": request.context}
    wrong = free_text.mistakes(texts, free_text.FACT_ARGUMENTS)
    if wrong is not None:
        raise InvalidArgument(wrong[0], hint=wrong[1], reason="rejected_content")


def _text_of(request: AddMemoryRequest) -> str:
    return composed_text(
        request.content, tags=request.tags or "", context=request.context or "",
        memory_type=request.memory_type or "convention",
        status=request.status or "active", certainty=request.certainty or "inferred",
    )  # fmt: skip


def _check_size(text: str) -> None:
    """Raise before anything is written when the record would be too large."""
    report = size_of(text)
    if not report.within_budget:
        message, hint = refusal(report)
        raise OverBudget(message, hint=hint, mistake=True, report=Size(size=report))


def _check_patched(note: Note, patch: FactsPatch) -> None:
    """The same for a change. A record that will not be active is not embedded, so it may be longer:
    whatever it has when it is retired, and what a listing has room for when it is given a new text."""
    facts = facts_of(note)
    given = {
        name: value
        for name in ("tags_text", "context", "memory_type", "certainty", "status")
        if (value := getattr(patch, name)) is not None
    }
    facts = replace(facts, **given)
    body = note.body if patch.content is None else patch.content
    text = composed_text(
        body, tags=facts.tags_text, context=facts.context, memory_type=facts.memory_type,
        status=facts.status, certainty=facts.certainty,
    )  # fmt: skip
    if facts.status == "active":
        _check_size(text)
        return
    retold = any(part is not None for part in (patch.content, patch.tags_text, patch.context))
    if retold and (size := len(text.encode())) > _RETIRED_BYTES:
        raise OverBudget(
            f"the record has {size:,} bytes and may have {_RETIRED_BYTES:,} when it is not active",
            hint="shorten content, tags or context, or leave them out to retire it as it is",
            mistake=True,
        )


def _noted(reply: NoteReply) -> Note:
    if reply.note is None:
        raise Conflict("the memory went away meanwhile", hint="look again with memory_list")
    return reply.note
