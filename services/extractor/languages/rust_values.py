"""Rust: the types that `let`, closures and struct literals tell."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.languages import shape
from services.extractor.languages.nodes import first, parts
from services.extractor.reader import KIND_CODES, Reader, short_expression

_WRITE = KIND_CODES["write"]
_TRANSPARENT = frozenset({"await_expression", "reference_expression", "parenthesized_expression"})
_POINTERS = frozenset({"Box", "Rc", "Arc", "RefCell", "Cell", "Mutex", "RwLock"})
_TURBOFISH = re.compile(r"::<[^<>()]*(?:<[^<>()]*(?:<[^<>()]*>[^<>()]*)*>[^<>()]*)*>(?=\()")
PLACES = frozenset({"identifier", "field_expression", "self", "index_expression"})
_AROUND_TYPE = frozenset({"bracketed_type", "qualified_type", "generic_type", "dynamic_type"})


def declare(reader: Reader) -> None:
    for node in reader.nodes("let"):
        _let(reader, node)
    for node in reader.nodes("closure_parameter"):
        pattern, declared = node.child_by_field_name("pattern"), node.child_by_field_name("type")
        if pattern is not None and pattern.type == "identifier":
            reader.bind(pattern, reader.type_text(declared), "parameter")
    for node in reader.nodes("fields_of"):
        _fields(reader, node)
    for node in reader.nodes("of_type"):
        _associated(reader, node)


def _let(reader: Reader, node: Node) -> None:
    name, value = node.child_by_field_name("pattern"), node.child_by_field_name("value")
    if name is None or name.type != "identifier":
        return
    declared = node.child_by_field_name("type")
    if declared is not None:
        reader.bind(name, reader.type_text(declared), "annotation")
    elif value is not None:
        _bind_value(reader, name, value)


def _bind_value(reader: Reader, name: Node, value: Node) -> None:
    while value.type in _TRANSPARENT:
        inner = value.child_by_field_name("value") or first(value)
        if inner is None:
            return
        value = inner
    kind = value.type
    if kind == "call_expression":
        _bind_call(reader, name, value)
    elif kind == "struct_expression":
        text = reader.type_text(value.child_by_field_name("name"))
        reader.bind(name, _plain(text), "annotation")
    elif kind == "type_cast_expression":
        reader.bind(name, reader.type_text(value.child_by_field_name("type")), "annotation")
    elif kind in PLACES or kind in ("scoped_identifier", "try_expression"):
        reader.bind(name, told_by(reader, value), "alias")


def _bind_call(reader: Reader, name: Node, value: Node) -> None:
    function = value.child_by_field_name("function")
    if function is not None and function.type == "generic_function":
        function = function.child_by_field_name("function")
    if function is None:
        return
    text = reader.type_text(function)
    held = first(value.child_by_field_name("arguments"))
    path, _, last = text.rpartition("::")
    pointer = last == "new" and path.rpartition("::")[2] in _POINTERS
    if pointer and held is not None:  # it is used like what it holds
        _bind_value(reader, name, held)
    elif text.startswith("<"):
        subject, member = _subject(function), reader.field_text(function, "name")
        if subject is not None:
            reader.bind(name, f"{reader.text(subject)}::{member}", "call")
    elif function.type != "parenthesized_expression":
        reader.bind(name, _plain(told_by(reader, function)), "call")


def told_by(reader: Reader, value: Node) -> str:
    """Return an expression as bindings have it: without types of calls, and with what `?` gives."""
    raw = reader.data[value.start_byte : value.end_byte]
    text = short_expression(raw) if b"(" in raw else reader.type_text(value)
    if "?" in text or ".await" in text:
        text = text.replace(".await", "").replace("?", ".unwrap()")
    return _TURBOFISH.sub("", text) if "<" in text else text


def _plain(type_text: str) -> str:
    """Leave generic arguments out of `Vec::<u8>::new`."""
    head, separator, rest = type_text.partition("::<")
    if not separator:
        return shape.without_arguments(type_text) if type_text.endswith(">") else type_text
    return head + rest.rpartition(">")[2]


def _fields(reader: Reader, node: Node) -> None:
    """Tell whose fields a struct literal sets, or a pattern reads."""
    named = node.child_by_field_name("name") or node.child_by_field_name("type")
    if named is None:
        return
    span = (named.child_by_field_name("type") or named).byte_range
    if node.type == "struct_pattern":
        for field in parts(node, "field_pattern"):
            name = field.child_by_field_name("name")
            if name is not None and name.type == "field_identifier":
                reader.receiver_spans[name.start_byte] = span
        return
    for field in parts(node.child_by_field_name("body")):
        name = first(field) if field.type == "shorthand_field_initializer" else None
        name = name or field.child_by_field_name("field")
        if name is not None:
            reader.roles[name.start_byte] = _WRITE
            reader.receiver_spans[name.start_byte] = span


def _associated(reader: Reader, node: Node) -> None:
    name, subject = node.child_by_field_name("name"), _subject(node)
    if subject is not None and name is not None:
        reader.receiver_spans[name.start_byte] = subject.byte_range


def _subject(node: Node) -> Node | None:
    """Return T of `<T as Trait>::f` and `T::<U>::f`."""
    path = node.child_by_field_name("path")
    while path is not None and path.type in _AROUND_TYPE:
        inner = path.child_by_field_name("type") or path.child_by_field_name("trait")
        path = inner or first(path)
    return path
