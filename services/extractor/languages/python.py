"""Python."""

from __future__ import annotations

import keyword
import re

from tree_sitter import Node

from services.extractor.grammar import Grammar
from services.extractor.languages import python_members as members
from services.extractor.languages import python_values as values
from services.extractor.languages.nodes import first
from services.extractor.languages.python_imports import read_import
from services.extractor.languages.python_recovery import recover
from services.extractor.reader import Draft, Reader

QUERY = """
(identifier) @id
(call function: [(identifier) (attribute)] arguments: (argument_list) @args.direct)
(call function: [(identifier) (attribute)] arguments: (generator_expression) @args.one)
(attribute object: (_) @object)
(argument_list (string) @string)
(argument_list (concatenated_string) @string)
(argument_list (comment) @args.comment)
(keyword_argument . (identifier) @skip)
(keyword_pattern . (identifier) @skip)
(type) @type.span
(type (string) @quoted_type)
(type (subscript subscript: (string) @quoted_type))
(type (subscript subscript: (subscript subscript: (string) @quoted_type)))
(type (subscript subscript: (list (string) @quoted_type)))
(type (binary_operator (string) @quoted_type))
(delete_statement) @delete
(raise_statement) @raise_statement

(augmented_assignment) @augmented
(pattern_list (identifier) @target)
(tuple_pattern (identifier) @target)
(list_pattern (identifier) @target)
(list_splat_pattern (identifier) @local)
(dictionary_splat_pattern (identifier) @local)
(for_statement left: (identifier) @local) @loop
(for_in_clause left: (identifier) @local) @loop
([(for_statement left: [(pattern_list) (tuple_pattern)])
  (for_in_clause left: [(pattern_list) (tuple_pattern)])] @loop)
(match_statement) @match
(assert_statement) @assert
(return_statement) @return
(if_statement) @if
(named_expression name: (identifier) @local) @named
(as_pattern) @as_pattern
(case_pattern (dotted_name . (identifier) @local .))
(splat_pattern (identifier) @local)
(lambda_parameters) @lambda
(type_parameter (type (constrained_type . (type (identifier) @local))))
(global_statement (identifier) @global)
(nonlocal_statement (identifier) @local)

(function_definition) @function
(class_definition) @class
(decorated_definition) @decorated
(type_alias_statement) @alias
(assignment) @assignment
(ERROR) @error
[(import_statement) (import_from_statement) (future_import_statement)] @import @skip.span
"""

_STRING = re.compile(
    rb"([A-Za-z]{0,2})(?:\"\"\"(.*?)(?:\"\"\"|$)|'''(.*?)(?:'''|$)"
    rb"|\"([^\"\\]*(?:\\.[^\"\\]*)*)\"?|'([^'\\]*(?:\\.[^'\\]*)*)'?)",
    re.DOTALL,
)
_GAP = re.compile(rb"[\s\\]*")
_QUOTES = (b'"', b"'")
_DOTTED = re.compile(rb"((?:[^\W\d]\w*\.)*)([^\W\d]\w*)")
_SOURCE_ROOTS = frozenset({"src", "lib", "python"})


def module_of(path: str) -> str:
    """Return the dotted module of a path, a leading source folder left out."""
    parts = path.rpartition(".")[0].split("/")
    if len(parts) > 1 and parts[0] in _SOURCE_ROOTS:
        parts = parts[1:]
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts)


def literal(raw: bytes) -> str | None:
    """Return the value of a string or of adjacent strings; None when anything is computed."""
    quote = raw[:1]
    if raw[-1:] == quote in _QUOTES and raw.count(quote) == 2 and b"\\" not in raw:
        return raw[1:-1].decode(errors="replace")
    pieces = []
    at = 0
    while at < len(raw):
        found = _STRING.match(raw, at)
        if found is None:
            break
        if b"f" in found[1].lower() or b"t" in found[1].lower():
            return None
        pieces.append(found[found.lastindex or 2])
        gap = _GAP.match(raw, found.end())
        at = gap.end() if gap else found.end()
    return b"".join(pieces).decode(errors="replace")


def declare(reader: Reader) -> None:
    decorated = {
        definition.start_byte: node
        for node in reader.nodes("decorated")
        if (definition := node.child_by_field_name("definition")) is not None
    }
    for capture, define in _DEFINITIONS:
        for node in reader.nodes(capture):
            members.decorate(reader, define(reader, node), decorated.get(node.start_byte))
    members.variables(reader, reader.root.named_children)
    for capture, read in _READERS:
        for node in reader.nodes(capture):
            read(reader, node)
    recover(reader)


def _augmented(reader: Reader, node: Node) -> None:
    values.assigned(reader, first(node))


def _delete(reader: Reader, node: Node) -> None:
    for child in node.named_children:
        values.assigned(reader, child)


def _lambda(reader: Reader, node: Node) -> None:
    members.parameters(reader, Draft("function", "", 0, 0), node)


def _raise(reader: Reader, node: Node) -> None:
    raised = first(node)
    if raised is not None:
        values.mark_name(reader, raised, "raise")


def _quoted_type(reader: Reader, node: Node) -> None:
    """The names in a quoted annotation are types like any other."""
    start = node.start_byte
    before = reader.data[max(0, start - 200) : start]
    at = max(before.rfind(b"Literal["), before.rfind(b"Annotated["))
    if at >= 0 and b"]" not in before[at:]:  # a value, not a type
        return
    for found in _DOTTED.finditer(reader.data, start, node.end_byte):
        path, name = found[1], found[2]
        at = found.start(2)
        reader.extra_names[at] = at + len(name)
        reader.mark(at, "type")
        if path:
            reader.receiver_spans[at] = (found.start(1), found.end(1) - 1)


_DEFINITIONS = (
    ("function", members.function_definition),
    ("class", members.class_definition),
)
_READERS = (
    ("alias", members.type_alias),
    ("assignment", values.assignment),
    ("named", values.named),
    ("augmented", _augmented),
    ("delete", _delete),
    ("quoted_type", _quoted_type),
    ("as_pattern", values.as_pattern),
    ("lambda", _lambda),
    ("raise_statement", _raise),
    ("loop", values.loop),
    ("return", values.returned),
    ("if", values.narrowed),
    ("match", values.matched),
    ("assert", values.asserted),
    ("import", read_import),
)

PYTHON = Grammar(
    language="python",
    bundle="python",
    query=QUERY,
    declare=declare,
    module=module_of,
    literal=literal,
    settle=members.settle,
    constructors=frozenset({"__init__"}),
    noise=frozenset(word.encode() for word in keyword.kwlist),
    self_name="self",
)
