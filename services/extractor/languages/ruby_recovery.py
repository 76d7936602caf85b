"""Which Ruby declarations do syntax errors hide from the tree?

Where code is laid out as usual, the line that begins a class or method still tells its name, and the
`end` below it that is indented alike tells its extent.
"""

from __future__ import annotations

import re

from services.extractor.reader import Draft, Reader

_HEAD = re.compile(
    rb"^([ \t]*)(class|module|def)[ \t]+(self\.)?((?:[A-Z]\w*::)*)([A-Za-z_]\w*[?!=]?)([^\n;#]*)",
    re.MULTILINE,
)
_KINDS = {b"class": "class", b"module": "module", b"def": "function"}
_MAX_DECLARATIONS = 2_000


def recover(reader: Reader) -> None:
    """Declare what the lines of a broken file begin and its tree does not have."""
    if not reader.root.has_error:
        return
    known = {draft.name_start for draft in reader.drafts}
    for match in list(_HEAD.finditer(reader.data))[:_MAX_DECLARATIONS]:
        if match.start(5) in known or match.start(4) in known:
            continue
        start = match.end(1)
        draft = Draft(
            _KINDS[match[2]], match[5].decode(errors="replace"), start, _end(reader, match)
        )
        draft.name_start = match.start(5)
        draft.prefix = match[4].decode().replace("::", ".").strip(".")
        draft.signature = reader.line(start, match.end())
        draft.doc = reader.doc_before(start)
        draft.visibility = "public"
        if match[3]:
            draft.modifiers = ("static",)
        reader.add(draft)


def _end(reader: Reader, match: re.Match[bytes]) -> int:
    """Return where the block ends; one in a single line ends with it."""
    data = reader.data
    line_end = data.find(b"\n", match.end())
    line_end = len(data) if line_end < 0 else line_end
    if data[match.end() : line_end].rstrip().endswith(b"end"):
        return line_end
    found = re.compile(rb"^" + match[1] + rb"end\b", re.MULTILINE).search(data, line_end)
    return len(data.rstrip()) if found is None else found.end()
