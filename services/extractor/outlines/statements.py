"""Declarations that begin a line: SQL, make, just, Docker, CMake and Starlark."""

from __future__ import annotations

import re

from services.extractor.outlines.entries import comment_above, entry
from services.extractor.reader import Draft

_SQL = re.compile(
    rb"^[ \t]*create\s+(?:or\s+(?:replace|alter)\s+)?(?:definer\s*=\s*\S+\s+)?"
    rb"(?:(?:global|local|temp|temporary|unlogged|unique|clustered|recursive|external|virtual|constraint)\s+)*"
    rb"(?P<kind>materialized\s+view|table|view|index|function|procedure|trigger|type|domain|schema"
    rb"|sequence|database|extension|role|user|policy|event|package)\s+(?:concurrently\s+)?"
    rb"(?:if\s+not\s+exists\s+)?(?P<name>(?:[\"`\[]?[\w$]+[\"`\]]?\.){0,3}[\"`\[]?[\w$]+[\"`\]]?)"
    rb"(?P<rest>[^\n;]*)",
    re.IGNORECASE | re.MULTILINE,
)
_SQL_KINDS = {b"procedure": "function", b"domain": "type", b"materialized view": "view"}
_DOLLAR = re.compile(rb"\bas\s+(\$\w*\$)", re.IGNORECASE)
_NEXT_STATEMENT = re.compile(
    rb"^[ \t]*(?:create|alter|insert|drop|grant)\s", re.IGNORECASE | re.MULTILINE
)
_QUOTES = re.compile(rb"[\"`\[\]]")

