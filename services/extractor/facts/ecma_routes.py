"""Which routes and middleware do Express, Fastify, Koa, Hono and Next.js programs declare?"""

from __future__ import annotations

import re
from collections.abc import Callable

from services.extractor.facts.source import CALL, NEW, Source, Use
from services.surfaces import expressions

_METHODS = ("get", "post", "put", "delete", "patch", "options", "head", "all", "del")
_MODULES = (
    ("express", "Express"), ("fastify", "Fastify"), ("@koa/router", "Koa"), ("koa-router", "Koa"),
    ("koa", "Koa"), ("hono", "Hono"), ("@hapi/hapi", "hapi"), ("restify", "Restify"),
    ("polka", "Polka"), ("express-promise-router", "Express"), ("elysia", "Elysia"),
    ("itty-router", "itty-router"), ("@fastify", "Fastify"), ("find-my-way", "find-my-way"),
)  # fmt: skip
_RECEIVER = re.compile(
    r"(?:^|\.|_)(?:app|router|server|fastify|routes?|instance|\w*[rR]outer|\w*App|api\w*Routes?)$"
)
_CHAINED = re.compile(r"\s*\.\s*(get|post|put|delete|patch|options|head|all)\s*\(")
_TYPES = re.compile(r"\b(?:Router|IRouter|Express|Application|FastifyInstance|Hono|Koa|Elysia)\b")
_EACH = (
    r"(\w+)\.(?:forEach|map)\(\s*\(?\s*(?:%s\b|\{[^}]*\b%s\b[^}]*\})"
    r"|\bfor\s*\(\s*(?:const|let|var)\s+(?:%s\b|\{[^}]*\b%s\b[^}]*\})\s+of\s+(\w+)"
)
_INLINE = re.compile(
    r"(?:async\s*)?(?:\((?:[^()]|\([^()]*\))*\)\s*(?::[^=]*)?=>|function\b|\w+\s*=>)"
)
_EXPORTED = re.compile(
    rb"^\s*(?:(?:module\.)?exports\s*=|export\s+default)\s+([\w$]+)\s*;?\s*$", re.MULTILINE
)
_LISTED_EXPORTS = re.compile(rb"^export\s+(?:const\s+)?\{([^}]*)\}", re.MULTILINE)
_FILE = re.compile(r"\.(?:[cm]?[jt]sx?)$")
_HTTP = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


def framework(source: Source) -> str:
    return next((name for module, name in _MODULES if source.imports_any(module)), "")


def _known(source: Source, use: Use) -> tuple[str, str] | None:
    """Return router and confidence of a receiver, None when it is likely no router at all."""
    owner = source.router(use.receiver, use.scope)
    if owner and not owner.startswith("@"):
        return owner, "high"
    declared = source.type_of(use.receiver, use.scope)
    if declared and _TYPES.search(declared):
        return owner, "high"
    if _RECEIVER.search(use.receiver):
        reference = source.imported(use.receiver)
        if reference and not owner:
            return "=" + _default(reference), "medium"
        return owner, "medium"
    return None


def _default(reference: str) -> str:
    return reference + "default" if reference.endswith(":") else reference


def verb(source: Source, use: Use) -> None:
    """`router.get("/x", handler)`."""
    if use.kind != CALL or use.argc == 0 or not use.receiver or use.receiver.endswith("route()"):
        return
    known = _known(source, use)
    if known is None:
        return
    found = source.call(use)
    if found is None or len(found.positional) < 2:
        return
    if _named(source, found.positional):
        found = found._replace(positional=found.positional[1:])
    written = found.positional[0]
    paths = [source.literal(use, written)]
    if written.startswith("["):
        paths = [source.value(item) for item in expressions.items(written, source.language)]
    last = _handling(found.positional[1:])
    if last.startswith(("{", "'", '"')) and found.closed and "handler" not in last:
        return
    method = {"all": "ANY", "del": "DELETE"}.get(use.name, use.name)
    handler = _handler(source, last)
    owner, outer = _placed(source, use, known[0])
    for path in paths:
        if _is_path(path, use, known[1], written):
            path = outer + path
            source.route([method], path, use, framework(source), known[1], owner, handler)
    if len(paths) == 1 and paths[0].startswith("/"):
        _chain(source, use, found.end, outer + paths[0], owner, known[1])


