"""What do the arguments of a Java call tell of their types? Overloads are told apart by them."""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages.nodes import first
from services.extractor.languages.shape import without_arguments
from services.extractor.reader import Reader, short_expression

_MOST = 12  # arguments
_LITERALS = {
    "string_literal": ":String", "character_literal": ":char", "true": ":boolean",
    "false": ":boolean", "null_literal": ":null", "class_literal": ":Class",
    "lambda_expression": ":->", "method_reference": ":->", "instanceof_expression": ":boolean",
}  # fmt: skip
_INTEGERS = frozenset({
    "decimal_integer_literal", "hex_integer_literal", "octal_integer_literal",
    "binary_integer_literal",
})  # fmt: skip
_REALS = frozenset({"decimal_floating_point_literal", "hex_floating_point_literal"})
_NAMES = frozenset({"identifier", "field_access", "method_invocation", "this"})
_LOGIC = frozenset({"==", "!=", "<", ">", "<=", ">=", "&&", "||"})


def read_arguments(reader: Reader) -> None:
    for node in reader.unordered("args.direct"):
        call = node.parent
        if call is None or node.named_child_count == 0 or call.type != "method_invocation":
            continue
        name = call.child_by_field_name("name")
        if name is None:
            continue
        given = [child for child in node.named_children if not child.type.endswith("comment")]
        if given and len(given) <= _MOST:
            reader.arguments[name.start_byte] = "\n".join([_told(reader, one) for one in given])


def _told(reader: Reader, node: Node | None) -> str:  # noqa: PLR0911 - one line a kind of node
    while node is not None and node.type == "parenthesized_expression":
        node = first(node)
    if node is None:
        return ""
    kind = node.type
    if kind in _LITERALS:
        return _LITERALS[kind]
    if kind in _INTEGERS:
        return ":long" if reader.text(node)[-1] in "lL" else ":int"
    if kind in _REALS:
        return ":float" if reader.text(node)[-1] in "fF" else ":double"
    if kind in _NAMES:
        text = reader.type_text(node)
        return short_expression(text.encode()) if "(" in text or "\n" in text else text
    if kind in ("cast_expression", "object_creation_expression"):
        return ":" + without_arguments(reader.type_text(node.child_by_field_name("type")))
    if kind == "array_creation_expression":
        sizes = sum(child.type == "dimensions_expr" for child in node.named_children)
        dimensions = reader.field_text(node, "dimensions").count("[")
        return f":{reader.field_text(node, 'type')}{'[]' * (sizes + dimensions or 1)}"
    if kind == "array_access":
        held = _told(reader, node.child_by_field_name("array"))
        return f"{held}[]" if held and held[0] != ":" else ""
    return _operated(reader, node, kind)


def _operated(reader: Reader, node: Node, kind: str) -> str:
    if kind == "assignment_expression":
        return _told(reader, node.child_by_field_name("left"))
    if kind == "unary_expression":
        sign = reader.field_text(node, "operator")
        return ":boolean" if sign == "!" else _told(reader, node.child_by_field_name("operand"))
    if kind == "ternary_expression":
        told = _told(reader, node.child_by_field_name("consequence"))
        if told in ("", ":null"):
            told = _told(reader, node.child_by_field_name("alternative"))
        return told
    if kind == "binary_expression":
        if reader.field_text(node, "operator") in _LOGIC:
            return ":boolean"
        sides = {_told(reader, node.child_by_field_name(side)) for side in ("left", "right")}
        if ":String" in sides:
            return ":String"
        return next(iter(sides)) if len(sides) == 1 else ""
    return ""
