"""Kotlin."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.grammar import Grammar
from services.extractor.languages import shape
from services.extractor.languages.broken_blocks import declare_lost
from services.extractor.languages.given import read_given
from services.extractor.languages.given_words import KOTLIN as GIVEN
from services.extractor.languages.kotlin_query import QUERY
from services.extractor.languages.modifiers import begin
from services.extractor.languages.nodes import first, parts
from services.extractor.reader import BindingDraft, Draft, ImportDraft, Reader

_NAMES = frozenset({"simple_identifier", "type_identifier"})
_TYPES = (
    "user_type", "nullable_type", "function_type", "parenthesized_type", "not_nullable_type"
)  # fmt: skip
_BODIES = ("class_body", "enum_class_body", "function_body")
_SAME_OBJECT = (".apply", ".also")  # they return what they are called on
_WORDS = (
    rb"public|private|internal|protected|open|abstract|sealed|data|inner|value|inline|suspend"
    rb"|override|operator|infix|tailrec|external|enum|annotation|companion|final|expect|actual"
    rb"|fun(?=[ \t]+interface\b)"
)
_VISIBILITIES = frozenset({"private", "internal", "protected"})
_HEAD = re.compile(
    rb"^(?P<indent>[ \t]*)(?:(?:@\w+(?:\([^)\n]*\))?|" + _WORDS + rb")[ \t]+)*"
    rb"(?P<keyword>class|interface|object|fun)[ \t]+(?:<[^>\n]*>[ \t]*)?(?:[\w<>?, ]+?\.)?"
    rb"(?P<name>\w+)[^\n{=]*",
    re.MULTILINE,
)
_HEAD_KINDS = {
    b"class": "class", b"interface": "interface", b"object": "class", b"fun": "function"
}  # fmt: skip


def literal(raw: bytes) -> str | None:
    """Return the value of a string; None when it has parts to compute."""
    text = raw[3:-3] if raw.startswith(b'"""') else raw[1:-1]
    return None if re.search(rb"(?<!\\)\$[\w{]", text) else text.decode(errors="replace")


def declare(reader: Reader) -> None:
    for node in reader.nodes("package"):
        name = first(node)
        reader.module = reader.text(name) if name is not None else ""
    for node in reader.nodes("class"):
        _class(reader, node)
    for node in reader.nodes("function"):
        _function(reader, node)
    local = set(reader.starts("property.local"))
    for node in reader.nodes("property"):
        _property(reader, node, node.start_byte in local)
    for node in reader.nodes("class_parameter"):
        _class_parameter(reader, node)
    for node in reader.nodes("entry"):
        _named(reader, "constant", node, "simple_identifier")
    for node in reader.nodes("alias"):
        draft = _named(reader, "type", node, "type_identifier")
        if draft is not None:
            draft.returns = reader.type_text(next(iter(parts(node, *_TYPES)), None))
    for draft in declare_lost(reader, _HEAD, _HEAD_KINDS):
        word = draft.signature.partition(" ")[0]
        draft.visibility = word if word in _VISIBILITIES else "public"
    _note_uses(reader)
    for node in reader.nodes("import"):
        _import(reader, node)
    read_given(reader, GIVEN)


def _note_uses(reader: Reader) -> None:
    """Tell what the query cannot: bases and parameters of what has no name, and qualified types."""
    for node in reader.nodes("object_literal"):
        _bases(reader, Draft("class", "", 0, 0), node)
    for node in reader.nodes("parameter"):
        if node.start_byte not in reader.typed_parameters:
            name, declared = _name_and_type(node)
            if name is not None:
                reader.bind(name, reader.type_text(declared), "parameter")
    for node in reader.nodes("qualified_type"):
        names = parts(node, "type_identifier")
        reader.receiver_spans[names[-1].start_byte] = (names[0].start_byte, names[-2].end_byte)
        reader.captures.setdefault("skip", []).extend(names[:-1])
    for start in reader.starts("infix"):
        reader.mark(start, "call")


def _named(reader: Reader, kind: str, node: Node, token: str) -> Draft | None:
    """Start a draft named by the first child of type `token`."""
    name = next(iter(parts(node, token)), None)
    if name is None:
        return None
    return begin(reader, kind, name, node, next(iter(parts(node, *_BODIES)), None), "public")


def _class(reader: Reader, node: Node) -> None:
    words = {child.type for child in node.children[:6]}
    kind = "interface" if "interface" in words else "enum" if "enum" in words else "class"
    draft = _named(reader, kind, node, "type_identifier")
    if draft is None:
        if node.type != "companion_object":
            return
        body = next(iter(parts(node, *_BODIES)), None)
        draft = begin(reader, "class", node, node, body, "public")
        draft.name, draft.name_start = "Companion", -1
    if node.type != "class_declaration":
        draft.modifiers += ("object",)
    for constructor in parts(node, "primary_constructor"):
        draft.params = _parameters(reader, constructor, "class_parameter")
        draft.arity = len(draft.params)
    _bases(reader, draft, node)


def _bases(reader: Reader, draft: Draft, node: Node) -> None:
    for listed in parts(node, "delegation_specifier"):
        base = first(listed)
        if base is not None and base.type in ("constructor_invocation", "explicit_delegation"):
            base = first(base)
        if base is not None and base.type == "user_type":
            shape.bases(reader, draft, [base], _NAMES)


