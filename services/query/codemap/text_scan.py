"""Which lines match a pattern? A program of its own, so that a pattern without end can be ended.

A match holds Python's lock for as long as it takes; in the server itself one bad pattern would stop
every other call. Reads a request from standard input, writes the matches to standard output.

Most patterns hold a text that every match must have. Files without it, and lines without it, need not
be tried; finding a text is a hundred times as fast.
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
_REPEAT = re.compile(r"[*?]|\{\d*,?\d*\}")
_UNSURE = re.compile(r"\(\?[^:P<=!]")  # flags change what all the rest means
_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | getattr(os, "O_DIRECTORY", 0)
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK

Match = tuple[str, int, str]


def matches(
    root: str, paths: list[str], pattern: str, limit: int, *, ignore_case: bool
) -> tuple[list[Match], int]:
    """(path, line, excerpt) of at most `limit` + 1 lines, and how many files were read."""
    search = re.compile(pattern, re.IGNORECASE if ignore_case else 0).search
    needle = required(pattern)
    if ignore_case:
        needle = needle.lower() if needle.isascii() else ""
    wanted = needle.encode(errors="replace")
    found: list[Match] = []
    folders = _Folders(os.path.realpath(root))
    for read, path in enumerate(paths, 1):
        data = folders.read(path)
        # Beyond ASCII a letter may be the other case of one that is ASCII.
        sure = needle if not ignore_case or (data or b"").isascii() else ""
        if data is None or (sure and wanted not in (data.lower() if ignore_case else data)):
            continue
        text = data.decode(errors="replace").removesuffix("\n")
        lines = _holding(text, sure, ignore_case) if sure else enumerate(text.split("\n"), 1)
        for number, line in lines:
            if search(line.removesuffix("\r")[:_LINE_CHARS]):
                found.append((path, number, line.strip()[:_EXCERPT_CHARS]))
                if len(found) > limit:
                    return found, read
    return found, len(paths)


def _holding(text: str, needle: str, ignore_case: bool) -> Iterator[tuple[int, str]]:
    """The lines that hold `needle`, with their numbers; a form feed or the like ends none."""
    folded = text.lower() if ignore_case else text
    number, counted = 1, 0
    at = folded.find(needle)
    while at >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        end = len(text) if end < 0 else end
        number += text.count("\n", counted, start)
        counted = start
        yield number, text[start:end]
        at = folded.find(needle, end)


class _Folders:
    """Reads files below a root without following a link, wherever in a path it took a place."""

    def __init__(self, root: str) -> None:
        self._open: list[tuple[str, int]] = [("", os.open(root, os.O_RDONLY))]

    def read(self, path: str) -> bytes | None:
        """The bytes of a file; None where it cannot be read."""
        *folders, name = path.split("/")
        try:
            file = os.open(name, _FILE, dir_fd=self._folder(folders))
            with os.fdopen(file, "rb", buffering=0) as opened:
                return opened.read(_FILE_BYTES)
        except (OSError, ValueError):
            return None

    def _folder(self, names: list[str]) -> int:
        """Files come in order of their paths, so that most are in the folder that is open."""
        same = 0
        while same < len(names) and same + 1 < len(self._open):
            if self._open[same + 1][0] != names[same]:
                break
            same += 1
        while len(self._open) > same + 1:
            os.close(self._open.pop()[1])
        for name in names[same:]:
            self._open.append((name, os.open(name, _FOLDER, dir_fd=self._open[-1][1])))
        return self._open[-1][1]


def required(pattern: str) -> str:
    """The longest text found that every match of a pattern holds; "" where none is sure."""
    if _UNSURE.search(pattern):
        return ""
    found, run, at = [""], "", 0
    while at < len(pattern):
        char, end, optional = pattern[at], at + 1, False
        if char == "\\":
            char, end = pattern[end : end + 1], end + 1
            char = "" if char.isalnum() else char
        elif char == "|":
            return ""
        elif char == "[":
            char, end = "", _class_end(pattern, at)
        elif char == "(":
            char, end = "", _group_end(pattern, at)
        elif char in "*?{":
            repeat = _REPEAT.match(pattern, at)
            if repeat:
                char, end, optional = "", repeat.end(), True
        elif char in ".^$+":
            char = ""
        run = run[:-1] if optional else run + char
        if not char:
            found.append(run)
            run = ""
        at = end
    best = max(*found, run, key=len)
    return "" if "\n" in best or "\ufffd" in best else best


def _class_end(pattern: str, at: int) -> int:
    """Behind the class of characters that begins at `at`."""
    at += 2 if pattern.startswith("[^", at) else 1
    at += pattern.startswith("]", at)  # is a character there
    while at < len(pattern) and pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1


def _group_end(pattern: str, at: int) -> int:
    """Behind the group that begins at `at`."""
    depth = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "[":
            at = _class_end(pattern, at)
            continue
        depth += (char == "(") - (char == ")")
        at += 2 if char == "\\" else 1
        if not depth:
            break
    return at


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    json.dump(matches(**asked), sys.stdout)
