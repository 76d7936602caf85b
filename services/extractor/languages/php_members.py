"""PHP declarations: namespaces, classes and their members, functions, constants."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.languages import shape
from services.extractor.languages.nodes import first
from services.extractor.reader import Draft, Reader

_CLASS_KINDS = {
    "class_declaration": "class", "interface_declaration": "interface",
    "trait_declaration": "trait", "enum_declaration": "enum", "anonymous_class": "class",
}  # fmt: skip
CLASS_NAMES = frozenset({"name", "qualified_name", "relative_name"})
_DOC_TYPE = r"[ \t]+(\??\\?[$A-Za-z_][\w\\]*(?:\[\]|<[^>\n]*>)?(?:\|[\w\\]+(?:\[\]|<[^>\n]*>)?)*)"
DOC_VAR = re.compile("@var" + _DOC_TYPE)
DOC_VAR_NAMED = re.compile("@var" + _DOC_TYPE + r"[ \t]+\$(\w+)")
# Declared types of which a comment may tell more.
_LOOSE = frozenset({
    "", "array", "iterable", "mixed", "object", "?array", "?iterable", "?object", "Generator",
    "\\Generator", "Iterator", "\\Iterator", "Traversable", "\\Traversable", "IteratorAggregate",
})  # fmt: skip
_DOC_RETURN = re.compile("@return" + _DOC_TYPE)
_DOC_PARAM = re.compile("@param" + _DOC_TYPE + r"[ \t]+(?:&|\.\.\.)?\$(\w+)")


def namespaces(reader: Reader) -> None:
    nodes = reader.nodes("namespace")
    open_ended = [node for node in nodes if node.child_by_field_name("body") is None]
    if len(nodes) == 1 and open_ended:
        reader.module = reader.field_text(nodes[0], "name").replace("\\", ".")
        _globals(reader, reader.root)
        return
    if not nodes:
        _globals(reader, reader.root)
        return
    ends = [node.start_byte for node in nodes[1:]] + [reader.root.end_byte]
    for node, end in zip(nodes, ends, strict=True):
        body = node.child_by_field_name("body")
        name = reader.field_text(node, "name").replace("\\", ".")
        if body is not None:
            _globals(reader, body)
            end = node.end_byte
        if name:
            draft = Draft("namespace", name, node.start_byte, end)
            draft.signature = reader.line(
                node.start_byte, node.end_byte if body is None else body.start_byte
            ).rstrip("; ")
            reader.add(draft)


def _globals(reader: Reader, body: Node) -> None:
    """Declare what the statements of a file or namespace assign or `define`."""
    for statement in body.named_children:
        if statement.type != "expression_statement":
            continue
        node = first(statement)
        if node is None:
            continue
        if node.type == "assignment_expression":
            left = node.child_by_field_name("left")
            if left is not None and left.type == "variable_name":
                draft = Draft("variable", reader.text(left)[1:], node.start_byte, node.end_byte)
                _finish_value(reader, draft, statement)
        elif node.type == "function_call_expression":
            _defined(reader, node, statement)


def _defined(reader: Reader, call: Node, statement: Node) -> None:
    if reader.field_text(call, "function").lower() != "define":
        return
    arguments = call.child_by_field_name("arguments")
    value = first(first(arguments))
    if value is None or value.type not in ("string", "encapsed_string"):
        return
    name = reader.text(value)[1:-1]
    if name.isidentifier():
        draft = Draft("constant", name, call.start_byte, call.end_byte)
        _finish_value(reader, draft, statement)


def _finish_value(reader: Reader, draft: Draft, statement: Node) -> None:
    draft.visibility = "public"
    draft.signature = reader.line(draft.start, draft.end)
    draft.doc = reader.doc_before(statement.start_byte)
    reader.add(draft)


def _head(reader: Reader, draft: Draft, node: Node) -> None:
    """Read what all declarations have: attributes, modifiers, doc comment, one-line signature."""
    start, end = node.start_byte, node.end_byte
    head = start
    modifiers = []
    for child in node.children:
        kind = child.type
        if kind == "attribute_list":
            _attributes(reader, draft, child)
            head = child.end_byte
        elif kind == "visibility_modifier":
            draft.visibility = reader.text(child).lower()
        elif kind.endswith("_modifier"):
            if kind not in ("var_modifier", "reference_modifier"):
                modifiers.append(kind.removesuffix("_modifier"))
        elif kind in ("compound_statement", "declaration_list", "enum_declaration_list"):
            end = child.start_byte
            break
    draft.modifiers = tuple(modifiers)
    draft.visibility = draft.visibility or "public"
    draft.signature = reader.line(head, end).rstrip("; ")
    draft.doc = reader.doc_before(start)


def _attributes(reader: Reader, draft: Draft, attributes: Node) -> None:
    marks = []
    for group in attributes.named_children:
        marks += [
            f"#[{reader.line(child.start_byte, child.end_byte)}]"
            for child in group.named_children
            if child.type == "attribute"
        ]
    draft.decorators = tuple(marks)


def class_like(reader: Reader, node: Node) -> None:
    anonymous = node.type == "anonymous_class"
    name = node.child_by_field_name("name")
    if name is None and not anonymous:
        return
    draft = Draft(
        _CLASS_KINDS[node.type],
        reader.text(name) if name is not None else "class@anonymous",
        node.start_byte,
        node.end_byte,
    )
    if name is not None:
        draft.name_start = name.start_byte
    _head(reader, draft, node)
    for child in node.named_children:
        if child.type in ("base_clause", "class_interface_clause"):
            draft.bases += _class_names(reader, child)
        elif child.type == "declaration_list" or child.type == "enum_declaration_list":
            for member in child.named_children:
                if member.type == "use_declaration":
                    draft.bases += _class_names(reader, member)
    reader.add(draft)


def _class_names(reader: Reader, node: Node) -> list[str]:
    return [reader.text(child) for child in node.named_children if child.type in CLASS_NAMES]


def function(reader: Reader, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None or name.end_byte == name.start_byte:
        return
    draft = Draft("function", reader.text(name), node.start_byte, node.end_byte)
    draft.name_start = name.start_byte
    _head(reader, draft, node)
    draft.returns = reader.type_text(node.child_by_field_name("return_type"))
    documented = {}
    if "@" in draft.doc:
        documented = {name: declared for declared, name in _DOC_PARAM.findall(draft.doc)}
        if draft.returns in _LOOSE and (found := _DOC_RETURN.search(draft.doc)):
            draft.returns = found[1]
    draft.arity = 0
    parameters = node.child_by_field_name("parameters")
    for parameter in parameters.named_children if parameters is not None else ():
        if parameter.type.endswith("_parameter"):
            _parameter(reader, draft, parameter, documented)
    draft.arity = len(draft.params)
    if any(mark.strip("#[]\\") == "Override" for mark in draft.decorators):
        draft.modifiers += ("override",)
        shape.override(reader, draft)
    reader.add(draft)


def _parameter(reader: Reader, draft: Draft, parameter: Node, documented: dict[str, str]) -> None:
    name = parameter.child_by_field_name("name")
    if name is None:
        return
    variable = name if name.type == "variable_name" else first(name)
    if variable is None:
        return
    plain = reader.text(variable)[1:]
    declared = reader.type_text(parameter.child_by_field_name("type"))
    mark = ""
    if parameter.child_by_field_name("reference_modifier") is not None or name.type == "by_ref":
        mark = "&"
    if parameter.type == "variadic_parameter":
        mark += "..."
    if declared in _LOOSE:
        declared = documented.get(plain, declared)
    draft.params.append((mark + plain, declared))
    if parameter.type == "property_promotion_parameter":
        _promoted(reader, parameter, plain, declared)


def _promoted(reader: Reader, parameter: Node, name: str, declared: str) -> None:
    draft = Draft("field", name, parameter.start_byte, parameter.end_byte)
    draft.lift = 1
    draft.scopeless = True
    _head(reader, draft, parameter)
    draft.returns = declared
    reader.add(draft)


def properties(reader: Reader, node: Node) -> None:
    declared = reader.type_text(node.child_by_field_name("type"))
    elements = [child for child in node.named_children if child.type == "property_element"]
    hooked = any(child.type == "property_hook_list" for child in node.named_children)
    for element in elements:
        name = reader.field_text(element, "name")[1:]
        alone = len(elements) == 1
        span = node if alone else element
        draft = Draft("property" if hooked else "field", name, span.start_byte, span.end_byte)
        _head(reader, draft, node)
        if hooked:
            draft.signature = draft.signature.partition(" {")[0]
        draft.returns = declared
        if declared in _LOOSE and (found := DOC_VAR.search(draft.doc)):
            draft.returns = found[1]
        reader.add(draft)


def constants(reader: Reader, node: Node) -> None:
    elements = [child for child in node.named_children if child.type == "const_element"]
    for element in elements:
        name = first(element)
        if name is None:
            continue
        span = node if len(elements) == 1 else element
        draft = Draft("constant", reader.text(name), span.start_byte, span.end_byte)
        draft.name_start = name.start_byte
        _head(reader, draft, node)
        draft.returns = reader.type_text(node.child_by_field_name("type"))
        reader.add(draft)


def case(reader: Reader, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    draft = Draft("constant", reader.text(name), node.start_byte, node.end_byte)
    draft.name_start = name.start_byte
    _head(reader, draft, node)
    reader.add(draft)
