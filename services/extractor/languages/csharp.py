"""C#."""

from __future__ import annotations

import re
from collections.abc import Callable

from tree_sitter import Node

from services.extractor.grammar import Grammar
from services.extractor.languages import shape
from services.extractor.languages.csharp_query import QUERY
from services.extractor.languages.csharp_values import bind_value, each, queried, tested
from services.extractor.languages.given import read_given
from services.extractor.languages.given_words import CSHARP as GIVEN
from services.extractor.languages.lambdas import read_lambdas
from services.extractor.languages.nodes import parts
from services.extractor.languages.selections import kept
from services.extractor.reader import Draft, ImportDraft, Reader

_NAMES = frozenset({"identifier"})
_KINDS = {
    "class_declaration": "class",
    "interface_declaration": "interface",
    "enum_declaration": "enum",
    "struct_declaration": "struct",
    "record_declaration": "record",
    "constructor_declaration": "constructor",
    "delegate_declaration": "type",
    "local_function_statement": "function",
}
_XML_TAG = re.compile(r"</?(?:summary|remarks|para|returns|c|inheritdoc)\s*/?>")
_VISIBILITIES = ("public", "protected", "internal", "private")


def literal(raw: bytes) -> str | None:
    return raw.removeprefix(b"@").strip(b'"').decode(errors="replace")


def declare(reader: Reader) -> None:
    initialised = set(reader.starts("initialised"))
    for node in reader.nodes("assignment"):
        if node.start_byte not in initialised:  # else a property of an object just made
            _assignment(reader, node)
    for node in reader.nodes("file_namespace"):
        reader.module = reader.field_text(node, "name")
    for capture, read in _READERS:
        for node in reader.nodes(capture):
            read(reader, node)
    read_lambdas(reader)
    read_given(reader, GIVEN)


