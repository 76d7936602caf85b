"""Scala: what a file declares."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.grammar import Grammar
from services.extractor.languages import scala_uses, shape
from services.extractor.languages.broken_blocks import declare_lost
from services.extractor.languages.given import read_given
from services.extractor.languages.given_words import SCALA as GIVEN
from services.extractor.languages.nodes import first, parts
from services.extractor.languages.scala_query import QUERY
from services.extractor.reader import TYPE_KINDS, BindingDraft, Draft, Reader

_NAMES = frozenset({"identifier", "type_identifier"})
_KINDS = {
    "class_definition": "class",
    "object_definition": "class",
    "package_object": "class",
    "trait_definition": "trait",
    "enum_definition": "enum",
}
_ACCESS = ("private", "protected")
_HEAD = re.compile(
    rb"^(?P<indent>[ \t]*)(?:(?:@\w+(?:\([^)\n]*\))?|(?:private|protected)(?:\[\w+\])?|final|sealed"
    rb"|abstract|override|implicit|lazy|case|inline|open|transparent|infix)[ \t]+)*"
    rb"(?P<keyword>class|object|trait|enum|def)[ \t]+(?P<name>\w+)[^\n{=]*",
    re.MULTILINE,
)
_HEAD_KINDS = {
    b"class": "class",
    b"object": "class",
    b"trait": "trait",
    b"enum": "enum",
    b"def": "function",
}


def literal(raw: bytes) -> str | None:
    """Return the value of a string; None for one that is interpolated."""
    if not raw.startswith(b'"'):
        return None
    return (raw[3:-3] if raw.startswith(b'"""') else raw[1:-1]).decode(errors="replace")


def declare(reader: Reader) -> None:
    _package(reader)
    for node in reader.nodes("class"):
        _class(reader, node)
    for node in reader.nodes("function"):
        _function(reader, node)
    for node in reader.nodes("type_alias"):
        draft = _begin(reader, "type", node, node.child_by_field_name("name"), None)
        if draft is not None:
            draft.returns = reader.type_text(node.child_by_field_name("type"))
    for node in reader.nodes("value"):
        _values(reader, node)
    for node in reader.nodes("case"):
        for case in parts(node, "simple_enum_case", "full_enum_case"):
            _enum_case(reader, case)
    for node in reader.nodes("class_parameters"):
        _class_parameters(reader, node)
    for draft in declare_lost(reader, _HEAD, _HEAD_KINDS):
        draft.visibility = draft.visibility or "public"
    scala_uses.note_uses(reader)
    read_given(reader, GIVEN)


def _package(reader: Reader) -> None:
    """Join the package clauses of the file; one with a body is a module in it."""
    names = []
    for node in reader.nodes("package"):
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None:
            continue
        if body is None:
            names.append(reader.text(name))
        else:
            draft = reader.add(shape.begin(reader, "module", name, node, body))
            draft.visibility = "public"
    reader.module = ".".join(names)


def _begin(
    reader: Reader, kind: str, node: Node, name: Node | None, body: Node | None
) -> Draft | None:
    if name is None:
        return None
    annotations = parts(node, "annotation")
    start = annotations[-1].end_byte if annotations else -1
    draft = shape.begin(reader, kind, name, node, body, start)
    draft.decorators = tuple(reader.line(a.start_byte, a.end_byte) for a in annotations)
    draft.visibility = "public"
    for modifiers in parts(node, "modifiers"):
        for word in reader.text(modifiers).split():
            if word.startswith(_ACCESS):
                draft.visibility = word.partition("[")[0]
            elif word.isidentifier():
                draft.modifiers += (word,)
    if "override" in draft.modifiers:
        shape.override(reader, draft)
    return reader.add(draft)


