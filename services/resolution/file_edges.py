"""What does every use of a name in one file mean?"""

from __future__ import annotations

import re
from array import array
from itertools import repeat

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from contracts.extract import REFERENCE_KINDS, Body, Symbol
from services.resolution import overloads, values
from services.resolution.argument_types import ArgumentTypes
from services.resolution.choice import meant, takes
from services.resolution.edges import (
    EDGE_KINDS,
    MAX_CANDIDATES,
    RELATION_KINDS,
    FileEdges,
    Relation,
)
from services.resolution.engine import Engine
from services.resolution.expressions import CALL, INDEX, TYPE_OPEN, Chain, chain_of
from services.resolution.ids import symbol_id
from services.resolution.layered_names import included
from services.resolution.library_names import C_LIBRARY, ROOT_MEMBERS
from services.resolution.overload_rules import plain
from services.resolution.overloads import differ, exactly, pick
from services.resolution.scopes import CALLABLE, NARROW, Scopes, columns
from services.resolution.standing import declared, first_of_its_block, standing
from services.resolution.structural import implemented, interfaces, type_of_method
from services.resolution.summary import BY_NAME, TYPE_LIKE, TYPES, UNSEEN, VALUES, Decl, Summary
from services.resolution.type_arguments import told_apart
from services.resolution.values import (
    AMBIGUOUS,
    EXTERNAL,
    INSTANCE,
    MEANS_TYPE,
    MEANS_VALUE,
    MEDIUM,
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
_INTERFACES = frozenset({"interface", "trait"})
_ALL_DECLARED = frozenset({"php", "c"})  # a bare function is declared somewhere or outside
_RUBY_KERNEL = ROOT_MEMBERS["ruby"]
_HINT_CHARS = 100
_SIGILS = "@$"
_OWN_TYPE = re.compile("[Ss]elf|static|this")  # a type that stands for the one around


class FileResolver:
    """One file's uses of names being resolved."""

    def __init__(self, engine: Engine, path: str, summary: Summary, body: Body) -> None:
        self.engine, self.path, self.summary, self.body = engine, path, summary, body
        self.family = engine.family
        self.around_names = self.family.classes | self.family.parents
        self.table = columns(body.references)
        self.scopes = Scopes(body, self.table)
        self.symbols = body.symbols
        self.strings: dict[str, int] = {}
        self.receivers: dict[tuple[int, str, int], Value | None] = {}
        self.places: dict[int, str] = {}
        self.parameterised = {at for at, decl in enumerate(summary.decls) if decl.parameters}
        self.generic: dict[int, bool] = {}  # scopes that see type parameters
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
        self.stepped: dict[tuple[int, Chain], tuple[Value | None, Value]] = {}
        self.roots: dict[tuple[str, str, int], Value | None] = {}
        self.rows: dict[tuple[object, ...], tuple[int, ...]] = {}
        self.selves: dict[tuple[int, int], Value] = {}
        self.targets: dict[int, int] = {}  # of declarations by identity, so all are kept
        self.kept: list[Decl] = []
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
            return kind, name, argc, id(value)
        text = texts[name]
        if self.family.name == "ruby" or text in self.around_names:
            return None
        if self.scopes.local_at(scope, text) is not None:
            return None
        return kind, name, argc, self._place(scope)

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
            found = self._member(text, self._held(texts, receiver, scope, line), argc)
        else:
            meaning = MEANS_TYPE if kind == _TYPE else MEANS_VALUE
            found = self._bare(text, scope, argc, line, meaning)
        if given and found.decls and found.decls[0].kind in CALLABLE:
            found = self._picked(found, given, scope, line)
        if family == "c" and receiver < 0:
            found = self._in_c(kind, found, text, scope)
        if len(found.decls) > 1 and family == "ecma":
            found = meant(found, MEANS_TYPE if kind in (_TYPE, _BASE) else MEANS_VALUE)
        if found is NOTHING and receiver < 0 and self._is_outside(kind, text, scope):
            found = values.outside("builtins")
        return found

    def _in_c(self, kind: int, found: Found, text: str, scope: int) -> Found:
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
        """Of a type and a callable of one name, which is nearer, keep the type."""
        if not found.decls or found.decls[0].kind not in CALLABLE:
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
            return Found(RESOLVED, left[:1], MEDIUM if overloads.UNKNOWN in kinds else sure)
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
        chain = chain_of(text)
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
        if around is not None:
            return self._local(name, around, line, argc)
        plain = name.lstrip(_SIGILS) if self.family.name == "ruby" else name
        if plain != name and self._around(scope) is not None:
            return self.engine.member(Value(INSTANCE, self._around(scope)), plain)
        if name == "new" and self.family.name == "ruby" and (me := self._around(scope)) is not None:
            return self._member(name, self._standing_for(me, TYPE), argc)
        found = self.engine.named(name, self.path, self._place(scope), meaning)
        if found.state == AMBIGUOUS and argc >= 0:
            return self.engine.chosen(found.decls, argc)
        if found.state == RESOLVED and argc >= 0 and self.family.overloads:
            return self._overloaded(found, name, argc)
        return found

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
            return values.outside(value.name)
        if value.sort == INSTANCE and argc >= 0 and self.family.name == "python":
            return self.engine.member(value, "__call__", argc)
        return NOTHING

    def _local_value(self, name: str, around: int, line: int, inclusive: bool) -> Value | None:
        told = self.scopes.told.get((around, name))
        if not told:
            return None
        at = standing(told, line, inclusive)
        if at >= 0 and self.family.name == "go" and told[at][0] == line:
            # gofmt gives a function a line of its own, so what the line binds is for the next ones
            before = standing(told, line, inclusive=False)
            at = min(at, before) if before >= 0 else at
        if at < 0:
            return None
        question = (around, name, at)
        if question not in self.receivers:
            self.receivers[question] = None
            self.receivers[question] = self._told(told, at, around)
        return self.receivers[question]

    def _told(self, told: list[tuple[int, str]], at: int, around: int) -> Value | None:
        line, text = told[at]
        if text.startswith(NARROW + "?"):
            held = told[:at]
            before = standing(held, line, inclusive=True) if held else -1
            known = self._told(held, before, around) if before >= 0 else None
            return told_apart(self.engine, known, text[2:])
        text = text.lstrip(NARROW)
        chain = chain_of(text) if text else None
        if chain is None:
            return None
        value = self._expression(chain, around, line, inclusive=False)
        sole = first_of_its_block(told, at)
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
        question = (id(value), steps)
        known = self.stepped.get(question)
        if known is None:
            known = self.stepped[question] = (self.engine.steps(value, steps), value)
        return known[0]

    def _root(self, chain: Chain, scope: int, line: int, inclusive: bool) -> Value | None:
        root, family = chain[0], self.family
        root = self._plain(root)
        if root[0] in '"\\' or root[0] == TYPE_OPEN:
            me = self._around(scope)
            context = self._type_place(scope, root)
            return self.engine.root(chain, self.path, context, Value(INSTANCE, me) if me else None)
        if root in family.parents:
            me = self._around(scope)
            return Value(PARENT, me) if me is not None else None
        if root in family.selves or root in family.classes:
            me = self._around(scope)
            if me is not None:
                static = root in family.classes and family.name != "rust"
                return self._standing_for(me, TYPE if static or root == "Self" else INSTANCE)
        around = self.scopes.local_at(scope, root)
        if around is not None:
            return self._local_value(root, around, line, inclusive)
        plain = root.lstrip(_SIGILS) if family.name == "ruby" else root
        if plain != root:
            me = self._around(scope)
            field = self.engine.member(Value(INSTANCE, me), plain) if me else NOTHING
            return self.engine.value(field, Value(INSTANCE, me) if me else None)
        if root == "new" and family.name == "ruby" and (me := self._around(scope)) is not None:
            return self.engine.steps(self._standing_for(me, TYPE), ("new",))
        if not self.scopes.declared_in(scope, root) and root not in ("std", "super"):
            return None
        owner, place = None, self._place(scope)
        if family.implicit_self and (me := self._around(scope)) is not None:
            owner = self._standing_for(me, INSTANCE)
        question = (root, place, id(owner))
        if question not in self.roots or family.name == "ecma":
            found = self.engine.named(root, self.path, place, MEANS_VALUE)
            self.roots[question] = self.engine.value(found, owner)
        return self.roots[question]

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
        found = self.engine.member(value, name, argc)
        made = name == "new" and self.family.name == "ruby" and value.sort == TYPE
        if made and found.state != RESOLVED and value.decl is not None:
            return Found(RESOLVED, (value.decl,), value.confidence)
        return found

    def _receiver(self, receiver: str, scope: int, line: int) -> Value | None:
        chain = chain_of(receiver)
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
        if symbol.parent < 0 or self.symbols[symbol.parent].kind not in TYPES:
            return NOTHING
        owner = self._own_decl(symbol.parent)
        if owner is None:
            return NOTHING
        found = self.engine.member_of(owner, symbol.name, symbol.arity, above=True)
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
        for index, symbol in enumerate(self.symbols):
            if symbol.kind in TYPES and symbol.bases:
                found += self._base_relations(index, symbol)
            elif symbol.kind in ("method", "property") and symbol.parent >= 0:
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
        if "staticmethod" in symbol.modifiers or "static" in symbol.modifiers:
            return None
        parent = self.symbols[symbol.parent]
        if parent.kind not in TYPES or not (parent.bases or "partial" in parent.modifiers):
            return None
        above = self._above(index)
        if above.state != RESOLVED or not above.decls:
            return None
        return above.decls[0], above.confidence

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
