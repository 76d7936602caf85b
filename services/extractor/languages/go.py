"""Go: types, functions and what is said about them."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.grammar import Grammar
from services.extractor.languages import go_imports, go_literals, go_values
from services.extractor.languages.broken_blocks import declare_lost
from services.extractor.languages.go_query import QUERY
from services.extractor.languages.go_shape import (
    begin,
    bind_parameters,
    take_parameters,
    visibility,
)
from services.extractor.languages.nodes import first
from services.extractor.reader import BindingDraft, Draft, Reader

_TYPES = (
    b"any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 "
    b"int64 rune string uint uint8 uint16 uint32 uint64 uintptr"
)
_NOISE = frozenset([*_TYPES.split(), b"nil", b"_"])
_PACKAGE = re.compile(rb"^package[ \t]+(\w+)", re.MULTILINE)
_ARGUMENT = re.compile(rb"(?:\w+\.)?(\w+)(?:\[[^()\n]*\])?\)")
_JOINED = re.compile(rb"[\w.]")
_HEAD = re.compile(
    rb"^(?P<indent>)(?P<keyword>func|type)[ \t]+"
    rb"(?:\([ \t]*(?:\w+[ \t]+)?\*?(?P<owner>\w+)[^)\n]*\)[ \t]*)?(?P<name>\w+)[^\n{]*",
    re.MULTILINE,
)
_KINDS = {"struct_type": "struct", "interface_type": "interface"}

_AROUND_TYPE = frozenset(
    {"composite_literal", "generic_type", "parenthesized_expression", "pointer_type"}
    | {"type_assertion_expression", "unary_expression"}
)
_TYPE_NAMES = frozenset({"identifier", "qualified_type", "selector_expression", "type_identifier"})


def module_of(path: str) -> str:
    """Return a file's package path: its directory, with dots."""
    return path.rpartition("/")[0].replace("/", ".")


def declare(reader: Reader) -> None:
    if not reader.module:
        named = _PACKAGE.search(reader.data)
        reader.module = named[1].decode() if named else ""
    for node in reader.nodes("type_declaration"):
        _types(reader, node)
    for node in reader.nodes("function"):
        _function(reader, node)
    for draft in declare_lost(reader, _HEAD, {b"func": "function", b"type": "type"}):
        draft.visibility = visibility(draft.name)
        shape = draft.signature.rpartition(" ")[2]
        draft.kind = shape if shape in ("struct", "interface") else draft.kind
    go_values.declare(reader)
    go_literals.read_keys(reader)
    go_imports.read_imports(reader)
    for node in reader.nodes("type_arguments"):
        _generic_call(reader, node)
    for node in reader.nodes("around_type"):
        if reader.data.startswith(b".", node.end_byte):
            _receiver_type(reader, node)
    for node in reader.nodes("closure"):
        bind_parameters(reader, node)
    for start in _calls(reader.data, b"panic("):
        reader.mark(start, "raise")
    for start in _calls(reader.data, b"new("):
        created = _ARGUMENT.match(reader.data, start + 4)
        if created is not None:
            reader.mark(created.start(1), "new")


def _calls(data: bytes, text: bytes) -> list[int]:
    """Return where a builtin may be called; a find is many times quicker than a pattern here."""
    found = []
    start = data.find(text)
    while start >= 0:
        if not _JOINED.match(data, start - 1):
            found.append(start)
        start = data.find(text, start + 1)
    return found


def _types(reader: Reader, node: Node) -> None:
    for spec in node.named_children:
        name, declared = spec.child_by_field_name("name"), spec.child_by_field_name("type")
        if name is None or declared is None:
            continue
        place = spec if node.child_count > 2 else node  # one of a group, or alone
        kind = declared.type
        draft = reader.add(begin(reader, _KINDS.get(kind, "type"), name, place))
        if kind in _KINDS:
            parts = declared.children  # `struct` or `interface`, then the body
            head_end = parts[1].start_byte if len(parts) > 1 else declared.end_byte
            draft.signature = "type " + reader.line(spec.start_byte, head_end)
        else:
            draft.signature = ("type " + reader.line(spec.start_byte, spec.end_byte))[:300]
            draft.returns = reader.type_text(declared)
        if kind == "struct_type":
            _fields(reader, draft, declared, "")
        elif kind == "interface_type":
            _interface(reader, draft, declared)


def _fields(reader: Reader, owner: Draft, struct: Node, prefix: str) -> None:
    """Declare a struct's fields; `prefix` names the field whose type is written out here."""
    for body in struct.named_children:
        for node in body.named_children:
            declared = node.child_by_field_name("type")
            if declared is None:
                continue
            names = node.children_by_field_name("name")
            if not names:
                _embed(reader, owner, declared)
            for name in names:
                if name.type == "field_identifier":
                    draft = _field(reader, node, name, declared)
                    draft.prefix = prefix
                    inner = _written_out(declared)
                    if inner is not None:
                        draft.signature = draft.signature.partition("{")[0].strip()
                        draft.returns = draft.returns.partition("{")[0].strip()
                        _fields(reader, owner, inner, f"{prefix}.{draft.name}".strip("."))


