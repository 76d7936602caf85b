"""Declarations of languages made of blocks in braces: style sheets, protocols, schemas, HCL."""

from __future__ import annotations

import re
from collections.abc import Callable

from services.extractor.outlines.entries import comment_above, entry
from services.extractor.reader import Draft

_TOKEN = re.compile(
    rb"(?P<noise>//[^\n]*|#[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')|[{};]",
    re.DOTALL,
)
_CSS_TOKEN = re.compile(
    rb"(?P<noise>/\*.*?\*/|(?<![:\w\"'(])//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
    rb"|url\([^)\n]*\)|#\{[^}\n]*\})|[{};]",
    re.DOTALL,
)
_GRAPHQL_TOKEN = re.compile(
    rb"(?P<noise>#[^\n]*|\"\"\".*?\"\"\"|\"(?:[^\"\\\n]|\\.)*\")|[{}]", re.DOTALL
)
_MAX_TOKENS = 60_000
_COMMENTS = re.compile(rb"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*", re.DOTALL | re.MULTILINE)

_PROTO = re.compile(
    rb"\s*(?:(?P<type>message|enum|service|extend)\s+(?P<name>[\w.]+)"
    rb"|rpc\s+(?P<rpc>\w+)\s*\(\s*(?P<takes>(?:stream\s+)?[\w.]+)\s*\)\s*returns\s*"
    rb"\(\s*(?P<gives>(?:stream\s+)?[\w.]+)\s*\)"
    rb"|(?:(?:repeated|optional|required)\s+)?(?P<field_type>map\s*<[^>]*>|[\w.]+)\s+(?P<field>\w+)\s*=\s*\d+"
    rb"|(?P<value>\w+)\s*=\s*-?\w+)"
)
_PACKAGE = re.compile(rb"^[ \t]*package\s+([\w.]+)\s*;", re.MULTILINE)
_PROTO_KINDS = {b"message": "struct", b"enum": "enum", b"service": "interface", b"extend": "struct"}
_THRIFT = re.compile(
    rb"(?:^|\n)[ \t]*(?P<type>struct|exception|union|enum|service)\s+(?P<name>\w+)[^{}]*\Z"
)
_THRIFT_KINDS = {b"exception": "class", b"service": "interface"}
_GRAPHQL = re.compile(
    rb"(?:^|\n)[ \t]*(?:extend\s+)?(?P<type>type|interface|enum|input|query|mutation"
    rb"|subscription|fragment)\s+(?P<name>\w+)(?P<rest>[^{}]*)\Z"
)
_GRAPHQL_KINDS = {
    b"type": "class",
    b"interface": "interface",
    b"enum": "enum",
    b"input": "struct",
}
_GRAPHQL_FIELD = re.compile(
    rb"^[ \t]*(?P<name>\w+)[ \t]*(?P<args>\([^)]*\))?[ \t]*:[ \t]*(?P<type>[\w!\[\] ]+)",
    re.MULTILINE,
)
_GRAPHQL_PLAIN = re.compile(rb"^(?P<type>union|scalar)\s+(?P<name>\w+)[^\n]*", re.MULTILINE)
_HCL = re.compile(
    rb"(?:^|\n)[ \t]*(?P<type>\w[\w-]*)(?P<labels>(?:[ \t]+\"[^\"\n]*\"|[ \t]+\w[\w-]*)*)[ \t]*\Z"
)
_LABEL = re.compile(rb"\"([^\"\n]*)\"|(\w[\w-]*)")
_IMPLEMENTED = re.compile(rb"\bimplements\s+([\w\s&,]+)")

_Read = Callable[[bytes, int, int, bool, Draft | None], Draft | None]


def _walk(data: bytes, token: re.Pattern[bytes], read: _Read) -> list[Draft]:
    """Hand every head of a block and every statement to `read`, with the block around it."""
    found: list[Draft] = []
    around: list[Draft | None] = []
    start = 0
    for count, match in enumerate(token.finditer(data)):
        if count > _MAX_TOKENS:
            break
        if match["noise"] is not None:
            if not data[start : match.start()].strip() and match[0][:1] in b"/#":
                start = match.end()  # a comment above belongs to no head
            continue
        mark = match[0]
        parent = next((draft for draft in reversed(around) if draft is not None), None)
        draft = None
        if mark != b"}":
            draft = read(data, start, match.start(), mark == b"{", parent)
            if draft is not None:
                draft.end = match.end()
                found.append(draft)
        if mark == b"{":
            around.append(draft)
        elif mark == b"}" and around:
            closed = around.pop()
            if closed is not None:
                closed.end = match.end()
        start = match.end()
    for unclosed in around:
        if unclosed is not None:
            unclosed.end = len(data)
    return found


def _head(data: bytes, start: int, end: int) -> tuple[int, bytes]:
    """Return where a head begins, and its text without comments."""
    raw = data[start:end]
    text = _COMMENTS.sub(b" ", raw)
    return start + len(raw) - len(raw.lstrip()), text


