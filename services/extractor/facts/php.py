"""What do PHP files say of settings, tables, injection, middleware, exceptions, logs and retries?"""

from __future__ import annotations

import re
from collections.abc import Callable

from services.extractor.facts import logs, php_config, php_routes
from services.extractor.facts import marks as annotated
from services.extractor.facts.ecma_classes import snake
from services.extractor.facts.source import CALL, Source, Use
from services.surfaces import expressions, plurals

_KEY = re.compile(r"\s*\[\s*([^\]\n]+?)\s*\]")
_RETHROWN = re.compile(rb"\bthrow\s+\$(\w+)\s*;")
_MODELS = frozenset({"Model", "Authenticatable", "Pivot", "Eloquent", "MorphPivot"})
_SUPERGLOBAL = re.compile(rb"\$(_ENV|_SERVER)\s*\[\s*(['\"])([A-Z][A-Z0-9_]*)\2\s*\]")
_LISTS = frozenset({"middleware", "middlewareGroups", "routeMiddleware", "middlewareAliases"})
_BINDINGS = {"bindings": "transient", "singletons": "singleton"}
_BOUND = re.compile(r"([\w\\]+)::class\s*=>\s*([\w\\]+)::class")
_DOC_TABLE = re.compile(r"@(?:ORM\\)?Table\(.*?name\s*=\s*\"([^\"]+)\"", re.DOTALL)


def _config(source: Source, use: Use) -> None:
    if (
        use.kind != CALL
        or use.receiver not in ("", "Config", "$this->config", "$config")
        or not use.literal
    ):
        return
    if use.name in ("get", "has") and use.receiver != "Config":
        return
    found = source.call(use)
    key = source.value(found.get(0, "key")) if found else ""
    if (
        not key
        or "{" in key
        or " " in key
        or (use.name == "config" and found and found.get(0)[:1] == "[")
    ):
        return
    pattern = {"get": "Config::get", "has": "Config::has"}.get(use.name, f"{use.name}()")
    sure = (
        use.name in ("getenv", "get")
        or source.imports_any("Illuminate")
        or use.name == "env"
        or source.path.startswith(("config/", "app/"))
    )
    source.fact("config", f"{key}|{pattern}", use, "high" if sure else "medium")


def _parameter(source: Source, use: Use) -> None:
    if (
        use.kind == CALL
        and use.literal
        and use.receiver.removeprefix("$this->")
        in ("$this", "container", "$container", "params", "parameterBag", "$params")
    ):
        source.fact("config", f"{use.literal}|getParameter", use, source.confidence("Symfony"))


def _table(source: Source, use: Use) -> None:
    if use.kind != CALL or not use.literal:
        return
    found = source.call(use)
    name = source.value(found.get(0)) if found else ""
    name = re.split(r"\s+as\s+", name, flags=re.IGNORECASE)[0]
    if not re.fullmatch(r"[\w.]+", name):
        return
    if use.receiver == "DB" or use.receiver.startswith("DB::connection"):
        if use.name == "table":
            source.fact("db_table", f"{name}|DB::table", use)
    elif use.receiver == "Schema" or use.receiver.startswith("Schema::"):
        source.fact("db_table", f"{name}|migration", use)
    elif use.name == "createTable" and ("schema" in use.receiver.lower()):
        source.fact("db_table", f"{name}|Doctrine migration", use)


def _bind(source: Source, use: Use) -> None:
    receiver = use.receiver.removeprefix("$this->")
    if use.kind != CALL or receiver not in (
        "app",
        "$app",
        "App",
        "container",
        "$container",
        "app()",
    ):
        return
    found = source.call(use)
    if found is None or not found.positional:
        return
    service = _class(found.positional[0])
    text = found.get(1)
    made = re.search(r"\bnew\s+([\w\\]+)|return\s+([\w\\]+)::", text)
    implementation = (
        _class(text)
        if re.fullmatch(r"[\w\\]+::class|'[^']*'", text)
        else (made[1] or made[2])
        if made
        else ("factory" if text else service)
    )
    lifetime = {
        "bind": "transient",
        "bindIf": "transient",
        "singletonIf": "singleton",
        "scopedIf": "scoped",
    }.get(use.name, use.name)
    if service and re.fullmatch(r"[\w\\.]+", service):
        source.fact(
            "di_registration",
            f"{service} → {implementation}|{lifetime}",
            use,
            "high" if source.imports_any("Illuminate") else "medium",
            "Laravel",
        )


