"""Variables of C and C++: their names and what tells their types."""

from __future__ import annotations

from services.extractor.languages import shape
from services.extractor.reader import Reader
from tree_sitter import Node

_NAME_TOKENS = frozenset({"identifier", "field_identifier", "type_identifier"})
_CALLEES = frozenset({"identifier", "field_expression", "qualified_identifier"})


def declarator_name(declarator: Node) -> Node | None:
    """Return the name token a declarator declares, below pointers, arrays and initialisers."""
    node: Node | None = declarator
    for _ in range(20):
        if node is None or node.type in _NAME_TOKENS:
            return node
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next(
                (c for c in node.named_children if c.type.endswith(("declarator", "identifier"))),
                None,
            )
        node = inner
    return None


def bind_declarations(reader: Reader) -> None:
    for node in reader.nodes("construct"):
        reader.mark(node.start_byte, "new")
    for node in reader.nodes("declaration"):
        shaped = node.child_by_field_name("type")
        if shaped is None:
            continue
        inferred = shaped.type == "placeholder_type_specifier"
        declared = "" if inferred else _type_name(reader, shaped)
        for declarator in node.children_by_field_name("declarator"):
            if declarator.type == "function_declarator":
                continue
            name = declarator_name(declarator)
            if name is None:
                continue
            if declared:
                reader.bind(name, declared, "annotation")
            else:
                _bind_value(reader, name, declarator.child_by_field_name("value"))


def _type_name(reader: Reader, shaped: Node) -> str:
    named = shaped.child_by_field_name("name")
    if shaped.type.endswith("_specifier") and named is not None:
        return reader.type_text(named)
    return reader.type_text(shaped)


def _bind_value(reader: Reader, name: Node, value: Node | None) -> None:
    if value is None:
        return
    if value.type == "new_expression":
        text = reader.type_text(value.child_by_field_name("type"))
        reader.bind(name, shape.without_arguments(text), "call")
    elif value.type == "call_expression":
        function = value.child_by_field_name("function")
        if function is not None:
            text = reader.type_text(function)
            if function.type in _CALLEES or function.type == "template_function":
                reader.bind(name, text, "call")
    elif value.type in _CALLEES:
        reader.bind(name, reader.type_text(value), "alias")
