"""What do types of Java and C# mean where more than a declaration of the repository is to know?

The library's containers, type parameters, and members that a type has without declaring them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from services.resolution import library_types, values
from services.resolution.expressions import CALL
from services.resolution.summary import TYPE_LIKE, TYPES, Decl
from services.resolution.values import (
    EXTERNAL,
    HIGH,
    INSTANCE,
    OUTSIDE,
    PARENT,
    TYPE,
    UNRESOLVED,
    Found,
    Value,
)

if TYPE_CHECKING:
    from services.resolution.engine import Engine

FAMILIES = frozenset({"jvm", "csharp"})
_BY_VALUE = frozenset({"struct", "record", "enum"})  # kinds of types that C# may wrap as nullable
_OUTER = frozenset({"this", "super"})  # `Outer.this`, `Interface.super`


def parameter(engine: Engine, name: str, path: str, context: str) -> Value | None:
    """Return the type parameter that a written name is, whatever else has that name further out."""
    known = engine.remembered(("p", context), lambda: _parameters(engine, path, context), {})
    where = cast(dict[str, Decl], known).get(name)
    return values.parameter(name, where) if where is not None else None


def _parameters(engine: Engine, path: str, context: str) -> dict[str, Decl]:
    """Return the type parameters around a place, each by what declares it."""
    found: dict[str, Decl] = {}
    while context:
        context, _, last = context.rpartition(".")
        for decl in engine.decls_in(path, context, last):
            for name in decl.parameters:
                found.setdefault(name, decl)
    return found


def of_library(
    engine: Engine, found: Found, name: str, arguments: tuple[Value | None, ...]
) -> Value | None:
    """Return an instance of a library's container, by its simple name and what was found of it."""
    if not arguments or found.state not in (EXTERNAL, UNRESOLVED):
        return None
    family = engine.family.name
    # C# brings much of its library in without a word in the file.
    package = found.hint if found.state == EXTERNAL or family == "jvm" else "System"
    if not package or not library_types.is_known(family, name, package):
        return None
    return Value(OUTSIDE, name=package, arguments=arguments, path=name)


def type_beyond(engine: Engine, found: Found, name: str, path: str, context: str) -> Found:
    """Return the type that a name means where a member has it too: `Address Address { get; }`."""
    while context and found.decls and found.decls[0].kind not in TYPE_LIKE:
        context, _, last = context.rpartition(".")
        around = [one for one in engine.decls(context, last) if one.kind in TYPES]
        for ancestor in engine.lineage(around[0])[0] if around else ():
            types = [one for one in engine.decls(ancestor.full_name, name) if one.kind in TYPE_LIKE]
            if types:
                return engine.chosen(tuple(types))
        found = engine.named(name, path, context)
    return found


def outer(value: Value, step: str) -> Value | None:
    """Return what `Outer.this` and `Outer.super` are, None for any other member."""
    if value.sort != TYPE or value.decl is None or step not in _OUTER:
        return None
    derived = step == "super" and value.decl.kind == "class"
    return replace(value, sort=PARENT if derived else INSTANCE)


def member(value: Value, name: str, family: str) -> Found:
    """Return a member of a library's container."""
    inner = Value(OUTSIDE, name=name, owner=value)
    if family == "csharp" and library_types.is_read(name):
        inner = library_types.gives(value, name, family) or Value(OUTSIDE, name=value.name)
    return Found(EXTERNAL, (), HIGH, inner, value.name)


def implied(engine: Engine, value: Value, name: str, found: Found) -> Found | None:
    """Return what every enum of Java has, and what C# has for what is awaited or may be null."""
    decl, family = value.decl, engine.family.name
    if decl is None:
        return None
    if family == "jvm":
        if value.sort != TYPE or decl.kind != "enum" or name not in ("values", "valueOf"):
            return None
        made = replace(value, sort=INSTANCE)
        return member(Value(OUTSIDE, None, (made,), "builtins", "Enum"), name, family)
    if found.state != UNRESOLVED or value.sort != INSTANCE:
        return None
    wrapper = library_types.wrapper_with(name, decl.kind in _BY_VALUE)
    held = Value(OUTSIDE, None, (value,), "System", wrapper)
    return member(held, name, family) if wrapper else None


def called(value: Value, family: str) -> Value | None:
    """Return what calling a member of a library's container gives, or a function of such a type.

    None when the call decides it: it may be a type of the repository then.
    """
    owner, name = (value, CALL) if value.owner is None else (value.owner, value.name)
    if library_types.is_told(owner, name, family):
        return library_types.gives(owner, name, family)
    return Value(OUTSIDE, name=owner.name)
