"""Types that JavaScript and TypeScript tell of variables and fields."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.languages.ecma_imports import required_module
from services.extractor.languages.ecma_members import annotation
from services.extractor.languages.ecma_values import essential, made_by, told_of
from services.extractor.languages.nodes import first
from services.extractor.reader import Reader

_COMPONENT = re.compile(r"(?:React\.)?(?:FC|VFC|SFC|FunctionComponent)<([\w.]+(?:<[^{}]*>)?)>")


def read_bindings(reader: Reader) -> None:
    for statement in reader.nodes("declaration"):
        for node in statement.named_children:
            name = node.child_by_field_name("name")
            value = node.child_by_field_name("value")
            required = value is not None and required_module(reader, value) is not None
            if name is not None and name.type == "object_pattern" and not required:
                _taken_apart(reader, name, value)
            elif name is not None and name.type == "array_pattern":
                _taken_in_turn(reader, name, value)
            if name is None or name.type != "identifier":
                continue
            if required:
                continue
            declared = annotation(reader, node.child_by_field_name("type"))
            if declared:
                reader.bind(name, declared, "annotation")
                _component(reader, declared, value)
            else:
                _bind(reader, name, value)
    for node in reader.nodes("typed_parameter"):
        pattern = node.child_by_field_name("pattern")
        if pattern is not None and node.start_byte not in reader.typed_parameters:
            reader.bind(pattern, annotation(reader, node.child_by_field_name("type")), "parameter")
    for node in reader.nodes("taken_parameter"):
        _parameter_apart(reader, node)


def _taken_apart(reader: Reader, pattern: Node, value: Node | None) -> None:
    """Bind the names of `const { a, b: c } = x` to the members of x."""
    told = told_of(reader, value)
    if told is None or not told[0] or told[1] not in ("alias", "call"):
        return
    held = f"{told[0]}()" if told[1] == "call" else told[0]
    for key, name in _taken(pattern):
        reader.bind(name, f"{held}.{reader.text(key)}", "alias")


def _taken(pattern: Node) -> list[tuple[Node, Node]]:
    """Return the members that `{ a, b: c, d = 1 }` takes, and the names they get."""
    found = []
    for child in pattern.named_children:
        key = name = child
        if child.type == "object_assignment_pattern":
            key = name = child.child_by_field_name("left") or child
        elif child.type == "pair_pattern":
            key = child.child_by_field_name("key") or child
            name = child.child_by_field_name("value") or child
            if name.type == "assignment_pattern":
                name = name.child_by_field_name("left") or name
        if name.type in ("identifier", "shorthand_property_identifier_pattern"):
            found.append((key, name))
    return found


def _taken_in_turn(reader: Reader, pattern: Node, value: Node | None) -> None:
    """Bind the names of `const [a, ...b] = list` to its elements and to the list."""
    told = told_of(reader, value)
    if told is None or not told[0] or told[1] != "alias":
        return
    for number, child in enumerate(pattern.named_children):
        if child.type == "identifier":
            reader.bind(child, f"{told[0]}[{number}]", "alias")
        elif child.type == "rest_pattern" and (rest := first(child)) is not None:
            reader.bind(rest, *told)


def _component(reader: Reader, declared: str, value: Node | None) -> None:
    """Bind what a component of React takes: `const A: FC<T> = ({ a }) => ...`."""
    component = _COMPONENT.fullmatch(declared)
    parameters = value.child_by_field_name("parameters") if value is not None else None
    parameter = first(parameters)
    if component is None or parameter is None or parameter.child_by_field_name("type") is not None:
        return
    pattern = parameter.child_by_field_name("pattern") or parameter
    if pattern.type == "object_pattern":
        for key, name in _taken(pattern):
            reader.bind(name, f'{component[1]}["{reader.text(key)}"]', "annotation")
    elif pattern.type == "identifier":
        reader.bind(pattern, component[1], "annotation")


def _parameter_apart(reader: Reader, node: Node) -> None:
    """Bind the names of `({ a, b: c }: T)` to what members T has."""
    pattern, annotated = node.child_by_field_name("pattern"), node.child_by_field_name("type")
    written = first(annotated)
    if pattern is None or written is None:
        return
    told = annotation(reader, annotated)
    whole = f"({told})" if "&" in told or "|" in told else told
    for key, name in _taken(pattern):
        member = f'{whole}["{reader.text(key)}"]'
        if written.type == "object_type":
            member = _member_of(reader, written, reader.text(key))
        if member:
            reader.bind(name, member, "annotation")


def _member_of(reader: Reader, written: Node, name: str) -> str:
    """Return the type that an object type gives a member."""
    for member in written.named_children:
        if member.type == "property_signature" and reader.field_text(member, "name") == name:
            return annotation(reader, member.child_by_field_name("type"))
    return ""


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
        reader.bind(name, *made_by(reader, value))
    elif kind == "call_expression":
        function = value.child_by_field_name("function")
        if function is not None and function.type == "await_expression":
            function = first(function)  # how `await get<T>(...)` is parsed
        if function is not None and function.type in ("identifier", "member_expression"):
            reader.bind(name, reader.type_text(function), "call")
    elif kind in ("identifier", "member_expression", "subscript_expression", "this"):
        reader.bind(name, reader.type_text(value), "alias")
    elif kind == "as_expression":
        declared = value.named_children[1:]
        reader.bind(name, reader.type_text(declared[-1] if declared else None), "annotation")
