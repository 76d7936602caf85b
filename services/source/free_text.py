"""Is a text that an agent wants kept what it meant, and harmless to show again?

Two mistakes are refused: a text that swallowed the rest of the tool call it came in, and a URL that
carries a password. What is shown later has its invisible characters made visible; nothing else of it
is changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

ARGUMENTS = (
    "repoId", "topic", "id", "kind", "title", "body", "author", "provenance", "tags", "addLinks", "removeLinks",
    "ttlSeconds", "fencingToken", "key", "fields", "addTags", "removeTags", "region",
)  # fmt: skip
_BY_NAME = {name.casefold(): name for name in ARGUMENTS}
_FRAMING = frozenset({"parameter", "invoke", "function_calls"})
_GAP = 2_048  # characters between two markers, and after an opening one
_MARKER = re.compile(
    r"<(?P<closing>/?)[ \t]*(?:[\w.-]{1,64}:)?(?P<name>[\w-]{1,64})(?P<rest>[^<>\r\n]*)>"
)
_NAME_ATTRIBUTE = re.compile(r"""\bname\s*=\s*["']?([\w-]{1,64})""")
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_USERINFO_ENDS = re.compile(r"[/\\?#\s\"<>]")

# Controls (a tab and a line feed are text), directional marks, overrides and isolates, zero-width and
# other invisible characters, tag characters, halves of surrogate pairs.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)


class Marker(Struct, frozen=True):
    """One tag-like piece of tool-call markup."""

    start: int
    end: int
    name: str  # case-folded, without its prefix
    closing: bool
    argument: str  # the argument it stands for; "" of none


def swallowed(text: str) -> tuple[str, ...] | None:
    """The arguments that a text ends in the markup of, in order; None for a text that does not.

    It does when two or more markers, one of them closing, run up to its end. One marker in prose, or
    markup that prose follows, is text about markup.
    """
    if "<" not in text:
        return None
    markers = list(_markers(text))
    run: list[Marker] = []
    end = len(text)
    for marker in reversed(markers):
        between = text[marker.end : end]
        if not _belongs(between, last=not run, closing=marker.closing):
            break
        run.append(marker)
        end = marker.start
    if len(run) < 2 or not any(marker.closing for marker in run):
        return None
    names = (marker.argument for marker in reversed(run))
    return tuple(dict.fromkeys(name for name in names if name))


def _markers(text: str) -> Iterable[Marker]:
    for found in _MARKER.finditer(text):
        name = found["name"].casefold()
        if name not in _FRAMING and name not in _BY_NAME:
            continue
        argument = _BY_NAME.get(name, "")
        attribute = _NAME_ATTRIBUTE.search(found["rest"]) if name == "parameter" else None
        if attribute is not None:
            argument = _BY_NAME.get(attribute[1].casefold(), attribute[1])
        yield Marker(found.start(), found.end(), name, bool(found["closing"]), argument)


def _belongs(between: str, *, last: bool, closing: bool) -> bool:
    """Whether the text behind a marker is a value, up to the next marker or the end."""
    if last and closing:
        return not between.strip()
    return len(between) <= _GAP and _BLANK_LINE.search(between) is None


def credential(text: str) -> tuple[int, int] | None:
    """Offset and length of the credentials in the first URL that carries some.

    Judged by shape alone: `://`, then a userinfo that has a colon before its `@`.
    """
    start = text.find("://")
    while start >= 0:
        start += len("://")
        end = _USERINFO_ENDS.search(text, start)
        authority = text[start : end.start() if end else len(text)]
        userinfo, at, _ = authority.partition("@")
        if at and ":" in userinfo:
            return start, len(userinfo)
        start = text.find("://", start)
    return None


def mistakes(texts: Mapping[str, str | None]) -> tuple[str, str] | None:
    """What is wrong with the first of some named texts, and what to do; None when nothing is."""
    for name, text in texts.items():
        if not text:
            continue
        lost = swallowed(text)
        if lost is not None:
            others = [argument for argument in lost if argument != name]
            told = (
                f"the arguments {', '.join(others)} were swallowed and not applied"
                if others
                else ("nothing was applied")
            )
            return (
                f"{name} ends in the markup of a tool call: {told}",
                f"repeat the call with {name} ending before the markup",
            )
        found = credential(text)
        if found is not None:
            offset, length = found
            return (
                f"{name} holds a URL with credentials ({length} characters at offset {offset})",
                "leave user name and password out of the URL; say where they are kept instead",
            )
    return None


def visible(text: str) -> str:
    """The text with each invisible or steering character written out, as <U+202E>."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    return _HIDDEN.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def hides(text: str) -> bool:
    """Whether a text holds characters that nobody would see."""
    return _HIDDEN.search(text) is not None
