"""Which names does one .gitignore exclude, and which paths does a list of globs select?

Patterns are matched byte for byte as git's own matcher does it: the text handled here is the
file's bytes decoded as Latin-1, so one character is one byte and `?` never takes a whole UTF-8
letter. The translation into regexes is ours. pathspec evaluates the globs, but its own reading of
a pattern differs from git's, which decides as follows (all of it checked against git in the tests):

* a tab or a second carriage return at a line's end belongs to the pattern, a UTF-8 BOM does not;
* `[[:alpha:]]` names a class, a backslash escapes inside brackets, brackets never match a slash,
  and `[b-a]` is `[b]` (there: an error that spoils the file);
* a lone backslash at the end matches nothing (there: an error too); `\\/` is a slash;
* `foo**/bar` matches foo1/x/bar: git strips the literal head first, so `**/` opens the rest.

A regex made the ordinary way also hangs on `*a*a*a*a*a*a*b` in a hostile repository, as it tries
every split. Wildcards are atomic groups here, so the work grows with the square of a path's
length at worst.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pathspec import PathSpec
from pathspec.pattern import RegexPattern

from contracts.errors import InvalidArgument

_SPECIAL = re.compile(r"[*?\[\\]")
_ASCII_LETTERS = [("A", "Z"), ("a", "z")]
_PUNCTUATION = [("!", "/"), (":", "@"), ("[", "`"), ("{", "~")]
# git's own tables, not the C library's: ASCII only, and neither VT nor FF is a space.
_CLASSES: dict[str, list[tuple[str, str]]] = {
    "alnum": [("0", "9"), *_ASCII_LETTERS],
    "alpha": _ASCII_LETTERS,
    "blank": [("\t", "\t"), (" ", " ")],
    "cntrl": [("\x00", "\x1f"), ("\x7f", "\x7f")],
    "digit": [("0", "9")],
    "graph": [("!", "~")],
    "lower": [("a", "z")],
    "print": [(" ", "~")],
    "punct": _PUNCTUATION,
    "space": [("\t", "\n"), ("\r", "\r"), (" ", " ")],
    "upper": [("A", "Z")],
    "xdigit": [("0", "9"), ("A", "F"), ("a", "f")],
}


class Pattern(NamedTuple):
    """One line of a .gitignore."""

    negated: bool
    directories_only: bool
    anchored: bool  # matches the path below the .gitignore's folder; else the base name alone
    literal: str  # the only text it matches; empty when there are wildcards
    suffix: str  # "*suffix" on a base name; empty for any other form
    regex: str  # the whole text it matches, without anchors; empty when `literal` or `suffix`


class _Token(NamedTuple):
    kind: str  # "text" one literal, "one" one character, "*", "**/" any folders, "**" anything
    value: str = ""  # the literal itself, or the regex of one character


_STAR = _Token("*")
_FOLDERS = _Token("**/")
_ANYTHING = _Token("**")
_ONE = _Token("one", "[^/]")


def parse_lines(data: bytes) -> list[Pattern]:
    """Return the patterns of a .gitignore's bytes in file order, blank and dead lines left out."""
    text = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    patterns = []
    for line in text.split("\n"):
        if line.startswith("#"):
            continue
        # One CR belongs to the line end, a second one to the pattern; git's line is a C string.
        line = _trim_spaces(line.removesuffix("\r").partition("\0")[0])
        if line and (pattern := parse_pattern(line)):
            patterns.append(pattern)
    return patterns


def _trim_spaces(line: str) -> str:
    kept = line.rstrip(" ")
    if len(kept) == len(line):
        return line
    escapes = len(kept) - len(kept.rstrip("\\"))
    return line[: len(kept) + 1] if escapes % 2 else kept


def parse_pattern(line: str) -> Pattern | None:
    """Return what a line means, or None when it can match nothing at all."""
    negated = line.startswith("!")
    body = line[1:] if negated else line
    directories_only = body.endswith("/")
    if directories_only:
        body = body[:-1]
    anchored = "/" in body
    if anchored:
        body = body.removeprefix("/")
    tokens = _tokens(body, anchored)
    if not tokens:
        return None
    literal = suffix = regex = ""
    if all(token.kind == "text" for token in tokens):
        literal = "".join(token.value for token in tokens)
    elif not anchored and tokens[0] is _STAR and all(t.kind == "text" for t in tokens[1:]):
        suffix = "".join(token.value for token in tokens[1:])
    if not literal and not suffix:
        regex = _render(tokens)
    return Pattern(negated, directories_only, anchored, literal, suffix, regex)


