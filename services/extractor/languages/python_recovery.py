"""Definitions of a Python file that syntax errors hide from its tree.

Half-written code is what an agent sees most; below a slip the parser may take whole functions for
loose words. Their `def` and `class` lines still tell name, place and, by indentation, extent.
"""

from __future__ import annotations

import re

from services.extractor.languages.python_members import visibility
from services.extractor.reader import Draft, Reader

_MAX_REGIONS = 1_000
_DEFINITION = re.compile(
    rb"^(?P<indent>[ \t]*)(?P<head>(?:async[ \t]+)?(?P<word>def|class)[ \t]+"
    rb"(?P<name>[^\W\d]\w*)[^\n:]*(?:\([^\n]*)?)",
    re.MULTILINE,
)
_KINDS = {b"def": "function", b"class": "class"}


def recover(reader: Reader) -> None:
    """Declare what the error regions define."""
    regions = reader.spans("error")[:_MAX_REGIONS]
    if not regions:
        return
    known = {draft.name_start for draft in reader.drafts}
    for found in _DEFINITION.finditer(reader.data):
        name_start = found.start("name")
        if name_start in known or not any(a <= name_start < b for a, b in regions):
            continue
        name = found["name"].decode(errors="replace")
        start = found.start("head")
        draft = Draft(_KINDS[found["word"]], name, start, _end(reader.data, found))
        draft.name_start = name_start
        draft.signature = reader.line(start, found.end()).rstrip(": ")
        draft.visibility = visibility(name)
        reader.add(draft)


def _end(data: bytes, found: re.Match[bytes]) -> int:
    """Return where the block ends: before the next line that is indented no deeper."""
    following = re.compile(rb"\n(?=[ \t]{0,%d}[^\s#])" % len(found["indent"]))
    line = following.search(data, found.end())
    return len(data[: line.start() if line else len(data)].rstrip())
