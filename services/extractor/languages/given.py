"""What do the arguments of a call tell of their types, in languages that tell callables apart by them?

Each is written as contracts.extract.References has it: ":T" when its text tells its type, an expression
that another place may know the type of, or "" for what nobody tells.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tree_sitter import Node

from services.extractor.languages.shape import without_arguments
from services.extractor.reader import Reader, short_expression

_MOST = 12  # arguments
_DEEP = 6  # brackets, operands and wrappers within each other
_SHORT = 90  # bytes of a list that is likely to be plain
_OPENING = ord("(")
_PLAIN = re.compile(
    rb"\s*(?:(?P<name>[&*]?[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)*)"
    rb"|(?P<number>-?\d[\w.]*)|\"[^\"\\\n$]*\")\s*"
)
_LOGIC = frozenset({"==", "!=", "<", ">", "<=", ">=", "&&", "||", "===", "!==", "is", "in"})


class Words(NamedTuple):
    """How one grammar calls what tells a type."""

    literals: dict[str, str]  # kind of node -> what it tells
    numbers: dict[str, Callable[[str], str]]  # kind of node -> what its text tells
    names: frozenset[str]  # expressions whose type another place may know
    casts: dict[str, str]  # kind of node -> field of the type; "" its last child, "x*" a pointer
    wrappers: frozenset[str]  # what stands for its only child
    binary: frozenset[str]
    truth: str  # the type of a comparison
    text: str  # the type of a text, which `+` makes of a text and anything
    words: dict[str, str]  # names that are literals -> what they tell
    number: Callable[[str], str]
    text_literal: str
    labels: bool = False  # an argument may be given by its parameter's name
    macros: bool = False  # a call of a name in capitals is none


def read_given(reader: Reader, words: Words) -> None:
    """Note what every call's arguments tell, by where the called name starts."""
    for capture in ("args.direct", "args"):
        for node in reader.unordered(capture):
            if 0 < node.named_child_count <= _MOST and (name := _called(node)) is not None:
                if words.macros and reader.data[name.start_byte : name.end_byte].isupper():
                    continue
                told = _plainly(reader.data, node, words) or _all_told(reader, node, words)
                if any(told):
                    reader.arguments[name.start_byte] = "\n".join(told)


def _plainly(data: bytes, node: Node, words: Words) -> list[str]:
    """Read what most lists are, names and numbers, without their nodes; [] for any other list."""
    start, end = node.byte_range
    if end - start > _SHORT or data[start] != _OPENING:
        return []
    found = []
    for part in data[start + 1 : end - 1].split(b","):
        plain = _PLAIN.fullmatch(part)
        if plain is None:
            return []
        name, number = plain["name"], plain["number"]
        if name is not None:
            text = name.decode()
            found.append(words.words.get(text, text))
        elif number is not None:
            found.append(words.number(number.decode()))
        else:
            found.append(words.text_literal)
    return found


def _called(node: Node) -> Node | None:
    """Return the last name before an argument list."""
    before = node.prev_named_sibling
    if before is None and node.parent is not None:
        before = node.parent.prev_named_sibling
    while before is not None and before.type.endswith(("type_arguments", "argument_list")):
        before = before.prev_named_sibling
    while before is not None and before.named_child_count:
        children = before.named_children
        inner = children[-1]
        if inner.type.endswith(("argument_list", "type_arguments")) and len(children) > 1:
            inner = children[-2]
        before = inner
    return before


def _all_told(reader: Reader, node: Node, words: Words) -> list[str]:
    given = [child for child in node.named_children if not child.type.endswith("comment")]
    if words.labels and any(_labelled(one) for one in given):
        return []  # their order tells nothing
    return [_told(reader, one, words) for one in given]


def _labelled(node: Node) -> bool:
    """Is an argument given by its parameter's name?"""
    return node.child_by_field_name("name") is not None or (
        node.type in ("value_argument", "assignment_expression")
        and any(child.type == "=" for child in node.children)
    )


def _told(reader: Reader, node: Node | None, words: Words, deep: int = _DEEP) -> str:
    while node is not None and node.type in words.wrappers and deep:
        value = node.child_by_field_name("value")
        inner = node.named_children
        node, deep = value or (inner[-1] if inner else None), deep - 1
        if node is None and value is None:
            return ""
    if node is None or not deep:
        return ""
    kind = node.type
    if kind in words.literals:
        return words.literals[kind]
    if kind in words.numbers:
        return words.numbers[kind](reader.text(node))
    if kind in words.casts:
        field = words.casts[kind]
        pointer = field[-1:] == "*"
        to = node.child_by_field_name(field.rstrip("*")) if field else node.named_children[-1]
        told = ":" + without_arguments(reader.type_text(to)) if to is not None else ""
        return told + "*" if pointer and told else told
    if kind in words.names:
        return _folded(reader.type_text(node))
    return _operated(reader, node, words, deep - 1)


def _folded(text: str) -> str:
    """Leave the arguments of an expression's calls out."""
    at = text.find("(")
    if at < 0 and "\n" not in text:
        return text
    if at > 0 and text[-1] == ")" and text.count("(") == 1 and " " not in text[:at]:
        return text[: at + 1] + ")"
    return short_expression(text.encode())


def _operated(reader: Reader, node: Node, words: Words, deep: int) -> str:
    if node.type == "conditional_expression":
        told = _told(reader, node.child_by_field_name("consequence"), words, deep)
        if told in ("", ":null"):
            told = _told(reader, node.child_by_field_name("alternative"), words, deep)
        return told
    children = node.named_children
    if node.type not in words.binary or len(children) < 2:
        return ""
    between = reader.data[children[0].end_byte : children[-1].start_byte].decode(errors="replace")
    if between.strip() in _LOGIC:
        return words.truth
    sides = [_told(reader, child, words, deep) for child in (children[0], children[-1])]
    if words.text in sides and between.strip() == "+":
        return words.text
    if sides[0] == sides[1] or between.strip() in ("??", "?:"):
        return sides[0]
    if sides[0] and sides[1].lower() == ":int":  # `count + 1` is what count is
        return sides[0]
    return ""
