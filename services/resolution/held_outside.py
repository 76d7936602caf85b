"""What do containers and functions of Python's, JavaScript's and PHP's own give that they were given?

What they hold may be declared in the repository: unless its type is written, it is not known.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec.structs import replace

from services.resolution.expressions import LIST
from services.resolution.library_names import GETTERS
from services.resolution.values import EXTERNAL, HIGH, MEDIUM, OUTSIDE, Found, Value

LIBRARY = "builtins"
_ALL_UNKNOWN = frozenset({"php"})  # families where no container's name is known
_CONTAINER = "container"  # path of what may hold anything
_CONTAINERS = {
    "ecma": frozenset({
        "Array", "Iterator", "Map", "Object", "Promise", "ReadonlyArray", "Record", "Set",
        "WeakMap",
    }),
    "python": frozenset({"dict", "frozenset", "list", "set", "tuple"}),
}  # fmt: skip
_ANYTHING = frozenset({"any", "arguments", "object", "unknown", "Function"})  # of JavaScript
_GIVE_BACK = frozenset({  # functions that give what they were given, or something in it
    "abs", "enumerate", "eval", "filter", "getattr", "iter", "map", "max", "min", "next", "pow",
    "reversed", "round", "sorted", "sum", "type", "vars", "zip",
})  # fmt: skip
_TAKEN_OUT = frozenset({  # methods that give what a container holds
    "at", "find", "findLast", "get", "items", "next", "pop", "popitem", "popleft", "reduce",
    "setdefault", "shift", "then", "values",
})  # fmt: skip
_SAME_ELEMENTS = {  # methods that give what holds the same elements
    "ecma": frozenset({
        "concat", "fill", "filter", "reverse", "slice", "sort", "splice", "toReversed",
        "toSorted", "toSpliced", "values",
    }),
    "python": frozenset({"copy", "union", "intersection", "difference"}),
}  # fmt: skip
_HANDED = {"reduce": "1", "reduceRight": "1", "sort": "01", "toSorted": "01"}


def named(name: str, family: str) -> Found:
    """Return what a name of the language's own means."""
    unknown = _GIVE_BACK if family == "python" else _ANYTHING if family == "ecma" else ()
    if name in unknown:
        return Found(EXTERNAL, (), HIGH, None, LIBRARY)
    holds = name in _CONTAINERS.get(family, ())
    value = Value(OUTSIDE, name=LIBRARY, path=_CONTAINER if holds else "")
    return Found(EXTERNAL, (), HIGH, value, LIBRARY)


def is_unknown(value: Value, family: str, method: str = "") -> bool:
    """Is not known what a container holds, or what its method gives of this?"""
    container = value.path == _CONTAINER or (family in _ALL_UNKNOWN and value.name == LIBRARY)
    unwritten = container and not value.arguments
    return unwritten and (not method or method in _TAKEN_OUT)


def called(value: Value, family: str) -> Value | None:
    """Return what calling a member of a container gives, or anything else that is outside."""
    owner = value.owner
    if owner is None:
        return value
    known = [one for one in owner.arguments if one is not None]
    if known and value.name in _SAME_ELEMENTS.get(family, ()):
        return owner
    if known and family == "python" and value.name == "values":
        return Value(OUTSIDE, name=LIST, arguments=owner.arguments[-1:])
    if value.name in GETTERS:
        return replace(known[-1], confidence=MEDIUM) if known else value
    return None if family == "php" else value


def member(value: Value, name: str, family: str) -> Found:
    """Return what a member is of what is outside; of a container, one that knows its owner."""
    if is_unknown(value, family, name):
        return Found(EXTERNAL, (), HIGH, None, value.name)
    return known_member(value, name)


def known_member(value: Value, name: str) -> Found:
    """Return what a member is of what is outside: of what has type arguments, one that knows its owner."""
    if not value.arguments:
        return _within(value.name)
    inner = Value(OUTSIDE, name=name, owner=value)
    return Found(EXTERNAL, (), HIGH, inner, value.name)


@lru_cache(maxsize=4096)
def _within(library: str) -> Found:
    """Return what any member is of a library's name: something of the same library."""
    return Found(EXTERNAL, (), HIGH, Value(OUTSIDE, name=library), library)


def is_handed(method: str, parameter: str) -> bool:
    """Is a callback's parameter an element of what the method belongs to?"""
    return parameter in _HANDED.get(method, "0")