def _class(reader: Reader, node: Node) -> None:
    kind = _KINDS[node.type]
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    draft = _begin(reader, kind, node, name, body)
    if draft is None:
        return
    if any(child.type == "case" for child in node.children):
        draft.modifiers += ("case",)
    if node.type in ("object_definition", "package_object"):
        draft.modifiers += ("object",)
    lists = parts(node, "class_parameters")
    if lists:
        _take_parameters(reader, draft, lists, "class_parameter")
    for extends in parts(node, "extends_clause"):
        types = [n for n in extends.children_by_field_name("type") if n.is_named]
        shape.bases(reader, draft, types, _NAMES)
        draft.bases = [base.partition("[")[0] for base in draft.bases]


def _enum_case(reader: Reader, node: Node) -> None:
    draft = _begin(reader, "constant", node, node.child_by_field_name("name"), None)
    lists = parts(node, "class_parameters")
    if draft is not None and lists:
        _take_parameters(reader, draft, lists, "class_parameter")


def _take_parameters(reader: Reader, draft: Draft, lists: list[Node], kind: str) -> None:
    """Take all parameters; a call's arguments are counted by the first list."""
    draft.arity = len(parts(lists[0], kind)) if lists else 0
    for listed in lists:
        for parameter in parts(listed, kind):
            declared = reader.type_text(parameter.child_by_field_name("type"))
            draft.params.append((reader.field_text(parameter, "name"), declared))


def _function(reader: Reader, node: Node) -> None:
    body = node.child_by_field_name("body")
    draft = _begin(reader, "function", node, node.child_by_field_name("name"), body)
    if draft is None:
        return
    if draft.name == "this":
        draft.kind = "constructor"
    draft.returns = reader.type_text(node.child_by_field_name("return_type"))
    lists = [n for n in node.children_by_field_name("parameters") if n.type == "parameters"]
    _take_parameters(reader, draft, lists, "parameter")
    around = node.parent
    if around is not None and around.type == "extension_definition":
        draft.modifiers += ("extension",)
        for extended in parts(first(around), "parameter"):
            reader.bindings.append(
                BindingDraft(
                    reader.field_text(extended, "name"),
                    reader.type_text(extended.child_by_field_name("type")),
                    "parameter",
                    node.start_byte,
                )
            )


def _values(reader: Reader, node: Node) -> None:
    """Declare the fields of types and the variables of files."""
    name = node.child_by_field_name("name") or node.child_by_field_name("pattern")
    if name is None or name.type != "identifier":
        return
    value = node.child_by_field_name("value")
    block = value if value is not None and value.type in ("block", "match_expression") else None
    draft = _begin(reader, "field", node, name, block)
    if draft is not None:
        draft.returns = reader.type_text(node.child_by_field_name("type"))
        line_end = reader.data.find(b"\n", name.end_byte, node.end_byte)
        if line_end >= 0:
            draft.signature = draft.signature.removesuffix(
                reader.line(line_end, node.end_byte)
            ).rstrip("{= ")
        if node.type == "given_definition":
            draft.modifiers += ("given",)
            draft.returns = reader.type_text(node.child_by_field_name("return_type"))


def _class_parameters(reader: Reader, node: Node) -> None:
    """A case class's first parameters, and all marked `val` or `var`, are fields."""
    around = node.parent
    if around is None or around.type == "full_enum_case":
        return
    is_first = parts(around, "class_parameters")[0].start_byte == node.start_byte
    is_case = is_first and any(child.type == "case" for child in around.children)
    for parameter in parts(node, "class_parameter"):
        name = parameter.child_by_field_name("name")
        if name is None:
            continue
        declared = reader.type_text(parameter.child_by_field_name("type"))
        if is_case or any(child.type in ("val", "var") for child in parameter.children):
            draft = _begin(reader, "field", parameter, name, None)
            if draft is not None:
                draft.returns = declared
        else:
            reader.locals.append(name.start_byte)
            reader.bind(name, declared, "parameter")


def settle(draft: Draft, parent: Draft | None) -> None:
    if draft.kind == "field" and (parent is None or parent.kind not in TYPE_KINDS):
        draft.kind = "variable"


SCALA = Grammar(
    language="scala",
    bundle="scala",
    query=QUERY,
    declare=declare,
    literal=literal,
    settle=settle,
    noise=frozenset({b"_", b"this", b"super", b"???"}),
    self_name="this",
)
