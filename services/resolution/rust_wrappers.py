"""Rust: what is behind an Option, a Result, an iterator or a smart pointer, and how is it got at?

An Option, a Result and an iterator are values of their own: `found.map(f)` never calls a `map` of what
is found. Pointers and locks pass calls on to what they hold.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from services.resolution import values
from services.resolution.expressions import EACH, TUPLE
from services.resolution.values import EXTERNAL, MEDIUM, NOTHING, OUTSIDE, Found, Value

_TURBOFISH = re.compile(r"::<[^<>()]*(?:<[^<>()]*(?:<[^<>()]*>[^<>()]*)*>[^<>()]*)*>")
WRAPPED = "?"  # name of what is outside and holds its only argument, if any
WRAPPERS = frozenset({"Option", "Result"})
_OPENING = frozenset({
    "unwrap", "expect", "unwrap_or", "unwrap_or_default", "unwrap_or_else", "unwrap_unchecked",
})  # fmt: skip
_KEEPING = frozenset({  # another wrapper around the same
    "as_deref", "as_deref_mut", "as_mut", "as_ref", "by_ref", "chain", "clone", "cloned", "context",
    "copied", "filter", "find", "fuse", "get_or_insert", "inspect", "inspect_err", "into_iter",
    "iter", "iter_mut", "last", "map_err", "max_by", "max_by_key", "min_by", "min_by_key", "next",
    "next_back", "nth", "ok", "ok_or", "ok_or_else", "or", "or_else", "peekable", "rev", "rposition",
    "skip", "skip_while", "step_by", "take", "take_while", "with_context", "wrap_err",
    "wrap_err_with",
})  # fmt: skip
_CHANGING = frozenset({  # another wrapper around something else
    "and", "and_then", "enumerate", "err", "filter_map", "find_map", "flat_map", "flatten", "map",
    "map_while", "max", "min", "peek", "position", "reduce", "scan", "transpose", "xor", "zip",
})  # fmt: skip
_LEAVING = frozenset({
    "all", "any", "collect", "count", "expect_err", "fold", "for_each", "get_or_insert_with",
    "insert", "is_err", "is_err_and", "is_none", "is_none_or", "is_ok", "is_ok_and", "is_some",
    "is_some_and", "map_or", "map_or_else", "partition", "product", "replace", "sum", "try_fold",
    "try_for_each", "unwrap_err", "unzip",
})  # fmt: skip
_OF_WRAPPERS = _OPENING | _KEEPING | _CHANGING | _LEAVING
_LOOKING = frozenset({  # into a collection: they give an Option or an iterator
    "back", "back_mut", "drain", "first", "first_mut", "front", "front_mut", "get", "get_mut",
    "into_iter", "into_values", "iter", "iter_mut", "last", "last_mut", "next", "peek", "pop",
    "pop_back", "pop_front", "values", "values_mut",
})  # fmt: skip
_PASSING = frozenset({  # what is held, or what stands for it
    "as_mut", "as_ref", "borrow", "borrow_mut", "clone", "deref", "deref_mut", "get_mut", "lock",
    "read", "remove", "swap_remove", "to_owned", "write",
})  # fmt: skip


_UNKNOWN = Value(OUTSIDE, name=WRAPPED)
_OF_LIBRARY = dict.fromkeys(("collect", "count", "product", "sum"), Value(OUTSIDE, name="std"))


def wrapped(held: Value) -> Value:
    return Value(OUTSIDE, name=WRAPPED, arguments=(held,))


def spelled(text: str) -> str:
    """Write an expression without types of calls, and with what `?` and `.await` give."""
    if "?" in text or ".await" in text:
        text = text.replace(".await", "").replace("?", ".unwrap()")
    return _TURBOFISH.sub("", text) if "::<" in text else text


def member(value: Value, name: str) -> Found:
    """Return a member of a wrapper; one that no wrapper has is of a trait that may be anybody's."""
    if name not in _OF_WRAPPERS:
        return NOTHING
    return Found(EXTERNAL, (), values.HIGH, Value(OUTSIDE, name=name, owner=value), "std")


def implied(value: Value, name: str) -> Found | None:
    """Return what passes calls on to an instance, where its type has no member of the name."""
    if name not in _OPENING and name not in _PASSING:
        return None
    holder = Value(OUTSIDE, name=name, arguments=(value,))
    return Found(EXTERNAL, (), MEDIUM, Value(OUTSIDE, name=name, owner=holder), "std")


def called(value: Value) -> Value | None:
    """Return what a call of a member of something outside gives."""
    owner = value.owner
    if owner is None:
        return value
    held = owner.arguments[-1] if owner.arguments else None
    if owner.name == WRAPPED:
        if value.name in _OPENING or value.name in _LEAVING:
            return held if value.name in _OPENING else _OF_LIBRARY.get(value.name)
        return owner if value.name in _KEEPING else _UNKNOWN
    if held is None:
        return replace(owner, arguments=())
    if value.name in _LOOKING:
        return wrapped(held)
    if value.name in _OPENING or value.name in _PASSING:
        return replace(held, confidence=MEDIUM)
    return None if held.decl is not None else replace(owner, arguments=())


def element(value: Value, step: str) -> Value | None:
    """Return what an index or a loop takes out of something outside."""
    if len(value.arguments) > 1 and (value.name == TUPLE or step == EACH):
        return None  # a map is iterated over by pairs; `[T]` is a tuple of one
    held = value.arguments[-1] if value.arguments else None
    return None if held is not None and held.name == TUPLE and len(held.arguments) > 1 else held
