"""Which routes do the annotations of Spring, JAX-RS and Micronaut declare, and the calls of Spring's and Ktor's builders?"""

from __future__ import annotations

import re
from collections.abc import Callable

from services.extractor.facts.marks import Annotation
from services.extractor.facts.source import CALL, Source, Use
from services.surfaces import expressions

_MAPPINGS = {
    "GetMapping": "GET", "PostMapping": "POST", "PutMapping": "PUT", "DeleteMapping": "DELETE",
    "PatchMapping": "PATCH",
}  # fmt: skip
_HTTP = {"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"}
_MICRONAUT = {"Get": "GET", "Post": "POST", "Put": "PUT", "Delete": "DELETE", "Patch": "PATCH"}
_FUNCTIONAL = (
    "org.springframework.web.servlet.function",
    "org.springframework.web.reactive.function.server",
)
_CLIENTS = frozenset({"FeignClient", "RegisterRestClient", "Client", "HttpExchange"})


def class_prefixes(source: Source, marks: list[Annotation]) -> list[str] | None:
    """Return the prefixes of a class's routes, None when it only describes a client."""
    if any(mark.name in _CLIENTS for mark in marks):
        return None
    for mark in marks:
        if mark.name in ("RequestMapping", "Path", "Controller", "ApplicationPath"):
            if mark.name == "Controller" and not source.imports_any("io.micronaut"):
                continue
            return _paths(source, mark)
    return [""]


def _paths(source: Source, mark: Annotation) -> list[str]:
    text = mark.arguments.get(0, "value", "path", "uri")
    if len(mark.arguments.positional) > 1:  # Kotlin lists them one behind the other
        text = ""
        return [source.value(each) for each in mark.arguments.positional]
    return [source.value(item) for item in expressions.items(text, source.language)] or [""]


def method(source: Source, index: int, marks: list[Annotation], prefixes: list[str]) -> None:
    names = {mark.name: mark for mark in marks}
    for mark in marks:
        if mark.name in _MAPPINGS:
            _add(source, index, mark, [_MAPPINGS[mark.name]], prefixes, "Spring")
        elif mark.name == "RequestMapping":
            verbs = re.findall(
                r"\b(GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS)\b",
                mark.arguments.named.get("method", ""),
            )
            _add(source, index, mark, verbs or ["ANY"], prefixes, "Spring")
        elif mark.name in _HTTP and source.imports_any("javax.ws.rs", "jakarta.ws.rs"):
            path = names.get("Path")
            _add(source, index, path or mark, [mark.name], prefixes, "JAX-RS", path is not None)
        elif mark.name in _MICRONAUT and source.imports_any("io.micronaut.http"):
            _add(source, index, mark, [_MICRONAUT[mark.name]], prefixes, "Micronaut")


def _add(
    source: Source, index: int, mark: Annotation, verbs: list[str], prefixes: list[str],
    framework: str, has_path: bool = True,
) -> None:  # fmt: skip
    for prefix in prefixes:
        for path in _paths(source, mark) if has_path else [""]:
            whole = "/" + "/".join(part.strip("/") for part in (prefix, path) if part.strip("/"))
            source.route(verbs, whole, (index, mark.line), framework)


def _ktor(source: Source, use: Use) -> None:
    """`route("/x") { get("/y") { } }`: the block is part of the call."""
    if use.kind != CALL or use.receiver:
        return
    found = source.call(use)
    path = source.value(found.get(0)) if found and found.positional else ""
    outer = source.prefix_at(use.start)
    text = source.after(use, 200)
    end = found.end if found else 0
    if use.name == "route":
        if text[end:].lstrip().startswith("{"):
            source.open_block(use.end + len(text[:end].encode()), f"{outer}/{path.strip('/')}")
        return
    if re.match(r"\s*\{", text[end:]):
        source.route([use.name], f"{outer}/{path.strip('/')}".rstrip("/") or "/", use, "Ktor")


def _functional(source: Source, use: Use) -> None:
    """Spring's `route().GET("/x", handler::one)`, `route(GET("/x"), handler::one)`."""
    found = source.call(use) if use.kind == CALL else None
    if found is None or not found.positional or not source.imports_any(*_FUNCTIONAL):
        return
    path = source.value(found.positional[0])
    if not path.startswith(("/", "{=")) and path != "":
        return
    handler = found.positional[-1] if len(found.positional) > 1 else ""
    if not use.receiver or use.receiver.endswith("RequestPredicates"):  # the handler is beside it
        text = source.after(use, 600)[found.end :]
        beside = re.match(r"(?:\s*\.and\([^;]*?\)\))?\s*,\s*([\w.]+::\w+)", text)
        handler = beside[1] if beside else ""
        if not re.search(r"\b(?:route|andRoute)\(\s*(?:\w+\.)?$", source.line_before(use)):
            return
    elif not handler:
        return
    holder, _, name = handler.partition("::")
    kind = source.type_of(holder, use.scope).partition("<")[0] or holder
    named = f"{kind}.{name}" if name and re.fullmatch(r"\w+", kind) else ""
    outer = source.prefix_at(use.start)
    source.route([use.name], outer + path, use, "Spring", handler=named)


def _nested(source: Source, use: Use) -> None:
    """`.path("/x", builder -> ...)`, `.nest(path("/x"), ...)`."""
    found = source.call(use) if use.kind == CALL and source.imports_any(*_FUNCTIONAL) else None
    if found is None or len(found.positional) < 2:
        return
    given = re.match(r"(?:\w+\.)?path\(\s*(.+)\)$", found.positional[0])
    prefix = source.value(given[1] if given else found.positional[0])
    if prefix.startswith("/"):
        source.open_block(use.end, source.prefix_at(use.start) + prefix)


FUNCTIONAL: dict[str, Callable[[Source, Use], None]] = dict.fromkeys(_HTTP, _functional)
FUNCTIONAL |= {"path": _nested, "nest": _nested}
KTOR: dict[str, Callable[[Source, Use], None]] = dict.fromkeys(
    ("route", "get", "post", "put", "delete", "patch", "head", "options"), _ktor
)
