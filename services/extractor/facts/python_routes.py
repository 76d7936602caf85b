"""Which routes, routers and middleware do FastAPI, Flask, Django and their kin declare?"""

from __future__ import annotations

import re
from collections.abc import Callable

from services.extractor.facts import python_tables
from services.extractor.facts.source import CALL, DECORATOR, Source, Use
from services.surfaces import expressions
from services.surfaces.expressions import Arguments
from services.surfaces.patterns import plain_pattern

_METHODS = ("get", "post", "put", "delete", "patch", "head", "options", "trace")
_FRAMEWORKS = (
    ("fastapi", "FastAPI"), ("flask", "Flask"), ("flask_restx", "Flask-RESTX"),
    ("flask_restful", "Flask-RESTful"), ("quart", "Quart"), ("starlette", "Starlette"),
    ("sanic", "Sanic"), ("aiohttp", "aiohttp"), ("bottle", "Bottle"), ("litestar", "Litestar"),
    ("falcon", "Falcon"), ("django", "Django"),
)  # fmt: skip
_ROUTERS = {
    "FastAPI": "fastapi", "APIRouter": "fastapi", "Flask": "flask", "Blueprint": "flask",
    "Quart": "quart", "Starlette": "starlette", "Sanic": "sanic", "Namespace": "flask_restx",
    "Api": "flask_restful", "RouteTableDef": "aiohttp", "APIBlueprint": "apiflask",
    "APIFlask": "apiflask", "Bottle": "bottle", "NinjaAPI": "ninja", "Router": "ninja",
    "Application": "aiohttp",
}  # fmt: skip
_AS_VIEW = re.compile(r"\.as_view\([\s\S]*")
_WRAPPING = re.compile(r"^(?:[\w.]+\((?:(?:[^()]|\([^()]*\))*\)\()?\s*)+(?=[\w.]+\.as_view\()")
_MIDDLEWARE_LISTS = ("MIDDLEWARE", "MIDDLEWARE_CLASSES")
_ADDED = re.compile(
    rb"^[ \t]*MIDDLEWARE\s*(?:\+=\s*(?=[\[(])|\.(?:append|insert)(?=\())", re.MULTILINE
)
_REST = "Django REST framework"
_DJANGO = ("django.urls", "django.conf.urls", "django.urls.conf")


def framework_of(source: Source) -> tuple[str, str]:
    for module, name in _FRAMEWORKS:
        if source.imports_any(module):
            return name, "high"
    return "", "medium"


def methods_of(source: Source, found: Arguments, default: tuple[str, ...]) -> list[str]:
    written = found.named.get("methods", "")
    if written.isidentifier():
        written = source.declared(written)
        default = default if written else ("ANY",)
    names = [source.value(item) for item in expressions.items(written, "python")]
    names = [name for name in names if name.isalpha()]
    return names or list(default)


def verb(source: Source, use: Use) -> None:
    """`@router.get("/x")`, and Flask's `@app.route`."""
    if use.kind != DECORATOR or not use.receiver:
        return
    found = source.call(use)
    if found is None:
        return
    text = found.get(0, "path", "rule")
    path = source.literal(use, text) if text else ""
    owner = source.router(use.receiver, use.scope)
    framework, confidence = framework_of(source)
    if not path.startswith(("/", "{=", "{?}")) and not (owner and path == ""):
        return
    if path.startswith("{") and not owner and confidence != "high":
        return
    methods = ["ANY" if use.name == "view" else use.name]
    if use.name in ("route", "api_route", "websocket", "websocket_route"):
        methods = methods_of(source, found, ("GET",)) if "route" in use.name else ["WEBSOCKET"]
        methods = ["WEBSOCKET"] if use.name.startswith("websocket") else methods
        decorated = source.symbols[use.scope] if use.scope >= 0 else None
        if decorated is not None and decorated.kind == "class":
            methods = _class_methods(source, use.scope) or methods
    if not owner and not source.imported(use.receiver) and confidence == "high":
        confidence = "high" if framework in ("Bottle", "aiohttp") else "medium"
    if not owner and source.imported(use.receiver):
        owner = "=" + source.imported(use.receiver)  # a router of another file
    source.route(methods, path, use, framework, confidence, owner)


def _class_methods(source: Source, index: int) -> list[str]:
    return [
        symbol.name for symbol in source.symbols
        if symbol.parent == index and symbol.name in _METHODS
    ]  # fmt: skip


