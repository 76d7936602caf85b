"""Which lines match a pattern? A program of its own, so that a pattern without end can be ended.

A match holds Python's lock for as long as it takes; in the server itself one bad pattern would stop
every other call. Reads a request from standard input, writes the matches to standard output.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator

_LINE_CHARS = 1_000  # of a line that are looked at
_EXCERPT_CHARS = 200
_FILE_BYTES = 4 << 20


def matches(
    root: str, paths: list[str], pattern: str, limit: int, *, ignore_case: bool
) -> tuple[list[tuple[str, int, str]], int]:
    """(path, line, excerpt) of at most `limit` + 1 lines, and how many files were read."""
    search = re.compile(pattern, re.IGNORECASE if ignore_case else 0).search
    real = os.path.realpath(root)
    found: list[tuple[str, int, str]] = []
    for read, path in enumerate(paths, 1):
        for number, line in enumerate(_lines(real, path), 1):
            if search(line[:_LINE_CHARS]):
                found.append((path, number, line.strip()[:_EXCERPT_CHARS]))
                if len(found) > limit:
                    return found, read
    return found, len(paths)


def _lines(root: str, path: str) -> Iterator[str]:
    whole = os.path.join(root, path)
    if os.path.realpath(whole) != whole:  # a link took the place of a part of it
        return
    try:
        opened = os.open(whole, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    with os.fdopen(opened, "rb") as file:
        text = file.read(_FILE_BYTES).decode(errors="replace").removesuffix("\n")
    for line in text.split("\n"):  # a form feed or the like ends no line
        yield line.removesuffix("\r")


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    json.dump(matches(**asked), sys.stdout)
