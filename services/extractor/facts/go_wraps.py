"""Which handlers does a Go program wrap its router in before it serves it? The outermost is first."""

from __future__ import annotations

import re

from services.extractor.facts.source import CALL, Source, Use
from services.surfaces import expressions

_CALL = re.compile(r"((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?:\([^()]*\))?\s*(?=\()")
_MAKES = re.compile(
    r"(?:^|\.)(?:new|make|build|setup|create|init|get|register|routes?|router|mux|handlers?|HandlerFunc|FileServer|Default|Must)(?![a-z])"
    r"|(?:^|\.)(?:New|Make|Build|Setup|Create|Init|Register)(?=[A-Z]|$)|(?i:router|mux|routes)$"
)
_SERVED = re.compile(rb"\bhttp\.Server\s*\{[^{}]*?\bHandler:\s*([^\n]+?),?[ \t]*(?:\n|\})")
_DEPTH = 8


def serve(source: Source, use: Use) -> None:
    """`http.ListenAndServe(addr, logging(auth(mux)))`."""
    found = source.call(use) if use.kind == CALL and use.receiver == "http" else None
    if found and len(found.positional) > 1:
        _wrapped(source, found.positional[-1], use.scope, use.line)


def read(source: Source) -> None:
    """`&http.Server{Handler: logging(mux)}`."""
    if b"http.Server" in source.data and source.imports_any("net/http"):
        for found in _SERVED.finditer(source.data):
            scope, line = source.at(found.start(1))
            _wrapped(source, found[1].decode(errors="replace").strip(), scope, line)


def _wrapped(source: Source, text: str, scope: int, line: int) -> None:
    for name in _names(source, text, scope, _DEPTH):
        position = source.next_position(source.function_of(scope))
        source.fact("middleware", f"{name}|pos:{position}", (scope, line), "medium", "net/http")


def _names(source: Source, text: str, scope: int, depth: int) -> list[str]:
    """Name the calls around a handler, outermost first, through the variables that hold it."""
    if not depth:
        return []
    if re.fullmatch(r"[a-z]\w*", text):
        return _assigned(source, text, scope, depth)
    called = _CALL.match(text)
    if called is None or _MAKES.search(called[1].rpartition(".")[2]):
        return []
    parts = expressions.split(text, called.end(), "go")[0]
    inner = max((part for part in parts if re.match(r"[A-Za-z_&]", part)), key=_likely, default="")
    return [called[1], *_names(source, inner, scope, depth - 1)] if inner else []


def _likely(argument: str) -> int:
    """Tell how likely an argument is the handler that is wrapped."""
    named = re.search(r"(?i)\b(?:h|next|\w*(?:handler|mux|router|server|engine))\b", argument)
    return 2 if named else 1 if "(" in argument else 0


def _assigned(source: Source, name: str, scope: int, depth: int) -> list[str]:
    around = source.function_of(scope)
    if around < 0:
        return []
    symbol = source.symbols[around]
    text = source.data[symbol.start_byte : symbol.end_byte].decode(errors="replace")
    pattern = re.compile(rf"^\s*(?:var\s+)?{name}(?:\s+[\w.]+)?\s*:?=\s*", re.MULTILINE)
    found: list[str] = []
    for written in reversed(list(pattern.finditer(text))[-depth:]):
        value = text[written.end() :].partition("\n")[0]
        names = _names(source, value, -1, depth - 1)
        found += names
        inner = re.search(r"\b([a-z]\w*)\s*\)*\s*$", value)
        if not names or inner is None:
            break
        if inner[1] != name:
            return found + _assigned(source, inner[1], scope, depth - 1)
    return found