def _namespace(reader: Reader, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        draft = shape.begin(reader, "namespace", name, node, node.child_by_field_name("body"))
        reader.locals += _identifier_starts(name)
        reader.add(draft)


def _enum_member(reader: Reader, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        draft = shape.begin(reader, "constant", name, node)
        draft.visibility = "public"
        reader.add(draft)


def _assignment(reader: Reader, node: Node) -> None:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if reader.field_text(node, "operator") not in ("=", "??="):
        return
    if left is not None and right is not None:
        bind_value(reader, left, right)


def _identifier_starts(node: Node) -> list[int]:
    found, pending = [], [node]
    while pending:
        part = pending.pop()
        if part.type == "identifier":
            found.append(part.start_byte)
        pending += part.named_children
    return found


def _explicit(reader: Reader, draft: Draft, node: Node) -> None:
    """Note the interface that a member is declared for alone: `void IStore.Save()`."""
    for child in parts(node, "explicit_interface_specifier"):
        if child.named_child_count:
            text = reader.type_text(child.named_children[-1])
            draft.bases.append(shape.without_arguments(text))


def _begin(reader: Reader, kind: str, node: Node, name: Node, body: Node | None) -> Draft:
    """Start a draft and take its attributes and modifiers apart."""
    start = node.start_byte
    decorators: list[str] = []
    modifiers: list[str] = []
    for child in node.children:
        if child.type == "attribute_list":
            decorators.append(reader.line(child.start_byte, child.end_byte))
            start = child.end_byte
        elif child.type == "modifier":
            modifiers.append(reader.text(child))
        elif child.type != "comment":
            break
    draft = shape.begin(reader, kind, name, node, body, start)
    draft.doc = _XML_TAG.sub("", draft.doc).strip()
    draft.decorators = tuple(decorators)
    draft.visibility = " ".join(word for word in modifiers if word in _VISIBILITIES)
    draft.modifiers = tuple(word for word in modifiers if word not in _VISIBILITIES)
    return draft


def _type(reader: Reader, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    draft = _begin(reader, _KINDS[node.type], node, name, node.child_by_field_name("body"))
    for child in node.named_children:
        if child.type == "base_list":
            listed = [
                inner.child_by_field_name("type") or inner
                for inner in child.named_children
                if inner.type not in ("argument_list", "predefined_type")
            ]
            shape.bases(reader, draft, listed, _NAMES)
        elif child.type == "parameter_list":
            for parameter in child.named_children:
                _component(reader, parameter, draft.kind == "record")
    reader.add(draft)


def _component(reader: Reader, node: Node, is_public: bool) -> None:
    """A parameter of a record or primary constructor declares a member."""
    name = node.child_by_field_name("name")
    if node.type == "parameter" and name is not None:
        draft = _begin(reader, "property" if is_public else "field", node, name, None)
        draft.returns = reader.type_text(node.child_by_field_name("type"))
        draft.visibility = "public" if is_public else "private"
        reader.add(draft)


def _callable(reader: Reader, node: Node) -> None:
    name = node.child_by_field_name("name")
    kind = _KINDS.get(node.type, "method")
    if name is None:
        name = node.child_by_field_name("operator") or node.child_by_field_name("type")
        if name is None:
            return
    draft = _begin(reader, kind, node, name, node.child_by_field_name("body"))
    if node.type in ("operator_declaration", "conversion_operator_declaration"):
        draft.name, draft.name_start = f"operator {draft.name}", -1
    elif node.type == "destructor_declaration":
        draft.name = f"~{draft.name}"
    if draft.kind == "constructor":
        _cut_initializer(reader, draft, node)
    _explicit(reader, draft, node)
    returns = node.child_by_field_name("returns") or node.child_by_field_name("type")
    draft.returns = reader.type_text(returns)
    _parameters(reader, draft, node.child_by_field_name("parameters"))
    if "override" in draft.modifiers:
        shape.override(reader, draft)
    reader.add(draft)


def _cut_initializer(reader: Reader, draft: Draft, node: Node) -> None:
    for child in node.named_children:
        if child.type == "constructor_initializer":
            draft.signature = shape.head(reader, node.start_byte, child.start_byte)


def _parameters(reader: Reader, draft: Draft, parameters: Node | None) -> None:
    draft.arity = 0
    if parameters is None:
        return
    for child in parameters.named_children:
        if child.type == "parameter":
            declared = reader.type_text(child.child_by_field_name("type"))
            if not draft.params and any(reader.text(word) == "this" for word in child.children):
                draft.modifiers += ("extension",)
            draft.params.append((reader.field_text(child, "name"), declared))
    rest = parameters.child_by_field_name("name")  # `params T[] xs` stands in the list itself
    if rest is not None:
        declared = reader.type_text(parameters.child_by_field_name("type"))
        draft.params.append((reader.text(rest), declared))
    draft.arity = len(draft.params)


def _property(reader: Reader, node: Node) -> None:
    name = node.child_by_field_name("name") or node.child_by_field_name("parameters")
    body = node.child_by_field_name("accessors") or node.child_by_field_name("value")
    if name is None:
        return
    kind = "event" if node.type == "event_declaration" else "property"
    draft = _begin(reader, kind, node, name, body)
    if node.type == "indexer_declaration":
        draft.name, draft.name_start = "this[]", -1
        _parameters(reader, draft, name)
    draft.returns = reader.type_text(node.child_by_field_name("type"))
    _explicit(reader, draft, node)
    if "override" in draft.modifiers:
        shape.override(reader, draft)
    reader.add(draft)


def _fields(reader: Reader, node: Node) -> None:
    for declaration in parts(node, "variable_declaration"):
        declared = reader.type_text(declaration.child_by_field_name("type"))
        declarators = parts(declaration, "variable_declarator")
        for at, declarator in enumerate(declarators):
            name = declarator.child_by_field_name("name")
            if name is None:
                continue
            kind = "event" if node.type == "event_field_declaration" else "field"
            draft = _begin(reader, kind, node, name, None)
            draft.returns = declared
            if "const" in draft.modifiers:
                draft.kind = "constant"
            shape.share(draft, declarators, at)
            reader.add(draft)


def settle(draft: Draft, parent: Draft | None) -> None:
    """Fill in the visibility that C# gives what says nothing."""
    if draft.visibility or draft.kind in ("namespace", "function"):
        return
    if parent is None or parent.kind == "namespace":
        draft.visibility = "internal"
    else:
        draft.visibility = "public" if parent.kind == "interface" else "private"


def _locals(reader: Reader, node: Node) -> None:
    for declaration in node.named_children:
        if declaration.type != "variable_declaration":
            continue
        declared = declaration.child_by_field_name("type")
        implicit = declared is None or declared.type == "implicit_type"
        for declarator in declaration.named_children:
            name = declarator.child_by_field_name("name")
            if declarator.type != "variable_declarator" or name is None:
                continue
            if not implicit:
                reader.bind(name, reader.type_text(declared), "annotation")
            elif declarator.named_child_count > 1:
                bind_value(reader, name, declarator.named_children[-1])


def _import(reader: Reader, node: Node) -> None:
    alias = node.child_by_field_name("name")
    target = node.named_children[-1] if node.named_child_count else None
    if target is None:
        return
    module = reader.text(target)
    kind = "global using" if node.children[0].type == "global" else "using"
    if alias is not None:
        draft = ImportDraft(module, "", reader.text(alias), node.start_byte, kind)
    else:  # a namespace, or with `static` a type, whose members all come in
        draft = ImportDraft(module, "*", "", node.start_byte, kind)
    reader.imports.append(draft)


_READERS: tuple[tuple[str, Callable[[Reader, Node], None]], ...] = (
    ("namespace", _namespace),
    ("type_declaration", _type),
    ("callable", _callable),
    ("property", _property),
    ("field", _fields),
    ("enum_member", _enum_member),
    ("variable", _locals),
    ("using_variable", _locals),
    ("each", each),
    ("from", queried),
    ("tested", tested),
    ("import", _import),
)

CSHARP = Grammar(
    language="csharp",
    bundle="csharp",
    query=QUERY,
    declare=declare,
    literal=literal,
    settle=settle,
    noise=frozenset({b"var"}),
    self_name="this",
    receiver=kept,
)
