"""Go: constants and variables, and the types that their values tell."""

from __future__ import annotations

import re
from bisect import bisect_right

from tree_sitter import Node

from services.extractor.languages.go_shape import begin, take_parameters
from services.extractor.languages.nodes import first, parts
from services.extractor.reader import TYPE_CHARS, BindingDraft, Draft, Reader, short_expression

_NAMED_TYPES = frozenset({"type_identifier", "qualified_type", "generic_type"})
_ITERATED = frozenset({"identifier", "selector_expression", "call_expression", "index_expression"})
_EACH = {"value": "element", "key": "alias"}  # origins of what a loop binds
_CONTAINERS = frozenset(
    {"slice_type", "array_type", "map_type", "implicit_length_array_type", "channel_type"}
)
_BUILTIN_NAMES = (
    "any append bool byte cap clear close complex copy float32 float64 imag int int8 int16 int32 "
    "int64 len make max min panic print println real recover rune string uint uint8 uint16 uint32 "
    "uint64 uintptr new"
)
_SECOND = frozenset({b"_", b"err", b"ok"})  # second results of which nothing of interest is asked
_BUILTINS = frozenset([*_BUILTIN_NAMES.split(), "nil", "true", "false"])
_NEW = re.compile(rb"new\(([\w.]+(?:\[[^()]*\])?)\)")
_MEMBERLESS = frozenset([*_BUILTIN_NAMES.split(), "", "error", "[]string", "[]byte", "[]int"])
_PLAIN = re.compile(
    rb"([A-Za-z_]\w*)(?:, ([A-Za-z_]\w*))? := ([A-Za-z_]\w*(?:\.\w+)*)(\([^()]*\))?\Z"
)


def declare(reader: Reader) -> None:
    """Declare package-level constants and variables; note and bind those of functions."""
    ranges(reader)
    receives(reader)
    type_switches(reader)
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
    """Bind the variables of `for k, x := range xs`; a key only where something is asked of it."""
    for node in {node.start_byte: node for node in reader.nodes("range")}.values():
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        names = left.named_children if left is not None else []
        if not names or right is None:
            continue
        if len(names) == 2:
            _bind_each(reader, names[1], right, "value")
        body = node.next_named_sibling
        asked = reader.data[names[0].start_byte : names[0].end_byte] + b"."
        if body is not None and reader.data.find(asked, body.start_byte, body.end_byte) > 0:
            _bind_each(reader, names[0], right, "key")


def _bind_each(reader: Reader, name: Node, right: Node, part: str) -> None:
    """Bind a variable to each `value` or each `key` of what is iterated over."""
    if right.type == "composite_literal":
        container = first(right)
        is_map = container is not None and container.type == "map_type"
        held = container.child_by_field_name(part if is_map else "element") if container else None
        if is_map or part == "value":
            _add(reader, name, _spelled(reader, held), "annotation")
    elif right.type in _ITERATED:
        text = _short(reader, right)
        _add(reader, name, text if part == "value" else f"{text}[#]", _EACH[part])


def receives(reader: Reader) -> None:
    """Bind what `case x := <-channel` receives."""
    for node in {node.start_byte: node for node in reader.nodes("receive")}.values():
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None:
            _bind_value(reader, left.named_children[0], right)


def type_switches(reader: Reader) -> None:
    """Bind the variable of `switch v := x.(type)`: in a case of one type it is of that type."""
    for node in reader.nodes("type_switch"):
        alias, value = node.child_by_field_name("alias"), node.child_by_field_name("value")
        name = first(alias)
        if name is None or value is None:
            continue
        if value.type in _ITERATED:
            _add(reader, name, _short(reader, value), "alias")
        text = reader.text(name)
        for case in node.named_children:
            types = case.children_by_field_name("type") if case.type == "type_case" else []
            told = reader.type_text(types[0]) if len(types) == 1 else ""
            if told and told != "nil" and "{" not in told:
                start = case.start_byte
                reader.bindings += [
                    BindingDraft(text, "", "block", start),
                    BindingDraft(text, told, "annotation", start),
                    BindingDraft(text, "", "widen", case.end_byte),
                ]


