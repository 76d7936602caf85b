"""What do C#'s values, loops, queries and patterns tell of the variables they are given to?"""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages.nodes import first
from services.extractor.languages.selections import expression, told_by
from services.extractor.languages.shape import without_arguments
from services.extractor.reader import Reader

_TRANSPARENT = frozenset(
    {"await_expression", "postfix_unary_expression", "parenthesized_expression"}
)
_READ = frozenset({
    "identifier", "member_access_expression", "element_access_expression",
    "conditional_access_expression",
})  # fmt: skip
_FOLLOWED = _READ | {"invocation_expression"}
_SERVICES = frozenset(
    {"GetService", "GetRequiredService", "GetKeyedService", "GetRequiredKeyedService"}
)  # fmt: skip
_HELD = frozenset({"TryGetValue", "TryRemove", "TryDequeue", "TryPop", "TryPeek", "TryTake"})
_TYPED_PATTERNS = ("declaration_pattern", "recursive_pattern")
_DEEP = 8


def bind_value(reader: Reader, name: Node, value: Node | None) -> None:
    """Bind a variable to what it is given."""
    value = _essential(value)
    if value is None:
        return
    kind = value.type
    if kind == "object_creation_expression":
        text = reader.type_text(value.child_by_field_name("type"))
        made = "annotation" if "<" in text else "call"
        reader.bind(name, text if "<" in text else without_arguments(text), made)
    elif kind == "array_creation_expression":
        inner = first(value.child_by_field_name("type"))
        reader.bind(name, f"{reader.type_text(inner)}[]", "annotation")
    elif kind == "invocation_expression":
        _bind_called(reader, name, value)
    elif kind in _READ:
        reader.bind(name, _short(reader, value), "alias")
    elif kind in ("cast_expression", "as_expression"):
        cast = value.child_by_field_name("type") or value.child_by_field_name("right")
        reader.bind(name, reader.type_text(cast), "annotation")


def _essential(value: Node | None) -> Node | None:
    """Leave out what changes no type: `await x`, `x!`, `(x)`, the default in `x ?? y`."""
    while value is not None:
        if value.type in _TRANSPARENT and value.named_child_count:
            value = value.named_children[-1]
        elif value.type == "binary_expression" and any(one.type == "??" for one in value.children):
            value = value.child_by_field_name("left")
        else:
            break
    return value


def _bind_called(reader: Reader, name: Node, value: Node) -> None:
    function = value.child_by_field_name("function")
    if function is None:
        return
    last = function.child_by_field_name("name") or function
    if last.type == "generic_name" and last.named_child_count:
        called, arguments = last.named_children[0], last.named_children[-1]
        if reader.text(called) in _SERVICES and arguments.named_child_count == 1:
            reader.bind(name, reader.type_text(arguments.named_children[0]), "annotation")
            return
    whole = told_by(reader.data[value.start_byte : value.end_byte])
    if whole:
        reader.bind(name, whole, "alias")
    else:
        reader.bind(name, _short(reader, function), "call")


def _short(reader: Reader, node: Node) -> str:
    return expression(reader.data[node.start_byte : node.end_byte])


def each(reader: Reader, node: Node) -> None:
    """Bind the variable of `foreach (T x in xs)`."""
    name, value = node.child_by_field_name("left"), node.child_by_field_name("right")
    declared = reader.field_text(node, "type")
    value = _essential(value)
    if name is None:
        return
    if name.type == "identifier" and declared and declared != "var":
        reader.bind(name, declared, "annotation")
    elif value is not None and value.type in _FOLLOWED:
        text = _short(reader, value)
        if name.type == "identifier":
            reader.bind(name, text, "element")
        elif name.type == "tuple_pattern" and name.named_child_count == 2:
            for part, member in zip(name.named_children, ("Key", "Value"), strict=True):
                if part.type == "identifier":
                    reader.bind(part, f"{text}[*].{member}", "alias")


def queried(reader: Reader, node: Node) -> None:
    """Bind the variable of `from x in xs`."""
    name = node.child_by_field_name("name")
    value = _essential(node.named_children[-1])
    if name is not None and value is not None and value.type in _FOLLOWED:
        reader.bind(name, _short(reader, value), "element")


def tested(reader: Reader, node: Node) -> None:
    """Bind the variable of a pattern, `x is T name`, or of an argument, `out T name`."""
    name, declared = node.child_by_field_name("name"), reader.field_text(node, "type")
    if name is None:
        return
    if declared and declared != "var":
        reader.bind(name, declared, "annotation")
    elif node.type == "declaration_expression":
        _given_out(reader, name, node)
    elif text := _matched(reader, node):
        reader.bind(name, text, "alias")


def _given_out(reader: Reader, name: Node, node: Node) -> None:
    """Bind what a collection gives by `TryGetValue(key, out var name)`."""
    arguments = node.parent.parent if node.parent is not None else None
    call = arguments.parent if arguments is not None else None
    function = call.child_by_field_name("function") if call is not None else None
    if function is None or reader.field_text(function, "name") not in _HELD:
        return
    holder = function.child_by_field_name("expression")
    if holder is not None and holder.type in _FOLLOWED:
        reader.bind(name, f"{_short(reader, holder)}[0]", "alias")


def _matched(reader: Reader, node: Node) -> str:
    """Return the expression that a pattern without a type stands for, "" when it cannot be told."""
    members: list[str] = []
    inner, around = node, node.parent
    for _ in range(_DEEP):
        if around is None:
            return ""
        if around.type == "subpattern":
            named = first(around)
            if named is None or named.type != "identifier":
                return ""
            members.insert(0, reader.text(named))
        elif around.type in _TYPED_PATTERNS:
            declared = reader.field_text(around, "type")
            if declared and declared != "var":
                return ".".join((f"(({declared})it)", *members))
        elif around.type in ("is_pattern_expression", "switch_expression", "switch_statement"):
            value = _essential(around.child_by_field_name("value") or first(around))
            if value is None or value.type not in _FOLLOWED or value.start_byte == inner.start_byte:
                return ""
            return ".".join((_short(reader, value), *members))
        elif around.type in ("positional_pattern_clause", "list_pattern", "tuple_pattern"):
            return ""
        inner, around = around, around.parent
    return ""
