"""Rust: `use` trees taken apart, `extern crate`, and modules in files of their own."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.languages.nodes import first, parts
from services.extractor.reader import ImportDraft, Reader

_MAX_DEPTH = 30
_PATH = re.compile(r"#\[path\s*=\s*\"([^\"]*)\"")


def read_imports(reader: Reader) -> None:
    for node in reader.nodes("import"):
        argument = node.child_by_field_name("argument")
        if argument is not None:
            kind = "export" if parts(node, "visibility_modifier") else "use"
            _tree(reader, argument, "", kind, 0)
    for node in reader.nodes("extern_crate"):
        name = reader.field_text(node, "name")
        alias = reader.field_text(node, "alias") or name
        reader.imports.append(ImportDraft(name, "", alias, node.start_byte, "use"))


def read_module(reader: Reader, node: Node) -> None:
    """Record `mod name;`, which another file holds."""
    name = node.child_by_field_name("name")
    if name is None:
        return
    text = reader.text(name)
    module = text
    for attribute in reader.decorations_before(node.start_byte)[0]:
        elsewhere = _PATH.match(attribute)
        if elsewhere is not None:
            module = elsewhere[1]
    reader.imports.append(ImportDraft(module, "", text, node.start_byte, "mod"))
    reader.mark(name.start_byte, "import")


def _tree(reader: Reader, node: Node, prefix: str, kind: str, depth: int) -> None:
    shape = node.type
    if shape in ("scoped_use_list", "use_list"):
        path, listed = node.child_by_field_name("path"), node.child_by_field_name("list")
        inner = prefix if path is None else _joined(prefix, reader.text(path))
        for child in parts(listed or node) if depth < _MAX_DEPTH else ():
            _tree(reader, child, inner, kind, depth + 1)
    elif shape == "use_wildcard":
        path = first(node)
        module = prefix if path is None else _joined(prefix, reader.text(path))
        reader.imports.append(ImportDraft(module, "*", "", node.start_byte, kind))
    elif shape == "use_as_clause":
        path = node.child_by_field_name("path")
        if path is not None:
            _name(reader, path, prefix, reader.field_text(node, "alias"), kind)
    elif shape in ("identifier", "scoped_identifier", "self", "crate", "super"):
        _name(reader, node, prefix, "", kind)


def _name(reader: Reader, node: Node, prefix: str, alias: str, kind: str) -> None:
    """Record one name; the alias `_` binds none."""
    path = prefix if node.type == "self" and prefix else _joined(prefix, reader.text(node))
    module, _, name = path.rpartition("::")
    bound = "" if alias == "_" else alias or name
    if module:
        reader.imports.append(ImportDraft(module, name, bound, node.start_byte, kind))
    else:
        reader.imports.append(ImportDraft(name, "", bound, node.start_byte, kind))
    last = node.child_by_field_name("name") or node
    reader.mark(last.start_byte, "import")
    around = node.child_by_field_name("path")
    if around is not None:
        reader.receiver_spans[last.start_byte] = around.byte_range


def _joined(prefix: str, path: str) -> str:
    return f"{prefix}::{path}" if prefix and path else prefix or path
