"""What do an expression's words say, as far as no program has to run for it?

A value is text with holes: `{=NAME}` is a constant another place declares, `{?}` is unknown.
Everything works on source text, the same for all languages but for how strings and comments look,
so that broken code is read as far as it goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

UNKNOWN = "{?}"
HOLE = re.compile(r"\{=([^{}]*)\}")
_MAX_VALUE = 500

_PLAIN = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_TRIPLE = r"\"\"\"[\s\S]*?(?:\"\"\"|$)"
_STRINGS = {
    "python": rf"[rRbBuUfFtT]{{0,2}}(?:{_TRIPLE}|'''[\s\S]*?(?:'''|$)|{_PLAIN})",
    "javascript": rf"{_PLAIN}|`(?:[^`\\]|\\.)*`",
    "java": rf"{_TRIPLE}|{_PLAIN}",
    "csharp": rf"[$@]*{_TRIPLE}|(?:\$?@|@\$)\"(?:[^\"]|\"\")*\"|\$?\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'",
    "go": rf"{_PLAIN}|`[^`]*`",
    "ruby": _PLAIN,
    "php": r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'",
    "rust": r"b?r#*\"[\s\S]*?\"#*|b?\"(?:[^\"\\]|\\.)*\"",
}
_ALIKE = {
    "typescript": "javascript",
    "tsx": "javascript",
    "vue": "javascript",
    "svelte": "javascript",
}
_ALIKE |= {"kotlin": "java", "scala": "java"}
_HASH_COMMENT = r"#[^\n]*"
_SLASH_COMMENT = r"//[^\n]*|/\*[\s\S]*?(?:\*/|$)"
_NAMED = {
    "python": r"\s*()([A-Za-z_]\w*)\s*=(?![=])",
    "java": r"\s*()(\w+)\s*=(?![=])",
    "ruby": r"\s*:?([\"']?)([\w./#:-]+?[?!]?)\1\s*(?:=>|(?<!:):(?!:))",
    "php": r"\s*([\"']?)([\w./\\-]+)\1\s*(?:=>|:(?!:))",
}
_COLON = r"\s*([\"']?)([\w$./-]+)\1\s*:(?!:)"
_NO_NAMES = frozenset({"javascript", "go", "rust"})  # their calls have positional arguments only
_NAME = re.compile(r"[\\@$:]{0,2}[A-Za-z_][\w$]*(?:(?:\.|::|->|\\|\?\.)[A-Za-z_$][\w$]*)*!?")
_SYMBOL = re.compile(r":([A-Za-z_]\w*[?!]?)")
_NUMBER = re.compile(r"\d+\b")
_FORMAT = re.compile(r"%[-+#0-9.]*[a-zA-Z]")
_FORMATTING = frozenset({"fmt.Sprintf", "String.format", "sprintf"})
_PASSING = frozenset({"String", "str", "Path::new", "text", "gettext_lazy", "_", "concat!"})
_IGNORED = re.compile(r"(?:new|await|typeof|static|const)\s+")
_KEEPING = frozenset({"python", "php", "ruby"})
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_INTERPOLATION = {
    "python": re.compile(r"\{\{|\}\}|\{([^{}]*)\}"),  # doubled, they are themselves
    "javascript": re.compile(r"\$\{([^{}]*)\}"),
    "java": re.compile(r"\$\{?([A-Za-z_][\w.]*)\}?"),  # Kotlin
    "csharp": re.compile(r"\{\{|\}\}|\{([^{}]*)\}"),
    "ruby": re.compile(r"#\{([^{}]*)\}"),
    "php": re.compile(r"\{?\$([A-Za-z_][\w>-]*)\}?"),
}

Constant = Callable[[str], str | None]  # name as written -> its value, possibly with holes


def family(language: str) -> str:
    """Name the language whose strings and comments look the same."""
    return _ALIKE.get(language, language)


@cache
def _tokens(kind: str) -> re.Pattern[str]:
    comments = {"python": _HASH_COMMENT, "ruby": _HASH_COMMENT}.get(kind, _SLASH_COMMENT)
    if kind == "php":
        comments += r"|#(?!\[)[^\n]*"
    strings = _STRINGS.get(kind, _PLAIN)
    return re.compile(rf"(?P<string>{strings})|(?P<comment>{comments})|(?P<mark>[()\[\]{{}},])")


@cache
def string_pattern(kind: str) -> re.Pattern[str]:
    return re.compile(_STRINGS.get(kind, _PLAIN))


@cache
def _named(kind: str) -> re.Pattern[str]:
    return re.compile(_NAMED.get(kind, _COLON))


class Arguments(NamedTuple):
    """What stands between a call's brackets, as source text."""

    positional: tuple[str, ...]
    named: dict[str, str]
    end: int  # behind the closing bracket, in the text that was given
    closed: bool

    def get(self, at: int, *names: str) -> str:
        """Return the argument of one of the names, else the one at a position, else ""."""
        for name in names:
            if name in self.named:
                return self.named[name]
        return self.positional[at] if 0 <= at < len(self.positional) else ""


