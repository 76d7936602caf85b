"""Settle drafts: order, parents, kinds, full names, and which symbol encloses which byte."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from contracts.extract import Symbol
from services.extractor.grammar import Grammar
from services.extractor.reader import DOC_CHARS, SIGNATURE_CHARS, TO_TYPE, TYPE_KINDS, Draft

_ONCE = frozenset({"variable", "constant", "field"})  # later assignments declare nothing new
_BODILESS = _ONCE | {"component"}  # what a single-file component imports is the file's
_BEYOND = 1 << 62  # no byte position is as large
_NAME_CHARS = 200
_FULL_NAME_CHARS = 500


@dataclass
class Table:
    """Drafts in source order, each with its settled parent and index."""

    drafts: list[Draft]
    bounds: list[int]  # ascending byte positions where the innermost symbol changes
    owners: list[int]  # innermost symbol from that position on, -1 for none

    def scope_at(self, position: int) -> int:
        """Return the innermost symbol around a byte, -1 at module level."""
        return self.owners[bisect_right(self.bounds, position) - 1]

    def body_scope_at(self, position: int) -> int:
        """Return the innermost symbol with a body of its own around a byte: no variable or field."""
        scope = self.scope_at(position)
        while scope >= 0 and self.drafts[scope].kind in _BODILESS:
            scope = self.drafts[scope].parent
        return scope

    def scopes_at(self, positions: list[int]) -> list[int]:
        """Return the innermost symbol around each of the ascending byte positions."""
        bounds, owners = [*self.bounds, _BEYOND], self.owners
        scopes = []
        at, following, owner = 0, bounds[1], owners[0]
        for position in positions:
            while following <= position:
                at += 1
                following, owner = bounds[at + 1], owners[at]
            scopes.append(owner)
        return scopes


def settle(found: list[Draft], grammar: Grammar | None = None) -> Table:
    """Order drafts and give each its parent."""
    named = [draft for draft in found if draft.name]  # broken code may lack a name
    drafts = sorted(named, key=lambda draft: (draft.start, -draft.end))
    _nest(drafts)
    _adopt(drafts)
    drafts = _without_repeats(drafts)
    _classify(drafts, grammar)
    bounds, owners = _spans(drafts)
    return Table(drafts, bounds, owners)


def _nest(drafts: list[Draft]) -> None:
    stack: list[Draft] = []
    for draft in drafts:
        while stack and stack[-1].end <= draft.start:
            stack.pop()
        above = stack[-1] if stack else None
        if draft.kind in _ONCE and above is not None and above.kind in _ONCE:
            above = above.member_of  # `a = b = 1` and `a, b = 1, 2` declare two of a kind
        while draft.lift == TO_TYPE and above is not None and above.kind not in TYPE_KINDS:
            above = above.member_of
        for _ in range(draft.lift):
            above = above.member_of if above is not None else None
        draft.member_of = above
        if draft.end > draft.start and not draft.scopeless:
            stack.append(draft)


def _adopt(drafts: list[Draft]) -> None:
    """Put members written outside their type under it (Go receivers, Rust impls, C++ A::b)."""
    if not any(draft.owner for draft in drafts):
        return
    types: dict[str, Draft] = {}
    for draft in drafts:
        if draft.kind in TYPE_KINDS or draft.kind == "type":
            types.setdefault(draft.name, draft)
    for draft in drafts:
        if draft.owner:
            found = types.get(draft.owner)
            if found is not None and not _inside(found, draft):
                draft.member_of, draft.prefix = found, ""
            elif not draft.prefix:
                draft.prefix = draft.owner


def _inside(draft: Draft, other: Draft) -> bool:
    above: Draft | None = draft
    while above is not None and above is not other:
        above = above.member_of
    return above is other


def _without_repeats(drafts: list[Draft]) -> list[Draft]:
    """Drop later assignments of a name already declared, and number what stays."""
    seen: set[tuple[int, str, str]] = set()
    kept: list[Draft] = []
    members = {(id(d.member_of), d.name) for d in drafts if d.lift != TO_TYPE}
    for draft in drafts:
        if draft.lift == TO_TYPE and (
            draft.member_of is None or (id(draft.member_of), draft.name) in members
        ):
            continue
        if draft.kind in _ONCE:
            key = (id(draft.member_of), draft.prefix, draft.name)
            if key in seen:
                continue
            seen.add(key)
        draft.index = len(kept)
        kept.append(draft)
    return kept


def _classify(drafts: list[Draft], grammar: Grammar | None) -> None:
    constructors = grammar.constructors if grammar else ()
    for draft in drafts:
        parent = draft.member_of
        while parent is not None and parent.index < 0:
            parent = parent.member_of
        draft.member_of = parent
        if parent is not None:
            draft.parent = parent.index
        if draft.kind == "function" and (
            draft.owner or (parent is not None and parent.kind in TYPE_KINDS)
        ):
            draft.kind = "constructor" if draft.name in constructors else "method"
        if grammar is not None:
            grammar.settle(draft, parent)


def _spans(drafts: list[Draft]) -> tuple[list[int], list[int]]:
    bounds, owners = [0], [-1]
    stack: list[tuple[int, int]] = []  # (end, index)

    def close(until: int) -> None:
        while stack and stack[-1][0] <= until:
            end, _ = stack.pop()
            bounds.append(end)
            owners.append(stack[-1][1] if stack else -1)

    for draft in drafts:
        if draft.scopeless:
            continue
        close(draft.start)
        end = min(draft.end, stack[-1][0]) if stack else draft.end
        bounds.append(draft.start)
        owners.append(draft.index)
        stack.append((end, draft.index))
    close(_BEYOND)
    return bounds, owners


def symbols(module: str, table: Table, lines: Lines) -> tuple[Symbol, ...]:
    """Turn settled drafts into symbols; `module` prefixes every full name."""
    drafts = table.drafts
    names = _full_names(module, drafts)
    starts = lines.of([draft.start for draft in drafts])
    ends = lines.of([max(draft.start, draft.end - 1) for draft in drafts])
    return tuple(
        Symbol(
            draft.kind, draft.name[:_NAME_CHARS], full_name, draft.signature[:SIGNATURE_CHARS],
            start_line, end_line, draft.start, draft.end, draft.parent, draft.doc[:DOC_CHARS],
            draft.visibility, draft.arity,
            tuple(draft.params), draft.returns, draft.modifiers, draft.decorators,
            tuple(draft.bases),
        )
        for draft, full_name, start_line, end_line in zip(drafts, names, starts, ends, strict=True)
    )  # fmt: skip


def _full_names(module: str, drafts: list[Draft]) -> list[str]:
    """Join names from the module inwards; a parent may come after its member (Go, Rust)."""
    names = [""] * len(drafts)
    late = []
    for draft in drafts:
        if draft.parent > draft.index:
            late.append(draft)
        else:
            names[draft.index] = _full_name(module, names, draft)
    for draft in late:
        names[draft.index] = _full_name(module, names, draft)
    for draft in drafts if late else ():
        names[draft.index] = _full_name(module, names, draft)
    return names


def _full_name(module: str, names: list[str], draft: Draft) -> str:
    above = names[draft.parent] if draft.parent >= 0 else module
    if draft.absolute and draft.parent < 0:
        above = ""
    return ".".join(part for part in (above, draft.prefix, draft.name) if part)[:_FULL_NAME_CHARS]


class Lines:
    """Line numbers of byte positions, 1-based."""

    def __init__(self, data: bytes) -> None:
        self.breaks = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == 10)
        self.starts = np.concatenate(([0], self.breaks + 1))
        self.count = len(self.breaks) + (0 if not data or data.endswith(b"\n") else 1)

    def of(self, positions: list[int]) -> list[int]:
        if not positions:
            return []
        found: list[int] = (self.breaks.searchsorted(positions) + 1).tolist()
        return found
