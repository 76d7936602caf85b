"""Java."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.grammar import Grammar
from services.extractor.languages import shape
from services.extractor.languages.broken_blocks import declare_lost
from services.extractor.languages.java_arguments import read_arguments
from services.extractor.languages.java_values import read_variables
from services.extractor.languages.selections import kept
from services.extractor.reader import Draft, ImportDraft, Reader

QUERY = """
[(identifier) (type_identifier)] @id
(type_identifier) @type
(method_invocation object: (_) @object !type_arguments)
(method_invocation object: (_) type_arguments: (_) name: (_) @typed_call)
(method_invocation object: (_) (super) @outer_super)
(method_invocation arguments: (argument_list) @args.direct)
(field_access object: (_) @object)
(scoped_type_identifier . (_) @object)
(scoped_identifier scope: (_) @object)
(method_reference . (_) @object)
(object_creation_expression
  type: [(type_identifier) @new
         (generic_type . [(type_identifier) @new (scoped_type_identifier (type_identifier) @new .)])
         (scoped_type_identifier (type_identifier) @new .)]
  arguments: (argument_list) @new.args)
(argument_list (string_literal) @string)
(argument_list [(line_comment) (block_comment)] @args.comment)
(throw_statement (object_creation_expression
  type: [(type_identifier) @raise (scoped_type_identifier (type_identifier) @raise .)]))

(marker_annotation name: (identifier) @decorator)
(marker_annotation name: (scoped_identifier name: (identifier) @decorator))
(annotation name: (identifier) @decorator)
(annotation name: (scoped_identifier name: (identifier) @decorator))
(annotation arguments: (annotation_argument_list) @args.direct)
(annotation_argument_list (string_literal) @string)
(element_value_pair key: (identifier) @skip)
(element_value_pair value: (string_literal) @string)
(element_value_array_initializer (string_literal) @string)

(formal_parameter name: (identifier) @local)
(spread_parameter (variable_declarator name: (identifier) @local))
(catch_formal_parameter name: (identifier) @local) @tested
(lambda_expression) @lambda
(lambda_expression parameters: (identifier) @local)
(inferred_parameters (identifier) @local)
(enhanced_for_statement name: (identifier) @local) @each
(resource name: (identifier) @local)
(instanceof_expression name: (identifier) @local) @tested
(type_pattern (identifier) @local) @tested
(record_pattern_component (_) . (identifier) @local) @tested
(switch_label (method_invocation) @deconstructed)
(type_parameter (type_identifier) @local)
(labeled_statement . (identifier) @skip)
(break_statement (identifier) @skip)
(continue_statement (identifier) @skip)
(assignment_expression left: (identifier) @write)
(assignment_expression left: (field_access field: (identifier) @write))
(update_expression (identifier) @write)
(update_expression (field_access field: (identifier) @write))

[(line_comment) (block_comment)] @comment
[(class_declaration) (interface_declaration) (enum_declaration) (record_declaration)
 (annotation_type_declaration)] @type_declaration
[(method_declaration) (constructor_declaration) (compact_constructor_declaration)
 (annotation_type_element_declaration)] @callable
