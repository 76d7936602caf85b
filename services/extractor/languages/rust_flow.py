"""Rust: what do patterns, loops and closures tell of the types of the names they bind?"""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages.nodes import first, parts
from services.extractor.languages.rust_values import PLACES, told_by
from services.extractor.reader import Reader

_OPENED = frozenset({"Some", "Ok"})
_AROUND_NAME = frozenset({"mut_pattern", "ref_pattern", "reference_pattern"})
_VALUES = PLACES | {"call_expression", "try_expression", "await_expression"}
_OVER_EACH = {  # methods that hand what is held, or each element, to a closure: which argument it is
    "all": 0, "and_then": 0, "any": 0, "filter": 0, "filter_map": 0, "find": 0, "find_map": 0,
    "flat_map": 0, "for_each": 0, "inspect": 0, "is_none_or": 0, "is_ok_and": 0, "is_some_and": 0,
    "map": 0, "map_or": 1, "map_or_else": 1, "map_while": 0, "max_by_key": 0, "min_by_key": 0,
    "partition": 0, "position": 0, "retain": 0, "rposition": 0, "skip_while": 0, "sort_by_key": 0,
    "sort_unstable_by_key": 0, "take_while": 0,
}  # fmt: skip
_COUNTED = ".enumerate()"


def declare(reader: Reader) -> None:
    for node in reader.nodes("let"):
        _opening(reader, node.child_by_field_name("pattern"), node.child_by_field_name("value"))
    for node in reader.nodes("opening"):
        pattern, value = node.child_by_field_name("pattern"), node.child_by_field_name("value")
        if node.type == "match_arm":
            match = node.parent.parent if node.parent is not None else None
            pattern, value = first(pattern), match.child_by_field_name("value") if match else None
        _opening(reader, pattern, value)
    for node in reader.nodes("for"):
        _loop(reader, node)
    for node in reader.nodes("closure"):
        _closure(reader, node)


def settle(reader: Reader) -> None:
    """Let a name that takes several lines to bind mean what it meant before in all of them."""
    late: dict[int, int] = {}
    for node in [*reader.nodes("let"), *reader.nodes("opening"), *reader.nodes("for")]:
        pattern, value = node.child_by_field_name("pattern"), node.child_by_field_name("value")
        if node.type == "match_arm" or pattern is None or value is None:
            continue
        if value.end_point[0] > pattern.start_point[0]:
            inner = pattern.named_children if pattern.type == "tuple_struct_pattern" else [pattern]
            for name in map(_name, inner):
                if name is not None:
                    late[name.start_byte] = value.end_byte - 1
    for binding in reader.bindings if late else ():
        binding.start = late.get(binding.start, binding.start)
    reader.untold = [(name, late.get(start, start), end) for name, start, end in reader.untold]


def _name(pattern: Node | None) -> Node | None:
    """Return the name that a pattern binds to all that it stands for."""
    while pattern is not None and pattern.type in _AROUND_NAME:
        inner = pattern.named_children
        pattern = inner[-1] if inner else None
    return pattern if pattern is not None and pattern.type == "identifier" else None


def _value(reader: Reader, node: Node | None) -> str:
    while node is not None and node.type in ("reference_expression", "parenthesized_expression"):
        node = node.child_by_field_name("value") or first(node)
    return told_by(reader, node) if node is not None and node.type in _VALUES else ""


def _opening(reader: Reader, pattern: Node | None, value: Node | None) -> None:
    """Bind x of `Some(x)` and `Ok(x)` to what a value holds, and fields of a struct by their names."""
    while pattern is not None and pattern.type == "reference_pattern":
        pattern = first(pattern)
    if pattern is None or value is None:
        return
    if pattern.type == "struct_pattern":
        _fields(reader, pattern)
    elif pattern.type == "tuple_struct_pattern":
        inner = pattern.named_children
        name = _name(inner[1]) if len(inner) == 2 else None
        text = _value(reader, value)
        if name is not None and text and reader.text(inner[0]) in _OPENED:
            reader.bind(name, f"{text}.unwrap()", "alias")


def _fields(reader: Reader, pattern: Node) -> None:
    named = reader.field_text(pattern, "type").partition("<")[0].removesuffix("::")
    for field in parts(pattern, "field_pattern"):
        name = field.child_by_field_name("name")
        bound = field.child_by_field_name("pattern")
        target = _name(bound) if bound is not None else name
        if name is not None and target is not None:
            reader.bind(target, f"{named}.{reader.text(name)}", "alias")


def _loop(reader: Reader, node: Node) -> None:
    pattern = node.child_by_field_name("pattern")
    text = _value(reader, node.child_by_field_name("value"))
    if pattern is None or not text:
        return
    counted = text.endswith(_COUNTED)
    pair = pattern.named_children if pattern.type == "tuple_pattern" else []
    name = _name(pair[1] if len(pair) == 2 else pattern)
    if name is None or (counted and not pair):
        return
    if pair and not counted:  # of a map, what it maps to
        reader.bind(name, f"{text}[0]", "alias")
    else:
        reader.bind(name, text.removesuffix(_COUNTED), "element")


def _closure(reader: Reader, node: Node) -> None:
    """Bind the first parameter of a closure that is called for what is held or for each element."""
    arguments, parameters = node.parent, node.child_by_field_name("parameters")
    call = arguments.parent if arguments is not None and arguments.type == "arguments" else None
    callee = call.child_by_field_name("function") if call is not None else None
    if callee is None or callee.type != "field_expression" or parameters is None:
        return
    given = arguments.named_children if arguments is not None else []
    place = _OVER_EACH.get(reader.field_text(callee, "field"), -1)
    pattern = first(parameters)
    if pattern is None or not (0 <= place < len(given) and given[place] == node):
        return
    over = _value(reader, callee.child_by_field_name("value"))
    pair = pattern.named_children if pattern.type == "tuple_pattern" else []
    counted = over.endswith(_COUNTED)
    name = _name(pair[1] if len(pair) == 2 and counted else pattern)
    if name is not None and over and counted == bool(pair):
        text = f"{over.removesuffix(_COUNTED)}.{reader.field_text(callee, 'field')}"
        reader.bind(name, f"{text}@{place}.0", "callback")
