"""Which units of which files fit under the ceiling?

Greedy, in the order of the ranking: what does not fit is passed over, something smaller further
down may still fit. No file may take more than a share of what is left, so the best file gets the
most and the tenth is not starved.

Three levels: slices (the whole file where it is small enough, else passages), outline, paths. A
level that is asked for by name is the only one tried; a file that has nothing at it is pointed at.
`auto` takes the richest level at which anything fits, and points at files whose units at that level
do not fit, as long as the first one that does keeps its room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from contracts.tools.context import BundleEntry, BundleUnit, Level, ReusedUnit
from services.query.bundle.candidates import Candidate, Piece
from services.query.bundle.cost import FACTOR, Cost, Count, Prices
from services.query.bundle.receipts import Held

SHARE = 0.25  # of what is left, that one file may take
PASSAGE_SHARE = 0.5  # … if all it takes is a single unit
_GOOD = 3  # best units of a file, any of which is better than a pointer
_SMALL = 1_400  # tokens charged: a file of this size is not cut in passages
BUDGET_MOST = 200_000  # no budget may be larger
LEVELS: tuple[Level, ...] = ("slices", "outline", "paths")  # richest first


class Priced(Struct, frozen=True):
    """An entry, what it costs and what it is made of."""

    entry: BundleEntry
    cost: Cost
    candidate: Candidate
    pieces: tuple[Piece, ...]

    @property
    def is_whole(self) -> bool:
        """Whether it delivers the complete body of its file."""
        return self.candidate.complete and any(
            piece.kind == "span" and not piece.first for piece in self.pieces
        )

    @property
    def is_slice(self) -> bool:
        return any(piece.kind == "span" for piece in self.pieces)

    @property
    def is_pointer(self) -> bool:
        return all(piece.kind == "pointer" for piece in self.pieces)


class Packed(Struct, frozen=True):
    """What a bundle delivers."""

    level: Level
    entries: tuple[Priced, ...]
    cost: Cost  # scaffold included
    truncated: bool
    retry_tokens: int | None  # of an empty one: the least budget that delivers something


class Order(Struct, frozen=True):
    """What is asked for."""

    budget: int
    top: int
    level: Level | None  # None: auto

    @property
    def levels(self) -> tuple[Level, ...]:
        return LEVELS if self.level is None else (self.level,)


class _Choice(Struct, frozen=True):
    """What may be delivered of a file at one level."""

    whole: Piece | None  # all of it, as one unit
    parts: tuple[Piece, ...]  # else some of these, the first ones first


def pack(
    candidates: Sequence[Candidate], order: Order, held: Held, prices: Prices, scaffold: Cost
) -> Packed:
    """Pack what the caller does not hold; `scaffold` is the cost of an answer without entries."""
    packer = _Packer(order, held, prices, scaffold)
    wanting = [each for each in candidates if choice(each, order.levels[0], held) is not None]
    for level in order.levels if wanting else ():
        packed = packer.at(level, wanting)
        if packed is not None:
            return packed
    return Packed(order.levels[-1], (), Cost(), bool(wanting), packer.retry(wanting))


def choice(candidate: Candidate, level: Level, held: Held) -> _Choice | None:
    """What the caller lacks of a file at a level; None when that is nothing."""
    if owns(candidate, held):
        return None
    lacks = held.receipts.isdisjoint
    if level == "slices" and (candidate.whole is not None or candidate.passages):
        whole, passages = candidate.whole, candidate.passages
        if whole is not None and not lacks((whole.receipt,)):
            return None  # and every passage with it
        parts = tuple(piece for piece in passages if lacks((piece.receipt,)))
        if whole is not None and len(parts) == len(passages):
            return _Choice(whole, parts)
        return _Choice(None, parts) if parts else None
    if level == "outline" and candidate.outline:
        parts = tuple(piece for piece in candidate.outline_by_match if lacks((piece.receipt,)))
        return _Choice(None, parts) if parts else None
    return _Choice(candidate.pointer, ()) if lacks((candidate.pointer.receipt,)) else None


def owns(candidate: Candidate, held: Held) -> bool:
    """Whether the caller proved to hold the whole file in this version."""
    return (candidate.source.path, candidate.content_hash) in held.files


def reused(
    candidates: Sequence[Candidate], levels: Sequence[Level], held: Held
) -> Iterator[ReusedUnit]:
    """What was withheld of the units of some levels, in the order of the ranking."""
    for candidate in candidates:
        if owns(candidate, held):
            yield ReusedUnit(
                path=candidate.source.path, kind="file", content_hash=candidate.content_hash
            )
            continue
        pieces: list[Piece] = [candidate.pointer]
        if "slices" in levels:
            pieces += [candidate.whole] if candidate.whole is not None else []
            pieces += candidate.passages
        if "outline" in levels:
            pieces += candidate.outline
        for piece in pieces:
            if piece.receipt in held.receipts:
                yield ReusedUnit(
                    path=candidate.source.path,
                    kind=piece.kind,
                    receipt=piece.receipt,
                    content_hash=candidate.content_hash,
                    symbol=piece.symbol,
                )


class _Packer:
    """Packing under one order."""

    def __init__(self, order: Order, held: Held, prices: Prices, scaffold: Cost) -> None:
        self._order, self._held, self._prices, self._scaffold = order, held, prices, scaffold
        self._known: dict[tuple[str, ...], Priced] = {}
        self._counted: dict[str, int] = {}

    def at(self, level: Level, candidates: Sequence[Candidate]) -> Packed | None:
        """The bundle at one level; None when no file's units at that level fit."""
        budget, top = self._order.budget, self._order.top
        choices = [choice(each, level, self._held) for each in candidates]
        anchor, kept = self._anchor(level, candidates, choices)
        if kept is None:
            return None
        points = self._order.level is None and level != "paths"
        entries: list[Priced] = []
        spent, truncated = self._scaffold, False
        for at, candidate in enumerate(candidates):
            if len(entries) == top:
                break
            left = budget - spent.tokens
            limit = max(int(left * SHARE), left // min(top - len(entries), len(candidates) - at))
            found = None
            if at >= anchor:
                found = self._richest(candidate, choices[at], spent, limit)
            if found is None and at == anchor:
                found = kept
            elif found is None and at > anchor:
                allowed = int(left * PASSAGE_SHARE) if points else left
                found = self._one(candidate, choices[at], spent, allowed, _GOOD if points else None)
            if found is None and points:
                ceiling = budget if at > anchor else budget - kept.cost.tokens
                found = self._pointed(candidate, spent, ceiling)
            if found is None:
                truncated = truncated or choices[at] is not None
                continue
            entries.append(found)
            spent += found.cost
        return Packed(level, tuple(entries), spent, truncated, None)

    def retry(self, candidates: Sequence[Candidate]) -> int | None:
        """The least budget at which something of the candidates fits; None when there is none."""
        costs = [
            (self._scaffold + priced.cost).tokens
            for level in self._order.levels
            for candidate in candidates
            for priced in self._singles(candidate, choice(candidate, level, self._held))
        ]
        least = min(costs, default=None)
        return least if least is not None and least <= BUDGET_MOST else None

    def _anchor(
        self, level: Level, candidates: Sequence[Candidate], choices: Sequence[_Choice | None]
    ) -> tuple[int, Priced | None]:
        """The first file that has something that fits, and the first such thing.

        To `auto` a mere pointer is not something where better is looked for.
        """
        for at, candidate in enumerate(candidates):
            found = self._one(candidate, choices[at], self._scaffold, self._order.budget)
            if found is None:
                continue
            if self._order.level is not None or level == "paths" or not found.is_pointer:
                return at, found
        return len(candidates), None

    def _richest(
        self, candidate: Candidate, found: _Choice | None, spent: Cost, limit: int
    ) -> Priced | None:
        """All of it or as many parts as stay within `limit` tokens."""
        if found is None:
            return None
        if found.whole is not None and _may_fit(candidate, limit):
            priced = self._priced(candidate, (found.whole,))
            if priced.cost.tokens <= limit and self._fits(priced, spent, self._order.budget):
                return priced
        taken: tuple[Piece, ...] = ()
        best: Priced | None = None
        for piece in found.parts:
            if best is None and piece is not found.parts[0]:
                break  # a small passage that hardly matches is no stand-in for the best one
            filled = best.entry.token_count if best is not None else 0
            if FACTOR * (filled + self._tokens(piece)) > limit:
                continue
            priced = self._priced(candidate, (*taken, piece))
            if priced.cost.tokens <= limit and self._fits(priced, spent, self._order.budget):
                best, taken = priced, (*taken, piece)
        return best

    def _one(
        self,
        candidate: Candidate,
        found: _Choice | None,
        spent: Cost,
        limit: int,
        among: int | None = None,
    ) -> Priced | None:
        """The best single unit of at most `limit` tokens that fits, `among` so many of the best."""
        for priced in islice(self._singles(candidate, found), among):
            if priced.cost.tokens <= limit and self._fits(priced, spent, self._order.budget):
                return priced
        return None

    def _singles(self, candidate: Candidate, found: _Choice | None) -> Iterator[Priced]:
        if found is None:
            return
        if found.whole is not None and (not found.parts or _may_fit(candidate, _SMALL)):
            yield self._priced(candidate, (found.whole,))
        for piece in found.parts:
            yield self._priced(candidate, (piece,))

    def _pointed(self, candidate: Candidate, spent: Cost, ceiling: int) -> Priced | None:
        if candidate.pointer.receipt in self._held.receipts:
            return None
        priced = self._priced(candidate, (candidate.pointer,))
        return priced if self._fits(priced, spent, ceiling) else None

    def _fits(self, priced: Priced, spent: Cost, ceiling: int) -> bool:
        return (spent + priced.cost).tokens <= ceiling

    def _tokens(self, piece: Piece) -> int:
        """Tokens of a piece; counting them once spares pricing most pieces that cannot fit."""
        known = self._counted.get(piece.receipt)
        if known is None:
            known = self._counted[piece.receipt] = self._prices.count(piece.text)
        return known

    def _priced(self, candidate: Candidate, pieces: tuple[Piece, ...]) -> Priced:
        key = tuple(piece.receipt for piece in pieces)
        known = self._known.get(key)
        if known is None:
            entry = rendered(candidate, pieces, self._prices.count)
            known = self._known[key] = Priced(entry, self._prices.entry(entry), candidate, pieces)
        return known


def _may_fit(candidate: Candidate, limit: int) -> bool:
    """Whether it is worth finding out what the whole file costs."""
    return FACTOR * (candidate.source.full_read_tokens or 0) <= limit


def rendered(candidate: Candidate, pieces: Sequence[Piece], count: Count) -> BundleEntry:
    """The entry of some pieces of a file, in the order of the file.

    A passage that does not go on where the one before ended starts with a line of its line numbers.
    """
    texts: list[str] = []
    units: list[BundleUnit] = []
    reached = 0
    for piece in sorted(pieces, key=lambda piece: piece.first):
        text = piece.text
        if piece.kind == "span" and piece.first and piece.first != reached + 1:
            text = f"@@ {piece.lines} @@\n{text}"
        reached = piece.last
        texts.append(text)
        units.append(
            BundleUnit(
                receipt=piece.receipt,
                kind=piece.kind,
                symbol=piece.symbol,
                lines=piece.lines,
                token_count=count(text),
            )
        )
    source, content = candidate.source, "\n".join(texts)
    return BundleEntry(
        path=source.path,
        score=source.score,
        reasons=source.reasons,
        token_count=count(content),
        full_read_token_count=source.full_read_tokens,
        content=content,
        content_hash=candidate.content_hash,
        units=tuple(units),
    )
