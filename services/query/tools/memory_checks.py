"""Holding something against memories, and looking after them. Nothing here writes."""

from __future__ import annotations

import asyncio

from contracts.errors import OverBudget
from contracts.memory_size import composed_text, refusal, size_of
from contracts.tools.memory import (
    Diagnosis,
    Difference,
    DiffRequest,
    Expired,
    InstructionLike,
    RepositoryRequest,
    Size,
    SizeRequest,
    Statistics,
    Verification,
    VerifyRequest,
)
from services.query.host import View
from services.query.notebook import contradictions, views
from services.query.notebook.ask import facts_of
from services.query.notebook.compare import compare_fact
from services.query.notebook.desk import Desk, consult
from services.query.notebook.doctor import counts_by_kind, diagnose
from services.query.notebook.figures import outlived, statistics
from services.query.notebook.instructions import signs_in
from services.query.registry import tool


@tool("memory_verify", title="Verify a statement", family="memory")
async def verify(view: View, request: VerifyRequest) -> Verification:
    """Hold a statement against a memory's content: consistent or conflict, by shared words and by
    negation."""

    def answer(desk: Desk) -> Verification:
        compared = compare_fact(desk.record(request.id).body, request.fact)
        return Verification(
            id=request.id, ok=not compared.conflict,
            result="conflict" if compared.conflict else "consistent",
            similarity=compared.similarity, warning="Conflict" if compared.conflict else None,
        )  # fmt: skip

    return await consult(view, request.repository, answer)


@tool("memory_diff", title="Compare a new content", family="memory")
async def diff(view: View, request: DiffRequest) -> Difference:
    """Show what a new content would add to and remove from a memory, and whether the two conflict.
    Nothing is written."""

    def answer(desk: Desk) -> Difference:
        compared = compare_fact(desk.record(request.id).body, request.content)
        return Difference(
            id=request.id, conflict=compared.conflict, similarity=compared.similarity,
            added_terms=compared.added, removed_terms=compared.removed,
        )  # fmt: skip

    return await consult(view, request.repository, answer)


@tool("memory_size", title="Measure a memory", family="memory")
async def size(_view: View, request: SizeRequest) -> Size:
    """Measure a memory before you write it: content, tags, context and labels must stay within 512
    bytes."""
    text = composed_text(
        request.content, tags=request.tags, context=request.context,
        memory_type=request.memory_type, status=request.status, certainty=request.certainty,
    )  # fmt: skip
    report = size_of(text)
    if not report.within_budget:
        message, hint = refusal(report)
        raise OverBudget(message, hint=hint, mistake=True, report=Size(size=report))
    return Size(size=report)


@tool("memory_doctor", title="Audit memories", family="memory")
async def doctor(view: View, request: RepositoryRequest) -> Diagnosis:
    """Audit a repository's active memories: duplicates, stale status, tags, types, contradictions,
    and notes that read like orders to an agent. Findings are suggestions; nothing is changed."""
    slug, notes = await consult(
        view, request.repository, lambda desk: (desk.scope.slug, list(desk.book.active()))
    )

    def examine() -> Diagnosis:
        findings = diagnose(notes)
        return Diagnosis(
            repository=slug, checked=len(notes), count=len(findings), findings=tuple(findings),
            counts_by_kind=counts_by_kind(findings),
            contradictions=tuple(contradictions.among(notes)),
            instruction_like=tuple(
                InstructionLike(id=facts_of(note).number, signs=signs)
                for note in notes
                if (signs := signs_in(note))
            ),
        )  # fmt: skip

    return await asyncio.to_thread(examine)


@tool("memory_stats", title="Memory figures", family="memory")
async def stats(view: View, request: RepositoryRequest) -> Statistics:
    """Report figures over all memories of a repository: status, types, certainty, tags, age."""
    return await consult(
        view,
        request.repository,
        lambda desk: statistics(desk.scope.slug, desk.book.newest_first(), desk.now_ms),
    )


@tool("memory_gc", title="Outlived status memories", family="memory")
async def gc(view: View, request: RepositoryRequest) -> Expired:
    """List active status memories whose expires_after_days are over, counted from their last update.
    Always a dry run: retire them with memory_deprecate."""

    def answer(desk: Desk) -> Expired:
        found = outlived(desk.book.newest_first(), desk.now_ms)
        return Expired(
            repository=desk.scope.slug, dry_run=True, count=len(found),
            ids=tuple(facts_of(note).number for note in found),
            expired=tuple(views.record(note, desk.scope.slug) for note in found),
        )  # fmt: skip

    return await consult(view, request.repository, answer)
