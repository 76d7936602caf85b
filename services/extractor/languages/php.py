"""PHP."""

from __future__ import annotations

from services.extractor.grammar import Grammar
from services.extractor.languages import shape
from services.extractor.reader import Draft, ImportDraft, Reader
from tree_sitter import Node

QUERY = """
(name) @id
(member_access_expression object: (_) @object)
(nullsafe_member_access_expression object: (_) @object)
(member_call_expression object: (_) @object)
(nullsafe_member_call_expression object: (_) @object)
(scoped_call_expression scope: (_) @object)
(scoped_property_access_expression scope: (_) @object)
(class_constant_access_expression . (_) @object)
(qualified_name prefix: (namespace_name) @object)
(function_call_expression function: [(name) (qualified_name)] arguments: (arguments) @args.direct)
(member_call_expression name: (name) arguments: (arguments) @args.direct)
(nullsafe_member_call_expression name: (name) arguments: (arguments) @args.direct)
(scoped_call_expression name: (name) arguments: (arguments) @args.direct)
(object_creation_expression [(name) @new (qualified_name (name) @new .)])
(object_creation_expression [(name) (qualified_name)] (arguments) @new.args)
(throw_expression (object_creation_expression [(name) @raise (qualified_name (name) @raise .)]))
(attribute [(name) @decorator (qualified_name (name) @decorator .)])
(attribute parameters: (arguments) @args.direct)
(argument [(string) (encapsed_string)] @string)
(argument name: (name) @skip)
(named_type [(name) @type (qualified_name (name) @type .)])
(binary_expression operator: "instanceof" right: [(name) @type (qualified_name (name) @type .)])

(simple_parameter name: (variable_name (name) @local))
(variadic_parameter name: (variable_name (name) @local))
(property_promotion_parameter name: (variable_name (name) @local))
(assignment_expression left: (variable_name (name) @local))
(augmented_assignment_expression left: (variable_name (name) @local))
(assignment_expression left: (member_access_expression name: (name) @write))
(augmented_assignment_expression left: (member_access_expression name: (name) @write))
(assignment_expression left: (scoped_property_access_expression name: (variable_name (name) @write)))
(update_expression argument: (member_access_expression name: (name) @write))
(update_expression argument: (scoped_property_access_expression name: (variable_name (name) @write)))
(list_literal (variable_name (name) @local))
(foreach_statement (variable_name (name) @local))
(foreach_statement (pair (variable_name (name) @local)))
(catch_clause name: (variable_name (name) @local))
(anonymous_function_use_clause (variable_name (name) @local))
(static_variable_declaration name: (variable_name (name) @local))
(global_declaration (variable_name (name) @global))

(comment) @comment
[(class_declaration) (interface_declaration) (trait_declaration) (enum_declaration)] @type_declaration
(anonymous_class) @anonymous_class
[(function_definition) (method_declaration)] @callable
(property_declaration) @property
(const_declaration) @constant
(enum_case) @enum_case
(use_declaration) @mixin
(assignment_expression) @assignment
(function_call_expression function: (name)) @plain_call
(namespace_definition) @namespace
(namespace_use_declaration) @import @skip.span
[(require_expression) (require_once_expression) (include_expression)
 (include_once_expression)] @include
"""

_NAMES = frozenset({"name"})
_KINDS = {
    "class_declaration": "class",
    "interface_declaration": "interface",
    "trait_declaration": "trait",
    "enum_declaration": "enum",
}
_MODIFIERS = frozenset({"abstract_modifier", "final_modifier", "static_modifier", "readonly_modifier"})


def literal(raw: bytes) -> str | None:
    if raw[:1] == b'"' and (b"{$" in raw or b" $" in raw or raw[1:2] == b"$"):
        return None
    return raw[1:].rstrip(raw[:1]).decode(errors="replace")


def _dotted(name: str) -> str:
    return name.strip("\\").replace("\\", ".")