def _add_route(source: Source, use: Use) -> None:
    """`app.add_api_route("/x", f, methods=[...])`, `add_url_rule`, `add_get`."""
    found = source.call(use) if use.kind == CALL else None
    if found is None:
        return
    framework, confidence = framework_of(source)
    listed = use.name == "add_route" and len(found.positional) > 2 and framework in ("aiohttp", "")
    first = 1 if listed else 0  # aiohttp's `add_route("GET", "/x", f)`
    path = source.literal(use, found.get(first, "path", "rule"))
    if not path.startswith(("/", "{=")) or (path.startswith("{") and confidence != "high"):
        return
    verb = re.fullmatch(r"add_(get|post|put|delete|patch|head|options)", use.name)
    if use.name == "add_url_rule":
        handler = found.get(2, "view_func")
    else:
        handler = found.get(first + 1, "endpoint", "view_func", "handler")
    methods = [verb[1]] if verb else methods_of(source, found, ("GET",))
    if listed:
        written = source.value(found.positional[0])
        methods = [written] if written.isalpha() else ["ANY"]
    elif use.name == "add_view" or (use.name == "add_route" and framework == "Falcon"):
        methods = ["ANY"]
    handler = made if _AS_VIEW.search(made := source.declared(handler)) else handler
    plain = _AS_VIEW.sub("", handler)
    if plain != handler and "methods" not in found.named:
        methods = ["ANY"]
    owner = source.router(use.receiver.removesuffix(".router"), use.scope)
    source.route(methods, path, use, framework, confidence, owner, plain)


def _add_resource(source: Source, use: Use) -> None:
    found = source.call(use)
    if found is None or not source.imports_any("flask_restful", "flask_restx"):
        return
    owner = source.router(use.receiver, use.scope)
    for text in found.positional[1:]:
        path = source.value(text)
        if path.startswith("/"):
            handler = found.positional[0]
            index = source.symbol_named(handler)
            methods = (_class_methods(source, index) if index >= 0 else []) or ["ANY"]
            source.route(methods, path, use, "Flask-RESTful", "high", owner, handler)


def router(source: Source, use: Use) -> None:
    if use.kind != CALL:
        return
    module = _ROUTERS[use.name]
    known = source.imports_any(module, "flask_restx", "flask_restful", "apiflask", "flask_smorest")
    name = source.assigned_to(use)
    known = known or use.name in ("FastAPI", "APIRouter", "Flask", "Blueprint")
    if not name or not (known or source.imports_any("fastapi", "flask")):
        return
    found = source.call(use)
    if found is None:
        return
    prefix = (
        found.named.get("prefix") or found.named.get("url_prefix") or found.named.get("path") or ""
    )
    if use.name == "Namespace" and not prefix and found.positional:
        value = "/" + source.value(found.positional[0])
    else:
        value = source.value(prefix) if prefix else ""
    parent = found.positional[0] if use.name == "Api" and found.positional else ""
    source.add_router(
        use, name, value, source.router(parent, use.scope) if parent else "", use.name
    )


def _mount(source: Source, use: Use) -> None:
    found = source.call(use)
    if found is None or not use.receiver or not found.positional:
        return
    child = found.get(0, "router", "blueprint")
    prefix = found.named.get("prefix") or found.named.get("url_prefix") or ""
    if use.name == "add_namespace":
        prefix = found.get(1, "path")
    if use.name == "mount":
        child, prefix = found.get(1, "app"), found.positional[0]
        if not source.value(prefix).startswith("/"):
            return
    elif use.name in ("add_router", "add_subapp"):
        child, prefix = found.get(1, "router", "subapp"), found.positional[0]
    target = source.target(child, use.scope)
    if not target:
        return
    owner = source.router(use.receiver, use.scope)
    if not owner and source.imported(use.receiver):
        owner = "=" + source.imported(use.receiver)
    detail = "replaces" if use.name in ("register_blueprint", "add_namespace") and prefix else ""
    source.fact("mount", source.value(prefix), use, detail=detail, owner=owner, target=target)


def _middleware(source: Source, use: Use) -> None:
    if use.name == "add_middleware":
        found = source.call(use)
        if found and found.positional:
            name = found.positional[0]
            positioned(source, use, name, *framework_of(source))
    elif use.kind == DECORATOR and use.receiver:
        framework, confidence = framework_of(source)
        if framework and use.scope >= 0:
            positioned(source, use, source.symbols[use.scope].name, framework, confidence)