[(field_declaration) (constant_declaration)] @field
(enum_constant) @enum_constant
(object_creation_expression (class_body) @anonymous)
(local_variable_declaration) @variable
(resource) @resource
(assignment_expression) @assignment
(package_declaration) @package @skip.span
(import_declaration) @import @skip.span
"""

_NAMES = frozenset({"identifier", "type_identifier"})
_KINDS = {
    "class_declaration": "class",
    "interface_declaration": "interface",
    "enum_declaration": "enum",
    "record_declaration": "record",
    "annotation_type_declaration": "interface",
}
_HOLDING = frozenset({
    "method_declaration", "constructor_declaration", "field_declaration", "class_body",
    "static_initializer", "block_comment", "program", "enum_constant", "interface_body",
})  # fmt: skip
_VISIBILITIES = frozenset({"public", "protected", "private"})


# Inside broken code: a declaring word and a name, or a type, a name and a bracket.
_HEAD = re.compile(
    rb"^(?P<indent>[ \t]*)(?:(?:public|private|protected|static|final|abstract|synchronized|default"
    rb"|sealed)[ \t]+)*(?P<type>(?!(?:return|new|else|throw|case|yield|class|interface|enum|record)\b)"
    rb"[\w<>\[\],.?]+[ \t]+)?"
    rb"(?P<keyword>(?:class|interface|enum|record)\b"
    rb"|(?(type)|(?!))(?=\w+[ \t]*\([^\n;]*\{))[ \t]*(?P<name>\w+)[^\n{]*",
    re.MULTILINE,
)
_HEAD_KINDS = {
    b"class": "class", b"interface": "interface", b"enum": "enum", b"record": "record",
    b"": "function",
}  # fmt: skip


def literal(raw: bytes) -> str | None:
    return raw.strip(b'"').decode(errors="replace")


def declare(reader: Reader) -> None:
    for node in reader.nodes("package"):
        reader.module = reader.text(node.named_children[-1]) if node.named_child_count else ""
    for node in reader.nodes("type_declaration"):
        _type(reader, node)
    for node in reader.nodes("callable"):
        _callable(reader, node)
    for node in reader.nodes("field"):
        _fields(reader, node)
    _anonymous(reader)
    _receivers(reader)
    for node in reader.nodes("enum_constant"):
        name = node.child_by_field_name("name")
        if name is not None:
            draft = shape.begin(reader, "constant", name, node, node.child_by_field_name("body"))
            draft.visibility = "public"
            reader.add(draft)
    read_variables(reader)
    for node in reader.nodes("import"):
        _import(reader, node)
    read_arguments(reader)
    declare_lost(reader, _HEAD, _HEAD_KINDS)


def _begin(reader: Reader, kind: str, node: Node, name: Node, body: Node | None) -> Draft:
    """Start a draft and take its modifiers and annotations apart."""
    first = node.children[0] if node.children else None
    if first is None or first.type != "modifiers":
        return shape.begin(reader, kind, name, node, body)
    draft = shape.begin(reader, kind, name, node, body, first.end_byte)
    words = []
    annotations = []
    for child in first.children:
        if child.type in ("annotation", "marker_annotation"):
            annotations.append(reader.line(child.start_byte, child.end_byte))
        elif child.type in _VISIBILITIES:
            draft.visibility = child.type
            words.append(child.type)
        elif not child.is_named:
            draft.modifiers += (child.type,)
            words.append(child.type)
    draft.decorators = tuple(annotations)
    draft.signature = " ".join((*words, draft.signature))[:300]
    return draft


def _type(reader: Reader, node: Node) -> None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None:
        return
    draft = _begin(reader, _KINDS[node.type], node, name, body)
    for child in node.named_children:
        kind = child.type
        if kind == "superclass":
            shape.bases(reader, draft, child.named_children, _NAMES)
        elif kind in ("super_interfaces", "extends_interfaces"):
            for listed in child.named_children:
                shape.bases(reader, draft, listed.named_children, _NAMES)
        elif kind == "formal_parameters":
            for component in child.named_children:
                _component(reader, component)
    reader.add(draft)


def _anonymous(reader: Reader) -> None:
    """Declare the bodies of `new T() { ... }` as nameless types derived from T, numbered as needed."""
    seen: dict[tuple[int, str], int] = {}
    for body in reader.nodes("anonymous"):
        node = body.parent
        text = shape.without_arguments(reader.type_text(node and node.child_by_field_name("type")))
        if node is None or not text:
            continue
        around = node.parent
        while around is not None and around.type not in _HOLDING:
            around = around.parent
        simple = text.rpartition(".")[2]
        place = (around.start_byte if around is not None else 0, simple)
        number = seen[place] = seen.get(place, 0) + 1
        name = f"{simple}@anonymous{number if number > 1 else ''}"
        draft = Draft("class", name, body.start_byte, body.end_byte)
        draft.signature = shape.head(reader, node.start_byte, body.start_byte)
        draft.bases.append(text)
        reader.add(draft)


def _receivers(reader: Reader) -> None:
    for node in reader.nodes("outer_super"):  # `Outer.super.method()`: on Outer as its base
        call = node.parent
        name = call.child_by_field_name("name") if call is not None else None
        if call is not None and name is not None:
            reader.receiver_spans[name.start_byte] = (call.start_byte, node.end_byte)
    for node in reader.nodes("typed_call"):  # `held.<T>method()`
        held = node.parent.child_by_field_name("object") if node.parent is not None else None
        if held is not None:
            reader.receiver_spans[node.start_byte] = held.byte_range


def _component(reader: Reader, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        draft = _begin(reader, "field", node, name, None)
        draft.returns = reader.type_text(node.child_by_field_name("type"))
        draft.visibility = "private"
        reader.add(draft)


def _callable(reader: Reader, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    kind = "constructor" if "constructor" in node.type else "method"
    draft = _begin(reader, kind, node, name, node.child_by_field_name("body"))
    draft.returns = reader.type_text(node.child_by_field_name("type"))
    parameters = node.child_by_field_name("parameters")
    for child in parameters.named_children if parameters is not None else ():
        if child.type == "formal_parameter":
            declared = reader.type_text(child.child_by_field_name("type"))
            draft.params.append((reader.field_text(child, "name"), declared))
        elif child.type == "spread_parameter":
            _spread(reader, draft, child)
    draft.arity = len(draft.params)
    if "@Override" in draft.decorators:
        draft.modifiers += ("override",)
        shape.override(reader, draft)
    reader.add(draft)


def _spread(reader: Reader, draft: Draft, node: Node) -> None:
    parts = [child for child in node.named_children if child.type != "modifiers"]
    if len(parts) == 2:
        name = parts[1].child_by_field_name("name") or parts[1]
        draft.params.append((reader.text(name), reader.type_text(parts[0]) + "..."))


def _fields(reader: Reader, node: Node) -> None:
    declared = reader.type_text(node.child_by_field_name("type"))
    declarators = node.children_by_field_name("declarator")
    for at, declarator in enumerate(declarators):
        name = declarator.child_by_field_name("name")
        if name is None:
            continue
        draft = _begin(reader, "field", node, name, None)
        draft.returns = declared
        if node.type == "constant_declaration" or {"static", "final"} <= set(draft.modifiers):
            draft.kind = "constant"
        shape.share(draft, declarators, at)
        reader.add(draft)


def settle(draft: Draft, parent: Draft | None) -> None:
    """Members of interfaces are public unless they say otherwise; other silence is package."""
    if not draft.visibility:
        inside = parent is not None and parent.kind == "interface"
        draft.visibility = "public" if inside else "package"


def _import(reader: Reader, node: Node) -> None:
    path = next((c for c in node.named_children if c.type.endswith("identifier")), None)
    if path is None:
        return
    start = node.start_byte
    if any(child.type == "asterisk" for child in node.named_children):
        reader.imports.append(ImportDraft(reader.text(path), "*", "", start))
        return
    module, _, name = reader.text(path).rpartition(".")
    reader.imports.append(ImportDraft(module, name, name, start))
    scope, last = path.child_by_field_name("scope"), path.child_by_field_name("name")
    if scope is not None and last is not None:
        reader.mark(last.start_byte, "import")
        reader.receiver_spans[last.start_byte] = scope.byte_range


JAVA = Grammar(
    language="java",
    bundle="java",
    query=QUERY,
    declare=declare,
    literal=literal,
    settle=settle,
    noise=frozenset({b"var"}),
    self_name="this",
    receiver=kept,
)
