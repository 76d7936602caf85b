"""What do Java's declarations, loops, patterns and assignments tell of its variables?"""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages import shape
from services.extractor.languages.lambdas import read_lambdas
from services.extractor.languages.nodes import parts
from services.extractor.languages.selections import expression, told_by
from services.extractor.reader import Reader

_FOLLOWED = frozenset({"identifier", "field_access", "method_invocation"})


def _locals(reader: Reader, node: Node) -> None:
    declared = node.child_by_field_name("type")
    for declarator in node.children_by_field_name("declarator"):
        name = declarator.child_by_field_name("name")
        if name is not None:
            reader.locals.append(name.start_byte)
        _bind(reader, declarator, declared)


def read_variables(reader: Reader) -> None:
    for node in reader.nodes("variable"):
        _locals(reader, node)
    for node in reader.nodes("each"):
        _each(reader, node)
    for node in reader.nodes("resource"):
        _bind(reader, node, node.child_by_field_name("type"))
    for node in reader.nodes("tested"):
        _tested(reader, node)
    for node in reader.nodes("deconstructed"):
        _deconstructed(reader, node)
    read_lambdas(reader)
    for node in reader.nodes("assignment"):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if reader.field_text(node, "operator") != "=":
            continue
        if left is not None and right is not None and left.type in ("identifier", "field_access"):
            _bind_value(reader, left, right)


def _tested(reader: Reader, node: Node) -> None:
    """Bind the variable of a pattern, `x instanceof T name` or `case T name`."""
    declared, name = node.child_by_field_name("right"), node.child_by_field_name("name")
    if node.type in ("type_pattern", "record_pattern_component"):
        declared, name = node.named_children[0], node.named_children[-1]
    elif node.type == "catch_formal_parameter":
        declared = next(iter(parts(node, "catch_type")), None)
    if name is not None and (text := reader.type_text(declared)) and text != "var":
        reader.bind(name, text, "annotation")


def _deconstructed(reader: Reader, node: Node) -> None:
    """Read `case Box(T name)`, which the grammar takes for a call with errors in its arguments."""
    name, arguments = node.child_by_field_name("name"), node.child_by_field_name("arguments")
    if name is None or arguments is None:
        return
    reader.mark(name.start_byte, "type")
    declared: Node | None = None
    for child in arguments.named_children:
        if child.type == "ERROR":
            declared = child
        elif child.type == "identifier" and declared is not None:
            reader.locals.append(child.start_byte)
            if (text := reader.type_text(declared)) != "var":
                reader.bind(child, text, "annotation")
            declared = None


def _each(reader: Reader, node: Node) -> None:
    """Bind the variable of `for (T x : xs)`."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    declared = reader.field_text(node, "type")
    if name is not None and declared and declared != "var":
        reader.bind(name, declared, "annotation")
    elif name is not None and value is not None and value.type in _FOLLOWED:
        text = expression(reader.data[value.start_byte : value.end_byte])
        reader.bind(name, text, "element")


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
        if "<" in text:  # with `<>` it is of some type that only its arguments tell
            reader.bind(name, text.replace("<>", "<?>"), "annotation")
        else:
            reader.bind(name, shape.without_arguments(text), "call")
    elif kind == "method_invocation":
        callee = value.child_by_field_name("name")
        whole = told_by(reader.data[value.start_byte : value.end_byte])
        if whole:
            reader.bind(name, whole, "alias")
        elif callee is not None:
            text = expression(reader.data[value.start_byte : callee.end_byte])
            reader.bind(name, text, "call")
    elif kind in ("identifier", "field_access"):
        reader.bind(name, reader.type_text(value), "alias")
    elif kind == "cast_expression":
        reader.bind(name, reader.type_text(value.child_by_field_name("type")), "annotation")
