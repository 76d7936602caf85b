"""C declarators, which wrap the declared name in pointers, arrays, parameters and brackets."""

from __future__ import annotations

from tree_sitter import Node

from services.extractor.languages.nodes import first
from services.extractor.reader import Reader

_NAMES = frozenset(
    {"identifier", "field_identifier", "type_identifier", "qualified_identifier"}
    | {"operator_name", "destructor_name", "template_function", "template_method"}
    | {"operator_cast", "primitive_type"}
)
_WRAPPERS = frozenset(
    {"parenthesized_declarator", "reference_declarator", "abstract_parenthesized_declarator"}
    | {"abstract_reference_declarator", "attributed_declarator", "variadic_declarator"}
)
_POINTERS = {
    "pointer_declarator": "*", "abstract_pointer_declarator": "*",
    "reference_declarator": "&", "abstract_reference_declarator": "&",
}  # fmt: skip


_QUALIFIERS = frozenset({"const", "volatile"})


def inside(declarator: Node) -> Node | None:
    """Return the declarator that this one wraps."""
    inner = declarator.child_by_field_name("declarator")
    if inner is None and declarator.type in _WRAPPERS:
        for child in declarator.named_children:
            if child.type in _NAMES or child.type.endswith("declarator"):
                return child
    return inner


def name_of(declarator: Node | None) -> Node | None:
    """Return the name that a declarator declares."""
    while declarator is not None and declarator.type not in _NAMES:
        declarator = inside(declarator)
    return declarator


def function_of(declarator: Node | None) -> Node | None:
    """Return the part that makes it a function's declarator, None for a variable.

    `(*f)(int)` is a pointer to a function, `(*f(int))(char)` a function that returns one.
    """
    while declarator is not None and declarator.type not in _NAMES:
        inner = inside(declarator)
        if declarator.type == "function_declarator":
            name = inner
            while name is not None and name.type == "parenthesized_declarator":
                name = first(name)
            if name is not None and name.type in _NAMES:
                return declarator
        declarator = inner
    return None


def type_text(reader: Reader, node: Node, declarator: Node | None = None) -> str:
    """Return a declaration's type with its qualifiers and the declarator's stars."""
    shaped = node.child_by_field_name("type")
    if shaped is None:
        return ""
    qualifiers = ""
    if shaped.start_byte > node.start_byte:
        for child in node.children:
            if child.start_byte >= shaped.start_byte:
                break
            if child.type == "type_qualifier" and (word := reader.text(child)) in _QUALIFIERS:
                qualifiers += word + " "
    kind = shaped.type
    if kind == "macro_type_specifier":  # `EXTERN(int) f();`
        shaped = shaped.child_by_field_name("type") or shaped
    end = shaped.end_byte
    if kind.endswith("_specifier"):
        body = shaped.child_by_field_name("body")
        end = end if body is None else body.start_byte
    return qualifiers + reader.line(shaped.start_byte, end) + _shape(reader, declarator)


def _shape(reader: Reader, declarator: Node | None) -> str:
    """Return what a declarator adds to the type: stars, or the rest of a function pointer."""
    stars = ""
    while declarator is not None and declarator.type not in _NAMES:
        kind = declarator.type
        if kind == "function_declarator":
            pointer = inside(declarator)
            parameters = declarator.child_by_field_name("parameters")
            if pointer is None or pointer.type != "parenthesized_declarator" or parameters is None:
                break
            if function_of(declarator) is None:
                return f"{stars} (*)" + reader.line(parameters.start_byte, parameters.end_byte)
        elif kind in _POINTERS:
            double = kind.endswith("reference_declarator") and reader.text(declarator)[:2] == "&&"
            stars += "&&" if double else _POINTERS[kind]
        elif kind in ("array_declarator", "abstract_array_declarator"):
            stars += "[]"
        declarator = inside(declarator)
    return stars
