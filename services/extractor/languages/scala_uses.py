"""Scala: imports, and what values and patterns tell of names."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.languages.nodes import first
from services.extractor.reader import ImportDraft, Reader

_COMPARISONS = frozenset({b"==", b"!=", b"<=", b">=", b"==="})
_CLAUSE = re.compile(r"((?:[\w`$]+\.)*)(?:\{([^}]*)\}|([\w`$*]+)(?:\s+as\s+(\w+))?)")
_RENAMED = re.compile(r"\s*(?:=>|\bas\b)\s*")
_IDENTIFIER = re.compile(rb"[\w$]+")


def note_uses(reader: Reader) -> None:
    data = reader.data
    for start in reader.starts("binder"):  # a capital in a pattern names a constant
        if not data[start : start + 1].isupper():
            reader.locals.append(start)
    skipped = reader.captures.setdefault("skip", [])
    for node in reader.nodes("infix"):
        if data[node.start_byte : node.end_byte] == b"with":  # new A with B
            skipped.append(node)
        else:
            reader.mark(node.start_byte, "call")
    for node in reader.nodes("operation"):
        _operation(reader, node)
    for node in reader.nodes("bound"):
        _bind(reader, node)
    for node in reader.nodes("binding"):
        name = node.child_by_field_name("name")
        if name is not None:
            reader.bind(name, reader.type_text(node.child_by_field_name("type")), "parameter")
    for node in reader.nodes("import"):
        _import(reader, node)


def _operation(reader: Reader, node: Node) -> None:
    """Take `count += 1` for an assignment."""
    operator, left = node.child_by_field_name("operator"), node.child_by_field_name("left")
    if operator is None or left is None:
        return
    text = reader.data[operator.start_byte : operator.end_byte]
    if not text.endswith(b"=") or text in _COMPARISONS:
        return
    name = left.child_by_field_name("field") if left.type == "field_expression" else left
    if name is not None and name.type == "identifier":
        reader.mark(name.start_byte, "write")


def _bind(reader: Reader, node: Node) -> None:
    name = node.child_by_field_name("pattern")
    if name is None or name.type != "identifier":
        return
    declared = node.child_by_field_name("type")
    if declared is not None:
        reader.bind(name, reader.type_text(declared), "annotation")
        return
    value = node.child_by_field_name("value")
    if value is not None and value.type == "infix_expression":  # new A with B
        value = value.child_by_field_name("left")
    if value is None:
        return
    function = value
    if value.type == "call_expression":
        function = value.child_by_field_name("function") or value
        if function.type == "generic_function":
            function = function.child_by_field_name("function") or function
        if function.type in ("identifier", "field_expression"):
            reader.bind(name, reader.type_text(function), "call")
    elif value.type == "instance_expression":
        made = first(value)
        reader.bind(name, reader.type_text(made).partition("[")[0], "call")
    elif value.type in ("identifier", "field_expression"):
        reader.bind(name, reader.type_text(value), "alias")
    elif value.type == "generic_function" and reader.text(value).count(".asInstanceOf["):
        text = reader.type_text(value).partition(".asInstanceOf[")[2].removesuffix("]")
        reader.bind(name, text, "annotation")


def _import(reader: Reader, node: Node) -> None:
    """Read `import a.b, c.{d, e => f, _}` from its text, which both Scala 2 and 3 spell alike."""
    start = node.start_byte
    text = reader.text(node).removeprefix("import").strip()
    for prefix, selectors, name, alias in _CLAUSE.findall(text):
        module = prefix.rstrip(".")
        if not selectors:
            _record(reader, module, name, alias or name, start)
        for selector in selectors.split(",") if selectors else ():
            parts = _RENAMED.split(selector.strip())
            if (parts[0] and parts[-1] != "_") or len(parts) == 1:
                _record(reader, module, parts[0], parts[-1], start)
    known = {draft.name.encode() for draft in reader.imports if draft.start == start}
    for found in _IDENTIFIER.finditer(reader.data, start, node.end_byte):
        if found[0] in known and reader.data[found.end() : found.end() + 1] != b".":
            reader.mark(found.start(), "import")


def _record(reader: Reader, module: str, name: str, alias: str, start: int) -> None:
    if name in ("_", "*", "given"):
        reader.imports.append(ImportDraft(module, "*", "", start))
    elif name:
        plain = name.strip("`")
        reader.imports.append(ImportDraft(module, plain, alias.strip("`"), start))
