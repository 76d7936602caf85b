"""C++. Full names follow namespaces and classes, wherever a member is defined."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.grammar import Grammar
from services.extractor.languages import c
from services.extractor.languages.c_prepare import readable_cpp
from services.extractor.languages.c_query import CPP_QUERY
from services.extractor.languages.c_values import bind_ranges, usings
from services.extractor.languages.given import read_given
from services.extractor.languages.given_words import CPP as GIVEN
from services.extractor.reader import TYPE_KINDS, Draft, Reader

_NOISE = (
    b"auto std defined __VA_ARGS__ static_cast dynamic_cast const_cast reinterpret_cast typeid "
    b"noexcept decltype default delete"
)
_RAW = re.compile(rb'[uUL8]*R"([^(\s]*)\((.*?)(?:\)\1"|$)', re.DOTALL)
_CPP_WORDS = re.compile(
    rb"^[ \t]*(?:class\s+[A-Za-z_][\w\s:<>,]{0,200}[{;]|namespace(?:\s+[\w:]+)?\s*\{|template\s*<"
    rb"|using\s+(?:namespace\s+[\w:]+|[\w:]+::\w+|\w+\s*=[^;\n]+);"
    rb"|(?:public|private|protected)\s*:\s*$|enum\s+class\b)",
    re.MULTILINE,
)
_CERTAIN_WORDS = (b"std::", b"nullptr", b"constexpr")
_LIKELY_WORDS = (b"class ", b"namespace", b"template", b"using ", b"private", b"public")
_HEAD_BYTES = 65_536
_ARROW = re.compile(
    rb"->\s*(get|lock|release|value|value_or|emplace|expired|has_value|reset|swap|unique"
    rb"|use_count|owner_before)\s*[(<]"
)


def looks_like_cpp(data: bytes) -> bool:
    """Tell a C++ header named `.h` from a C one by its words."""
    head = data[:_HEAD_BYTES]
    if any(word in head for word in _CERTAIN_WORDS):
        return True
    likely = any(word in head for word in _LIKELY_WORDS)
    return likely and _CPP_WORDS.search(head) is not None


def literal(raw: bytes) -> str | None:
    """Return the text of a string, raw string or adjacent strings."""
    found = _RAW.match(raw)
    return found[2].decode(errors="replace") if found else c.literal(raw)


def declare(reader: Reader) -> None:
    for found in _ARROW.finditer(reader.data):
        _arrow(reader, found)
    for node in reader.nodes("nested"):
        _nested(reader, node)
    c.declare(reader)
    bind_ranges(reader)
    usings(reader)
    read_given(reader, GIVEN)


def _arrow(reader: Reader, found: re.Match[bytes]) -> None:
    """Keep the arrow with a receiver whose member a smart pointer has as well."""
    name = reader.root.descendant_for_byte_range(*found.span(1))
    around = name.parent if name is not None else None
    if around is not None and around.type == "template_method":
        around = around.parent
    held = around.child_by_field_name("argument") if around is not None else None
    if name is None or held is None or held.type == "this":
        return
    if name.type == "field_identifier":
        reader.receiver_spans[name.start_byte] = (held.start_byte, found.start() + 2)


def _nested(reader: Reader, node: Node) -> None:
    """Make `a::b` the receiver of c in `a::b::c`."""
    if node.parent is not None and node.parent.type == "qualified_identifier":
        return
    inner: Node | None = node
    end = node.start_byte
    while inner is not None and inner.type == "qualified_identifier":
        scope = inner.child_by_field_name("scope")
        end = end if scope is None else scope.end_byte
        inner = inner.child_by_field_name("name")
    if inner is not None and end > node.start_byte:
        reader.receiver_spans[inner.start_byte] = (node.start_byte, end)


def settle(draft: Draft, parent: Draft | None) -> None:
    """A method named like its class constructs it."""
    if draft.kind == "method":
        owner = parent.name if parent is not None and parent.kind in TYPE_KINDS else draft.owner
        if draft.name == owner:
            draft.kind = "constructor"


CPP = Grammar(
    language="cpp",
    bundle="cpp",
    query=CPP_QUERY,
    declare=declare,
    literal=literal,
    settle=settle,
    prepare=readable_cpp,
    noise=frozenset(_NOISE.split()),
    self_name="this",
)
