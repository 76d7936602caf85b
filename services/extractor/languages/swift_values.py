"""Swift: parameters, and the types that values tell."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from services.extractor.languages.nodes import first, parts
from services.extractor.reader import Reader

_COMPUTED = re.compile(rb"\\#*\(")
_AROUND = frozenset({"try_expression", "await_expression", "parenthesized_expression"})


def literal(raw: bytes) -> str | None:
    """Return the value of a string; None when it has parts to compute."""
    text = raw.strip(b"#")
    text = text[3:-3] if text.startswith(b'"""') else text[1:-1]
    return None if _COMPUTED.search(text) else text.decode(errors="replace")


def parameter(reader: Reader, node: Node) -> tuple[str, str]:
    names = node.children_by_field_name("name")
    declared = reader.type_text(names[-1]) if len(names) > 1 else ""
    return (reader.text(names[0]) if names else "", declared)


def declared(node: Node) -> Iterator[tuple[Node, Node | None, Node | None]]:
    """Yield name, type and value of everything that `let a: A = x, b = y` declares."""
    children = node.children
    for number, child in enumerate(children):
        if child.type != "pattern":
            continue
        names = [child.child_by_field_name("bound_identifier")]
        declared_type: Node | None = None
        value: Node | None = None
        for beside in range(number + 1, len(children)):
            following = children[beside]
            if following.type == "type_annotation":
                declared_type = following.child_by_field_name("name")
            elif following.type == "=" and beside + 1 < len(children):
                value = children[beside + 1]
            elif following.type in (",", "pattern"):
                break
        for name in names:
            if name is not None:
                yield name, declared_type, value


def bind_local(reader: Reader, node: Node) -> None:
    for name, declared_type, value in declared(node):
        if declared_type is not None:
            reader.bind(name, reader.type_text(declared_type), "annotation")
        else:
            bind_value(reader, name, value)


def bind_value(reader: Reader, name: Node, value: Node | None) -> None:
    while value is not None and value.type in _AROUND:
        value = value.child_by_field_name("expr") or first(value)
    if value is None:
        return
    kind = value.type
    if kind == "call_expression":
        callee = first(value)
        if callee is not None and callee.type in ("simple_identifier", "navigation_expression"):
            reader.bind(name, reader.type_text(callee), "call")
    elif kind == "constructor_expression":
        constructed = value.child_by_field_name("constructed_type")
        reader.bind(name, reader.type_text(constructed).partition("<")[0], "call")
    elif kind in ("simple_identifier", "navigation_expression"):
        reader.bind(name, reader.type_text(value), "alias")
    elif kind == "as_expression":
        reader.bind(name, reader.type_text(value.child_by_field_name("name")), "annotation")


def note_uses(reader: Reader) -> None:
    """Tell what the query cannot: names that patterns bind, and qualified types."""
    data = reader.data
    reader.captures["args.direct"] = [  # what `a[1]` has in brackets is parsed like arguments
        node for node in reader.nodes("args.direct") if data.startswith(b"(", node.start_byte)
    ]
    for start in reader.starts("binder"):
        if data[start - 1 : start] != b".":
            reader.locals.append(start)
    for node in reader.nodes("lambda_parameter"):
        names = node.children_by_field_name("name")
        if len(names) > 1:
            reader.bind(names[0], reader.type_text(names[-1]), "parameter")
    for node in reader.nodes("condition"):
        _bind_condition(reader, node)
    for node in reader.nodes("qualified_type"):
        names = parts(node, "type_identifier")
        reader.receiver_spans[names[-1].start_byte] = (names[0].start_byte, names[-2].end_byte)
        reader.captures.setdefault("skip", []).extend(names[:-1])


def _bind_condition(reader: Reader, node: Node) -> None:
    """Bind what `if let name = value` unwraps."""
    children = node.children
    bound = {name.start_byte for name in node.children_by_field_name("bound_identifier")}
    for number, child in enumerate(children[:-2]):
        if child.start_byte in bound and children[number + 1].type == "=":
            bind_value(reader, child, children[number + 2])
