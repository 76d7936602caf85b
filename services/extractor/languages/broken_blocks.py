"""Which declarations of a brace language do syntax errors hide from its tree?

Below a slip the parser may take whole functions for loose words. Where code is laid out as usual,
the line that begins a declaration still tells its name and owner, and indentation its extent.
"""

from __future__ import annotations

import re

from services.extractor.reader import KIND_CODES, Draft, Reader

_MAX_DECLARATIONS = 2_000
_OVERRIDE = KIND_CODES["override"]


def declare_lost(reader: Reader, head: re.Pattern[bytes], kinds: dict[bytes, str]) -> list[Draft]:
    """Declare what lines matching `head` begin and the tree does not have.

    `head` has the groups indent, keyword and name, and may have owner: the type a method belongs
    to. It ends where a signature ends. `kinds` maps keywords to kinds; "" opens a block whose
    functions belong to `name`, as a Rust impl does.
    """
    if not reader.root.has_error:
        return []
    known = {draft.name_start for draft in reader.drafts}
    known.update(start for start, kind in reader.roles.items() if kind == _OVERRIDE)
    found: list[Draft] = []
    owner, owner_end = "", -1
    for match in head.finditer(reader.data):
        name_start, start = match.start("name"), match.end("indent")
        kind = kinds.get(match["keyword"])
        end = _end(reader.data, match)
        name = match["name"].decode(errors="replace")
        if kind == "":
            owner, owner_end = name, end
            continue
        if kind is None or name_start in known or len(found) >= _MAX_DECLARATIONS:
            continue
        draft = Draft(kind, name, start, end)
        draft.name_start = name_start
        draft.signature = reader.line(start, match.end()).rstrip("{= ")
        draft.doc = reader.doc_before(start)
        if "owner" in head.groupindex and match["owner"]:
            draft.owner = match["owner"].decode(errors="replace")
        elif kind == "function" and start < owner_end:
            draft.owner = owner
        found.append(reader.add(draft))
    return found


def _end(data: bytes, match: re.Match[bytes]) -> int:
    """Return where a block ends: with the brace that closes it, before what stands beside it."""
    indent = len(match["indent"])
    line_end = data.find(b"\n", match.end())
    line_end = len(data) if line_end < 0 else line_end
    if not data[match.start() : line_end].rstrip().endswith((b"{", b"(", b",")):
        return match.start() + len(data[match.start() : line_end].rstrip())
    beside = re.compile(rb"\n[ \t]{0,%d}(?=[^\s)])(\}[^\n]*)?" % indent).search(data, line_end)
    if beside is None:
        return len(data.rstrip())
    end = beside.end() if beside[1] else beside.start()
    return match.start() + len(data[match.start() : end].rstrip())
