"""C#."""

from __future__ import annotations

import re

from services.extractor.grammar import Grammar
from services.extractor.languages import shape
from services.extractor.reader import Draft, ImportDraft, Reader
from tree_sitter import Node

QUERY = """
(identifier) @id
(member_access_expression expression: _ @object)
(conditional_access_expression condition: (_) @object)
(qualified_name qualifier: (_) @object)
(invocation_expression function: [(identifier) (member_access_expression name: (identifier))
                                  (conditional_access_expression (member_binding_expression name: (identifier)))]
                       arguments: (argument_list) @args.direct)
(invocation_expression function: [(generic_name (identifier) @callee)
                                  (member_access_expression name: (generic_name (identifier) @callee))]
                       arguments: (argument_list) @args)
(object_creation_expression
  type: [(identifier) @new (generic_name (identifier) @new) (qualified_name name: (identifier) @new)
         (qualified_name name: (generic_name (identifier) @new))]
  arguments: (argument_list) @new.args)
(object_creation_expression
  type: [(identifier) @new (generic_name (identifier) @new)] !arguments)
(argument (string_literal) @string)
(argument (verbatim_string_literal) @string)
(argument (raw_string_literal) @string)
(argument name: (identifier) @skip)
(throw_statement (object_creation_expression
  type: [(identifier) @raise (qualified_name name: (identifier) @raise)]))
(throw_expression (object_creation_expression
  type: [(identifier) @raise (qualified_name name: (identifier) @raise)]))
(attribute name: [(identifier) @decorator (qualified_name name: (identifier) @decorator)])
(attribute name: [(identifier) (qualified_name)] (attribute_argument_list) @args.direct)
(attribute_argument (string_literal) @string)

(type_argument_list) @type.span
(type_parameter_constraint type: (_) @type.span)
(parameter type: (_) @type.span)
(variable_declaration type: (_) @type.span)
(property_declaration type: (_) @type.span)
(indexer_declaration type: (_) @type.span)
(event_declaration type: (_) @type.span)
(method_declaration returns: (_) @type.span)
(local_function_statement type: (_) @type.span)
(delegate_declaration type: (_) @type.span)
(operator_declaration type: (_) @type.span)
(conversion_operator_declaration type: (_) @type.span)
(cast_expression type: (_) @type.span)
(as_expression right: (_) @type.span)
(is_expression right: (_) @type.span)
(typeof_expression type: (_) @type.span)
(declaration_pattern type: (_) @type.span)
(recursive_pattern type: (_) @type.span)
(catch_declaration type: (_) @type.span)
(foreach_statement type: (_) @type.span)
(array_creation_expression type: (_) @type.span)
(declaration_expression type: (_) @type.span)
(default_expression type: (_) @type.span)

(parameter name: (identifier) @local)
(parameter_list name: (identifier) @local)
(implicit_parameter) @id @local
(variable_declarator name: (identifier) @local)
(tuple_pattern name: (identifier) @local)
(foreach_statement left: (identifier) @local)
(catch_declaration name: (identifier) @local)
(declaration_pattern name: (identifier) @local)
(declaration_expression name: (identifier) @local)
(var_pattern name: (identifier) @local)
(recursive_pattern name: (identifier) @local)
(type_parameter name: (identifier) @local)
(type_parameter_constraints_clause . (identifier) @skip)
(labeled_statement . (identifier) @skip)
(assignment_expression left: (identifier) @write)
(assignment_expression left: (member_access_expression name: (identifier) @write))
(postfix_unary_expression (identifier) @write)
(prefix_unary_expression ["++" "--"] (identifier) @write)

(comment) @comment
[(class_declaration) (interface_declaration) (enum_declaration) (struct_declaration)
 (record_declaration)] @type_declaration
[(method_declaration) (constructor_declaration) (destructor_declaration) (delegate_declaration)
 (operator_declaration) (conversion_operator_declaration) (local_function_statement)] @callable
[(property_declaration) (event_declaration) (indexer_declaration)] @property
[(field_declaration) (event_field_declaration)] @field
(enum_member_declaration) @enum_member
(local_declaration_statement) @variable
(using_statement (variable_declaration)) @using_variable
(assignment_expression) @assignment
(namespace_declaration) @namespace
(file_scoped_namespace_declaration) @file_namespace @skip.span
(using_directive) @import @skip.span
"""

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
    for node in reader.nodes("file_namespace"):
        reader.module = reader.field_text(node, "name")
    for node in reader.nodes("namespace"):
        name = node.child_by_field_name("name")
        if name is not None:
            draft = shape.begin(reader, "namespace", name, node, node.child_by_field_name("body"))
            reader.locals += _identifier_starts(name)
            reader.add(draft)
    for node in reader.nodes("type_declaration"):
        _type(reader, node)
    for node in reader.nodes("callable"):
        _callable(reader, node)
    for node in reader.nodes("property"):
        _property(reader, node)
    for node in reader.nodes("field"):
        _fields(reader, node)
    for node in reader.nodes("enum_member"):
        name = node.child_by_field_name("name")
        if name is not None:
            draft = shape.begin(reader, "constant", name, node)
            draft.visibility = "public"
            reader.add(draft)
    for capture in ("variable", "using_variable"):
        for node in reader.nodes(capture):
            _locals(reader, node)
    for node in reader.nodes("assignment"):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None:
            _bind_value(reader, left, right)
    for node in reader.nodes("import"):
        _import(reader, node)