def _named(source: Source, texts: tuple[str, ...]) -> bool:
    """Koa's routes may have a name before their path."""
    return (
        len(texts) > 2
        and texts[0][:1] in "'\""
        and texts[1][:2] in ("'/", '"/')
        and framework(source) == "Koa"
    )


def _chain(source: Source, use: Use, end: int, path: str, owner: str, confidence: str) -> None:
    """Read `.get(a).post("/y", b)` behind a route or a router; without a path it is the one before."""
    if _CHAINED.match(source.after(use, 4 * end + 40), end) is None:
        return
    text, at = source.after(use, 6_000), end
    while method := _CHAINED.match(text, at):
        parts, at, closed = expressions.split(text, method.end() - 1, source.language)
        own = source.value(parts[0]) if parts and parts[0][:1] in "'\"`" else ""
        if own.startswith("/") and len(parts) > 1:
            path, parts = source.prefix_at(use.start) + own, parts[1:]
        if not path or not parts:
            continue
        name = "ANY" if method[1] == "all" else method[1]
        handler = _handler(source, _handling(tuple(parts))) if closed else ""
        line = source.line_of(use.end + len(text[: method.start(1)].encode()))
        known = framework(source) or ("Express" if use.name == "route" else "")
        source.route([name], path, (use.scope, line), known, confidence, owner, handler)


def _on(source: Source, use: Use) -> None:
    """Hono's `app.on("PURGE", "/x", f)`, `app.on(["PUT", "DELETE"], "/x", f)`."""
    known = _known(source, use) if framework(source) == "Hono" and use.kind == CALL else None
    found = source.call(use) if known else None
    if known is None or found is None or len(found.positional) < 3:
        return
    methods, paths = (
        [source.value(item) for item in expressions.items(text, source.language)]
        for text in found.positional[:2]
    )
    handler = _handler(source, _handling(found.positional[2:]))
    for path in paths:
        if path.startswith("/"):
            source.route(methods, path, use, "Hono", known[1], known[0], handler)


def _is_path(path: str, use: Use, confidence: str, written: str) -> bool:
    if path.startswith("{"):
        return confidence == "high" and re.match(r"[A-Z\"'`\[]", written) is not None
    return path.startswith(("/", "*")) or (
        path == "" and use.literal == "" and confidence == "high"
    )


def _placed(source: Source, use: Use, owner: str) -> tuple[str, str]:
    """Return router and prefix where a route stands: in a plugin written inline, those of its block."""
    outer = source.prefix_at(use.start)
    while source.holders and source.holders[-1][0] <= use.start:
        source.holders.pop()
    return owner or (source.holders[-1][1] if source.holders else ""), outer


def _handling(texts: tuple[str, ...]) -> str:
    """Return the argument that handles: an inline function, else the last that only ends a chain."""
    inline = next(
        (text for text in texts if "=>" in text or re.match(r"(?:async\s+)?function\b", text)), ""
    )
    names = [text for text in texts if not re.search(r"(?i)error|respond$|^next$", text)]
    return inline or (names or texts)[-1]


def _handler(source: Source, text: str) -> str:
    text = re.sub(r"^(?:asyncHandler|catchAsync|wrap\w*|async\w*)\(\s*([\w.]+)\s*\)$", r"\1", text)
    text = text.removesuffix(".bind(this)").removeprefix("this.")
    bound = re.fullmatch(r"([\w.$]+)\.bind\(\s*[\w.$]+\s*\)", text)
    text = bound[1] if bound else text
    holder, dot, name = text.partition(".")
    made = re.match(r"new\s+([A-Z]\w*)\s*\(", source.declared(holder)) if dot else None
    text = f"{made[1]}.{name}" if made else text
    return text if re.fullmatch(r"[A-Za-z_$][\w.$]*", text) else ""


def _route(source: Source, use: Use) -> None:
    """`router.route("/x").get(f).post(g)`, `server.route({ method, url })`, Hono's `app.route`."""
    if use.kind != CALL or not use.receiver:
        return
    found = source.call(use)
    if found is None or not found.positional:
        return
    owner = source.router(use.receiver, use.scope)
    known = _known(source, use)
    if found.positional[0][:1] in "{[":
        _described(source, use, found.positional[0], owner)
        return
    path = source.literal(use, found.positional[0])
    if not path.startswith("/") or (known is None and not framework(source)):
        return
    if len(found.positional) > 1:
        target = source.target(found.positional[1], use.scope)
        if target:
            source.fact("mount", path, use, owner=owner, target=target)
        return
    _chain(source, use, found.end, path, owner, known[1] if known else "medium")


