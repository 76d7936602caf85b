"""Go: constants and variables, and the types that their values tell."""

from __future__ import annotations

import re
from bisect import bisect_right

from tree_sitter import Node

from services.extractor.languages.go_shape import begin, take_parameters
from services.extractor.languages.nodes import first
from services.extractor.reader import BindingDraft, Draft, Reader

_NAMED_TYPES = frozenset({"type_identifier", "qualified_type", "generic_type"})
_CONTAINERS = frozenset({"slice_type", "array_type", "map_type", "implicit_length_array_type"})
_BUILTIN_NAMES = (
    "any append bool byte cap clear close complex copy float32 float64 imag int int8 int16 int32 "
    "int64 len make max min panic print println real recover rune string uint uint8 uint16 uint32 "
    "uint64 uintptr new"
)
_BUILTINS = frozenset([*_BUILTIN_NAMES.split(), "nil", "true", "false"])
_PLAIN = re.compile(
    rb"([A-Za-z_]\w*)(?:, ([A-Za-z_]\w*))? := ([A-Za-z_]\w*(?:\.\w+)*)(\([^()]*\))?\Z"
)


def declare(reader: Reader) -> None:
    """Declare package-level constants and variables; note and bind those of functions."""
    ranges(reader)
    bodies = _outermost(reader.spans("function") + reader.spans("closure"))
    for node in reader.nodes("values"):
        keyword = "const" if node.type == "const_declaration" else "var"
        specs = node.named_children
        if specs and specs[0].type == "var_spec_list":
            specs = specs[0].named_children
            alone = False
        else:
            alone = node.child_count == 2
        if _inside(bodies, node.start_byte):
            _declare_locals(reader, specs)
        else:
            _declare(reader, keyword, specs, node if alone else None)
    for node in reader.nodes("short"):
        plain = _PLAIN.match(reader.data, *node.byte_range)
        if plain is not None and plain[3].decode() not in _BUILTINS:
            _bind_plain(reader, plain)
            continue
        names, values = node.child_by_field_name("left"), node.child_by_field_name("right")
        if names is not None and values is not None:
            found = names.named_children
            reader.locals += [name.start_byte for name in found]
            _bind_values(reader, found, values)


def ranges(reader: Reader) -> None:
    """Bind the second variable of `for i, x := range xs` to an element."""
    for node in {node.start_byte: node for node in reader.nodes("range")}.values():
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        names = left.named_children if left is not None else []
        if len(names) == 2 and right is not None:
            if right.type in ("identifier", "selector_expression"):
                _add(reader, names[1], _short(reader, right), "element")
            elif right.type == "call_expression":
                _add(reader, names[1], reader.type_text(right), "element")


def _bind_plain(reader: Reader, plain: re.Match[bytes]) -> None:
    """Bind `a := b.c`, `a := b.c(d)` and `a, err := b.c(d)`, most of all there are, by text."""
    start, name = plain.start(1), plain[1].decode()
    reader.locals.append(start)
    if plain[2] is not None:
        reader.locals.append(plain.start(2))
    if name != "_":
        origin = "alias" if plain[4] is None else "call"
        reader.bindings.append(BindingDraft(name, plain[3].decode(), origin, start))


