"""Which characters do these bytes stand for, when they are not UTF-8?

In this order: a byte order mark; UTF-8, where a file with a few broken bytes stays UTF-8; what the
file declares in its first lines (a coding cookie, an XML or HTML declaration), if it can be read so;
the one of the common legacy encodings whose reading looks most like words of its language. Where
none looks like it, the bytes are left as they are and what cannot be decoded is lost.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_DECLARED = re.compile(
    rb"""(?:coding[:=][ \t]*|charset=["']?|encoding=["'])([A-Za-z][\w.\-]{1,30})"""
)
_DECLARATION_BYTES: Final = 1_024
_SAMPLE_BYTES: Final = 16_384
_GOOD_ENOUGH: Final = 0.55
_GOOD_ENOUGH_OF_FEW: Final = 0.75
_FEW: Final = 8  # characters beyond ASCII
_MAY_BE_BROKEN: Final = 0.5  # broken bytes for each whole character of UTF-8 text


def to_utf8(data: bytes) -> bytes:
    """The same text in UTF-8; `data` itself when it is UTF-8 or nothing is known of it."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace").encode()
    if is_utf8(data):
        return data
    encoding = _declared(data) or _likeliest(_sample(data))
    if not encoding:
        return data
    try:
        return data.decode(encoding).encode()
    except UnicodeError:
        # Strict in the sample, not beyond: a few bytes are broken.
        return data.decode(encoding, "replace").encode()


def is_utf8(data: bytes) -> bool:
    """Whether data is UTF-8, apart from a few broken bytes; plain ASCII is."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if error.start and error.reason == "unexpected end of data":
            return True  # cut in the middle of a character
    else:
        return True
    sample = _sample(data)
    text = sample.decode(errors="replace")
    broken = text.count("\ufffd")
    whole = sum(char > "\x7f" for char in text) - broken
    return whole > 0 and broken <= _MAY_BE_BROKEN * whole


def marked_text(head: bytes) -> bool:
    """Whether the beginning of a file has a byte order mark and reads as text by it."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return "\0" not in head[: len(head) & ~3].decode(encoding, "replace")
    return False


def _declared(data: bytes) -> str:
    """The encoding that the file names, if Python knows it and the file can be read so."""
    found = _DECLARED.search(data[:_DECLARATION_BYTES])
    if found is None:
        return ""
    try:
        encoding = codecs.lookup(found[1].decode()).name
        if encoding in _NOT_TEXT or encoding.startswith(("utf", "ascii")):
            return ""
        data.decode(encoding)
    except (LookupError, UnicodeError, ValueError, AttributeError):
        return ""
    return encoding


_NOT_TEXT: Final = frozenset(
    {"base64", "bz2", "hex", "quopri", "rot13", "uu", "zlib", "idna", "punycode", "undefined",
     "unicode-escape", "unicode_escape", "raw-unicode-escape", "raw_unicode_escape", "mbcs", "oem"}
)  # fmt: skip


def _sample(data: bytes) -> bytes:
    """Whole lines that are not plain ASCII, some of them."""
    lines, size = [], 0
    for line in data.split(b"\n"):
        if line.isascii():
            continue
        lines.append(line[:_SAMPLE_BYTES])
        size += len(lines[-1])
        if size > _SAMPLE_BYTES:
            break
    return b"\n".join(lines)


def _likeliest(sample: bytes) -> str:
    best, found = 0.0, ""
    for encoding, worth in _CANDIDATES:
        try:
            text = sample.decode(encoding)
        except UnicodeError:
            continue
        score = _looks(text, worth)
        few = sum(char > "\x7f" for char in text) < _FEW
        if score > best and score >= (_GOOD_ENOUGH_OF_FEW if few else _GOOD_ENOUGH):
            best, found = score, encoding
    return found


def _looks(text: str, worth: Callable[[str], float]) -> float:
    """Mean worth of the characters beyond ASCII; letters count only among their own script."""
    total = 0.0
    count = 0
    for before, char, after in _with_neighbours(text):
        if char <= "\x7f":
            continue
        count += 1
        value = worth(char)
        if value and char.isalpha():
            ascii_beside = (before < "\x80" and before.isalpha()) or (
                after < "\x80" and after.isalpha()
            )
            if _is_latin(char) and not ascii_beside:
                value *= 0.7
            elif _is_cyrillic(char):
                lonely = not (_is_cyrillic(before) or _is_cyrillic(after))
                crooked = char.isupper() and _is_cyrillic(before) and before.islower()
                value *= 0.2 if ascii_beside or lonely or crooked else 1
        total += value
    return total / max(count, 1)


def _with_neighbours(text: str) -> Iterator[tuple[str, str, str]]:
    padded = f" {text} "
    return zip(padded, padded[1:], padded[2:], strict=False)


def _is_latin(char: str) -> bool:
    return char < "\u0250"


def _is_cyrillic(char: str) -> bool:
    return "\u0400" <= char <= "\u045f"


# Letters of Latin-1 without the division sign and such, and those that cp1252 adds.
_WESTERN = frozenset(map(chr, {*range(0xC0, 0x100)} - {0xD7, 0xF7, 0xD0, 0xF0, 0xDE, 0xFE}))
_WESTERN |= frozenset("\u0152\u0153\u0160\u0161\u0178\u017d\u017e")
_QUOTES = "\u2018\u2019\u201a\u201c\u201d\u201e\u2013\u2014\u2026"
_SIGNS = frozenset(
    f"{_QUOTES}\u2022\u20ac\xa0\xa1\xa3\xa5\xa7\xa9\xab\xae\xb0\xb1\xb2\xb3\xb5\xb7\xba\xbb\xbc\xbd\xbf\xd7"
)
_WIDE_SIGNS = frozenset(
    f"{_QUOTES}\u3001\u3002\u300a\u300b\u300c\u300d\u300e\u300f\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
)


def _western(char: str) -> float:
    return 0.95 if char in _WESTERN else 0.8 if char in _SIGNS else 0.0


def _cyrillic(char: str) -> float:
    return 0.9 if "\u0410" <= char <= "\u044f" or char in "ёЁ№" else 0.6 if char in _SIGNS else 0.0


def _japanese(char: str) -> float:
    if "\u3041" <= char <= "\u30fe" or char in "、。「」・":
        return 1.0
    if "\u4e00" <= char <= "\u9fff":
        return 0.8 if _leads(char, "euc_jp", 0xB0, 0xCF) else 0.2
    return 0.6 if "\uff01" <= char <= "\uff5e" or "\u3000" <= char <= "\u303f" else 0.0


def _chinese(char: str) -> float:
    if "\u4e00" <= char <= "\u9fff":
        return 0.85 if _leads(char, "gb2312", 0xB0, 0xD7) else 0.25
    return 0.6 if char in _WIDE_SIGNS else 0.3 if "\u3041" <= char <= "\u30fe" else 0.0


def _taiwanese(char: str) -> float:
    if "\u4e00" <= char <= "\u9fff":
        return 0.8 if _leads(char, "big5", 0xA4, 0xC6) else 0.2
    return 0.6 if char in _WIDE_SIGNS else 0.0


def _korean(char: str) -> float:
    if "\uac00" <= char <= "\ud7a3":
        return 0.95 if _leads(char, "euc_kr", 0xB0, 0xC8) else 0.1
    return 0.2 if "\u4e00" <= char <= "\u9fff" else 0.0


@cache
def _leads(char: str, encoding: str, first: int, last: int) -> bool:
    """Whether a character is among the common ones, which national standards put first."""
    try:
        return first <= char.encode(encoding)[0] <= last
    except UnicodeError:
        return False


_CANDIDATES: Final[tuple[tuple[str, Callable[[str], float]], ...]] = (
    ("cp1252", _western), ("latin-1", _western), ("cp932", _japanese), ("euc_jp", _japanese),
    ("gb18030", _chinese), ("big5", _taiwanese), ("cp949", _korean), ("cp1251", _cyrillic),
    ("koi8_r", _cyrillic),
)  # fmt: skip
