"""What does every use of a name in one file mean?"""

from __future__ import annotations

import numpy as np

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
from services.resolution.library_names import ROOT_MEMBERS
from services.resolution.overloads import differ, exactly, pick
from services.resolution.scopes import CALLABLE, NARROW, WIDEN, Scopes, columns
from services.resolution.structural import implemented, methods, type_of_method
from services.resolution.summary import BY_NAME, TYPE_LIKE, TYPES, UNSEEN, VALUES, Decl, Summary
from services.resolution.type_arguments import told_apart
from services.resolution.values import (
    AMBIGUOUS,
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


class FileResolver:
    """One file's uses of names being resolved."""

    def __init__(self, engine: Engine, path: str, summary: Summary, body: Body) -> None:
        self.engine, self.path, self.summary, self.body = engine, path, summary, body
        self.family = engine.family
        self.table = columns(body.references)
        self.scopes = Scopes(body, self.table)
        self.symbols = body.symbols
        self.strings: dict[str, int] = {}
        self.known: dict[tuple[int, ...], tuple[int, ...]] = {}
        self.receivers: dict[tuple[int, str, int], Value | None] = {}
        self.places: dict[int, str] = {}
        self.declaring = {symbol.parent for symbol in body.symbols}
        self.declaring |= {imported.scope for imported in body.imports}
        self.arounds: dict[int, Decl | None] = {}
        self.candidates: list[tuple[int, tuple[int, ...]]] = []
        self._lists: list[tuple[int, ...]] = []  # candidates, referred to by the rows
        self.moving: set[int] = set()
        self.held: dict[tuple[str, int, int], Value | None] = {}  # what receivers stand for
        self.written: dict[tuple[int, str, str, bool], tuple[tuple[int, ...], Found]] = {}
        self.overriding: set[int] = set()  # symbols whose own name is a reference already

    # ---- columns ---------------------------------------------------------------------------------

    def edges(self) -> FileEdges:
        """Resolve everything."""
        rows: list[tuple[int, ...]] = []
        references = self.body.references
        texts = references.strings if references is not None else ()
        known = self.known
        self.moving = self._moving(texts)
        given = self._given(len(self.table[0]))
        for at, (kind, name, receiver, line, column, scope, argc) in enumerate(
            zip(*self.table, strict=True)
        ):
            moving = (receiver if receiver >= 0 else name) in self.moving or given[
                at
            ] in self.moving
            question = (kind, name, receiver, scope, argc, given[at], line if moving else -1)
            answer = known.get(question)
            if answer is None:
                told = texts[given[at]] if given[at] >= 0 else ""
                answer = known[question] = self._answer(
                    kind, texts, name, receiver, scope, argc, line, told
                )
            edge, state, confidence, target, name_number, hint, candidates = answer
            rows.append((edge, state, confidence, scope, target, name_number, hint, line, column))
            if candidates >= 0:
                self.candidates.append((at, self._lists[candidates]))
        relations = self._relations(rows)
        return self._packed(rows, relations)

    def _given(self, count: int) -> list[int]:
        """Return the number of what is written as arguments of each use, -1 for nothing."""
        references = self.body.references
        if references is None or not references.arguments or not self.family.overloads:
            return [-1] * count
        found: list[int] = np.frombuffer(references.arguments, "<i4").tolist()
        return found

    def _packed(self, rows: list[tuple[int, ...]], relations: list[Relation]) -> FileEdges:
        table = np.array(rows, np.int64).reshape(-1, 9).T
        kind, state, confidence, source, target, name, hint, line, column = table
        return FileEdges(
            strings=tuple(self.strings),
            kind=kind.astype("u1").tobytes(),
            state=state.astype("u1").tobytes(),
            confidence=confidence.astype("u1").tobytes(),
            source=source.astype("<i4").tobytes(),
            target=target.astype("<i4").tobytes(),
            name=name.astype("<u4").tobytes(),
            hint=hint.astype("<i4").tobytes(),
            line=line.astype("<u4").tobytes(),
            column=column.astype("<u4").tobytes(),
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
        return {
            number
            for number, text in enumerate(texts)
            for part in text.split("\n")
            if (chain := chain_of(part)) is not None and self._plain(chain[0]) in names
        }

    def _plain(self, name: str) -> str:
        return name.removeprefix("$") if self.family.name == "php" else name

    def _answer(  # noqa: PLR0913 - a use is its columns
        self, kind: int, texts: tuple[str, ...], name: int, receiver: int, scope: int, argc: int,
        line: int, given: str = "",
    ) -> tuple[int, ...]:  # fmt: skip
        text = texts[name]
        self.engine.nested = self.engine.spent = 0
        if kind == _OVERRIDE:
            found = self._overridden(scope)
        elif kind == _IMPORT:
            found = self._imported(text, texts[receiver] if receiver >= 0 else "")
        elif receiver >= 0:
            held_at = line if receiver in self.moving else -1
            found = self._member(text, texts[receiver], scope, argc, held_at)
        else:
            meaning = MEANS_TYPE if kind == _TYPE else MEANS_VALUE
            found = self._bare(text, scope, argc, line, meaning)
        if given and found.decls and found.decls[0].kind in CALLABLE:
            found = self._picked(found, given, scope, line)
        if len(found.decls) > 1 and self.family.name == "ecma":
            found = meant(found, MEANS_TYPE if kind in (_TYPE, _BASE) else MEANS_VALUE)
        if found is NOTHING and receiver < 0 and self._is_outside(kind, text, scope):
            found = values.outside("builtins")
        edge = _EDGE_OF[kind]
        if found.state == RESOLVED and found.decls:
            if edge == "call" and found.decls[0].kind in TYPE_LIKE:
                edge = "instantiate" if kind == _CALL else "read"
            elif kind == _RAISE and argc >= 0:
                edge = "instantiate" if found.decls[0].kind in TYPE_LIKE else "call"
            elif kind == _OVERRIDE and self._is_abstract(found.decls[0]):
                edge = "implementation"
        apart = receiver >= 0 or self.family.name in ("ruby", "swift", "script")
        return self._row(edge, found, text, apart)

    def _picked(self, found: Found, given: str, scope: int, line: int) -> Found:
        """Choose among callables by the types of the arguments."""
        told = ArgumentTypes(self.engine, self.path, self._context(scope))
        kinds = [self._argument(text, told, scope, line) for text in given.split("\n")]
        decls = found.decls
        exact = [decl for decl in decls if exactly(decl, kinds)]
        if exact and found.state == RESOLVED:
            return found
        if not exact and len({decl.container for decl in decls}) == 1:
            decls = self.engine.overloads_of(decls[0], len(kinds))
        left = pick(decls, kinds, told.ancestors) if len(decls) > 1 else decls
        if len({decl.id for decl in left}) == 1:
            sure = found.confidence if found.state == RESOLVED else values.HIGH
            return Found(RESOLVED, left[:1], MEDIUM if overloads.UNKNOWN in kinds else sure)
        return Found(AMBIGUOUS, left, MEDIUM)

    def _argument(self, text: str, told: ArgumentTypes, scope: int, line: int) -> str:
        if not text or text[0] == ":":
            return overloads.plain(text[1:])
        if text in self.family.selves:
            me = self._around(scope)
            return me.name if me is not None else overloads.UNKNOWN
        chain = chain_of(text)
        if chain is None:
            return overloads.UNKNOWN
        around = self.scopes.local_at(scope, chain[0])
        if around is not None and all(step == INDEX for step in chain[1:]):
            lines = self.scopes.told.get((around, chain[0]), ())
            written = next((text for _, text in lines if text[:1] == TYPE_OPEN), "")
            if lines and not written:
                written = lines[_standing(lines, line, inclusive=True)][1]
            return told.element(written, len(chain) - 1)
        last = len(chain) - 1
        while last > 0 and chain[last] in (CALL, INDEX):
            last -= 1
        if last == 0:
            named = self._bare(chain[0], scope, -1, line, MEANS_VALUE)
        else:
            held = self._expression(chain[:last], scope, line)
            named = self.engine.member(held, chain[last])
        return told.of(named, chain[last + 1 :])

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
        # kept with the found, whose id is then its own
        question = (id(found), edge, name, has_receiver)
        known = self.written.get(question)
        if known is None:
            row = self._made_row(edge, found, name, has_receiver)
            known = self.written[question] = (row, found)
        return known[0]

    def _made_row(self, edge: str, found: Found, name: str, has_receiver: bool) -> tuple[int, ...]:
        target = hint = candidates = -1
        if found.state == RESOLVED and found.decls and UNSEEN in found.decls[0].modifiers:
            found = Found(UNRESOLVED, hint=found.decls[0].container)
        if found.state == RESOLVED:
            if found.decls:
                target = self._number(found.decls[0].id)
            else:
                target = self._number(f"N:{found.hint}")
        elif found.hint:
            hint = self._number(found.hint[:_HINT_CHARS])
        state = found.state
        if state in (UNRESOLVED, AMBIGUOUS):
            ids = tuple(dict.fromkeys(decl.id for decl in found.decls))
            if not ids and edge in ("call", "instantiate") and has_receiver:
                ids = self._same_named(name)
                state = AMBIGUOUS if ids else state
            if ids:
                numbers = tuple(self._number(one) for one in ids[:MAX_CANDIDATES])
                candidates = len(self._lists)
                self._lists.append(numbers)
        confidence = found.confidence if state == RESOLVED else 0
        return _KINDS[edge], state, confidence, target, self._number(name), hint, candidates

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

    def _adds_nothing(self, index: int, scope: int) -> bool:
        symbol = self.symbols[index]
        kind = symbol.kind
        if symbol.fq_name[: -len(symbol.name) - 1] != self._context(symbol.parent):
            return False  # written apart from the type it belongs to
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
        if name in self.family.classes | self.family.parents and self._around(scope) is not None:
            return self._self_called(name, scope)
        around = self.scopes.local_at(scope, name)
        if around is not None:
            return self._local(name, around, line, argc)
        plain = name.lstrip(_SIGILS) if self.family.name == "ruby" else name
        if plain != name and self._around(scope) is not None:
            return self.engine.member(Value(INSTANCE, self._around(scope)), plain)
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
            return better if better.decls else found
        return self.engine.chosen(self.engine.decls(decl.container, name), argc)

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
        at = _standing(told, line, inclusive)
        if self.family.name == "go" and told[at][0] == line:
            # gofmt gives a function a line of its own, so what the line binds is for the next ones
            at = min(at, _standing(told, line, inclusive=False))
        question = (around, name, at)
        if question not in self.receivers:
            self.receivers[question] = None
            self.receivers[question] = self._told(told, at, around)
        return self.receivers[question]

    def _told(self, told: list[tuple[int, str]], at: int, around: int) -> Value | None:
        line, text = told[at]
        if text.startswith(NARROW + "?"):
            held = told[:at]
            known = self._told(held, _standing(held, line, inclusive=True), around) if at else None
            return told_apart(self.engine, known, text[2:])
        text = text.lstrip(NARROW)
        chain = chain_of(text) if text else None
        if chain is None:
            return None
        value = self._expression(chain, around, line, inclusive=False)
        if value is not None and at > 0 and not told[at][1].startswith((TYPE_OPEN, NARROW)):
            return value._replace(confidence=MEDIUM)
        return value

    def _expression(
        self, chain: Chain, scope: int, line: int, inclusive: bool = True
    ) -> Value | None:
        place = (self.path, self._context(scope))
        return self.engine.steps(self._root(chain, scope, line, inclusive), chain[1:], place)

    def _root(self, chain: Chain, scope: int, line: int, inclusive: bool) -> Value | None:
        root, family = chain[0], self.family
        root = self._plain(root)
        if root[0] in '"\\' or root[0] == TYPE_OPEN:
            me = self._around(scope)
            return self.engine.root(
                chain, self.path, self._context(scope), Value(INSTANCE, me) if me else None
            )
        if root in family.parents:
            me = self._around(scope)
            return Value(PARENT, me) if me is not None else None
        if root in family.selves or root in family.classes:
            me = self._around(scope)
            if me is not None:
                static = root in family.classes and family.name != "rust"
                return Value(TYPE if static or root == "Self" else INSTANCE, me)
        around = self.scopes.local_at(scope, root)
        if around is not None:
            return self._local_value(root, around, line, inclusive)
        plain = root.lstrip(_SIGILS) if family.name == "ruby" else root
        if plain != root:
            me = self._around(scope)
            field = self.engine.member(Value(INSTANCE, me), plain) if me else NOTHING
            return self.engine.value(field, Value(INSTANCE, me) if me else None)
        if not self.scopes.declared_in(scope, root) and root not in ("std", "super"):
            return None
        found = self.engine.named(root, self.path, self._place(scope), MEANS_VALUE)
        owner = None
        if family.implicit_self and (me := self._around(scope)) is not None:
            owner = Value(INSTANCE, me)
        return self.engine.value(found, owner)

    def _member(self, name: str, receiver: str, scope: int, argc: int, line: int) -> Found:
        question = (receiver, scope, line)
        if question in self.held:
            value = self.held[question]
        else:
            value = self.held[question] = self._receiver(receiver, scope, line)
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
        if value is None and len(chain) == 1 and self.family.name == "php":
            value = self.engine.expression(chain, self.path, self._context(scope))
        return value

    def _imported(self, name: str, module: str) -> Found:
        """The name stands in an import statement."""
        engine, imports = self.engine, self.summary.imports
        wanted = module.replace(" ", "").lstrip(".")
        level = len(module) - len(module.lstrip("."))
        for fact in imports:
            if fact.name == name and fact.module == wanted and fact.level == level:
                return engine.imported(fact)
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
        fitting = [d for d in found.decls if takes(d, symbol.arity) and not differ(d, own)]
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


def _implementing(engine: Engine, index: int, decl: Decl) -> list[Relation]:
    """Return the interfaces whose every method a type has."""
    interfaces = {
        wanted.container
        for name in sorted(methods(engine, decl))
        for wanted in implemented(engine, decl, name)
    }
    kind = _RELATIONS["implements"]
    return [
        Relation(kind, index, f"T:{container}", container.rpartition(".")[2], MEDIUM)
        for container in sorted(interfaces)
    ]


def _standing(told: list[tuple[int, str]], line: int, inclusive: bool) -> int:
    """Return which of the things told of a local holds at a line."""
    at = -1
    around: list[int] = []  # what held before each check that is not over
    for number, (place, text) in enumerate(told):
        if text == WIDEN:
            if place < line:
                at = around.pop() if around else at
        elif place < line or (inclusive and place == line):
            if text[:1] == NARROW:
                around.append(at)
            at = number
    if at >= 0:
        return at
    return next((n for n in range(len(told) - 1, -1, -1) if told[n][1][:1] not in "\x03\x04"), 0)


def _looks_like_interface(name: str, family: str) -> bool:
    simple = name.rpartition(".")[2]
    return family == "csharp" and simple[:1] == "I" and simple[1:2].isupper()
