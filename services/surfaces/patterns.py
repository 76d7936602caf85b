"""Which path does a route's regular expression stand for?"""

from __future__ import annotations

import re

_GROUP = re.compile(r"\((?:\?P<(?P<name>\w+)>|(?P<plain>\?:)|(?P<other>\?))?")


def plain_pattern(pattern: str) -> str:
    """Return a regular expression as a path: `^x/(?P<id>\\d+)/$` is `x/<id>/`."""
    text = pattern.removeprefix("^").removesuffix("$").removesuffix("\\Z").removeprefix("\\A")
    text = re.sub(r"\\([./-])", r"\1", _without_groups(text))
    return text.replace("/?", "/")


def _without_groups(text: str) -> str:
    """Name what a group captures; one that captures nothing and offers no choice is its content."""
    found, at = [], 0
    while (opening := _opening(text, at)) is not None:
        end = _closing(text, opening.end())
        found.append(text[at : opening.start()])
        inner = text[opening.end() : end]
        at = end + 1
        if opening["plain"]:
            if "|" in inner:
                found.append(text[opening.start() : at])
            else:
                found.append(_without_groups(inner))
                at += text[at : at + 1] == "?"
        elif opening["other"]:
            found.append(text[opening.start() : at])
        else:
            found.append(f"<{opening['name'] or ''}>")
    return "".join(found) + text[at:]


def _opening(text: str, at: int) -> re.Match[str] | None:
    at = text.find("(", at)
    while at > 0 and text[at - 1] == "\\":
        at = text.find("(", at + 1)
    return _GROUP.match(text, at) if at >= 0 else None


def _closing(text: str, at: int) -> int:
    """Return where the group ends that is open at a position; the text's end when it never does."""
    depth, listed = 1, False
    while at < len(text):
        letter = text[at]
        if letter == "\\":
            at += 1
        elif listed:
            listed = letter != "]"
        elif letter == "[":
            listed = True
        elif letter in "()":
            depth += 1 if letter == "(" else -1
            if depth == 0:
                return at
        at += 1
    return len(text)