def _tokens(body: str, anchored: bool) -> list[_Token] | None:
    first = _SPECIAL.search(body)
    first_special = first.start() if first else len(body)
    tokens: list[_Token] = []
    at = 0
    while at < len(body):
        char = body[at]
        if char == "*":
            token, at = _stars(body, at, anchored, first_special)
            tokens.append(token)
            continue
        if char == "[":
            members = _bracket(body, at)
            if members is None:
                return None
            token, at = members
            tokens.append(token)
            continue
        if char == "\\":
            at += 1
            if at == len(body):
                return None
        tokens.append(_ONE if char == "?" else _Token("text", body[at]))
        at += 1
    return tokens


def _stars(body: str, at: int, anchored: bool, first_special: int) -> tuple[_Token, int]:
    end = at
    while end < len(body) and body[end] == "*":
        end += 1
    # git compares the literal head of a pattern apart and hands its matcher the rest, so a `**`
    # right behind the head looks like the start of a pattern and needs no slash before it.
    opens = at == first_special or body[at - 1] == "/"
    closes = end == len(body) or body[end] == "/" or body.startswith("\\/", end)
    if not (anchored and end - at > 1 and opens and closes):
        return _STAR, end
    if end < len(body) and body[end] == "/":
        return _FOLDERS, end + 1
    return _ANYTHING, end


def _bracket(body: str, at: int) -> tuple[_Token, int] | None:
    """Parse `[...]` from `at`; returns the token and the position behind it, None if malformed."""
    at += 1
    negated = body[at : at + 1] in ("!", "^")
    at += negated
    start = at
    members: list[tuple[str, str]] = []
    before = ""  # what a following "-" would start a range from
    while at == start or body[at : at + 1] != "]":
        if at >= len(body):
            return None
        char = body[at]
        if char == "-" and before and body[at + 1 : at + 2] not in ("", "]"):
            at += 2 if body[at + 1] == "\\" else 1
            if at >= len(body):
                return None
            members.append((before, body[at]))
            before = ""
        elif char == "[" and (named := _named_class(body, at)) is not None:
            if not named[0]:
                return None
            members += named[0]
            at = named[1]
            before = ""
        else:
            at += char == "\\"
            if at >= len(body):
                return None
            before = body[at]
            members.append((before, before))
        at += 1
    regex = _class_regex(members, negated)
    return (_Token("one", regex), at + 1) if regex else None


def _named_class(body: str, at: int) -> tuple[list[tuple[str, str]], int] | None:
    """Return the members of `[:name:]` at `at` (none for a wrong name) and where its "]" is."""
    if not body.startswith("[:", at):
        return None
    end = body.find("]", at + 2)
    if end < 0:
        return [], at
    if end < at + 3 or body[end - 1] != ":":
        return None
    return _CLASSES.get(body[at + 2 : end - 1], []), end


def _class_regex(members: Iterable[tuple[str, str]], negated: bool) -> str:
    spans = "".join(f"{re.escape(low)}-{re.escape(high)}" for low, high in members if low <= high)
    if negated:
        return f"[^/{spans}]"
    return f"(?!/)[{spans}]" if spans else ""


def _render(tokens: Sequence[_Token]) -> str:
    """Return the regex of a pattern's tokens.

    Between two `**/` (and between two `*` inside a name) stands a piece whose end is settled by
    where it starts, so its earliest match leaves the most room for the rest: each piece may be
    atomic, and no later failure makes the engine try another.
    """
    pieces: list[list[_Token]] = [[]]
    joints: list[_Token] = []
    for token in tokens:
        if token is _FOLDERS or token is _ANYTHING:
            joints.append(token)
            pieces.append([])
        else:
            pieces[-1].append(token)
    out = [_render_piece(pieces[0])]
    for position, joint in enumerate(joints, start=1):
        piece = _render_piece(pieces[position])
        # "**" alone ends the pattern, or stands before a slash that was escaped and so is asked for.
        skipped = "(?:[^/]*/)*?" if joint is _FOLDERS else "(?s:.*?)" if piece else "(?s:.*)"
        out.append(f"(?>{skipped}{piece})" if position < len(joints) else skipped + piece)
    return "".join(out)


