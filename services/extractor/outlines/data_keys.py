"""Keys of JSON, YAML, TOML and INI files, two levels deep, at most 200 a file.

Where compilers and packages say modules are, JSON is read deeper, and what is said of each is shown
whole.
"""

from __future__ import annotations

import re

from services.extractor.outlines.entries import entry
from services.extractor.reader import Draft

MAX_KEYS = 200
_MAX_TOKENS = 60_000

_JSON = re.compile(rb"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|[{}\[\],:]", re.DOTALL)
_OF_PACKAGES = frozenset({"exports", "imports"})
_OF_MODULES = _OF_PACKAGES | {"paths"}
_BARE_KEY = re.compile(rb"([\w$-]+)\s*\Z")
_YAML = re.compile(
    rb"^(?P<indent> *)(?P<key>\"[^\"\n]{1,120}\"|'[^'\n]{1,120}'|[^\s#&*!|>%@`\"'{}\[\],:-][^\n#:{}]{0,119}?"
    rb"|-[\w][^\n#:{}]{0,119}?) *:(?=[ \t\r\n]|$)(?P<value>[^\n]*)",
    re.MULTILINE,
)
_BLOCK_TEXT = re.compile(rb"\s*(?:[&!]\S+\s+)*[|>][-+\d]*\s*(?:#.*)?$")
_SECTION = re.compile(
    rb"^[ \t]*(?:\[\[?[ \t]*(?P<section>[^\]\n]{1,200}?)[ \t]*\]?\]"
    rb"|(?P<key>\"[^\"\n]{1,120}\"|'[^'\n]{1,120}'|[\w.\-/@*]{1,120})[ \t]*[=:](?P<value>[^\n]*))",
    re.MULTILINE,
)


def json(data: bytes) -> list[Draft]:
    """Return the keys of the outermost object and of the objects in it."""
    found: list[Draft] = []
    depth = 0
    in_array: list[bool] = []
    pending: tuple[bytes, int] | None = None  # a string that may turn out a key
    open_keys: dict[int, Draft] = {}  # by depth
    last = 0
    for count, match in enumerate(_JSON.finditer(data)):
        if count > _MAX_TOKENS:
            break
        token = match[0]
        first = token[:1]
        if first == b'"':
            pending = (token[1:-1], match.start())
        elif first == b":" and in_array and not in_array[-1] and _is_shown(depth, open_keys):
            name, start = pending or _bare(data, last, match.start())
            if name and not any(in_array):
                if len(found) >= MAX_KEYS:
                    break
                draft = entry("key", name, start, match.end())
                open_keys[depth] = draft
                found.append(draft)
            pending = None
        elif first in b"{[":
            depth += 1
            in_array.append(first == b"[")
            pending = None
        elif first in b"}]," and first:
            draft_done = open_keys.pop(depth, None)
            if draft_done is not None:
                draft_done.end = max(draft_done.end, len(data[: match.start()].rstrip()))
            if first != b"," and in_array:
                depth -= 1
                in_array.pop()
            pending = None
        last = match.end()
    return _with_lists(data, _signed(data, found))


def _with_lists(data: bytes, found: list[Draft]) -> list[Draft]:
    """Show lists over several lines whole where they say where modules are."""
    within = -1  # end of what says so
    for draft in found:
        if draft.start >= within and draft.name in _OF_MODULES:
            within = draft.end
        elif draft.start < within and draft.signature.endswith(":"):
            text = data[draft.start : min(draft.end, draft.start + 300)]
            if text.endswith(b"]"):
                draft.signature = " ".join(text.decode(errors="replace").split())
    return found


def _is_shown(depth: int, open_keys: dict[int, Draft]) -> bool:
    """Two levels, and more where modules are told of."""
    return depth <= 2 or _is_of_modules(depth, open_keys)


def _is_of_modules(depth: int, open_keys: dict[int, Draft]) -> bool:
    """Does a key say where modules are?"""
    if depth == 3 and 2 in open_keys and open_keys[2].name == "paths":
        return True
    return 1 < depth <= 4 and 1 in open_keys and open_keys[1].name in _OF_PACKAGES


def _bare(data: bytes, start: int, end: int) -> tuple[bytes, int]:
    """Return a key without quotes, as JSON5 has them."""
    found = _BARE_KEY.search(data, start, end)
    return (found[1], found.start(1)) if found is not None else (b"", 0)


def yaml(data: bytes) -> list[Draft]:
    found: list[Draft] = []
    open_keys: list[tuple[int, Draft]] = []  # indentation, key
    text_indent = -1  # of the key whose block of text is being passed over
    for match in _YAML.finditer(data):
        indent = len(match["indent"])
        if text_indent >= 0:
            if indent > text_indent:
                continue
            text_indent = -1
        if _BLOCK_TEXT.match(match["value"]):
            text_indent = indent
        while open_keys and open_keys[-1][0] >= indent:
            open_keys.pop()[1].end = match.start()
        nested_in_list = _inside_list(data, open_keys, match.start("indent")) if indent else False
        if len(open_keys) >= 2 or (indent and (not open_keys or nested_in_list)):
            continue
        if len(found) >= MAX_KEYS:
            break
        draft = entry("key", match["key"].strip(b"\"'"), match.start("key"), len(data))
        open_keys.append((indent, draft))
        found.append(draft)
    return _signed(data, found)


def _inside_list(data: bytes, open_keys: list[tuple[int, Draft]], start: int) -> bool:
    """Does the key's parent hold a list, so that this is a key of one of its items?"""
    if not open_keys:
        return False
    line_end = data.find(b"\n", open_keys[-1][1].start)
    return data[line_end:start].lstrip().startswith(b"- ") if 0 <= line_end < start else False


def sections(data: bytes) -> list[Draft]:
    """Return the tables of TOML and the sections of INI files, with their keys."""
    found: list[Draft] = []
    section: Draft | None = None
    until = 0  # end of a value written over several lines
    for match in _SECTION.finditer(data):
        if match.start() < until:
            continue
        if match["section"]:
            if section is not None:
                section.end = match.start()
            section = entry("table", match["section"].strip(b"\"' "), match.start(), len(data))
            section.signature = f"[{section.name}]"
            found.append(section)
        else:
            until = _value_end(data, match.start("value"), match.end())
            draft = entry("key", match["key"].strip(b"\"'"), match.start("key"), until, match[0])
            found.append(draft)
        if len(found) >= MAX_KEYS:
            break
    return found


def _value_end(data: bytes, start: int, line_end: int) -> int:
    """Return where a TOML value ends: triple quotes and brackets may run over lines."""
    value = data[start:line_end].strip()
    for quotes in (b'"""', b"'''"):
        if value.startswith(quotes) and value.count(quotes) == 1:
            end = data.find(quotes, line_end)
            return line_end if end < 0 else end + 3
    if value.startswith((b"[", b"{")) and not value.rstrip(b",").endswith((b"]", b"}")):
        end = data.find(b"\n" + (b"]" if value[:1] == b"[" else b"}"), line_end)
        return line_end if end < 0 else end + 2
    return line_end


def _signed(data: bytes, drafts: list[Draft]) -> list[Draft]:
    """Show a key with what stands on its line."""
    for draft in drafts:
        while draft.end > draft.start and data[draft.end - 1 : draft.end].isspace():
            draft.end -= 1
        line_end = data.find(b"\n", draft.start)
        stop = min(draft.end, line_end if line_end >= 0 else draft.end, draft.start + 300)
        text = data[draft.start : stop].decode(errors="replace")
        draft.signature = " ".join(text.split()).rstrip("{[, ")
    return drafts
