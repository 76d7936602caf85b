"""C. Full names are plain names; `static` keeps a name private to its file."""

from __future__ import annotations

import re

from services.extractor.grammar import Grammar
from services.extractor.languages.c_members import Declarations
from services.extractor.languages.c_prepare import readable_c
from services.extractor.languages.c_query import C_QUERY
from services.extractor.languages.c_values import bind_declarations, includes
from services.extractor.reader import Reader

_PIECE = re.compile(rb'"((?:[^"\\]|\\.)*)"?', re.DOTALL)


def literal(raw: bytes) -> str | None:
    """Return the text of a string or of adjacent strings, escapes kept."""
    return b"".join(_PIECE.findall(raw)).decode(errors="replace")


def declare(reader: Reader) -> None:
    if reader.root.has_error:
        names = [node for node in reader.nodes("id") if node.end_byte > node.start_byte]
        reader.captures["id"] = names
    Declarations(reader).read()
    bind_declarations(reader)
    includes(reader)


C = Grammar(
    language="c",
    bundle="c",
    query=C_QUERY,
    declare=declare,
    literal=literal,
    prepare=readable_c,
    noise=frozenset({b"defined", b"__VA_ARGS__"}),
)
