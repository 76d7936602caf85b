"""What do Rust files say: actix and axum routes, settings, logs?"""

from __future__ import annotations

import re
from collections.abc import Callable

from services.extractor.facts import logs
from services.extractor.facts import marks as annotated
from services.extractor.facts.source import CALL, Source, Use
from services.surfaces import expressions

_VERBS = ("get", "post", "put", "delete", "patch", "head", "options")
_METHOD = re.compile(r"(?:\w+::)*\b(get|post|put|delete|patch|head|options|any)\s*\(")
_TO = re.compile(r"web::(get|post|put|delete|patch|head)\(\)\s*\.to\(\s*([\w:]+)")


def _route(source: Source, use: Use) -> None:
    """Axum `.route("/x", get(a).post(b))`, actix `.route("/x", web::get().to(a))`."""
    found = source.call(use) if use.kind == CALL else None
    if (
        found is None
        or len(found.positional) < 2
        or not source.imports_any("axum", "actix_web", "poem", "salvo")
    ):
        return
    path = source.literal(use, found.positional[0])
    if not path.startswith("/"):
        return
    path = source.prefix_at(use.start).rstrip("/") + path
    actix = _TO.match(found.positional[1])
    if actix:
        source.route(
            [actix[1]], path, use, "actix", "high", _owner(source, use), actix[2].replace("::", ".")
        )
        return
    text = found.positional[1]
    for method in _METHOD.finditer(text):
        parts = expressions.split(text, method.end() - 1, "rust")[0]
        handler = (
            parts[0].rpartition("::")[2] if parts and re.fullmatch(r"[\w:]+", parts[0]) else ""
        )
        name = "ANY" if method[1] == "any" else method[1]
        source.route([name], path, use, "axum", "high", _owner(source, use), handler)


def _owner(source: Source, use: Use) -> str:
    function = source.function_of(use.scope)
    return source.symbols[function].name if function >= 0 else ""


def _nest(source: Source, use: Use) -> None:
    """Axum `.nest("/api", users::router())`, `.merge(routes())`."""
    found = source.call(use) if use.kind == CALL and source.imports_any("axum") else None
    if found is None or not found.positional:
        return
    prefix = source.value(found.positional[0]) if use.name == "nest" else ""
    text = found.get(1) if use.name == "nest" else found.get(0)
    callee = re.match(r"(?:\w+::)*(\w+)\s*\(", text)
    if callee and (prefix.startswith("/") or use.name == "merge"):
        source.fact("mount", prefix, use, owner=_owner(source, use), target=f":{callee[1]}")


def _scope(source: Source, use: Use) -> None:
    """Actix `web::scope("/x").service(...)`: up to the end of the statement's brackets."""
    found = source.call(use) if use.receiver == "web" and use.kind == CALL else None
    if found and source.imports_any("actix_web"):
        path = source.value(found.get(0))
        for handler in re.findall(
            r"\.service\(\s*(\w+)\s*\)", source.after(use, 1_500).partition(";")[0]
        ):
            index = source.symbol_named(handler)
            if index >= 0:
                source.scopes[index] = path


def _env(source: Source, use: Use) -> None:
    if (
        use.kind == CALL
        and use.receiver.endswith("env")
        and use.literal
        and use.receiver in ("env", "std::env")
    ):
        source.fact("config", f"{use.literal}|env::{use.name}", use)


def _env_macro(source: Source, use: Use) -> None:
    found = source.call(use) if source.after(use, 2).startswith("!") else None
    if found and found.get(0)[:1] == '"':
        source.fact("config", f"{source.value(found.get(0))}|{use.name}!", use)


def _log(source: Source, use: Use) -> None:
    if not source.after(use, 1).startswith("!"):
        return
    found = source.call(use)
    text = next((each for each in (found.positional if found else ()) if each[:1] == '"'), "")
    if text:
        source.fact(
            "log",
            f"{source.value(text)[:200]}|{logs.LEVELS[use.name]}",
            use,
            source.confidence("log", "tracing"),
        )


def _panic(source: Source, use: Use) -> None:
    if source.after(use, 1).startswith("!"):
        source.fact("exception", f"{use.name}!|{use.name}", use)


_HANDLERS: dict[str, Callable[[Source, Use], None]] = {
    "route": _route, "nest": _nest, "merge": _nest, "scope": _scope, "var": _env, "var_os": _env,
    "env": _env_macro, "option_env": _env_macro, "panic": _panic, "bail": _panic,
}  # fmt: skip
_HANDLERS |= dict.fromkeys(("trace", "debug", "info", "warn", "error"), _log)


def read(source: Source) -> None:
    for use in source.uses(_HANDLERS):
        _HANDLERS[use.name](source, use)
    if not source.imports_any("actix_web", "rocket"):
        return
    for index, symbol in enumerate(source.symbols):
        for mark in annotated.of(source, index) if symbol.decorators else ():
            if mark.name in _VERBS and mark.arguments.positional:
                path = source.value(mark.arguments.get(0))
                if path.startswith("/"):
                    prefix = source.scopes.get(index, "").rstrip("/")
                    framework = "actix" if source.imports_any("actix_web") else "Rocket"
                    source.route([mark.name], prefix + path, (index, mark.line), framework)
