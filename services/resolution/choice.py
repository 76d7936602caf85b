"""Which of several things is meant, and what do several things have in common?"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from services.resolution.expressions import TYPE_OPEN
from services.resolution.scopes import CALLABLE
from services.resolution.summary import TYPE_LIKE, TYPES, Decl
from services.resolution.values import CALLABLE as CALLED
from services.resolution.values import (
    MEANS_ANY,
    MEANS_TYPE,
    MEDIUM,
    PARAMETER,
    RESOLVED,
    SEVERAL,
    Found,
    Value,
    knowing,
)

_DEEP = 6  # arguments of arguments that are looked into


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


def returned_type(text: str) -> str:
    """Return what a written function type gives."""
    depth = 0
    for at in range(text.find("("), len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            rest = text[at + 1 :].lstrip()
            return rest[2:].strip() if rest.startswith("=>") else ""
    return ""


def literal_of(text: str) -> str | None:
    """Return a literal type or an enum's member, None for any other type."""
    text = text.strip()
    if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]:
        return text[1:-1]
    parts = text.split(".")
    if len(parts) > 1 and all(part.isidentifier() for part in parts):
        return ".".join(parts[-2:])
    return None


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
    return replace(found, decls=wanted) if wanted else found


def takes(decl: Decl, argc: int) -> bool:
    """Can a callable be called with so many arguments?"""
    if "variadic" in decl.modifiers:
        return argc >= decl.arity - 1 - decl.optional
    return decl.arity == -1 or decl.arity - decl.optional <= argc <= decl.arity


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
                place: Any = (one.decl.path, one.decl.id) if one.decl is not None else one.name
                if one.sort == PARAMETER:
                    place = (place, one.name, one.path)
                distinct.setdefault((one.sort, place), one)
    if len(distinct) <= 1:
        return next(iter(distinct.values()), None)
    inside = [one for one in distinct.values() if one.decl is not None]
    if len(inside) == 1:
        return replace(inside[0], confidence=MEDIUM)
    return Value(SEVERAL, arguments=tuple(inside or distinct.values()), confidence=MEDIUM)


def substituted(found: Value, owner: Value | None) -> Value | None:
    """Put the type argument in place of a type parameter."""
    if owner is None or owner.decl is None or found.name not in owner.decl.parameters:
        return None
    at = owner.decl.parameters.index(found.name)
    return owner.arguments[at] if at < len(owner.arguments) else None


def is_function_type(found: Value) -> bool:
    """Is it a function known by a written type only?"""
    return found.sort == CALLED and found.decl is not None and not found.decl.name


def is_open(found: Value, depth: int = 0) -> bool:
    """Does a value depend on type parameters?"""
    return (
        found.sort == PARAMETER
        or is_function_type(found)
        or (
            depth < _DEEP
            and any(one is not None and is_open(one, depth + 1) for one in found.arguments)
        )
    )


def filled(
    found: Value,
    given: dict[str, Value],
    held: Callable[[Value, str], Value | None],
    depth: int = 0,
) -> Value:
    """Put arguments in place of type parameters, at any depth; `held` gives a value's member."""
    if found.sort == PARAMETER:
        value = given.get(found.name)
        if value is None:
            return found
        for name in found.path.split(".") if found.path else ():
            inner = held(value, name)
            if inner is None:
                return found
            value = inner
        return value
    if is_function_type(found) and given:
        return replace(found, owner=knowing(given))
    if depth >= _DEEP or not found.arguments:
        return found
    inside = tuple(
        [
            filled(one, given, held, depth + 1) if one is not None else None
            for one in found.arguments
        ]
    )
    if found.sort == SEVERAL:
        return joined([one for one in inside if one is not None]) or found
    return replace(found, arguments=inside)


def rank_apart(decl: Decl) -> int:
    """Order declarations where a field and a method may share a name: a method is called by it."""
    if decl.kind in TYPES or decl.kind == "type":
        return 0
    return 2 if decl.kind in CALLABLE else 1
