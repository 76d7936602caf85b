"""Which of several things is meant, and what do several things have in common?"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from services.resolution.expressions import TYPE_OPEN
from services.resolution.scopes import CALLABLE
from services.resolution.summary import TYPE_LIKE, TYPES, Decl
from services.resolution.values import (
    MEANS_ANY,
    MEANS_TYPE,
    MEDIUM,
    RESOLVED,
    SEVERAL,
    Found,
    Value,
)


@lru_cache(maxsize=4_096)
def parameter_types(text: str) -> tuple[str, ...]:
    """Return the types of the parameters of a written function type."""
    start = text.find("(")
    depth, begin, found = 0, start + 1, []
    for at in range(max(start, 0), len(text)):
        char = text[at]
        if char in "([{<":
            depth += 1
        elif char in ")]}" or (char == ">" and text[at - 1] != "="):
            depth -= 1
        if (char == "," and depth == 1) or depth == 0:
            name, _, declared = text[begin:at].partition(":")
            if name.strip() != "this":
                found.append(declared.strip())
            begin = at + 1
        if depth == 0:
            break
    return tuple(found)


def meant(found: Found, meaning: int) -> Found:
    """Of an interface and a constant of one name, keep which is meant."""
    if found.state != RESOLVED or meaning == MEANS_ANY:
        return found
    wanted = tuple(
        [
            decl
            for decl in found.decls
            if decl.kind == "class"
            or decl.kind == "enum"
            or (decl.kind in TYPE_LIKE) == (meaning == MEANS_TYPE)
        ]
    )
    return found._replace(decls=wanted) if wanted else found


def takes(decl: Decl, argc: int) -> bool:
    """Can a callable be called with so many arguments?"""
    if "variadic" in decl.modifiers:
        return argc >= decl.arity - 1
    return decl.arity in (argc, -1)


def is_dunder(name: str) -> bool:
    """Is it one of Python's `__names__`?"""
    return name[:2] == "__" == name[-2:]


def is_annotated(decl: Decl) -> bool:
    """Does a field or property state its type?"""
    return decl.kind == "property" or bool(decl.told and decl.told[0][0] == TYPE_OPEN)


def rank(decl: Decl) -> int:
    """Order declarations of one name: types, callables, properties, fields."""
    if decl.kind in TYPES:
        return 0
    if decl.kind in CALLABLE or decl.kind == "type":
        return 1
    return 2 if decl.kind == "property" else 3


def joined(known: list[Value]) -> Value | None:
    """Return what is one of several values."""
    distinct: dict[Any, Value] = {}
    for value in known:
        for one in value.arguments if value.sort == SEVERAL else (value,):
            if one is not None:
                place = (one.decl.path, one.decl.id) if one.decl is not None else one.name
                distinct.setdefault((one.sort, place), one)
    if len(distinct) <= 1:
        return next(iter(distinct.values()), None)
    inside = [one for one in distinct.values() if one.decl is not None]
    if len(inside) == 1:
        return inside[0]._replace(confidence=MEDIUM)
    return Value(SEVERAL, arguments=tuple(inside or distinct.values()), confidence=MEDIUM)


def substituted(found: Value, owner: Value | None) -> Value | None:
    """Put the type argument in place of a type parameter."""
    if owner is None or owner.decl is None or found.name not in owner.decl.parameters:
        return None
    at = owner.decl.parameters.index(found.name)
    return owner.arguments[at] if at < len(owner.arguments) else None


def rank_apart(decl: Decl) -> int:
    """Order declarations where a field and a method may share a name: a method is called by it."""
    if decl.kind in TYPES or decl.kind == "type":
        return 0
    return 2 if decl.kind in CALLABLE else 1
