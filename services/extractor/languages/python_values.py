"""What Python assignments write to, and what they tell of types."""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages.nodes import first
from services.extractor.reader import Reader


def mark_name(reader: Reader, node: Node, kind: str) -> None:
    """Mark the last name of `a.b`, `a.b(...)` or `a.b[...]`."""
    if node.type in ("call", "subscript", "generic_type"):
        node = first(node) or node
    if node.type == "attribute":
        inner = node.child_by_field_name("attribute")
        node = node if inner is None else inner
    if node.type == "identifier":
        reader.mark(node.start_byte, kind)


def assigned(reader: Reader, left: Node | None) -> None:
    """Note what an assignment's left side writes to."""
    if left is None:
        return
    if left.type == "identifier":
        reader.targets.append(left.start_byte)
    elif left.type == "attribute":
        name = left.child_by_field_name("attribute")
        if name is not None:
            reader.mark(name.start_byte, "write")
    elif left.type in ("pattern_list", "tuple_pattern", "list_pattern", "expression_list"):
        for child in left.named_children:
            if child.type == "attribute":
                assigned(reader, child)


def assignment(reader: Reader, node: Node) -> None:
    left = node.child_by_field_name("left")
    assigned(reader, left)
    if left is None or left.type not in ("identifier", "attribute"):
        return
    declared = node.child_by_field_name("type")
    if declared is not None:
        reader.bind(left, reader.type_text(declared), "annotation")
        return
    right = node.child_by_field_name("right")
    if right is not None:
        _bind_value(reader, left, right)


def _bind_value(reader: Reader, name: Node, value: Node) -> None:
    kind = value.type
    if kind == "await":
        value = first(value) or value
        kind = value.type
    if kind == "call":
        callee = value.child_by_field_name("function")
        if callee is not None and callee.type in ("identifier", "attribute"):
            reader.bind(name, reader.type_text(callee), "call")
    elif kind in ("identifier", "attribute"):
        reader.bind(name, reader.type_text(value), "alias")


def as_pattern(reader: Reader, node: Node) -> None:
    target = node.child_by_field_name("alias")
    name = first(target)
    if name is None:
        return
    names = name.named_children if name.type in ("tuple", "list") else [name]
    reader.locals += [part.start_byte for part in names if part.type == "identifier"]
    value = first(node)
    if name.type == "identifier" and value is not None and value.type == "call":
        _bind_value(reader, name, value)
