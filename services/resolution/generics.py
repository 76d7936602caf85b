"""What do the heads of declarations say of type parameters and generic base types?

Of TypeScript's, Java's, C#'s, Rust's and Go's, as signatures have them.
"""

from __future__ import annotations

import re

from contracts.extract import Symbol

TYPED_SCRIPTS = frozenset({"typescript"})
GENERIC = TYPED_SCRIPTS | {"java", "csharp"}
_PARAMETER = re.compile(
    r"(?:in |out |const )*[\w$]+(?: extends (?P<bound>.+?))?(?: ?= ?(?P<default>[^>].*))?\Z",
    re.DOTALL,
)
_NO_BOUNDS = ("", "")
_NO_CONSTRAINT = frozenset({"any", "comparable"})
_MARKERS = frozenset({"Clone", "Copy", "Debug", "Default", "Send", "Sized", "Sync", "Unpin"})
_BEFORE_METHOD = re.compile(r"(?:[a-z]+ )*(?=<)")  # Java's `static <T> T method()`
_CONSTRAINT = re.compile(r"\bwhere (\w+) ?: ?(.+?)(?= where \w+ ?:|$)")
_NO_TYPES = frozenset({"class", "class?", "struct", "notnull", "unmanaged", "new()", "default"})


def parameter_list(symbol: Symbol, language: str) -> str:
    """Return what stands in the brackets of a declaration's type parameters."""
    start, _ = _place_of_parameters(symbol, language)
    return _bracketed(symbol.signature, start) if start >= 0 else ""


def bounds_of(symbol: Symbol, language: str) -> tuple[tuple[str, str], ...]:
    """Return what each type parameter extends, and what it is when none is given."""
    parts = _parts(parameter_list(symbol, language)) if "<" in symbol.signature else []
    if language == "csharp":
        return _constraints(symbol, parts) if parts and " where " in symbol.signature else ()
    found = []
    for part in parts:
        told = _PARAMETER.match(part)
        found.append((told["bound"] or "", told["default"] or "") if told else _NO_BOUNDS)
    return tuple(found)


def _constraints(symbol: Symbol, parts: list[str]) -> tuple[tuple[str, str], ...]:
    told = {
        name: " & ".join([one for one in _parts(text) if one not in _NO_TYPES])
        for name, text in _CONSTRAINT.findall(symbol.signature)
    }
    return tuple([(told.get(part.rpartition(" ")[2], ""), "") for part in parts])


def rust_bounds_of(symbol: Symbol) -> dict[str, str]:
    """Return the traits that each type parameter of a Rust item has, but those all types may have."""
    head, _, where = symbol.signature.partition(" where ")
    at = head.find(symbol.name) + len(symbol.name)
    parts = _parts(_bracketed(head, at)) if head[at : at + 1] == "<" else []
    found: dict[str, list[str]] = {}
    for part in [*parts, *_parts(where)]:
        name, colon, traits = part.partition(":")
        for trait in traits.split("+") if colon and name.strip().isidentifier() else ():
            plain = trait.strip().removeprefix("?")
            if plain and plain[0] != "'" and "(" not in plain and plain not in _MARKERS:
                found.setdefault(name.strip(), []).append(plain)
    return {name: " & ".join(traits) for name, traits in found.items()}


def template_parameters(symbol: Symbol) -> tuple[str, ...]:
    """Return the type parameters of a C++ template; of a member that stands outside of its class, its own."""
    head, lists, at = symbol.signature, [], 0
    while head.startswith("template", at) and (start := head.find("<", at)) > 0:
        lists.append(_bracketed(head, start))
        at = start + len(lists[-1]) + 2
        at += head[at : at + 1] == " "
    if f">::{symbol.name}" in head:
        del lists[:1]
    told = [part.partition("=")[0].split() for part in _parts(lists[-1])] if lists else []
    return tuple([words[-1].lstrip(".") for words in told if len(words) > 1 and words[0] != "int"])


def go_bounds_of(symbol: Symbol) -> tuple[tuple[str, str], ...]:
    """Return the constraint of each type parameter; those of `[K, V any]` share theirs."""
    head = symbol.signature
    at = head.find(symbol.name) + len(symbol.name)
    close, depth = at, 0
    while close < len(head):
        depth += (head[close] == "[") - (head[close] == "]")
        if depth == 0:
            break
        close += 1
    found, bound = [], ""
    for part in reversed(_parts(head[at + 1 : close])):
        bound = part.partition(" ")[2].strip() or bound
        found.append(("" if bound in _NO_CONSTRAINT else bound, ""))
    return tuple(reversed(found)) if any(told for told, _ in found) else ()


def derived_of(symbol: Symbol, language: str) -> tuple[str, ...]:
    """Return the base types that are written with arguments."""
    if not symbol.bases or "<" not in symbol.signature:
        return ()
    head = symbol.signature
    _, end = _place_of_parameters(symbol, language)
    found = []
    for base in symbol.bases:
        at = head.find(f" {base}<", max(end, 0))
        if at >= 0:
            start = at + 1 + len(base)
            found.append(f"{base}<{_bracketed(head, start)}>")
    return tuple(found)


def _place_of_parameters(symbol: Symbol, language: str) -> tuple[int, int]:
    """Return where the brackets of the type parameters open and close, -1 where there are none."""
    head = symbol.signature
    if "<" not in head:
        return -1, -1
    at = head.find(symbol.name) + len(symbol.name)
    if language == "java" and symbol.kind in ("method", "constructor"):
        before = _BEFORE_METHOD.match(head)
        at = before.end() if before is not None else -1
    elif at < len(symbol.name):
        at = -1
    if at < 0 or head[at : at + 1] != "<":
        return -1, -1
    return at, at + len(_bracketed(head, at)) + 1


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
