"""What declarations of brace languages have in common."""

from __future__ import annotations

import re

from tree_sitter import Node

from services.extractor.reader import Draft, Reader

_HEAD_END = re.compile(r"(?:\s|=>|[{;=:,])+$")
_GENERIC = re.compile(r"<.*|\(.*", re.DOTALL)


def begin(
    reader: Reader, kind: str, name: Node, node: Node, body: Node | None = None, start: int = -1
) -> Draft:
    """Start a draft of `node`; its signature runs from `start` (default: the node's) to `body`."""
    draft = Draft(kind, reader.text(name), node.start_byte, node.end_byte)
    draft.name_start = name.start_byte
    head_end = node.end_byte if body is None else body.start_byte
    draft.signature = head(reader, node.start_byte if start < 0 else start, head_end)
    draft.doc = reader.doc_before(node.start_byte)
    return draft


def head(reader: Reader, start: int, end: int) -> str:
    """Return a declaration's head as one line, without what opens its body."""
    return _HEAD_END.sub("", reader.line(start, end))


def without_arguments(type_text: str) -> str:
    """Return a type name without generic or constructor arguments."""
    return _GENERIC.sub("", type_text).strip()


def mark_last(reader: Reader, node: Node, kind: str, names: frozenset[str]) -> None:
    """Mark the last name of a possibly qualified, possibly generic type.

    `names` are the node types that are name tokens; arguments in brackets are passed over.
    """
    while node.type not in names:
        inner = node.child_by_field_name("name")
        if inner is None:
            parts = [
                child for child in node.named_children
                if not child.type.endswith(("arguments", "argument_list", "annotation"))
            ]  # fmt: skip
            if not parts:
                return
            inner = parts[-1]
        node = inner
    reader.mark(node.start_byte, kind)


def bases(reader: Reader, draft: Draft, nodes: list[Node], names: frozenset[str]) -> None:
    """Add base types, and mark the names they are written with."""
    for node in nodes:
        text = without_arguments(reader.type_text(node))
        if text:
            draft.bases.append(text)
            mark_last(reader, node, "base", names)


def share(draft: Draft, declarators: list[Node], at: int) -> None:
    """Give each variable of one declaration its own part of it, so that uses fall to the right one."""
    if len(declarators) > 1:
        draft.start = declarators[at].start_byte if at else draft.start
        draft.end = declarators[at].end_byte if at + 1 < len(declarators) else draft.end


def override(reader: Reader, draft: Draft) -> None:
    """Make the name of a method declared as an override a use of what it overrides."""
    reader.mark(draft.name_start, "override")
    draft.name_start = -1
