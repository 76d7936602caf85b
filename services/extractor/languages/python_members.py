"""Python declarations as drafts."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.languages.nodes import first, parts
from services.extractor.languages.python_values import mark_name
from services.extractor.reader import DOC_CHARS, Draft, ImportDraft, Reader

_LITERAL_NAME = re.compile(rb"['\"]([A-Za-z_]\w*)['\"]")
_DOC = re.compile(rb"([A-Za-z]{0,2})('''|\"\"\"|'|\")(.*?)(?:\2|$)", re.DOTALL)
_HEAD_END = re.compile(rb":[ \t]*(?:#[^\n]*)?\n")
_ENUMS = frozenset(
    ["Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "ReprEnum", "TextChoices", "IntegerChoices"]
)
_PROPERTY = frozenset({"property", "cached_property", "functools.cached_property"})
_PARAMETERS = frozenset({"default_parameter", "typed_parameter", "typed_default_parameter"})


_COMPOUND = frozenset(
    {"if_statement", "elif_clause", "else_clause", "try_statement", "except_clause", "block"}
    | {"finally_clause", "with_statement"}
)


def variables(reader: Reader, statements: list[Node]) -> None:
    """Declare what a module's or class's body assigns, under `if` and `try` too."""
    pending = statements[::-1]
    while pending:
        node = pending.pop()
        kind = node.type
        if kind == "assignment":
            _variable(reader, node)
        elif kind in _COMPOUND:
            pending += node.named_children[::-1]


def type_alias(reader: Reader, node: Node) -> None:
    left, right = first(node), node.child_by_field_name("right")
    if left is None:
        return
    draft = Draft("type", reader.text(left).partition("[")[0], node.start_byte, node.end_byte)
    draft.signature = reader.line(node.start_byte, node.end_byte)
    draft.name_start = left.start_byte
    draft.returns = reader.type_text(right)
    draft.visibility = visibility(draft.name)
    for part in parts(first(left), "type_parameter"):
        reader.locals += [token.start_byte for token in _identifiers(part)]
    reader.add(draft)


def _identifiers(node: Node) -> list[Node]:
    found, pending = [], [node]
    while pending:
        part = pending.pop()
        found += [part] if part.type == "identifier" else []
        pending += part.named_children
    return found


def decorate(reader: Reader, draft: Draft | None, node: Node | None) -> None:
    if draft is None:
        return
    reader.add(draft)
    if node is None:
        return
    draft.start = node.start_byte
    decorators = [child for child in node.named_children if child.type == "decorator"]
    marks = tuple(reader.line(child.start_byte, child.end_byte) for child in decorators)
    draft.decorators = marks
    for decorator in decorators:
        expression = first(decorator)
        if expression is not None:
            mark_name(reader, expression, "decorator")
    names = {mark[1:].partition("(")[0] for mark in marks}
    draft.modifiers += tuple(
        name for name in ("staticmethod", "classmethod", "abstractmethod", "overload", "override")
        if name in names or any(known.endswith("." + name) for known in names)
    )  # fmt: skip
    if names & _PROPERTY or any(name.endswith((".setter", ".deleter")) for name in names):
        draft.kind = "property"
    if "override" in draft.modifiers:
        reader.mark(draft.name_start, "override")
        draft.name_start = -1


def function_definition(reader: Reader, node: Node) -> Draft | None:
    name = node.child_by_field_name("name")
    body = node.child_by_field_name("body")
    if name is None:
        return None
    start, end = node.start_byte, node.end_byte
    head_end = body.start_byte if body is not None else end
    draft = Draft("function", reader.text(name), start, end)
    draft.signature = _head(reader, start, head_end)
    draft.name_start = name.start_byte
    draft.visibility = visibility(draft.name)
    draft.doc = _docstring(reader, body)
    returns = node.child_by_field_name("return_type")
    if returns is not None:
        draft.returns = reader.type_text(returns)
    if reader.data.startswith(b"async", start):
        draft.modifiers = ("async",)
    parameters(reader, draft, node.child_by_field_name("parameters"))
    _type_parameters(reader, node)
    return draft


def parameters(reader: Reader, draft: Draft, parameters: Node | None) -> None:
    draft.arity = 0
    if parameters is None:
        return
    for child in parameters.named_children:
        kind = child.type
        if kind == "identifier":
            reader.locals.append(child.start_byte)
            draft.params.append((reader.text(child), ""))
        elif kind in ("list_splat_pattern", "dictionary_splat_pattern"):
            draft.params.append((reader.text(child), ""))
        elif kind in _PARAMETERS:
            name = first(child)
            if name is None:
                continue
            reader.locals.append(name.start_byte)
            declared = child.child_by_field_name("type")
            draft.params.append((reader.text(name), reader.type_text(declared)))
    draft.arity = len(draft.params)


def class_definition(reader: Reader, node: Node) -> Draft | None:
    name = node.child_by_field_name("name")
    body = node.child_by_field_name("body")
    if name is None:
        return None
    head_end = body.start_byte if body is not None else node.end_byte
    draft = Draft("class", reader.text(name), node.start_byte, node.end_byte)
    draft.signature = _head(reader, node.start_byte, head_end)
    draft.name_start = name.start_byte
    draft.visibility = visibility(draft.name)
    draft.doc = _docstring(reader, body)
    bases = node.child_by_field_name("superclasses")
    for base in bases.named_children if bases is not None else ():
        if base.type in ("identifier", "attribute", "subscript", "call"):
            mark_name(reader, base, "base")
            if base.type == "subscript":
                value = first(base)
                reader.type_spans.append(((value or base).end_byte, base.end_byte))
            draft.bases.append(reader.type_text(base).partition("[")[0].partition("(")[0])
    if body is not None:
        variables(reader, body.named_children)
    _type_parameters(reader, node)
    if any(base.rpartition(".")[2] in _ENUMS for base in draft.bases):
        draft.kind = "enum"
    elif any(base.rpartition(".")[2] == "Protocol" for base in draft.bases):
        draft.kind = "interface"
    return draft


def _type_parameters(reader: Reader, node: Node) -> None:
    parameters = node.child_by_field_name("type_parameters")
    for child in parameters.named_children if parameters is not None else ():
        name = first(child)
        if name is not None and name.type == "identifier":
            reader.locals.append(name.start_byte)


def _variable(reader: Reader, node: Node) -> None:
    left = node.child_by_field_name("left")
    if left is None:
        return
    targets = _target_names(left)
    declared = node.child_by_field_name("type")
    value = node.child_by_field_name("right")
    for target in targets:
        name = reader.text(target)
        draft = Draft(
            "constant" if name.isupper() else "variable", name, node.start_byte, node.end_byte
        )
        draft.name_start = target.start_byte
        draft.signature = reader.line(node.start_byte, node.end_byte)
        draft.returns = reader.type_text(declared)
        draft.visibility = visibility(name)
        if draft.returns.rpartition(".")[2] == "TypeAlias":
            draft.kind = "type"
        if value is not None and value.type == "lambda" and len(targets) == 1:
            draft.kind = "function"
            parameters(reader, draft, value.child_by_field_name("parameters"))
        reader.add(draft)
    if value is not None and value.type == "assignment":
        _variable(reader, value)
    if value is not None and len(targets) == 1 and reader.text(left) == "__all__":
        _exports(reader, value)


_PATTERNS = frozenset({"pattern_list", "tuple_pattern", "list_pattern"})


def _target_names(left: Node) -> list[Node]:
    """Return the plain names an assignment's left side binds, in order."""
    if left.type == "identifier":
        return [left]
    if left.type not in _PATTERNS:
        return []
    return [name for child in left.named_children for name in _target_names(child)]


