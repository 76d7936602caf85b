"""What do loops, callbacks, returns and checks tell of the types of JavaScript's variables?"""

from __future__ import annotations

from bisect import bisect_right

from tree_sitter import Node

from services.extractor.languages.ecma_values import NAMES, short, told_of, type_arguments
from services.extractor.languages.nodes import first
from services.extractor.reader import TYPE_CHARS, BindingDraft, Reader

_CALLS = ("call_expression", "new_expression")
_COMPARED = ("string", "member_expression")
_NAMING = frozenset({  # what gives a function that is its value a name
    "variable_declarator", "pair", "public_field_definition", "field_definition",
    "assignment_expression",
})  # fmt: skip
_FUNCTIONS = ("arrow_function", "function_expression")


def read_flow(reader: Reader) -> None:
    for node in reader.nodes("loop"):
        _loop(reader, node)
    spans = sorted(reader.spans("callback"))
    for node in reader.nodes("return"):
        _returned(reader, node, spans)
    _bodies(reader)
    _own_objects(reader)
    for node in _lists_with(reader.nodes("callback")):
        _callbacks(reader, node)
    for node in reader.nodes("if"):
        _narrowed(reader, node)
    _cases(reader)


def _loop(reader: Reader, node: Node) -> None:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or left.type != "identifier" or right is None:
        return
    if right.type in NAMES or right.type == "call_expression":
        reader.bind(left, short(reader.type_text(right)), "element")


def _returned(reader: Reader, node: Node, callbacks: list[tuple[int, int]]) -> None:
    start = node.start_byte
    at = bisect_right(callbacks, (start, start)) - 1
    while at >= 0 and at > bisect_right(callbacks, (start, start)) - 8:
        if callbacks[at][1] > start:
            return  # what a nameless function returns
        at -= 1
    told = told_of(reader, first(node))
    if told is not None and told[0]:
        reader.bindings.append(BindingDraft("return", *told, start))


def _bodies(reader: Reader) -> None:
    """An arrow function's expression is what it returns."""
    for value in reader.nodes("function_value"):
        holder = value.parent
        if value.type != "arrow_function" or holder is None or holder.type not in _NAMING:
            continue
        body = value.child_by_field_name("body")
        if body is not None and body.type != "statement_block":
            told = told_of(reader, body)
            if told is not None and told[0]:
                reader.bindings.append(BindingDraft("return", *told, body.start_byte))


def _own_objects(reader: Reader) -> None:
    """Note where `this` is none of what is around: in nameless functions that nobody binds to it."""
    for node in reader.nodes("function_value"):
        holder = node.parent
        if node.type != "function_expression" or holder is None or holder.type in _NAMING:
            continue
        if reader.data.find(b"this", *node.byte_range) < 0:
            continue
        given = holder.named_children if holder.type == "arguments" else ()
        if holder.type != "member_expression" and not any(one.type == "this" for one in given):
            reader.bindings.append(BindingDraft("this", "", "block", node.start_byte))
            reader.bindings.append(BindingDraft("this", "", "widen", node.end_byte))


def _lists_with(callbacks: list[Node]) -> list[Node]:
    """The argument lists around callbacks, in source order.

    A query that captured them would keep all it finds inside a list waiting for the list's end: in a
    file that is one big callback, it takes time quadratic in the file's size.
    """
    parents = [node.parent for node in callbacks]
    lists = {node.start_byte: node for node in parents if node is not None}
    return [lists[start] for start in sorted(lists)]


def _callbacks(reader: Reader, arguments: Node) -> None:
    """Bind a callback's parameters to what the called function declares of them."""
    call = arguments.parent
    if call is None or call.type not in _CALLS:
        return
    callee = call.child_by_field_name("function") or call.child_by_field_name("constructor")
    if callee is None or callee.type not in NAMES:
        return
    text = short(reader.type_text(callee))
    given = [child for child in arguments.named_children if child.type != "comment"]
    for number, argument in enumerate(given):
        if argument.type in _FUNCTIONS:
            for place, name in parameters(argument):
                bound = reader.text(name)
                told = f"{text}@{number}.{place}{type_arguments(reader, call)}"
                reader.bindings.append(BindingDraft(bound, told, "callback", name.start_byte))


def parameters(function: Node) -> list[tuple[int, Node]]:
    """Return the plain parameters without a type."""
    single = function.child_by_field_name("parameter")
    if single is not None:
        return [(0, single)]
    parameters = function.child_by_field_name("parameters")
    found = []
    for place, child in enumerate(parameters.named_children if parameters is not None else ()):
        name = child
        if child.type in ("required_parameter", "optional_parameter"):
            pattern = child.child_by_field_name("pattern")
            if pattern is None or child.child_by_field_name("type") is not None:
                continue
            name = pattern
        if name.type == "identifier":
            found.append((place, name))
    return found


def _narrowed(reader: Reader, node: Node) -> None:
    """Bind what `if (x instanceof T)` and `if (x.kind === "a")` say inside their block."""
    condition, block = (
        node.child_by_field_name("condition"),
        node.child_by_field_name("consequence"),
    )
    check = first(condition)
    if check is None or block is None or check.type != "binary_expression":
        return
    left, right = check.child_by_field_name("left"), check.child_by_field_name("right")
    if left is None or right is None:
        return
    operator = reader.field_text(check, "operator")
    if operator == "instanceof" and left.type == "identifier" and right.type in NAMES:
        _narrow(
            reader, reader.text(left), reader.type_text(right), check.start_byte, block.end_byte
        )
    elif operator in ("===", "==") and right.type in _COMPARED:
        _told_apart(reader, left, [reader.text(right)], check.start_byte, block.end_byte)


def _narrow(reader: Reader, name: str, told: str, start: int, end: int) -> None:
    reader.bindings.append(BindingDraft(name, told, "narrow", start))
    reader.bindings.append(BindingDraft(name, "", "widen", end))


def _told_apart(reader: Reader, member: Node, given: list[str], start: int, end: int) -> None:
    """Bind what is known of `x` where `x.kind` is one of some values."""
    held, name = member.child_by_field_name("object"), member.child_by_field_name("property")
    if member.type == "member_expression" and held is not None and held.type == "identifier":
        told = f"?{reader.text(name)}={'|'.join(given)}" if name is not None else ""
        if told and len(told) <= TYPE_CHARS:
            _narrow(reader, reader.text(held), told, start, end)


def _cases(reader: Reader) -> None:
    """Bind what the cases of `switch (x.kind)` say; an empty case falls through to the next."""
    given: list[str] = []
    for node in reader.nodes("case"):
        value, body = node.child_by_field_name("value"), node.parent
        switch = body.parent if body is not None else None
        checked = first(switch.child_by_field_name("value")) if switch is not None else None
        if value is None or checked is None or value.type not in _COMPARED:
            given = []
            continue
        given.append(reader.text(value))
        if node.child_by_field_name("body") is not None:
            _told_apart(reader, checked, given, node.start_byte, node.end_byte)
            given = []