def _described(source: Source, use: Use, text: str, owner: str) -> None:
    for item in expressions.items(text, source.language) if text.startswith("[") else [text]:
        fields = expressions.entries(item, source.language)
        path = source.value(fields.get("url") or fields.get("path") or "")
        methods = [
            source.value(each)
            for each in expressions.items(fields.get("method", ""), source.language)
        ]
        methods = [
            "ANY" if each == "*" else each for each in methods if each.isalpha() or each == "*"
        ]
        if path.startswith("/") and methods:
            source.route(
                methods,
                path,
                use,
                framework(source),
                "high" if framework(source) else "medium",
                owner,
                _handler(source, fields.get("handler", "")),
            )


def _router(source: Source, use: Use) -> None:
    """`express()`, `express.Router()`, `new Router({ prefix })`, `new Hono().basePath("/x")`."""
    if use.kind not in (CALL, NEW):
        return
    known = framework(source) or use.receiver == "express"
    if not known or (use.name == "Router" and use.receiver not in ("", "express", "require()")):
        return
    if use.name in ("express", "fastify", "Fastify", "polka") and use.receiver:
        return
    name = source.assigned_to(use)
    if not name:
        return
    found = source.call(use)
    options = (
        expressions.entries(found.positional[0], source.language)
        if found and found.positional
        else {}
    )
    prefix = source.value(options.get("prefix", "")) if "prefix" in options else ""
    based = (
        re.match(r"\s*\.basePath\(\s*(['\"][^'\"]*['\"])", source.after(use, 200)[found.end :])
        if found
        else None
    )
    key = source.add_router(use, name, source.value(based[1]) if based else prefix)
    if found:
        _chain(source, use, found.end + (based.end() if based else 0), "", key, "high")


def _use(source: Source, use: Use) -> None:
    """`app.use("/x", auth, router)`."""
    if use.kind != CALL or not use.receiver:
        return
    known = _known(source, use)
    if known is None and not framework(source):
        return
    if use.receiver in ("Vue", "app") and source.imports_any("vue"):
        return
    found = source.call(use)
    if found is None or not found.positional:
        return
    parts = list(found.positional)
    prefixes = [""]
    if parts[0][:1] in "'\"`" or (len(parts) > 1 and re.fullmatch(r"[A-Z_.]+", parts[0])):
        prefixes = [source.value(parts.pop(0))]
    elif re.match(r"\[\s*['\"`]", parts[0]):
        prefixes = [source.value(each) for each in expressions.items(parts.pop(0), source.language)]
    elif len(parts) == 2 and _listed(source, use, parts, known[0] if known else ""):
        return
    owner = known[0] if known else ""
    for part in parts:
        layers = expressions.items(part, source.language) if part.startswith("[") else [part]
        for layer in layers:
            _layer(source, use, layer, prefixes, owner)


def _layer(source: Source, use: Use, part: str, prefixes: list[str], owner: str) -> None:
    """Add one router or one piece of middleware at each prefix."""
    name = re.sub(r"\.(?:routes|middleware|router)(?:\(\))?$", "", part)
    named = re.fullmatch(r"[\w.$]+(?:\(\))?|require\([^()]*\)(?:\.\w+)?(?:\(\))?", name)
    target = source.target(name, use.scope) if named and name != "express.json()" else ""
    for prefix in prefixes if target else ():
        source.fact("mount", prefix, use, owner=owner, target=target)
    if target[1:] and target.startswith(":") and target[1:] in source.routers.values():
        return
    if part.endswith((".routes()", ".allowedMethods()")):
        return
    shown = re.match(r"(?:require\(\s*['\"]([^'\"]+)['\"]\s*\)|new\s+)?([\w.$]*)", part)
    name = (shown[2] or shown[1] or "").strip(".") if shown else ""
    if _INLINE.match(part):
        name = "(inline)"
    if name:
        confidence = "high" if framework(source) else "medium"
        position = source.next_position(source.function_of(use.scope))
        source.fact("middleware", f"{name}|pos:{position}", use, confidence, prefixes[0])


