"""Ruby: what do assignments, rescues and last expressions tell of types, and what is bound anew?"""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.languages.nodes import parts
from services.extractor.reader import BindingDraft, Reader, short_expression

_CONSTANTS = frozenset({"constant", "scope_resolution"})
_VALUES = frozenset({"identifier", "instance_variable", "self"})
_MADE_CLASSES = frozenset({"Class", "Data", "Module", "Struct"})
_RETURNED = "return"  # the name under which what a method returns is bound
_EARLY = re.compile(rb"\breturn\b(?![ \t]*(?:nil\b|false\b|true\b|if\b|unless\b|[\r\n;}]))")
_STORED = frozenset({"assignment", "operator_assignment"})


def declare(reader: Reader) -> None:
    assigned: dict[str, list[int]] = {}
    for node in reader.nodes("assigned"):
        name, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        if name is not None and value is not None:
            _bind_value(reader, name, value)
            if name.type == "identifier":
                assigned.setdefault(reader.text(name), []).append(node.start_byte)
    for node in reader.nodes("rebound"):
        reader.untold.append((reader.text(node), node.start_byte, 0))
    for node in reader.nodes("block_parameters"):
        _parameters(reader, node, node.parent)
    for node in reader.nodes("rescue"):
        _rescued(reader, node)
    for node in reader.nodes("method"):
        _returned(reader, node, assigned)


def _bind_value(reader: Reader, name: Node, value: Node) -> None:
    bound = _plain(reader.text(name))
    if not bound.removeprefix("self.").isidentifier():
        return
    told = _told(reader, value)
    if told is not None and name.type == "constant" and told[0] in _MADE_CLASSES:
        return
    start = name.start_byte
    if name.type == "identifier" and value.end_point[0] > name.start_point[0]:
        start = value.end_byte - 1  # in all of the value, it is what it was before
    if told is not None:
        reader.bindings.append(BindingDraft(bound, *told, start))
    elif name.type == "identifier" and not reader.text(value).startswith(f"{bound} "):
        reader.untold.append((bound, start, 0))


def _told(reader: Reader, value: Node) -> tuple[str, str] | None:
    """Return what an expression tells of its type, and as what."""
    if value.type == "call":
        text = _callee(reader, value)
        return (text, "call") if text else None
    return (_plain(reader.text(value)), "alias") if value.type in _VALUES else None


def _callee(reader: Reader, call: Node) -> str:
    method = call.child_by_field_name("method")
    receiver = call.child_by_field_name("receiver")
    if method is None or method.type not in ("identifier", "constant"):
        return ""
    if receiver is None:
        return reader.text(method)
    if receiver.type in _CONSTANTS and reader.text(method) == "new":
        return reader.text(receiver)
    return _plain(short_expression(reader.data[call.start_byte : method.end_byte]))


def _plain(text: str) -> str:
    """Spell an expression as bindings do: `self.repo.find` for `@repo&.find`."""
    text = text.replace("&.", ".")
    return "self." + text.lstrip("@") if text.startswith("@") else text


def _parameters(reader: Reader, listed: Node, block: Node | None) -> None:
    """Let the parameters of a block hide what is around it, for as long as it is."""
    end = block.end_byte - 1 if block is not None else 0
    for node in listed.named_children:
        name = node.child_by_field_name("name") or node
        inner = parts(node, "identifier") if node.type == "destructured_parameter" else [name]
        for one in inner:
            if one.type == "identifier":
                reader.untold.append((reader.text(one), one.start_byte, end))


def _rescued(reader: Reader, node: Node) -> None:
    """Bind e of `rescue Error => e`, as long as that clause is."""
    variable = node.child_by_field_name("variable")
    name = variable.named_children[0] if variable is not None and variable.named_children else None
    if name is None or name.type != "identifier":
        return
    text, start = reader.text(name), name.start_byte
    classes = parts(node.child_by_field_name("exceptions"))
    if len(classes) == 1 and classes[0].type in _CONSTANTS:
        reader.bindings += [
            BindingDraft(text, "", "block", start),
            BindingDraft(text, reader.text(classes[0]), "annotation", start),
            BindingDraft(text, "", "widen", node.end_byte - 1),
        ]
    else:
        reader.untold.append((text, start, node.end_byte - 1))


def _is_new(reader: Reader, node: Node) -> bool:
    """Does a class create one of its own?"""
    if node.type == "call" and node.child_by_field_name("receiver") is None:
        return reader.field_text(node, "method") == "new"
    return node.type == "identifier" and reader.text(node) == "new"


def _returned(reader: Reader, method: Node, assigned: dict[str, list[int]]) -> None:
    """Bind what a method returns, where its last expression creates, remembers or is an object."""
    body = method.child_by_field_name("body")
    if body is None or _EARLY.search(reader.data, body.start_byte, body.end_byte):
        return
    inner = [body]
    if body.type == "body_statement":
        inner = [node for node in body.named_children if node.type != "comment"]
    last = inner[-1] if inner else None
    if last is None or any(one.type in ("rescue", "ensure", "else") for one in inner):
        return
    if last.type in _STORED:
        last = last.child_by_field_name("right")
    if last is None or (last.type == "self" and method.type == "singleton_method"):
        return
    receiver = last.child_by_field_name("receiver") if last.type == "call" else None
    created = receiver is not None and receiver.type in _CONSTANTS
    own = last.type == "identifier" and any(
        body.start_byte <= start < last.start_byte for start in assigned.get(reader.text(last), ())
    )
    certain = created or own or last.type == "self" or _is_new(reader, last)
    told = _told(reader, last) if certain else None
    if last.type in ("instance_variable", *_CONSTANTS):
        told = reader.text(last), "alias"
    if told is not None:
        reader.bindings.append(BindingDraft(_RETURNED, *told, last.start_byte))