def _outermost(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans that lie in no other, in order."""
    found: list[tuple[int, int]] = []
    for span in sorted(spans):
        if not found or span[0] >= found[-1][1]:
            found.append(span)
    return found


def _inside(spans: list[tuple[int, int]], position: int) -> bool:
    at = bisect_right(spans, (position, position)) - 1
    return at >= 0 and spans[at][1] > position


def _declare(reader: Reader, keyword: str, specs: list[Node], whole: Node | None) -> None:
    """Declare what a statement lists; `whole` is the statement when it lists one."""
    kind = "constant" if keyword == "const" else "variable"
    repeated = ""  # type of the constant above, which one without a value repeats
    for spec in specs:
        names = _names(spec)
        declared, values = spec.child_by_field_name("type"), spec.child_by_field_name("value")
        declared_text = reader.type_text(declared)
        if declared is not None or values is not None:
            repeated = declared_text
        for name in names:
            draft = begin(reader, kind, name, whole or spec)
            if draft.name == "_":
                _asserted(reader, declared, values)
                continue
            draft.signature = f"{keyword} {reader.line(spec.start_byte, _head_end(spec, values))}"
            draft.returns = repeated if kind == "constant" else declared_text
            reader.add(draft)
            if len(names) == 1 and values is not None:
                _function_value(reader, draft, values)
        if kind == "variable":
            _bind(reader, names, declared_text, values)


def _declare_locals(reader: Reader, specs: list[Node]) -> None:
    for spec in specs:
        names = _names(spec)
        reader.locals += [name.start_byte for name in names]
        declared = reader.type_text(spec.child_by_field_name("type"))
        _bind(reader, names, declared, spec.child_by_field_name("value"))


def _names(spec: Node) -> list[Node]:
    return [node for node in spec.children_by_field_name("name") if node.type == "identifier"]


def _head_end(spec: Node, values: Node | None) -> int:
    """Return where a signature ends: before the body of a literal."""
    value = first(values) if values is not None and values.named_child_count == 1 else None
    if value is not None and value.type == "unary_expression":
        value = value.child_by_field_name("operand")
    if value is not None and value.type in ("composite_literal", "func_literal"):
        body = value.child_by_field_name("body")
        return spec.end_byte if body is None else body.start_byte
    return spec.end_byte


def _function_value(reader: Reader, draft: Draft, values: Node) -> None:
    """Treat a variable that holds a function literal as a function."""
    value = first(values)
    if draft.kind == "variable" and value is not None and value.type == "func_literal":
        draft.kind = "function"
        take_parameters(reader, draft, value)


def _asserted(reader: Reader, declared: Node | None, values: Node | None) -> None:
    """Take `var _ Store = (*cache)(nil)` or `= &cache{}` as: cache implements Store."""
    value = first(values)
    if declared is None or value is None or declared.type not in _NAMED_TYPES:
        return
    text = reader.text(value)
    name = text.lstrip("(*&").partition("{")[0].partition(")")[0].partition("(")[0].strip()
    for draft in reader.drafts:
        if draft.name == name and draft.kind in ("struct", "type"):
            draft.bases.append(reader.type_text(declared).partition("[")[0])


def _bind(reader: Reader, names: list[Node], declared: str, values: Node | None) -> None:
    if declared:
        for name in names:
            _add(reader, name, declared, "annotation")
    elif values is not None:
        _bind_values(reader, names, values)


def _bind_values(reader: Reader, names: list[Node], values: Node) -> None:
    """Bind names to values side by side, or the first name to a call's first result."""
    found = values.named_children
    if len(found) == 1:
        _bind_value(reader, names[0], found[0])
    elif len(found) == len(names):
        for name, value in zip(names, found, strict=True):
            _bind_value(reader, name, value)


def _bind_value(reader: Reader, name: Node, value: Node) -> None:
    kind = value.type
    if kind == "call_expression":
        _bind_call(reader, name, value)
    elif kind == "composite_literal":
        _bind_type(reader, name, first(value), "")
    elif kind == "unary_expression":
        operand = first(value)
        if operand is not None and operand.type == "composite_literal":
            _bind_type(reader, name, first(operand), "*")
    elif kind in ("identifier", "selector_expression"):
        text = _short(reader, value)
        if not text.startswith("("):  # a method expression is a function
            _add(reader, name, text, "alias")
    elif kind == "index_expression":
        _add(reader, name, _short(reader, value), "alias")
    elif kind == "type_assertion_expression":
        _add(reader, name, reader.type_text(value.child_by_field_name("type")), "annotation")
    elif kind == "type_conversion_expression":
        callee = first(value)
        if callee is not None and callee.type == "generic_type":
            _add(reader, name, reader.type_text(callee).partition("[")[0], "call")


def _bind_type(reader: Reader, name: Node, declared: Node | None, pointer: str) -> None:
    if declared is not None and declared.type in _NAMED_TYPES | _CONTAINERS:
        text = reader.type_text(declared)
        if "{" not in text:
            _add(reader, name, pointer + text, "annotation")


def _bind_call(reader: Reader, name: Node, value: Node) -> None:
    callee = first(value)
    if callee is None or callee.type not in ("identifier", "selector_expression"):
        return
    text = _short(reader, callee)
    if text in ("new", "make"):
        arguments = value.child_by_field_name("arguments")
        declared = first(arguments)
        _bind_type(reader, name, declared, "*" if text == "new" else "")
    elif text not in _BUILTINS:
        _add(reader, name, text, "call")


def _short(reader: Reader, node: Node) -> str:
    raw = reader.data[node.start_byte : node.end_byte]
    return raw.decode(errors="replace") if b"(" not in raw else reader.type_text(node)


def _add(reader: Reader, name: Node, type_name: str, origin: str) -> None:
    start = name.start_byte
    text = reader.data[start : name.end_byte].decode(errors="replace")
    if text != "_" and type_name:
        reader.bindings.append(BindingDraft(text, type_name, origin, start))
