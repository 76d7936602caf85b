"""Go: which packages does a file import, and by what names does it call them?"""

from __future__ import annotations

import re

from services.extractor.reader import ImportDraft, Reader

_SPEC = re.compile(rb"(?:(\.|[\w\x80-\xff]+)\s*)?[\"`]([^\"`\n]*)[\"`]")
_JOINED = re.compile(rb"[\w./\"]")
_NAME = re.compile(r"[^\W\d]\w*\Z")
_VERSION = re.compile(r"v[2-9]\d*\Z|v1\d+\Z")
_DOTTED_VERSION = re.compile(r"\.v\d+\Z")


def read_imports(reader: Reader) -> None:
    data = reader.data
    for start, end in reader.spans("import"):
        spec = _SPEC.match(data, start, end)
        if spec is None:
            continue
        name, path = (spec[1] or b"").decode(), spec[2].decode(errors="replace")
        if name == ".":
            found = ImportDraft(path, "*", "", start)
        elif name == "_":
            found = ImportDraft(path, "", "", start)
        else:
            found = ImportDraft(path, "", name or _package(path, data), start)
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
    """Does the file name a member of the package? Only a blank or a bracket may stand before."""
    text = name.encode() + b"."
    at = data.find(text)
    while at > 0 and _JOINED.match(data, at - 1):
        at = data.find(text, at + 1)
    return at >= 0
