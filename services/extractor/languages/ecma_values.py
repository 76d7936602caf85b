"""What does the text of a JavaScript expression tell of its type?"""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages.nodes import first
from services.extractor.reader import Reader, short_expression

NAMES = ("identifier", "member_expression")
_DEFAULTS = frozenset({"??", "||"})
_TELLING = frozenset({*NAMES, "this", "subscript_expression"})
_TRANSPARENT = frozenset(
    ["await_expression", "non_null_expression", "parenthesized_expression", "satisfies_expression"]
)


def essential(reader: Reader, value: Node | None) -> Node | None:
    """Leave out what changes no type: `await x`, `x!`, `(x)`, the default in `x ?? y`."""
    while value is not None:
        if value.type in _TRANSPARENT:
            value = first(value)
        elif (
            value.type == "binary_expression" and reader.field_text(value, "operator") in _DEFAULTS
        ):
            value = value.child_by_field_name("left")
        else:
            break
    return value


def told_of(reader: Reader, value: Node | None) -> tuple[str, str] | None:
    """Return (text, origin) of what an expression tells of its type."""
    value = essential(reader, value)
    if value is None:
        return None
    if value.type == "new_expression":
        return made_by(reader, value)
    if value.type == "call_expression":
        function = value.child_by_field_name("function")
        if function is not None and function.type in NAMES:
            return short(reader.type_text(function)), "call"
    elif value.type in _TELLING:
        return short(reader.type_text(value)), "alias"
    elif value.type == "as_expression":
        declared = value.named_children[1:]
        return (reader.type_text(declared[-1]), "annotation") if declared else None
    return None


def made_by(reader: Reader, value: Node) -> tuple[str, str]:
    """Return (text, origin) of what `new A()`, `new A<B>()` or `new this()` tells of its type."""
    made = reader.type_text(value.child_by_field_name("constructor"))
    if made == "this":
        return made, "alias"
    arguments = reader.type_text(value.child_by_field_name("type_arguments"))
    return (made + arguments, "annotation") if arguments else (made, "call")


def short(text: str) -> str:
    return short_expression(text.encode()) if "(" in text else text


def type_arguments(reader: Reader, call: Node) -> str:
    """Return "<A, B>;" of a call, or "=T;" when its result is declared to be a T."""
    written = call.child_by_field_name("type_arguments")
    text = reader.type_text(written)
    if written is None:
        holder = call.parent
        if holder is None or holder.type != "variable_declarator":
            return ""
        declared = reader.type_text(holder.child_by_field_name("type")).lstrip(": ")
        text = f"={declared}" if declared else ""
    return f"{text};" if text and ";" not in text else ""
