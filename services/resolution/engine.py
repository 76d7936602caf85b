"""What does a name, a member, a type or an expression mean at a place in the code?

A place is a file and the full name of what is around. Everything is a function of facts of the
index alone; see memory.py for what becomes of the answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from msgspec.structs import replace

from services.resolution import type_arguments, values
from services.resolution.choice import (
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
    CALL,
    EACH,
    HELD,
    INDEX,
    LIST,
    TUPLE,
    TYPE_OPEN,
    UNION,
    Chain,
    Node,
    annotated,
    chain_of,
    type_of,
    type_text_of,
)
from services.resolution.families import BUILTINS, Family
from services.resolution.index import Index
from services.resolution.library_names import GETTERS, ROOT_MEMBERS
from services.resolution.memory import Answers
from services.resolution.scopes import CALLABLE
from services.resolution.summary import (
    IMPLS,
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
_ANCESTORS = TYPE_LIKE | SPACES  # a Ruby module is included like a type
_INDEXERS = {"csharp": "this[]", "c": "operator[]"}
_CALL_MEMBERS = {"python": "__call__", "php": "__invoke", "c": "operator()", "jvm": "invoke"}


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
            return values.outside("builtins")
        return found

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
        if self.family.name != "ecma":
            return self._typed(type_of(text), path, context)
        if text[:1] in "(<" and "=>" in text and (told := returned_type(text)):
            decl = Decl(
                "function", "", "", context=context, told=(annotated(told),),
                takes=parameter_types(text), path=path,
            )  # fmt: skip
            return Value(values.CALLABLE, decl)
        return self._typed(type_of(type_text_of(text)), path, context)

    def _typed(  # noqa: PLR0911 - the kinds of written types
        self, node: Node | None, path: str, context: str
    ) -> Value | None:
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
        if name in (LIST, TUPLE):
            inner = tuple([self._typed(part, path, context) for part in arguments])
            return Value(OUTSIDE, name=name, arguments=inner)
        simple = name.replace("::", ".").replace("\\", ".").rpartition(".")[2]
        if simple in self.family.awaits and arguments:
            held = self._typed(arguments[-1 if simple in _LAST_ARGUMENT else 0], path, context)
            if held is not None or simple not in ("Option", "Result"):
                return held
        if simple in _OWN_TYPE:
            around = self.around(path, context)
            return Value(INSTANCE, around) if around is not None else None
        found = self.dotted(name, path, context)
        inner = tuple([self._typed(part, path, context) for part in arguments])
        if simple in ("type", "Type") and inner and found.state == EXTERNAL:
            named = inner[0]
            known = named is not None and named.decl is not None and named.sort != PARAMETER
            return replace(named, sort=TYPE) if named is not None and known else None
        unclear = found.state == UNRESOLVED or (found.decls and found.decls[0].kind in VALUES)
        if unclear and (where := self._parameter_of(name, path, context)) is not None:
            return Value(PARAMETER, where if where.bounds else None, name=name)
        return self._instance(found, inner)

    def _parameter_of(self, name: str, path: str, context: str) -> Decl | None:
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
            return replace(value, arguments=arguments)
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
                return found
        if kind == "constant" and owner is not None and owner.decl is not None:
            return Value(INSTANCE, owner.decl) if owner.decl.kind == "enum" else None
        return None

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
        if self.family.name == "ecma" and found is not None and is_open(found):
            return type_arguments.closed(self, found, decl, owner)
        if found is not None and found.sort == PARAMETER:
            return substituted(found, owner)
        return found

    def _evaluated(self, decl: Decl, owner: Value | None) -> Value | None:
        context = decl.context or decl.container
        if self.family.name == "ecma" and decl.kind in TYPE_LIKE:
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
            if me is not None and me.decl is not None and me.sort in (INSTANCE, TYPE):
                decl: Decl | None = me.decl
            else:
                decl = self.around(path, context)
            if root in family.parents:
                own = self.around(path, context)
                return Value(PARENT, own) if own is not None else None
            if decl is not None:
                return Value(INSTANCE if root in family.selves else TYPE, decl)
        if root == "new" and self._calls_itself and (own := self.around(path, context)) is not None:
            return self.steps(Value(TYPE, me.decl if me is not None and me.decl else own), ("new",))
        return self.value(self.named(root, path, context, MEANS_VALUE))

    def steps(
        self, value: Value | None, steps: Chain, place: tuple[str, str] = ("", "")
    ) -> Value | None:
        """Follow the steps of an expression, written at a place, from a value on."""
        for step in steps:
            if value is None:
                return None
            if step == CALL:
                value = self.called(value)
            elif step in (INDEX, EACH):
                value = self._element(value, step)
            elif step[0] == "@":
                value = self._handed(value, step, place)
            else:
                name = step.rstrip("!?") if self.family.name == "ecma" else step
                value = self._lowered(self.value(self.member(value, name), value), value)
            if self._calls_itself and value is not None and value.sort == values.CALLABLE:
                value = self.called(value)  # without brackets, as Ruby has it
        return value

    def _handed(self, value: Value, step: str, place: tuple[str, str]) -> Value | None:
        """Return what a function hands to a callback: `@2.0`, argument 2, its parameter 0."""
        if self.family.name == "ecma" and value.sort != OUTSIDE:
            made = value
            if value.sort == TYPE and value.decl is not None:
                inside = self.member_of(value.decl, "constructor")
                made = (
                    Value(values.CALLABLE, inside.decls[0], owner=value) if inside.decls else value
                )
            return type_arguments.expected(self, made, step, place)
        step = step.partition("<")[0].partition("=")[0]
        argument, _, parameter = step[1:].partition(".")
        if value.sort == OUTSIDE:
            if value.owner is None or parameter != "0":
                return None
            return self._element(value.owner, INDEX)
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
        if value.sort == values.CALLABLE and value.decl is not None:
            decl, owner = value.decl, value.owner
            if decl.name == "new" and self.family.name == "ruby" and owner is not None:
                return replace(owner, sort=INSTANCE)
            return self._called(decl, owner)
        if value.sort == PARENT or (self._calls_itself and value.sort == INSTANCE):
            return value
        if value.sort == OUTSIDE:
            if value.owner is not None and value.name in GETTERS:
                arguments = [one for one in value.owner.arguments if one is not None]
                return replace(arguments[-1], confidence=MEDIUM) if arguments else value
            return value
        if value.sort == INSTANCE and self.family.name in _CALL_MEMBERS:
            found = self.member(value, _CALL_MEMBERS[self.family.name])
            return self.called(inner) if (inner := self.value(found, value)) is not None else None
        return None

    def _called(self, decl: Decl, owner: Value | None) -> Value | None:
        if not decl.name:  # a function type
            return self.told(decl, owner)
        first: Value | None = None
        every: list[Value] = []  # what each of several overload signatures gives
        for one in self.decls_in(decl.path, decl.container, decl.name):
            if one.suffix == decl.suffix and (found := self.told(one, owner)) is not None:
                if found.sort == OUTSIDE and found.name == TUPLE and self.family.name == "go":
                    return found.arguments[0] if found.arguments else None
                if self.family.name != "ecma":
                    return found
                first = first or found
                every.append(found)
        made = [one for one in every if one.sort == INSTANCE]
        if len(made) > 1 and all(one.sort in (INSTANCE, OUTSIDE) for one in every):
            return joined(made)  # which of them, only its arguments would tell
        return first

    def _element(self, value: Value, step: str) -> Value | None:
        if value.sort == OUTSIDE and value.arguments:
            if value.name == TUPLE:
                return None
            known = [one for one in value.arguments if one is not None]
            if step == EACH and self.family.name == "python":
                return value.arguments[0]
            return known[-1] if known else None
        if value.sort == INSTANCE and self.family.name == "python":
            if step == INDEX:
                return self._given(value, "__getitem__")
            iterator = self._given(value, "__iter__")
            if iterator is not None and iterator.sort == INSTANCE:
                return self._given(iterator, "__next__")
            return self._element(iterator, EACH) if iterator is not None else None
        if value.sort == INSTANCE:
            indexer = _INDEXERS.get(self.family.name)
            given = self._given(value, indexer) if indexer is not None else None
            return value if given is None and self.family.name == "c" else given  # an array of it
        return Value(OUTSIDE, name=value.name) if value.sort == OUTSIDE else None

    def _given(self, value: Value, method: str) -> Value | None:
        """Return what calling a method of a value gives; an indexer's value."""
        member = self.value(self.member(value, method), value)
        return (
            self.called(member) if member is not None and member.sort == values.CALLABLE else member
        )

    # ---- members ---------------------------------------------------------------------------------

    def member(self, value: Value | None, name: str, argc: int = -1) -> Found:
        """Return what a member's name means, given what it is a member of."""
        if value is None:
            return NOTHING
        if value.sort == OUTSIDE:
            owner = value if value.arguments else None
            inner = Value(OUTSIDE, name=name if owner else value.name, owner=owner)
            return Found(EXTERNAL, (), values.HIGH, inner, value.name)
        if value.sort == MODULE:
            return self._member_of_module(self, value, name)
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
        if found.state != RESOLVED and decl.kind == "type" and self.family.name == "ecma":
            found = type_arguments.through_alias(self, value, name, argc) or found
        if found.state != RESOLVED and (own := self._implied(value, name)) is not None:
            return own
        if self._calls_itself and value.sort == TYPE and self._of_instances(found):
            return Found(AMBIGUOUS, found.decls, MEDIUM)
        if value.confidence < found.confidence and found.state == RESOLVED:
            return replace(found, confidence=value.confidence)
        return found

    def _of_instances(self, found: Found) -> bool:
        """Is it a method that a class gives to its instances and does not have itself?"""
        if found.state != RESOLVED or not found.decls or found.decls[0].kind != "method":
            return False
        owner, name = found.decls[0].container, found.decls[0].name
        if any("static" in decl.modifiers for decl in self.decls(owner, name)):
            return False
        container, _, last = owner.rpartition(".")
        return any(decl.kind == "class" for decl in self.decls(container, last))

    def _implied(self, value: Value, name: str) -> Found | None:
        """Members that every type has, and what wrappers that were looked through would have."""
        if self.family.name == "ruby" and name == "new" and value.sort == TYPE:
            made = replace(value, sort=INSTANCE)
            return Found(EXTERNAL, (), values.HIGH, made, "builtins")
        if self.family.name == "rust" and name in GETTERS:
            held = Value(OUTSIDE, name=name, arguments=(value,))
            return Found(EXTERNAL, (), MEDIUM, Value(OUTSIDE, name=name, owner=held), "std")
        return None

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
        if missing and missing[0] != "?":
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
