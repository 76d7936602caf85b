"""Which of the things that a function tells of a local holds at a line?

What is told comes in source order: what a variable is declared with or assigned, checks that narrow
it, and blocks that declare it anew; checks and blocks end where a WIDEN says so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from services.resolution.expressions import TYPE_OPEN
from services.resolution.scopes import BLOCK, NARROW, NOT_TOLD, WIDEN, Told

_ANEW = -2  # a block has declared it without telling more


def standing(told: Sequence[Told], line: int, inclusive: bool) -> int:
    """Return the index of what holds, -1 when nothing is known to."""
    if len(told) == 1 and told[0][1] and told[0][1][0] not in NOT_TOLD:
        return 0
    at = -1
    around: list[int] = []  # what held before each check or block that is not over
    for number, (place, text) in enumerate(told):
        if text == WIDEN:
            if place < line:
                at = around.pop() if around else at
        elif place < line or (inclusive and place == line):
            if text[:1] in (NARROW, BLOCK):
                around.append(at)
            at = _ANEW if text == BLOCK else number
    return _anywhere(told) if at == -1 else max(at, -1)


class Timeline:
    """What `standing` says of one local, line after line, worked out once."""

    def __init__(self, told: Sequence[Told]) -> None:
        self._told = told
        self._lines = [line for line, _ in told]
        self._after = [-1]  # what holds behind so many of the things told
        around: list[int] = []
        at = -1
        for number, (_, text) in enumerate(told):
            if text == WIDEN:
                at = around.pop() if around else at
            else:
                if text[:1] in (NARROW, BLOCK):
                    around.append(at)
                at = _ANEW if text == BLOCK else number
            self._after.append(at)
        self._anywhere = _anywhere(told)

    def at(self, line: int, inclusive: bool) -> int:
        """Return the index of what holds, -1 when nothing is known to."""
        number = bisect_left(self._lines, line)
        at = self._after[number]
        while inclusive and number < len(self._lines) and self._lines[number] == line:
            text = self._told[number][1]
            if text != WIDEN:
                at = _ANEW if text == BLOCK else number
            number += 1
        return self._anywhere if at == -1 else max(at, -1)


def _anywhere(told: Sequence[Told]) -> int:
    """Return the last thing told that holds in all of the function, -1 when only blocks tell any."""
    found = -1
    inside: list[bool] = []  # of each check or block around: is it, or what is around it, a block?
    for number, (_, text) in enumerate(told):
        if text == WIDEN:
            if inside:
                inside.pop()
        elif text[:1] in (NARROW, BLOCK):
            inside.append(text == BLOCK or (bool(inside) and inside[-1]))
        elif text and not (inside and inside[-1]):
            found = number
    return found


def first_of_its_block(told: Sequence[Told], at: int) -> bool:
    """Is nothing told of the local before, by the block or function that declares it?"""
    return at == 0 or told[at - 1][1] == BLOCK


def declared(told: Sequence[Told], line: int) -> str:
    """Return the type the local is declared with, or else what it was last assigned; "" for neither."""
    at = standing(told, line, inclusive=True)
    over = 0  # checks and blocks passed that were over
    for _, text in reversed(told[: at + 1]):
        if text == WIDEN:
            over += 1
        elif text[:1] in (NARROW, BLOCK):
            if text == BLOCK and over == 0:
                break
            over = max(over - 1, 0)
        elif over == 0 and text[:1] == TYPE_OPEN:
            return text
    return told[at][1] if at >= 0 else ""
