"""What does a Prisma schema declare? Models, views, types and enums, with their fields and values."""

from __future__ import annotations

import re

from services.extractor.outlines.entries import comment_above, entry
from services.extractor.reader import Draft

_BLOCK = re.compile(
    rb"^[ \t]*(?P<type>model|view|type|enum|datasource|generator)[ \t]+(?P<name>\w+)[ \t]*\{",
    re.MULTILINE,
)
_END = re.compile(rb"^[ \t]*\}|\}[ \t]*$", re.MULTILINE)
_FIELD = re.compile(
    rb"^[ \t]*(?P<name>[A-Za-z]\w*)(?:[ \t]+(?P<type>\w+(?:\(\"[^\"\n]*\"\))?(?:\[\]|\?)?))?(?P<rest>[^\n]*)",
    re.MULTILINE,
)
_KINDS = {b"model": "class", b"view": "class", b"type": "struct", b"enum": "enum"}


def schema(data: bytes) -> list[Draft]:
    """Return what a schema declares, in order."""
    found: list[Draft] = []
    for block in _BLOCK.finditer(data):
        closing = _END.search(data, block.end())
        end = closing.end() if closing is not None else len(data)
        at = block.start("type")
        draft = entry(_KINDS.get(block["type"], "key"), block["name"], at, end, block[0].strip())
        draft.doc = comment_above(data, at, b"//")
        found.append(draft)
        if draft.kind == "key":
            continue
        for field in _FIELD.finditer(data, data.find(b"\n", block.end(), end) + 1 or end, end):
            inner = "constant" if draft.kind == "enum" else "field"
            if inner == "field" and not field["type"]:
                continue
            member = entry(inner, field["name"], field.start("name"), field.end(), field[0].strip())
            member.returns = (field["type"] or b"").decode() if inner == "field" else ""
            found.append(member)
    return found
