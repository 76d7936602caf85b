"""Which routes do Tornado programs declare? Pairs of a pattern and a handler, wherever they are listed."""

from __future__ import annotations

import re

from services.extractor.facts.source import Source
from services.surfaces.patterns import plain_pattern

_STRING = r"[rRuUfF]{0,2}(?:\"[^\"\n]*\"|'[^'\n]*')"
_PAIR = re.compile(
    rb"(?P<before>[\w.]*)\(\s*(?P<pattern>%(string)b(?:\s*[%%+]\s*(?:%(string)b|\([^()\n]*\)|[\w.]+))*)\s*,\s*"
    rb"(?P<handler>[A-Za-z_][\w.]*|\"[\w.]+\"|'[\w.]+')\s*(?=[,)])" % {b"string": _STRING.encode()}
)
_FILLED = re.compile(rf"({_STRING})\s*%\s*(?:\(([^()]*)\)|([\w.]+))")
_RULES = frozenset({b"", b"url", b"URLSpec", b"Rule", b"PathMatches"})


def read(source: Source) -> None:
    if b"tornado" not in source.data or not source.imports_any("tornado"):
        return
    for found in _PAIR.finditer(source.data):
        if found["before"].rpartition(b".")[2] not in _RULES:
            continue
        text = found["handler"].decode(errors="replace")
        handler = text.strip("'\"")
        pattern = _value(source, found["pattern"].decode(errors="replace"))
        if not pattern.startswith(("/", "^/", "(/")) or not _handles(source, handler):
            continue
        scope, line = source.at(found.start("pattern"))
        route = plain_pattern(pattern)
        index = source.symbol_named(handler)
        if index >= 0:
            target = ""
        elif text != handler:  # named by a string, with its module
            module, _, name = handler.rpartition(".")
            target = f"{module}:{name}"
        else:
            target = source.target(handler, scope)
        at = (index, line) if index >= 0 else (scope, line)
        source.fact("route", f"ANY {route}", at, "high", "Tornado", "", target)


def _value(source: Source, text: str) -> str:
    """Return a pattern's text; what is formatted into it by `%` where that is a constant."""
    filled = _FILLED.fullmatch(text)
    if filled is None:
        return source.value(text)
    parts = (filled[2] or filled[3]).split(",")
    values = iter([source.value(part) for part in parts if part.strip()])
    return re.sub(r"%s", lambda _: next(values, "{?}"), source.value(filled[1]))


def _handles(source: Source, name: str) -> bool:
    """Tell whether a name may be a request handler's: a class, as written here or where it is from."""
    last = name.rpartition(".")[2]
    index = source.symbol_named(last)
    if index >= 0:
        return source.symbols[index].kind == "class"
    return last.endswith("Handler") or (last[:1].isupper() and bool(source.imported(name)))