def _identifier_starts(node: Node) -> list[int]:
    found, pending = [], [node]
    while pending:
        part = pending.pop()
        if part.type == "identifier":
            found.append(part.start_byte)
        pending += part.named_children
    return found


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
    draft = _begin(reader, "property", node, name, body)
    if node.type == "indexer_declaration":
        draft.name, draft.name_start = "this[]", -1
        _parameters(reader, draft, name)
    draft.returns = reader.type_text(node.child_by_field_name("type"))
    if "override" in draft.modifiers:
        shape.override(reader, draft)
    reader.add(draft)


def _fields(reader: Reader, node: Node) -> None:
    for declaration in node.named_children:
        if declaration.type != "variable_declaration":
            continue
        declared = reader.type_text(declaration.child_by_field_name("type"))
        for declarator in declaration.named_children:
            name = declarator.child_by_field_name("name")
            if declarator.type != "variable_declarator" or name is None:
                continue
            draft = _begin(reader, "field", node, name, None)
            draft.returns = declared
            if "const" in draft.modifiers:
                draft.kind = "constant"
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
                _bind_value(reader, name, declarator.named_children[-1])


def _bind_value(reader: Reader, name: Node, value: Node) -> None:
    while value.type == "await_expression" and value.named_child_count:
        value = value.named_children[-1]
    kind = value.type
    if kind == "object_creation_expression":
        text = reader.type_text(value.child_by_field_name("type"))
        reader.bind(name, shape.without_arguments(text), "call")
    elif kind == "invocation_expression":
        function = value.child_by_field_name("function")
        if function is not None:
            reader.bind(name, reader.type_text(function).partition("<")[0], "call")
    elif kind in ("identifier", "member_access_expression"):
        reader.bind(name, reader.type_text(value), "alias")
    elif kind in ("cast_expression", "as_expression"):
        cast = value.child_by_field_name("type") or value.child_by_field_name("right")
        reader.bind(name, reader.type_text(cast), "annotation")


def _import(reader: Reader, node: Node) -> None:
    alias = node.child_by_field_name("name")
    target = node.named_children[-1] if node.named_child_count else None
    if target is None:
        return
    module = reader.text(target)
    if alias is not None:
        draft = ImportDraft(module, "", reader.text(alias), node.start_byte, "using")
    else:  # a namespace, or with `static` a type, whose members all come in
        draft = ImportDraft(module, "*", "", node.start_byte, "using")
    reader.imports.append(draft)


CSHARP = Grammar(
    language="csharp",
    bundle="csharp",
    query=QUERY,
    declare=declare,
    literal=literal,
    settle=settle,
    noise=frozenset({b"var"}),
    self_name="this",
)