_MAKE = re.compile(
    rb"^(?P<target>[\w./%$(){}+-][^\n:=#\t]*?)\s*::?(?![=:])(?P<needs>[^\n=;]*(?:\\\n[^\n]*)*)(?:;[^\n]*)?$"
    rb"|^(?:export[ \t]+|override[ \t]+)?(?P<variable>[A-Za-z_][\w.-]*)[ \t]*(?:[:?+!]|::)?=(?P<value>[^\n]*)"
    rb"|^define[ \t]+(?P<macro>[\w.-]+)",
    re.MULTILINE,
)
_JUST = re.compile(
    rb"^@?(?P<recipe>[A-Za-z_][\w-]*)(?P<params>(?:[ \t]+[^\n:=]+(?:=[^\n:]*)?)?)[ \t]*:(?!=)(?P<needs>[^\n]*)$"
    rb"|^(?:export[ \t]+)?(?P<variable>[A-Za-z_][\w-]*)[ \t]*:=(?P<value>[^\n]*)",
    re.MULTILINE,
)
_DOCKER = re.compile(
    rb"^[ \t]*from[ \t]+(?:--\S+[ \t]+)*(?P<image>\S+)(?:[ \t]+as[ \t]+(?P<stage>\S+))?"
    rb"|^[ \t]*(?P<word>arg|env|expose|entrypoint|cmd)[ \t]+(?P<value>[^\n]+)",
    re.IGNORECASE | re.MULTILINE,
)
_CMAKE = re.compile(
    rb"^[ \t]*(?P<word>function|macro|add_executable|add_library|add_custom_target|project|option)"
    rb"[ \t]*\(\s*(?P<name>[\w.:${}-]+)(?P<rest>[^)\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_CMAKE_KINDS = {b"function": "function", b"macro": "macro", b"option": "variable"}
_GO_MODULE = re.compile(rb"^module[ \t]+[^\s/][^\s]*", re.MULTILINE)
_STARLARK = re.compile(
    rb"^def[ \t]+(?P<function>\w+)[ \t]*(?P<params>\([^)]*\))"
    rb"|^(?P<rule>[a-zA-Z_][\w.]*)\(\s*(?:#[^\n]*\s*)*name[ \t]*=[ \t]*\"(?P<name>[^\"\n]+)\"",
    re.MULTILINE,
)
_MAX_VALUE = 120


def sql(data: bytes) -> list[Draft]:
    """Return what the create statements of a script create."""
    found = []
    for match in _SQL.finditer(data):
        word = b" ".join(match["kind"].lower().split())
        kind = _SQL_KINDS.get(word, word.decode())
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        draft = entry(
            kind,
            _QUOTES.sub(b"", match["name"]),
            start,
            _sql_end(data, match.end("name")),
            match[0],
        )
        draft.signature = draft.signature.rstrip("( ")
        draft.doc = comment_above(data, start, b"--")
        found.append(draft)
    return found


def _sql_end(data: bytes, start: int) -> int:
    """Return where a statement ends: at `;`, the end of a dollar quote, or the next statement."""
    quoted = _DOLLAR.search(data, start, start + 2_000)
    following = _NEXT_STATEMENT.search(data, start)
    limit = following.start() if following is not None else len(data)
    if quoted is not None and quoted.start() < limit:
        end = data.find(quoted[1], quoted.end())
        if end >= 0:
            return end + len(quoted[1])
    end = data.find(b";", start, limit)
    return limit if end < 0 else end + 1


def make(data: bytes) -> list[Draft]:
    """Return targets, variables and defined macros."""
    found = []
    seen: set[bytes] = set()
    matches = list(_MAKE.finditer(data))
    for number, match in enumerate(matches):
        if match["variable"] or match["macro"]:
            kind = "variable" if match["variable"] else "macro"
            name = match["variable"] or match["macro"]
            if name not in seen and name not in (b"define", b"export", b"override"):
                seen.add(name)
                found.append(entry(kind, name, match.start(), match.end(), match[0][:_MAX_VALUE]))
            continue
        end = matches[number + 1].start() if number + 1 < len(matches) else len(data)
        beside = 0  # targets of one rule span the same lines, and none is inside another
        for target in match["target"].split():
            if not target.startswith(b".") and target not in seen:
                seen.add(target)
                draft = entry(
                    "target", target, match.start(), _trimmed(data, match.end(), end), match[0]
                )
                draft.doc = comment_above(data, match.start(), b"#")
                draft.lift = beside
                beside = 1
                found.append(draft)
    return found


def just(data: bytes) -> list[Draft]:
    found = []
    matches = list(_JUST.finditer(data))
    for number, match in enumerate(matches):
        if match["variable"]:
            found.append(entry("variable", match["variable"], match.start(), match.end(), match[0]))
            continue
        end = matches[number + 1].start() if number + 1 < len(matches) else len(data)
        draft = entry(
            "target", match["recipe"], match.start(), _trimmed(data, match.end(), end), match[0]
        )
        draft.doc = comment_above(data, match.start(), b"#")
        found.append(draft)
    return found


def _trimmed(data: bytes, start: int, end: int) -> int:
    """Return the end of the indented lines below a target."""
    at = start
    while at < end:
        line_end = data.find(b"\n", at + 1, end)
        stop = end if line_end < 0 else line_end
        following = data[at + 1 : stop]
        if following.strip() and following[:1] not in (b"\t", b" "):
            break
        at = stop
    return start + len(data[start:at].rstrip())


def docker(data: bytes) -> list[Draft]:
    """Return build stages, which run to the next, and what they set and start."""
    found: list[Draft] = []
    stage: Draft | None = None
    for match in _DOCKER.finditer(data):
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        if match["image"]:
            if stage is not None:
                stage.end = start
            stage = entry("stage", match["stage"] or match["image"], start, len(data), match[0])
            stage.bases = [match["image"].decode(errors="replace")] if match["stage"] else []
            found.append(stage)
            continue
        word = match["word"].lower()
        if word in (b"arg", b"env"):
            name = match["value"].split()[0].partition(b"=")[0]
            draft = entry("variable", name, start, match.end(), match[0])
        else:
            draft = entry("key", match["word"].upper(), start, match.end(), match[0])
        found.append(draft)
    return found


def cmake(data: bytes) -> list[Draft]:
    found = []
    for match in _CMAKE.finditer(data):
        word = match["word"].lower()
        start = match.start("word")
        end = match.end()
        if word in (b"function", b"macro"):
            closing = re.compile(rb"^[ \t]*end" + word + rb"[^\n]*", re.IGNORECASE | re.MULTILINE)
            closed = closing.search(data, end)
            end = end if closed is None else closed.end()
        line = match[0].strip() + b")"
        draft = entry(_CMAKE_KINDS.get(word, "target"), match["name"], start, end, line)
        draft.doc = comment_above(data, start, b"#")
        found.append(draft)
    return found


def go_module(data: bytes) -> list[Draft]:
    """Return the path that a Go module's packages are imported under."""
    found = _GO_MODULE.search(data)
    return [entry("key", b"module", found.start(), found.end(), found[0])] if found else []


def starlark(data: bytes) -> list[Draft]:
    """Return functions and rules, which are named by their `name` argument."""
    found = []
    matches = list(_STARLARK.finditer(data))
    for number, match in enumerate(matches):
        end = matches[number + 1].start() if number + 1 < len(matches) else len(data)
        end = match.start() + len(data[match.start() : end].rstrip())
        if match["function"]:
            found.append(entry("function", match["function"], match.start(), end, match[0]))
        else:
            line = match["rule"] + b"(" + match["name"] + b")"
            found.append(entry("target", match["name"], match.start(), end, line))
    return found