def _field(reader: Reader, node: Node, name: Node, declared: Node) -> Draft:
    draft = reader.add(begin(reader, "field", name, node))
    draft.signature = reader.line(node.start_byte, declared.end_byte)
    draft.returns = reader.type_text(declared)
    tag = node.child_by_field_name("tag")
    if tag is not None:
        draft.decorators = (reader.line(tag.start_byte, tag.end_byte),)
    return draft


def _written_out(declared: Node) -> Node | None:
    """Return the struct type that a field's type spells out, behind `*` and `[]`."""
    found: Node | None = declared
    while found is not None and found.type in ("pointer_type", "slice_type", "array_type"):
        found = found.named_children[-1] if found.named_child_count else None
    return found if found is not None and found.type == "struct_type" else None


def _embed(reader: Reader, owner: Draft, declared: Node) -> None:
    name = _mark(reader, declared, "base")
    if name:
        text = reader.type_text(declared).partition("[")[0]
        owner.bases.append(text)
        start = declared.start_byte
        reader.bindings.append(BindingDraft(f"this.{name}", text, "annotation", start))


def _interface(reader: Reader, owner: Draft, declared: Node) -> None:
    for node in declared.named_children:
        if node.type == "method_elem":
            name = node.child_by_field_name("name")
            if name is not None:
                draft = reader.add(begin(reader, "function", name, node))
                draft.signature = reader.line(node.start_byte, node.end_byte)
                take_parameters(reader, draft, node)
        elif node.type == "type_elem" and node.child_count == 1:  # more: a union of types
            found = first(node)
            if found is not None and _mark(reader, found, "base"):
                owner.bases.append(reader.type_text(found).partition("[")[0])


def _function(reader: Reader, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    draft = reader.add(begin(reader, "function", name, node))
    body = node.child_by_field_name("body")
    head_end = node.end_byte if body is None else body.start_byte
    draft.signature = reader.line(node.start_byte, head_end)
    take_parameters(reader, draft, node)
    receiver = node.child_by_field_name("receiver")
    if receiver is not None:
        _receiver(reader, draft, receiver)


def _receiver(reader: Reader, draft: Draft, receiver: Node) -> None:
    for node in receiver.named_children:
        declared = node.child_by_field_name("type")
        name = node.child_by_field_name("name")
        if declared is None:
            continue
        if name is not None:
            reader.bind(name, reader.type_text(declared), "parameter")
        while declared.type in ("pointer_type", "parenthesized_type", "generic_type"):
            arguments = declared.child_by_field_name("type_arguments")
            for argument in arguments.named_children if arguments is not None else ():
                reader.locals.append(argument.start_byte)  # here they name type parameters
            inner = first(declared)
            if inner is None:
                break
            declared = inner
        draft.owner = reader.text(declared)


def _generic_call(reader: Reader, arguments: Node) -> None:
    """Tell `Map[K, V](x)` for a call: with one argument it is parsed as a conversion."""
    around = arguments.parent
    if around is None:
        return
    if around.type == "generic_type":
        outer = around.parent
        if outer is not None and outer.type == "type_conversion_expression":
            _mark(reader, around, "call")
    elif around.type == "call_expression":
        function = around.child_by_field_name("function")
        listed = around.child_by_field_name("arguments")
        if function is not None and function.type == "selector_expression":
            function = function.child_by_field_name("field")
        if function is not None and listed is not None:
            reader.captures.setdefault("callee", []).append(function)
            reader.captures.setdefault("args", []).append(listed)


def _receiver_type(reader: Reader, operand: Node) -> None:
    """Take the type for the receiver in `(*T).m`, `x.(*T).m` and `(&T{}).m`."""
    selector = operand.parent
    name = selector.child_by_field_name("field") if selector is not None else None
    found: Node | None = operand
    while found is not None and found.type in _AROUND_TYPE:
        found = found.child_by_field_name("type") or first(found)
    if found is not None and name is not None and found.type in _TYPE_NAMES:
        reader.receiver_spans[name.start_byte] = found.byte_range


def _mark(reader: Reader, node: Node, kind: str) -> str:
    """Mark the name of a type, qualified or generic, and return it; "" when it has none."""
    while node.type != "type_identifier":
        inner = node.child_by_field_name("name") or node.child_by_field_name("type")
        if inner is None:
            return ""
        node = inner
    reader.mark(node.start_byte, kind)
    return reader.text(node)


GO = Grammar(
    language="go",
    bundle="go",
    query=QUERY,
    declare=declare,
    module=module_of,
    receiver=go_values.plain_new,
    noise=_NOISE,
    self_name="this",
)
