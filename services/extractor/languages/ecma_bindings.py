"""Types that JavaScript and TypeScript tell of variables and fields."""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages.ecma_imports import required_module
from services.extractor.languages.ecma_members import annotation
from services.extractor.languages.nodes import first
from services.extractor.reader import Reader


def read_bindings(reader: Reader) -> None:
    for statement in reader.nodes("declaration"):
        for node in statement.named_children:
            name = node.child_by_field_name("name")
            if name is None or name.type != "identifier":
                continue
            value = node.child_by_field_name("value")
            if value is not None and required_module(reader, value) is not None:
                continue
            declared = annotation(reader, node.child_by_field_name("type"))
            if declared:
                reader.bind(name, declared, "annotation")
            else:
                _bind(reader, name, value)
    for node in reader.nodes("typed_parameter"):
        pattern = node.child_by_field_name("pattern")
        if pattern is not None and node.start_byte not in reader.typed_parameters:
            reader.bind(pattern, annotation(reader, node.child_by_field_name("type")), "parameter")


def bind_target(reader: Reader, left: Node, value: Node) -> None:
    """Bind the left side of an assignment when it is a name or a field of `this`."""
    if left.type in ("identifier", "member_expression"):
        _bind(reader, left, value)


def _bind(reader: Reader, name: Node, value: Node | None) -> None:
    while value is not None and value.type in ("await_expression", "non_null_expression"):
        value = first(value)
    if value is None:
        return
    kind = value.type
    if kind == "new_expression":
        reader.bind(name, reader.type_text(value.child_by_field_name("constructor")), "call")
    elif kind == "call_expression":
        function = value.child_by_field_name("function")
        if function is not None and function.type == "await_expression":
            function = first(function)  # how `await get<T>(...)` is parsed
        if function is not None and function.type in ("identifier", "member_expression"):
            reader.bind(name, reader.type_text(function), "call")
    elif kind in ("identifier", "member_expression", "subscript_expression"):
        reader.bind(name, reader.type_text(value), "alias")
    elif kind == "as_expression":
        declared = value.named_children[1:]
        reader.bind(name, reader.type_text(declared[-1] if declared else None), "annotation")
