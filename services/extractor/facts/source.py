"""What does one file offer to whoever reads facts out of it?

Uses of names were collected already; only those with a name that some framework gives meaning to
are looked at again, as source text around the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from contracts.extract import REFERENCE_KINDS, Fact, Import, References, Symbol
from services.extractor.table import Lines, Table
from services.surfaces import expressions
from services.surfaces.expressions import Arguments

CALL, NEW, DECORATOR, RAISE = (
    REFERENCE_KINDS.index(kind) for kind in ("call", "new", "decorator", "raise")
)
MAX_FACTS = 5_000
_CALL_BYTES = 1_600
_BLOCK_BYTES = 60_000
_MAX_VALUE = 300
_VALUES = frozenset({"constant", "variable", "field", "property"})
_FUNCTIONS = frozenset({"function", "method", "constructor"})
_BLOCK = re.compile(r"\s+do\s*(?:\|[^|]*\|)?\s*$")  # what a Ruby call's line ends with
_LOGGER = re.compile(
    r"(?:^|[.>:_@$])(?:log|logs|logger|logging|lgr|slog|klog|glog|logrus|zap|sugar|winston|pino|rails\.logger)"
    r"(?:\(\)|\[\]|!!)?(?:[.>:-].*)?$|(?:^|[a-z_])[lL]og(?:ger)?$",
    re.IGNORECASE,
)
_OPENING = re.compile(r"\s*(?:!|\?)?\s*(?:<[\w\s,.<>\[\]?|&:{};'\"-]*>)?\s*\(")
_ASSIGNED = re.compile(
    r"(?:^|[\s({;,])(?P<name>[@$]?[A-Za-z_][\w.$]*(?:->\w+)?)\s*(?::\s*[^=\n]+?)?\s*(?::=|=)\s*"
    r"(?:await\s+|new\s+|&)?(?P<before>[\w.$:()'\"@/-]*?)$"
)


class Use(NamedTuple):
    """One use of a name; columns of contracts.extract.References in words."""

    kind: int
    name: str
    receiver: str  # "" for none
    line: int
    start: int  # byte position of the name
    scope: int
    argc: int
    literal: str | None

    @property
    def end(self) -> int:
        return self.start + len(self.name.encode())


Handler = Callable[["Source", Use], None]


@cache
def _starts(modules: tuple[str, ...]) -> tuple[str, ...]:
    """How lines begin that name one of the modules or something inside it."""
    return tuple(f"\n{module}{end}" for module in modules for end in ("\n", ".", "/", "\\", ":"))


class Source:
    """One file and the facts found in it so far."""

    def __init__(  # noqa: PLR0913 - the parts of one reading
        self,
        path: str,
        language: str,
        data: bytes,
        symbols: Sequence[Symbol],
        imports: Sequence[Import],
        references: References | None,
        lines: Lines,
        table: Table,
    ) -> None:
        self.path, self.language, self.data = path, language, data
        self.symbols, self.imports, self.lines, self.table = symbols, imports, lines, table
        self.references = references
        self.facts: list[Fact] = []
        self.routers: dict[tuple[int, str], str] = {}  # (function, variable) -> router
        self.includes: list[tuple[int, str]] = []  # end and prefix of blocks of routes
        self.holders: list[tuple[int, str]] = []  # end and router of inline lists of routes
        self.scopes: dict[int, str] = {}  # handler -> prefix of the scope it is added to
        self._known: dict[tuple[str, ...], bool] = {}
        self._positions: dict[int, int] = {}

    # -- finding ---------------------------------------------------------------------------------

    def uses(self, names: Mapping[str, object], *kinds: int) -> Iterator[Use]:
        """Yield uses with one of the names, or of one of the kinds, in source order."""
        references = self.references
        if references is None:
            return
        strings = references.strings
        wanted = [number for number, text in enumerate(strings) if text in names]
        if not wanted and not kinds:
            return
        name = np.frombuffer(references.name, "<u4")
        chosen = np.zeros(len(strings), bool)
        chosen[wanted] = True
        matching = chosen[name]
        for kind in kinds:
            matching |= np.frombuffer(references.kind, "u1") == kind
        rows = np.flatnonzero(matching)
        if not len(rows):
            return
        line = np.frombuffer(references.line, "<u4")[rows]
        start = self.lines.starts[line - 1] + np.frombuffer(references.column, "<u4")[rows]
        columns = [np.frombuffer(references.kind, "u1")[rows].tolist(), name[rows].tolist()]
        columns += [np.frombuffer(references.receiver, "<i4")[rows].tolist(), line.tolist()]
        columns += [start.tolist(), np.frombuffer(references.scope, "<i4")[rows].tolist()]
        columns += [np.frombuffer(references.argc, "<i2")[rows].tolist()]
        columns += [np.frombuffer(references.literal, "<i4")[rows].tolist()]
        for kind, named, receiver, at_line, at, scope, argc, literal in zip(*columns, strict=True):
            yield Use(
                kind, strings[named], strings[receiver] if receiver >= 0 else "", at_line, at,
                scope, argc, strings[literal] if literal >= 0 else None,
            )  # fmt: skip

    def dispatch(self, handlers: Mapping[str, Handler], raised: Handler) -> None:
        """Hand each use to the handler of its name, raised exceptions to `raised`."""
        for use in self.uses(handlers, RAISE):
            if use.kind == RAISE:
                raised(self, use)
            else:
                handlers[use.name](self, use)

    def rethrows(self, pattern: re.Pattern[bytes]) -> None:
        """Note where a caught exception is thrown again; its first group is the variable."""
        if b"throw" in self.data:
            for found in pattern.finditer(self.data):
                value = f"{found[1].decode()}|re-throw"
                self.fact("exception", value, self.at(found.start()), "medium")

    @cached_property
    def modules(self) -> str:
        """Every imported module, one a line, with names, to search for frameworks."""
        return "\n".join(f"{each.module}:{each.name}" for each in self.imports)

    def imports_any(self, *modules: str) -> bool:
        """Tell whether a module, or one inside it, is imported."""
        known = self._known.get(modules)
        if known is None:
            text = self._module_text
            known = self._known[modules] = any(start in text for start in _starts(modules))
        return known

    @cached_property
    def _module_text(self) -> str:
        lines = [f"{each.module}\n{each.module}.{each.name}" for each in self.imports]
        return "\n" + "\n".join(lines) + "\n"

    def confidence(self, *modules: str) -> str:
        """High where the framework is imported, else medium: the receiver is guessed by its name."""
        return "high" if self.imports_any(*modules) else "medium"

    # -- text around a use -----------------------------------------------------------------------

    def after(self, use: Use, limit: int = _CALL_BYTES) -> str:
        return self.data[use.end : use.end + limit].decode(errors="replace")

    def line_before(self, use: Use) -> str:
        """Return what stands on the use's line before its name."""
        begin = self.data.rfind(b"\n", 0, use.start) + 1
        return self.data[max(begin, use.start - 300) : use.start].decode(errors="replace")

    def call(self, use: Use) -> Arguments | None:
        """Return the arguments of a call of this name, None when it is none."""
        text = self.after(use)
        if self.language == "ruby" and text[:1] != "(":
            parts, end = expressions.split_line(text, "ruby")
            parts = [_BLOCK.sub("", part) for part in parts]
            return expressions.sorted_out(parts, end, True, "ruby")
        opening = _OPENING.match(text)
        if opening is None:
            return None
        return expressions.arguments(text, opening.end() - 1, self.language)

    def assigned_to(self, use: Use) -> str:
        """Return the variable a call's value is assigned to, "" for none."""
        found = _ASSIGNED.search(self.line_before(use))
        return found["name"] if found else ""

    def line_text(self, use: Use) -> str:
        """Return a call's arguments on one line, short."""
        found = self.call(use)
        if found is None:
            return ""
        parts = [*found.positional, *(f"{name}={text}" for name, text in found.named.items())]
        return " ".join(", ".join(parts).split())[:120]

    def value(self, text: str) -> str:
        return expressions.evaluate(text, self.language, self.constant)

    def literal(self, use: Use, text: str) -> str:
        """Return an argument's value, quicker where it is the literal the columns know."""
        if use.literal is not None and text[1:-1] == use.literal and "\\" not in text:
            return use.literal
        return self.value(text)

    # -- names -----------------------------------------------------------------------------------

    @cached_property
    def _declared(self) -> dict[str, str]:
        """Source of the value of each constant, by name and by Class.NAME."""
        found: dict[str, str] = {}
        for symbol in self.symbols:
            if symbol.kind in _VALUES and "=" in symbol.signature:
                inside = self.symbols[symbol.parent] if symbol.parent >= 0 else None
                if inside is not None and inside.kind in _FUNCTIONS:
                    continue
                text = expressions.declared_value(symbol.signature)
                found.setdefault(symbol.name.removeprefix("$"), text)
                if inside is not None:
                    for separator in (".", "::"):
                        found.setdefault(f"{inside.name}{separator}{symbol.name}", text)
        return found

    def declared(self, name: str) -> str:
        """Return the source of what a name of this file is assigned, "" when nothing tells."""
        return self._declared.get(name, "")

    def constant(self, name: str, depth: int = 3) -> str | None:
        """Return the value of a constant of this file; a hole for an imported one; None unknown."""
        name = name.removeprefix("self::").removeprefix("static::")
        text = self._declared.get(name)
        if text is None and "." in name:
            head, _, key = name.partition(".")
            text = expressions.entries(self._declared.get(head, ""), self.language).get(key)
        if text is not None and depth:
            value = expressions.evaluate(
                text, self.language, lambda inner: self.constant(inner, depth - 1)
            )
            return value or None
        reference = self.imported(name)
        return "{=" + reference + "}" if reference else None

    @cached_property
    def _bound(self) -> dict[str, Import]:
        return {each.alias: each for each in self.imports if each.alias}

    def imported(self, name: str) -> str:
        """Spell an imported name "module:name", "" when it is not imported."""
        head, separator, rest = name.replace("::", ".").partition(".")
        found = self._bound.get(head)
        if found is None:
            return ""
        module = "." * found.level + found.module
        member = found.name if found.name not in ("", "*") else ""
        return f"{module}:{'.'.join(part for part in (member, rest if separator else '') if part)}"

    @cached_property
    def _indexes(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for index, symbol in enumerate(self.symbols):
            found.setdefault(symbol.name, index)
            if symbol.parent >= 0:
                found.setdefault(f"{self.symbols[symbol.parent].name}.{symbol.name}", index)
        return found

    def symbol_named(self, name: str) -> int:
        return self._indexes.get(name, -1)

    def enclosing(self, scope: int, kinds: frozenset[str]) -> int:
        """Return the innermost symbol of one of the kinds around a scope, -1 for none."""
        while scope >= 0 and self.symbols[scope].kind not in kinds:
            scope = self.symbols[scope].parent
        return scope

    def function_of(self, scope: int) -> int:
        return self.enclosing(scope, _FUNCTIONS)

    def type_of(self, name: str, scope: int) -> str:
        """Return the declared type of a parameter around a scope, or of a field; "" when unknown."""
        plain = name.removeprefix("self.").removeprefix("this.")
        while scope >= 0:
            for parameter, declared in self.symbols[scope].params:
                if parameter.lstrip("*&$@") == plain:
                    return declared or "?"
            scope = self.symbols[scope].parent
        return ""

    def is_logger(self, name: str) -> bool:
        """Tell whether a name is a logger's by how it is spelled or what it is assigned."""
        return (
            name != "" and bool(_LOGGER.search(name.removesuffix("()")))
        ) or "ogger(" in self._declared.get(name, "")

    # -- routers ---------------------------------------------------------------------------------

    def add_router(self, use: Use, name: str, prefix: str, of: str = "", detail: str = "") -> str:
        """Record that a variable holds a router with its own prefix, made of another one or of none."""
        name = name.removeprefix("$")
        scope = self._scope_of(name, use.scope)
        key = name.rpartition(".")[2] if scope < 0 or "." in name else f"{scope}#{name}"
        self.routers[scope, name] = key
        self.fact("router", prefix, use, detail=detail, owner=key, target=of)
        return key

    def _scope_of(self, name: str, scope: int) -> int:
        if name.startswith(("self.", "this.", "@")):
            return self.enclosing(scope, frozenset({"class", "struct"}))
        return self.function_of(scope)

    def router(self, name: str, scope: int) -> str:
        """Return the router a name stands for where it is used, "" when none is known."""
        name = name.removeprefix("$")
        if name.startswith(("self.", "this.", "@")):
            return self.routers.get((self._scope_of(name, scope), name), "")
        scope = self.function_of(scope)
        while True:
            found = self.routers.get((scope, name))
            if found is not None:
                return found
            if scope < 0:
                return ""
            if any(parameter.lstrip("*&$") == name for parameter, _ in self.symbols[scope].params):
                return "@" + self.symbols[scope].name
            scope = self.function_of(self.symbols[scope].parent)

    def target(self, text: str, scope: int) -> str:
        """Spell what an expression names: ":router" here, "module:name" elsewhere, "" for nothing."""
        text = text.strip().removesuffix("()")
        required = re.match(
            r"require\(\s*['\"]([^'\"]+)['\"]\s*\)(?:\.(\w+))?|import\(\s*['\"]([^'\"]+)", text
        )
        if required:
            return f"{required[1] or required[3]}:{required[2] or 'default'}"
        name = text.split("(")[0].lstrip("&$")
        if re.fullmatch(r"[\w.$:]+", name) is None:
            return ""
        here = self.router(name, scope)
        if here:
            return ":" + here
        reference = self.imported(name)
        if reference:
            return (
                reference + "default"
                if reference.endswith(":")
                and self.language != "python"
                and "/" in reference
                and self.language != "go"
                else reference
            )
        return ":" + name

    # -- adding ----------------------------------------------------------------------------------

    def fact(
        self,
        kind: str,
        value: str,
        at: Use | tuple[int, int],  # or (symbol, line)
        confidence: str = "high",
        detail: str = "",
        owner: str = "",
        target: str = "",
    ) -> None:
        symbol, line = (at.scope, at.line) if isinstance(at, Use) else at
        if len(self.facts) < MAX_FACTS:
            value = " ".join(value.split()) if "\n" in value else value
            self.facts.append(
                Fact(kind, value[:_MAX_VALUE], symbol, line, confidence, detail, owner, target)
            )

    def route(
        self,
        methods: Sequence[str],
        path: str,
        at: Use | tuple[int, int],
        framework: str,
        confidence: str = "high",
        owner: str = "",
        handler: str = "",
    ) -> None:
        """Add one fact per method. A path of which nothing is known is skipped."""
        if (
            path
            and path.strip("/")
            and not expressions.tells(path)
            and not expressions.HOLE.search(path)
        ):
            return
        symbol = self.symbol_named(handler) if handler and "." not in handler else -1
        target = (
            ""
            if symbol >= 0 or not handler
            else self.target(handler, at[0] if not isinstance(at, Use) else at.scope)
        )
        if symbol >= 0:
            at = (symbol, at.line if isinstance(at, Use) else at[1])
        for method in methods:
            self.fact("route", f"{method.upper()} {path}", at, confidence, framework, owner, target)

    def prefix_at(self, position: int) -> str:
        """Return the prefix of the innermost open block of routes around a position."""
        while self.includes and self.includes[-1][0] <= position:
            self.includes.pop()
        return self.includes[-1][1] if self.includes else ""

    def open_block(self, position: int, prefix: str) -> None:
        """Give routes a prefix up to the end of the brackets that open at or behind a position."""
        text = self.data[position : position + _BLOCK_BYTES].decode(errors="replace")
        opening = re.search(r"[{(]", text)
        if opening:
            end = expressions.split(text, opening.start(), self.language)[1]
            self.includes.append((position + len(text[:end].encode()), prefix))

    def next_position(self, body: int) -> int:
        """Count middleware per method body, from 1."""
        self._positions[body] = self._positions.get(body, 0) + 1
        return self._positions[body]

    def line_of(self, position: int) -> int:
        return self.lines.of([position])[0]

    def at(self, position: int) -> tuple[int, int]:
        """Return the enclosing symbol and the line of a byte position."""
        return self.table.scope_at(position), self.line_of(position)
