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
    path = source.literal(use, found.positional[0])
    if not path.startswith(("/", "*", "{=", "{?}")) and not (
        path == "" and use.literal == "" and known[1] == "high"
    ):
        return
    if path.startswith("{") and (
        known[1] != "high" or not re.match(r"[A-Z\"'`]", found.positional[0])
    ):
        return
    last = _handling(found.positional[1:])
    if last.startswith(("{", "'", '"')) and found.closed and "handler" not in last:
        return
    method = {"all": "ANY", "del": "DELETE"}.get(use.name, use.name)
    source.route([method], path, use, framework(source), known[1], known[0], _handler(last))


def _handling(texts: tuple[str, ...]) -> str:
    """Return the argument that handles: an inline function, else the last that only ends a chain."""
    inline = next(
        (text for text in texts if "=>" in text or re.match(r"(?:async\s+)?function\b", text)), ""
    )
    names = [text for text in texts if not re.search(r"(?i)error|respond$|^next$", text)]
    return inline or (names or texts)[-1]


def _handler(text: str) -> str:
    text = re.sub(r"^(?:asyncHandler|catchAsync|wrap\w*|async\w*)\(\s*([\w.]+)\s*\)$", r"\1", text)
    text = text.removesuffix(".bind(this)").removeprefix("this.")
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
    text, at = source.after(use, 6_000), found.end
    while method := _CHAINED.match(text, at):
        parts, at, closed = expressions.split(text, method.end() - 1, source.language)
        name = "ANY" if method[1] == "all" else method[1]
        handler = _handler(parts[-1]) if parts and closed else ""
        source.route(
            [name],
            path,
            use,
            framework(source) or "Express",
            known[1] if known else "medium",
            owner,
            handler,
        )


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
                _handler(fields.get("handler", "")),
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
    source.add_router(use, name, source.value(based[1]) if based else prefix)


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
    prefix = ""
    if parts[0][:1] in "'\"`" or (len(parts) > 1 and re.fullmatch(r"[A-Z_.]+", parts[0])):
        prefix = source.value(parts.pop(0))
    confidence = "high" if framework(source) else "medium"
    for part in parts:
        name = re.sub(r"\.(?:routes|middleware|router)(?:\(\))?$", "", part)
        named = re.fullmatch(r"[\w.$]+(?:\(\))?|require\([^()]*\)(?:\.\w+)?(?:\(\))?", name)
        target = source.target(name, use.scope) if named and name != "express.json()" else ""
        if target:
            source.fact("mount", prefix, use, owner=known[0] if known else "", target=target)
        if target[1:] and target.startswith(":") and target[1:] in source.routers.values():
            continue
        if part.endswith((".routes()", ".allowedMethods()")):
            continue
        shown = re.match(r"(?:require\(\s*['\"]([^'\"]+)['\"]\s*\)|new\s+)?([\w.$]*)", part)
        name = (shown[2] or shown[1] or "").strip(".") if shown else ""
        if re.match(r"(?:async\s*)?(?:\(|function\b|\w+\s*=>)", part):
            name = "(inline)"
        if name:
            position = source.next_position(source.function_of(use.scope))
            source.fact("middleware", f"{name}|pos:{position}", use, confidence, prefix)


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
    target = source.target(found.positional[0], use.scope)
    if target:
        module, _, name = target.rpartition(":")
        source.fact("mount", prefix, use, owner=known[0], target=f"{module}:@{name or 'exports'}")
        position = source.next_position(source.function_of(use.scope))
        shown = re.sub(r"^require\(['\"]|['\"]\).*", "", found.positional[0])
        source.fact("middleware", f"{shown}|pos:{position}", use, known[1], "Fastify plugin")


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
        for index, symbol in enumerate(source.symbols):
            if symbol.name in _HTTP and symbol.parent < 0:
                source.fact(
                    "route", f"{symbol.name} {route}", (index, symbol.start_line), "high", "Next.js"
                )
        return
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
HANDLERS |= {"route": _route, "use": _use, "apply": _nest_apply}
