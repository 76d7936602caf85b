"""JavaScript and TypeScript, with JSX."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.grammar import Grammar
from services.extractor.languages import ecma_members as members
from services.extractor.languages.broken_blocks import declare_lost
from services.extractor.languages.ecma_bindings import bind_target, read_bindings
from services.extractor.languages.ecma_context import expect, read_context
from services.extractor.languages.ecma_flow import read_flow
from services.extractor.languages.ecma_imports import (
    commonjs_exports,
    read_imports,
    required_module,
)
from services.extractor.languages.ecma_query import JAVASCRIPT_QUERY, TSX_QUERY, TYPESCRIPT_QUERY
from services.extractor.languages.ecma_shape import FUNCTION_VALUES, Outer, outer_nodes
from services.extractor.reader import Draft, ImportDraft, Reader

_CLASS_VALUES = frozenset({"class", "class_expression"})
_NAMESPACES = frozenset({"internal_module", "module"})
_TRANSPARENT = frozenset({"export_statement", "ambient_declaration", "statement_block"})
_DECLARATIONS = frozenset({"lexical_declaration", "variable_declaration"})


# Inside broken code: a declaring word and a name, or the first line of a method.
_HEAD = re.compile(
    rb"^(?P<indent>[ \t]*)(?:(?:export|default|declare|abstract|async|public|private|protected"
    rb"|static|readonly|override)[ \t]+)*"
    rb"(?P<keyword>(?:class|interface|enum|function|namespace|type|const|let|var)\b"
    rb"|(?!(?:if|for|while|switch|catch|return|with|new|await|typeof)\b)"
    rb"(?=[A-Za-z_$#][\w$]*[ \t]*(?:<[^>\n]*>)?\([^\n]*\{[ \t]*$))[ \t*]*"
    rb"(?P<name>[A-Za-z_$#][\w$]*)[^\n{]*",
    re.MULTILINE,
)
_HEAD_KINDS = {
    b"class": "class", b"interface": "interface", b"enum": "enum", b"function": "function",
    b"namespace": "namespace", b"type": "type", b"": "function",
}  # fmt: skip


def module_of(path: str) -> str:
    """Return the dotted path of a module: `src/` in front and `/index` behind left out."""
    stem = path
    for extension in (".d.ts", ".d.mts", ".d.cts"):
        stem = stem.removesuffix(extension)
    if stem == path:
        stem = path.rpartition(".")[0]
    parts = stem.split("/")
    if len(parts) > 1 and parts[0] in ("src", "lib"):
        parts = parts[1:]
    if len(parts) > 1 and parts[-1] == "index":
        parts = parts[:-1]
    return ".".join(parts)


def literal(raw: bytes) -> str | None:
    """Return the value of a string, None for a template with substitutions."""
    if raw[:1] == b"`" and b"${" in raw:
        return None
    return raw[1:].rstrip(raw[:1]).decode(errors="replace")


def declare(reader: Reader) -> None:
    outer = outer_nodes(reader)
    for node in reader.nodes("function"):
        members.function(reader, node, outer.of(node))
    for node in reader.nodes("class"):
        members.class_like(reader, node, outer.of(node))
    for node in reader.nodes("method"):
        members.method(reader, node)
    for node in reader.nodes("pair"):
        members.pair(reader, node)
    for node in reader.nodes("interface"):
        members.interface(reader, node, outer.of(node))
    for node in reader.nodes("type_alias"):
        members.type_alias(reader, node, outer.of(node))
    for node in reader.nodes("enum"):
        members.enum(reader, node, outer.of(node))
    for node in reader.nodes("namespace"):
        members.namespace(reader, node, outer.of(node))
    _declarations(reader, outer)
    _assignments(reader)
    _default_export(reader)
    _elements(reader)
    read_imports(reader)
    read_bindings(reader)
    read_flow(reader)
    read_context(reader)
    declare_lost(reader, _HEAD, _HEAD_KINDS)


def _declarations(reader: Reader, outer: Outer) -> None:
    top = _module_level(reader.root)
    for node in reader.nodes("declaration"):
        declarators = [c for c in node.named_children if c.type == "variable_declarator"]
        whole = outer.of(node) if len(declarators) == 1 else None
        for declarator in declarators:
            _declarator(reader, node, declarator, whole, node.start_byte in top)


def _module_level(root: Node) -> frozenset[int]:
    """Return the starts of the variable declarations outside any function."""
    found = []
    pending = list(root.named_children)
    while pending:
        node = pending.pop()
        kind = node.type
        if kind in _DECLARATIONS:
            found.append(node.start_byte)
        elif kind in _TRANSPARENT:
            pending += node.named_children
        elif kind in _NAMESPACES:
            body = node.child_by_field_name("body")
            pending += body.named_children if body is not None else []
        elif kind == "expression_statement" and node.named_child_count:
            inner = node.named_child(0)  # `namespace N {}` parses as an expression
            if inner.type in _NAMESPACES:
                pending.append(inner)
    return frozenset(found)


def _declarator(
    reader: Reader, statement: Node, node: Node, whole: Node | None, at_module_level: bool
) -> None:
    name = node.child_by_field_name("name")
    value = node.child_by_field_name("value")
    if name is None:
        return
    span = whole or (statement if statement.named_child_count == 1 else node)
    if name.type == "identifier":
        if value is not None and value.type in FUNCTION_VALUES:
            draft = members.function(reader, value, span, name)
            if draft is not None:
                expect(reader, draft, node.child_by_field_name("type"))
            return
        if value is not None and value.type in _CLASS_VALUES:
            members.class_like(reader, value, span, name)
            return
    if not at_module_level or (value is not None and required_module(reader, value) is not None):
        return
    constant = reader.data.startswith(b"const", statement.start_byte)
    for token in [name] if name.type == "identifier" else _bound_names(name):
        draft = Draft(
            "constant" if constant else "variable", reader.text(token),
            span.start_byte, span.end_byte,
        )  # fmt: skip
        draft.name_start = token.start_byte
        draft.signature = reader.line(span.start_byte, span.end_byte).rstrip("; ")
        draft.doc = reader.doc_before(span.start_byte)
        draft.returns = members.annotation(reader, node.child_by_field_name("type"))
        draft.modifiers = members.export_modifiers(span)
        draft.visibility = "public" if draft.modifiers else ""
        reader.add(draft)


def _bound_names(pattern: Node) -> list[Node]:
    """Return the name tokens a destructuring pattern binds."""
    found = []
    pending = [pattern]
    while pending:
        node = pending.pop()
        kind = node.type
        if kind in ("identifier", "shorthand_property_identifier_pattern"):
            found.append(node)
        elif kind in ("pair_pattern", "assignment_pattern", "object_assignment_pattern"):
            side = node.child_by_field_name("value" if kind == "pair_pattern" else "left")
            pending += [side] if side is not None else []
        elif kind in ("object_pattern", "array_pattern", "rest_pattern"):
            pending += node.named_children
    return sorted(found, key=lambda node: node.start_byte)


def _assignments(reader: Reader) -> None:
    """Declare what is assigned to members: `a.b = function`, `A.prototype.b =`, `exports.b =`."""
    for node in reader.nodes("assignment"):
        left = node.child_by_field_name("left")
        value = node.child_by_field_name("right")
        if left is None or value is None:
            continue
        bind_target(reader, left, value)
        if left.type != "member_expression":
            continue
        text = reader.text(left)
        if text == "module.exports":
            commonjs_exports(reader, value)
        is_export = text.startswith(("exports.", "module.exports"))
        name = left.child_by_field_name("property")
        if name is not None and reader.field_text(left, "object") == "this":
            reader.held(name, node).visibility = (
                "private" if name.type[:7] == "private" else "public"
            )
        if name is None or name.type != "property_identifier" or text.startswith("this."):
            continue
        if value.type in FUNCTION_VALUES or value.type in _CLASS_VALUES:
            if value.type in FUNCTION_VALUES:
                draft = members.function(reader, value, node, name)
            else:
                draft = members.class_like(reader, value, node, name)
            if draft is not None:
                _place(reader, draft, left, is_export, value)
        elif text.startswith("exports.") or (is_export and text.count(".") > 1):
            draft = Draft("variable", reader.text(name), node.start_byte, node.end_byte)
            draft.name_start = name.start_byte
            draft.signature = reader.line(node.start_byte, node.end_byte)
            draft.doc = reader.doc_before(node.start_byte)
            draft.visibility = "public"
            draft.modifiers = ("export",)
            reader.add(draft)


def _place(reader: Reader, draft: Draft, left: Node, is_export: bool, value: Node) -> None:
    owner = reader.field_text(left, "object")
    if is_export:
        draft.visibility, draft.modifiers = "public", (*draft.modifiers, "export")
        inner = value.child_by_field_name("name")
        if reader.text(left) == "module.exports":
            if inner is not None:
                draft.name, draft.name_start = reader.text(inner), inner.start_byte
            reader.imports.append(ImportDraft("", draft.name, "default", left.start_byte, "export"))
    elif owner.endswith(".prototype"):
        draft.owner = owner.removesuffix(".prototype").rpartition(".")[2]
    elif owner.isidentifier():
        draft.prefix = owner


def _default_export(reader: Reader) -> None:
    for node in reader.nodes("export"):
        value = node.child_by_field_name("value")
        if value is None:
            continue
        name = value.child_by_field_name("name")
        if value.type in FUNCTION_VALUES:
            draft = members.function(reader, value, node, name)
        elif value.type in _CLASS_VALUES:
            draft = members.class_like(reader, value, node, name)
        else:
            continue
        if draft is not None and name is None:
            draft.name = "default"


def _elements(reader: Reader) -> None:
    """A JSX element uses its component; a lower-case tag is plain HTML."""
    for node in reader.nodes("element"):
        name = node.child_by_field_name("name")
        if name is None:
            continue
        if name.type == "identifier":
            if reader.data[name.start_byte : name.start_byte + 1].isupper():
                reader.mark(name.start_byte, "call")
            else:
                reader.locals.append(name.start_byte)
        elif name.type == "member_expression":
            prop = name.child_by_field_name("property")
            if prop is not None:
                reader.mark(prop.start_byte, "call")


_CONSTRUCTORS = frozenset({"constructor"})

JAVASCRIPT = Grammar(
    language="javascript",
    bundle="javascript",
    query=JAVASCRIPT_QUERY,
    declare=declare,
    module=module_of,
    literal=literal,
    constructors=_CONSTRUCTORS,
    self_name="this",
)
TYPESCRIPT = Grammar(
    language="typescript",
    bundle="typescript",
    query=TYPESCRIPT_QUERY,
    declare=declare,
    module=module_of,
    literal=literal,
    constructors=_CONSTRUCTORS,
    self_name="this",
)
TSX = Grammar(
    language="typescript",
    bundle="tsx",
    query=TSX_QUERY,
    declare=declare,
    module=module_of,
    literal=literal,
    constructors=_CONSTRUCTORS,
    self_name="this",
)
