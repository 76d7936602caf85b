"""Which of C#'s extension methods does a call on a value mean?

One that is in sight (its namespace is around or brought in) and whose first parameter the value fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from services.resolution import library_types
from services.resolution.choice import takes
from services.resolution.overloads import split
from services.resolution.scopes import CALLABLE
from services.resolution.summary import BY_NAME, Decl
from services.resolution.usings import usings
from services.resolution.values import (
    AMBIGUOUS,
    HIGH,
    INSTANCE,
    MEDIUM,
    OUTSIDE,
    PARAMETER,
    RESOLVED,
    SEVERAL,
    Found,
    Value,
    knowing,
)
from services.resolution.values import CALLABLE as CALLED

if TYPE_CHECKING:
    from services.resolution.engine import Engine

EXTENSION = "extension"
_DEEP = 4  # arguments of arguments that are compared
Place = tuple[str, str]  # a file and its namespace


def extended(
    engine: Engine, found: Found, value: Value, name: str, argc: int, place: Place
) -> Found | None:
    """Return the extension methods that are meant in place of what was found, None for none."""
    if value.sort not in (INSTANCE, OUTSIDE, PARAMETER) or _is_own(found, argc):
        return None
    decls = [
        decl
        for decl in engine.decls(BY_NAME, name)
        if EXTENSION in decl.modifiers and isinstance(decl, Decl)
        if (argc < 0 or takes(decl, argc + 1)) and _is_in_sight(engine, decl, place)
        if known_by(engine, decl, value) is not None
    ]
    if not decls:
        return None
    seen = value.path if value.decl is None else not engine.lineage(value.decl)[1]
    sure = HIGH if seen else MEDIUM  # else the type may have it where nobody sees
    if len({decl.id for decl in decls}) == 1:
        return Found(RESOLVED, tuple(decls), min(sure, value.confidence))
    return Found(AMBIGUOUS, tuple(decls), MEDIUM)


def called_on(engine: Engine, found: Found, value: Value) -> Value | None:
    """Return an extension method as a value that knows what it was called on."""
    decl = found.decls[0]
    if len({(one.told, one.parameters) for one in found.decls}) > 1:
        every = [called_on(engine, Found(RESOLVED, (one,)), value) for one in found.decls]
        return Value(SEVERAL, arguments=tuple(every))
    known = known_by(engine, decl, value) or {}
    owner = knowing(known, (EXTENSION,))
    return Value(CALLED, decl, owner=owner, confidence=found.confidence)


def is_called_on(value: Value | None) -> bool:
    """Is it what `called_on` gives a method as its owner, so that its first argument is not written?"""
    return value is not None and value.decl is not None and EXTENSION in value.decl.modifiers


def known_by(engine: Engine, decl: Decl, value: Value) -> dict[str, Value] | None:
    """Return what a value tells of an extension's type parameters; None when it does not fit."""
    text = decl.takes[0] if decl.takes and decl.takes[0] else split(decl.suffix[1:-1])[0]
    wanted = engine.typed(text, decl.path, decl.context)
    if wanted is None:
        return None
    known: dict[str, Value] = {}
    return known if _fits(engine, value, wanted, known) else None


def _is_own(found: Found, argc: int) -> bool:
    """Does the type have such a member itself? It goes before extensions."""
    if found.state not in (RESOLVED, AMBIGUOUS) or not found.decls:
        return found.state == RESOLVED
    callables = [decl for decl in found.decls if decl.kind in CALLABLE]
    return argc < 0 or not callables or any(takes(decl, argc) for decl in callables)


def _is_in_sight(engine: Engine, decl: Decl, place: Place) -> bool:
    path, namespace = place
    space = decl.container.rpartition(".")[0]
    if not space or namespace == space or namespace.startswith(f"{space}."):
        return True
    return any(fact.module in (space, decl.container) for fact in usings(engine, path))


def _fits(
    engine: Engine, value: Value, wanted: Value, known: dict[str, Value], depth: int = 0
) -> bool:
    if wanted.sort == PARAMETER:
        if wanted.decl is not None and not _is_within(engine, value, wanted):
            return False
        known[wanted.name] = value
        return True
    if depth > _DEEP:
        return False
    if wanted.sort == INSTANCE and wanted.decl is not None:
        if value.sort == PARAMETER or value.decl is None:
            return False
        if value.decl.full_name != wanted.decl.full_name:
            return _derives(engine, value.decl, wanted.decl)
    elif wanted.sort == OUTSIDE:
        if value.sort != OUTSIDE or not library_types.is_above(wanted, value):
            return False
    else:
        return False
    return all(
        one is not None and other is not None and _fits(engine, one, other, known, depth + 1)
        for one, other in zip(value.arguments, wanted.arguments, strict=False)
    )


def _is_within(engine: Engine, value: Value, wanted: Value) -> bool:
    """Does a value keep to what a type parameter has to be?"""
    decl = wanted.decl
    at = decl.parameters.index(wanted.name) if decl is not None else -1
    if decl is None or at >= len(decl.bounds) or not decl.bounds[at][0]:
        return True
    bound = engine.typed(decl.bounds[at][0], decl.path, decl.full_name)
    if bound is None or bound.decl is None or value.decl is None:
        return False
    return _derives(engine, value.decl, bound.decl)


def _derives(engine: Engine, decl: Decl, above: Decl) -> bool:
    return any(one.full_name == above.full_name for one in engine.lineage(decl)[0])
