"""C++: what do the standard library's pointers, containers and pairs hold, and how is it got at?

A smart pointer is an instance of what it points to that goes by the name POINTER: members of its own
are asked of it with a point, all others with an arrow, which no expression here tells apart from one.
"""

from __future__ import annotations

from msgspec.structs import replace

from services.resolution import values
from services.resolution.held_outside import known_member
from services.resolution.values import EXTERNAL, INSTANCE, MEDIUM, NOTHING, OUTSIDE, Found, Value

POINTER, PAIR = "*", "pair"
_GIVING = frozenset({"get", "lock", "release", "value", "value_or"})  # what is pointed to
_OF_POINTERS = _GIVING | {
    "emplace", "expired", "has_value", "owner_before", "reset", "swap", "unique", "use_count",
}  # fmt: skip
_MAPS = frozenset({
    "map", "multimap", "unordered_map", "unordered_multimap", "flat_hash_map", "node_hash_map",
    "btree_map", "flat_map",
})  # fmt: skip
_SEVERAL = frozenset({"function", "future", "promise", "packaged_task", "tuple", "variant", "hash"})
_ELEMENTS = frozenset({  # of a container; an iterator stands for what it is at
    "at", "back", "begin", "cbegin", "crbegin", "data", "emplace", "emplace_back", "end", "erase",
    "find", "front", "insert", "lower_bound", "rbegin", "rend", "top", "upper_bound",
})  # fmt: skip
_VALUES = frozenset({"at", "operator[]"})  # of a map


def pointer(held: Value) -> Value:
    """Return what a smart pointer to something is."""
    return replace(held, name=POINTER) if held.sort == INSTANCE else held


def pointed_to(value: Value) -> Value:
    """Return what is at the end of an arrow."""
    if value.name[:1] != POINTER or value.sort != INSTANCE:
        return value
    return replace(value, name=value.name[1:])


def to_pointer(value: Value | None, text: str) -> Value | None:
    """Return what a pointer to a smart pointer is, by the text of its type."""
    if value is not None and value.name == POINTER and value.sort == INSTANCE and text[-1:] == "*":
        return replace(value, name=POINTER * 2)
    return value


def of_pointer(value: Value, name: str, has: Found) -> Found | None:
    """Return a smart pointer's own member; None for one that is of what it points to.

    `has` is what the pointed-to type has of that name: which of both is meant, only the arrow tells.
    """
    if name not in _OF_POINTERS:
        return None
    if has.decls:
        return Found(values.AMBIGUOUS, has.decls, MEDIUM)
    return Found(EXTERNAL, (), values.HIGH, Value(OUTSIDE, name=name, owner=value), "std")


def held_in(package: str, simple: str, arguments: tuple[Value | None, ...]) -> Value:
    """Return what a template of a library is: a container's further arguments are of no interest."""
    if simple not in _SEVERAL and simple != PAIR:
        arguments = arguments[: 2 if simple in _MAPS else 1]
    return Value(OUTSIDE, name=package, arguments=arguments, path=simple)


def element(value: Value, is_each: bool) -> Value | None:
    """Return what is in a container."""
    if not value.arguments:
        return Value(OUTSIDE, name=value.name)
    if value.path in _MAPS:
        if is_each:
            return replace(value, path=PAIR)
        return value.arguments[1] if len(value.arguments) > 1 else None
    return None if value.path in _SEVERAL or value.path == PAIR else value.arguments[0]


def member(value: Value, name: str) -> Found:
    """Return a member of what a library declares: the parts of a pair and a tuple, by any name."""
    if value.path in (PAIR, "tuple"):
        at = {"first": 0, "second": 1}.get(name, int(name[1:]) if name[:1] == "#" else -1)
        if 0 <= at < len(value.arguments):
            return Found(EXTERNAL, (), values.HIGH, value.arguments[at], value.name)
        return NOTHING
    return known_member(value, name)


def called(value: Value) -> Value | None:
    """Return what calling a member of a library's type gives."""
    owner = value.owner
    if owner is None:
        return value
    if owner.sort == INSTANCE:
        return replace(owner, name="") if value.name in _GIVING else None
    if value.name not in _ELEMENTS:
        return None
    found = element(owner, is_each=value.name not in _VALUES)
    return replace(found, confidence=MEDIUM) if found is not None else None
