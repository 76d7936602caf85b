"""Ruby declarations: classes, modules, methods, constants that hold classes."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.languages.nodes import first, parts
from services.extractor.reader import Draft, Reader

_MAKERS = {"Struct.new": "class", "Class.new": "class", "Data.define": "class",
           "Module.new": "module"}  # fmt: skip
_PARAMETER_MARKS = {
    "splat_parameter": "*", "hash_splat_parameter": "**", "block_parameter": "&",
}  # fmt: skip
_YARD_PARAM = re.compile(r"@param +(?:\[([^\]\n]+)\] +(\w+)|(\w+) +\[([^\]\n]+)\])")
YARD_RETURN = re.compile(r"@return +\[([^\]\n]+)\]")


class Outline:
    """Turns the declarations of one file into drafts."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.methods: dict[int, Draft] = {}
        self.bodies: list[tuple[Draft | None, Node]] = [(None, reader.root)]

    def add_class(self, node: Node) -> None:
        reader = self._reader
        name = node.child_by_field_name("name")
        if name is None:
            return
        draft = Draft(node.type, "", node.start_byte, node.end_byte)
        _name(reader, draft, name)
        head_end = name.end_byte
        base = node.child_by_field_name("superclass")
        if base is not None:
            head_end = base.end_byte
            self._base(draft, first(base))
        finish(self._reader, draft, node.start_byte, head_end)
        body = node.child_by_field_name("body")
        if body is not None:
            self.bodies.append((draft, body))

    def add_method(self, node: Node) -> None:
        reader = self._reader
        name = node.child_by_field_name("name")
        if name is None or name.end_byte == name.start_byte:
            return
        draft = Draft("function", reader.text(name), node.start_byte, node.end_byte)
        draft.name_start = name.start_byte
        parameters = node.child_by_field_name("parameters")
        head_end = name.end_byte if parameters is None else parameters.end_byte
        finish(self._reader, draft, node.start_byte, head_end)
        draft.visibility = "public"
        take_parameters(self._reader, draft, parameters)
        if node.type == "singleton_method":
            draft.modifiers = ("static",)
            target = node.child_by_field_name("object")
            if target is not None and target.type == "constant":
                draft.owner = reader.text(target)
        self.methods[node.start_byte] = draft

    def add_constants(self, node: Node) -> None:
        """Declare what an assignment to constants names; `Struct.new` and its like make classes."""
        reader = self._reader
        left, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        targets = parts(left, "constant") if left is not None else []
        if left is not None and left.type != "left_assignment_list":
            targets = [left]
        made = _made_class(reader, value) if len(targets) == 1 else ""
        for target in targets:
            draft = Draft("constant", "", node.start_byte, node.end_byte)
            _name(reader, draft, target)
            finish(self._reader, draft, node.start_byte, node.end_byte)
            if made and value is not None:
                self._make_class(draft, made, value)

    def _make_class(self, draft: Draft, made: str, value: Node) -> None:
        reader = self._reader
        draft.kind = _MAKERS[made]
        arguments = value.child_by_field_name("arguments")
        block = value.child_by_field_name("block")
        head_end = value.end_byte if block is None else block.start_byte
        draft.signature = reader.line(draft.start, head_end)
        if made == "Class.new":
            self._base(draft, first(arguments))
        elif made != "Module.new":
            draft.bases.append(made.partition(".")[0])
            self._fields(arguments)
        body = block.child_by_field_name("body") if block is not None else None
        if body is not None:
            self.bodies.append((draft, body))

    def _base(self, draft: Draft, base: Node | None) -> None:
        """Add a superclass; `Struct.new(:a)` counts as Struct with fields."""
        reader = self._reader
        if base is None:
            return
        made = _made_class(reader, base)
        if made:
            draft.bases.append(made.partition(".")[0])
            self._fields(base.child_by_field_name("arguments"))
        elif base.type in ("constant", "scope_resolution"):
            draft.bases.append(reader.text(base))
            last = base.child_by_field_name("name") or base
            reader.mark(last.start_byte, "base")

    def _fields(self, arguments: Node | None) -> None:
        for node in parts(arguments, "simple_symbol"):
            draft = symbol(self._reader, "property", node)
            draft.signature = self._reader.text(node)
            draft.visibility = "public"


def symbol(reader: Reader, kind: str, node: Node) -> Draft:
    """Declare what a symbol or string names."""
    return reader.add(Draft(kind, symbol_name(reader, node), node.start_byte, node.end_byte))


def symbol_name(reader: Reader, node: Node) -> str:
    return reader.text(node).strip(":\"'")


def finish(reader: Reader, draft: Draft, start: int, head_end: int) -> None:
    """Add a draft with the signature that ends at `head_end`, its doc comment, and public."""
    draft.signature = reader.line(start, head_end)
    draft.doc = reader.doc_before(start)
    draft.visibility = "public"
    reader.add(draft)


def take_parameters(reader: Reader, draft: Draft, listed: Node | None) -> None:
    """Take parameters, with the types that a YARD comment gives them."""
    documented = {}
    if "@" in draft.doc:
        for type_first, name, name_first, declared in _YARD_PARAM.findall(draft.doc):
            documented[name or name_first] = type_first or declared
        found = YARD_RETURN.search(draft.doc)
        draft.returns = found[1] if found else ""
    for node in parts(listed):
        if node.type == "comment":
            continue
        plain = reader.field_text(node, "name")
        mark = _PARAMETER_MARKS.get(node.type)
        if mark is not None:
            name = mark + plain
        else:
            name = plain = plain or reader.text(node)
        draft.params.append((name, documented.get(plain, "")))
    draft.arity = len(draft.params)


def _name(reader: Reader, draft: Draft, name: Node) -> None:
    """Name a draft; `A::B` means B inside A."""
    draft.name_start = name.start_byte
    if name.type == "scope_resolution":
        scope, last = name.child_by_field_name("scope"), name.child_by_field_name("name")
        if scope is not None:
            draft.prefix = reader.text(scope).replace("::", ".").strip(".")
        if last is not None:
            draft.name = reader.text(last)
            draft.name_start = last.start_byte
    else:
        draft.name = reader.text(name)


def _made_class(reader: Reader, value: Node | None) -> str:
    """Return "Struct.new" and its like when a value makes a class."""
    if value is None or value.type != "call":
        return ""
    receiver = reader.field_text(value, "receiver").removeprefix("::")
    made = f"{receiver}.{reader.field_text(value, 'method')}"
    return made if made in _MAKERS else ""