def _listed(source: Source, use: Use, parts: list[str], owner: str) -> bool:
    """`routes.forEach((each) => router.use(each.path, each.route))`; tells whether it is that."""
    before = source.data[max(0, use.start - 400) : use.start].decode(errors="replace")
    fields = []
    for part in parts:
        holder, _, field = part.rpartition(".")
        loop = re.search(_EACH % ((re.escape(holder or part),) * 4), before)
        if loop is None:
            return False
        fields.append((loop[1] or loop[2], field))
    (name, path), (_, router) = fields
    index = source.symbol_named(name)
    if index < 0:
        return False
    symbol = source.symbols[index]
    text = source.data[symbol.start_byte : symbol.end_byte].decode(errors="replace")
    for item in expressions.items(text[text.find("[") :], source.language) if "[" in text else ():
        entries = expressions.entries(item, source.language)
        target = source.target(entries.get(router, ""), use.scope)
        if path in entries and target:
            prefix = source.value(entries[path])
            source.fact("mount", prefix, use, owner=owner, target=target)
    return True


def register(source: Source, use: Use) -> None:
    """`fastify.register(routes, { prefix: "/x" })`."""
    if use.kind != CALL or not use.receiver or framework(source) not in ("Fastify", ""):
        return
    known = _known(source, use)
    if known is None:
        return
    found = source.call(use)
    if found is None or not found.positional:
        return
    options = expressions.entries(found.get(1), source.language)
    prefix = source.value(options["prefix"]) if "prefix" in options else ""
    owner, outer = _placed(source, use, known[0])
    if _INLINE.match(found.positional[0]):
        text = source.after(use, 1_600 if found.closed else 60_000)
        whole = (
            found if found.closed else expressions.arguments(text, text.index("("), source.language)
        )
        options = expressions.entries(whole.get(1), source.language)
        end = use.end + len(text[: whole.end].encode())
        source.includes.append((end, outer + source.value(options.get("prefix", "''"))))
        source.holders.append((end, owner))
        return
    target = source.target(found.positional[0], use.scope)
    if target:
        module, _, name = target.rpartition(":")
        named = f"{module}:@{name or 'exports'}"
        source.fact("mount", outer + prefix, use, owner=owner, target=named)
        position = source.next_position(source.function_of(use.scope))
        shown = re.sub(r"^require\(['\"]|['\"]\).*", "", found.positional[0])
        source.fact("middleware", f"{shown}|pos:{position}", use, known[1], "Fastify plugin")


def _hook(source: Source, use: Use) -> None:
    """`fastify.addHook("onRequest", authenticate)`."""
    found = source.call(use) if use.kind == CALL and framework(source) in ("Fastify", "") else None
    known = _known(source, use) if use.receiver and use.literal else None
    if found is None or known is None or len(found.positional) < 2:
        return
    handler = found.positional[1]
    name = handler if re.fullmatch(r"[\w.$]+", handler) else use.literal
    position = source.next_position(source.function_of(use.scope))
    source.fact("middleware", f"{name}|pos:{position}", use, known[1], use.literal or "")


def finish(source: Source) -> None:
    """Say which router is the module's own, where it has several, and what its path tells."""
    own = {name for scope, name in source.routers if scope < 0}
    exported = _EXPORTED.search(source.data) if len(own) > 1 else None
    name = exported[1].decode() if exported else ""
    if exported and name in own:
        line = source.line_of(exported.start(1))
        source.fact("mount", "", (-1, line), owner="default", target=f":{name}")
    files(source)


def _nest_apply(source: Source, use: Use) -> None:
    if (
        use.kind == CALL
        and source.imports_any("@nestjs/common")
        and use.receiver.endswith("consumer")
    ):
        found = source.call(use)
        for part in found.positional if found else ():
            position = source.next_position(source.function_of(use.scope))
            source.fact("middleware", f"{part.split('(')[0]}|pos:{position}", use, "high", "NestJS")


def _nest_global(source: Source, use: Use) -> None:
    if use.kind != CALL or not use.receiver:
        return
    found = source.call(use)
    if found is None:
        return
    if use.name == "setGlobalPrefix":
        prefix = source.value(found.get(0))
        if prefix and "{?}" not in prefix:
            source.fact("mount", prefix, use, detail="global", target="NestJS")
        return
    for part in found.positional:
        position = source.next_position(source.function_of(use.scope))
        name = re.sub(r"^new\s+", "", part).split("(")[0]
        source.fact("middleware", f"{name}|pos:{position}", use, "high", "NestJS")