def _render_piece(tokens: Sequence[_Token]) -> str:
    out: list[str] = []
    run: list[str] = []
    starred = False
    for token in tokens:
        if token.kind == "text" and token.value != "/":
            run.append(re.escape(token.value))
        elif token.kind == "one":
            run.append(token.value)
        elif token is _STAR:
            out.append(f"(?>[^/]*?{''.join(run)})" if starred else "".join(run))
            run = []
            starred = True
        else:
            out.append(f"[^/]*{''.join(run)}/" if starred else f"{''.join(run)}/")
            run = []
            starred = False
    out.append(f"[^/]*{''.join(run)}" if starred else "".join(run))
    return "".join(out)


class _Matcher:
    """Many patterns of one polarity, asked at once: sets for the plain ones, one regex each."""

    __slots__ = ("_extensions", "_name_regex", "_names", "_path_regex", "_paths", "_suffixes")

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._names = frozenset(p.literal for p in patterns if p.literal and not p.anchored)
        self._paths = frozenset(p.literal for p in patterns if p.literal and p.anchored)
        suffixes = {p.suffix for p in patterns if p.suffix}
        self._extensions = frozenset(s for s in suffixes if s.rfind(".") == 0 and len(s) > 1)
        self._suffixes = tuple(suffixes - self._extensions)
        self._name_regex = _alternation(p.regex for p in patterns if p.regex and not p.anchored)
        self._path_regex = _alternation(p.regex for p in patterns if p.regex and p.anchored)

    def matches(self, name: str, path: str) -> bool:
        return (
            name in self._names
            or name[name.rfind(".") :] in self._extensions
            or name.endswith(self._suffixes)
            or path in self._paths
            or (self._name_regex is not None and self._name_regex.match(name) is not None)
            or (self._path_regex is not None and self._path_regex.match(path) is not None)
        )


def _alternation(regexes: Iterable[str]) -> re.Pattern[str] | None:
    joined = "|".join(dict.fromkeys(regexes))
    return re.compile(rf"(?:{joined})\Z") if joined else None


class IgnoreFile:
    """The patterns of one .gitignore, ready to be asked about the entries below its folder."""

    __slots__ = ("_groups", "anchored")

    def __init__(self, data: bytes) -> None:
        patterns = parse_lines(data)
        self.anchored = any(pattern.anchored for pattern in patterns)  # the path is looked at too
        groups: list[list[Pattern]] = []
        for pattern in reversed(patterns):
            if not groups or groups[-1][0].negated != pattern.negated:
                groups.append([])
            groups[-1].append(pattern)
        # Inside a run of one polarity the order makes no difference, so a run is asked as one.
        self._groups = [
            (
                not group[0].negated,
                _Matcher([p for p in group if not p.directories_only]),
                _Matcher(group),
            )
            for group in groups
        ]

    def verdict(self, name: str, path: str, is_directory: bool) -> bool | None:
        """Say whether the last pattern that matches excludes; None when none matches.

        `name` is the base name and `path` the path below this file's folder, both as Latin-1 text
        of their bytes. `path` is not looked at unless `anchored`.
        """
        for excludes, files, directories in self._groups:
            if (directories if is_directory else files).matches(name, path):
                return excludes
        return None


def compile_globs(globs: Sequence[str]) -> PathSpec[RegexPattern] | None:
    """Return a list of globs ready to be asked with `match_file`; None for an empty list.

    A glob is written as a line of a .gitignore at the root (`*.py`, `src/**`, `/docs`, `build/`)
    and selects what it matches and everything below; a later `!glob` takes away again. Ask with
    the RepoPath, and with a "/" behind it for a directory. Raises InvalidArgument for a glob that
    could never match.
    """
    if not globs:
        return None
    return PathSpec([_glob(text) for text in globs], backend="simple")


def _glob(text: str) -> RegexPattern:
    line = f"/{text[2:]}" if text.startswith("./") else text
    pattern = parse_pattern(line)
    if pattern is None or "\0" in text:
        raise InvalidArgument(
            f"the glob {text[:120]!r} can never match",
            hint="write it as in a .gitignore at the root: *.py, src/**, /docs, build/",
            reason="dead_glob",
        )
    plain = f"[^/]*{re.escape(pattern.suffix)}" if pattern.suffix else re.escape(pattern.literal)
    regex = pattern.regex or plain
    head = "" if pattern.anchored else "(?:[^/]*/)*?"
    tail = "/" if pattern.directories_only else r"(?:/|\Z)"
    return RegexPattern(re.compile(rf"\A{head}(?:{regex}){tail}"), include=not pattern.negated)
