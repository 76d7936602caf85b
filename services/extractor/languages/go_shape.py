"""What Go's declarations have in common: name, doc comment, parameters."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.reader import BindingDraft, Draft, Reader, clean_comment

_DIRECTIVE = re.compile(r"^go:[a-z].*\n?", re.MULTILINE)  # //go:noinline, //go:embed
_BESIDE = re.compile(rb"[ \t]*(//[^\n]{0,600}|/\*[^\n]{0,600}\*/)[ \t\r]*(?:\n|$)")


def begin(reader: Reader, kind: str, name: Node, node: Node) -> Draft:
    """Start a draft that spans `node`."""
    draft = Draft(kind, reader.text(name), node.start_byte, node.end_byte)
    draft.name_start = name.start_byte
    draft.visibility = visibility(draft.name)
    doc = reader.doc_before(node.start_byte)
    if doc:
        if "go:" in doc:
            directives = tuple(line.strip() for line in _DIRECTIVE.findall(doc))
            draft.decorators = tuple("//" + directive for directive in directives)
            doc = _DIRECTIVE.sub("", doc).strip()
        draft.doc = doc
    elif kind in ("field", "constant", "variable"):
        beside = _BESIDE.match(reader.data, node.end_byte)
        if beside is not None:
            draft.doc = clean_comment(beside[1].decode(errors="replace"))
    return draft


def visibility(name: str) -> str:
    return "public" if name[:1].isupper() else "package"


def take_parameters(reader: Reader, draft: Draft, node: Node) -> None:
    """Read the parameters and results of a function, a method or a function literal."""
    parameters = node.child_by_field_name("parameters")
    if parameters is not None:
        reader.typed_parameters.add(parameters.start_byte)
        for child in parameters.named_children:
            if child.type != "comment":
                _parameter(reader, draft, child)
    draft.arity = len(draft.params)
    result = node.child_by_field_name("result")
    if result is None:
        return
    draft.returns = reader.type_text(result)
    if result.type == "parameter_list":
        named = _bind(reader, result, "annotation")
        draft.returns = f"({', '.join(named)})" if named else draft.returns


def bind_parameters(reader: Reader, node: Node) -> None:
    """Bind the parameters of a function literal, which is no symbol."""
    parameters = node.child_by_field_name("parameters")
    if parameters is not None and parameters.start_byte not in reader.typed_parameters:
        _bind(reader, parameters, "parameter")


def _parameter(reader: Reader, draft: Draft, node: Node) -> None:
    names, text = _names_and_type(reader, node)
    draft.params += [(reader.text(name), text) for name in names] or [("", text)]


def _bind(reader: Reader, parameters: Node, origin: str) -> list[str]:
    """Bind what has a name, and return the type of each."""
    types = []
    for node in parameters.named_children:
        names, text = _names_and_type(reader, node)
        types += [text] * len(names)
        reader.bindings += [
            BindingDraft(reader.text(name), text, origin, name.start_byte) for name in names
        ]
    return types


def _names_and_type(reader: Reader, node: Node) -> tuple[list[Node], str]:
    """Take `a, b int` apart; what comes last is the type."""
    parts = node.named_children
    if not parts:
        return [], ""
    text = reader.type_text(parts[-1])
    if node.type == "variadic_parameter_declaration":
        text = "..." + text
    return [part for part in parts[:-1] if part.type == "identifier"], text