def _hook(source: Source, use: Use) -> None:
    framework, confidence = framework_of(source)
    if not framework or not use.receiver:
        return
    if use.kind == DECORATOR and use.scope >= 0:
        positioned(source, use, source.symbols[use.scope].name, framework, confidence)
    elif use.kind == CALL:
        found = source.call(use)
        if found and found.positional and re.fullmatch(r"[\w.]+", found.positional[0]):
            positioned(source, use, found.positional[0], framework, confidence)


def positioned(source: Source, use: Use, name: str, framework: str, confidence: str) -> None:
    """Count per body: the function around it, for decorators around the decorated function."""
    scope = use.scope
    if use.kind == DECORATOR and scope >= 0:
        scope = source.symbols[scope].parent
    position = source.next_position(source.function_of(scope))
    source.fact("middleware", f"{name}|pos:{position}", use, confidence, framework)


# -- Django -----------------------------------------------------------------------------------


def _path(source: Source, use: Use) -> None:
    if (
        use.kind != CALL
        or use.receiver not in ("", "urls")
        or not source.imports_any(*_DJANGO, "django_distill")
    ):
        return
    found = source.call(use)
    if found is None or len(found.positional) + len(found.named) < 2:
        return
    route = source.literal(use, found.get(0, "route", "regex"))
    if use.name in ("re_path", "url"):
        route = plain_pattern(route)
    view = found.get(1, "view")
    owner, outer = around(source, use)
    included = re.match(r"(?:\w+\.)?include\s*\(", view)
    if included:
        _include(source, use, view, included.end() - 1, outer + route, owner)
        return
    view = _WRAPPING.sub("", view)
    made = source.function_of(use.scope) >= 0  # where such a list is included, no file may tell
    confidence = "medium" if made else "high"
    actions = re.match(r"([\w.]+)\.as_view\(\s*(?=\{)", view)  # of a view set
    if actions:
        verbs = expressions.entries(view[actions.end() :], "python").items()
        for verb, name in verbs:
            handler = f"{actions[1]}.{source.value(name)}"
            source.route([verb], outer + route, use, "Django", confidence, owner, handler)
        return
    view = _AS_VIEW.sub("", view)
    wrapped = re.match(
        r"(?:[\w.]+\((?:[^()]|\([^()]*\))*\))?[\w.]*\(\s*([A-Za-z_][\w.]*)\s*[,)]", view
    )
    view = wrapped[1] if wrapped else view
    if not route and view.endswith(".urls"):
        return
    handler = view if re.fullmatch(r"[\w.]+", view) else ""
    source.route(["ANY"], outer + route, use, "Django", confidence, owner, handler)


def around(source: Source, use: Use) -> tuple[str, str]:
    """Return the list a pattern stands in, and the prefix of the inline includes around it."""
    while source.includes and source.includes[-1][0] <= use.start:
        source.includes.pop()
    outer = source.includes[-1][1] if source.includes else ""
    owner = source.symbols[use.scope].name if use.scope >= 0 else ""
    if owner and source.symbols[use.scope].kind in ("variable", "constant", "field"):
        return owner, outer
    assigned = re.search(
        rb"(\w+)\s*\+?=\s*(?:\w+\(\s*)?[\[(][^=]*$",
        source.data[max(0, use.start - 4000) : use.start],
    )
    return assigned[1].decode() if assigned else "urlpatterns", outer


def _include(source: Source, use: Use, view: str, at: int, prefix: str, owner: str) -> None:
    inner = expressions.arguments(view, at, "python")
    text = inner.get(0, "arg").strip()
    if text.startswith("(") and "urls" in text:
        text = expressions.split(text, 0, "python")[0][0]
    if text.startswith(("[", "(")):
        text_bytes = source.data[use.end :]
        source.includes.append((balanced_end(text_bytes) + use.end, prefix))
        return
    if text[:1] in "'\"":
        target = source.value(text) + ":urlpatterns"
    else:
        target = source.target(text.removesuffix(".urls"), use.scope)
        if target.count(":") == 1 and target.endswith(":"):
            target += "urlpatterns"
    source.fact("mount", prefix, use, owner=owner, target=target, detail="Django")


def balanced_end(data: bytes) -> int:
    text = data[:60_000].decode(errors="replace")
    at = text.find("(")
    return len(text[: expressions.split(text, at, "python")[1]].encode()) if at >= 0 else 0


