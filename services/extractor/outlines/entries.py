"""How is an entry of an outline made, and where does it end?"""

from __future__ import annotations

from services.extractor.reader import SIGNATURE_CHARS, Draft, clean_comment

_NAME_CHARS = 120


def entry(kind: str, name: bytes, start: int, end: int, signature: bytes = b"") -> Draft:
    """Return a draft whose name and signature are one line of text each."""
    text = " ".join(name.decode(errors="replace").split())[:_NAME_CHARS]
    line = " ".join(signature.decode(errors="replace").split())[:SIGNATURE_CHARS]
    return Draft(kind, text, start, end, line or text)


def close_levels(found: list[tuple[int, Draft]], end: int) -> list[Draft]:
    """Let every entry run to the next of its level or above; levels count from the outermost."""
    open_entries: list[tuple[int, Draft]] = []
    for level, draft in found:
        while open_entries and open_entries[-1][0] >= level:
            open_entries.pop()[1].end = draft.start
        open_entries.append((level, draft))
    for _, draft in open_entries:
        draft.end = end
    return [draft for _, draft in found]


def comment_above(data: bytes, start: int, marker: bytes) -> str:
    """Return the block of comment lines that ends right above the line of `start`."""
    lines: list[bytes] = []
    at = data.rfind(b"\n", 0, start) + 1
    while at > 0:
        before = data.rfind(b"\n", 0, at - 1) + 1
        line = data[before:at].strip()
        if not line.startswith(marker):
            break
        lines.append(line)
        at = before
    return clean_comment(b"\n".join(reversed(lines)).decode(errors="replace")) if lines else ""
