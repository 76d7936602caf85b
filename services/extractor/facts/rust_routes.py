"""Which routes and middleware do axum, actix and Rocket programs declare?

A builder that a variable holds is a router of its own, what a function builds is called like the
function. Attributes tell a handler's own path; under which prefix it is served, another file may say.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from services.extractor.facts import marks as annotated
from services.extractor.facts.source import CALL, Source, Use
from services.surfaces import expressions

_VERBS = ("get", "post", "put", "delete", "patch", "head", "options")
_METHOD = re.compile(
    r"[\s.]*(?:\w+::)*(get|post|put|delete|patch|head|options|any|get_service)\s*(?=\()"
)
_TO = re.compile(
    r"\s*(?:web::)?(get|post|put|delete|patch|head|route)\(\)[\s\S]*?\.to\(\s*([\w:]+)"
)
_LINK = re.compile(
    r"(?:\s|//[^\n]*\n)*(?:\?|\.\s*(?P<name>\w+)(?:\s*::<[^()]*>)?\s*(?=\()|\.\s*await\b)"
)
_BUILT = re.compile(r"(?:\w+::)*\w*Router::new\s*\(")
_PATH = re.compile(r"(?:\w+::)*\w+")
_AXUM = ("axum", "poem", "salvo")
_MAX_BYTES = 60_000


def _text(source: Source, use: Use) -> str:
    return source.after(use, _MAX_BYTES)


def _ends(source: Source, use: Use) -> tuple[int, int]:
    """Return where the call ends in the file, and where the chain that goes on behind it does."""
    text = _text(source, use)
    at = end = expressions.split(text, text.find("("), "rust")[1]
    while link := _LINK.match(text, at):
        at = link.end()
        if link["name"]:
            at = expressions.split(text, at, "rust")[1]
    return use.end + len(text[:end].encode()), use.end + len(text[:at].encode())


def _function(source: Source, use: Use) -> str:
    """Name what a function builds; one that is given actix's configuration adds to its caller's."""
    index = source.function_of(use.scope)
    if index < 0:
        return ""
    symbol = source.symbols[index]
    given = any("ServiceConfig" in declared for _, declared in symbol.params)
    return "@" + symbol.name if given else symbol.name


def _owner(source: Source, use: Use) -> str:
    """Return the router a link of a chain adds to."""
    held = source.router(use.receiver, use.scope) if use.receiver.isidentifier() else ""
    if held and not held.startswith("@"):
        return held
    while source.holders and source.holders[-1][0] <= use.start:
        source.holders.pop()
    return source.holders[-1][1] if source.holders else _function(source, use)


def _target(source: Source, name: str, mark: str = "") -> str:
    """Spell what a path like `users::router` means."""
    module, _, last = name.rpartition("::")
    if not module:
        module, _, imported = source.imported(name).rpartition(":")
        last = imported or last
    return f"{module}:{mark}{last}"


def _new(source: Source, use: Use) -> None:
    """`let api = Router::new()`: the chain behind it, and later ones of the variable."""
    known = use.receiver.rpartition("::")[2].endswith("Router") and source.imports_any(*_AXUM)
    name = source.assigned_to(use) if known and use.kind == CALL else ""
    if not name:
        return
    key = source.add_router(use, name, "")
    source.holders.append((_ends(source, use)[1], key))
    index = source.function_of(use.scope)
    symbol = source.symbols[index] if index >= 0 else None
    text = source.data[symbol.start_byte : symbol.end_byte] if symbol else b""
    if re.search(rb"(?:[;}]\s*|\breturn\s+)%b\b(?:\s*\.[^;]*)?;?\s*\}\s*$" % name.encode(), text):
        source.fact("mount", "", use, owner=_function(source, use), target=":" + key)


def _route(source: Source, use: Use) -> None:
    """Axum `.route("/x", get(a).post(b))`, actix `.route("/x", web::get().to(a))`."""
    found = source.call(use) if use.kind == CALL else None
    known = source.imports_any(*_AXUM, "actix_web")
    if found is None or len(found.positional) < 2 or not known:
        return
    path = source.literal(use, found.positional[0])
    if not path.startswith("/"):
        return
    owner = _owner(source, use)
    path = source.prefix_at(use.start).rstrip("/") + path
    text = found.positional[1]
    actix = _TO.match(text) if source.imports_any("actix_web") else None
    if actix:
        _served(source, (use.scope, use.line), path, owner, actix)
        return
    at = 0
    while method := _METHOD.match(text, at):
        parts, at, _ = expressions.split(text, method.end(), "rust")
        name = "ANY" if method[1] in ("any", "get_service") else method[1]
        handler = parts[0] if parts and _PATH.fullmatch(parts[0]) else ""
        source.route([name], path, use, "axum", "high", owner, handler)


def _served(source: Source, at: tuple[int, int], path: str, owner: str, to: re.Match[str]) -> None:
    method = "ANY" if to[1] == "route" else to[1]
    source.route([method], path, at, "actix", "high", owner, to[2])


def _resource(source: Source, use: Use) -> None:
    """Actix `web::resource("/x").route(web::get().to(a))`, `.to(a)`."""
    found = source.call(use) if use.receiver == "web" and use.kind == CALL else None
    if found is None or not source.imports_any("actix_web"):
        return
    path = source.prefix_at(use.start).rstrip("/") + source.value(found.get(0))
    owner = _owner(source, use)
    text, at = _text(source, use), found.end
    while link := _LINK.match(text, at):
        if not link["name"]:
            break
        line = source.line_of(use.end + len(text[: link.start("name")].encode()))
        parts, at, _ = expressions.split(text, link.end(), "rust")
        to = _TO.match(parts[0]) if parts and link["name"] == "route" else None
        if to:
            _served(source, (use.scope, line), path, owner, to)
        elif link["name"] == "to" and parts and _PATH.fullmatch(parts[0]):
            source.route(["ANY"], path, (use.scope, line), "actix", "high", owner, parts[0])


def _nest(source: Source, use: Use) -> None:
    """Axum `.nest("/api", users::router())`, `.merge(routes())`."""
    found = source.call(use) if use.kind == CALL and source.imports_any("axum") else None
    if found is None or not found.positional:
        return
    nested = use.name.startswith("nest")
    prefix = source.value(found.positional[0]) if nested else ""
    text = found.get(1 if nested else 0)
    owner, outer = _owner(source, use), source.prefix_at(use.start).rstrip("/")
    if nested and not prefix.startswith("/"):
        return
    if _BUILT.match(text):
        end = _ends(source, use)[0]
        source.includes.append((end, outer + prefix))
        source.holders.append((end, owner))
        return
    held = source.router(text, use.scope) if text.isidentifier() else ""
    callee = re.match(r"((?:\w+::)*\w+)\s*\(", text)
    if held or callee:
        target = ":" + held if held else _target(source, callee[1]) if callee else ""
        source.fact("mount", outer + prefix, use, owner=owner, target=target)


def _scope(source: Source, use: Use) -> None:
    """Actix `web::scope("/x").service(...)`: what the chain adds stands under the prefix."""
    found = source.call(use) if use.receiver == "web" and use.kind == CALL else None
    if found and source.imports_any("actix_web"):
        outer = source.prefix_at(use.start).rstrip("/")
        source.includes.append((_ends(source, use)[1], outer + source.value(found.get(0))))


def _service(source: Source, use: Use) -> None:
    """Actix `.service(list)`, `.service((list, show))`, `.configure(users::routes)`."""
    found = source.call(use) if use.kind == CALL and source.imports_any("actix_web") else None
    text = found.get(0) if found else ""
    items = expressions.split(text, 0, "rust")[0] if text.startswith("(") else [text]
    for item in items:
        if _PATH.fullmatch(item):
            prefix, target = source.prefix_at(use.start), _target(source, item, "@")
            source.fact("mount", prefix, use, owner=_owner(source, use), target=target)


def _mount(source: Source, use: Use) -> None:
    """Rocket `.mount("/x", routes![a, b])`."""
    found = source.call(use) if use.kind == CALL else None
    listed = re.match(r"(?:\w+::)*routes!\s*(?=\[)", found.get(1)) if found else None
    if found is None or listed is None:
        return
    prefix = source.value(found.get(0))
    for item in expressions.split(found.get(1), listed.end(), "rust")[0]:
        target, owner = _target(source, item, "@"), _function(source, use)
        source.fact("mount", prefix, use, owner=owner, target=target)


def _layer(source: Source, use: Use) -> None:
    """Axum `.layer(TraceLayer::new_for_http())`, actix `.wrap`, Rocket `.attach`."""
    found = source.call(use) if use.kind == CALL else None
    known = source.imports_any("axum", "actix_web", "rocket")
    text = found.get(0) if found else ""
    name = _PATH.match(text)
    if name is None or not known:
        return
    parts = name[0].split("::")
    if parts[-1].startswith("from_fn") and text[name.end() :].startswith("("):
        inner = expressions.split(text, name.end(), "rust")[0]
        shown = inner[-1] if inner and _PATH.fullmatch(inner[-1]) else "(inline)"
    else:
        shown = next((part for part in reversed(parts) if part[:1].isupper()), parts[-1])
    position = source.next_position(source.function_of(use.scope))
    source.fact("middleware", f"{shown}|pos:{position}", use)


def attributes(source: Source) -> None:
    """Read `#[get("/x")]` of actix and Rocket."""
    framework = "actix" if source.imports_any("actix_web") else "Rocket"
    if framework == "Rocket" and not source.imports_any("rocket"):
        return
    for index, symbol in enumerate(source.symbols):
        for mark in annotated.of(source, index) if symbol.decorators else ():
            positional = mark.arguments.positional
            path = source.value(positional[0]) if positional else ""
            verbs = [mark.name]
            if mark.name == "route":
                text = " ".join(positional[1:])
                verbs = re.findall(r"\bmethod\s*=\s*\"?(\w+)", text) or ["ANY"]
            elif mark.name not in _VERBS:
                continue
            if path.startswith("/"):
                path = path.partition("?")[0] if framework == "Rocket" else path
                source.route(verbs, path, (index, mark.line), framework, owner="@" + symbol.name)


HANDLERS: dict[str, Callable[[Source, Use], None]] = {
    "new": _new, "route": _route, "nest": _nest, "nest_service": _nest, "merge": _nest,
    "scope": _scope, "resource": _resource, "service": _service, "configure": _service,
    "mount": _mount, "layer": _layer, "wrap": _layer, "attach": _layer,
}  # fmt: skip
