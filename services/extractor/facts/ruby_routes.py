"""Which routes do Rails route files and Sinatra programs declare?

Route files are read line by line, blocks by `do` and `end`: their words are calls without brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from services.extractor.facts.source import CALL, Source, Use
from services.surfaces import expressions

_VERBS = ("get", "post", "put", "patch", "delete", "options")
_WORD = re.compile(r"^\s*(?:\w+\.)?(\w+[?!]?)\b(?!\s*[=.])(.*)$")
_OPENS = re.compile(
    r"\bdo\b\s*(?:\|[^|]*\|)?\s*$|^\s*(?:if|unless|case|begin|while|def|class|module)\b"
)
_INLINE_BLOCK = re.compile(  # member { get :preview }
    r"^\s*((?:member|collection|concern|resources?|namespace|scope)\b[^{}]*?)\s*\{\s*"
    r"((?:get|post|put|patch|delete|match|resources?)\b[^{}]*?)\s*\}\s*$"
)
_CONCERN = re.compile(r"^\s*concern\s*\(?\s*:(\w+).*\bdo\b")
_ACTIONS = (
    ("index", "GET", "", ""), ("create", "POST", "", ""), ("new", "GET", "/new", ""),
    ("show", "GET", "", ":id"), ("edit", "GET", "/edit", ":id"), ("update", "PATCH", "", ":id"),
    ("update", "PUT", "", ":id"), ("destroy", "DELETE", "", ":id"),
)  # fmt: skip


class _Block(NamedTuple):
    """What an open block adds to the routes inside it."""

    prefix: str = ""
    module: str = ""  # "admin/" before the controller
    controller: str = ""
    kind: str = ""  # resources, resource, member, collection, ""
    member: str = ""  # path of one of a resource
    shallow: bool = False  # what is nested is reached without what is around it


def read(source: Source) -> None:
    path = "/" + source.path
    if path.endswith("/routes.rb") or "/config/routes/" in path:
        _Routes(source).read()


class _Routes:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.blocks: list[_Block] = []
        self.concerns: dict[str, list[tuple[int, str]]] = {}

    def read(self) -> None:
        self._lines(_logical_lines(self.source.data.decode(errors="replace")))

    def _lines(self, lines: list[tuple[int, str]]) -> None:
        depth = len(self.blocks)
        kept: list[tuple[int, str]] | None = None  # the lines of an open concern
        for number, line in lines:
            stripped = line.strip()
            concern = _CONCERN.match(line)
            if concern and kept is None:
                kept = self.concerns[concern[1]] = []
                self.blocks.append(_Block())
                depth = len(self.blocks)
                continue
            if kept is not None:
                ended = re.match(r"end\b", stripped) and len(self.blocks) == depth
                if not ended:
                    kept.append((number, line))
                    if _OPENS.search(line):
                        self.blocks.append(_Block())
                    elif re.match(r"end\b", stripped):
                        self.blocks.pop()
                    continue
                kept = None
            if re.match(r"end\b", stripped):
                if self.blocks:
                    self.blocks.pop()
                continue
            found = _WORD.match(line)
            opened = _OPENS.search(line) is not None
            braced = (
                re.search(r"\{\s*(?:\|[^|]*\|)?\s*$", line) is not None and "=>" not in line[-4:]
            )
            block = self._line(found[1], found[2], number) if found else _Block()
            if opened or braced:
                self.blocks.append(block)
            elif stripped == "}" and self.blocks:
                self.blocks.pop()

    def _line(self, word: str, rest: str, number: int) -> _Block:
        rest = re.sub(r"\s*(?:\bdo\b\s*(?:\|[^|]*\|)?|\{\s*(?:\|[^|]*\|)?)\s*$", "", rest)
        rest = rest.strip()
        if rest.startswith("(") and rest.endswith(")"):
            rest = rest[1:-1]
        rest = re.sub(r"\s+(?:if|unless)\s.*$", "", rest)
        parts, end = expressions.split_line(rest, "ruby")
        found = expressions.sorted_out(parts, end, True, "ruby")
        named = {
            key: self.source.value(value) if value[:1] in "'\":" else value
            for key, value in found.named.items()
        }
        names = [self.source.value(text) for text in found.positional]
        if word in ("namespace", "scope"):
            return self._scope(word, names, named)
        if word in ("resources", "resource"):
            return self._resources(word, names, named, number)
        if word in ("member", "collection"):
            return _Block(kind=word)
        if word == "controller" and names:
            return _Block(controller=names[0])
        if word == "concerns":
            self._concerned(" ".join(found.positional))
            return _Block()
        if word in (*_VERBS, "match", "root", "mount"):
            self._route(word, names, named, found, number)
        elif word == "shallow":
            return _Block(shallow=True)
        elif word in (
            "with_options",
            "constraints",
            "defaults",
            "authenticate",
            "authenticated",
            "unauthenticated",
            "draw",
            "nested",
        ):
            return _Block()
        return _Block()

    def _scope(self, word: str, names: list[str], named: dict[str, str]) -> _Block:
        prefix = "/".join(names).strip("/")
        if "path" in named:
            prefix = named["path"].strip("/")
        module = named.get("module", "/".join(names) if word == "namespace" else "")
        return _Block(
            "/" + prefix if prefix else "",
            module + "/" if module else "",
            named.get("controller", ""),
        )

    # -- what is around --------------------------------------------------------------------------

    def _prefix(self, inside: str = "") -> str:
        """Return the path around; nested resources add the id of the one around them."""
        path = ""
        for at, block in enumerate(self.blocks):
            following = self.blocks[at + 1].kind if at + 1 < len(self.blocks) else inside
            if block.kind == "resources":
                path += (
                    block.prefix
                    if following == "collection"
                    else block.member
                    if following in ("member",)
                    else f"{block.prefix}/:{_singular(block.prefix)}_{block.member.rpartition(':')[2]}"
                )
            else:
                path += block.prefix
        return path

    def _outside(self) -> str:
        """Return the path around without the resources in it."""
        return "".join(block.prefix for block in self.blocks if not block.kind)

    def _module(self) -> str:
        return "".join(block.module for block in self.blocks)

    def _controller(self) -> str:
        return next((block.controller for block in reversed(self.blocks) if block.controller), "")

    # -- routes ----------------------------------------------------------------------------------

    def _resources(self, word: str, names: list[str], named: dict[str, str], number: int) -> _Block:
        block = _Block()
        for name in names:
            part = (
                "/" + named.get("path", name).strip("/")
                if named.get("path", name).strip("/")
                else ""
            )
            inside = self._prefix()
            controller = named.get(
                "controller", name if word == "resources" or name.endswith("s") else _plural(name)
            )
            module = self._module() + (named["module"] + "/" if "module" in named else "")
            wanted = _listed(named.get("only")), _listed(named.get("except"))
            identifier = ":" + named.get("param", "id")
            shallow = named.get("shallow") == "true" or any(each.shallow for each in self.blocks)
            block = _Block(
                part,
                named["module"] + "/" if "module" in named else "",
                controller,
                word,
                f"{part}/{identifier}",
                shallow,
            )
            for action, verb, tail, one in _ACTIONS:
                if (wanted[0] is not None and action not in wanted[0]) or (
                    wanted[1] and action in wanted[1]
                ):
                    continue
                if word == "resource" and action == "index":
                    continue
                member = f"/{identifier}" if one and word == "resources" else ""
                around = self._outside() if member and shallow else inside
                path = around + part + member + tail
                self._add(verb, path, f"{module}{controller}#{action}", number)
            if "concerns" in named:
                self.blocks.append(block)
                self._concerned(named["concerns"])
                self.blocks.pop()
        return block

    def _concerned(self, text: str) -> None:
        """Read what concerns declare, where they are used."""
        for name in re.findall(r"\w+", text):
            lines = self.concerns.pop(name, [])  # one that uses itself ends
            self._lines(lines)
            if lines:
                self.concerns[name] = lines

    def _route(
        self,
        word: str,
        names: list[str],
        named: dict[str, str],
        found: expressions.Arguments,
        number: int,
    ) -> None:
        target = named.get("to", "")
        if not names and named and word != "root":
            key, value = next(iter(found.named.items()))  # get "x" => "a#b"
            if key not in ("to", "via", "as"):
                names, target = [key], self.source.value(value)
        last = self.blocks[-1].kind if self.blocks else ""
        inside = named.get("on", "") or (last if last in ("member", "collection") else "")
        prefix = self._prefix(inside)
        if word == "root":
            target = target or (names[0] if names else "")
            self._add("GET", prefix or "/", self._module() + target, number)
            return
        if word == "mount":
            at = named.get("at") or next(
                (
                    self.source.value(value)
                    for key, value in found.named.items()
                    if key[:1].isupper()
                ),
                "",
            )
            mounted = found.positional[0] if found.positional else next(iter(found.named), "")
            if at.startswith("/"):
                self.source.fact(
                    "middleware",
                    f"{mounted}|pos:{self.source.next_position(-2)}|terminal",
                    (-1, number),
                    "high",
                    at,
                )
            return
        verbs = [word.upper()]
        if word == "match":
            verbs = [verb.upper() for verb in re.findall(r"\w+", named.get("via", "all"))]
            verbs = ["ANY" if verb == "ALL" else verb for verb in verbs]
        for name in names or [""]:
            own = re.sub(r"\(\.:format\)$|\(/?\.?:?format\)$", "", name).strip("/")
            if "controller" in named or "action" in named:
                target = (
                    f"{named.get('controller') or self._controller()}#{named.get('action') or own}"
                )
            action = target or (
                "#".join(own.rsplit("/", 1)) if "/" in own and not self._controller() else own
            )
            if "#" not in action:
                action = f"{named.get('controller') or self._controller()}#{named.get('action') or action}"
            for verb in verbs:
                self._add(
                    verb, prefix + ("/" + own if own else ""), self._module() + action, number
                )

    def _add(self, verb: str, path: str, action: str, number: int) -> None:
        controller, _, method = action.partition("#")
        if "{?}" in path and not expressions.tells(path):
            return
        handler = ""
        if controller and "{" not in controller:
            name = "".join(
                part[:1].upper() + part[1:]
                for part in re.split(r"_", controller.rpartition("/")[2])
            )
            handler = f"{controller.lstrip('/')}_controller:{name}Controller.{method}"
        self.source.fact(
            "route", f"{verb} {path or '/'}", (-1, number), "high", "Rails", "", handler
        )


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Join lines that a comma or an open bracket continues; drop comments."""
    found: list[tuple[int, str]] = []
    pending, begun = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        line = re.sub(r"(^|\s)#(?![{]).*$", "", line).rstrip()
        begun = begun if pending else number
        pending = f"{pending} {line.strip()}" if pending else line
        if pending.endswith((",", "(", "[", "=>")) and len(pending) < 4_000:
            continue
        inline = _INLINE_BLOCK.match(pending)
        if inline:
            lines = [f"{inline[1]} do", *inline[2].split(";"), "end"]
            found += [(begun, each) for each in lines]
        elif pending.strip():
            found.append((begun, pending))
        pending = ""
    return found


