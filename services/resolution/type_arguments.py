"""What do type parameters, and TypeScript's aliases, function types and checks, make of a value?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from services.resolution.choice import filled, joined, literal_of
from services.resolution.expressions import TYPE_CLOSE, TYPE_OPEN
from services.resolution.generics import parts_of
from services.resolution.scopes import CALLABLE
from services.resolution.summary import TYPE_LIKE, Decl
from services.resolution.values import (
    INSTANCE,
    MEDIUM,
    NOTHING,
    PARAMETER,
    RESOLVED,
    SEVERAL,
    Found,
    Value,
)

if TYPE_CHECKING:
    from services.resolution.engine import Engine

_MOST_NESTED, _MOST_SPENT = 6, 200
_MOST_BASES, _MOST_ALIASES, _MOST_UNIONS = 12, 8, 3  # that are looked through, one in the other


def _begin(engine: Engine) -> bool:
    """Is there any effort left for the question at hand? A type may be made of itself."""
    if engine.nested >= _MOST_NESTED or engine.spent >= _MOST_SPENT:
        return False
    engine.nested += 1
    engine.spent += 1
    return True


def closed(engine: Engine, found: Value, decl: Decl, owner: Value | None) -> Value:
    """Return what a declaration tells, type arguments put in; left as it is when it has no end."""
    if not _begin(engine):
        return found
    try:
        return filled(found, known_from(engine, decl, owner), engine.held)
    finally:
        engine.nested -= 1


def through_alias(engine: Engine, value: Value, name: str, argc: int) -> Found | None:
    """Return a member of what an alias stands for."""
    if not _begin(engine):
        return None
    try:
        inner = unaliased(engine, value)
        own = inner is None or inner.decl is value.decl
        return None if own else engine.member(inner, name, argc)
    finally:
        engine.nested -= 1


def known_from(engine: Engine, decl: Decl, owner: Value | None) -> dict[str, Value]:
    """Return what type parameters stand for where a declaration is seen from its owner."""
    if owner is None or owner.decl is None:
        return {}
    if not decl.name or not owner.decl.name:  # a function type, or an extension: held apart
        return _completed(engine, owner)
    if decl.kind in TYPE_LIKE:
        return _completed(engine, owner) if owner.decl.full_name == decl.full_name else {}
    found = _seen_from(engine, owner, decl.path, decl.container)
    for name in decl.parameters if found else ():
        found.pop(name, None)  # its own, not the type's of that name
    return found


def _completed(engine: Engine, value: Value) -> dict[str, Value]:
    """Return the arguments of a type by parameter, defaults in place of what is not given."""
    found: dict[str, Value] = {}
    decl = value.decl
    for at, name in enumerate(decl.parameters if decl is not None else ()):
        one = value.arguments[at] if at < len(value.arguments) else None
        if one is None and decl is not None and at < len(decl.bounds):
            bound, default = decl.bounds[at]
            told = engine.typed(default or bound, decl.path, decl.full_name)
            one = filled(told, found, engine.held) if told is not None else None
        if one is not None:
            found[name] = one
    return found


def _seen_from(
    engine: Engine, owner: Value, path: str, name: str, depth: int = 0
) -> dict[str, Value]:
    """Return the arguments that a type above the owner has there."""
    decl = owner.decl
    if decl is None or depth > _MOST_BASES:
        return {}
    own = _completed(engine, owner)
    filed = engine.family.filed
    if decl.full_name == name and (decl.path == path or not filed):
        return own
    for base in _bases_with_arguments(engine, decl):
        above = unaliased(engine, filled(base, own, engine.held))
        if above is not None and above.decl is not None:
            line, _ = engine.lineage(above.decl)
            if any(one.full_name == name and (one.path == path or not filed) for one in line):
                return _seen_from(engine, above, path, name, depth + 1)
    return {}


def _bases_with_arguments(engine: Engine, decl: Decl) -> list[Value]:
    told = [engine.typed(text, decl.path, decl.full_name) for text in decl.derived]
    plain = [base.decls[0] for base in engine.bases(decl) if base.decls]
    known = [value for value in told if value is not None and value.decl is not None]
    named = {value.decl.full_name for value in known if value.decl is not None}
    return known + [Value(INSTANCE, one) for one in plain if one.full_name not in named]


def unaliased(engine: Engine, value: Value | None, depth: int = 0) -> Value | None:
    """Return what an alias stands for, its arguments put in."""
    for _ in range(_MOST_ALIASES):
        if value is None or value.sort == SEVERAL:
            break
        decl = value.decl
        if decl is None or decl.kind != "type" or value.sort != INSTANCE or not decl.told:
            return value
        inner = engine.told(decl, value)
        if inner is None or (inner.decl is decl and inner.arguments == value.arguments):
            return value
        value = inner
    if value is not None and value.sort == SEVERAL and depth < _MOST_UNIONS:
        parts = [unaliased(engine, one, depth + 1) for one in value.arguments if one is not None]
        return joined([one for one in parts if one is not None])
    return value


def told_apart(engine: Engine, value: Value | None, check: str) -> Value | None:
    """Return what is left of several values when `kind="a"|"b"` is known of a member."""
    value = unaliased(engine, value)
    if value is None or value.sort != SEVERAL:
        return value
    name, _, given = check.partition("=")
    wanted = {literal_of(one) for one in given.split("|")}
    left = []
    for one in value.arguments:
        found = engine.member(one, name)
        told = found.decls[0].told if found.decls else ()
        text = told[0].strip(TYPE_OPEN + TYPE_CLOSE) if len(told) == 1 else ""
        literals = {literal_of(part) for part in text.split("|")}
        if one is not None and (None in literals or literals & wanted):
            left.append(one)
    return joined(left) or value


def bounded(engine: Engine, value: Value, name: str, argc: int) -> Found:
    """Return a member of what a type parameter extends."""
    decl = value.decl
    if decl is None or value.name not in decl.parameters:
        return NOTHING
    at = decl.parameters.index(value.name)
    bound, default = decl.bounds[at] if at < len(decl.bounds) else ("", "")
    told = engine.typed(bound or default, decl.path, decl.full_name)
    for step in value.path.split(".") if value.path else ():
        told = engine.held(told, step) if told is not None else None
    if told is None or told.sort == PARAMETER:
        return NOTHING
    every = told.arguments if told.sort == SEVERAL and engine.family.overloads else (told,)
    known = [engine.member(one, name, argc) for one in every]  # a value is all of them
    found = next((one for one in known if one.state == RESOLVED), known[0])
    if engine.family.overloads or engine.family.name == "rust":  # none extends a type by chance
        return found
    return replace(found, confidence=min(found.confidence, MEDIUM))


def _asked(engine: Engine, value: Value) -> tuple[tuple[str, ...], Decl] | None:
    """Return the declared types of the parameters of what can be called."""
    whole = unaliased(engine, value)
    decl = whole.decl if whole is not None else None
    if decl is None or not (decl.kind in CALLABLE or decl.kind == "interface"):
        return None
    return (decl.takes, decl) if decl.takes else None


def expected(engine: Engine, value: Value, step: str, place: tuple[str, str]) -> Value | None:
    """Return what a function has as a parameter: `@.0`, itself called; `@2.0`, its argument 2.

    `@2.0<T>;` is told its type arguments, `@2.0=T;` the type of what calling it gives.
    """
    at = next((n for n, char in enumerate(step) if char in "<="), len(step))
    argument, _, parameter = step[1:at].partition(".")
    asked = _asked(engine, value)
    if asked is None:
        return None
    types, decl = asked
    context = decl.full_name if decl.kind in TYPE_LIKE else decl.context or decl.container
    given = _completed(engine, value) if decl.kind in TYPE_LIKE else {}
    if decl.kind not in TYPE_LIKE:
        whole = unaliased(engine, value)
        given = known_from(engine, decl, whole.owner if whole is not None else None)
        given |= _inferred(engine, decl, step[at:-1], place)
    if argument:
        if int(argument) >= len(types):
            return None
        inner = engine.typed(types[int(argument)], decl.path, context)
        found = filled(inner, given, engine.held) if inner is not None else None
        if found is None:
            return None
        answer = expected(engine, found, f"@.{parameter}", place)
        return filled(answer, given, engine.held) if answer is not None else None
    if int(parameter) >= len(types):
        return None
    told = engine.typed(types[int(parameter)], decl.path, context)
    return filled(told, given, engine.held) if told is not None else None


def _inferred(engine: Engine, decl: Decl, told: str, place: tuple[str, str]) -> dict[str, Value]:
    """Return what a function's own type parameters are, by its arguments or its result."""
    arguments: list[Value | None] = []
    if told[:1] == "<":
        arguments = [engine.typed(part, *place) for part in parts_of(told)]
    elif told and decl.told:
        wanted = engine.typed(told[1:], *place)
        context = decl.context or decl.container
        gives = engine.typed(decl.told[0].strip(TYPE_OPEN + TYPE_CLOSE), decl.path, context)
        if wanted is not None and gives is not None and wanted.decl is gives.decl:
            known = {
                one.name: two
                for one, two in zip(gives.arguments, wanted.arguments, strict=False)
                if one is not None and one.sort == PARAMETER
            }
            arguments = [known.get(name) for name in decl.parameters]
    return _completed(engine, Value(INSTANCE, decl, tuple(arguments))) if arguments else {}
