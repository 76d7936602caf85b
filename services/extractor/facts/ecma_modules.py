"""Which pages and prefixes do lists of routes declare: Angular's and Vue's routers, Nest's modules?

A list is a router of its variable's name; modules are routers of their class's name, so that lazily
loaded and nested ones are joined as any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from services.extractor.facts.marks import Annotation
from services.extractor.facts.source import CALL, Source, Use
from services.surfaces import expressions

_FRAMEWORKS = (
    ("@angular/router", "Angular"), ("vue-router", "Vue Router"),
    ("react-router-dom", "React Router"), ("react-router", "React Router"),
)  # fmt: skip
_LIST = re.compile(r":\s*(?:\w+\.)?(?:Routes|Route\[\]|RouteRecordRaw\[\]|RouteObject\[\])")
_LOADED = re.compile(
    r"import\(\s*(?:/\*.*?\*/\s*)?['\"`]([^'\"`]+)['\"`]\s*\)(?:\s*\.then\(\s*\(?\s*\w+\s*\)?\s*=>\s*\w+\.(\w+))?"
)
_ELEMENT = re.compile(r"<\s*([A-Z][\w.]*)")
_OUTER = re.compile(r"RouterModule\.for(?:Root|Child)\s*\(\s*")
_MAX_BYTES = 60_000
_DEPTH = 8


def _framework(source: Source) -> str:
    return next((name for module, name in _FRAMEWORKS if source.imports_any(module)), "")


def read(source: Source) -> None:
    """Read every list of routes that a variable of the module holds."""
    framework = _framework(source)
    if not framework:
        return
    for index, symbol in enumerate(source.symbols):
        if symbol.kind not in ("variable", "constant") or symbol.parent >= 0:
            continue
        if not _LIST.search(symbol.signature) and symbol.name.lower() not in ("routes", "router"):
            continue
        text = _text(source, symbol.start_byte, symbol.end_byte)
        opening = re.search(r"(?<![=!<>])=\s*(?=\[)", text)
        if opening is not None:
            start = symbol.start_byte + len(text[: opening.end()].encode())
            _Listing(source, framework, symbol.name, index).items(text[opening.end() :], start)


def _text(source: Source, start: int, end: int) -> str:
    return source.data[start : min(end, start + _MAX_BYTES)].decode(errors="replace")


def inline(source: Source, use: Use) -> None:
    """`provideRouter([...])`, `createRouter({ routes })`, `createBrowserRouter([...])`, Nest's `register`."""
    nested = use.name == "register" or use.receiver == "RouterModule"
    framework = "NestJS" if nested and source.imports_any("@nestjs/core") else _framework(source)
    text = _text(source, use.end, use.end + _MAX_BYTES)
    opening = re.match(r"\s*(?:<[^>()]*>)?\s*\(\s*", text)
    if use.kind != CALL or not framework or opening is None:
        return
    start = opening.end()
    if text[start : start + 1] == "{":  # createRouter({ history, routes: [...] })
        written = re.search(r"\broutes\s*(?:(:)\s*)?", text[start:])
        if written is None:
            return
        start += written.end() if written[1] else written.start()
    _given(source, framework, "", text[start:], use.end + len(text[:start].encode()), use.scope)


def _given(source: Source, framework: str, owner: str, text: str, start: int, scope: int) -> None:
    """Read a list where it is written, or mount the one that is named."""
    if text.startswith("["):
        _Listing(source, framework, owner, scope).items(text, start)
        return
    name = re.match(r"[\w.$]+", text)
    target = source.target(name[0], scope) if name else ""
    if target:
        at = (scope, source.line_of(start))
        source.fact("mount", "", at, detail=framework, owner=owner, target=target)


def angular_module(source: Source, index: int, mark: Annotation) -> None:
    """`@NgModule({ imports: [UsersModule, RouterModule.forChild(routes)] })`."""
    own = source.symbols[index].name
    fields = expressions.entries(mark.arguments.get(0), source.language)
    for item in expressions.items(fields.get("imports", ""), source.language):
        routes = _OUTER.match(item)
        if routes is not None:
            found = source.data.find(item[:60].encode(), 0)
            start = max(0, found) + len(item[: routes.end()].encode())
            _given(source, "Angular", own, item[routes.end() :], start, index)
        elif item.endswith("Module") and source.imported(item).startswith("."):
            target = source.target(item, index)
            source.fact("mount", "", (index, mark.line), detail="Angular", owner=own, target=target)


