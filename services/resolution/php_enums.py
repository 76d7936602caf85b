"""PHP: what do enums have that no enum declares?"""

from __future__ import annotations

from services.resolution.expressions import LIST
from services.resolution.values import EXTERNAL, HIGH, INSTANCE, OUTSIDE, TYPE, Found, Value

_GIVING_ONE = frozenset({"from", "tryFrom"})


def implied(value: Value, name: str) -> Found | None:
    """Return `from`, `tryFrom` and `cases` of an enum, None for anything else."""
    decl = value.decl
    if decl is None or decl.kind != "enum" or value.sort != TYPE:
        return None
    if name in _GIVING_ONE:
        return Found(EXTERNAL, (), HIGH, value, "builtins")
    if name == "cases":
        every = Value(OUTSIDE, name=LIST, arguments=(Value(INSTANCE, decl),))
        return Found(EXTERNAL, (), HIGH, every, "builtins")
    return None
