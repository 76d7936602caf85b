"""By which names is a symbol known: the readable id and the id that survives a rename?"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from contracts.extract import Symbol

OVERLOADING = frozenset({"java", "csharp", "cpp", "kotlin", "swift", "scala"})
_LETTERS = {
    "class": "T", "interface": "T", "struct": "T", "enum": "T", "trait": "T", "record": "T",
    "union": "T", "type": "T", "module": "T", "namespace": "T", "component": "T",
    "function": "M", "method": "M", "constructor": "M", "macro": "M",
    "property": "P", "event": "E",
}  # fmt: skip
_KINDS = {
    "class": "class", "component": "class", "module": "class", "namespace": "class",
    "struct": "struct", "union": "struct", "interface": "interface", "trait": "interface",
    "enum": "enum", "record": "record", "function": "method", "method": "method",
    "macro": "method", "constructor": "constructor", "property": "property", "event": "event",
    "field": "field", "variable": "field", "constant": "constant", "type": "class",
}  # fmt: skip
_FUNCTION_TYPES = ("delegate ", "func(", "(*", "=>")


def kind_letter(kind: str) -> str:
    """Return T, M, P, F or E for an extract's kind of symbol."""
    return _LETTERS.get(kind, "F")


def symbol_kind(symbol: Symbol) -> str:
    """Return the kind as the code map names it: class, struct, interface, enum, delegate, ...

    Kinds of other texts (a heading, a table) have none: "".
    """
    kind = symbol.kind
    if kind == "type" and any(part in symbol.signature for part in _FUNCTION_TYPES):
        return "delegate"
    if symbol.name.startswith("operator ") or (
        kind in ("method", "function") and symbol.name.startswith("operator")
    ):
        return "operator"
    if symbol.name in ("this[]", "[]", "[]="):
        return "indexer"
    return _KINDS.get(kind, "")


def symbol_id(language: str, symbol: Symbol) -> str:
    """Return "M:pkg.mod.Class.method"; with a parameter list where the language overloads.

    Two symbols of one id are declarations of the same thing (a partial class, overload signatures,
    a property's getter and setter, a function's prototype).
    """
    letter = kind_letter(symbol.kind)
    if letter == "M" and language in OVERLOADING and symbol.arity >= 0:
        kinds = ",".join(_parameter_type(name, declared) for name, declared in symbol.params)
        return f"M:{symbol.fq_name}({kinds})"
    return f"{letter}:{symbol.fq_name}"


def _parameter_type(name: str, declared: str) -> str:
    text = "".join((declared or name).split())
    if "<" not in text:
        return text
    tail = text.rpartition(">")[2]  # `Class<?>[]` and `T<V>...` are arrays still
    return text.partition("<")[0] + (tail if tail.strip("[].") == "" else "")


def stable_ids(path: str, language: str, symbols: Sequence[Symbol]) -> list[str]:
    """Return "sym_" + 16 hex of each symbol of one file: its name left out, twins numbered.

    A rename keeps it: it stands for the place in the file's structure (language, path, names of
    the containers, kind, arity, declared types), and an ordinal in source order among equals.
    """
    return [f"sym_{number:016x}" for number in stable_numbers(path, language, symbols)]


def stable_numbers(path: str, language: str, symbols: Sequence[Symbol]) -> list[int]:
    """Return the 16 hex of the stable ids as numbers."""
    file = f"{language}\x1f{path}\x1f"
    seen: dict[str, int] = {}
    found = []
    for symbol in symbols:
        around = symbol.fq_name[: -len(symbol.name)]
        text = f"{file}{around}\x1f{symbol.kind}\x1f{symbol.arity}\x1f{symbol.returns}"
        if symbol.params:
            text += "\x1f" + "\x1f".join([declared for _, declared in symbol.params])
        ordinal = seen.get(text, 0)
        seen[text] = ordinal + 1
        digest = hashlib.sha256(f"{text}\x1f{ordinal}".encode()).digest()
        found.append(int.from_bytes(digest[:8], "big"))
    return found
