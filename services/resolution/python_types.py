"""What do the forms of Python's typing stand for, and names that are given to written types?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from services.resolution.choice import joined
from services.resolution.expressions import TUPLE, TYPE_OPEN, annotated
from services.resolution.summary import VALUES, Decl
from services.resolution.values import CALLABLE, EXTERNAL, OUTSIDE, Found, Value, parameter

if TYPE_CHECKING:
    from services.resolution.engine import Engine

UNTOLD = Value(OUTSIDE, name="untold")  # no such form
_CALLABLE = re.compile(r"(?:\w+\.)*Callable\[(.*)\]", re.DOTALL)
_ANYTHING = frozenset({"Any", "object", "Callable"})
_TUPLES = frozenset({"tuple", "Tuple"})


def function_type(text: str, path: str, context: str) -> Value | None:
    """Return a function known by `Callable[[...], T]` only, None for any other type."""
    written = _CALLABLE.fullmatch(text.strip("'\" "))
    if written is None:
        return None
    depth = 0
    for at in range(len(written[1]) - 1, -1, -1):
        char = written[1][at]
        depth += (char in ")]") - (char in "([")
        if char == "," and depth == 0:
            told = (annotated(written[1][at + 1 :].strip()),)
            return Value(CALLABLE, Decl("function", "", "", context=context, told=told, path=path))
    return None


def form(
    engine: Engine,
    name: str,
    found: Found,
    arguments: tuple[Value | None, ...],
    place: tuple[str, str],
) -> Value | None:
    """Return what a form of typing stands for, or a name for types; UNTOLD for any other type."""
    decl = found.decls[0] if found.decls else None
    if decl is None and found.state != EXTERNAL:
        where = engine.parameter_of(name, *place)
        return parameter(name, where) if where is not None else UNTOLD
    if decl is not None:
        return _given_name(engine, decl, place) if decl.kind in VALUES else UNTOLD
    if name in _ANYTHING:
        return None
    if name == "Union":
        return joined([one for one in arguments if one is not None])
    if name in _TUPLES and len(arguments) > 1 and arguments[-1] is not None:
        return Value(OUTSIDE, name=TUPLE, arguments=arguments)
    return UNTOLD


def _given_name(engine: Engine, decl: Decl, place: tuple[str, str]) -> Value | None:
    """Return what a variable stands for that is used as a type: a TypeVar, or `A = list[B]`."""
    where = engine.parameter_of(decl.name, *place)
    if where is not None or decl.parameters:
        return parameter(decl.name, where if where is not None and where.bounds else decl)
    if len(decl.told) == 1 and decl.told[0][0] != TYPE_OPEN and "[" in decl.told[0]:
        return engine.typed(decl.told[0], decl.path, decl.container)
    return UNTOLD
