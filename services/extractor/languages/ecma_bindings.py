"""Types that JavaScript and TypeScript tell of variables and fields."""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages.ecma_imports import required_module
from services.extractor.languages.ecma_members import annotation
from services.extractor.languages.ecma_values import essential, told_of
from services.extractor.languages.nodes import first
from services.extractor.reader import Reader


def read_bindings(reader: Reader) -> None:
    for statement in reader.nodes("declaration"):
        for node in statement.named_children:
            name = node.child_by_field_name("name")
            value = node.child_by_field_name("value")
            required = value is not None and required_module(reader, value) is not None
            if name is not None and name.type == "object_pattern" and not required:
                _taken_apart(reader, name, value)
            if name is None or name.type != "identifier":
                continue
            if required:
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


def _taken_apart(reader: Reader, pattern: Node, value: Node | None) -> None:
    """Bind the names of `const { a, b: c } = x` to the members of x."""
    told = told_of(reader, value)
    if told is None or not told[0] or told[1] not in ("alias", "call"):
        return
    held = f"{told[0]}()" if told[1] == "call" else told[0]
    for child in pattern.named_children:
        key = name = child
        if child.type == "object_assignment_pattern":
            key = name = child.child_by_field_name("left") or child
        elif child.type == "pair_pattern":
            key = child.child_by_field_name("key") or child
            name = child.child_by_field_name("value") or child
        if name.type in ("identifier", "shorthand_property_identifier_pattern"):
            reader.bind(name, f"{held}.{reader.text(key)}", "alias")


def bind_target(reader: Reader, left: Node, value: Node) -> None:
    """Bind the left side of an assignment when it is a name or a field of `this`."""
    if left.type in ("identifier", "member_expression"):
        _bind(reader, left, value)


def _bind(reader: Reader, name: Node, value: Node | None) -> None:
    value = essential(reader, value)
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