def declare(reader: Reader) -> None:
    _namespaces(reader)
    types = {node.byte_range: _type(reader, node) for node in reader.nodes("type_declaration")}
    for node in reader.nodes("mixin"):
        _mix_in(reader, node, types)
    for node in reader.nodes("anonymous_class"):
        _mark_clauses(reader, Draft("class", "", 0, 0), node)
    for node in reader.nodes("callable"):
        _callable(reader, node)
    for node in reader.nodes("property"):
        _property(reader, node)
    for node in reader.nodes("constant"):
        _constants(reader, node)
    for node in reader.nodes("enum_case"):
        name = node.child_by_field_name("name")
        if name is not None:
            draft = shape.begin(reader, "constant", name, node)
            draft.visibility = "public"
            reader.add(draft)
    for node in reader.nodes("assignment"):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None:
            _bind(reader, left, right)
    for node in reader.nodes("plain_call"):
        _define(reader, node)
    for node in reader.nodes("import"):
        _use(reader, node)
    for node in reader.nodes("include"):
        _include(reader, node)


def _namespaces(reader: Reader) -> None:
    """One `namespace A;` prefixes the file; several, or braces, become symbols of their own."""
    nodes = sorted(reader.nodes("namespace"), key=lambda node: node.start_byte)
    for at, node in enumerate(nodes):
        name = node.child_by_field_name("name")
        if name is None:
            continue
        reader.locals += [part.start_byte for part in name.named_children]
        body = node.child_by_field_name("body")
        if body is None and len(nodes) == 1:
            reader.module = _dotted(reader.text(name))
            continue
        draft = shape.begin(reader, "namespace", name, node, body)
        draft.name = _dotted(draft.name)
        if body is None:
            last = at + 1 == len(nodes)
            draft.end = reader.root.end_byte if last else nodes[at + 1].start_byte
        reader.add(draft)


def _begin(reader: Reader, kind: str, node: Node, name: Node, body: Node | None) -> Draft:
    """Start a draft and take its attributes and modifiers apart."""
    attributes = node.child_by_field_name("attributes")
    start = attributes.end_byte if attributes is not None else node.start_byte
    draft = shape.begin(reader, kind, name, node, body, start)
    if attributes is not None:
        draft.decorators = tuple(
            reader.line(group.start_byte, group.end_byte) for group in attributes.named_children
        )
    draft.visibility = "public"
    for child in node.named_children:
        if child.type == "visibility_modifier":
            draft.visibility = reader.text(child).partition("(")[0]
        elif child.type in _MODIFIERS:
            draft.modifiers += (reader.text(child),)
    return draft


def _type(reader: Reader, node: Node) -> Draft | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    body = node.child_by_field_name("body")
    draft = _begin(reader, _KINDS[node.type], node, name, body)
    _mark_clauses(reader, draft, node)
    return reader.add(draft)


def _mark_clauses(reader: Reader, draft: Draft, node: Node) -> None:
    for child in node.named_children:
        if child.type in ("base_clause", "class_interface_clause"):
            shape.bases(reader, draft, child.named_children, _NAMES)


def _mix_in(reader: Reader, node: Node, types: dict[tuple[int, int], Draft | None]) -> None:
    traits = [child for child in node.named_children if child.type in ("name", "qualified_name")]
    around = [span for span in types if span[0] < node.start_byte < span[1]]
    draft = types[max(around)] if around else None
    shape.bases(reader, draft or Draft("class", "", 0, 0), traits, _NAMES)


