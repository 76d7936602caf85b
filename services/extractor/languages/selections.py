"""Which expression keeps what a stream or query makes of its elements, in Java and C#?

Arguments are left out of expressions, but `orders.map(Order::owner)` and `orders.Select(o => o.Owner)`
hold something else than orders: they are written as `orders.map@*Order::owner;` and
`orders.Select@*.Owner;`.
"""

from __future__ import annotations

import re

from services.extractor.reader import EXPRESSION_BYTES, short_expression

_SELECTING = rb"(\.\s*(?:map|flatMap|thenApply|thenCompose|Select|SelectMany))\s*\(\s*"
_MEMBERS = re.compile(_SELECTING + rb"(\w+)\s*[-=]>\s*\2((?:\s*!?\??\.\s*\w+(?:\(\))?)+)!?\s*\)")
_REFERENCE = re.compile(_SELECTING + rb"([A-Z][\w.]*)\s*::\s*(\w+)\s*\)")
_MADE = re.compile(_SELECTING + rb"\w+\s*[-=]>\s*new\s+([A-Z][\w.]*)\s*\([^()]*\)\s*\)")
_COLLECTED = re.compile(
    rb"\.\s*collect\s*\(\s*(?:Collectors\s*\.\s*)?to(?:Unmodifiable)?(List|Set)\(\)\s*\)"
)
_FIRST = (b"map", b"Map", b"then", b"elect", b"ollect")  # what any of them has in it


def kept(raw: bytes) -> bytes:
    """Write what is made of elements so that it stays when arguments are left out."""
    if not any(part in raw for part in _FIRST):
        return raw
    raw = raw[-EXPRESSION_BYTES:]
    raw = _MEMBERS.sub(lambda told: told[1] + b"@*" + b"".join(told[3].split()) + b";", raw)
    raw = _REFERENCE.sub(rb"\1@*\2::\3;", raw)
    raw = _COLLECTED.sub(rb".to\1()", raw)
    return _MADE.sub(rb"\1@*\2::new;", raw)


def told_by(raw: bytes) -> str:
    """Return the expression of a call that tells what it gives by its arguments, "" for others."""
    changed = kept(raw)
    return short_expression(changed) if changed[-2:] != raw[-2:] else ""


def expression(raw: bytes) -> str:
    """Return an expression without its arguments."""
    return short_expression(kept(raw))