def _bind_plain(reader: Reader, plain: re.Match[bytes]) -> None:
    """Bind `a := b.c`, `a := b.c(d)` and `a, err := b.c(d)`, most of all there are, by text."""
    start, name = plain.start(1), plain[1].decode()
    reader.locals.append(start)
    if plain[2] is not None:
        reader.locals.append(plain.start(2))
    text = plain[3].decode()
    if name != "_":
        origin = "alias" if plain[4] is None else "call"
        reader.bindings.append(BindingDraft(name, text, origin, start))
    if plain[4] is not None and plain[2] is not None and plain[2] not in _SECOND:
        other = plain[2].decode()
        reader.bindings.append(BindingDraft(other, f"{text}(1)", "alias", plain.start(2)))


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
    """Bind names to values side by side, or to the results of one call."""
    found = values.named_children
    if len(found) == 1:
        _bind_value(reader, names[0], found[0])
        callee = first(found[0]) if len(names) > 1 and found[0].type == "call_expression" else None
        if callee is not None and callee.type in ("identifier", "selector_expression"):
            text = _short(reader, callee)
            for at, name in enumerate(names[1:], 1):
                if reader.data[name.start_byte : name.end_byte] not in _SECOND:
                    _add(reader, name, f"{text}({at})", "alias")
    elif len(found) == len(names):
        for name, value in zip(names, found, strict=True):
            _bind_value(reader, name, value)


def _bind_value(reader: Reader, name: Node, value: Node) -> None:
    kind = value.type
    if kind == "call_expression":
        _bind_call(reader, name, value)
    elif kind == "composite_literal":
        _bind_type(reader, name, first(value), "")
    elif kind == "func_literal":
        _bind_function(reader, name, value)
    elif kind == "unary_expression":
        _bind_operand(
            reader, name, first(value), reader.data[value.start_byte : value.start_byte + 1]
        )
    elif kind in ("identifier", "selector_expression"):
        text = _short(reader, value)
        if not text.startswith("("):  # a method expression is a function
            _add(reader, name, text, "alias")
    elif kind == "index_expression":
        _add(reader, name, _short(reader, value), "alias")
    elif kind == "type_assertion_expression":
        _add(reader, name, reader.type_text(value.child_by_field_name("type")), "annotation")
    elif kind == "type_conversion_expression":
        _bind_generic_call(reader, name, first(value))


def _bind_generic_call(reader: Reader, name: Node, callee: Node | None) -> None:
    if callee is not None and callee.type == "generic_type":
        _add(reader, name, reader.type_text(callee).partition("[")[0], "call")


def _bind_function(reader: Reader, name: Node, literal: Node) -> None:
    result = reader.type_text(literal.child_by_field_name("result"))
    if result not in _MEMBERLESS and "{" not in result:
        _add(reader, name, f"func() {result}", "annotation")


def _bind_operand(reader: Reader, name: Node, operand: Node | None, operator: bytes) -> None:
    """Bind a name to the address of something, to what it points to, or to what a channel sends."""
    if operand is None:
        return
    if operand.type == "composite_literal":
        _bind_type(reader, name, first(operand), "*")
    elif operator == b"<":
        _add(reader, name, _short(reader, operand), "element")
    elif operator in (b"&", b"*") and operand.type in ("identifier", "selector_expression"):
        _add(reader, name, _short(reader, operand), "alias")


def _bind_type(reader: Reader, name: Node, declared: Node | None, pointer: str) -> None:
    if declared is not None and declared.type in _NAMED_TYPES | _CONTAINERS | {"struct_type"}:
        text = _spelled(reader, declared)
        if text:
            _add(reader, name, pointer + text, "annotation")


def _spelled(reader: Reader, declared: Node | None) -> str:
    """Return a type's text, "" for one without members; of a struct's fields, those that have any."""
    text = reader.type_text(declared)
    if declared is None or "{" not in text:
        return text
    kind = declared.type
    if kind == "struct_type":
        fields = [
            f"{reader.text(name)} {told}"
            for node in parts(first(declared), "field_declaration")
            for name in node.children_by_field_name("name")
            if (told := _spelled(reader, node.child_by_field_name("type"))) not in _MEMBERLESS
        ]
        found = f"struct{{{';'.join(fields)}}}" if fields else ""
        return found if len(found) <= TYPE_CHARS else ""
    if kind == "pointer_type":
        return _spelled(reader, first(declared))
    held = declared.child_by_field_name("value" if kind == "map_type" else "element")
    inner = _spelled(reader, held)
    return f"[]{inner}" if inner and kind in _CONTAINERS - {"channel_type"} else ""


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
    plain = b"(" not in raw and b"\n" not in raw
    return raw.decode(errors="replace") if plain else short_expression(plain_new(raw))


def plain_new(raw: bytes) -> bytes:
    """Write `new(T).m()` as `(&T{}).m()`: the type is no argument that could be left out."""
    return _NEW.sub(rb"(&\1{})", raw, count=1) if raw.startswith(b"new(") else raw


def _add(reader: Reader, name: Node, type_name: str, origin: str) -> None:
    start = name.start_byte
    text = reader.data[start : name.end_byte].decode(errors="replace")
    if text != "_" and type_name:
        reader.bindings.append(BindingDraft(text, type_name, origin, start))
