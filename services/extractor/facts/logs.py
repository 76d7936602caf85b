"""Which messages does a program write to its log?

A template is a plain literal; a message put together at run time has none and is skipped.
"""

from __future__ import annotations

import re

from services.extractor.facts.source import CALL, Source, Use

_OPENING = re.compile(rb"\s*(?:<[^>()]*>)?\s*\(?\s*(?:@|[rRuU](?=[\"']))?([\"'`])")
LEVELS = {
    "trace": "Trace", "debug": "Debug", "info": "Info", "information": "Information",
    "warn": "Warning", "warning": "Warning", "error": "Error", "exception": "Error",
    "critical": "Critical", "fatal": "Fatal", "panic": "Panic", "verbose": "Verbose",
    "notice": "Notice", "alert": "Alert", "emergency": "Emergency", "log": "Info",
}  # fmt: skip


def level(source: Source, use: Use, name: str, detail: str = "", confidence: str = "") -> None:
    """Add the fact of a call whose name tells its level."""
    if use.kind == CALL and use.literal:
        template(source, use, name, detail, confidence)


def template(source: Source, use: Use, name: str, detail: str, confidence: str) -> None:
    """Add the first argument, if it is a plain literal, at a level."""
    opening = _OPENING.match(source.data, use.end)
    if opening is None:
        return
    text = source.after(use, 400)[opening.end() - use.end - 1 :]
    literal = use.literal or ""
    if (
        text[1 : 1 + len(literal)] != literal
        and "\\" not in text[: len(literal) + 8]
        and text[1:3] != '""'
        and text[1:3] != "''"
    ):
        return
    rest = text[1 + len(literal) :].lstrip("\"'`")[:2].strip()
    joined = {"php": "."}.get(source.language, "+")
    if rest.startswith(joined) or (opening[1] == b"`" and "${" in literal):
        return
    if source.language == "php" and opening[1] == b'"' and "$" in literal:
        return
    if source.language == "kotlin" and "$" in literal:
        return
    if source.language == "ruby" and "#{" in literal:
        return
    source.fact(
        "log",
        f"{literal[:200]}|{LEVELS.get(name.lower(), name)}",
        use,
        confidence or "medium",
        detail,
    )