def nest_module(source: Source, index: int, mark: Annotation) -> None:
    """A module's controllers are reached under the path that is given to the module."""
    fields = expressions.entries(mark.arguments.get(0), source.language)
    own = source.symbols[index].name
    for item in expressions.items(fields.get("controllers", ""), source.language):
        target = source.target(item, index)
        if target:
            source.fact("mount", "", (index, mark.line), detail="NestJS", owner=own, target=target)


class _Listing:
    """One list of routes being read."""

    def __init__(self, source: Source, framework: str, owner: str, scope: int) -> None:
        self.source, self.framework, self.owner, self.scope = source, framework, owner, scope

    def items(self, text: str, start: int, prefix: str = "", depth: int = _DEPTH) -> None:
        """Read `[{ path, ... }, ...]`, which begins at a byte of the file."""
        for item, at in self._placed(text, start):
            if item.startswith("..."):
                target = self.source.target(item[3:], self.scope)
                if target:
                    self._mount(prefix, target, at)
            elif item.startswith("{") and depth:
                self._route(item, at, prefix, depth)
            elif self.framework == "NestJS":  # a child that is only a module
                self._mount(prefix, self.source.target(item, self.scope), at)

    def _placed(self, text: str, start: int) -> Iterator[tuple[str, int]]:
        begin = 0
        for item in expressions.items(text, self.source.language):
            found = text.find(item, begin)
            yield item, start + len(text[:found].encode())
            begin = found + len(item)

    def _route(self, text: str, start: int, prefix: str, depth: int) -> None:
        fields = expressions.entries(text, self.source.language)
        if "path" not in fields and "children" not in fields and "index" not in fields:
            return
        own = self.source.value(fields["path"]) if "path" in fields else ""
        absolute = own.startswith("/") and self.framework != "NestJS"
        parts = (own,) if absolute else (prefix, own)
        path = "/".join(part.strip("/") for part in parts if part.strip("/"))
        if self.framework == "NestJS":
            self._mount(path, self.source.target(fields.get("module", ""), self.scope), start)
        else:
            self._page(fields, path, start)
        children = fields.get("children", "")
        if children.startswith("["):
            at = text.find(children, text.find("children"))
            self.items(children, start + len(text[:at].encode()), path, depth - 1)

    def _page(self, fields: dict[str, str], path: str, start: int) -> None:
        lazily = _LOADED.search(fields.get("loadChildren", ""))
        if lazily is not None:
            self._mount(path, f"{lazily[1]}:{lazily[2] or 'default'}", start)
            return
        written = re.match(r"['\"](\.[^'\"#]+)#(\w+)['\"]", fields.get("loadChildren", ""))
        if written is not None:
            self._mount(path, f"{written[1]}:{written[2]}", start)
            return
        component = (
            fields.get("component")
            or fields.get("Component")
            or fields.get("loadComponent")
            or fields.get("lazy")
            or fields.get("element")
            or ""
        )
        if component:
            at = (self.scope, self.source.line_of(start))
            target = self._component(component)
            self.source.fact(
                "route", f"PAGE /{path}", at, "high", self.framework, self.owner, target
            )

    def _component(self, text: str) -> str:
        loaded = _LOADED.search(text)
        if loaded is not None:
            stem = loaded[1].rpartition("/")[2].partition(".")[0]
            return f"{loaded[1]}:{loaded[2] or stem}"
        element = _ELEMENT.match(text)
        name = element[1] if element else text
        target = self.source.target(name, self.scope)
        if target.endswith(":default"):  # a component is named like its file
            stem = target.removesuffix(":default").rpartition("/")[2].partition(".")[0]
            return target.removesuffix("default") + stem
        return target

    def _mount(self, prefix: str, target: str, start: int) -> None:
        if target:
            at = (self.scope, self.source.line_of(start))
            self.source.fact(
                "mount", prefix, at, detail=self.framework, owner=self.owner, target=target
            )