def split(text: str, at: int, language: str) -> tuple[list[str], int, bool]:
    """Split what stands in the brackets opening at `at`; also where they end and whether they do."""
    depth, begin, parts = 0, at + 1, []
    for found in _tokens(family(language)).finditer(text, at):
        mark = found["mark"]
        if not mark:
            continue
        if mark in "([{":
            depth += 1
        elif mark != ",":
            depth -= 1
            if depth <= 0:
                parts.append(text[begin : found.start()])
                return _without_blanks(parts), found.end(), True
        elif depth == 1:
            parts.append(text[begin : found.start()])
            begin = found.end()
    parts.append(text[begin:])
    return _without_blanks(parts), len(text), False


def split_line(text: str, language: str) -> tuple[list[str], int]:
    """Split the arguments of a call without brackets: to the line's end, on while a comma ends it."""
    depth, begin, parts, line_end = 0, 0, [], _line_end(text, 0)
    for found in _tokens(family(language)).finditer(text):
        if found.start() >= line_end:
            if depth > 0 or not text[begin:line_end].strip():
                line_end = _line_end(text, found.start())
            else:
                break
        mark = found["mark"]
        if found["comment"] and depth == 0:
            line_end = min(line_end, found.start())
        elif mark and mark in "([{":
            depth += 1
        elif mark and mark != ",":
            depth -= 1
            if depth < 0:
                line_end = found.start()
                break
        elif mark and depth == 0:
            parts.append(text[begin : found.start()])
            begin = found.end()
    parts.append(text[begin:line_end])
    return _without_blanks(parts), line_end


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _without_blanks(parts: list[str]) -> list[str]:
    return [part.strip() for part in parts if part.strip()]


def sorted_out(parts: list[str], end: int, closed: bool, language: str) -> Arguments:
    """Tell named arguments from positional ones."""
    pattern = _named(family(language))
    positional: list[str] = []
    named: dict[str, str] = {}
    for part in parts:
        found = pattern.match(part)
        if found is None:
            positional.append(part)
        else:
            named.setdefault(found[2], part[found.end() :].strip())
    return Arguments(tuple(positional), named, end, closed)


def arguments(text: str, at: int, language: str) -> Arguments:
    """Read the call arguments whose bracket opens at `at`."""
    parts, end, closed = split(text, at, language)
    if family(language) in _NO_NAMES:
        return Arguments(tuple(parts), {}, end, closed)
    return sorted_out(parts, end, closed, language)


def entries(text: str, language: str) -> dict[str, str]:
    """Read an object, hash or array with keys: key -> source of its value; empty for anything else."""
    text = text.strip()
    if text[:1] not in ("{", "[", "("):
        return {}
    parts, end, closed = split(text, 0, language)
    if language in ("python", "csharp"):
        language = "javascript"  # `"key": value`, whatever call arguments look like
    return sorted_out(parts, end, closed, language).named


def items(text: str, language: str) -> list[str]:
    """Read a list: the source of each item; a single expression is its own only item."""
    text = text.strip()
    opening = re.match(
        r"(?:new\s*\w*\s*\[\s*\]\s*|\[\]\w+|&?\[\]\w+|arrayOf|listOf|array|List\.of)?\s*(?=[\[({])",
        text,
    )
    if opening is None or not text:
        return [text] if text else []
    return split(text, opening.end(), language)[0]


def evaluate(text: str, language: str, constant: Constant) -> str:
    """Return the text an expression stands for, holes where it does not tell; "" for nothing."""
    kind = family(language)
    pieces: list[str] = []
    at, text = 0, text.strip()
    while at < len(text) and len(pieces) < 40:
        if text[at].isspace() or text[at] in "+.()&":
            at += 1
            continue
        ignored = _IGNORED.match(text, at)
        if ignored:
            at = ignored.end()
            continue
        found = string_pattern(kind).match(text, at)
        if found:
            pieces.append(_decoded(found[0], kind, language, constant))
            at = found.end()
            continue
        piece, at = _operand(text, at, kind, language, constant)
        pieces.append(piece)
    value = "".join(pieces)[:_MAX_VALUE]
    return re.sub(r"(?:\{\?\})+", UNKNOWN, value)