def css(data: bytes) -> list[Draft]:
    """Return selectors, at-rules and mixins, two levels deep."""
    depths: dict[int, int] = {}

    def read(data: bytes, start: int, end: int, opens: bool, parent: Draft | None) -> Draft | None:
        depth = depths.get(id(parent), -1) + 1
        at, head = _head(data, start, end)
        text = head.strip()
        if not opens or depth > 1 or not text or text.endswith(b":"):
            return None
        if parent is not None and "keyframes" in parent.name:
            return None
        name, kind = text, "selector"
        if text.startswith((b"@mixin", b"@function")):
            name, kind = text.split(None, 1)[-1].partition(b"(")[0], "function"
        draft = entry(kind, name, at, end, text)
        depths[id(draft)] = depth
        return draft

    return _walk(data, _CSS_TOKEN, read)


def proto(data: bytes) -> list[Draft]:
    """Return messages, enums, services, their fields, values and calls, named from the package."""
    named = _PACKAGE.search(data)
    package = named[1].decode() if named is not None else ""

    def read(data: bytes, start: int, end: int, opens: bool, parent: Draft | None) -> Draft | None:
        at, head = _head(data, start, end)
        match = _PROTO.match(head)
        if match is None:
            return None
        line = match[0].strip()
        if match["type"] and opens:
            draft = entry(_PROTO_KINDS[match["type"]], match["name"], at, end, line)
        elif match["rpc"]:
            draft = entry("function", match["rpc"], at, end, line)
            draft.params = [("request", match["takes"].decode())]
            draft.arity = 1
            draft.returns = match["gives"].decode()
        elif match["field"] and parent is not None and not opens:
            draft = entry("field", match["field"], at, end, line)
            draft.returns = "".join(match["field_type"].decode().split())
        elif match["value"] and parent is not None and parent.kind == "enum":
            draft = entry("constant", match["value"], at, end, line)
        else:
            return None
        draft.doc = comment_above(data, at, b"//")
        if parent is None and package:
            draft.prefix, draft.absolute = package, True
        return draft

    return _walk(data, _TOKEN, read)


def thrift(data: bytes) -> list[Draft]:
    """Return structs, unions, enums, exceptions and services."""

    def read(data: bytes, start: int, end: int, opens: bool, _parent: Draft | None) -> Draft | None:
        match = _THRIFT.search(data, start, end) if opens else None
        if match is None:
            return None
        at = match.start("type")
        kind = _THRIFT_KINDS.get(match["type"], match["type"].decode())
        draft = entry(kind, match["name"], at, end, data[at:end])
        draft.doc = comment_above(data, at, b"//")
        return draft

    return _walk(data, _TOKEN, read)


def graphql(data: bytes) -> list[Draft]:
    """Return types with their fields, unions, scalars and named operations."""
    fields: list[Draft] = []

    def read(data: bytes, start: int, end: int, opens: bool, parent: Draft | None) -> Draft | None:
        match = _GRAPHQL.search(data, start, end)
        if match is None or not opens or parent is not None:
            return None
        kind = _GRAPHQL_KINDS.get(match["type"], "function")
        draft = entry(
            kind, match["name"], match.start("type"), end, data[match.start("type") : end]
        )
        implemented = _IMPLEMENTED.search(match["rest"])
        if implemented is not None:
            draft.bases = [name.decode() for name in re.findall(rb"\w+", implemented[1])]
        return draft

    found = _walk(data, _GRAPHQL_TOKEN, read)
    for draft in found:
        if draft.kind in ("class", "interface", "struct"):
            fields += _graphql_fields(data, draft)
    found += fields
    found += [
        entry(
            "union" if match["type"] == b"union" else "type", match["name"], *match.span(), match[0]
        )
        for match in _GRAPHQL_PLAIN.finditer(data)
    ]
    return sorted(found, key=lambda draft: (draft.start, -draft.end))


def _graphql_fields(data: bytes, owner: Draft) -> list[Draft]:
    found = []
    start = data.find(b"{", owner.start, owner.end)
    for match in _GRAPHQL_FIELD.finditer(data, start, owner.end):
        draft = entry("field", match["name"], match.start("name"), match.end(), match[0])
        draft.returns = match["type"].decode().strip()
        found.append(draft)
    return found


def hcl(data: bytes) -> list[Draft]:
    """Return outermost blocks, named by their labels: `resource "a" "b"` is a.b."""

    def read(data: bytes, start: int, end: int, opens: bool, parent: Draft | None) -> Draft | None:
        match = _HCL.search(data, start, end)
        if match is None or not opens or parent is not None:
            return None
        labels = [quoted or plain for quoted, plain in _LABEL.findall(match["labels"])]
        name = b".".join(labels) or match["type"]
        draft = entry("key", name, match.start("type"), end, data[match.start("type") : end])
        draft.doc = comment_above(data, match.start("type"), b"#")
        return draft

    return _walk(data, _TOKEN, read)