def _single(source: Source, use: Use) -> None:
    """`$app->singleton(A::class, B::class)`, and the route `Route::singleton("profile", C::class)`."""
    if use.receiver.startswith("Route"):
        php_routes.resource(source, use)
    else:
        _bind(source, use)


def _class(text: str) -> str:
    return text.removesuffix("::class").strip("'\"").lstrip("\\")


def _abort(source: Source, use: Use) -> None:
    if use.kind == CALL and not use.receiver:
        found = source.call(use)
        at = 1 if use.name != "abort" else 0
        status = source.value(found.get(at)) if found else ""
        if status.isdigit():
            source.fact("exception", f"HttpException|{use.name}", use, detail=f"status {status}")


def _raise(source: Source, use: Use) -> None:
    context = "throw new" if re.search(r"\bnew\s+[\w\\]*$", source.line_before(use)) else "throw"
    source.fact("exception", f"{use.name}|{context}", use)


def _log(source: Source, use: Use) -> None:
    if use.kind != CALL or not use.literal:
        return
    if use.receiver == "Log" or use.receiver.startswith("Log::") or use.receiver == "logger()":
        logs.level(source, use, use.name, "Log", "high")
    elif source.is_logger(use.receiver):
        logs.level(source, use, use.name, "PSR-3", source.confidence("Psr\\Log", "Monolog"))


def _retry(source: Source, use: Use) -> None:
    if use.kind != CALL:
        return
    if use.name == "retry" and (use.receiver == "" or use.receiver.startswith("Http")):
        found = source.call(use)
        if found and (
            found.get(0).isdigit() or found.get(0).startswith("[") or "times" in found.named
        ):
            shown = "Http::retry" if use.receiver else "retry"
            source.fact(
                "retry_policy", f"{shown}({source.line_text(use)[:60]})|Laravel", use, "medium"
            )
    elif (
        use.receiver == "Middleware" and use.name == "retry"
    ) or use.receiver == "GuzzleRetryMiddleware":
        source.fact("retry_policy", f"{use.receiver}::{use.name}|Guzzle", use, "medium")


def _middleware(source: Source, use: Use) -> None:
    found = source.call(use) if use.kind == CALL and use.receiver else None
    if found is None or not (
        use.receiver.startswith(("Route", "$this", "$router", "$middleware", "$app", "$group"))
        or "::" in use.receiver
    ):
        return
    if use.name != "middleware" and not use.receiver.startswith(("$middleware", "$app")):
        return
    for text in found.positional:
        for item in expressions.items(text, "php"):
            name = _class(item) if "::class" in item else source.value(item)
            if name and re.fullmatch(r"[\w\\:,.|-]+", name):
                position = source.next_position(source.function_of(use.scope))
                source.fact("middleware", f"{name}|pos:{position}", use, "high", use.name)


def _guzzle(source: Source, use: Use) -> None:
    if use.receiver in ("Middleware", "GuzzleRetryMiddleware"):
        _retry(source, use)


_HANDLERS: dict[str, Callable[[Source, Use], None]] = dict(php_routes.HANDLERS)
_HANDLERS |= dict.fromkeys(("env", "config", "getenv"), _config)
_HANDLERS |= dict.fromkeys(
    ("bind", "singleton", "scoped", "instance", "bindIf", "singletonIf", "scopedIf"), _bind
)
_HANDLERS["singleton"] = _single
_HANDLERS |= dict.fromkeys(("table", "create", "createTable", "rename", "dropIfExists"), _table)
_HANDLERS |= dict.fromkeys(("abort", "abort_if", "abort_unless"), _abort)
_HANDLERS |= dict.fromkeys(("middleware", "append", "prepend", "pushMiddleware"), _middleware)
_HANDLERS |= dict.fromkeys(
    ("emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"), _log
)
_HANDLERS |= {"getParameter": _parameter, "retry": _retry, "factory": _guzzle}


def _get(source: Source, use: Use) -> None:
    if use.receiver == "Config":
        _config(source, use)
    else:
        php_routes.verb(source, use)