def _callable(reader: Reader, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    kind = "function" if node.type == "function_definition" else "method"
    draft = _begin(reader, kind, node, name, node.child_by_field_name("body"))
    if kind == "function":
        draft.visibility = "public"
    elif draft.name == "__construct":
        draft.kind = "constructor"
    draft.returns = reader.type_text(node.child_by_field_name("return_type"))
    parameters = node.child_by_field_name("parameters")
    for child in parameters.named_children if parameters is not None else ():
        variable = child.child_by_field_name("name")
        if variable is None:
            continue
        text = reader.text(variable).lstrip("$")
        declared = reader.type_text(child.child_by_field_name("type"))
        draft.params.append(("..." + text if child.type == "variadic_parameter" else text, declared))
        if child.type == "property_promotion_parameter":
            _promoted(reader, child, variable, declared)
    draft.arity = len(draft.params)
    if any(mark.strip("#[]\\ ") == "Override" for mark in draft.decorators):
        draft.modifiers += ("override",)
        shape.override(reader, draft)
    reader.add(draft)


def _promoted(reader: Reader, node: Node, variable: Node, declared: str) -> None:
    """A constructor parameter with a visibility declares a property of the class."""
    draft = Draft("field", reader.text(variable).lstrip("$"), node.start_byte, node.end_byte)
    draft.signature = reader.line(node.start_byte, node.end_byte)
    draft.returns = declared
    draft.visibility = reader.field_text(node, "visibility") or "public"
    draft.modifiers = ("readonly",) if node.child_by_field_name("readonly") is not None else ()
    draft.scopeless = True
    draft.lift = 1
    reader.add(draft)


def _property(reader: Reader, node: Node) -> None:
    for element in node.named_children:
        variable = element.child_by_field_name("name")
        if element.type != "property_element" or variable is None:
            continue
        draft = _begin(reader, "field", node, variable, None)
        draft.name = draft.name.lstrip("$")
        draft.name_start = variable.start_byte + 1
        draft.returns = reader.type_text(node.child_by_field_name("type"))
        reader.add(draft)


def _constants(reader: Reader, node: Node) -> None:
    for element in node.named_children:
        if element.type == "const_element" and element.named_child_count:
            reader.add(_begin(reader, "constant", node, element.named_children[0], None))


def _define(reader: Reader, node: Node) -> None:
    """`define('NAME', value)` declares a constant."""
    if reader.field_text(node, "function") != "define":
        return
    arguments = node.child_by_field_name("arguments")
    first = arguments.named_child(0) if arguments is not None and arguments.named_child_count else None
    value = first.named_child(0) if first is not None and first.named_child_count else None
    name = literal(reader.text(value).encode()) if value is not None and value.type == "string" else ""
    if name:
        draft = Draft("constant", name, node.start_byte, node.end_byte)
        draft.signature = reader.line(node.start_byte, node.end_byte)
        draft.visibility = "public"
        reader.add(draft)


def _bind(reader: Reader, name: Node, value: Node) -> None:
    if name.type not in ("variable_name", "member_access_expression"):
        return
    kind = value.type
    if kind == "object_creation_expression":
        made = value.named_child(0) if value.named_child_count else None
        if made is not None and made.type in ("name", "qualified_name"):
            reader.bind(name, reader.type_text(made), "call")
    elif kind in ("member_call_expression", "scoped_call_expression", "function_call_expression"):
        callee = value.child_by_field_name("name") or value.child_by_field_name("function")
        if callee is not None:
            text = reader.line(value.start_byte, callee.end_byte, 160)
            reader.bind(name, text.replace("$", ""), "call")
    elif kind in ("variable_name", "member_access_expression"):
        reader.bind(name, reader.type_text(value).replace("$", ""), "alias")


def _use(reader: Reader, node: Node) -> None:
    prefix = ""
    clauses = list(node.named_children)
    for child in node.named_children:
        if child.type == "namespace_name":
            prefix = reader.text(child) + "\\"
        elif child.type == "namespace_use_group":
            clauses = child.named_children
    for clause in clauses:
        if clause.type != "namespace_use_clause" or not clause.named_child_count:
            continue
        path = (prefix + reader.text(clause.named_children[0])).lstrip("\\")
        module, _, name = path.rpartition("\\")
        alias = reader.field_text(clause, "alias") or name
        reader.imports.append(ImportDraft(module, name, alias, clause.start_byte, "use"))
        target = clause.named_children[0]
        last = target if target.type == "name" else target.named_children[-1]
        reader.mark(last.start_byte, "import")


def _include(reader: Reader, node: Node) -> None:
    pending = list(node.named_children)
    while pending:
        part = pending.pop()
        if part.type in ("string", "encapsed_string"):
            path = literal(reader.text(part).encode())
            if path:
                reader.imports.append(ImportDraft(path, "", "", node.start_byte, "include"))
            return
        pending += part.named_children


PHP = Grammar(
    language="php",
    bundle="php",
    query=QUERY,
    declare=declare,
    literal=literal,
    noise=frozenset({b"this"}),
    self_name="this",
)
