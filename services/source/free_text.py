"""Is a text that an agent wants kept what it meant, and harmless to show again?

Two mistakes are refused: a text that swallowed the rest of the tool call it came in, and a URL that
carries a password. What is shown later has its invisible characters made visible; nothing else of it
is changed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from msgspec import Struct

ARGUMENTS = (
    "repoId", "topic", "id", "kind", "title", "body", "author", "provenance", "tags", "addLinks", "removeLinks",
    "ttlSeconds", "fencingToken", "key", "fields", "addTags", "removeTags", "region",
)  # fmt: skip
FACT_ARGUMENTS = (
    "repository", "id", "match", "content", "tags", "context", "memory_type", "certainty", "status",
    "expires_after_days", "superseded_by", "upsert_match", "upsert_threshold", "force",
)  # fmt: skip
_FRAMING = frozenset({"parameter", "invoke", "function_calls"})
_GAP = 2_048  # characters between two markers, and after an opening one
_MARKER = re.compile(
    r"<(?P<closing>/?)[ \t]*(?:[\w.-]{1,64}:)?(?P<name>[\w-]{1,64})(?P<rest>[^<>\r\n]*)>"
)
_NAME_ATTRIBUTE = re.compile(r"""\bname\s*=\s*["']?([\w-]{1,64})""")
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_USERINFO_ENDS = re.compile(r"[/\\?#\s\"<>]")

# Controls (a tab and a line feed are text), directional marks, overrides and isolates, zero-width and
# other invisible characters, fillers, tag characters, halves of surrogate pairs; and variation
# selectors, of which one chooses how the character before it looks, and more can only carry a message.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
    "|(?<=[\u180b-\u180d\ufe00-\ufe0f\U000e0100-\U000e01ef])[\u180b-\u180d\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
_JOINERS = "\u200c\u200d"
_FIRST_JOINED = 0x0590  # from Hebrew on, and emoji; Latin, Greek and Cyrillic join nothing


class Marker(Struct, frozen=True):
    """One tag-like piece of tool-call markup."""

    start: int
    end: int
    name: str  # case-folded, without its prefix
    closing: bool
    argument: str  # the argument it stands for; "" of none


def swallowed(text: str, arguments: tuple[str, ...] = ARGUMENTS) -> tuple[str, ...] | None:
    """The arguments that a text ends in the markup of, in order; None for a text that does not.

    It does when two or more markers, one of them closing, run up to its end. One marker in prose, or
    markup that prose follows, is text about markup.
    """
    if "<" not in text:
        return None
    markers = list(_markers(text, {name.casefold(): name for name in arguments}))
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


def _markers(text: str, by_name: Mapping[str, str]) -> Iterable[Marker]:
    for found in _MARKER.finditer(text):
        name = found["name"].casefold()
        if name not in _FRAMING and name not in by_name:
            continue
        argument = by_name.get(name, "")
        attribute = _NAME_ATTRIBUTE.search(found["rest"]) if name == "parameter" else None
        if attribute is not None:
            argument = by_name.get(attribute[1].casefold(), attribute[1])
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


def mistakes(
    texts: Mapping[str, str | None], arguments: tuple[str, ...] = ARGUMENTS
) -> tuple[str, str] | None:
    """What is wrong with the first of some named texts, and what to do; None when nothing is.

    `arguments` are those of the tool that was called.
    """
    for name, text in texts.items():
        if not text:
            continue
        lost = swallowed(text, arguments)
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
    return _HIDDEN.sub(_written_out, text)


def hides(text: str) -> bool:
    """Whether a text holds characters that nobody would see."""
    return any(not _joins(found) for found in _HIDDEN.finditer(text))


def bared(text: str) -> str:
    """The text without the characters that nobody would see."""
    return _HIDDEN.sub(lambda found: found[0] if _joins(found) else "", text)


def _written_out(found: re.Match[str]) -> str:
    return found[0] if _joins(found) else f"<U+{ord(found[0]):04X}>"


def _joins(found: re.Match[str]) -> bool:
    """Whether a zero-width joiner or non-joiner is spelling: between letters of a script that joins
    its letters, as in Persian and Hindi, or between the parts of an emoji."""
    if found[0] not in _JOINERS:
        return False
    text, at = found.string, found.start()
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    return _is_joined(before) and _is_joined(after)


def _is_joined(character: str) -> bool:
    return (
        character != ""
        and ord(character) >= _FIRST_JOINED
        and unicodedata.category(character) in ("Lo", "Mn", "Mc", "So", "Sk", "Sm")
    )
