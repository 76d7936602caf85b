"""Which objects of JavaScript have members without a class, and where does `this` mean one?

An object literal, a function with a prototype, a function that gives an object literal, and what
methods are assigned to: their members are declared in what declares the object.
"""

from __future__ import annotations

from collections.abc import Sequence

from contracts.extract import Symbol
from services.resolution.engine import Engine
from services.resolution.scopes import CALLABLE
from services.resolution.summary import MEMBERS, OBJECT, TYPE_LIKE, Decl
from services.resolution.values import INSTANCE, MEDIUM, Value

NO_OBJECT = Value(INSTANCE)  # nothing is known of it


def this_at(
    engine: Engine, path: str, module: str, symbols: Sequence[Symbol], scope: int
) -> Value | None:
    """Return what `this` means in a symbol's body, None where it is an instance of the class around.

    Arrow functions have the `this` of what is around them.
    """
    at = scope
    while at >= 0:
        symbol = symbols[at]
        if symbol.kind in TYPE_LIKE:
            return None
        above = symbols[symbol.parent] if symbol.parent >= 0 else None
        member = symbol.kind in MEMBERS or symbol.kind == "function"
        if member and (above is None or above.kind not in TYPE_LIKE) and _has_this(symbol):
            container = symbol.fq_name[: -len(symbol.name) - 1]
            around = above.fq_name if above is not None else module
            if symbol.kind == "function" and container == around:
                return _made_by(engine, path, symbol)
            return _declared_as(engine, path, container)
        at = symbol.parent
    return None


def _has_this(symbol: Symbol) -> bool:
    """Is it no arrow function, as far as its head tells?"""
    head = symbol.signature.partition("(")[0]
    if "function" in head:
        return True
    return symbol.kind in MEMBERS and ":" not in head and "=" not in head


def _made_by(engine: Engine, path: str, symbol: Symbol) -> Value:
    container = symbol.fq_name[: -len(symbol.name) - 1]
    for decl in engine.decls_in(path, container, symbol.name):
        if OBJECT in decl.modifiers and decl.kind in CALLABLE:
            return Value(INSTANCE, decl, confidence=MEDIUM)
    return NO_OBJECT


def _declared_as(engine: Engine, path: str, full_name: str) -> Value:
    container, _, name = full_name.rpartition(".")
    for decl in engine.decls_in(path, container, name):
        return Value(INSTANCE, decl, confidence=MEDIUM)
    return Value(INSTANCE, Decl("object", name, container, path=path), confidence=MEDIUM)
