"""What does a function that is an argument get, as the declarations of Java and C# tell it?

`@<T>;` gives a call its type arguments, `@*.owner;` calls what makes something of elements, `@2.0` asks for parameter 0 of what is given as argument 2, `@.0` for parameter 0 of the function
that a value is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from services.resolution import library_types, type_arguments
from services.resolution.choice import filled, joined
from services.resolution.expressions import CALL, chain_of
from services.resolution.extensions import EXTENSION, is_called_on
from services.resolution.generics import parts_of
from services.resolution.overloads import split
from services.resolution.summary import METHODS, Decl
from services.resolution.values import (
    CALLABLE,
    INSTANCE,
    OUTSIDE,
    PARAMETER,
    PARENT,
    SEVERAL,
    TYPE,
    Value,
    knowing,
)

if TYPE_CHECKING:
    from services.resolution.engine import Engine

_CONCRETE = frozenset({"default", "static"})


def handed(engine: Engine, value: Value, step: str, place: tuple[str, str]) -> Value | None:
    """Return what a function gets, given what it is an argument of or what it is."""
    if step[1] == "<":
        told = tuple([engine.typed(part, *place) for part in parts_of(step[1:-1])])
        return _with_arguments(engine, value, told)
    if step[1] == "*":
        return _selected(engine, value, step[2:-1], place)
    argument, _, parameter = step[1:].partition(".")
    if not argument:
        return _parameter(engine, value, int(parameter))
    if value.sort == OUTSIDE:
        owner = value.owner
        return library_types.hands(owner, value.name, int(parameter)) if owner is not None else None
    found = []
    for one in value.arguments if value.sort == SEVERAL else (value,):
        if one is None or one.sort != CALLABLE or one.decl is None:
            return None
        at = int(argument) + is_called_on(one.owner)
        declared = _declared(engine, one.decl, at, one.owner)
        given = _parameter(engine, declared, int(parameter)) if declared is not None else None
        if given is not None:
            found.append(given)
    return joined(found)


def _selected(engine: Engine, value: Value, told: str, place: tuple[str, str]) -> Value | None:
    """Return what a call gives whose argument makes something of each element."""
    if value.sort != OUTSIDE or value.owner is None:
        made = handed(engine, value, "@0.0", place)
        result = _of_element(engine, made, told, place) if made is not None else None
        return engine.called(_inferred(engine, value, result))
    element = library_types.hands(value.owner, value.name, 0)
    result = _of_element(engine, element, told, place) if element is not None else None
    whole = engine.called(value)
    if result is None or whole is None or not whole.arguments:
        return whole
    if value.name in library_types.FLATTENING:
        result = result.arguments[-1] if result.arguments else None
    return replace(whole, arguments=(result,))


def _of_element(engine: Engine, element: Value, told: str, place: tuple[str, str]) -> Value | None:
    """Return what `.owner.name`, `Order::owner` or `Order::new` makes of an element."""
    named, reference, method = told.partition("::")
    if not reference:
        chain = chain_of(f"it{told}")
        return engine.steps(element, chain[1:], place) if chain is not None else None
    owner = engine.typed(named, *place)
    if method == "new" or owner is None or owner.decl is None:
        return owner if method == "new" else None
    found = engine.member(owner, method)
    if any("static" in decl.modifiers for decl in found.decls):
        return engine.steps(replace(owner, sort=TYPE), (method, CALL), place)
    return engine.steps(element if element.decl is not None else owner, (method, CALL), place)


def _inferred(engine: Engine, value: Value, result: Value | None) -> Value:
    """Let a method know the type parameter that the function it is given tells by its result."""
    decl = value.decl
    if result is None or value.sort != CALLABLE or decl is None or not decl.takes:
        return value
    declared = engine.typed(decl.takes[0], decl.path, decl.context) if decl.takes[0] else None
    given = declared.arguments[-1] if declared is not None and declared.arguments else None
    if given is None or given.sort != PARAMETER or given.name not in decl.parameters:
        return value
    known = type_arguments.known_from(engine, decl, value.owner) | {given.name: result}
    return replace(value, owner=knowing(known))


def _with_arguments(engine: Engine, value: Value, told: tuple[Value | None, ...]) -> Value | None:
    """Return a type or a callable with its type arguments, as `@<T>;` has them."""
    if value.sort == TYPE:
        return replace(value, arguments=told)
    if value.sort == OUTSIDE and value.owner is not None:
        typed = value.name in library_types.CONVERTING
        return replace(value, owner=replace(value.owner, arguments=told)) if typed else value
    if value.sort == SEVERAL:
        made = [_with_arguments(engine, one, told) for one in value.arguments if one is not None]
        return replace(value, arguments=tuple(made))
    decl = value.decl
    if value.sort != CALLABLE or decl is None or len(decl.parameters) != len(told):
        return value
    known = type_arguments.known_from(engine, decl, value.owner)
    own = zip(decl.parameters, told, strict=True)
    known |= {name: one for name, one in own if one is not None}
    modifiers = (EXTENSION,) if is_called_on(value.owner) else ()
    return replace(value, owner=knowing(known, modifiers))


def _declared(engine: Engine, decl: Decl, at: int, owner: Value | None) -> Value | None:
    """Return the declared type of one parameter, as seen from what it is called on."""
    text = decl.takes[at] if at < len(decl.takes) else ""
    if not text:
        types = split(decl.suffix[1:-1])
        text = types[at] if at < len(types) else ""
    if not text:
        return None
    found = engine.typed(text, decl.path, decl.context or decl.full_name)
    if found is None:
        return None
    return filled(found, type_arguments.known_from(engine, decl, owner), engine.held)


def _parameter(engine: Engine, value: Value, at: int) -> Value | None:
    if value.sort == OUTSIDE:
        return library_types.parameter_of(value, at)
    if value.sort not in (INSTANCE, TYPE, PARENT) or value.decl is None:
        return None
    if value.decl.kind == "type":  # a delegate
        return _declared(engine, value.decl, at, value)
    wanted = _only_method(engine, value.decl)
    return _declared(engine, wanted, at, value) if wanted is not None else None


def _only_method(engine: Engine, decl: Decl) -> Decl | None:
    """Return the one method that an interface leaves open."""
    if decl.kind != "interface":
        return None
    found: dict[str, Decl] = {}
    given: set[str] = set()  # what a nearer interface has a body for
    for ancestor in engine.lineage(decl)[0]:
        for method in cast(tuple[Decl, ...], engine.facts(METHODS, ancestor.full_name)):
            if _CONCRETE.isdisjoint(method.modifiers):
                found.setdefault(method.name, method)
            elif method.name not in found:
                given.add(method.name)
    left = [method for name, method in found.items() if name not in given]
    return left[0] if len(left) == 1 else None
