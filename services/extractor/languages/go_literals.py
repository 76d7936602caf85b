"""Go: whose fields do the keys of composite literals set?

`Pod{Name: n}` writes the field Name of Pod. Elements of `[]Pod{{Name: n}}` leave their type out.
Keys of maps are plain values, and those of nameless structs, as tables of tests have, mean nothing
outside their function.
"""

from __future__ import annotations

import re

from services.extractor.reader import KIND_CODES, Reader

_WRITE, _NEW = KIND_CODES["write"], KIND_CODES["new"]
_NAMED = re.compile(rb"(?!map\[|(?:struct|interface|func)\b)(?:\w+\.)?(\w+)(?:\[.*)?\Z", re.DOTALL)
_ELEMENT = re.compile(rb"(?:\[[^\[\]]*\]|map\[(?:[^\[\]]|\[[^\[\]]*\])*\])\s*", re.DOTALL)

_Type = tuple[int, int]  # region of its source text
_NO_TYPE = (0, 0)


def read_keys(reader: Reader) -> None:
    """Mark literals of named types as creations, and their keys as writes of fields."""
    data, roles = reader.data, reader.roles
    types = {end: start for start, end in reader.spans("literal.type")}
    for end, start in types.items():
        named = _NAMED.match(data, start, end)
        if named is not None:
            roles[named.start(1)] = _NEW
    keys = reader.nodes("literal.key")
    if not keys:
        return
    literals = sorted(reader.spans("literal"))
    around: list[tuple[int, _Type]] = []  # end and type of the open literals, outermost first
    at, last = 0, len(literals)
    skipped = reader.captures.setdefault("skip", [])
    for key in sorted(keys, key=lambda node: node.start_byte):
        start = key.start_byte
        while at < last and literals[at][0] < start:
            first, end = literals[at]
            at += 1
            while around and around[-1][0] <= first:
                around.pop()
            if first in types:
                declared = (types[first], first)
            else:
                declared = _element(data, around[-1][1]) if around else _NO_TYPE
            around.append((end, declared))
        while around and around[-1][0] <= start:
            around.pop()
        declared = around[-1][1] if around else _NO_TYPE
        named = _NAMED.match(data, *declared)
        if named is not None:
            roles[start] = _WRITE
            reader.receiver_spans[start] = (declared[0], named.end(1))
        elif not _ELEMENT.match(data, *declared):
            skipped.append(key)


def _element(data: bytes, declared: _Type) -> _Type:
    """Return the type of a literal's elements; what is left of an element's own type."""
    found = _ELEMENT.match(data, *declared)
    if found is None:
        return _NO_TYPE
    start = found.end()
    return (start + data.startswith(b"*", start), declared[1])