def _listed(text: str | None) -> set[str] | None:
    return None if text is None else set(re.findall(r"\w+", text)) - {"i", "w"}


def _singular(path: str) -> str:
    word = path.rpartition("/")[2]
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "uses")):
        return word[:-2]
    return word.removesuffix("s") if not word.endswith("ss") else word


def _plural(word: str) -> str:
    return (
        word
        if word.endswith("s")
        else word[:-1] + "ies"
        if word.endswith("y") and word[-2:-1] not in "aeiou"
        else word + "s"
    )


def _sinatra(source: Source, use: Use) -> None:
    """`get "/x" do ... end`."""
    if use.kind != CALL or use.receiver or not use.literal:
        return
    line = source.after(use, 300).partition("\n")[0]
    if re.search(r"\bdo\b\s*(?:\|[^|]*\|)?\s*$|\{", line):
        found = source.call(use)
        path = (
            source.value(found.positional[0].split(" do")[0]) if found and found.positional else ""
        )
        if path.startswith("/"):
            source.route([use.name], source.prefix_at(use.start) + path, use, "Sinatra")


def _namespace(source: Source, use: Use) -> None:
    """`namespace "/api" do ... end` of sinatra-contrib: up to the `end` that stands like it."""
    found = source.call(use) if use.kind == CALL and not use.receiver else None
    path = source.value(found.get(0).split(" do")[0]) if found else ""
    indent = re.match(r"[ \t]*", source.line_before(use))
    closing = re.compile(rb"^%bend\b" % (indent[0].encode() if indent else b""), re.MULTILINE)
    end = closing.search(source.data, use.end)
    if path.startswith("/") and end:
        source.includes.append((end.start(), source.prefix_at(use.start) + path))


SINATRA: dict[str, Callable[[Source, Use], None]] = dict.fromkeys(_VERBS, _sinatra)
SINATRA |= {"namespace": _namespace}
