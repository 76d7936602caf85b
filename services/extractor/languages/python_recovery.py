"""Definitions of a Python file that syntax errors hide from its tree.

Half-written code is what an agent sees most; below the slip the parser may take whole functions for
loose words. Their `def` and `class` lines still tell name, place and, by indentation, extent.
"""

from __future__ import annotations

import keyword
import re

from services.extractor.languages.python_members import visibility
from services.extractor.reader import Draft, Reader

_MAX_REGIONS = 1_000
KEYWORDS = frozenset(word.encode() for word in keyword.kwlist)

_DEFINITION = re.compile(
    rb"^([ \t]*)((?:async[ \t]+)?(?:def|(class))[ \t]+([^\W\d]\w*)[^\n:]*(?:\([^\n]*)?)",
    re.MULTILINE,
)


def recover(reader: Reader) -> None:
    """Declare what the error regions define."""
    regions = reader.spans("error")[:_MAX_REGIONS]
    if not regions:
        return
    known = {draft.name_start for draft in reader.drafts}
    for found in _DEFINITION.finditer(reader.data):
        name_start = found.start(4)
        if name_start in known or not any(a <= name_start < b for a, b in regions):
            continue
        start, name = found.start(2), found[4].decode(errors="replace")
        draft = Draft("class" if found[3] else "function", name, start, _end(reader.data, found))
        draft.name_start = name_start
        draft.signature = reader.line(start, found.end()).rstrip(": ")
        draft.visibility = visibility(name)
        reader.add(draft)


def _end(data: bytes, found: re.Match[bytes]) -> int:
    """Return where the block ends: before the next line that is indented no deeper."""
    indent = len(found[1])
    following = re.compile(rb"\n(?=[ \t]{0,%d}[^\s#])" % indent).search(data, found.end())
    end = following.start() if following else len(data)
    return len(data[:end].rstrip())