def _operand(text: str, at: int, kind: str, language: str, constant: Constant) -> tuple[str, int]:
    """Read a name, symbol, number or call; anything else is unknown and ends the expression."""
    symbol = _SYMBOL.match(text, at) if kind == "ruby" else None
    plain = _NUMBER.match(text, at)
    if symbol or plain:
        found = symbol or plain
        assert found is not None
        return found[found.lastindex or 0], found.end()
    name = _NAME.match(text, at)
    if name is None or text[name.end() : name.end() + 1] in ("[", "?", "{"):
        return UNKNOWN, len(text)
    if text[name.end() : name.end() + 1] == "(":
        return _called(text, name[0], name.end(), language, constant)
    return _named_value(name[0], constant), name.end()


def _called(text: str, name: str, at: int, language: str, constant: Constant) -> tuple[str, int]:
    """Read the few calls that give their argument, or a format, as text."""
    parts, end, _ = split(text, at, language)
    value = UNKNOWN
    if name in _FORMATTING and parts:
        value = _FORMAT.sub(UNKNOWN, evaluate(parts[0], language, constant))
    elif name == "nameof" and parts:
        value = parts[0].rpartition(".")[2]
    elif name in _PASSING:
        value = evaluate(parts[0], language, constant) if parts else ""
    elif name.endswith((".to_string", ".toString", ".as_str")):
        value = _named_value(name.rpartition(".")[0], constant)
    return value, end


def _named_value(name: str, constant: Constant) -> str:
    plain = (
        name.removeprefix("$").removeprefix("self.").removeprefix("this.").removeprefix("$this->")
    )
    value = constant(plain)
    return "{=" + plain + "}" if value is None else value


def _decoded(raw: str, kind: str, language: str, constant: Constant) -> str:
    """Return a string literal's value, its interpolations evaluated."""
    head = re.match(r"[A-Za-z$@#]*", raw)
    prefix = head[0].lower() if head else ""
    body = raw[len(prefix) :]
    quote = '"""' if body.startswith('"""') else "'''" if body.startswith("'''") else body[:1]
    body = body[len(quote) :].removesuffix(quote)
    if kind == "rust" and "#" in prefix:
        body = body.rstrip("#").removesuffix('"')
    elif "@" in prefix:
        body = body.replace('""', '"')
    elif "r" not in prefix and quote != "`" and "\\" in body:
        kept = kind in _KEEPING and (kind == "python" or quote == "'")
        body = _ESCAPE.sub(_kept if kept else _unescaped, body)
    return _interpolated(body, kind, prefix, quote, language, constant)


def _unescaped(found: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t", "r": ""}.get(found[1], found[1])


def _kept(found: re.Match[str]) -> str:
    """What escapes nothing stays as it is written: the backslash of a pattern's `\\d`."""
    return _unescaped(found) if found[1] in "ntr\\'\"\n" else found[0]


def _interpolated(
    body: str, kind: str, prefix: str, quote: str, language: str, constant: Constant
) -> str:
    computed = (
        (kind in ("python", "csharp") and ("f" in prefix or "$" in prefix))
        or (kind == "javascript" and quote == "`")
        or (kind in ("ruby", "php") and quote.startswith('"'))
        or language == "kotlin"
    )
    if not computed:
        return body
    return _INTERPOLATION[kind].sub(
        lambda found: found[0][0] if found[1] is None else _inner(found[1], constant), body
    )


def _inner(text: str, constant: Constant) -> str:
    text = text.strip()
    name = _NAME.fullmatch(text)
    if name is None:
        return UNKNOWN
    value = constant(text)
    return "{=" + text + "}" if value is None else value


def tells(value: str) -> bool:
    """Tell whether a value holds more than holes."""
    return bool(HOLE.sub("", value).replace(UNKNOWN, "").strip("/ "))


def declared_value(signature: str) -> str:
    """Return the source of what a declaration assigns: `NAME: T = value` gives `value`."""
    found = re.search(r"(?<![=!<>:+*/|&%-])(?::?=)(?![=>])\s*", signature)
    return signature[found.end() :].rstrip("; ,") if found else ""