def files(source: Source) -> None:
    """Next.js: a file's place is its path."""
    path = _FILE.sub("", source.path)
    if path == source.path or ".test" in path or ".spec" in path:
        return
    parts = path.split("/")
    stem = parts[-1]
    app = _after(parts, "app")
    if (
        app is not None
        and stem in ("route", "page")
        and (stem == "route" or source.path.endswith("x") or source.path.endswith(".js"))
    ):
        route = _next_path([part for part in app[:-1] if not part.startswith(("(", "@"))])
        if stem == "page":
            if (
                any(symbol.modifiers and "default" in symbol.modifiers for symbol in source.symbols)
                or b"export default" in source.data
            ):
                _page(source, "PAGE", route)
            return
        for method, at in _exported_methods(source).items():
            source.fact("route", f"{method} {route}", at, "high", "Next.js")
        return
    if stem in ("middleware", "proxy") and parts[:-1] in ([], ["src"]):
        index = source.symbol_named(stem)
        if index >= 0 and source.imports_any("next"):
            at = (index, source.symbols[index].start_line)
            source.fact("middleware", f"{stem}|pos:1", at, "high", "Next.js")
    pages = _after(parts, "pages")
    if pages is None or b"export default" not in source.data or stem.startswith("_"):
        return
    if (
        not (source.imports_any("next", "react") or pages[0] == "api" or source.path.endswith("x"))
        or "components" in parts
    ):
        return
    pages = pages[:-1] if stem == "index" else pages
    _page(source, "ANY" if pages[:1] == ["api"] else "PAGE", _next_path(pages))


def _exported_methods(source: Source) -> dict[str, tuple[int, int]]:
    """Return symbol and line of what handles each method of a route file."""
    found = {
        symbol.name: (index, symbol.start_line)
        for index, symbol in enumerate(source.symbols)
        if symbol.name in _HTTP and symbol.parent < 0
    }
    for listed in _LISTED_EXPORTS.finditer(source.data):
        for item in re.finditer(rb"(?:(\w+)\s+as\s+)?\b(\w+)", listed[1]):
            method = item[2].decode()
            if method in _HTTP:
                index = source.symbol_named((item[1] or item[2]).decode())
                found.setdefault(method, (index, source.line_of(listed.start(1) + item.start())))
    return found


def _after(parts: list[str], folder: str) -> list[str] | None:
    """Return the parts behind a folder that is at the top, or under `src`."""
    if folder not in parts[:-1]:
        return None
    at = parts.index(folder)
    return (
        parts[at + 1 :]
        if at == 0
        or parts[at - 1] in ("src",)
        or (parts[0] in ("apps", "packages", "examples") and at <= 3)
        else None
    )


def _next_path(parts: list[str]) -> str:
    return "/" + "/".join(re.sub(r"^\[+(\.{3})?(.+?)\]+$", r"{\1\2}", part) for part in parts)


def _page(source: Source, method: str, route: str) -> None:
    index = next(
        (index for index, symbol in enumerate(source.symbols) if "default" in symbol.modifiers), -1
    )
    if index < 0:
        named = re.search(rb"export default (?:\w+\()?(\w+)", source.data)
        index = source.symbol_named(named[1].decode()) if named else -1
    line = source.symbols[index].start_line if index >= 0 else 1
    source.fact(
        "route",
        f"{method} {route}",
        (index, line),
        "high" if method == "ANY" or source.imports_any("next") else "medium",
        "Next.js",
    )


HANDLERS: dict[str, Callable[[Source, Use], None]] = dict.fromkeys(_METHODS, verb)
HANDLERS |= dict.fromkeys(
    ("express", "Router", "Hono", "fastify", "Fastify", "polka", "Koa", "Elysia", "OpenAPIHono"),
    _router,
)
HANDLERS |= dict.fromkeys(
    (
        "useGlobalGuards",
        "useGlobalPipes",
        "useGlobalFilters",
        "useGlobalInterceptors",
        "setGlobalPrefix",
    ),
    _nest_global,
)
HANDLERS |= {"route": _route, "use": _use, "apply": _nest_apply, "addHook": _hook, "on": _on}