def _translated(source: Source, use: Use) -> None:
    """What `i18n_patterns` holds begins with a language, which no file tells."""
    if use.kind == CALL and source.imports_any(*_DJANGO):
        end = balanced_end(source.data[use.end :])
        source.includes.append((use.end + end, expressions.UNKNOWN + "/"))


def _register(source: Source, use: Use) -> None:
    """Django REST framework: `router.register("users", UserViewSet)`."""
    owner = source.router(use.receiver, use.scope)
    if use.kind != CALL or not (owner or "router" in use.receiver.lower()):
        return
    if not source.imports_any(
        "rest_framework", "rest_framework_nested", "rest_framework_extensions"
    ) and (not owner or owner.startswith("@") or not source.imports_any(*_DJANGO)):
        return
    found = source.call(use)
    if found is None or len(found.positional) < 2:
        return
    prefix = plain_pattern(source.literal(use, found.positional[0]))
    declared = source.declared(use.receiver).replace(" ", "")
    framework = _REST + (" without slash" if "trailing_slash=False" in declared else "")
    source.route(["VIEWSET"], prefix, use, framework, "high", owner, found.positional[1])


def _rest_router(source: Source, use: Use) -> None:
    name = source.assigned_to(use)
    if use.kind != CALL or not name:
        return
    found = source.call(use)
    prefix = parent = ""
    if use.name.startswith("Nested") and found and len(found.positional) > 1:
        lookup = source.value(found.get(2, "lookup")) or "nested"
        prefix = f"{source.value(found.positional[1])}/<{lookup}_pk>"
        parent = source.target(found.positional[0], use.scope)
        parent = parent.removeprefix(":") if parent.startswith(":") else "=" + parent
    source.add_router(use, name, prefix, parent, _REST)


def finish(source: Source) -> None:
    """Add what symbols tell without a use: tables, settings fields, the middleware list."""
    _listed_middleware(source)
    python_tables.read(source)


def _listed_middleware(source: Source) -> None:
    """Django's settings: `MIDDLEWARE = [...]`, and what is added to the list further down."""
    position = 0
    for index, symbol in enumerate(source.symbols):
        if symbol.kind in ("variable", "constant") and symbol.name in _MIDDLEWARE_LISTS:
            text = source.data[symbol.start_byte : symbol.end_byte].decode(errors="replace")
            start, text = symbol.start_byte, text.partition("=")[2].strip()
            position = _layers(source, text, index, start, position)
    if position:
        for found in _ADDED.finditer(source.data):
            text = source.data[found.end() : found.end() + 4_000].decode(errors="replace")
            scope = source.at(found.start())[0]
            position = _layers(source, text, scope, found.end(), position)


def _layers(source: Source, text: str, scope: int, start: int, position: int) -> int:
    """Add what a list names behind a position; return the last one's."""
    for item in expressions.items(text, "python"):
        name = source.value(item)
        if name and "{" not in name and "." in name:
            position += 1
            line = source.line_of(max(start, source.data.find(name.encode(), start)))
            source.fact("middleware", f"{name}|pos:{position}", (scope, line), "high", "Django")
    return position


HANDLERS: dict[str, Callable[[Source, Use], None]] = dict.fromkeys(_METHODS, verb)
HANDLERS |= dict.fromkeys(("route", "api_route", "websocket", "websocket_route"), verb)
HANDLERS |= dict.fromkeys(
    ("add_api_route", "add_url_rule", "add_route", "add_api_websocket_route", "add_view",
     "add_get", "add_post", "add_put", "add_delete", "add_patch", "add_head"), _add_route
)  # fmt: skip
HANDLERS |= dict.fromkeys(_ROUTERS, router)
HANDLERS |= dict.fromkeys(
    ("include_router", "register_blueprint", "mount", "add_namespace", "add_router", "add_subapp"),
    _mount,
)
HANDLERS |= dict.fromkeys(("path", "re_path", "url"), _path)
HANDLERS |= dict.fromkeys(
    ("DefaultRouter", "SimpleRouter", "NestedDefaultRouter", "NestedSimpleRouter"), _rest_router
)
HANDLERS |= dict.fromkeys(("add_middleware", "middleware"), _middleware)
HANDLERS |= dict.fromkeys(("before_request", "after_request", "before_app_request"), _hook)
HANDLERS |= {
    "add_resource": _add_resource,
    "register": _register,
    "i18n_patterns": _translated,
    "Table": python_tables.table_call,
}
