"""What can an expression stand for, and what does looking up a name give?"""

from __future__ import annotations

from msgspec import Struct

from services.resolution.summary import Decl

LOW, MEDIUM, HIGH = range(3)
RESOLVED, UNRESOLVED, AMBIGUOUS, EXTERNAL = range(4)

MEANS_ANY, MEANS_TYPE, MEANS_VALUE = range(3)  # where a name is both a type and a value

INSTANCE, TYPE, CALLABLE, MODULE, OUTSIDE, SEVERAL, PARENT, PARAMETER = range(8)


class Value(Struct, frozen=True, gc=False):
    """What an expression stands for, as far as it is known."""

    sort: int
    decl: Decl | None = None  # its type, or the callable
    arguments: tuple[Value | None, ...] = ()  # of a generic type; the values of SEVERAL
    name: str = ""  # of a module, of what is outside, of a type parameter
    path: str = ""  # file of a module
    owner: Value | None = None  # what a callable was looked up on
    confidence: int = HIGH


class Found(Struct, frozen=True, gc=False):
    """What a name means."""

    state: int
    decls: tuple[Decl, ...] = ()  # what it is declared as; the candidates when ambiguous
    confidence: int = HIGH
    value: Value | None = None  # what is no declaration: a module, something outside
    hint: str = ""


NOTHING = Found(UNRESOLVED)


def outside(name: str) -> Found:
    """Return what is known to be declared outside the repository."""
    return Found(EXTERNAL, (), HIGH, Value(OUTSIDE, name=name), name)


def module(name: str, path: str = "") -> Found:
    return Found(RESOLVED, (), HIGH, Value(MODULE, name=name, path=path), name)


def parameter(name: str, where: Decl) -> Value:
    """Return a type parameter, told by what declares it."""
    return Value(PARAMETER, where if where.bounds else None, name=name)


def knowing(known: dict[str, Value], modifiers: tuple[str, ...] = ()) -> Value:
    """Return an owner that has no more to tell than what type parameters stand for."""
    holder = Decl("type", "", "", parameters=tuple(known), modifiers=modifiers)
    return Value(INSTANCE, holder, tuple(known.values()))