_HANDLERS |= {
    "get": _get,
    "set": php_config.service,
    "alias": php_config.service,
    "add": php_config.route,
}


def read(source: Source) -> None:
    source.dispatch(_HANDLERS, _raise)
    source.rethrows(_RETHROWN)
    if b"$_ENV" in source.data or b"$_SERVER" in source.data:
        for found in _SUPERGLOBAL.finditer(source.data):
            name = found[3].decode()
            if found[1] == b"_ENV":
                source.fact("config", f"{name}|$_ENV", source.at(found.start()))
    for index, symbol in enumerate(source.symbols):
        if symbol.kind == "class":
            _model(source, index)
        elif symbol.kind in ("field", "property"):
            _field(source, index)
    php_routes.attributes(source)


def _model(source: Source, index: int) -> None:
    symbol = source.symbols[index]
    at = (index, symbol.start_line)
    members = {each.name: each for each in source.symbols if each.parent == index}
    table = members.get("table") or members.get("$table")
    if table is not None and (
        _MODELS.intersection(symbol.bases) or source.imports_any("Illuminate\\Database\\Eloquent")
    ):
        name = source.value(expressions.declared_value(table.signature))
        if name and "{" not in name:
            source.fact("db_table", f"{name}|Eloquent", at)
            return
    if (
        _MODELS.intersection(symbol.bases)
        and source.imports_any(
            "Illuminate\\Database\\Eloquent", "Illuminate\\Foundation\\Auth", "Eloquent"
        )
        and "abstract" not in symbol.modifiers
    ):
        source.fact("db_table", f"{plurals.plural(snake(symbol.name))}|Eloquent", at, "medium")
        return
    marks = annotated.of(source, index) if symbol.decorators else []
    entity = any(mark.name == "Entity" for mark in marks)
    for mark in marks:
        if mark.name == "Table" and (entity or source.imports_any("Doctrine\\ORM")):
            name = source.value(mark.arguments.get(0, "name"))
            schema = source.value(mark.arguments.named.get("schema", ""))
            if name and "{" not in name:
                source.fact(
                    "db_table",
                    f"{schema}.{name}|Doctrine" if schema else f"{name}|Doctrine",
                    (index, mark.line),
                )
                return
    if entity and source.imports_any("Doctrine\\ORM"):
        source.fact("db_table", f"{snake(symbol.name)}|Doctrine", at, "medium")
    elif "@ORM\\Entity" in symbol.doc or "@Entity" in symbol.doc:
        written = _DOC_TABLE.search(symbol.doc)
        source.fact(
            "db_table",
            f"{written[1] if written else snake(symbol.name)}|Doctrine",
            at,
            "high" if written else "medium",
        )


def _field(source: Source, index: int) -> None:
    symbol = source.symbols[index]
    name = symbol.name.removeprefix("$")
    if name == "tries" and symbol.parent >= 0:
        value = source.value(expressions.declared_value(symbol.signature))
        if value.isdigit() and (
            "ShouldQueue" in source.symbols[symbol.parent].signature
            or source.imports_any("Illuminate")
        ):
            source.fact(
                "retry_policy",
                f"$tries = {value}|Laravel queue",
                (index, symbol.start_line),
                "medium",
            )
    elif name in _BINDINGS and source.imports_any("Illuminate\\Support"):
        text = source.data[symbol.start_byte : symbol.end_byte].decode(errors="replace")
        for found in _BOUND.finditer(text):
            at = (index, source.line_of(symbol.start_byte + len(text[: found.start()].encode())))
            value = f"{_class(found[1])} → {_class(found[2])}|{_BINDINGS[name]}"
            source.fact("di_registration", value, at, "high", "Laravel")
    elif name in _LISTS and symbol.parent >= 0 and "Kernel" in source.symbols[symbol.parent].name:
        text = source.data[symbol.start_byte : symbol.end_byte].decode(errors="replace")
        for position, found in enumerate(re.finditer(r"([\w\\]+)::class", text), 1):
            at = (index, source.line_of(symbol.start_byte + len(text[: found.start()].encode())))
            source.fact("middleware", f"{_class(found[1])}|pos:{position}", at, "high", name)
