"""Go: what is behind a type that is written out, a map, a channel, a function, a struct?

Such a type is outside of everything: its name is that of the language's own, and its arguments are
what it holds: of a function its results, of a struct its fields, whose names are its path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from services.resolution import values
from services.resolution.expressions import FUNCTION, LIST, STRUCT, TUPLE, Node
from services.resolution.values import INSTANCE, NOTHING, OUTSIDE, Found, Value

if TYPE_CHECKING:
    from services.resolution.engine import Engine

WRITTEN_OUT = frozenset({FUNCTION, STRUCT})


def written_out(node: Node, inner: tuple[Value | None, ...]) -> Value:
    """Return what is known of a function's or a struct's type; `inner` is of its arguments."""
    name, arguments = node
    if name == FUNCTION:
        return Value(OUTSIDE, name=FUNCTION, arguments=inner)
    fields = ",".join([part[0] for part in arguments[::2] if part is not None])
    return Value(OUTSIDE, name=STRUCT, arguments=inner[1::2], path=fields)


def underlying(engine: Engine, value: Value) -> Value:
    """Return what `type Rows []Row` is made of."""
    if value.sort == INSTANCE and value.decl is not None and value.decl.kind == "type":
        return engine.told(value.decl, value) or value
    return value


def element(engine: Engine, value: Value) -> Value | None:
    """Return what is in a list, a map or a channel."""
    value = underlying(engine, value)
    if value.sort != OUTSIDE or value.name in WRITTEN_OUT or value.name == TUPLE:
        return None
    return value.arguments[-1] if value.arguments else Value(OUTSIDE, name=value.name)


def key(engine: Engine, value: Value) -> Value | None:
    """Return what the first variable of a loop is: a key of a map, what is sent on a channel."""
    value = underlying(engine, value)
    if value.sort != OUTSIDE or value.name in WRITTEN_OUT or value.name in (LIST, TUPLE):
        return None
    return value.arguments[0] if value.arguments else None


def results(engine: Engine, value: Value) -> Value | None:
    """Return all that calling a value gives: a tuple, where that is several things."""
    if value.sort == values.CALLABLE and value.decl is not None:
        decl, owner = value.decl, value.owner
        for one in engine.decls_in(decl.path, decl.container, decl.name):
            if (found := engine.told(one, owner)) is not None:
                return found
        return None
    value = underlying(engine, value)
    if value.sort != OUTSIDE:
        return None
    if value.name == FUNCTION:
        return value.arguments[0]
    return value


def result(engine: Engine, value: Value, at: int) -> Value | None:
    """Return one of the results of a call."""
    found = results(engine, value)
    if found is not None and found.sort == OUTSIDE and found.name == TUPLE:
        return found.arguments[at] if at < len(found.arguments) else None
    return found if at == 0 or (found is not None and found.sort == OUTSIDE) else None


def field(value: Value, name: str) -> Found:
    """Return a field of a struct that is written out, which no declaration stands for."""
    names = value.path.split(",")
    if value.name != STRUCT or name not in names:
        return NOTHING
    return Found(values.UNRESOLVED, value=value.arguments[names.index(name)])
