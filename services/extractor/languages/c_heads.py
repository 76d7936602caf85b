"""What all declarations of C and C++ begin with: macros, specifiers, attributes, scopes, a name."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.languages import shape
from services.extractor.languages.nodes import first
from services.extractor.reader import Draft, Reader

_SPECIFIERS = frozenset(
    {"storage_class_specifier", "type_qualifier", "virtual", "explicit_function_specifier"}
)
_ATTRIBUTES = frozenset({"attribute_declaration", "attribute_specifier", "ms_declspec_modifier"})
_CLAUSES = {
    "pure_virtual_clause": "abstract", "delete_method_clause": "delete",
    "default_method_clause": "default",
}  # fmt: skip
_MACRO = re.compile(rb"[A-Z]\w*[( \t]+")  # blanked before a declaration, which it begins
_NEWLINE = 10


def begin(reader: Reader, kind: str, name: Node, outer: Node, body: Node | None = None) -> Draft:
    """Add a draft that spans `outer`, with the macro that begins its line."""
    draft = shape.begin(reader, kind, name, outer, body)
    start = macro_start(reader, draft.start)
    if start != draft.start:
        draft.start = start
        head_end = draft.end if body is None else body.start_byte
        draft.signature = shape.head(reader, start, head_end)
        draft.doc = reader.doc_before(start)
    return reader.add(draft)


def macro_start(reader: Reader, start: int) -> int:
    """Return where the macro before `start` begins, `start` itself when there is none."""
    data = reader.data
    if start and data[start - 1] != _NEWLINE:
        line_start = data.rfind(b"\n", 0, start) + 1
        if _MACRO.fullmatch(data, line_start, start):
            return line_start
    return start


def prefixes(reader: Reader, draft: Draft, node: Node) -> None:
    """Take the specifiers and attributes of a declaration."""
    for child in node.children:
        kind = child.type
        if kind in _SPECIFIERS:
            word = reader.text(child)
            if draft.kind != "function" or word != "const":  # of what it returns
                draft.modifiers += (word,)
        elif kind in _CLAUSES:
            draft.modifiers += (_CLAUSES[kind],)
        elif kind in _ATTRIBUTES:
            draft.decorators += (reader.line(child.start_byte, child.end_byte),)


def taken_apart(reader: Reader, name: Node) -> tuple[list[str], Node]:
    """Split `a::B<T>::c` into ["a", "B"] and the node of `c`, and count no uses in the scopes."""
    scopes = []
    while name.type == "qualified_identifier":
        scope, inner = name.child_by_field_name("scope"), name.child_by_field_name("name")
        if inner is None:
            break
        if scope is not None:
            scopes.append(reader.text(scope).partition("<")[0])
            reader.captures.setdefault("skip.span", []).append(scope)
        name = inner
    if name.type in ("template_function", "template_method", "template_type"):
        name = name.child_by_field_name("name") or name
    return scopes, name


def qualify(reader: Reader, draft: Draft, name: Node) -> None:
    """Give a function or variable its simple name and the scopes written before it."""
    scopes, token = taken_apart(reader, name)
    draft.name_start = token.start_byte
    draft.name = reader.line(token.start_byte, token.end_byte)
    if token.type == "operator_cast":
        target = reader.type_text(token.child_by_field_name("type"))
        draft.name, draft.name_start = f"operator {target}", -1
    elif token.type == "operator_name":
        word = draft.name.removeprefix("operator").strip()
        draft.name = "operator" + (" " * word[:1].isalpha()) + word
        reader.captures.setdefault("skip.span", []).append(token)
    elif token.type == "destructor_name":
        inner = first(token)
        draft.name_start = inner.start_byte if inner is not None else -1
    if scopes:
        draft.owner = scopes[-1]
        draft.prefix = ".".join(scopes)
        reader.captures.setdefault("skip", []).append(token)
