"""Code for a task within a budget of tokens, and what such bundles saved."""

from __future__ import annotations

import asyncio
from functools import partial

from contracts.errors import InvalidArgument
from contracts.events.index import Possession
from contracts.ids import RepoId
from contracts.tools.context import Bundle, BundleRequest, Level, Stats, StatsRequest
from services.query import paging
from services.query.bundle.answer import Answered, Question, answer
from services.query.bundle.candidates import Candidate
from services.query.bundle.cost import Prices
from services.query.bundle.pack import BUDGET_MOST, LEVELS, Order
from services.query.bundle.receipts import Held, held
from services.query.bundle.sources import sources
from services.query.host import View
from services.query.ledger import WINDOW_S
from services.query.registry import tool
from services.query.sessions import NOTHING
from services.source import tokens

_BUDGET = 8_192
_TOP, _TOP_MOST = 10, 50
_DEPTH_WITH_REUSE = 50  # ranks looked at where some of them may be withheld
_SESSION_CHARS = 200


@tool("repocontext_context", title="Code for a task", family="repocontext")
async def context(view: View, request: BundleRequest) -> Bundle:
    """The code a task needs in one call: best files first, passages or whole files, packed under a hard
    token budget. Pass a session id and nothing is sent twice; empty with retryBudgetTokens: ask again
    with that."""
    session = _session(request.session)
    order = Order(
        budget=paging.clamp(request.response_budget_tokens, _BUDGET, BUDGET_MOST),
        top=paging.clamp(request.top, _TOP, _TOP_MOST),
        level=_level(request.detail),
    )
    given = NOTHING
    generation = 0
    if session is not None:
        with view.read() as snapshot:
            repo = snapshot.repo(request.repo_id)
            generation = 0 if repo is None else repo.index_generation
            given = view.host.sessions.state(snapshot, request.repo_id, session)
    holds = held(request.seen, request.known, given.receipts, given.possessions)
    answered = await asyncio.to_thread(partial(_packed, view, request, order, holds, session))
    if session is not None and answered.entries:
        await view.host.sessions.deliver(
            request.repo_id, session, generation, *_delivered(answered)
        )
    replaced = sum(
        priced.candidate.source.full_read_tokens or 0
        for priced in answered.entries
        if priced.is_slice
    )
    bundle = answered.bundle
    view.host.ledger.record("repocontext_context", bundle.response_tokens, replaced)
    return bundle


@tool("repocontext_stats", title="Savings of bundles", family="repocontext")
async def stats(view: View, _request: StatsRequest) -> Stats:
    """What repocontext_context cost and saved in the last hour, in tokens; netSavedTokens may be
    negative."""
    totals = view.host.ledger.window()
    return Stats(
        calls=totals.calls,
        response_tokens=totals.response_tokens,
        reads_replaced_tokens=totals.replaced_tokens,
        net_saved_tokens=totals.net_saved_tokens,
        window_seconds=WINDOW_S,
    )


def _packed(
    view: View, request: BundleRequest, order: Order, holds: Held, session: str | None
) -> Answered:
    repo_id = RepoId(request.repo_id)
    engaged = session is not None or bool(request.seen)
    depth = max(order.top, _DEPTH_WITH_REUSE) if engaged else order.top
    found = view.host.retrieval.search(repo_id, request.task, depth)
    candidates: list[Candidate] = []
    if found.hits:
        with view.read() as snapshot:
            candidates = [Candidate(each) for each in sources(snapshot, repo_id, found.hits)]
    question = Question(
        repo_id=repo_id,
        task=request.task,
        mode=found.mode,
        path=found.path,
        session=session,
    )
    encoding = "cl100k_base" if view.settings.tokenizer == "cl100k" else tokens.DEFAULT_ENCODING
    prices = Prices(partial(tokens.count, encoding=encoding))
    return answer(question, candidates, order, holds, prices)


def _delivered(answered: Answered) -> tuple[list[str], list[Possession]]:
    """Receipts of every unit, and the files that were delivered complete."""
    receipts = [piece.receipt for priced in answered.entries for piece in priced.pieces]
    whole = [
        Possession(priced.candidate.source.path, priced.candidate.content_hash)  # type: ignore[arg-type]
        for priced in answered.entries
        if priced.is_whole
    ]
    return receipts, whole


def _level(detail: str) -> Level | None:
    """The level asked for; None for auto and for whatever is no level."""
    wanted = detail.strip().casefold()
    return next((level for level in LEVELS if level == wanted), None)


def _session(given: str | None) -> str | None:
    session = (given or "").strip()
    if len(session) > _SESSION_CHARS:
        raise InvalidArgument(
            f"a session id has at most {_SESSION_CHARS} characters",
            hint="choose a shorter one, such as a UUID",
            reason="session",
        )
    return session or None
