"""Rust: what do the tokens of macros and attributes use?

The grammar leaves them unparsed: names, literals and brackets in a row. Calls are told from what
follows a name (see the capture `args.tokens`); receivers, types and statics are found here.
"""

from __future__ import annotations

import re

from services.extractor.reader import Draft, Reader

_MEMBER = re.compile(rb"(?:\.|::)\s*(?:r#)?([^\W\d]\w*)")
_TYPE = re.compile(rb"([A-Z]\w*)(?:(?=::[\w<])|(?<=[a-z])( ?\{))")  # a path, or a struct literal
_JOINED = re.compile(rb"[\w.:]")
_TYPE_NAME = re.compile(rb"([A-Z]\w*)\b(?!::)")
_STATIC = re.compile(
    rb"(?:pub(?:\([^)]*\))?\s+)?static\s+(?:ref\s+)?(\w+)\s*:\s*([^=;{}]{1,300}?)\s*="
)
_STATIC_MACROS = (b"lazy_static!", b"thread_local!")
_PANICS = frozenset({b"panic!", b"std::panic!", b"core::panic!"})
_BACKWARDS = re.compile(rb"[\w!]+(?:(?:\.|::)\w+)*(?:(?=(\.)(?!\.))|(?=(::)))?")
_LOOK_BACK = 400
_NAMES_BYTES = 100
_OPENINGS = {ord(")"): ord("("), ord("]"): ord("[")}


def read_tokens(reader: Reader) -> None:
    data = reader.data
    for node in reader.nodes("macro_call"):
        _read(reader, *node.byte_range)
        head = data[node.start_byte : node.start_byte + 20].partition(b"!")[0] + b"!"
        if head in _PANICS:
            reader.mark(node.start_byte + head.rfind(b"panic"), "raise")
        elif head in _STATIC_MACROS:
            _statics(reader, *node.byte_range)
    for node in reader.nodes("macro_body"):
        _read(reader, *node.byte_range)
    for node in reader.nodes("attribute_tokens"):
        start = node.start_byte
        if data.startswith(b"derive", start - 6):
            for found in _TYPE_NAME.finditer(data, start, node.end_byte):
                reader.mark(found.start(1), "type")


def _read(reader: Reader, start: int, end: int) -> None:
    data = reader.data
    for found in _TYPE.finditer(data, start, end):
        at = found.start(1)
        if not _JOINED.match(data, at - 1):
            reader.mark(at, "type" if found[2] is None else "new")
    for found in _MEMBER.finditer(data, start, end):
        at = found.start()
        if data[at - 1 : at + 1] == b"..":
            continue
        first = _receiver_start(data, max(start, at - _LOOK_BACK), at)
        receiver = data[first:at].rstrip()
        if receiver:
            reader.receiver_spans.setdefault(found.start(1), (first, first + len(receiver)))


def _receiver_start(data: bytes, least: int, end: int) -> int:
    """Walk back over `a::b(c)?.d[0]` to where it starts; `end` when there is no receiver."""
    at = end
    while at > least:
        last = data[at - 1]
        if last in b" \t\r\n?":  # a chain may take several lines
            at -= 1
            continue
        if last in _OPENINGS:
            at = _opening(data, least, at)
            if at < 0:
                return end
        names = _BACKWARDS.match(data[max(least, at - _NAMES_BYTES) : at][::-1])
        if names is None:
            return at
        at -= names.end()
        if names[1] is not None:
            at -= 1
        elif names[2] is not None:
            at -= 2
        else:
            return at
    return at


def _opening(data: bytes, least: int, end: int) -> int:
    """Return where the bracket that closes right before `end` was opened, -1 when out of reach."""
    close = data[end - 1]
    opening = _OPENINGS[close]
    depth = 0
    for at in range(end - 1, least - 1, -1):
        if data[at] == close:
            depth += 1
        elif data[at] == opening:
            depth -= 1
            if depth == 0:
                return at
    return -1


def _statics(reader: Reader, start: int, end: int) -> None:
    """Declare what `lazy_static!` and `thread_local!` declare."""
    data = reader.data
    for found in _STATIC.finditer(data, start, end):
        last = data.find(b";", found.end(), end)
        draft = Draft("variable", found[1].decode(), found.start(), last if last > 0 else end)
        draft.name_start = found.start(1)
        draft.returns = reader.line(*found.span(2))
        draft.signature = reader.line(found.start(), found.end()).rstrip("= ")
        draft.modifiers = ("static",)
        draft.visibility = "public" if found[0].startswith(b"pub") else "private"
        draft.doc = reader.doc_before(found.start())
        reader.add(draft)
        for named in _TYPE_NAME.finditer(data, *found.span(2)):
            reader.mark(named.start(1), "type")
