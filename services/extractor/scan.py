"""What can be outlined of a file that no grammar reads?

Headings of prose, keys of data files, and what definition languages declare, by line scans and
patterns. An outline is a help for finding places: it may miss what is written unusually.
"""

from __future__ import annotations

from collections.abc import Callable

from services.extractor.outlines import blocks, data_keys, headings, prisma, statements
from services.extractor.reader import Draft

MAX_ENTRIES = 2_000
_SCANNED_BYTES = 1_000_000

_SCANS: dict[str, Callable[[bytes], list[Draft]]] = {
    "markdown": headings.markdown,
    "rst": headings.restructured_text,
    "asciidoc": headings.asciidoc,
    "org": headings.org,
    "latex": headings.latex,
    "html": headings.html,
    "jinja": headings.html,
    "twig": headings.html,
    "erb": headings.html,
    "json": data_keys.json,
    "yaml": data_keys.yaml,
    "toml": data_keys.sections,
    "ini": data_keys.sections,
    "css": blocks.css,
    "scss": blocks.css,
    "less": blocks.css,
    "proto": blocks.proto,
    "thrift": blocks.thrift,
    "graphql": blocks.graphql,
    "prisma": prisma.schema,
    "hcl": blocks.hcl,
    "sql": statements.sql,
    "make": statements.make,
    "just": statements.just,
    "docker": statements.docker,
    "cmake": statements.cmake,
    "starlark": statements.starlark,
    "go-mod": statements.go_module,
}


def outline(language: str, data: bytes) -> list[Draft]:
    """Return what can be told of a text, in order, at most MAX_ENTRIES."""
    scan = _SCANS.get(language)
    return scan(data[:_SCANNED_BYTES])[:MAX_ENTRIES] if scan is not None else []


def module_of(path: str) -> str:
    """Return the dotted path of a file without its extension."""
    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    return ".".join(part for part in (folder.replace("/", "."), stem) if part)
