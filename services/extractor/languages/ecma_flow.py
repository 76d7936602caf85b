"""What do loops, callbacks, returns and checks tell of the types of JavaScript's variables?"""

from __future__ import annotations

from bisect import bisect_right

from tree_sitter import Node

from services.extractor.languages.ecma_values import NAMES, short, told_of
from services.extractor.languages.nodes import first
from services.extractor.reader import BindingDraft, Reader

_CALLS = ("call_expression", "new_expression")
_FUNCTIONS = ("arrow_function", "function_expression")


def read_flow(reader: Reader) -> None:
    for node in reader.nodes("loop"):
        _loop(reader, node)
    spans = sorted(reader.spans("callback"))
    for node in reader.nodes("return"):
        _returned(reader, node, spans)
    _bodies(reader)
    seen = set()
    for node in reader.nodes("callbacks"):
        if node.start_byte not in seen:
            seen.add(node.start_byte)
            _callbacks(reader, node)
    for node in reader.nodes("if"):
        _narrowed(reader, node)


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
    for statement in reader.nodes("declaration"):
        for node in statement.named_children:
            value = node.child_by_field_name("value")
            if value is None or value.type != "arrow_function":
                continue
            body = value.child_by_field_name("body")
            if body is not None and body.type != "statement_block":
                told = told_of(reader, body)
                if told is not None and told[0]:
                    reader.bindings.append(BindingDraft("return", *told, body.start_byte))


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
            for place, name in _parameters(argument):
                bound = reader.text(name)
                told = f"{text}@{number}.{place}"
                reader.bindings.append(BindingDraft(bound, told, "callback", name.start_byte))


def _parameters(function: Node) -> list[tuple[int, Node]]:
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
    """Bind what `if (x instanceof T)` says inside its block."""
    condition, block = (
        node.child_by_field_name("condition"),
        node.child_by_field_name("consequence"),
    )
    check = first(condition)
    if check is None or block is None or check.type != "binary_expression":
        return
    left, right = check.child_by_field_name("left"), check.child_by_field_name("right")
    if left is None or right is None or left.type != "identifier" or right.type not in NAMES:
        return
    if reader.field_text(check, "operator") == "instanceof":
        name = reader.text(left)
        reader.bindings.append(
            BindingDraft(name, reader.type_text(right), "narrow", check.start_byte)
        )
        reader.bindings.append(BindingDraft(name, "", "widen", block.end_byte))
