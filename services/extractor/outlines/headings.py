"""Headings of prose: each spans its section, and sections nest by level."""

from __future__ import annotations

import re

from services.extractor.outlines.entries import close_levels, entry
from services.extractor.reader import Draft

_MARKDOWN = re.compile(
    rb"^ {0,3}(?:(?P<fence>`{3,}|~{3,})"
    rb"|(?P<marks>#{1,6})[ \t]+(?P<title>[^\n]+?)[ \t]*#*[ \t\r]*$"
    rb"|(?P<above>[^\s#>|\-*+`~=<][^\n]*)\r?\n {0,3}(?P<rule>=+|-{2,})[ \t\r]*$)",
    re.MULTILINE,
)
_FRONT_MATTER = re.compile(rb"\A(---|\+\+\+)[ \t\r]*\n.*?^\1[ \t\r]*$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(rb"!?\[([^\]]*)\]\([^)]*\)|[*`]|<[^>]*>")
_ANCHOR = re.compile(rb"\s*\{[#:.][^}]*\}\s*$")

_UNDERLINED = re.compile(
    rb"^(?P<over>([=\-~`'\"^_*+#<>:.])\2{2,})?[ \t\r]*\n?(?P<title>[^\s][^\n]*|[ \t]+\S[^\n]*)\r?\n"
    rb"(?P<rule>([=\-~`'\"^_*+#<>:.])\5{2,})[ \t\r]*$",
    re.MULTILINE,
)
_ASCIIDOC = re.compile(
    rb"^(?P<fence>-{4,}|\.{4,}|={4,}|`{3,})[ \t\r]*$|^(?P<marks>={1,6})[ \t]+(?P<title>[^\n]+)$",
    re.MULTILINE,
)
_ORG = re.compile(rb"^(?P<marks>\*{1,8})[ \t]+(?P<title>[^\n]+)$", re.MULTILINE)
_ORG_STATE = re.compile(rb"^(?:TODO|DONE|NEXT|WAITING)\s+|\s+:[\w:@]+:\s*$")
_LATEX = re.compile(
    rb"^[^%\n]*?\\(?P<level>part|chapter|section|subsection|subsubsection)\*?(?:\[[^\]]*\])?\{(?P<title>[^}]*)\}",
    re.MULTILINE,
)
_LATEX_LEVELS = (b"part", b"chapter", b"section", b"subsection", b"subsubsection")
_HTML = re.compile(
    rb"<h(?P<level>[1-6])\b[^>]{0,400}>(?P<title>.{0,600}?)</h[1-6]\s*>"
    rb"|<(?P<tag>[a-zA-Z][\w-]*)\b[^<>]{0,600}?\sid\s*=\s*[\"']?(?P<id>[^\"'\s<>{}]{1,120})"
    rb"|\{%-?\s*block\s+(?P<block>[\w.-]+)",
    re.DOTALL,
)
_TAG = re.compile(rb"<[^>]*>")
_HEADING_ID = re.compile(rb"\sid\s*=\s*[\"']?([^\"'\s<>{}]{1,120})")


def markdown(data: bytes) -> list[Draft]:
    found: list[tuple[int, Draft]] = []
    front = _FRONT_MATTER.match(data)
    fence = b""
    for match in _MARKDOWN.finditer(data, front.end() if front else 0):
        mark = match["fence"]
        if mark:
            if not fence:
                fence = mark
            elif mark.startswith(fence) and not data[match.end() : match.end() + 1].strip():
                fence = b""
        elif not fence:
            title = match["title"] or match["above"]
            level = len(match["marks"]) if match["marks"] else 1 if match["rule"][:1] == b"=" else 2
            plain = _ANCHOR.sub(b"", _LINK.sub(rb"\1", title)).strip()
            start = match.start("marks") if match["marks"] else match.start("above")
            if plain:
                draft = entry("heading", plain, start, len(data))
                draft.signature = f"{'#' * level} {draft.name}"
                found.append((level, draft))
    return close_levels(found, len(data))


def restructured_text(data: bytes) -> list[Draft]:
    """Read underlined titles; the order in which adornments appear gives their levels."""
    found: list[tuple[int, Draft]] = []
    levels: dict[bytes, int] = {}
    for match in _UNDERLINED.finditer(data):
        title, rule, over = match["title"].strip(), match["rule"], match["over"] or b""
        if len(rule) < len(title.decode(errors="replace")) or (over and over[:1] != rule[:1]):
            continue
        style = over[:1] + rule[:1]
        level = levels.setdefault(style, len(levels) + 1)
        start = match.start("over") if over else match.start("title")
        found.append((level, entry("heading", title, start, len(data))))
    return close_levels(found, len(data))


def asciidoc(data: bytes) -> list[Draft]:
    found: list[tuple[int, Draft]] = []
    fence = b""
    for match in _ASCIIDOC.finditer(data):
        if match["fence"]:
            if not fence:
                fence = match["fence"]
            elif match["fence"] == fence:
                fence = b""
        elif not fence:
            draft = entry("heading", match["title"], match.start(), len(data), match[0])
            found.append((len(match["marks"]), draft))
    return close_levels(found, len(data))


def org(data: bytes) -> list[Draft]:
    found = [
        (
            len(match["marks"]),
            entry(
                "heading", _ORG_STATE.sub(b"", match["title"]), match.start(), len(data), match[0]
            ),
        )
        for match in _ORG.finditer(data)
    ]
    return close_levels(found, len(data))


def latex(data: bytes) -> list[Draft]:
    found = [
        (
            _LATEX_LEVELS.index(match["level"]),
            entry("heading", match["title"], match.start("level") - 1, len(data)),
        )
        for match in _LATEX.finditer(data)
        if match["title"].strip()
    ]
    return close_levels(found, len(data))


def html(data: bytes) -> list[Draft]:
    """Return headings, which span their sections, ids, and the blocks of a template."""
    found: list[tuple[int, Draft]] = []
    points: list[Draft] = []
    for match in _HTML.finditer(data):
        if match["level"]:
            title = _TAG.sub(b"", match["title"]).strip()
            if title:
                line = b"h" + match["level"] + b" " + title
                draft = entry("heading", title, match.start(), len(data), line)
                found.append((int(match["level"]), draft))
            mark = _HEADING_ID.search(data, match.start(), match.start("title"))
            if mark is not None:
                points.append(entry("key", mark[1], *mark.span(1), b"id " + mark[1]))
        elif match["id"]:
            line = b"<" + match["tag"] + b" id=" + match["id"] + b">"
            points.append(entry("key", match["id"], match.start(), match.end(), line))
        else:
            line = b"block " + match["block"]
            points.append(entry("key", match["block"], match.start(), match.end(), line))
    drafts = close_levels(found, len(data)) + points
    return sorted(drafts, key=lambda draft: draft.start)
