"""Which names of a file are locals, and what does the file tell of their types?"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict

import numpy as np

from contracts.extract import REFERENCE_KINDS, Binding, Body, References
from services.resolution.expressions import CALL, EACH, annotated, chain_of

CALLABLE = frozenset({"function", "method", "constructor", "macro"})
_INITIALISED = frozenset({"field", "constant", "event"})  # by what may hold a lambda
RETURNED = "return"  # the name under which what a function returns is bound
_SELVES = frozenset({"self", "cls", "this", "super", "Self", "static", "parent", "base", "crate"})
_MAX_DEPTH = 4
_NO_NAMES: frozenset[str] = frozenset()

NARROW, WIDEN = "\x03", "\x04"  # a checked type in front of its root, and where the check ends
BLOCK = "\x05"  # declared anew: what it meant before comes back where this block ends
NOT_TOLD = (NARROW, WIDEN, BLOCK)
Told = tuple[int, str]  # line, expression
_BEYOND = 1 << 40  # no line is as far down
_TYPES = frozenset({"type", "interface", "enum"})
_OWN_LOOKUP = frozenset({"function", "class"})  # see FileResolver on those that blocks declare


def columns(references: References | None) -> list[list[int]]:
    """Return kind, name, receiver, line, column, scope and argc of every use."""
    if references is None:
        return [[] for _ in range(7)]
    wanted = (
        ("kind", "u1"), ("name", "<u4"), ("receiver", "<i4"), ("line", "<u4"), ("column", "<u4"),
        ("scope", "<i4"), ("argc", "<i2"),
    )  # fmt: skip
    return [np.frombuffer(getattr(references, name), dtype).tolist() for name, dtype in wanted]


class Scopes:
    """Locals, parameters and fields of one file, by the symbol in whose body they are bound."""

    def __init__(self, body: Body, table: list[list[int]] | None = None) -> None:
        self.symbols = body.symbols
        self.told: dict[tuple[int, str], list[Told]] = defaultdict(list)  # in source order
        self._loose: set[str] = set()  # locals of code outside any function
        self._names: dict[int, tuple[set[str], int]] = {}
        self._expanded: dict[tuple[int, str, int], list[str]] = {}
        self._told_in: dict[int, set[str]] = defaultdict(set)
        self._bare: dict[int, set[str]] | None = None
        self._references, self._table = body.references, table
        for binding in body.bindings:
            self.told[binding.scope, binding.name].append((binding.line, expression(binding)))
            if binding.origin not in ("widen", "block") and binding.type_name[:1] != "?":
                self._told_in[binding.scope].add(binding.name)
        declared = {symbol.name for symbol in body.symbols if symbol.parent < 0}
        self._loose = {
            binding.name
            for binding in body.bindings
            if binding.scope < 0 and binding.origin in ("callback", "context", "element")
            if binding.name not in declared
        }
        callables = {s.name for s in self.symbols if s.parent < 0 and s.kind in _OWN_LOOKUP}
        types: dict[str, list[int]] = defaultdict(list)
        for symbol in self.symbols:
            if symbol.parent < 0 and symbol.kind in _TYPES:
                types[symbol.name].append(symbol.start_line)
        self.enclosed = {  # locals of nameless functions around code outside any other
            name: spans
            for (scope, name), told in self.told.items()
            if scope < 0 and name not in callables and any(text == BLOCK for _, text in told)
            # A type and a local of one name and block are one symbol, as in `type T = typeof T`.
            if (spans := [span for span in spans_of(told) if not _holds(span, types.get(name))])
        }
        self._loose |= self.enclosed.keys()

    @property
    def bare(self) -> dict[int, set[str]]:
        """Names used without a receiver, by scope."""
        if self._bare is None:
            self._bare = _bare(self._references, self._table or columns(self._references))
        return self._bare

    def local_at(self, scope: int, name: str) -> int | None:
        """Return the innermost scope around `scope` that binds a name as a local, None for none.

        A parameter without a type is a local too. Types are passed over: fields are no locals.
        """
        while scope >= 0:
            names = self._names.get(scope)
            if names is None:
                names = self._names[scope] = self._bound(scope)
            if name in names[0]:
                return scope
            scope = names[1]
        return -1 if name in self._loose else None

    def at_large(self, scope: int, name: str) -> list[Told]:
        """Return what is told of a name, without what blocks outside any function tell of theirs."""
        told = self.told.get((scope, name), [])
        spans = self.enclosed.get(name) if scope < 0 else None
        if not spans:
            return told
        return [one for one in told if not is_within(spans, one[0])]

    def _bound(self, scope: int) -> tuple[set[str], int]:
        """Return the names a symbol binds for its body, and the next callable around it."""
        symbol = self.symbols[scope]
        names: set[str] = set()
        if symbol.kind in CALLABLE or symbol.kind == "property":
            names = {found[0].lstrip("*&.$") for found in symbol.params}
            names |= self._told_in.get(scope, _NO_NAMES)
        elif symbol.kind in _INITIALISED:
            names |= self._told_in.get(scope, _NO_NAMES)
        return names, symbol.parent

    def declared_in(self, scope: int, name: str) -> bool:
        """Is the name used as one that is no local of this scope?"""
        if name in _SELVES or scope < 0:
            return True
        kind = self.symbols[scope].kind
        return not (kind in CALLABLE or kind == "property") or name in self.bare.get(scope, ())

    def expanded(self, scope: int, text: str, depth: int = 0) -> list[str]:
        """Return an expression without the locals it starts from, as others may read it.

        Nothing when it starts from a local of unknown type.
        """
        chain = chain_of(text)
        if chain is None:
            return []
        root = chain[0]
        if root in _SELVES or root[0] in '\x01\\"':
            return [text]
        around = self.local_at(scope, root)
        if around is None or (around < 0 and root in self.enclosed):
            return [text] if self.declared_in(scope, root) or len(chain) == 1 else []
        if depth >= _MAX_DEPTH:
            return []
        known = self._expanded.get((around, text, depth))
        if known is not None:
            return known
        rest = "".join(step if step[0] in "([@-" else f".{step}" for step in chain[1:])
        found: dict[str, None] = {}
        for _, told in self.told.get((around, root), ()):
            if told and told[0] not in NOT_TOLD:
                for expanded in self.expanded(around, told, depth + 1):
                    found[expanded + rest] = None
            if len(found) >= _MAX_DEPTH:
                break
        answer = self._expanded[around, text, depth] = list(found)[:_MAX_DEPTH]
        return answer


def spans_of(told: list[Told]) -> list[tuple[int, int]]:
    """Return the first and last lines of the blocks that declare a name anew, merged, ascending."""
    found: list[tuple[int, int]] = []
    begun: list[int] = []  # -1 for a check
    for line, text in told:
        if text[:1] in (NARROW, BLOCK):
            begun.append(line if text == BLOCK else -1)
        elif text == WIDEN and begun and (first := begun.pop()) >= 0:
            found.append((first, line))
    found.sort()
    merged: list[tuple[int, int]] = []
    for first, last in found:
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def _holds(span: tuple[int, int], lines: list[int] | None) -> bool:
    return any(span[0] <= line <= span[1] for line in lines or ())


def is_within(spans: list[tuple[int, int]], line: int) -> bool:
    """Is a line in one of the spans of `spans_of`?"""
    at = bisect_right(spans, (line, _BEYOND)) - 1
    return at >= 0 and line <= spans[at][1]


def _bare(references: References | None, table: list[list[int]]) -> dict[int, set[str]]:
    kinds, names, receivers, _, _, scopes, _ = table
    pairs = {
        (scope, name)
        for kind, name, receiver, scope in zip(kinds, names, receivers, scopes, strict=True)
        if receiver < 0 and kind != _IMPORT
    }
    found: dict[int, set[str]] = defaultdict(set)
    strings = references.strings if references is not None else ()
    for scope, name in pairs:
        found[scope].add(strings[name])
    return found


def expression(binding: Binding) -> str:
    """Return what a binding tells as an expression; "" when it tells nothing."""
    text, origin = binding.type_name, binding.origin
    if origin == "block":
        return BLOCK
    if origin in ("narrow", "widen"):
        if text[:1] == "?":
            return NARROW + text
        return NARROW + annotated(text) if text else WIDEN
    if not text:
        return ""
    if origin in ("annotation", "parameter"):
        return annotated(text)
    if origin == "call":
        return text + CALL
    if origin == "context":
        declared, _, place = text.rpartition("@")
        return f"{annotated(declared)}@.{place}"
    return text + EACH if origin == "element" else text


_IMPORT = REFERENCE_KINDS.index("import")
