"""What does every use of a name in one file mean?"""

from __future__ import annotations

import re
from array import array
from itertools import repeat

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from contracts.extract import REFERENCE_KINDS, Body, Symbol
from services.resolution import cpp_types, overloads, rust_wrappers, values
from services.resolution.argument_types import ArgumentTypes
from services.resolution.c_includes import included
from services.resolution.choice import meant, takes
from services.resolution.ecma_objects import this_at
from services.resolution.edges import (
    EDGE_KINDS,
    MAX_CANDIDATES,
    RELATION_KINDS,
    FileEdges,
    Relation,
)
from services.resolution.engine import Engine
from services.resolution.expressions import (
    CALL,
    FUNCTION,
    INDEX,
    TYPE_OPEN,
    Chain,
    chain_of,
    is_called,
    with_type_arguments,
)
from services.resolution.extensions import extended
from services.resolution.ids import symbol_id
from services.resolution.library_names import C_LIBRARY, ROOT_MEMBERS
from services.resolution.nominal_types import FAMILIES, type_beyond
from services.resolution.overload_rules import plain
from services.resolution.overloads import differ, exactly, pick
from services.resolution.scopes import (
    BLOCK,
    CALLABLE,
    NARROW,
    WIDEN,
    Scopes,
    columns,
    is_within,
    spans_of,
)
from services.resolution.standing import Timeline, declared, first_of_its_block, standing
from services.resolution.structural import implemented, interfaces, type_of_method
from services.resolution.summary import (
    BY_NAME,
    SPACES,
    TYPE_LIKE,
    TYPES,
    UNSEEN,
    VALUES,
    Decl,
    Summary,
)
from services.resolution.type_arguments import told_apart
from services.resolution.values import (
    AMBIGUOUS,
    EXTERNAL,
    INSTANCE,
    MEANS_TYPE,
    MEANS_VALUE,
    MEDIUM,
    MODULE,
    NOTHING,
    OUTSIDE,
    PARENT,
    RESOLVED,
    TYPE,
    UNRESOLVED,
    Found,
    Value,
)

_KINDS = {name: code for code, name in enumerate(EDGE_KINDS)}
_RELATIONS = {name: code for code, name in enumerate(RELATION_KINDS)}
_CALL, _NEW, _READ, _WRITE, _TYPE, _BASE, _DECORATOR, _IMPORT, _OVERRIDE, _RAISE = range(
    len(REFERENCE_KINDS)
)
_EDGE_OF = {
    _CALL: "call", _NEW: "instantiate", _READ: "read", _WRITE: "write", _TYPE: "type",
    _BASE: "base", _DECORATOR: "call", _IMPORT: "import", _OVERRIDE: "override", _RAISE: "read",
}  # fmt: skip
_QUALIFIED = frozenset({_TYPE, _NEW, _BASE, _WRITE})  # may name a member of a package in Go
_INTERFACES = frozenset({"interface", "trait"})
_OVERRIDING = frozenset({"method", "property"})
_BOUND_AFTER = frozenset({"go", "php", "ruby", "rust"})  # by a line that binds a name anew
_ALL_DECLARED = frozenset({"php", "c"})  # a bare function is declared somewhere or outside
_RUBY_KERNEL = ROOT_MEMBERS["ruby"]
_HINT_CHARS = 100
_SIGILS = "@$"
_MOST_LOOKED_THROUGH = 8  # things told of a local, beyond which its timeline is kept
_NO_NAMES: frozenset[str] = frozenset()
_KEEP_TYPES = frozenset({"python", "ecma"})  # what a local is assigned has the type it was given
_OWN_TYPE = re.compile("[Ss]elf|static|this")  # a type that stands for the one around


def _chain_with_types(text: str) -> Chain | None:
    return chain_of(with_type_arguments(text))


