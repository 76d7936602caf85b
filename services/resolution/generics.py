"""What do the heads of TypeScript's declarations say of type parameters and generic base types?"""

from __future__ import annotations

import re

from contracts.extract import Symbol

TYPED_SCRIPTS = frozenset({"typescript"})
_PARAMETER = re.compile(
    r"(?:in |out |const )*[\w$]+(?: extends (?P<bound>.+?))?(?: ?= ?(?P<default>[^>].*))?\Z",
    re.DOTALL,
)
_NO_BOUNDS = ("", "")


def bounds_of(symbol: Symbol) -> tuple[tuple[str, str], ...]:
    """Return what each type parameter extends, and what it is when none is given."""
    head = symbol.signature
    at = head.find(symbol.name) + len(symbol.name)
    if at < len(symbol.name) or head[at : at + 1] != "<":
        return ()
    found = []
    for part in _parts(_bracketed(head, at)):
        told = _PARAMETER.match(part)
        found.append((told["bound"] or "", told["default"] or "") if told else _NO_BOUNDS)
    return tuple(found)


def derived_of(symbol: Symbol) -> tuple[str, ...]:
    """Return the base types that are written with arguments."""
    head = symbol.signature
    found = []
    for base in symbol.bases:
        at = head.find(f" {base}<")
        if at >= 0:
            start = at + 1 + len(base)
            found.append(f"{base}<{_bracketed(head, start)}>")
    return tuple(found)


def parts_of(text: str) -> list[str]:
    """Return the type arguments in "<A, B<C, D>>"."""
    return _parts(_bracketed(text, 0))


def _bracketed(text: str, start: int) -> str:
    """Return what stands between the bracket at a place and the one that closes it."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "<") - (text[at] == ">" and text[at - 1] not in "=-")
        if depth == 0:
            return text[start + 1 : at]
    return text[start + 1 :]


def _parts(text: str) -> list[str]:
    depth, begin, found = 0, 0, []
    for at, char in enumerate(text):
        depth += (char in "<[({") - (char in "])}" or (char == ">" and text[at - 1] not in "=-"))
        if char == "," and depth == 0:
            found.append(text[begin:at].strip())
            begin = at + 1
    found.append(text[begin:].strip())
    return [part for part in found if part]
