"""Java."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.grammar import Grammar
from services.extractor.languages import shape
from services.extractor.languages.broken_blocks import declare_lost
from services.extractor.languages.java_arguments import read_arguments
from services.extractor.reader import Draft, ImportDraft, Reader

QUERY = """
[(identifier) (type_identifier)] @id
(type_identifier) @type
(method_invocation object: (_) @object)
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
(catch_formal_parameter name: (identifier) @local)
(lambda_expression parameters: (identifier) @local)
(inferred_parameters (identifier) @local)
(enhanced_for_statement name: (identifier) @local) @each
(resource name: (identifier) @local)
(instanceof_expression name: (identifier) @local) @tested
(type_pattern (identifier) @local) @tested
(record_pattern_component (identifier) @local)
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
    for node in reader.nodes("enum_constant"):
        name = node.child_by_field_name("name")
        if name is not None:
            draft = shape.begin(reader, "constant", name, node, node.child_by_field_name("body"))
            draft.visibility = "public"
            reader.add(draft)
    _variables(reader)
    for node in reader.nodes("assignment"):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None and left.type in ("identifier", "field_access"):
            _bind_value(reader, left, right)
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


def _locals(reader: Reader, node: Node) -> None:
    declared = node.child_by_field_name("type")
    for declarator in node.children_by_field_name("declarator"):
        name = declarator.child_by_field_name("name")
        if name is not None:
            reader.locals.append(name.start_byte)
        _bind(reader, declarator, declared)


def _variables(reader: Reader) -> None:
    for node in reader.nodes("variable"):
        _locals(reader, node)
    for node in reader.nodes("each"):
        _each(reader, node)
    for node in reader.nodes("resource"):
        _bind(reader, node, node.child_by_field_name("type"))
    for node in reader.nodes("tested"):
        _tested(reader, node)


def _tested(reader: Reader, node: Node) -> None:
    """Bind the variable of a pattern, `x instanceof T name` or `case T name`."""
    declared, name = node.child_by_field_name("right"), node.child_by_field_name("name")
    if node.type == "type_pattern":
        declared, name = node.named_children[0], node.named_children[-1]
    if name is not None and (text := reader.type_text(declared)) and text != "var":
        reader.bind(name, text, "annotation")


def _each(reader: Reader, node: Node) -> None:
    """Bind the variable of `for (T x : xs)`."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    declared = reader.field_text(node, "type")
    if name is not None and declared and declared != "var":
        reader.bind(name, declared, "annotation")
    elif name is not None and value is not None and value.type in ("identifier", "field_access"):
        reader.bind(name, reader.type_text(value), "element")


def _bind(reader: Reader, node: Node, declared: Node | None) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None:
        return
    text = reader.type_text(declared)
    if text and text != "var":
        reader.bind(name, text, "annotation")
    elif value is not None:
        _bind_value(reader, name, value)


def _bind_value(reader: Reader, name: Node, value: Node) -> None:
    kind = value.type
    if kind == "object_creation_expression":
        text = reader.type_text(value.child_by_field_name("type"))
        reader.bind(name, shape.without_arguments(text), "call")
    elif kind == "method_invocation":
        callee = value.child_by_field_name("name")
        if callee is not None:
            reader.bind(name, reader.line(value.start_byte, callee.end_byte, 160), "call")
    elif kind in ("identifier", "field_access"):
        reader.bind(name, reader.type_text(value), "alias")
    elif kind == "cast_expression":
        reader.bind(name, reader.type_text(value.child_by_field_name("type")), "annotation")


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
)