class FileResolver:
    """One file's uses of names being resolved."""

    def __init__(self, engine: Engine, path: str, summary: Summary, body: Body) -> None:
        self.engine, self.path, self.summary, self.body = engine, path, summary, body
        self.family = engine.family
        self.nominal = self.family.name in FAMILIES
        self._chain = _chain_with_types if self.nominal else chain_of
        # The package around every scope where members do not ask for the namespace.
        self.only_space = summary.module if self.nominal else ""
        self.is_spaced = self.family.name == "csharp"
        self.around_names = self.family.classes | self.family.parents
        self.own_names = self.around_names | self.family.selves
        self.is_ruby, self.is_go = self.family.name == "ruby", self.family.name == "go"
        self.table = columns(body.references)
        self.scopes = Scopes(body, self.table)
        self.symbols = body.symbols
        self.strings: dict[str, int] = {}
        self.receivers: dict[tuple[int, str, int], Value | None] = {}
        self.places: dict[int, str] = {}
        self.parameterised = {at for at, decl in enumerate(summary.decls) if decl.parameters}
        self.generic: dict[int, bool] = {}  # scopes that see type parameters
        self.parameters: dict[int, frozenset[str]] = {}
        self.generic_types: dict[str, bool] = {}  # the same of types, by their full names
        self._imports = {
            (fact.name, fact.module, fact.level): fact for fact in reversed(summary.imports)
        }
        self.declaring = {symbol.parent for symbol in body.symbols}
        self.declaring |= {imported.scope for imported in body.imports}
        self.arounds: dict[int, Decl | None] = {}
        self.candidates: list[tuple[int, tuple[int, ...]]] = []
        self._lists: list[tuple[int, ...]] = []  # candidates, referred to by the rows
        self.moving: set[int] = set()
        self.held: dict[tuple[int, int, int], Value | None] = {}  # what receivers stand for
        # by the identity of a value, which is kept with the answer so that it stays its own
        self.stepped: dict[tuple[int, Chain, str], tuple[Value | None, Value]] = {}
        self.spaces: dict[int, str] = {}
        self.qualifiers: dict[tuple[str, str], Value | None] = {}
        self.roots: dict[tuple[str, str, int, bool], Value | None] = {}
        self.rows: dict[tuple[object, ...], tuple[int, ...]] = {}
        self.selves: dict[tuple[int, int], Value] = {}
        self.targets: dict[int, int] = {}  # of declarations by identity, so all are kept
        self.kept: list[Decl] = []
        self.partly_seen = self._partly_seen() if self.family.name == "ecma" else {}
        self.declared_locals = {
            key
            for key, told in self.scopes.told.items()
            if self.family.name in _KEEP_TYPES and len(told) > 1
            if any(text[:1] == TYPE_OPEN for _, text in told)
        }
        self.timelines: dict[tuple[int, str], Timeline] = {}
        self.overriding: set[int] = set()  # symbols whose own name is a reference already

    # ---- columns ---------------------------------------------------------------------------------

    def edges(self) -> FileEdges:
        """Resolve everything."""
        references = self.body.references
        texts = references.strings if references is not None else ()
        kinds, names, receivers, lines, _, scopes, argcs = self.table
        if not self.family.overloads:  # that it is called is all that counts
            argcs = [0 if argc > 0 else argc for argc in argcs]
        given = self._given()
        further = [column for column in (given, self._moments(texts, given)) if column]
        uses = list(zip(kinds, names, receivers, scopes, argcs, *further, strict=True))
        known: dict[tuple[int, ...], int] = {}
        answers: list[int] = []  # seven numbers each
        for at, use in enumerate(uses):
            if use not in known:
                known[use] = len(known)
                told = texts[given[at]] if given and given[at] >= 0 else ""
                answers += self._answer(
                    kinds[at], texts, names[at], receivers[at], scopes[at], argcs[at], lines[at],
                    told,
                )  # fmt: skip
        numbers = np.fromiter(map(known.__getitem__, uses), np.int64, len(uses))
        columns_ = np.frombuffer(array("q", answers), np.int64).reshape(-1, 7)[numbers].T
        candidates = columns_[6]
        for at in np.flatnonzero(candidates >= 0).tolist():
            self.candidates.append((at, self._lists[candidates[at]]))
        rows: list[tuple[int, ...]] = []
        relations = self._relations(rows)
        return self._packed(columns_, rows, relations)

    def _moments(self, texts: tuple[str, ...], given: list[int]) -> list[int]:
        """Return between which bindings each use stands where its meaning depends on it, else -1.

        Nothing when that of none does.
        """
        moving = self.moving = self._moving(texts)
        _, names, receivers, lines, _, _, _ = self.table
        if not moving:
            return []
        several = (told for told in self.scopes.told.values() if len(told) > 1)
        bound = np.unique([line for told in several for line, _ in told])
        between = bound.searchsorted(lines) + bound.searchsorted(lines, side="right")
        return [
            moment if (receiver if receiver >= 0 else name) in moving or told in moving else -1
            for name, receiver, moment, told in zip(
                names, receivers, between.tolist(), given or repeat(-1), strict=False
            )
        ]

    def _given(self) -> list[int]:
        """Return the number of what is written as arguments of each use, -1 for nothing.

        Nothing where it does not count.
        """
        references = self.body.references
        if references is None or not references.arguments or not self.family.overloads:
            return []
        found: list[int] = np.frombuffer(references.arguments, "<i4").tolist()
        return found

    def _packed(
        self,
        answers: npt.NDArray[np.int64],
        rows: list[tuple[int, ...]],
        relations: list[Relation],
    ) -> FileEdges:
        """Put together the answers of all uses and the rows that no use stands for."""
        kind, state, confidence, target, name, hint, _ = answers
        more = np.array(rows, np.int64).reshape(-1, 9).T if rows else None
        uses = self.body.references

        def column(at: int, values: npt.NDArray[np.int64] | bytes, dtype: str) -> bytes:
            found = values if isinstance(values, bytes) else values.astype(dtype).tobytes()
            return found if more is None else found + more[at].astype(dtype).tobytes()

        return FileEdges(
            strings=tuple(self.strings),
            kind=column(0, kind, "u1"),
            state=column(1, state, "u1"),
            confidence=column(2, confidence, "u1"),
            source=column(3, uses.scope if uses else b"", "<i4"),
            target=column(4, target, "<i4"),
            name=column(5, name, "<u4"),
            hint=column(6, hint, "<i4"),
            line=column(7, uses.line if uses else b"", "<u4"),
            column=column(8, uses.column if uses else b"", "<u4"),
            candidates=tuple(self.candidates),
            relations=tuple(relations),
        )

    def _number(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def _moving(self, texts: tuple[str, ...]) -> set[int]:
        """Return the texts whose meaning depends on the line: a local bound to more than one thing."""
        names = {name for (_, name), told in self.scopes.told.items() if len(told) > 1}
        if not names:
            return set()
        if self.family.name == "php":
            names |= {f"${name}" for name in names}
        if not self.family.overloads:  # else a text may be several arguments
            _, used, receivers, _, _, _, _ = self.table
            return {
                number
                for number in {*used, *receivers}
                if number >= 0 and _root_of(texts[number]) in names
            }
        found = set()
        for number, text in enumerate(texts):
            for part in text.split("\n") if "\n" in text else (text,):
                chain = chain_of(part)
                if chain is not None and chain[0] in names:
                    found.add(number)
                    break
        return found

    def _plain(self, name: str) -> str:
        return name.removeprefix("$") if self.family.name == "php" else name

    def _answer(  # noqa: PLR0913 - a use is its columns
        self, kind: int, texts: tuple[str, ...], name: int, receiver: int, scope: int, argc: int,
        line: int, given: str = "",
    ) -> tuple[int, ...]:  # fmt: skip
        self.engine.nested = self.engine.spent = 0
        apart = None if given else self._all_of(kind, texts, name, receiver, scope, argc, line)
        known = self.rows.get(apart) if apart is not None else None
        if known is None:
            found = self._found(kind, texts, name, receiver, scope, argc, line, given)
            known = self._used(kind, found, texts[name], argc, receiver >= 0)
            if apart is not None:
                self.rows[apart] = known
        return known

    def _all_of(
        self, kind: int, texts: tuple[str, ...], name: int, receiver: int, scope: int, argc: int,
        line: int,
    ) -> tuple[object, ...] | None:  # fmt: skip
        """Return all that the answer depends on, where that is less than the scope and the line."""
        if kind in (_OVERRIDE, _IMPORT) or self.family.name == "ecma":  # effort is of the question
            return None
        if receiver >= 0:
            value = self._held(texts, receiver, scope, line)
            if value is None and kind in _QUALIFIED and self.is_go:
                value = self._qualifier(kind, texts[receiver], scope)
            space = self._space(scope) if self.is_spaced else self.only_space
            return kind, name, argc, id(value), space
        text = texts[name]
        if self.family.name == "ruby" or text in self.around_names:
            return None
        if self.scopes.local_at(scope, text) is not None:
            return None
        hidden = self.nominal and text in self._parameters(scope)
        return kind, name, argc, "" if hidden else self._place(scope)

    def _found(  # noqa: PLR0913 - a use is its columns
        self, kind: int, texts: tuple[str, ...], name: int, receiver: int, scope: int, argc: int,
        line: int, given: str,
    ) -> Found:  # fmt: skip
        text, family = texts[name], self.family.name
        if kind == _OVERRIDE:
            found = self._overridden(scope)
        elif kind == _IMPORT:
            found = self._imported(text, texts[receiver] if receiver >= 0 else "")
        elif receiver >= 0:
            value = self._held(texts, receiver, scope, line)
            if value is None and kind in _QUALIFIED and self.is_go:
                value = self._qualifier(kind, texts[receiver], scope)
            found = self._member(text, value, argc)
            if self.is_spaced and value is not None and kind == _CALL:
                found, given = self._extended(found, value, text, argc, scope, given)
            if argc < 0 and family in ("php", "rust") and kind in (_READ, _WRITE):
                found = self.engine.field(found)
        elif kind == _NEW and family == "go":  # no local is what `key{}` makes
            found = self.engine.named(text, self.path, self._place(scope), MEANS_TYPE)
        else:
            meaning = MEANS_TYPE if kind == _TYPE else MEANS_VALUE
            found = self._bare(text, scope, argc, line, meaning)
        if given and found.decls and found.decls[0].kind in CALLABLE:
            found = self._picked(found, given, scope, line)
        if receiver < 0 and family in ("c", "csharp"):
            found = self._type_meant(kind, found, text, scope)
        found = self._of_script(kind, found) if family == "ecma" else found
        if found is NOTHING and receiver < 0:
            found = self._undeclared(kind, text, scope, argc)
        return found

    def _undeclared(self, kind: int, text: str, scope: int, argc: int) -> Found:
        """Return what a bare name means that nothing in sight declares."""
        if kind == _CALL and self.summary.language == "cpp":
            found = self._by_arguments(text, scope, argc)
            if found is not NOTHING:
                return found
        return values.outside("builtins") if self._is_outside(kind, text, scope) else NOTHING

    def _of_script(self, kind: int, found: Found) -> Found:
        """Keep what is meant: a type or a value; of a module that is called, what it exports."""
        if len(found.decls) > 1:
            return meant(found, MEANS_TYPE if kind in (_TYPE, _BASE) else MEANS_VALUE)
        module = found.value is not None and found.value.sort == MODULE
        if module and kind in (_CALL, _NEW):
            return self.engine.member(found.value, "default")
        return found

    def _by_arguments(self, name: str, scope: int, argc: int) -> Found:
        """Return a function of C++ that no scope has: its arguments may lead to their namespace's."""
        if name in C_LIBRARY or self.scopes.local_at(scope, name) is not None:
            return NOTHING
        named = self.engine.decls(BY_NAME, name)
        fitting = [d for d in named if d.kind == "function" and d.container and takes(d, argc)]
        if not fitting:
            return NOTHING
        near = included(self.engine, self.path)
        seen = tuple([d for d in fitting if d.path in near and "static" not in d.modifiers])
        if len({d.id for d in fitting}) == 1 and seen:
            return Found(RESOLVED, seen, MEDIUM)
        return Found(AMBIGUOUS, seen or tuple(fitting), MEDIUM)

    def _extended(
        self, found: Found, value: Value, text: str, argc: int, scope: int, given: str
    ) -> tuple[Found, str]:
        """Return the extension methods that C# means instead, if any, and all they are given."""
        place = (self.path, self._space(scope))
        further = extended(self.engine, found, value, text, argc, place)
        if further is None:
            return found, given
        held = value.decl.name if value.decl is not None else ""
        return further, f":{held}\n{given}" if given else ""

    def _type_meant(self, kind: int, found: Found, text: str, scope: int) -> Found:
        """Of a type and something else of one name, return what is meant."""
        if self.family.name == "csharp":
            if kind not in (_TYPE, _NEW, _BASE):
                return found
            return type_beyond(self.engine, found, text, self.path, self._place(scope))
        if kind == _CALL and text in C_LIBRARY:
            near = included(self.engine, self.path) | {self.path}
            own = [d for d in found.decls if d.kind in CALLABLE and d.path in near]
            if all(d.kind == "macro" for d in own):
                return values.outside("builtins")  # spelled otherwise for some platform
        return self._as_type(found, text, scope) if kind == _TYPE else found

    def _used(
        self, kind: int, found: Found, text: str, argc: int, has_receiver: bool
    ) -> tuple[int, ...]:
        """Return the row of a use by what its name means."""
        edge = _EDGE_OF[kind]
        if found.state == RESOLVED and found.decls:
            if edge == "call" and found.decls[0].kind in TYPE_LIKE:
                edge = "instantiate" if kind == _CALL else "read"
            elif kind == _RAISE and argc >= 0:
                edge = "instantiate" if found.decls[0].kind in TYPE_LIKE else "call"
            elif kind == _OVERRIDE and self._is_abstract(found.decls[0]):
                edge = "implementation"
        apart = has_receiver or self.family.name in ("ruby", "swift", "script")
        return self._row(edge, found, text, apart)

    def _as_type(self, found: Found, name: str, scope: int) -> Found:
        """Of a type and a callable or variable of one name, which is nearer, keep the type."""
        if not found.decls or found.decls[0].kind in TYPE_LIKE:
            return found
        around = self._place(scope)
        while True:
            types = tuple([d for d in self.engine.decls(around, name) if d.kind in TYPE_LIKE])
            if types:
                return self.engine.chosen(types)
            if not around:
                return found
            around = around.rpartition(".")[0]

    def _picked(self, found: Found, given: str, scope: int, line: int) -> Found:
        """Choose among callables by the types of the arguments."""
        told = ArgumentTypes(self.engine, self.path, self._context(scope), self.summary.language)
        kinds = [self._argument(text, told, scope, line) for text in given.split("\n")]
        decls = found.decls
        language = self.summary.language
        exact = [decl for decl in decls if exactly(decl, kinds, language)]
        if exact and found.state == RESOLVED:
            return found
        if not exact and len({decl.container for decl in decls}) == 1:
            decls = self.engine.overloads_of(decls[0], len(kinds)) or decls
        left = pick(decls, kinds, told.ancestors, language) if len(decls) > 1 else decls
        if len({decl.id for decl in left}) == 1:
            sure = found.confidence if found.state == RESOLVED else values.HIGH
            guessed = overloads.UNKNOWN in kinds and len(decls) > 1
            return Found(RESOLVED, left[:1], MEDIUM if guessed else sure)
        return Found(AMBIGUOUS, left, MEDIUM)

    def _argument(self, text: str, told: ArgumentTypes, scope: int, line: int) -> str:
        if not text or text[0] == ":":
            return plain(text[1:], self.summary.language)
        if text[0] in "&*" and self.family.name == "c":
            inner = self._argument(text[1:], told, scope, line)
            if text[0] == "&":
                return inner + "*" if inner else inner
            return inner[:-1] if inner.endswith("*") else overloads.UNKNOWN
        if text in self.family.selves:
            me = self._around(scope)
            pointer = "*" if self.family.name == "c" else ""
            return me.name + pointer if me is not None else overloads.UNKNOWN
        chain = self._chain(text)
        if chain is None:
            return overloads.UNKNOWN
        around = self.scopes.local_at(scope, chain[0])
        if around is not None and all(step == INDEX for step in chain[1:]):
            lines = self.scopes.told.get((around, chain[0]), ())
            return told.element(declared(lines, line), len(chain) - 1)
        if len(chain) == 1 and chain[0][0] == TYPE_OPEN:
            return plain(chain[0][1:], self.summary.language)
        last = len(chain) - 1
        while last > 0 and chain[last] in (CALL, INDEX):
            last -= 1
        if last == 0:
            named = self._bare(chain[0], scope, -1, line, MEANS_VALUE)
        else:
            held = self._expression(chain[:last], scope, line)
            named = self.engine.member(held, chain[last])
        made = told.made(chain[last], chain[last + 1 :]) if not named.decls else overloads.UNKNOWN
        return made or told.of(named, chain[last + 1 :])

    def _is_outside(self, kind: int, name: str, scope: int) -> bool:
        """Is it a function of the language's own, as no file declares it?"""
        if self.family.name == "ruby":
            return name in _RUBY_KERNEL
        if self.family.name not in _ALL_DECLARED or kind not in (_CALL, _NEW):
            return False
        return self.scopes.local_at(scope, name) is None

    def _row(
        self, edge: str, found: Found, name: str, has_receiver: bool = True
    ) -> tuple[int, ...]:
        target = hint = candidates = -1
        state, decls, confidence, told = found.state, found.decls, found.confidence, found.hint
        if state == RESOLVED:
            target = self._target(decls[0]) if decls else self._number(f"N:{told}")
            if target < 0:  # a field that no symbol stands for
                state, told = UNRESOLVED, decls[0].container
                decls = ()
        if state != RESOLVED:
            confidence = 0
            if told:
                hint = self._number(told[:_HINT_CHARS])
            if state != EXTERNAL:
                ids = tuple(dict.fromkeys([decl.id for decl in decls]))
                if not ids and has_receiver and edge in ("call", "instantiate"):
                    ids = self._same_named(name)
                    state = AMBIGUOUS if ids else state
                if ids:
                    numbers = tuple([self._number(one) for one in ids[:MAX_CANDIDATES]])
                    candidates = len(self._lists)
                    self._lists.append(numbers)
        return _KINDS[edge], state, confidence, target, self._number(name), hint, candidates

    def _target(self, decl: Decl) -> int:
        known = self.targets.get(id(decl))
        if known is None:
            known = -1 if UNSEEN in decl.modifiers else self._number(decl.id)
            self.targets[id(decl)] = known
            self.kept.append(decl)
        return known

    def _same_named(self, name: str) -> tuple[str, ...]:
        """Return what a call of something unknown may reach: never an answer, only candidates."""
        decls = self.engine.decls(BY_NAME, name)
        if not decls or len(decls) > 4 * MAX_CANDIDATES:
            return ()
        ids = sorted({decl.id for decl in decls if decl.kind in CALLABLE})
        return tuple(ids) if len(ids) <= MAX_CANDIDATES else ()

    # ---- names -----------------------------------------------------------------------------------

    def _context(self, scope: int) -> str:
        return self.symbols[scope].fq_name if scope >= 0 else self.summary.module

    def _place(self, scope: int) -> str:
        """Return where a bare name is looked up: at the innermost scope that declares anything.

        Names are then asked for once in a file, and not anew in each of its functions.
        """
        known = self.places.get(scope)
        if known is None:
            at = scope
            while at >= 0 and self._adds_nothing(at, scope):
                at = self.symbols[at].parent
            known = self.places[scope] = self._context(at)
        return known

    def _partly_seen(self) -> dict[str, dict[int, list[tuple[int, int]]]]:
        """Return the first and last lines where names declared in blocks only are seen.

        They are kept by name and by the scope around the blocks.
        """
        found: dict[str, dict[int, list[tuple[int, int]]]] = {}
        blocks = {key for key, told in self.scopes.told.items() if any(t == BLOCK for _, t in told)}
        if not blocks:
            return found
        lines: dict[tuple[int, str], list[int]] = {}
        for symbol in self.symbols:
            if (symbol.parent, symbol.name) in blocks:
                lines.setdefault((symbol.parent, symbol.name), []).append(symbol.start_line)
        for (scope, name), starts in lines.items():
            spans = spans_of(self.scopes.told[scope, name])
            if all(is_within(spans, line) for line in starts):
                found.setdefault(name, {})[scope] = spans
        return found

    def _named(self, name: str, scope: int, line: int, meaning: int) -> Found:
        """Return what a name means that is no local."""
        if self.nominal and name in self._parameters(scope):
            return NOTHING
        declaring = self.partly_seen.get(name)
        if declaring is None:
            return self.engine.named(name, self.path, self._place(scope), meaning)
        at = seen = scope
        while True:
            spans = declaring.get(at, [])
            if is_within(spans, line):
                break
            if at < 0:
                return self.engine.brought_in(name, self.path) if spans else self.engine.named(
                    name, self.path, self._place(seen), meaning
                )  # fmt: skip
            above = self.symbols[at].parent
            if spans:
                seen = above
            elif self.engine.decls_in(self.path, self._context(at), name):
                break
            at = above
        return self.engine.named(name, self.path, self._place(seen), meaning)

    def _space(self, scope: int) -> str:
        """Return the namespace of C# around a scope, of which a file may have several."""
        known = self.spaces.get(scope)
        if known is None:
            at = scope
            while at >= 0 and self.symbols[at].kind not in SPACES:
                at = self.symbols[at].parent
            known = self.spaces[scope] = self._context(at)
        return known

    def _type_place(self, scope: int, text: str) -> str:
        """Return where a written type is looked up: where a bare name is, if it means the same."""
        if self._has_parameters(scope) or _OWN_TYPE.search(text):
            return self._context(scope)
        return self._place(scope)

    def _has_parameters(self, scope: int) -> bool:
        """Are there type parameters around?"""
        if scope < 0:
            return False
        known = self.generic.get(scope)
        if known is None:
            symbol = self.symbols[scope]
            outer, inner = self._context(symbol.parent), symbol.fq_name[: -len(symbol.name) - 1]
            known = scope in self.parameterised or self._has_parameters(symbol.parent)
            if not self.family.filed and symbol.kind in TYPE_LIKE:
                known = known or self._takes_parameters(symbol.fq_name)
            while not known and len(inner) > len(outer):  # written apart from it
                known = self._takes_parameters(inner)
                inner = inner.rpartition(".")[0]
            self.generic[scope] = known
        return known

    def _parameters(self, scope: int) -> frozenset[str]:
        """Return the type parameters around a scope, as the file itself names them."""
        if scope < 0 or not self.parameterised:
            return _NO_NAMES
        known = self.parameters.get(scope)
        if known is None:
            own = self.summary.decls[scope].parameters if scope in self.parameterised else ()
            known = self._parameters(self.symbols[scope].parent).union(own)
            self.parameters[scope] = known
        return known

    def _takes_parameters(self, full_name: str) -> bool:
        known = self.generic_types.get(full_name)
        if known is None:
            container, _, name = full_name.rpartition(".")
            decls = self.engine.decls_in(self.path, container, name)
            known = self.generic_types[full_name] = any(decl.parameters for decl in decls)
        return known

    def _adds_nothing(self, index: int, scope: int) -> bool:
        symbol = self.symbols[index]
        kind = symbol.kind
        if symbol.fq_name[: -len(symbol.name) - 1] != self._context(symbol.parent):
            # written apart from the type it belongs to, whose members Go does not see
            return self.family.name == "go" and kind in CALLABLE and index not in self.declaring
        if kind in TYPES:  # where files are modules, methods do not see the members of their class
            return self.family.filed and index != scope
        return (kind in CALLABLE or kind in VALUES) and index not in self.declaring

    def _around(self, scope: int) -> Decl | None:
        """Return the type around a scope."""
        if scope in self.arounds:
            return self.arounds[scope]
        at = scope
        while at >= 0 and self.symbols[at].kind not in TYPE_LIKE:
            at = self.symbols[at].parent
        found = None
        if at >= 0:
            found = self._own_decl(at)
        elif scope >= 0:
            found = self.engine.around(self.path, self._context(scope))
        self.arounds[scope] = found
        return found

    def _own_decl(self, index: int) -> Decl | None:
        symbol = self.symbols[index]
        container = symbol.fq_name[: -len(symbol.name) - 1]
        decls = self.engine.decls(container, symbol.name)
        for decl in decls:
            if decl.path == self.path and decl.kind == symbol.kind:
                return decl
        return None

    def _bare(self, name: str, scope: int, argc: int, line: int, meaning: int) -> Found:
        if name in self.around_names and self._around(scope) is not None:
            return self._self_called(name, scope)
        around = self.scopes.local_at(scope, name)
        if around == -1:
            around = self._enclosed(name, line)
        if around is not None and not self._is_outer(name, around, line):
            if meaning == MEANS_TYPE and self.family.name == "ecma":  # no local is one
                declared_type = self._named(name, scope, line, meaning)
                if declared_type is not NOTHING:
                    return declared_type
            return self._local(name, around, line, argc)
        plain = name.lstrip(_SIGILS) if self.family.name == "ruby" else name
        if plain != name and self._around(scope) is not None:
            return self._variable(name, scope)
        if name == "new" and self.family.name == "ruby" and (me := self._around(scope)) is not None:
            return self._member(name, self._standing_for(me, TYPE), argc)
        found = self._named(name, scope, line, meaning)
        if found.state == AMBIGUOUS and argc >= 0:
            return self.engine.chosen(found.decls, argc)
        if found.state == RESOLVED and argc >= 0 and self.family.overloads:
            sole = self.summary.language == "c" and found.decls and found.decls[0].kind in CALLABLE
            return found if sole else self._overloaded(found, name, argc)
        return found

    def _is_outer(self, name: str, around: int, line: int) -> bool:
        """Is it `x := x()` in Go, where the name on the right is not that of the local?"""
        if self.family.name != "go":
            return False
        told = self.scopes.told.get((around, name), ())
        return any(at == line and _root_of(text) == name for at, text in told) and not any(
            at < line and text[:1] not in ("", BLOCK) for at, text in told
        )

    def _qualifier(self, kind: int, text: str, scope: int) -> Value | None:
        """Return the package in `package.Type` of Go, or that type, where no other use of it tells.

        A name in front of a type is a package's, whatever locals there are.
        """
        name, _, rest = text.partition(".")
        if kind == _WRITE and not rest:
            return None
        place = self._place(scope)
        question = (text, place)
        if question not in self.qualifiers:
            value = self.engine.value(self.engine.named(name, self.path, place))
            if value is not None and value.sort not in (MODULE, OUTSIDE):
                value = None
            if rest and value is not None:
                value = self.engine.steps(value, (rest,))
                value = value if value is not None and value.sort == TYPE else None
            self.qualifiers[question] = value
        return self.qualifiers[question]

    def _variable(self, name: str, scope: int) -> Found:
        me = self._around(scope)
        return self.engine.variable(me, name) if me is not None else NOTHING

    def _overloaded(self, found: Found, name: str, argc: int) -> Found:
        decl = found.decls[0] if found.decls else None
        if decl is None or decl.kind in TYPE_LIKE:
            return found
        container, _, last = decl.container.rpartition(".")
        owners = [d for d in self.engine.decls(container, last) if d.kind in TYPES]
        if owners:
            better = self.engine.member_of(owners[0], name, argc)
            if self.family.name != "c" or any(takes(d, argc) for d in better.decls):
                return better if better.decls else found
        every = self.engine.decls(decl.container, name)
        if self.family.name != "c":
            return self.engine.chosen(every, argc)
        outer = decl.container
        while outer and not any(takes(d, argc) for d in every if d.kind in CALLABLE):
            outer = outer.rpartition(".")[0]  # a test's body is no function that anybody calls
            further = self.engine.decls(outer, name)
            every = further if any(takes(d, argc) for d in further) else every
        own = tuple([d for d in every if d.path == self.path])
        return self.engine.chosen(own or every, argc)

    def _self_called(self, name: str, scope: int) -> Found:
        """`cls(...)`, `Self {}`, `super(...)`."""
        around = self._around(scope)
        if around is None or name in self.family.classes:
            return Found(RESOLVED, (around,)) if around is not None else NOTHING
        if self.family.name == "ecma":
            return self.engine.member_of(around, "constructor", -1, above=True)
        return values.outside("builtins") if self.family.name == "python" else NOTHING

    def _local(self, name: str, around: int, line: int, argc: int) -> Found:
        """A local is called: what it stands for is called, if that is known."""
        value = self._local_value(name, around, line, inclusive=False)
        if value is None:
            return NOTHING
        if value.sort in (values.CALLABLE, TYPE) and value.decl is not None and value.decl.name:
            return Found(RESOLVED, (value.decl,), MEDIUM)
        if value.sort == OUTSIDE:
            return NOTHING if value.name == FUNCTION else values.outside(value.name)
        if value.sort == INSTANCE and argc >= 0 and self.family.name == "python":
            return self.engine.member(value, "__call__", argc)
        if value.sort == INSTANCE and argc >= 0 and self.summary.language == "cpp":
            found = self.engine.member(value, "operator()", argc)
            return found if found.decls else NOTHING
        return NOTHING

    def _enclosed(self, name: str, line: int) -> int | None:
        """Return -1, or None where a local of nameless functions is used outside them."""
        spans = self.scopes.enclosed.get(name)
        return -1 if not spans or is_within(spans, line) else None

    def _local_value(self, name: str, around: int, line: int, inclusive: bool) -> Value | None:
        told = self.scopes.told.get((around, name))
        if not told:
            return None
        if len(told) <= _MOST_LOOKED_THROUGH:
            at = standing(told, line, inclusive)
        else:
            timeline = self.timelines.get((around, name))
            if timeline is None:
                timeline = self.timelines[around, name] = Timeline(told)
            at = timeline.at(line, inclusive)
        if at >= 0 and self.family.name in _BOUND_AFTER and told[at][0] == line:
            at = self._on_its_line(name, told, at)
        if at < 0:
            return None
        question = (around, name, at)
        if question not in self.receivers:
            self.receivers[question] = None
            value = self._told(told, at, around)
            if value is None and (around, name) in self.declared_locals:
                value = self._as_declared(told, at, around)
            self.receivers[question] = value
        return self.receivers[question]

    def _on_its_line(self, name: str, told: list[tuple[int, str]], at: int) -> int:
        """Return what a name means in the line that binds it, -1 where that is not known.

        Formatters give a function lines of its own, so what a line binds is for the next ones.
        """
        line, text = told[at]
        began = told[at - 1][0] if at > 0 and told[at - 1][1] == BLOCK else -1
        if 0 <= began < line:  # it takes several lines to bind it
            before = standing(told, began, inclusive=False)
            return before if before >= 0 and told[before][0] < line else -1
        before = standing(told, line, inclusive=False)
        if not 0 <= before < at:
            return at
        if began < 0 or (self.family.name == "go" and text[:1] == TYPE_OPEN):
            return before
        if _root_of(text) != name:
            return at
        is_over = told[at + 1 : at + 2] == [(line, WIDEN)]
        return before if self.family.name == "rust" and not is_over else -1

    def _as_declared(self, told: list[tuple[int, str]], at: int, around: int) -> Value | None:
        """Return what the type gives that a local is declared with, where nobody knows its value."""
        line = told[at][0]
        chain = chain_of(text) if (text := declared(told[: at + 1], line)) else None
        if chain is None or chain[0][0] != TYPE_OPEN:
            return None
        return self._expression(chain, around, line, inclusive=False)

    def _told(self, told: list[tuple[int, str]], at: int, around: int) -> Value | None:
        line, text = told[at]
        if text.startswith(NARROW + "?"):
            held = told[:at]
            before = standing(held, line, inclusive=True) if held else -1
            known = self._told(held, before, around) if before >= 0 else None
            return told_apart(self.engine, known, text[2:])
        text = text.lstrip(NARROW)
        chain = self._chain(text) if text else None
        if chain is None:
            return None
        sole = first_of_its_block(told, at)
        if sole and at > 0:  # what is bound in a block is read from around it
            line = told[at - 1][0]
        value = self._expression(chain, around, line, inclusive=False)
        if value is not None and not sole and not told[at][1].startswith((TYPE_OPEN, NARROW)):
            return replace(value, confidence=MEDIUM)
        return value

    def _expression(
        self, chain: Chain, scope: int, line: int, inclusive: bool = True
    ) -> Value | None:
        value = self._root(chain, scope, line, inclusive)
        steps = chain[1:]
        if value is None or not steps:
            return value
        if self.family.name == "ecma":  # where steps depend on the place
            return self.engine.steps(value, steps, (self.path, self._context(scope)))
        space = self._space(scope) if self.is_spaced else self.only_space
        question = (id(value), steps, space)
        known = self.stepped.get(question)
        if known is None:
            place = (self.path, space)
            known = self.stepped[question] = (self.engine.steps(value, steps, place), value)
        return known[0]

    def _root(self, chain: Chain, scope: int, line: int, inclusive: bool) -> Value | None:
        root, family = chain[0], self.family
        root = self._plain(root)
        if root[0] in '"\\' or root[0] == TYPE_OPEN:
            me = self._around(scope)
            context = self._type_place(scope, root)
            return self.engine.root(chain, self.path, context, Value(INSTANCE, me) if me else None)
        if root in self.own_names or (self.is_ruby and (root[0] in _SIGILS or root == "new")):
            value = self._own(root, scope, line)
            said = root in family.parents or root[0] in _SIGILS
            if value is not None or said or (family.name == "ecma" and root in family.selves):
                return value
        around = self.scopes.local_at(scope, root)
        if around == -1:
            around = self._enclosed(root, line)
        if around is not None:
            value = self._local_value(root, around, line, inclusive)
            if value is None and family.name == "rust" and line >= 0:
                return self._module_before(root, around, scope, line)
            return value
        if not self.scopes.declared_in(scope, root) and root not in ("std", "super"):
            return None
        owner, place = None, self._place(scope)
        if family.implicit_self and (me := self._around(scope)) is not None:
            owner = self._standing_for(me, INSTANCE)
        called = family.overloads and is_called(chain, 1)
        question = (root, place, id(owner), called)
        if question not in self.roots or family.name == "ecma":
            found = self._named(root, scope, line, MEANS_VALUE)
            given = self.engine.method if called else self.engine.value
            value = given(found, owner)
            self.roots[question] = self.engine.uncalled(value) if self.is_ruby else value
        return self.roots[question]

    def _own(self, root: str, scope: int, line: int) -> Value | None:
        """Return what a word for the instance, its type or a part of these means: `self`, `@x`."""
        family, me = self.family, self._around(scope)
        if family.name == "ecma" and root in family.selves:
            return self._this(scope, line)
        if me is None:
            return None
        if root in family.parents:
            if family.name == "ruby":
                return self._super(scope)
            return Value(INSTANCE if self._is_in_constant(scope) else PARENT, me)
        if root in family.selves or root in family.classes:
            static = root in family.classes and family.name != "rust"
            return self._standing_for(me, TYPE if static or root == "Self" else INSTANCE)
        if root == "new":
            return self.engine.steps(self._standing_for(me, TYPE), ("new",))
        return self.engine.value(self.engine.variable(me, root), Value(INSTANCE, me))

    def _this(self, scope: int, line: int) -> Value | None:
        """Return what `this` of JavaScript means at a place; nameless functions have their own."""
        elsewhere = self.scopes.told.get((scope, "this"))
        if elsewhere and is_within(spans_of(elsewhere), line):
            return None
        held = this_at(self.engine, self.path, self.summary.module, self.symbols, scope)
        if held is not None or (me := self._around(scope)) is None:
            return held
        return self._standing_for(me, INSTANCE)

    def _super(self, scope: int) -> Value | None:
        """Return what Ruby's `super` gives: what the method of the same name above does."""
        while scope >= 0 and self.symbols[scope].kind not in CALLABLE:
            scope = self.symbols[scope].parent
        me = self._around(scope)
        if me is None or scope < 0:
            return None
        found = self.engine.member_of(me, self.symbols[scope].name, -1, above=True)
        return self.engine.uncalled(self.engine.value(found, self._standing_for(me, INSTANCE)))

    def _module_before(self, name: str, around: int, scope: int, line: int) -> Value | None:
        """Return the module that a name means where the local of that name is not bound yet, in Rust."""
        told = self.scopes.told.get((around, name))
        if not told or standing(told, line, inclusive=True) >= 0:
            return None
        if not self.scopes.declared_in(scope, name):
            return None
        value = self.engine.value(self._named(name, scope, line, MEANS_VALUE))
        return value if value is not None and value.sort == MODULE else None

    def _is_in_constant(self, scope: int) -> bool:
        """Is it the body of a constant, whose base is the enum around?"""
        while scope >= 0 and self.symbols[scope].kind not in TYPE_LIKE:
            if self.symbols[scope].kind == "constant":
                above = self.symbols[scope].parent
                return above >= 0 and self.symbols[above].kind == "enum"
            scope = self.symbols[scope].parent
        return False

    def _standing_for(self, decl: Decl, sort: int) -> Value:
        """Return a type or an instance of it, always the same one."""
        known = self.selves.get((id(decl), sort))
        if known is None:
            known = self.selves[id(decl), sort] = Value(sort, decl)
        return known

    def _held(self, texts: tuple[str, ...], number: int, scope: int, line: int) -> Value | None:
        """Return what a receiver stands for."""
        question = (number, scope, line if number in self.moving else -1)
        if question not in self.held:
            self.held[question] = self._receiver(texts[number], scope, question[2])
        return self.held[question]

    def _member(self, name: str, value: Value | None, argc: int) -> Found:
        if value is None:
            return NOTHING
        if value.name == cpp_types.POINTER and self.family.name == "c":  # with a point, then
            own = cpp_types.of_pointer(value, name, NOTHING)
            if own is not None:
                return own
        found = self.engine.member(value, name, argc)
        made = name == "new" and self.family.name == "ruby" and value.sort == TYPE
        if made and found.state != RESOLVED and value.decl is not None:
            return Found(RESOLVED, (value.decl,), value.confidence)
        return found

    def _receiver(self, receiver: str, scope: int, line: int) -> Value | None:
        if self.family.name == "rust":
            receiver = rust_wrappers.spelled(receiver)
        elif self.family.name == "php":
            receiver = receiver.replace("::$", "::")  # a static property
        elif self.family.name == "ruby":
            receiver = receiver.replace("&.", ".")
        chain = self._chain(receiver)
        if chain is None:
            return None
        value = self._expression(chain, scope, line)
        if value is None and self.family.name == "php" and chain[0][0] != "$":
            value = self.engine.expression(chain, self.path, self._context(scope))
        return value

    def _imported(self, name: str, module: str) -> Found:
        """The name stands in an import statement."""
        engine, imports = self.engine, self.summary.imports
        wanted = module.replace(" ", "").lstrip(".")
        level = len(module) - len(module.lstrip("."))
        told = self._imports.get((name, wanted, level))
        if told is not None:
            return engine.imported(told)
        for fact in imports:
            if not fact.name and fact.module in (name, f"{wanted}.{name}"):
                plain = fact if "." not in fact.module else type(fact)(
                    fact.module, "", "\0", fact.kind, fact.level, fact.scope, fact.path
                )  # fmt: skip
                return engine.imported(plain)
        for fact in imports:
            if fact.name == name or fact.alias == name:
                return engine.imported(fact)
        return NOTHING

    # ---- relations -------------------------------------------------------------------------------

    def _is_abstract(self, decl: Decl) -> bool:
        if "abstract" in decl.modifiers or "abstractmethod" in decl.modifiers:
            return True
        container, _, last = decl.container.rpartition(".")
        return any(d.kind in _INTERFACES for d in self.engine.decls(container, last))

    def _overridden(self, scope: int) -> Found:
        """Return the member that the symbol whose name is referred to stands in for."""
        self.overriding.add(scope)
        return self._above(scope)

    def _above(self, index: int) -> Found:
        symbol = self.symbols[index]
        if symbol.parent < 0:
            return NOTHING
        parent, above = self.symbols[symbol.parent], True
        if parent.kind == "constant" and parent.parent >= 0:  # an enum's, with members of its own
            place, above = parent.parent, False
            parent = self.symbols[place]
        else:
            place = symbol.parent
        owner = self._own_decl(place) if parent.kind in TYPES else None
        if owner is None:
            return NOTHING
        if symbol.bases and self.family.name == "csharp":  # declared for one interface alone
            wanted = self.engine.dotted(symbol.bases[0], self.path, self._context(place))
            owner = wanted.decls[0] if wanted.decls else None
            if owner is None:
                return wanted
            above = False
        found = self.engine.member_of(owner, symbol.name, symbol.arity, above=above)
        if found.state == AMBIGUOUS and self.family.overloads:
            own = symbol_id(self.summary.language, symbol).partition("(")[2]
            same = tuple([d for d in found.decls if d.suffix[1:] == own])
            return Found(RESOLVED, same) if same else found
        if found.state == RESOLVED and found.decls[0].kind in TYPE_LIKE:
            return NOTHING
        if not self.family.overloads or symbol.arity < 0 or found.state != RESOLVED:
            return found
        own = symbol_id(self.summary.language, symbol).partition("(")[2]
        fitting = [
            d for d in found.decls
            if takes(d, symbol.arity) and d.arity in (symbol.arity, -1) and not differ(d, own)
        ]  # fmt: skip
        return found if fitting else NOTHING

    def _relations(self, rows: list[tuple[int, ...]]) -> list[Relation]:
        """Return type relations, and add rows for overrides that no word in the source declares."""
        found: list[Relation] = []
        if self.family.name == "go":
            self._structural(found, rows)
        # Components of Java's records are methods of their interfaces.
        overriding = _OVERRIDING | {"field"} if self.summary.language == "java" else _OVERRIDING
        for index, symbol in enumerate(self.symbols):
            if symbol.kind in TYPES and symbol.bases:
                found += self._base_relations(index, symbol)
            elif symbol.kind in overriding and symbol.parent >= 0:
                above = self._member_above(index, symbol)
                if above is None:
                    continue
                self._stands_for(index, symbol, *above, rows, found)
        return found

    def _structural(self, found: list[Relation], rows: list[tuple[int, ...]]) -> None:
        """Add which interfaces the file's types and methods implement without saying so."""
        engine = self.engine
        for index, symbol in enumerate(self.symbols):
            if symbol.kind == "method":
                owner = type_of_method(engine, symbol.fq_name[: -len(symbol.name) - 1])
                for wanted in implemented(engine, owner, symbol.name) if owner else ():
                    self._stands_for(index, symbol, wanted, MEDIUM, rows, found)
            elif symbol.kind in ("struct", "type"):
                decl = self._own_decl(index)
                found += _implementing(engine, index, decl) if decl is not None else []

    def _stands_for(
        self, index: int, symbol: Symbol, target: Decl, confidence: int,
        rows: list[tuple[int, ...]], found: list[Relation],
    ) -> None:  # fmt: skip
        found.append(Relation(_RELATIONS["overrides"], index, target.id, symbol.name, confidence))
        if index in self.overriding:
            return
        edge = "implementation" if self._is_abstract(target) else "override"
        row = self._row(edge, Found(RESOLVED, (target,), confidence), symbol.name)
        _, state, sure, number, name, hint, _ = row
        rows.append((_KINDS[edge], state, sure, index, number, name, hint, symbol.start_line, 0))

    def _member_above(self, index: int, symbol: Symbol) -> tuple[Decl, int] | None:
        if "staticmethod" in symbol.modifiers:
            return None
        if "static" in symbol.modifiers and self.family.name != "php":
            return None
        parent = self.symbols[symbol.parent]
        if symbol.kind == "field" and not self._is_read_by_call(symbol, parent):
            return None
        if parent.kind == "constant" and parent.parent >= 0:
            parent = self.symbols[parent.parent]
        elif parent.kind not in TYPES or not (parent.bases or "partial" in parent.modifiers):
            return None
        above = self._above(index)
        if above.state != RESOLVED or not above.decls:
            return None
        if symbol.kind == "field" and above.decls[0].kind not in CALLABLE:
            return None
        return above.decls[0], above.confidence

    def _is_read_by_call(self, symbol: Symbol, parent: Symbol) -> bool:
        """Is it a component of one of Java's records that has no method of its own to read it?"""
        if parent.kind != "record" or "static" in symbol.modifiers:
            return False
        own = self.engine.decls(parent.fq_name, symbol.name)
        return not any(decl.kind in CALLABLE and decl.arity == 0 for decl in own)

    def _base_relations(self, index: int, symbol: Symbol) -> list[Relation]:
        decl = self._own_decl(index)
        if decl is None:
            return []
        relations = []
        for text, base in zip(decl.bases, self.engine.bases(decl), strict=True):
            target, kind = "", "base"
            if base.state == RESOLVED and base.decls:
                target = base.decls[0].id
                if base.decls[0].kind in _INTERFACES and symbol.kind not in _INTERFACES:
                    kind = "interface"
            elif symbol.kind in _INTERFACES or _looks_like_interface(text, self.family.name):
                kind = "interface"
            relations.append(Relation(_RELATIONS[kind], index, target, text, base.confidence))
        return relations


def _root_of(text: str) -> str:
    """Return the name that an expression starts from, "" when it is none that can be read."""
    if text.isidentifier():
        return text
    chain = chain_of(text)
    return chain[0] if chain is not None else ""


def _implementing(engine: Engine, index: int, decl: Decl) -> list[Relation]:
    """Return the interfaces whose every method a type has."""
    wanted = interfaces(engine, decl).values()
    containers = {method.container for methods in wanted for method in methods}
    kind = _RELATIONS["implements"]
    return [
        Relation(kind, index, f"T:{container}", container.rpartition(".")[2], MEDIUM)
        for container in sorted(containers)
    ]


def _looks_like_interface(name: str, family: str) -> bool:
    simple = name.rpartition(".")[2]
    return family == "csharp" and simple[:1] == "I" and simple[1:2].isupper()
