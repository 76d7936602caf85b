"""Shell scripts: functions, variables, and the commands that may be functions."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.grammar import Grammar
from services.extractor.languages.nodes import first, parts
from services.extractor.reader import Draft, ImportDraft, Reader

QUERY = """
(variable_name) @id
(command name: (command_name (word) @id @callee))
(variable_assignment name: (variable_name) @write)
(declaration_command (variable_name) @declared)
(declaration_command (variable_assignment name: (variable_name) @declared))
(for_statement variable: (variable_name) @local)
(function_definition) @function
(program [(variable_assignment) (declaration_command)] @variable)
(command) @command
(comment) @comment
"""

_BUILTINS = (
    b". : [ alias break builtin case cd command continue declare echo eval exec exit export false "
    b"getopts hash let local popd printf pushd pwd read readonly return set shift shopt source "
    b"test times trap true type typeset ulimit umask unalias unset wait"
)
_LOCAL_WORDS = frozenset({"local", "declare", "typeset"})
_SOURCED = re.compile(r"^(?:\$\{?[^/]*|\$\(.*\))/")


def declare(reader: Reader) -> None:
    data = reader.data
    reader.captures["id"] = [
        node for node in reader.nodes("id") if not data[node.start_byte : node.end_byte].isdigit()
    ]
    functions = [_function(reader, node) for node in reader.nodes("function")]
    spans = sorted(draft.start for draft in functions if draft is not None)
    for node in reader.nodes("declared"):
        _declared(reader, node, spans)
    for node in reader.nodes("variable"):
        _variables(reader, node)
    for node in reader.nodes("command"):
        _source(reader, node)


def _function(reader: Reader, node: Node) -> Draft | None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None:
        return None
    draft = Draft("function", reader.text(name), node.start_byte, node.end_byte)
    head_end = node.end_byte if body is None else body.start_byte
    draft.signature = reader.line(node.start_byte, head_end)
    draft.doc = reader.doc_before(node.start_byte)
    draft.visibility = "public"
    draft.name_start = name.start_byte
    return reader.add(draft)


def _declared(reader: Reader, node: Node, functions: list[int]) -> None:
    """Take names that `local` declares, and `declare` inside of functions, for locals."""
    around = node.parent
    while around is not None and around.type != "declaration_command":
        around = around.parent
    if around is None:
        return
    word = around.child(0).type if around.child_count else ""
    while around is not None and around.type != "function_definition":
        around = around.parent
    inside = around is not None and around.start_byte in functions
    if word in _LOCAL_WORDS and inside:
        reader.locals.append(node.start_byte)
    else:
        reader.mark(node.start_byte, "write")


def _variables(reader: Reader, node: Node) -> None:
    """Declare the variables that the script itself sets."""
    word = node.child(0).type if node.type == "declaration_command" else ""
    found = [node] if not word else parts(node, "variable_assignment")
    for assignment in found:
        name = assignment.child_by_field_name("name")
        if name is None or name.type != "variable_name":
            continue
        draft = Draft("variable", reader.text(name), node.start_byte, node.end_byte)
        draft.name_start = name.start_byte
        draft.signature = reader.line(node.start_byte, node.end_byte)
        draft.doc = reader.doc_before(node.start_byte)
        draft.visibility = "public"
        options = [reader.text(child) for child in parts(node, "word")] if word else []
        if word == "readonly" or any(text[:1] == "-" and "r" in text for text in options):
            draft.kind = "constant"
        if word == "export" or any(text[:1] == "-" and "x" in text for text in options):
            draft.modifiers = ("export",)
        reader.roles.pop(name.start_byte, None)
        reader.add(draft)


def _source(reader: Reader, node: Node) -> None:
    """Record files that `source` or a dot reads; a variable in front counts as a folder."""
    name = node.child_by_field_name("name")
    if name is None or reader.text(name) not in ("source", "."):
        return
    argument = node.child_by_field_name("argument")
    if argument is None:
        return
    path = _SOURCED.sub("./", reader.text(argument).replace('"', "").replace("'", ""))
    if path and "$" not in path and first(node) is not None:
        reader.imports.append(ImportDraft(path, "", "", node.start_byte, "include"))


BASH = Grammar(
    language="bash",
    bundle="bash",
    query=QUERY,
    declare=declare,
    noise=frozenset(_BUILTINS.split()),
)
