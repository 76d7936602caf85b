"""PHP, also inside HTML.

Variables carry a `$`, so they never meet the names of functions, classes and constants: only names
without it are uses, and static properties. A namespace that covers the whole file prefixes every
full name; several in one file, or braced ones, are symbols. Full names take dots for backslashes.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.grammar import Grammar
from services.extractor.languages import php_flow as flow
from services.extractor.languages import php_members as members
from services.extractor.languages.broken_blocks import declare_lost
from services.extractor.languages.nodes import first, parts
from services.extractor.languages.php_query import QUERY
from services.extractor.reader import BindingDraft, ImportDraft, Reader

_NOISE = (
    b"__CLASS__ __DIR__ __FILE__ __FUNCTION__ __LINE__ __METHOD__ __NAMESPACE__ __TRAIT__ parent"
)
_INTERPOLATED = re.compile(rb"(?<!\\)(?:\\\\)*(?:\$[A-Za-z_{]|\{\$)")
_HEREDOC = re.compile(rb"<<<[ \t]*(['\"]?)\w+['\"]?\r?\n(.*?)(?:\r?\n[ \t]*\w*)?$", re.DOTALL)
_LITERAL_PATH = re.compile(
    r"(__DIR__|dirname\(\s*__FILE__\s*\))?[\s.(]*['\"]([^'\"$]+)['\"]\s*\)?$"
)
_OWN_TYPE = frozenset({b"self", b"static"})  # a use of the type around where it is created only
_DOLLAR = ord("$")
_HEAD = re.compile(  # of a declaration that a syntax error may hide
    rb"^(?P<indent>[ \t]*)(?:(?:abstract|final|static|public|protected|private|readonly)[ \t]+)*"
    rb"(?P<keyword>class|interface|trait|enum|function)[ \t]+&?(?P<name>[A-Za-z_]\w*)[^\n{;]*",
    re.MULTILINE,
)
_HEAD_KINDS = {b"class": "class", b"interface": "interface", b"trait": "trait", b"enum": "enum",
               b"function": "function"}  # fmt: skip


def literal(raw: bytes) -> str | None:
    """Return the text of a string or heredoc; None when it interpolates."""
    if raw.startswith(b"<<<"):
        found = _HEREDOC.match(raw)
        if found is None or (found[1] != b"'" and _INTERPOLATED.search(found[2])):
            return None
        return found[2].decode(errors="replace")
    if not raw.startswith(b"'"):
        raw = raw[raw.find(b'"') :]
        if _INTERPOLATED.search(raw):
            return None
    return raw[1:-1].decode(errors="replace")


def declare(reader: Reader) -> None:
    _names(reader)
    for node in reader.nodes("qualified"):
        _qualified(reader, node)
    members.namespaces(reader)
    for capture, read in _READERS:
        for node in reader.nodes(capture):
            read(reader, node)
    flow.declare(reader)
    for draft in declare_lost(reader, _HEAD, _HEAD_KINDS):
        draft.visibility = "public"


def _names(reader: Reader) -> None:
    """Keep only names that are uses: no variables, unless called, and no `class` of `A::class`."""
    data = reader.data
    made = set(reader.starts("new"))
    names = [
        node
        for node in reader.nodes("id")
        if data[node.start_byte - 1] != _DOLLAR
        and (data[node.start_byte : node.end_byte] not in _OWN_TYPE or node.start_byte in made)
    ]
    if reader.root.has_error:
        names = [node for node in names if node.end_byte > node.start_byte]
    names += reader.nodes("static")
    for node in reader.nodes("variable_callee"):
        names.append(node)
        reader.mark(node.start_byte, "call")
        reader.bindings.append(BindingDraft(reader.text(node), "", "local", node.start_byte))
    reader.captures["id"] = names
    constants = reader.nodes("constant_name")
    keywords = [node for node in constants if data[node.start_byte : node.end_byte] == b"class"]
    reader.captures["skip"] = reader.nodes("skip") + keywords


def _qualified(reader: Reader, node: Node) -> None:
    """Make the namespace the name's receiver; a lone leading backslash tells a global name."""
    start, end = node.byte_range
    last = reader.data.rfind(b"\\", start, end)
    reader.receiver_spans[last + 1] = (start, max(last, start + 1))


def _stored(reader: Reader, target: Node | None) -> None:
    """Mark the properties that an assignment's left side writes to."""
    if target is None:
        return
    kind = target.type
    while kind == "subscript_expression":
        target = first(target)
        if target is None:
            return
        kind = target.type
    if kind in ("member_access_expression", "nullsafe_member_access_expression"):
        name = target.child_by_field_name("name")
        if name is not None and name.type == "name":
            reader.mark(name.start_byte, "write")
    elif kind == "scoped_property_access_expression":
        name = target.child_by_field_name("name")
        inner = first(name)
        if inner is not None and inner.type == "name":
            reader.mark(inner.start_byte, "write")
    elif kind == "list_literal":
        for child in target.named_children:
            _stored(reader, child)


def _caught(reader: Reader, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        reader.bind(name, reader.type_text(node.child_by_field_name("type")), "annotation")


def _use(reader: Reader, node: Node) -> None:
    group = node.child_by_field_name("body")
    clauses = (group or node).named_children
    prefix = ""
    for child in node.named_children:
        if child.type == "namespace_name" and group is not None:
            prefix = reader.text(child) + "\\"
    for clause in clauses:
        if clause.type != "namespace_use_clause":
            continue
        alias = clause.child_by_field_name("alias")
        for child in clause.named_children:
            if child.type in ("name", "qualified_name") and child != alias:
                _used(reader, clause, prefix, child, alias)
                break


def _used(reader: Reader, clause: Node, prefix: str, used: Node, alias: Node | None) -> None:
    full = prefix + reader.text(used)
    module, _, name = full.rpartition("\\")
    bound = reader.text(alias) if alias is not None else name
    reader.imports.append(ImportDraft(module.lstrip("\\"), name, bound, clause.start_byte, "use"))
    start = used.end_byte - len(name.encode())
    reader.mark(start, "import")
    if prefix and module:
        group = clause.parent.parent if clause.parent is not None else None
        for outer in parts(group, "namespace_name"):
            reader.receiver_spans[start] = outer.byte_range


def _require(reader: Reader, node: Node) -> None:
    """Record a file that a literal names, alone or behind `__DIR__` or another prefix."""
    path = first(node)
    if path is None:
        return
    found = _LITERAL_PATH.search(reader.text(path))
    if found is None:
        return
    module = "." + found[2] if found[1] and found[2].startswith("/") else found[2]
    kind = "require" if node.type.startswith("require") else "include"
    reader.imports.append(ImportDraft(module, "", "", node.start_byte, kind))


def _assigned(reader: Reader, node: Node) -> None:
    _stored(reader, node.child_by_field_name("left"))
    flow.bind(reader, node)


def _updated(reader: Reader, node: Node) -> None:
    _stored(reader, node.child_by_field_name("argument"))


_READERS = (
    ("class", members.class_like),
    ("function", members.function),
    ("property", members.properties),
    ("const", members.constants),
    ("case", members.case),
    ("assigned", flow.bind),
    ("stored", _assigned),
    ("updated", _updated),
    ("catch", _caught),
    ("import", _use),
    ("require", _require),
)

PHP = Grammar(
    language="php",
    bundle="php",
    query=QUERY,
    declare=declare,
    literal=literal,
    constructors=frozenset({"__construct"}),
    noise=frozenset(_NOISE.split()),
    self_name="this",
)