def _function(reader: Reader, node: Node) -> None:
    if node.type == "secondary_constructor":
        body = next(iter(parts(node, "statements", "constructor_delegation_call")), None)
        draft: Draft | None = begin(reader, "constructor", node, node, body, "public")
        if draft is not None:
            draft.name, draft.name_start = "constructor", -1
            draft.signature = draft.signature.rstrip(":{ ")
    else:
        draft = _named(reader, "function", node, "simple_identifier")
    if draft is None:
        return
    after_parameters = False
    for child in node.named_children:
        if child.type == "function_value_parameters":
            draft.params = _parameters(reader, child, "parameter")
            draft.arity = len(draft.params)
            after_parameters = True
        elif child.type in _TYPES and after_parameters:
            draft.returns = reader.type_text(child)
        elif child.type == "receiver_type":
            draft.modifiers += ("extension",)
            receiver = reader.type_text(child)
            reader.bindings.append(BindingDraft("this", receiver, "parameter", node.start_byte))
    if "override" in draft.modifiers:
        shape.override(reader, draft)


def _parameters(reader: Reader, node: Node, kind: str) -> list[tuple[str, str]]:
    found = []
    for child in parts(node, kind):
        reader.typed_parameters.add(child.start_byte)
        name, declared = _name_and_type(child)
        if name is not None:
            found.append((reader.text(name), reader.type_text(declared)))
    return found


def _name_and_type(node: Node) -> tuple[Node | None, Node | None]:
    name = next(iter(parts(node, "simple_identifier")), None)
    return name, next(iter(parts(node, *_TYPES)), None)


def _class_parameter(reader: Reader, node: Node) -> None:
    """Declare `val x: T` in a primary constructor as a property; others are only parameters."""
    name, declared = _name_and_type(node)
    if name is None:
        return
    if parts(node, "binding_pattern_kind"):
        draft = _named(reader, "property", node, "simple_identifier")
        if draft is not None:
            draft.returns = reader.type_text(declared)
            if "override" in draft.modifiers:
                shape.override(reader, draft)
    else:
        reader.locals.append(name.start_byte)
        reader.bind(name, reader.type_text(declared), "parameter")


def _property(reader: Reader, node: Node, is_local: bool) -> None:
    for declaration in parts(node, "variable_declaration"):
        name, declared = _name_and_type(declaration)
        if name is None:
            continue
        if not is_local:
            _declare_property(reader, node, name, declared)
        if declared is None:
            _bind_value(reader, name, _value(node))
        elif is_local:  # the types of others follow from their symbols
            reader.bind(name, reader.type_text(declared), "annotation")


def _declare_property(reader: Reader, node: Node, name: Node, declared: Node | None) -> None:
    accessor = next(iter(parts(node, "getter", "setter")), None)
    draft = begin(reader, "property", name, node, accessor, "public")
    line_end = reader.data.find(b"\n", name.end_byte, node.end_byte)
    if accessor is None and line_end >= 0:
        draft.signature = reader.line(node.start_byte, line_end)
        for decorator in draft.decorators:
            draft.signature = draft.signature.removeprefix(decorator).lstrip()
    draft.returns = reader.type_text(declared)
    if "const" in draft.modifiers:
        draft.kind = "constant"
    if "override" in draft.modifiers:
        shape.override(reader, draft)


def _value(node: Node) -> Node | None:
    """Return what stands behind the `=` of a declaration."""
    children = node.children
    for number, child in enumerate(children[:-1]):
        if child.type == "=":
            return children[number + 1]
    return None


def _bind_value(reader: Reader, name: Node, value: Node | None) -> None:
    if value is None:
        return
    if value.type == "call_expression":
        callee = first(value)
        if callee is not None and reader.text(callee).endswith(_SAME_OBJECT):
            _bind_value(reader, name, first(callee))
        elif callee is not None and callee.type in ("simple_identifier", "navigation_expression"):
            reader.bind(name, reader.type_text(callee), "call")
    elif value.type in ("simple_identifier", "navigation_expression"):
        reader.bind(name, reader.type_text(value), "alias")
    elif value.type == "as_expression":
        declared = next(iter(parts(value, *_TYPES)), None)
        reader.bind(name, reader.type_text(declared), "annotation")


def settle(draft: Draft, parent: Draft | None) -> None:
    """Outside of types a property is a variable."""
    if draft.kind == "property" and (parent is None or parent.kind in ("function", "method")):
        draft.kind = "variable"


def _import(reader: Reader, node: Node) -> None:
    path = next(iter(parts(node, "identifier")), None)
    if path is None:
        return
    text, start = reader.text(path), node.start_byte
    if parts(node, "wildcard_import"):
        reader.imports.append(ImportDraft(text, "*", "", start))
        return
    module, _, name = text.rpartition(".")
    alias = name
    for renamed in parts(node, "import_alias"):
        alias = reader.text(first(renamed) or renamed)
    reader.imports.append(ImportDraft(module, name, alias, start))
    names = path.named_children
    reader.mark(names[-1].start_byte, "import")
    if len(names) > 1:
        reader.receiver_spans[names[-1].start_byte] = (path.start_byte, names[-2].end_byte)


KOTLIN = Grammar(
    language="kotlin",
    bundle="kotlin",
    query=QUERY,
    declare=declare,
    literal=literal,
    settle=settle,
    noise=frozenset({b"it", b"_"}),
    self_name="this",
)
