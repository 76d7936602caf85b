"""Blanks out macros that leave C and C++ unreadable before the preprocessor ran.

Only forms that no plain code has are touched, and every byte keeps its place. Lines of block
comments may be touched as well, which is of no consequence: texts come from the file itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_CAPITALS = rb"[A-Z][A-Z0-9]*_[A-Z0-9_]+"
# `BEGIN_DECLS`, alone on a line.
_ALONE = re.compile(rb"^" + _CAPITALS + rb"(?=[ \t]*\r?$)", re.MULTILINE)
# `LIB_API const char *name(`, `LIB_API int name;`
_LEADING = re.compile(
    rb"^" + _CAPITALS + rb"(?=[ \t]+(?:(?:const|struct|enum|unsigned|static|inline|extern)[ \t]+)*"
    rb"[A-Za-z_][\w:]*(?:<[^;(){}\n]*>)?[ \t*&]+[A-Za-z_]\w*[ \t]*[(;=\[])",
    re.MULTILINE,
)
# `EXTERN(int) name(`: the type stays.
_TYPED = re.compile(
    rb"^([A-Z]\w*\()([A-Za-z_][\w \t*]*)(\))(?=[ \t]+\**[A-Za-z_]\w*[ \t]*\()", re.MULTILINE
)
# `int LIB_CALLBACK(name)(int)` declares a name of a function type.
_CALLBACK = re.compile(rb"\b[A-Z][A-Z0-9_]*CALLBACK(?=\(\w+\)\()")
# `DEFINE_MAP(name, const key *, value)` without a semicolon, when nothing there is a body.
_INVOKED = re.compile(
    rb"^([A-Z_][A-Z0-9_]{2,}\()([^;{}()#\"]{1,300}(?:\([^;{}()#\"]{0,80}\)[^;{}()#\"]{0,200}){0,3})\)"
    rb"(?=[ \t]*\r?\n)(?!\s*[{;:,)=\[]|\s*[a-z_*]\w*[ \t]*\()",
    re.MULTILINE,
)
# `DEFINE_FLAG(int, size, 8, "text");`: types are no arguments.
_TYPED_INVOKED = re.compile(
    rb"^([A-Z][A-Z0-9]*_[A-Z0-9_]+\()((?:(?:const|unsigned)[ \t]+)*"
    rb"(?:int|bool|char|double|float|long|short|string|std::\w+|[a-z]\w*_t)[ \t*&]*,"
    rb"(?:[^;{}()\"]|\"(?:[^\"\\\n]|\\.)*\"|\([^;{}()\"]*\)){0,400})\)(?=;)",
    re.MULTILINE,
)
# `Set* sets_ GUARDED_BY(mutex_);`, `void f() EXCLUSIVE_LOCKS_REQUIRED(mutex_);`
_LOCKS = re.compile(
    rb"(?<=[\w)\]])\s+(?:[A-Z]+_)*(?:GUARDED_BY|REQUIRED|REQUIRES|EXCLUDED|EXCLUDES|ACQUIRED_AFTER"
    rb"|ACQUIRED_BEFORE|LOCK_FUNCTION|LOCK_RETURNED)\([^();{}]*\)(?=\s*[;{=])"
)
# `LIB_DEPRECATED("text") void name();`
_ATTRIBUTE = re.compile(
    rb"^[ \t]*[A-Z][A-Z0-9_]*(?:DEPRECATED|ATTRIBUTE|NODISCARD|WARN_UNUSED)[A-Z0-9_]*"
    rb"\(\"(?:[^\"\\\n]|\\.)*\"\)(?!\s*;)",
    re.MULTILINE,
)
# `bool is() const LIB_DELETED;`
_TRAILING = re.compile(rb"(\)|\bconst|\bnoexcept|\boverride)([ \t]+" + _CAPITALS + rb")(?=[ \t]*;)")
_STATEMENT = re.compile(rb"[ \t}]*(?:if|while|for|else|switch|return|case|do)\b")
# `class EXPORT Name`; two patterns, because each is looked for by its first word.
_EXPORTED = rb"[ \t]+)[A-Z][A-Z0-9_]+(?:\([^()\n]*\))?(?=[ \t]+[A-Za-z_][\w:]*\s*(?:final\s*)?[:{])"
_EXPORTS = (re.compile(rb"(class" + _EXPORTED), re.compile(rb"(struct" + _EXPORTED))

_NO_BREAK = re.compile(rb"[^\r\n]")

_Match = re.Match[bytes]


def _blank(found: _Match) -> bytes:
    return b" " * len(found[0])


def _spaced(found: _Match) -> bytes:
    return found[1] + _NO_BREAK.sub(b" ", found[2]) + b")"


def _declaration_only(found: _Match) -> bytes:
    """Leave a macro behind a statement's brackets alone; behind a declaration's it is blanked."""
    text = found.string
    line = text.rfind(b"\n", 0, found.start()) + 1
    if _STATEMENT.match(text, line) is not None:
        return found[0]
    return found[1] + b" " * len(found[2])


def _blank_lines(found: _Match) -> bytes:
    return _NO_BREAK.sub(b" ", found[0])


def _first_only(found: _Match) -> bytes:
    return found[1].ljust(len(found[0]))


def _type_only(found: _Match) -> bytes:
    return b" " * len(found[1]) + found[2] + b" "


def _emptied(found: _Match) -> bytes:
    """Keep the call, lose its arguments, and end it with a semicolon."""
    arguments = _NO_BREAK.sub(b" ", found[2])
    if arguments.endswith(b" "):
        return found[1] + arguments[:-1] + b");"
    return _NO_BREAK.sub(b" ", found[0])


_C: tuple[tuple[re.Pattern[bytes], Callable[[_Match], bytes]], ...] = (
    (_ALONE, _blank),
    (_LEADING, _blank),
    (_TYPED, _type_only),
    (_INVOKED, _emptied),
)


def readable_c(data: bytes) -> bytes:
    """Return the file as the C grammar can read it, of the same length."""
    for pattern, replacement in _C:
        data = pattern.sub(replacement, data)
    return _CALLBACK.sub(_blank, data) if b"CALLBACK(" in data else data


def readable_cpp(data: bytes) -> bytes:
    """Return the file as the C++ grammar can read it, of the same length."""
    data = _TYPED_INVOKED.sub(_spaced, readable_c(data))
    data = _LOCKS.sub(_blank_lines, _TRAILING.sub(_declaration_only, data))
    data = _ATTRIBUTE.sub(_blank, data)
    for pattern in _EXPORTS:
        data = pattern.sub(_first_only, data)
    return data
