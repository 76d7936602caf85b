"""Go: which packages does a file import, and by what names does it call them?"""

from __future__ import annotations

import re

from services.extractor.reader import ImportDraft, Reader

_NAME = re.compile(r"[^\W\d]\w*\Z")
_VERSION = re.compile(r"v[2-9]\d*\Z|v1\d+\Z")
_DOTTED_VERSION = re.compile(r"\.v\d+\Z")


def read_imports(reader: Reader) -> None:
    for node in reader.nodes("import"):
        path = reader.field_text(node, "path")[1:-1]
        name = reader.field_text(node, "name")
        if name == ".":
            found = ImportDraft(path, "*", "", node.start_byte)
        elif name == "_":
            found = ImportDraft(path, "", "", node.start_byte)
        else:
            found = ImportDraft(path, "", name or _package(path, reader.data), node.start_byte)
        reader.imports.append(found)


def _package(path: str, data: bytes) -> str:
    """Guess a package's name from its path: its last part, unless that is a version or no name.

    A part that can be read two ways is settled by what the file uses.
    """
    parts = [part for part in path.split("/") if part]
    if not parts:
        return ""
    last = _DOTTED_VERSION.sub("", parts[-1])
    if len(parts) > 1 and _VERSION.match(last) and not _used(last, data):
        last = _DOTTED_VERSION.sub("", parts[-2])
    if _NAME.match(last):
        return last
    words = re.split(r"\W+", last)
    guesses = [words[-1], words[0], "".join(words), "_".join(words)]
    names = [guess for guess in guesses if _NAME.match(guess)]
    return next((name for name in names if _used(name, data)), names[0] if names else "")


def _used(name: str, data: bytes) -> bool:
    return re.search(rb"(?<![\w.])" + name.encode() + rb"\.", data) is not None