def _exports(reader: Reader, value: Node) -> None:
    """Record the names of a literal __all__ as exports."""
    raw = reader.data[value.start_byte : value.end_byte]
    for found in _LITERAL_NAME.finditer(raw):
        reader.imports.append(
            ImportDraft("", found[1].decode(), "", value.start_byte + found.start(), "export")
        )


def settle(draft: Draft, parent: Draft | None) -> None:
    """Leave out the receiver, and tell fields from variables, once the parent is known."""
    if parent is None or parent.kind not in ("class", "enum", "interface"):
        return
    if draft.kind in ("method", "constructor", "property"):
        receiver = draft.params[0] if draft.params else ("", "none")
        is_receiver = not receiver[1] or receiver[0] in ("self", "cls")
        if is_receiver and "staticmethod" not in draft.modifiers:
            draft.params = draft.params[1:]
            draft.arity -= 1
        if draft.kind == "property":
            draft.arity = -1
            draft.params = []
    elif draft.kind == "variable":
        draft.kind = "constant" if parent.kind == "enum" else "field"


def _head(reader: Reader, start: int, end: int) -> str:
    if reader.root.has_error:  # a lost body must not become part of the head
        found = _HEAD_END.search(reader.data, start, end)
        end = found.start() if found else end
    return reader.line(start, end).rstrip(": ")


def visibility(name: str) -> str:
    if name.startswith("_") and not (name.startswith("__") and name.endswith("__")):
        return "private"
    return "public"


def _docstring(reader: Reader, body: Node | None) -> str:
    if body is None:
        return ""
    data, start = reader.data, body.start_byte
    if data[start : start + 1] not in (b'"', b"'", b"r", b"R", b"u", b"U"):
        return ""
    found = _DOC.match(data, start, min(len(data), start + 8 * DOC_CHARS))
    if found is None or b"f" in found[1].lower():
        return ""
    lines = found[3].decode(errors="replace").strip().split("\n")
    return "\n".join([line.strip() for line in lines])[:DOC_CHARS]
