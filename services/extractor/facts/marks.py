"""What do a declaration's annotations, attributes or decorators say?

Symbols keep their text, but only so much of it on one line; it is read from the file.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from services.extractor.facts.source import Source
from services.surfaces import expressions
from services.surfaces.expressions import Arguments

_NONE = Arguments((), {}, 0, True)
_NAME = re.compile(
    r"(?:@|#?\[)?\s*(?:(?:assembly|return|param|property|field|get|set|file|method)\s*:\s*)?([\w.\\:]+?)(?:Attribute)?\s*(?:<[^>()]*>)?\s*(?=[(\],]|$|\s)"
)
_LONGEST = 290  # a text near the limit of what symbols keep may be cut


class Annotation(NamedTuple):
    """One annotation."""

    name: str  # simple, without a trailing "Attribute"
    arguments: Arguments
    line: int


def of(source: Source, index: int) -> list[Annotation]:
    """Return the annotations of a symbol; a list in one bracket is several."""
    found: list[Annotation] = []
    symbol = source.symbols[index]
    whole = ""
    position = symbol.start_byte
    for text in symbol.decorators:
        begin = position
        position = _found(source, text, position, symbol.end_byte)
        line = source.line_of(position) if position >= begin else symbol.start_line
        if len(text) >= _LONGEST or "\n" in whole:
            text = source.data[position : position + 4_000].decode(errors="replace")
        found += _read(text, line, source.language)
        position += 1
    return found


def _found(source: Source, text: str, position: int, end: int) -> int:
    head = text[: text.find("(") + 1 or 24].split(" ")[0].encode()
    at = source.data.find(head, position, end)
    if at < 0:
        at = source.data.find(head, max(0, position - 2_000), end)
    return at if at >= 0 else position


def _read(text: str, line: int, language: str) -> list[Annotation]:
    if text.startswith(("[", "#[")) and language != "python":
        parts = expressions.split(text, text.find("["), language)[0]
    else:
        parts = [text]
    found = []
    for part in parts:
        name = _NAME.match(part)
        if name is None:
            continue
        at = part.find("(", name.end(1))
        arguments = (
            expressions.arguments(part, at, language)
            if at >= 0 and not part[name.end() : at].strip()
            else _NONE
        )
        simple = re.split(r"[.\\:]+", name[1])[-1]
        found.append(Annotation(simple, arguments, line))
    return found
