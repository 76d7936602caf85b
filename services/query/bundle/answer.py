"""How does a packed bundle become an answer that keeps its ceiling as it is sent?

The entries are paid for. What the caller held back from delivery is listed in the room that the
real tokens of the rest leave below the ceiling: it is never charged, displaces no entry, and is cut
where it would break the promise, with its full count beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import msgspec
from msgspec import Struct

from contracts.tools.context import Bundle, ReusedUnit
from contracts.tools.repocontext import RetrievalPath, SearchMode
from services.query.bundle.candidates import Candidate
from services.query.bundle.cost import Cost, Prices
from services.query.bundle.pack import Order, Packed, Priced, pack, reused
from services.query.bundle.receipts import Held

_REUSED_MOST = 200  # listed at all
_TASK_CHARS = 400  # of the task, told back; more would be paid for twice
_FIGURE = 9_999_999  # as long as a figure can get


class Question(Struct, frozen=True, kw_only=True):
    """What the answer repeats, and how its files were found."""

    repo_id: str
    task: str
    mode: SearchMode
    path: RetrievalPath
    session: str | None


class Answered(Struct, frozen=True):
    """An answer, and the entries in it with what they are made of."""

    bundle: Bundle
    entries: tuple[Priced, ...]


def answer(
    question: Question, candidates: Sequence[Candidate], order: Order, held: Held, prices: Prices
) -> Answered:
    """The bundle of the candidates, best first, that the caller does not hold."""
    blank = _blank(question)
    scaffold = prices.scaffold(blank)
    packed = pack(candidates, order, held, prices, scaffold)
    withheld = list(reused(candidates, order.levels, held))
    entries = packed.entries
    while True:
        bundle = _filled(blank, packed, entries, withheld, prices, scaffold, order.budget)
        sent = prices.scaffold(bundle).wire
        if not entries or sent <= order.budget:
            break
        entries = entries[:-1]  # a joint that took more tokens than parts ever did
    if entries:
        spent = max(bundle.response_tokens, sent)
        bundle = msgspec.structs.replace(bundle, response_tokens=spent)
    return Answered(bundle, entries)


def _blank(question: Question) -> Bundle:
    """The answer before anything is in it, its figures as long as they can get.

    So it costs the same whatever the budget, and a retry with what it was told to cost fits.
    """
    task = question.task
    return Bundle(
        repo_id=question.repo_id,
        task=task if len(task) <= _TASK_CHARS else f"{task[: _TASK_CHARS - 1]}…",
        mode=question.mode,
        retrieval_path=question.path,
        detail="slices",
        budget_tokens=_FIGURE,
        total_tokens=_FIGURE,
        response_tokens=_FIGURE,
        truncated=False,
        retry_budget_tokens=_FIGURE,
        session=question.session,
        entries=(),
        reused=(),
        reused_count=_FIGURE,
    )


def _filled(
    blank: Bundle,
    packed: Packed,
    entries: tuple[Priced, ...],
    withheld: Sequence[ReusedUnit],
    prices: Prices,
    scaffold: Cost,
    budget: int,
) -> Bundle:
    cost = sum((priced.cost for priced in entries), scaffold)
    room = budget - cost.wire
    listed: list[ReusedUnit] = []
    for unit in islice(withheld, _REUSED_MOST):
        room -= prices.wire(unit)
        if room < 0:
            break
        listed.append(unit)
    dropped = len(entries) < len(packed.entries)
    return msgspec.structs.replace(
        blank,
        detail=packed.level,
        budget_tokens=budget,
        total_tokens=sum(priced.entry.token_count for priced in entries),
        response_tokens=cost.tokens if entries else 0,
        truncated=packed.truncated or dropped,
        retry_budget_tokens=packed.retry_tokens,
        entries=tuple(priced.entry for priced in entries),
        reused=tuple(listed),
        reused_count=len(withheld),
    )
