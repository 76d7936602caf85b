"""What does the place where a function stands tell of the types of its parameters?

`const f: Handler = x => ...`, `a.b = x => ...`, `return x => ...` where a Handler is to be returned.
"""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages.ecma_flow import parameters
from services.extractor.languages.ecma_members import annotation
from services.extractor.languages.ecma_values import NAMES
from services.extractor.languages.nodes import first
from services.extractor.reader import TYPE_CHARS, BindingDraft, Draft, Reader, short_expression

_FUNCTIONS = frozenset({
    "arrow_function", "function_expression", "function_declaration", "method_definition",
    "generator_function", "generator_function_declaration",
})  # fmt: skip
_NOTHING = ("", "")


def expect(reader: Reader, draft: Draft, declared: Node | None) -> None:
    """Let a written function type say what a function leaves open: parameters and result."""
    kind = first(declared)
    if kind is None or kind.type != "function_type":
        return
    draft.returns = draft.returns or reader.type_text(kind.child_by_field_name("return_type"))
    told = _types(reader, kind)
    draft.params = [
        (name, written or (told[at] if at < len(told) else ""))
        for at, (name, written) in enumerate(draft.params)
    ]


def _types(reader: Reader, kind: Node) -> list[str]:
    listed = kind.child_by_field_name("parameters")
    return [
        annotation(reader, child.child_by_field_name("type"))
        for child in (listed.named_children if listed is not None else ())
        if child.type in ("required_parameter", "optional_parameter")
    ]


def read_context(reader: Reader) -> None:
    for node in reader.nodes("function_value"):
        open_ones = parameters(node)
        if not open_ones:
            continue
        text, origin = _expected(reader, node)
        if not text or len(text) > TYPE_CHARS:
            continue
        for place, name in open_ones:
            told = f"{text}@{'.' if origin == 'callback' else ''}{place}"
            reader.bindings.append(BindingDraft(reader.text(name), told, origin, name.start_byte))


def _expected(reader: Reader, node: Node) -> tuple[str, str]:
    """Return what a function is expected to be: a type, or what an expression stands for."""
    parent = node.parent
    while parent is not None and parent.type == "parenthesized_expression":
        node, parent = parent, parent.parent
    if parent is None:
        return _NOTHING
    kind = parent.type
    if kind == "variable_declarator":
        declared = first(parent.child_by_field_name("type"))
        plain = declared is not None and declared.type != "function_type"
        return (reader.type_text(declared), "context") if plain else _NOTHING
    if kind in ("assignment_expression", "augmented_assignment_expression"):
        left = parent.child_by_field_name("left")
        if left is None or left.type not in NAMES or left == node:
            return _NOTHING
        text = reader.type_text(left)
        return (short_expression(text.encode()) if "(" in text else text), "callback"
    if kind == "return_statement" or (kind == "arrow_function" and not _is_parameter(parent, node)):
        return _returned(reader, parent)
    if kind in ("as_expression", "satisfies_expression"):
        return reader.type_text(parent.named_children[-1]), "context"
    return _NOTHING


def _is_parameter(function: Node, node: Node) -> bool:
    body = function.child_by_field_name("body")
    return body is None or body.start_byte != node.start_byte


def _returned(reader: Reader, node: Node) -> tuple[str, str]:
    """Return what the function around a return statement is declared to give."""
    around: Node | None = node
    while around is not None and around.type not in _FUNCTIONS:
        around = around.parent
    if around is None:
        return _NOTHING
    declared = annotation(reader, around.child_by_field_name("return_type"))
    if declared:
        return declared, "context"
    holder = around.parent
    if holder is not None and holder.type == "variable_declarator":
        kind = first(holder.child_by_field_name("type"))
        if kind is not None and kind.type == "function_type":
            return reader.type_text(kind.child_by_field_name("return_type")), "context"
    return _NOTHING
