"""What is got out of a value whose type only a library knows, by the rules of each language?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from services.resolution import (
    cpp_types,
    go_types,
    held_outside,
    library_types,
    nominal_types,
    rust_wrappers,
)
from services.resolution.expressions import EACH, STRUCT, TUPLE
from services.resolution.values import OUTSIDE, Found, Value

if TYPE_CHECKING:
    from services.resolution.engine import Engine


def called(engine: Engine, value: Value) -> Value | None:
    """Return what calling it gives."""
    family = engine.family.name
    if family == "rust":
        return rust_wrappers.called(value)
    if family == "c":
        return cpp_types.called(value)
    nominal = family in nominal_types.FAMILIES
    if nominal and library_types.is_modelled(value.owner or value, family):
        return nominal_types.called(value, family)
    return held_outside.called(value, family)


def element(engine: Engine, value: Value, step: str) -> Value | None:
    """Return what is in it."""
    family = engine.family.name
    if family == "c":
        return cpp_types.element(value, step == EACH)
    if not value.arguments:
        unknown = held_outside.is_unknown(value, family)
        return None if unknown else Value(OUTSIDE, name=value.name)
    if family == "rust":
        return rust_wrappers.element(value, step)
    if value.name == TUPLE:
        return None
    nominal = family in nominal_types.FAMILIES
    if nominal and (found := library_types.gives(value, step, family)):
        return found
    if step == EACH and family == "python":
        return value.arguments[0]
    known = [one for one in value.arguments if one is not None]
    return known[-1] if known else None


def member(engine: Engine, value: Value, name: str) -> Found:
    """Return what a member's name means."""
    family = engine.family.name
    if family == "c":
        return cpp_types.member(value, name)
    if value.name == STRUCT and family == "go":
        return go_types.field(value, name)
    if family == "rust" and value.name == rust_wrappers.WRAPPED:
        return rust_wrappers.member(value, name)
    if value.arguments and family in nominal_types.FAMILIES:
        return nominal_types.member(value, name, family)
    return held_outside.member(value, name, family)
