"""What does a name, a member, a type or an expression mean at a place in the code?

A place is a file and the full name of what is around. Everything is a function of facts of the
index alone; see memory.py for what becomes of the answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from msgspec.structs import replace

from services.resolution import (
    cpp_types,
    extensions,
    function_types,
    go_types,
    held_outside,
    nominal_types,
    outside_values,
    php_enums,
    python_types,
    rust_wrappers,
    type_arguments,
    values,
)
from services.resolution.choice import (
    filled,
    is_annotated,
    is_dunder,
    is_open,
    joined,
    meant,
    parameter_types,
    rank,
    rank_apart,
    returned_type,
    substituted,
    takes,
)
from services.resolution.expressions import (
    ARROW,
    CALL,
    EACH,
    HELD,
    INDEX,
    KEY,
    LIST,
    TUPLE,
    TYPE_OPEN,
    UNION,
    Chain,
    Node,
    annotated,
    chain_of,
    is_called,
    type_of,
    type_text_of,
)
from services.resolution.families import BUILTINS, Family
from services.resolution.index import Index
from services.resolution.library_names import PHP_INTERFACES, ROOT_MEMBERS
from services.resolution.memory import Answers
from services.resolution.scopes import CALLABLE
from services.resolution.summary import (
    IMPLS,
    MEMBERS,
    OBJECT,
    SPACES,
    TYPE_LIKE,
    TYPES,
    VALUES,
    Decl,
    ImportFact,
)
from services.resolution.values import (
    AMBIGUOUS,
    EXTERNAL,
    INSTANCE,
    MEANS_ANY,
    MEANS_TYPE,
    MEANS_VALUE,
    MEDIUM,
    MODULE,
    NOTHING,
    OUTSIDE,
    PARAMETER,
    PARENT,
    RESOLVED,
    SEVERAL,
    TYPE,
    UNRESOLVED,
    Found,
    Value,
)

Lookup = Callable[["Engine", str, str, str], Found]  # name, path, context
ImportLookup = Callable[["Engine", ImportFact], Found]
MemberLookup = Callable[["Engine", Value, str], Found]
_NO_TYPES = frozenset({"None", "null", "undefined", "nil", "void", "never", "NoneType", "False"})
_LAST_ARGUMENT = frozenset({"Coroutine", "Generator", "dict", "Dict", "Map", "HashMap", "map"})
_OWN_TYPE = frozenset({"Self", "self", "static", "this", "$this"})
_APART = frozenset({"php", "rust"})  # of a field and a method of one name, a call means the method
_ANCESTORS = TYPE_LIKE | SPACES  # a Ruby module is included like a type
_ENTERING = frozenset({"__enter__", "__aenter__"})  # not called: what `with` gives
_OBJECTS = frozenset({"function", "object"})
_INDEXERS = {"csharp": "this[]", "c": "operator[]", "python": "__getitem__"}
_OTHER_SORT = {("new", TYPE): INSTANCE, ("class", INSTANCE): TYPE}  # what Ruby's members give
_CALL_MEMBERS = {
    ("python", INSTANCE): "__call__", ("php", INSTANCE): "__invoke", ("c", INSTANCE): "operator()",
    ("jvm", INSTANCE): "invoke", ("ecma", MODULE): "default",
}  # fmt: skip


class Engine(Answers):
    """Answers over the facts of one family of languages; see families.py and the lookups modules."""

    def __init__(
        self,
        index: Index,
        family: Family,
        lookup: Lookup,
        imported: ImportLookup,
        member_of_module: MemberLookup,
    ) -> None:
        super().__init__(index, family)
        self._lookup, self._imported, self._member_of_module = lookup, imported, member_of_module
        self._calls_itself = family.name == "ruby"
        self._wraps, self._is_c = family.name == "rust", family.name == "c"
        self._apart = family.name in _APART
        self._each = EACH if self._wraps else INDEX  # what a callback is handed
        self._nominal = family.name in nominal_types.FAMILIES
        self._fills = self._nominal or family.name in (
            "ecma",
            "go",
            "c",
        )  # puts arguments in at any depth
        self._builtins = BUILTINS.get(family.name, frozenset())

    # ---- names -----------------------------------------------------------------------------------

    def named(self, name: str, path: str, context: str, meaning: int = MEANS_ANY) -> Found:
        """Return what a bare name means at a place, locals aside."""
        question = ("n", name, path, context)
        known = self._memory.get(question)  # as `remembered` would, at half the cost
        if known is not None:
            self.needs.others.append(known[1])
            found: Found = known[0]
        else:
            found = self.remembered(question, lambda: self._named(name, path, context), NOTHING)
        if len(found.decls) > 1 and self.family.name == "ecma":
            return meant(found, meaning)
        return found

    def _named(self, name: str, path: str, context: str) -> Found:
        found = self._lookup(self, name, path, context)
        if found is NOTHING and name in self._builtins:
            return held_outside.named(name, self.family.name)
        return found

    def brought_in(self, name: str, path: str) -> Found:
        """Return what a bare name means in a file that declares nothing of that name."""
        for fact in self.imports(path, name):
            if fact.kind != "export" and not fact.scope:
                return self.imported(fact)
        return values.outside("builtins") if name in self._builtins else NOTHING

    def imported(self, fact: ImportFact) -> Found:
        place = "" if self.family.absolute_imports else fact.path
        question = ("i", place, fact.module, fact.name, fact.kind, fact.level, fact.alias)
        return cast(Found, self.remembered(question, lambda: self._imported(self, fact), NOTHING))

    def chosen(self, decls: tuple[Decl, ...], argc: int = -1) -> Found:
        """Return which of several declarations of one name is meant."""
        if len(decls) == 1:
            return Found(RESOLVED, decls)
        if argc >= 0:
            callables = tuple([d for d in decls if d.kind in CALLABLE or d.kind in TYPE_LIKE])
            decls = callables or decls
        first = decls[0]
        if self.family.name == "ecma" or all(decl.id == first.id for decl in decls):
            return Found(RESOLVED, tuple(sorted(decls, key=rank)))
        if self.family.overloads and argc >= 0:
            fitting = tuple([d for d in decls if takes(d, argc)]) or decls
            if all(decl.id == fitting[0].id for decl in fitting):
                return Found(RESOLVED, fitting)
            if all(decl.kind in CALLABLE for decl in fitting):
                return Found(AMBIGUOUS, fitting, MEDIUM)
            decls = fitting
        order = rank_apart if self.family.overloads else rank
        ranked = sorted(decls, key=order)
        if ranked[0].path != ranked[-1].path and not self.family.filed:
            same = tuple([d for d in ranked if d.id == ranked[0].id])
            if order(ranked[-1]) == order(ranked[0]):
                return Found(AMBIGUOUS, tuple(ranked), MEDIUM)
            return Found(RESOLVED, same)
        return Found(RESOLVED, tuple([d for d in ranked if d.id == ranked[0].id]))

    # ---- types -----------------------------------------------------------------------------------

    def around(self, path: str, context: str) -> Decl | None:
        """Return the type around a place."""
        while context:
            container, _, name = context.rpartition(".")
            for decl in self.decls_in(path, container, name):
                if decl.kind in TYPE_LIKE:
                    return decl
            context = container
        return None

    def lineage(self, decl: Decl) -> tuple[tuple[Decl, ...], str]:
        """Return a type and its ancestors, nearest first, and a base that is not in the repository.

        The base is "" when all are known and starts with "?" when it may be in the repository.
        """
        found = self.remembered(
            ("l", decl.path if self.family.filed else "", decl.container, decl.name),
            lambda: self._lineage(decl), ((decl,), "?"),
        )  # fmt: skip
        return cast(tuple[tuple[Decl, ...], str], found)

    def _lineage(self, decl: Decl) -> tuple[tuple[Decl, ...], str]:
        if self.family.name == "go":
            return self._embedded(decl)
        lines, unknown = [], ""
        for part in self.decls_in(decl.path, decl.container, decl.name):
            for base in self.bases(part):
                if base.state == RESOLVED and base.decls and base.decls[0].kind in _ANCESTORS:
                    line, missing = self.lineage(base.decls[0])
                    lines.append(line)
                    unknown = unknown or missing
                elif base.state == EXTERNAL:
                    unknown = unknown or base.hint
                elif base.state != RESOLVED:
                    unknown = unknown or "?"
        order: dict[tuple[str, str], Decl] = {}
        for line in lines:
            for ancestor in line:
                key = (ancestor.path if self.family.filed else "", ancestor.full_name)
                order.pop(key, None)  # a shared ancestor comes after all that derive from it
                order[key] = ancestor
        order.pop((decl.path if self.family.filed else "", decl.full_name), None)
        return (decl, *order.values()), unknown

    def _embedded(self, decl: Decl) -> tuple[tuple[Decl, ...], str]:
        """Return what `_lineage` does: in Go, members are those of the type embedded least deep."""
        order, unknown = {decl.full_name: decl}, ""
        level = [decl]
        while level:
            deeper = []
            parts = [d for one in level for d in self.decls_in(one.path, one.container, one.name)]
            for base in [base for part in parts if part.bases for base in self.bases(part)]:
                inner = base.decls[0] if base.state == RESOLVED and base.decls else None
                if inner is None:
                    unknown = unknown or base.hint if base.state == EXTERNAL else unknown or "?"
                elif inner.kind in _ANCESTORS and inner.full_name not in order:
                    order[inner.full_name] = inner
                    deeper.append(inner)
            level = deeper
        return tuple(order.values()), unknown

    def bases(self, decl: Decl) -> list[Found]:
        """Return what the base types are that a declaration states, in order."""
        found = []
        for text in decl.bases:
            base = self.dotted(text, decl.path, decl.container)
            if base.decls and base.decls[0].full_name == decl.full_name and not decl.container:
                base = NOTHING
            if base.state == RESOLVED and base.decls and base.decls[0].kind in VALUES:
                value = self.value_of(base.decls[0])
                if value is not None and value.sort == TYPE and value.decl is not None:
                    base = Found(RESOLVED, (value.decl,))
                elif value is not None and value.sort == OUTSIDE:
                    base = values.outside(value.name)
            found.append(base)
        return found

    def dotted(self, text: str, path: str, context: str) -> Found:
        """Return what a dotted name means."""
        parts = text.strip().strip("&*? ").replace("::", ".").replace("\\", ".").split(".")
        if parts[0] == "" and len(parts) > 1:
            return self.absolute([part for part in parts if part])
        found = self.named(parts[0], path, context, MEANS_TYPE if len(parts) == 1 else MEANS_ANY)
        if self._nominal:
            found = nominal_types.type_beyond(self, found, parts[0], path, context)
        for part in parts[1:]:
            found = self.member(self.value(found), part)
        return found

    def absolute(self, parts: list[str]) -> Found:
        """Return what a name from the outermost level on means."""
        found = NOTHING
        for at, part in enumerate(parts):
            container = ".".join(parts[:at])
            if found.state == RESOLVED and found.decls and found.decls[0].kind in TYPE_LIKE:
                found = self.member(self.value(found), part)
                continue
            decls = self.decls(container, part)
            if decls:
                found = self.chosen(decls)
            elif self.holds_packages(".".join(parts[: at + 1])):
                found = values.module(".".join(parts[: at + 1]))
            else:
                found = values.outside(".".join(parts))
                break
        return found

    def typed(self, text: str, path: str, context: str) -> Value | None:
        """Return what an expression of a written type stands for."""
        return cast(
            "Value | None",
            self.remembered(
                ("t", text, path, context),
                lambda: self._typed_text(text, path, context),
            ),
        )

    def _typed_text(self, text: str, path: str, context: str) -> Value | None:
        if self.family.name == "python" and "Callable[" in text:
            told_of = python_types.function_type(text, path, context)
            return told_of or self._typed(type_of(text), path, context)
        if self.family.name != "ecma":
            if text[:3] == "..." and self.family.name == "go":
                text = f"[]{text[3:]}"
            found = self._typed(type_of(text), path, context)
            return cpp_types.to_pointer(found, text) if self._is_c else found
        if text[:1] in "(<" and "=>" in text and (told := returned_type(text)):
            decl = Decl(
                "function", "", "", context=context, told=(annotated(told),),
                takes=parameter_types(text), path=path,
            )  # fmt: skip
            return Value(values.CALLABLE, decl)
        return self._typed(type_of(type_text_of(text)), path, context)

    def _typed(self, node: Node | None, path: str, context: str) -> Value | None:
        if node is None:
            return None
        name, arguments = node
        if name == UNION:
            parts = [part for part in arguments if part is not None and part[0] not in _NO_TYPES]
            found_parts = [self._typed(part, path, context) for part in parts]
            return joined([value for value in found_parts if value is not None])
        if name == HELD:
            owner, member = self._typed(arguments[0], path, context), cast(Node, arguments[1])[0]
            if owner is not None and owner.sort == PARAMETER:
                return replace(owner, path=f"{owner.path}.{member}".lstrip("."))
            return self.held(owner, member) if owner is not None else None
        if name in go_types.WRITTEN_OUT and self.family.name == "go":
            inner = tuple([self._typed(part, path, context) for part in arguments])
            return go_types.written_out(node, inner)
        if name in (LIST, TUPLE):
            inner = tuple([self._typed(part, path, context) for part in arguments])
            return Value(OUTSIDE, name=name, arguments=inner, path=name)
        return self._typed_name(name, arguments, path, context)

    def _typed_name(  # noqa: PLR0911 - the kinds of named types
        self, name: str, arguments: tuple[Node | None, ...], path: str, context: str
    ) -> Value | None:
        """Return what a named type stands for."""
        simple = name.replace("::", ".").replace("\\", ".").rpartition(".")[2]
        if simple in self.family.awaits and arguments:
            held = self._typed(arguments[-1 if simple in _LAST_ARGUMENT else 0], path, context)
            if held is not None or simple not in rust_wrappers.WRAPPERS:
                return self._holding(held, simple)
        if simple in _OWN_TYPE:
            around = self.around(path, context)
            return Value(INSTANCE, around) if around is not None else None
        own = nominal_types.parameter(self, name, path, context) if self._nominal else None
        if own is not None:
            return own
        found = self.dotted(name, path, context)
        inner = tuple([self._typed(part, path, context) for part in arguments])
        if self.family.name == "python":
            form = python_types.form(self, simple, found, inner, (path, context))
            if form is not python_types.UNTOLD:
                return form
        if simple in ("type", "Type") and inner and found.state == EXTERNAL:
            named = inner[0]
            known = named is not None and named.decl is not None and named.sort != PARAMETER
            return replace(named, sort=TYPE) if named is not None and known else None
        unclear = found.state == UNRESOLVED or (found.decls and found.decls[0].kind in VALUES)
        if unclear and (where := self.parameter_of(name, path, context)) is not None:
            return values.parameter(name, where)
        if self._nominal and (own := nominal_types.of_library(self, found, simple, inner)):
            return own
        if inner and self._is_c and found.state == EXTERNAL:
            return cpp_types.held_in(found.hint, simple, inner)
        if self._wraps and found.decls and found.decls[0].kind == "type" and found.decls[0].told:
            return self._written_out(found.decls[0], inner)
        return self._instance(found, inner)

    def _holding(self, held: Value | None, simple: str) -> Value | None:
        """Return what a wrapper is that stands for what it holds."""
        if held is not None and self._wraps and simple in rust_wrappers.WRAPPERS:
            return rust_wrappers.wrapped(held)
        return cpp_types.pointer(held) if held is not None and self._is_c else held

    def _written_out(self, decl: Decl, arguments: tuple[Value | None, ...]) -> Value | None:
        """Return what Rust's `type Fallible<T> = Result<T, Failure>` stands for."""
        value = self.typed(decl.told[0].strip("\x01\x02"), decl.path, decl.full_name)
        given = zip(decl.parameters, arguments, strict=False)
        known = {name: one for name, one in given if one is not None}
        return filled(value, known, self.held) if value is not None and known else value

    def parameter_of(self, name: str, path: str, context: str) -> Decl | None:
        """Return whose type parameter a name is."""
        while context:
            container, _, last = context.rpartition(".")
            for decl in self.decls_in(path, container, last):
                if name in decl.parameters:
                    return decl
            context = container
        return None

    def _instance(self, found: Found, arguments: tuple[Value | None, ...]) -> Value | None:
        value = self.value(found, None, MEANS_TYPE)
        if value is None:
            return None
        if value.sort == TYPE:
            return replace(value, sort=INSTANCE, arguments=arguments or value.arguments)
        if value.sort == OUTSIDE:
            return replace(value, arguments=arguments or value.arguments)
        return None

    # ---- values ----------------------------------------------------------------------------------

    def value(
        self, found: Found, owner: Value | None = None, meaning: int = MEANS_VALUE
    ) -> Value | None:
        """Return what an expression stands for whose name was looked up."""
        if found.value is not None:
            return found.value
        if found.state != RESOLVED or not found.decls:
            return None
        if len(found.decls) > 1 and self.family.name == "ecma":
            found = meant(found, meaning)
        return self.value_of(found.decls[0], owner, found.decls)

    def value_of(
        self, decl: Decl, owner: Value | None = None, decls: tuple[Decl, ...] = ()
    ) -> Value | None:
        kind = decl.kind
        if kind in TYPES or kind == "type":
            return Value(TYPE, decl)
        if kind in CALLABLE:
            return Value(values.CALLABLE, decl, owner=owner)
        if kind in SPACES:
            if self.family.name == "ruby":
                return Value(TYPE, decl)
            return Value(MODULE, name=decl.full_name, path=decl.path if self.family.filed else "")
        for one in decls or (decl,):
            found = self.told(one, owner)
            if found is not None:
                return self._described(found, one, owner)
        if OBJECT in decl.modifiers:
            return Value(INSTANCE, decl)
        if kind == "constant" and owner is not None and owner.decl is not None:
            return Value(INSTANCE, owner.decl) if owner.decl.kind == "enum" else None
        return None

    def _described(self, found: Value, decl: Decl, owner: Value | None) -> Value | None:
        """Return what reading a field gives: in Python, a descriptor of the class says."""
        if self.family.name != "python" or owner is None or found.sort != INSTANCE:
            return found
        if found.decl is None or "assigned" in decl.modifiers:
            return found
        getter = self.member_of(found.decl, "__get__")
        if not getter.decls:
            return found
        return self.called(Value(values.CALLABLE, getter.decls[0], owner=found))

    def told(self, decl: Decl, owner: Value | None) -> Value | None:
        """Return what a declaration tells of its value, or of what calling it gives."""
        if not decl.told:
            return None
        me = owner.decl if owner is not None else None
        place = me.path + me.full_name if me is not None else ""
        found = self.remembered(
            ("v", decl.path, decl.full_name, decl.suffix, decl.kind, decl.told, place),
            lambda: self._evaluated(decl, owner),
        )
        found = cast("Value | None", found)
        if found is not None and self._fills and is_open(found):
            return type_arguments.closed(self, found, decl, owner)
        if found is not None and found.sort == PARAMETER:
            return substituted(found, owner)
        return found

    def _evaluated(self, decl: Decl, owner: Value | None) -> Value | None:
        context = decl.context or decl.container
        if decl.kind in TYPE_LIKE and (self.family.name == "ecma" or decl.parameters):
            context = decl.full_name
        known = []
        for text in decl.told:
            chain = chain_of(text)
            value = self.expression(chain, decl.path, context, owner) if chain else None
            if value is not None and value.sort != MODULE:
                known.append(value)
        found = joined(known)
        inferred = not decl.told[0].startswith(TYPE_OPEN) and decl.kind in CALLABLE
        if found is not None and (inferred or len(known) < len(decl.told)):
            return replace(found, confidence=MEDIUM)
        return found

    def expression(
        self, chain: Chain, path: str, context: str, me: Value | None = None
    ) -> Value | None:
        """Return what an expression stands for that starts from no local."""
        return self.steps(self.root(chain, path, context, me), chain[1:], (path, context))

    def root(self, chain: Chain, path: str, context: str, me: Value | None = None) -> Value | None:
        root = chain[0]
        if root[0] == TYPE_OPEN:
            text = root[1:]
            if text.strip("'\"?&* ") in _OWN_TYPE and me is not None:
                return replace(me, sort=INSTANCE) if me.decl is not None else me
            return self.typed(text, path, context)
        if root == '"':
            return Value(OUTSIDE, name="str")
        if root == "\\":
            return Value(MODULE, name="")
        family = self.family
        if root in family.selves or root in family.classes or root in family.parents:
            if me is not None and me.decl is not None and me.sort in (INSTANCE, TYPE, PARENT):
                decl: Decl | None = me.decl
            else:
                decl = self.around(path, context)
            if root in family.parents:
                own = self.around(path, context)
                return Value(PARENT, own) if own is not None else None
            if decl is not None or family.name == "ecma":
                sort = INSTANCE if root in family.selves else TYPE
                return Value(sort, decl) if decl is not None else None
        if self._calls_itself and (root == "new" or root[0] == "@"):
            own = self.around(path, context)
            if own is not None:
                return self._of_own(root, own, me)
        return self.uncalled(self.value(self.named(root, path, context, MEANS_VALUE)))

    def _of_own(self, root: str, own: Decl, me: Value | None) -> Value | None:
        """Return what Ruby's `new` and `@name` mean in a type."""
        if root == "new":
            made = me.decl if me is not None and me.decl is not None else own
            return self.steps(Value(TYPE, made), ("new",))
        return self.value(self.variable(own, root), Value(INSTANCE, own))

    def uncalled(self, value: Value | None) -> Value | None:
        """Return what a name gives that stands without brackets, which calls in Ruby."""
        if self._calls_itself and value is not None and value.sort == values.CALLABLE:
            return self.called(value)
        return value

    def variable(self, decl: Decl, name: str) -> Found:
        """Return what Ruby's `@name` means in a type: never the method of that name."""
        found = self.field(self.member(Value(INSTANCE, decl), name.lstrip("@$")))
        return NOTHING if found.decls and found.decls[0].kind in CALLABLE else found

    def steps(
        self, value: Value | None, steps: Chain, place: tuple[str, str] = ("", "")
    ) -> Value | None:
        """Follow the steps of an expression, written at a place, from a value on."""
        for at, step in enumerate(steps):
            if value is None:
                return None
            if step == CALL:
                value = self.called(value)
            elif step in (INDEX, EACH):
                value = self._element(value, step)
            elif step == ARROW:
                value = self._pointed_to(value)
            elif step == KEY:
                value = go_types.key(self, value)
            elif step[0] == "(":
                value = go_types.result(self, value, int(step[1:-1]))
            elif step == "then" and self._is_awaited(value, steps[at + 1 : at + 2]):
                return value if len(steps) == at + 2 else None
            elif step in _ENTERING and steps[at + 1 : at + 2] != (CALL,):
                value = self._entered(value, step)
            elif step[0] == "@":
                value = self._handed(value, step, place)
            else:
                value = self._lowered(self._into(value, steps, at, place), value)
            if self._calls_itself:
                value = self.uncalled(value)
        return value

    def _into(self, value: Value, steps: Chain, at: int, place: tuple[str, str]) -> Value | None:
        """Return what the member is that a step names."""
        name = steps[at] if self._calls_itself else steps[at].rstrip("!?")
        called, family = is_called(steps, at + 1), self.family
        if family.name == "jvm" and (outer := nominal_types.outer(value, name)) is not None:
            return outer
        found = self.member(value, name)
        if self._apart and not called:
            found = self.field(found)
        if not (called and family.overloads):
            return self.value(found, value)
        if family.name == "csharp" and place[0]:
            further = extensions.extended(self, found, value, name, -1, place)
            if further is not None:
                return extensions.called_on(self, further, value)
        return self.method(found, value)

    def _entered(self, value: Value, method: str) -> Value | None:
        """Return what `with value as x` gives: the value itself where no class says."""
        if value.sort == OUTSIDE and value.arguments:  # Iterator[T], as contextmanager has it
            return value.arguments[0]
        found = self.member(value, method)
        if found.decls:
            inner = self.value(found, value)
            return self._lowered(self.called(inner), value) if inner is not None else None
        return replace(value, confidence=min(value.confidence, MEDIUM))

    def _is_awaited(self, value: Value, following: Chain) -> bool:
        """Is it a promise, seen as what it holds, that hands this to a callback?"""
        handed = bool(following) and following[0].startswith("@0.0") and self.family.name == "ecma"
        return handed and value.sort != OUTSIDE and not self.member(value, "then").decls

    def _handed(self, value: Value, step: str, place: tuple[str, str]) -> Value | None:
        """Return what a function hands to a callback: `@2.0`, argument 2, its parameter 0."""
        if self.family.name == "ecma" and value.sort != OUTSIDE:
            return type_arguments.expected(self, self._maker_of(value), step, place)
        if self._nominal:
            return function_types.handed(self, value, step, place)
        step = step.partition("<")[0].partition("=")[0]
        argument, _, parameter = step[1:].partition(".")
        if value.sort == OUTSIDE:
            if value.owner is None or not held_outside.is_handed(value.name, parameter):
                return None
            return self._element(value.owner, self._each)
        decl = value.decl
        if value.sort == TYPE and decl is not None:
            inside = self.member_of(decl, "constructor")
            decl = inside.decls[0] if inside.decls else None
        if decl is None:
            return None
        for one in self.decls_in(decl.path, decl.container, decl.name):
            if int(argument) < len(one.takes) and one.takes[int(argument)]:
                declared = parameter_types(one.takes[int(argument)])
                if int(parameter) < len(declared):
                    context = one.context or one.container
                    found = self.typed(declared[int(parameter)], one.path, context)
                    if found is not None and found.sort == PARAMETER:
                        found = substituted(found, value.owner)
                    if found is not None:
                        return found
        return None

    def _maker_of(self, value: Value) -> Value:
        """Return the constructor of a type that declares one, or else the value itself."""
        if value.sort != TYPE or value.decl is None:
            return value
        inside = self.member_of(value.decl, "constructor")
        return Value(values.CALLABLE, inside.decls[0], owner=value) if inside.decls else value

    def method(self, found: Found, owner: Value | None) -> Value | None:
        """Return what a name stands for that is called: of a field and a method, the method.

        A record's component is read by calling it. Where overloads give several types, each counts.
        """
        decl = found.decls[0] if found.decls else None
        if decl is None or found.state != RESOLVED:
            return self.value(found, owner)
        if decl.kind in VALUES:
            outer, _, last = decl.container.rpartition(".")
            around = [one for one in self.decls(outer, last) if one.kind in TYPES]
            beside = self._method_beside(around[0], decl.name) if around else NOTHING
            if beside.decls:
                found, decl = beside, beside.decls[0]
            elif self.family.name == "jvm" and any(one.kind == "record" for one in around):
                return Value(values.CALLABLE, decl, owner=owner)
            else:
                held = self.value(found, owner)
                if held is not None and held.decl is not None and held.decl.name == decl.name:
                    return replace(held, sort=TYPE)  # `new Address()` beside `Address Address`
                return held
        if decl.kind in CALLABLE:
            every = [d for d in self.decls(decl.container, decl.name) if d.kind in CALLABLE]
            if len({(d.told, d.parameters) for d in every}) > 1:
                several = tuple([Value(values.CALLABLE, d, owner=owner) for d in every])
                return Value(SEVERAL, arguments=several)
        return self.value(found, owner)

    def _method_beside(self, decl: Decl, name: str) -> Found:
        for ancestor in self.lineage(decl)[0]:
            own = tuple([d for d in self.members_named(ancestor, name) if d.kind in CALLABLE])
            if own:
                return self.chosen(own)
        return NOTHING

    def field(self, found: Found) -> Found:
        """Return what a name that is not called means: of a method and a field beside it, the field."""
        if found.state != RESOLVED or not found.decls or found.decls[0].kind not in CALLABLE:
            return found
        decl = found.decls[0]
        beside = tuple([d for d in self.decls(decl.container, decl.name) if d.kind in VALUES])
        return Found(RESOLVED, beside[:1], found.confidence) if beside else found

    def held(self, value: Value, name: str) -> Value | None:
        """Return what a member of a value stands for."""
        return self.value(self.member(value, name), value)

    @staticmethod
    def _lowered(found: Value | None, owner: Value) -> Value | None:
        if found is not None and owner.confidence < found.confidence:
            return replace(found, confidence=owner.confidence)
        return found

    def called(self, value: Value) -> Value | None:
        """Return what calling a value gives."""
        if value.sort == TYPE:
            return replace(value, sort=INSTANCE)
        if self.family.name == "go":
            return go_types.result(self, value, 0)
        if value.sort == values.CALLABLE and value.decl is not None:
            return self._called(value.decl, value.owner)
        if value.sort == SEVERAL and self.family.overloads:
            return self._several_called(value)
        if value.sort == PARENT or (self._calls_itself and value.sort == INSTANCE):
            return value
        if self._wraps and value.sort == INSTANCE:  # a variant of an enum is called to make one
            return value if value.decl is not None and value.decl.kind == "enum" else None
        if value.sort == OUTSIDE:
            return outside_values.called(self, value)
        name = _CALL_MEMBERS.get((self.family.name, value.sort))
        inner = self.value(self.member(value, name), value) if name is not None else None
        return self.called(inner) if inner is not None and inner.sort != MODULE else None

    def _several_called(self, value: Value) -> Value | None:
        made = [self.called(one) for one in value.arguments if one is not None]
        known = [one for one in made if one is not None]
        several = joined(known)
        lost = several is not None and len(known) < len(made)
        return replace(several, confidence=MEDIUM) if several is not None and lost else several

    def _called(self, decl: Decl, owner: Value | None) -> Value | None:
        if not decl.name:  # a function type
            return self.told(decl, owner)
        if decl.name == "new" and self._calls_itself and owner is not None:
            return replace(owner, sort=INSTANCE)
        first: Value | None = None
        every: list[Value] = []  # what each of several overload signatures gives
        for one in self.decls_in(decl.path, decl.container, decl.name):
            if one.kind in VALUES and decl.kind in CALLABLE:
                continue  # a field beside the method
            if one.suffix == decl.suffix and (found := self.told(one, owner)) is not None:
                if self.family.name != "ecma":
                    return found
                first = first or found
                every.append(found)
        made = [one for one in every if one.sort == INSTANCE]
        if len(made) > 1 and all(one.sort in (INSTANCE, OUTSIDE) for one in every):
            return joined(made)  # which of them, only its arguments would tell
        if first is None and OBJECT in decl.modifiers:
            return Value(INSTANCE, decl, confidence=MEDIUM)  # constructed, or the object it gives
        return first

    def _element(self, value: Value, step: str) -> Value | None:
        if self.family.name == "go":
            return go_types.element(self, value)
        if self._is_c and value.sort == INSTANCE and value.decl is not None:
            value = self._unaliased(value, value.decl)
        if value.sort == OUTSIDE:
            return outside_values.element(self, value, step)
        if value.sort != INSTANCE:
            return None
        if self.family.name != "python" or step == INDEX:
            indexer = _INDEXERS.get(self.family.name)
            given = self._given(value, indexer) if indexer is not None else None
            return value if given is None and self._is_c else given  # an array of it
        iterator = self._given(value, "__iter__")
        if iterator is not None and iterator.sort == INSTANCE:
            return self._given(iterator, "__next__")
        return self._element(iterator, EACH) if iterator is not None else None

    def _unaliased(self, value: Value, decl: Decl) -> Value:
        """Return what a `typedef` of C stands for."""
        return (self.told(decl, value) if decl.kind == "type" else None) or value

    def _given(self, value: Value, method: str) -> Value | None:
        """Return what calling a method of a value gives; an indexer's value."""
        found = self.member(value, method)
        if not found.decls and self.family.name == "python":
            return None  # what a class of a library holds
        member = self.value(found, value)
        return (
            self.called(member) if member is not None and member.sort == values.CALLABLE else member
        )

    # ---- members ---------------------------------------------------------------------------------

    def member(self, value: Value | None, name: str, argc: int = -1) -> Found:
        """Return what a member's name means, given what it is a member of."""
        if value is None:
            return NOTHING
        if value.sort == OUTSIDE:
            return outside_values.member(self, value, name)
        if value.sort == MODULE:
            return self._fitting(self._member_of_module(self, value, name), argc)
        if value.sort in (INSTANCE, TYPE, PARENT) and value.decl is not None:
            return self._member_of_value(value, value.decl, name, argc)
        if value.sort == SEVERAL:
            return self._member_of_several(value, name, argc)
        if value.sort == PARAMETER:
            return type_arguments.bounded(self, value, name, argc)
        if value.sort == values.CALLABLE and value.decl is not None and value.decl.name:
            decls = self.decls_in(value.decl.path, value.decl.full_name, name)
            return self.chosen(decls, argc) if decls else NOTHING
        return NOTHING

    def _member_of_value(self, value: Value, decl: Decl, name: str, argc: int) -> Found:
        found = self.member_of(decl, name, argc, value.sort == PARENT)
        if self._is_c and value.sort == INSTANCE:
            found = self._member_behind(value, name, found)
        if found.state != RESOLVED and decl.kind == "type" and self.family.name == "ecma":
            found = type_arguments.through_alias(self, value, name, argc) or found
        if found.state != RESOLVED and (own := self._implied(value, name, found)) is not None:
            return own
        if self._calls_itself and value.sort == TYPE and self._of_instances(found):
            return Found(AMBIGUOUS, found.decls, MEDIUM)
        if value.confidence < found.confidence and found.state == RESOLVED:
            return replace(found, confidence=value.confidence)
        if found.state == UNRESOLVED and (decl.kind == "object" or OBJECT in decl.modifiers):
            return NOTHING  # what is no type
        return found

    def _fitting(self, found: Found, argc: int) -> Found:
        """Of the functions that a namespace has by one name, keep those that take so many arguments."""
        if argc < 0 or not self.family.overloads or not found.decls:
            return found
        decl = found.decls[0]
        if decl.kind not in CALLABLE:
            return found
        fitting = self.chosen(self.decls(decl.container, decl.name), argc)
        return replace(fitting, confidence=min(fitting.confidence, found.confidence))

    def _pointed_to(self, value: Value) -> Value | None:
        """Return what has a member asked of it with an arrow, in C++; None where that is unclear."""
        if self._is_c and value.sort == INSTANCE and not value.name:
            arrow = self.member(value, "operator->").decls
            return None if arrow else value  # or it is a pointer to one that has an arrow
        return cpp_types.pointed_to(value)

    def _member_behind(self, value: Value, name: str, has: Found) -> Found:
        """Return a member of a C++ value that may be a pointer with members of its own."""
        if value.name == cpp_types.POINTER:
            own = cpp_types.of_pointer(value, name, has)
            return has if own is None else own
        if has.state == UNRESOLVED and name[:8] != "operator":
            held = self._given(value, "operator->")
            return has if held is None else self.member(held, name)
        return has

    def _of_instances(self, found: Found) -> bool:
        """Is it a method that a class gives to its instances and does not have itself?"""
        if found.state != RESOLVED or not found.decls or found.decls[0].kind != "method":
            return False
        owner, name = found.decls[0].container, found.decls[0].name
        if any("static" in decl.modifiers for decl in self.decls(owner, name)):
            return False
        container, _, last = owner.rpartition(".")
        return any(decl.kind == "class" for decl in self.decls(container, last))

    def _implied(self, value: Value, name: str, found: Found) -> Found | None:
        """Members that every type has, and what wrappers that were looked through would have."""
        if name == "__class__" and self.family.name == "python" and value.sort == INSTANCE:
            return Found(EXTERNAL, (), values.HIGH, replace(value, sort=TYPE), "builtins")
        if self.family.name == "ruby" and (name, value.sort) in _OTHER_SORT:
            made = replace(value, sort=_OTHER_SORT[name, value.sort])
            return Found(EXTERNAL, (), values.HIGH, made, "builtins")
        if self._wraps:
            return rust_wrappers.implied(value, name)
        if self.family.name == "php":
            return php_enums.implied(value, name)
        return nominal_types.implied(self, value, name, found) if self._nominal else None

    def _member_of_several(self, value: Value, name: str, argc: int) -> Found:
        known = [self.member(one, name, argc) for one in value.arguments]
        resolved = [found for found in known if found.state == RESOLVED and found.decls]
        ids = {found.decls[0].id for found in resolved}
        if len(ids) == 1:
            return replace(resolved[0], confidence=MEDIUM)
        if ids:
            decls = tuple(sorted([found.decls[0] for found in resolved], key=lambda d: d.id))
            return Found(AMBIGUOUS, decls, MEDIUM)
        return known[0] if known else NOTHING

    def member_of(self, decl: Decl, name: str, argc: int = -1, above: bool = False) -> Found:
        """Return a member of a type, its own or inherited."""
        if not self.family.overloads and argc > 0:
            argc = 0  # that it is called is all that counts
        question = (
            "m", decl.path if self.family.filed else "", decl.container, decl.name, name, argc, above
        )  # fmt: skip
        known = self._memory.get(question)  # as `remembered` would, at half the cost
        if known is not None:
            self.needs.others.append(known[1])
            return cast(Found, known[0])
        return cast(
            Found,
            self.remembered(question, lambda: self._member_of(decl, name, argc, above), NOTHING),
        )

    def _member_of(self, decl: Decl, name: str, argc: int, above: bool) -> Found:
        line, missing = self.lineage(decl)
        found = self._member_in(line[1:] if above else line, name, argc)
        if found.decls and missing and missing[0] != "?" and self._is_overload_of(found, argc):
            return values.outside(missing)
        for ancestor in () if found is not NOTHING else line:
            found = self._member_by_alias(ancestor, name, argc)
            if found is not NOTHING:
                break
        if found is not NOTHING:
            return found
        if missing and missing[0] != "?" and name in PHP_INTERFACES.get(missing, (name,)):
            return values.outside(missing)
        if not missing and (name in ROOT_MEMBERS.get(self.family.name, ()) or is_dunder(name)):
            return values.outside("builtins")
        return Found(UNRESOLVED, hint=decl.full_name)

    def _is_overload_of(self, found: Found, argc: int) -> bool:
        """Does no declaration take so many arguments, so that one that is not seen is meant?"""
        if not self.family.overloads or argc < 0:
            return False
        callables = [decl for decl in found.decls if decl.kind in CALLABLE]
        return bool(callables) and not any(takes(decl, argc) for decl in callables)

    def _member_in(self, line: tuple[Decl, ...], name: str, argc: int) -> Found:
        """Return the member that the first of some types has."""
        inherited: tuple[Decl, ...] = ()
        assigned: tuple[Decl, ...] = ()
        held: tuple[Decl, ...] = ()  # a field of that name, which a call does not mean by choice
        for ancestor in line:
            own = self.members_named(ancestor, name)
            if own and self.family.overloads and argc >= 0:
                inherited += tuple([d for d in own if d.kind in CALLABLE])
                if any(takes(d, argc) for d in own if d.kind in CALLABLE):
                    return self.chosen(own, argc)
                held = held or own
                continue
            if own and "assigned" in own[0].modifiers and not assigned:
                assigned = own  # only assigned to here: it may be declared above
                continue
            if own and not (assigned and (own[0].kind in CALLABLE or not is_annotated(own[0]))):
                return self.chosen(own, argc)
        if assigned:
            return self.chosen(assigned, argc)
        left = inherited or held
        return self.chosen(left, argc) if left else NOTHING

    def overloads_of(self, decl: Decl, argc: int) -> tuple[Decl, ...]:
        """Return what a callable's type has and inherits under its name for as many arguments."""
        outer, _, last = decl.container.rpartition(".")
        owners = [one for one in self.decls(outer, last) if one.kind in TYPES]
        found: dict[str, Decl] = {}
        for ancestor in self.lineage(owners[0])[0] if owners else ():
            for one in self.members_named(ancestor, decl.name):
                if one.kind in CALLABLE and takes(one, argc):
                    found.setdefault(one.suffix, one)
        return tuple(found.values())

    def members_named(self, decl: Decl, name: str) -> tuple[Decl, ...]:
        """Return a type's own members of one name."""
        found = self.decls_in(decl.path, decl.full_name, name)
        if found and decl.kind in _OBJECTS:  # functions in it are none of its object
            found = tuple([d for d in found if d.kind in MEMBERS])
        if found and self.family.overloads:  # a constructor is nobody's member
            found = tuple([d for d in found if d.kind != "constructor"])
        if not found and self.family.name in ("rust", "c"):
            # written in another file, where only the type's simple name tells whose they are
            apart = cast(tuple[Decl, ...], self.facts(IMPLS, f"{decl.name}.{name}"))
            found = tuple([d for d in apart if self._belongs(d, decl)])
        return found

    def _belongs(self, member: Decl, decl: Decl) -> bool:
        outer = member.container.rpartition(".")[0]
        if any(d.kind in TYPE_LIKE for d in self.decls(outer, decl.name)):
            return False
        named = self.named(decl.name, member.path, outer)
        return bool(named.decls) and named.decls[0].full_name == decl.full_name

    def _member_by_alias(self, decl: Decl, name: str, argc: int) -> Found:
        """Look at what an alias stands for."""
        if decl.kind != "type" or not decl.told:
            return NOTHING
        if decl.parameters and self.family.name == "ecma":
            return NOTHING  # what it stands for depends on its arguments, which a value has
        value = self.told(decl, None)
        if value is None or value.decl is decl:
            return NOTHING
        return self.member(value, name, argc)
