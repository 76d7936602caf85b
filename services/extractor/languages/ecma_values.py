"""What does the text of a JavaScript expression tell of its type?"""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages.nodes import first
from services.extractor.reader import Reader, short_expression

NAMES = ("identifier", "member_expression")
_TELLING = frozenset({*NAMES, "this", "subscript_expression"})
_TRANSPARENT = frozenset({"await_expression", "non_null_expression", "parenthesized_expression"})


def told_of(reader: Reader, value: Node | None) -> tuple[str, str] | None:
    """Return (text, origin) of what an expression tells of its type."""
    while value is not None and value.type in _TRANSPARENT:
        value = first(value)
    if value is None:
        return None
    if value.type == "new_expression":
        return reader.type_text(value.child_by_field_name("constructor")), "call"
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


def short(text: str) -> str:
    return short_expression(text.encode()) if "(" in text else text
