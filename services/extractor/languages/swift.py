"""Swift: what a file declares and imports."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.grammar import Grammar
from services.extractor.languages import modifiers, shape, swift_values
from services.extractor.languages.broken_blocks import declare_lost
from services.extractor.languages.given import read_given
from services.extractor.languages.given_words import SWIFT as GIVEN
from services.extractor.languages.nodes import first, parts
from services.extractor.languages.swift_query import QUERY
from services.extractor.reader import TYPE_KINDS, Draft, ImportDraft, Reader

_NAMES = frozenset({"simple_identifier", "type_identifier"})
_TYPE_FIELDS = frozenset({"simple_identifier", "init"})
_KINDS = {"class": "class", "struct": "struct", "enum": "enum", "actor": "class"}
_VISIBILITIES = {"open": "public", "fileprivate": "private"}
_TARGET = re.compile(r"(?:^|/)(?:Sources|Tests)/([^/]+)/")
_WORDS = (
    rb"public|private|internal|open|fileprivate|final|static|override|mutating|nonmutating|lazy"
    rb"|convenience|required|indirect|weak|dynamic|nonisolated|class(?=[ \t]+func\b)"
)
_HEAD = re.compile(
    rb"^(?P<indent>[ \t]*)(?:(?:@\w+(?:\([^)\n]*\))?|" + _WORDS + rb")[ \t]+)*"
    rb"(?P<keyword>class|struct|enum|protocol|actor|extension|func)[ \t]+(?P<name>\w+)[^\n{]*",
    re.MULTILINE,
)
_HEAD_KINDS = {
    b"class": "class",
    b"struct": "struct",
    b"enum": "enum",
    b"protocol": "interface",
    b"actor": "class",
    b"extension": "",
    b"func": "function",
}

_Owner = tuple[str, str]  # simple and qualified name of an extended type


def module_of(path: str) -> str:
    """Return the target that a path belongs to, "" when its folders do not tell."""
    found = _TARGET.search(path)
    return found[1] if found is not None else ""


def declare(reader: Reader) -> None:
    owners = _extensions(reader)
    for node in reader.nodes("class"):
        _class(reader, node, owners)
    _conform(reader)
    for node in reader.nodes("function"):
        _function(reader, node, owners)
    local = set(reader.starts("property.local"))
    for node in reader.nodes("property"):
        if node.start_byte in local:
            swift_values.bind_local(reader, node)
        else:
            _properties(reader, node, owners)
    for node in reader.nodes("entry"):
        _entries(reader, node)
    for node in reader.nodes("alias"):
        _alias(reader, node, owners)
    for draft in declare_lost(reader, _HEAD, _HEAD_KINDS):
        word = draft.signature.partition(" ")[0]
        draft.visibility = word if word in ("public", "private") else "internal"
    swift_values.note_uses(reader)
    for node in reader.nodes("import"):
        _import(reader, node)
    read_given(reader, GIVEN)


def _begin(
    reader: Reader, kind: str, name: Node, node: Node, body: Node | None, owners: dict[int, _Owner]
) -> Draft:
    draft = modifiers.begin(reader, kind, name, node, body, "internal")
    draft.visibility = _VISIBILITIES.get(draft.visibility, draft.visibility)
    draft.owner, draft.prefix = owners.get(node.start_byte, ("", ""))
    if "override" in draft.modifiers:
        shape.override(reader, draft)
    return draft


def _extensions(reader: Reader) -> dict[int, _Owner]:
    """Map where each member of an extension starts to the type it extends."""
    owners: dict[int, _Owner] = {}
    for node in reader.nodes("class"):
        subject = node.child_by_field_name("name")
        if _keyword(reader, node) == "extension" and subject is not None:
            qualified = shape.without_arguments(reader.type_text(subject))
            for member in parts(node.child_by_field_name("body")):
                owners[member.start_byte] = (qualified.rpartition(".")[2], qualified)
    return owners


def _keyword(reader: Reader, node: Node) -> str:
    return reader.field_text(node, "declaration_kind")


def _class(reader: Reader, node: Node, owners: dict[int, _Owner]) -> None:
    name, keyword = node.child_by_field_name("name"), _keyword(reader, node)
    if name is None or keyword == "extension":
        return
    kind = "interface" if node.type == "protocol_declaration" else _KINDS.get(keyword, "class")
    draft = _begin(reader, kind, name, node, node.child_by_field_name("body"), owners)
    if keyword == "actor":
        draft.modifiers += ("actor",)
    shape.bases(reader, draft, _inherited(node), _NAMES)


def _inherited(node: Node) -> list[Node]:
    listed = [
        found.child_by_field_name("inherits_from") for found in parts(node, "inheritance_specifier")
    ]
    return [found for found in listed if found is not None and found.type == "user_type"]


def _conform(reader: Reader) -> None:
    """Give a type what an extension of it in the same file makes it conform to."""
    types: dict[str, Draft] = {}
    for draft in reader.drafts:
        if draft.kind in TYPE_KINDS:
            types.setdefault(draft.name, draft)
    for node in reader.nodes("class"):
        subject = node.child_by_field_name("name")
        if _keyword(reader, node) == "extension" and subject is not None:
            name = shape.without_arguments(reader.type_text(subject)).rpartition(".")[2]
            known = types.get(name, Draft("class", name, 0, 0))
            shape.bases(reader, known, _inherited(node), _NAMES)


def _function(reader: Reader, node: Node, owners: dict[int, _Owner]) -> None:
    kind, name = "function", node.child_by_field_name("name")
    if node.type == "init_declaration":
        kind = "constructor"
    elif node.type in ("deinit_declaration", "subscript_declaration"):
        keywords = [child for child in node.children if child.type != "modifiers"]
        name = keywords[0] if keywords else None
    if name is None:
        return
    body = node.child_by_field_name("body") or next(iter(parts(node, "computed_property")), None)
    draft = _begin(reader, kind, name, node, body, owners)
    for parameter in parts(node, "parameter"):
        draft.params.append(swift_values.parameter(reader, parameter))
    draft.arity = len(draft.params)
    types = [child for child in node.children_by_field_name("name") if child.is_named]
    types = [child for child in types if child.type not in _TYPE_FIELDS]
    if types:
        draft.returns = reader.type_text(types[-1])
    words = {child.type for child in node.children}
    draft.modifiers += tuple(word for word in ("async", "throws") if word in words)


def _properties(reader: Reader, node: Node, owners: dict[int, _Owner]) -> None:
    for number, (name, declared, value) in enumerate(swift_values.declared(node)):
        draft = _begin(reader, "property", name, node, _accessors(node), owners)
        line_end = reader.data.find(b"\n", name.end_byte, node.end_byte)
        if line_end >= 0 and _accessors(node) is None:
            cut = reader.line(line_end, node.end_byte)
            draft.signature = draft.signature.removesuffix(cut).rstrip("{= ")
        draft.returns = reader.type_text(declared)
        draft.lift = min(number, 1)  # `let a, b` span the same text, and none is inside another
        if declared is None:
            swift_values.bind_value(reader, name, value)


def _accessors(node: Node) -> Node | None:
    kinds = ("computed_property", "willset_didset_block", "protocol_property_requirements")
    return next(iter(parts(node, *kinds)), None)


def _entries(reader: Reader, node: Node) -> None:
    for name in node.children_by_field_name("name"):
        if name.type == "simple_identifier":
            draft = modifiers.begin(reader, "constant", name, node, None, "")
            draft.visibility = ""


def _alias(reader: Reader, node: Node, owners: dict[int, _Owner]) -> None:
    names = node.children_by_field_name("name")
    if names:
        draft = _begin(reader, "type", names[0], node, None, owners)
        if node.type == "typealias_declaration" and len(names) > 1:
            draft.returns = reader.type_text(names[-1])


def settle(draft: Draft, parent: Draft | None) -> None:
    """Cases are as visible as their enum, and outside of types a property is a variable."""
    if not draft.visibility:
        draft.visibility = parent.visibility if parent is not None else "internal"
    if parent is not None and parent.kind == "interface" and draft.visibility == "internal":
        draft.visibility = parent.visibility
    in_type = draft.owner or (parent is not None and parent.kind in TYPE_KINDS)
    if draft.kind == "property" and not in_type:
        draft.kind = "variable"


def _import(reader: Reader, node: Node) -> None:
    """`import M` makes all of M visible, `import struct M.T` one name."""
    path = next(iter(parts(node, "identifier")), None)
    if path is None:
        return
    text, start = reader.text(path), node.start_byte
    one = any(not child.is_named and child.type != "import" for child in node.children)
    module, _, name = text.rpartition(".")
    if one and module:
        reader.imports.append(ImportDraft(module, name, name, start))
        last = path.named_children[-1] if path.named_child_count else first(path)
        if last is not None:
            reader.mark(last.start_byte, "import")
    else:
        reader.imports.append(ImportDraft(text, "*", "", start))


SWIFT = Grammar(
    language="swift",
    bundle="swift",
    query=QUERY,
    declare=declare,
    module=module_of,
    literal=swift_values.literal,
    settle=settle,
    noise=frozenset({b"_", b"self", b"$0", b"$1", b"$2", b"$3"}),
    self_name="self",
)
