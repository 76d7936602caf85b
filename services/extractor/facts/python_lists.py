"""Which routes do Starlette and aiohttp programs list: `Route("/x", f)` in a `Mount`, `web.get("/x", f)`?

A list is a router of its variable's name; one that is written where it is used has the prefix, or the
router, of the call around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from services.extractor.facts import python_routes
from services.extractor.facts.source import CALL, Source, Use

_VERBS = ("get", "post", "put", "delete", "patch", "head", "options", "view")
_STARLETTE = ("starlette", "fastapi")
_APPLICATION = re.compile(r"(?:\w+\.)*(?:Starlette|FastAPI|Router)\s*\(")


def _verb(source: Source, use: Use) -> None:
    """Read aiohttp's `web.get("/x", f)`; what decorates is a route of any framework."""
    if use.kind != CALL or use.receiver != "web":
        python_routes.verb(source, use)
        return
    found = source.call(use) if source.imports_any("aiohttp") else None
    path = source.literal(use, found.get(0, "path")) if found else ""
    if found is None or not path.startswith(("/", "{=")):
        return
    while source.holders and source.holders[-1][0] <= use.start:
        source.holders.pop()
    owner = source.holders[-1][1] if source.holders else python_routes.around(source, use)[0]
    method = "ANY" if use.name == "view" else use.name
    source.route([method], path, use, "aiohttp", "high", owner, found.get(1, "handler"))


def _add_routes(source: Source, use: Use) -> None:
    """`app.add_routes([web.get(...)])`, and a list that has a name."""
    found = source.call(use) if use.kind == CALL and use.receiver else None
    if found is None or not found.positional:
        return
    owner = source.router(use.receiver.removesuffix(".router"), use.scope)
    if found.positional[0].startswith("["):
        end = python_routes.balanced_end(source.data[use.end :])
        source.holders.append((use.end + end, owner))
        return
    target = source.target(found.positional[0], use.scope)
    if target:
        source.fact("mount", "", use, owner=owner, target=target)


def _route(source: Source, use: Use) -> None:
    """Starlette's `Route("/x", endpoint=f, methods=[...])`; an endpoint's class tells its methods."""
    found = source.call(use) if use.kind == CALL and source.imports_any(*_STARLETTE) else None
    path = source.literal(use, found.get(0, "path")) if found else ""
    if found is None or not path.startswith(("/", "{=")):
        return
    handler = found.get(1, "endpoint")
    owner, outer = python_routes.around(source, use)
    if use.name == "WebSocketRoute":
        methods = ["WEBSOCKET"]
    else:
        default = "ANY" if handler.rpartition(".")[2][:1].isupper() else "GET"
        methods = python_routes.methods_of(source, found, (default,))
    source.route(methods, outer + path, use, "Starlette", "high", owner, handler)


def _mount(source: Source, use: Use) -> None:
    """`Mount("/x", routes=[...])`, `Mount("/x", app=inner)`."""
    found = source.call(use) if use.kind == CALL and source.imports_any(*_STARLETTE) else None
    if found is None or (not found.positional and "path" not in found.named):
        return
    owner, outer = python_routes.around(source, use)
    prefix = outer + source.value(found.get(0, "path"))
    inner = found.named.get("routes") or found.get(1, "app")
    if inner.startswith("[") or _APPLICATION.match(inner):
        end = python_routes.balanced_end(source.data[use.end :])
        source.includes.append((use.end + end, prefix))
        return
    target = source.target(inner, use.scope)
    if target:
        source.fact("mount", prefix, use, detail="Starlette", owner=owner, target=target)


def _application(source: Source, use: Use) -> None:
    """`Starlette(routes=routes)`: what the list holds, the program has."""
    python_routes.router(source, use)
    found = source.call(use) if use.kind == CALL else None
    listed = found.named.get("routes", "") if found else ""
    if re.fullmatch(r"[\w.]+", listed) and source.imports_any(*_STARLETTE):
        name = source.assigned_to(use)
        target = source.target(listed, use.scope)
        owner = source.router(name, use.scope) if name else ""
        source.fact("mount", "", use, detail="Starlette", owner=owner, target=target)


def _middleware(source: Source, use: Use) -> None:
    """`Middleware(GZipMiddleware, minimum_size=1000)`."""
    found = source.call(use) if use.kind == CALL and source.imports_any(*_STARLETTE) else None
    name = found.get(0, "cls") if found else ""
    if re.fullmatch(r"[\w.]+", name):
        python_routes.positioned(source, use, name, *python_routes.framework_of(source))


HANDLERS: dict[str, Callable[[Source, Use], None]] = dict.fromkeys(_VERBS, _verb)
HANDLERS |= dict.fromkeys(("Route", "WebSocketRoute"), _route)
HANDLERS |= dict.fromkeys(("Starlette", "FastAPI", "Router"), _application)
HANDLERS |= {"Mount": _mount, "Middleware": _middleware, "add_routes": _add_routes}
