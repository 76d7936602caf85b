"""What do JavaScript and TypeScript files say of settings, tables, injection, errors and logs?"""

from __future__ import annotations

import re
from collections.abc import Callable

from services.extractor.facts import ecma_classes, ecma_modules, ecma_routes, logs, prisma
from services.extractor.facts.source import CALL, NEW, Source, Use
from services.surfaces import expressions
from services.surfaces.plurals import plural

_MEMBER = re.compile(r"\s*\??\.\s*([A-Za-z_]\w*)")
_KEY = re.compile(r"\s*(?:\?\.)?\[\s*([^\]\n]+?)\s*\]")
_UNPACKED = re.compile(r"\{([^{}]*)\}\s*=\s*(?:process\.|import\.meta\.)?$")
_RETHROWN = re.compile(rb"\bthrow\s+([a-z_$][\w$]*)\s*[;\n}]")
_QUERIES = re.compile(r"=\s*(?:require\(\s*['\"]knex['\"]\s*\)|[kK]nex)\(")  # db("users")
_SCHEMA = re.compile(r"(?:pg|mysql)Schema\(\s*(['\"][^'\"]+['\"])")
_RETRIES = {
    "async-retry": "async-retry", "p-retry": "p-retry", "cockatiel": "cockatiel",
    "axios-retry": "axios-retry", "opossum": "opossum", "retry": "retry", "ts-retry": "ts-retry",
    "exponential-backoff": "exponential-backoff",
}  # fmt: skip
_TABLE_MAKERS = {
    "createTable": "knex migration", "alterTable": "knex migration", "dropTable": "knex migration",
    "dropTableIfExists": "knex migration", "createTableIfNotExists": "knex migration",
    "pgTable": "Drizzle", "mysqlTable": "Drizzle", "sqliteTable": "Drizzle",
}  # fmt: skip


def _config(source: Source, use: Use, key: str, pattern: str, confidence: str = "high") -> None:
    if key and expressions.UNKNOWN not in key and (expressions.tells(key) or "{=" in key):
        source.fact("config", f"{key}|{pattern}", use, confidence)


def _env(source: Source, use: Use) -> None:
    pattern = {"process": "process.env", "import.meta": "import.meta.env"}.get(use.receiver)
    if pattern is None:
        if use.receiver == "Deno" and (method := re.match(r"\.get\s*\(", source.after(use, 200))):
            found = expressions.arguments(source.after(use, 200), method.end() - 1, source.language)
            _config(source, use, source.value(found.get(0)), "Deno.env")
        return
    text = source.after(use, 200)
    member, key = _MEMBER.match(text), _KEY.match(text)
    if member:
        _config(source, use, member[1], pattern)
    elif key:
        value = source.value(key[1])
        if not value.startswith("{=") or value[2:].split("}")[0].isupper() or ":" in value:
            _config(source, use, value, pattern)
    else:
        unpacked = _UNPACKED.search(
            source.data[max(0, use.start - 600) : use.start].decode(errors="replace")
        )
        for name in unpacked[1].split(",") if unpacked else ():
            name = re.split(r"[:=]", name)[0].strip()
            if name.isidentifier():
                _config(source, use, name, pattern)


def read_setting(source: Source, use: Use) -> bool:
    """`configService.get("x")`, `config.get("x")`; tells whether it is one."""
    if use.kind != CALL or not use.literal:
        return False
    receiver = use.receiver.rpartition(".")[2]
    if source.imports_any("@nestjs/config"):  # under whatever name it is injected
        injected = rb"\b%b\s*:\s*ConfigService\b" % re.escape(receiver).encode()
        receiver = "ConfigService" if re.search(injected, source.data) else receiver
    receiver = receiver.lower()
    if not receiver.endswith(("config", "configservice")):
        return False
    found = source.call(use)
    key = source.value(found.get(0)) if found else ""
    if not key or "{" in key or key.startswith("/"):
        return False
    known = source.imports_any("@nestjs/config", "config", "nconf", "convict")
    _config(
        source,
        use,
        key,
        "ConfigService.get" if "service" in receiver else "config.get",
        "high" if known else "medium",
    )
    return True


def _get(source: Source, use: Use) -> None:
    if not read_setting(source, use):
        ecma_routes.verb(source, use)


def _get_or_throw(source: Source, use: Use) -> None:
    read_setting(source, use)


def _table(source: Source, use: Use) -> None:
    found = source.call(use)
    name = source.literal(use, found.get(0)) if found else ""
    if use.kind == CALL and name and expressions.tells(name) and "{" not in name:
        framework = _TABLE_MAKERS[use.name]
        known = (
            framework == "Drizzle" or "schema" in use.receiver or "queryInterface" in use.receiver
        )
        if known:
            source.fact("db_table", f"{name}|{framework}", use)


def _define(source: Source, use: Use) -> None:
    """Sequelize: `sequelize.define("user", {...}, { tableName: "users" })`, `Model.init(...)`."""
    known = source.imports_any("sequelize", "sequelize-typescript")
    if use.kind != CALL or not (known or use.receiver.lower().endswith("sequelize")):
        return
    found = source.call(use)
    if found is None or (use.name == "define" and not use.literal):
        return
    text = source.after(use, 8_000)
    parts = expressions.split(text, text.find("("), source.language)[0] if "(" in text[:20] else []
    options = expressions.entries(parts[-1], source.language) if parts else {}
    name = source.value(options["tableName"]) if "tableName" in options else ""
    model = parts[0] if use.name == "define" and parts else options.get("modelName", "")
    if not name and not model:
        return
    name = name or _of_model(source.value(model), options)
    schema = source.value(options["schema"]) + "." if "schema" in options else ""
    if "{" not in schema + name and name:
        confidence = "high" if "tableName" in options else "medium"
        declared = source.symbol_named(use.receiver) if use.name == "init" else -1
        at = (declared if declared >= 0 else use.scope, use.line)
        source.fact("db_table", f"{schema}{name}|Sequelize", at, confidence)


def _of_model(name: str, options: dict[str, str]) -> str:
    """Return what Sequelize calls a model's table: its plural, unless told not to."""
    if options.get("underscored") == "true":
        name = ecma_classes.snake(name)
    if options.get("freezeTableName") == "true":
        return name
    return name[:1] + plural(name[:1].lower() + name[1:])[1:]


def _knex(source: Source, use: Use) -> None:
    if use.kind != CALL or not use.literal:
        return
    schema = _SCHEMA.match(source.declared(use.receiver)) if use.name == "table" else None
    if schema and source.imports_any("drizzle-orm"):
        source.fact("db_table", f"{source.value(schema[1])}.{use.literal}|Drizzle", use)
        return
    if (use.name != "knex" or use.receiver) and not source.imports_any("knex"):
        return
    found = source.call(use)
    name = source.value(found.get(0)) if found else ""
    name = re.split(r"\s+as\s+", name, flags=re.IGNORECASE)[0]
    if re.fullmatch(r"[\w.]+", name):
        source.fact("db_table", f"{name}|knex", use, "medium" if use.receiver else "high")


def _container(source: Source, use: Use) -> None:
    """Containers: tsyringe `container.register("X", { useClass: Y })`, inversify `bind(X).to(Y)`."""
    if use.receiver == "RouterModule":
        ecma_modules.inline(source, use)
        return
    if use.kind != CALL or not source.imports_any("tsyringe", "inversify"):
        ecma_routes.register(source, use)
        return
    found = source.call(use)
    if found is None or not found.positional:
        return
    service = found.positional[0].strip("'\"`")
    text = source.after(use, 400)[found.end :]
    if use.name == "bind":
        bound = re.match(r"\s*\.(to\w*)\(\s*([\w.]*)", text)
        implementation = bound[2] if bound and bound[2] else "value" if bound else service
        scope = re.search(r"\.in(Singleton|Transient|Request)Scope", text.partition(";")[0])
        lifetime = scope[1].lower().replace("request", "scoped") if scope else "transient"
    else:
        options = expressions.entries(found.get(1), source.language)
        written = options.get("useClass") or options.get("useToken") or found.get(1) or service
        implementation = "factory" if written.startswith("{") else written
        lifetime = "singleton" if use.name == "registerSingleton" else "transient"
    source.fact("di_registration", f"{service} → {implementation}|{lifetime}", use)


def _reject(source: Source, use: Use) -> None:
    if use.receiver == "Promise":
        found = source.call(use)
        created = re.match(r"new\s+([\w.]+)", found.get(0)) if found else None
        if created:
            source.fact("exception", f"{created[1]}|Promise.reject", use)


def _raise(source: Source, use: Use) -> None:
    created = source.line_before(use).rstrip().endswith("new") or re.search(
        r"\bnew\s+[\w.]+\.$", source.line_before(use)
    )
    context = "throw new" if created else "throw"
    receiver = use.receiver + "." if use.receiver and created and use.receiver[:1].isalpha() else ""
    source.fact("exception", f"{receiver}{use.name}|{context}", use)


def _client(source: Source, use: Use) -> None:
    prisma.client(source, use)


def _delete(source: Source, use: Use) -> None:
    if not prisma.client(source, use):
        ecma_routes.verb(source, use)


def _log(source: Source, use: Use) -> None:
    if use.kind != CALL or not use.literal:
        return
    if use.receiver == "console":
        logs.level(source, use, use.name, "console", "high")
    elif source.is_logger(use.receiver):
        known = source.confidence(
            "winston", "pino", "bunyan", "@nestjs/common", "log4js", "loglevel", "consola"
        )
        if not _levelled(source, use, known):
            logs.level(source, use, use.name, "", known)
            _with_fields(source, use, known)


def _levelled(source: Source, use: Use, confidence: str) -> bool:
    """Winston's `logger.log("error", "gone")`; tells whether it is that."""
    level = logs.LEVELS.get((use.literal or "").lower()) if use.name == "log" else None
    found = source.call(use) if level else None
    if found is None or len(found.positional) < 2 or found.positional[1][:1] not in "'\"":
        return False
    if re.fullmatch(r"'[^']*'|\"[^\"]*\"", found.positional[1]):
        text = source.value(found.positional[1])
        source.fact("log", f"{text[:200]}|{level}", use, confidence)
    return True


def _with_fields(source: Source, use: Use, confidence: str) -> None:
    """Pino's `log.info({ user }, "seen")`: the fields come before the message."""
    found = source.call(use)
    if found is None or len(found.positional) < 2 or use.name.lower() not in logs.LEVELS:
        return
    fields, message = found.positional[:2]
    plain = message[:1] in "'\"" and not re.search(r"[+]\s*$|['\"]\s*[+]", message)
    if (fields.startswith("{") or re.fullmatch(r"err(?:or)?|e", fields)) and plain:
        text = source.value(message)
        if text == use.literal:
            value = f"{text[:200]}|{logs.LEVELS[use.name.lower()]}"
            source.fact("log", value, use, confidence)


def _retry(source: Source, use: Use) -> None:
    if use.kind not in (CALL, NEW):
        return
    for module, framework in _RETRIES.items():
        if any(each.module == module and each.alias == use.name for each in source.imports):
            text = source.line_text(use)
            source.fact("retry_policy", f"{use.name}({text})|{framework}", use, "medium")
            return


_HANDLERS: dict[str, Callable[[Source, Use], None]] = dict(ecma_routes.HANDLERS)
_HANDLERS |= {
    "register": _container, "registerSingleton": _container, "bind": _container,
    "env": _env, "get": _get, "getOrThrow": _get_or_throw, "define": _define, "init": _define,
    "knex": _knex, "table": _knex, "from": _knex, "into": _knex, "reject": _reject,
}  # fmt: skip
_HANDLERS |= dict.fromkeys(_TABLE_MAKERS, _table)
_HANDLERS |= dict.fromkeys(prisma.METHODS, _client) | {"delete": _delete}
_HANDLERS |= dict.fromkeys(
    ("provideRouter", "createRouter", "createBrowserRouter", "createHashRouter", "useRoutes"),
    ecma_modules.inline,
)
_HANDLERS |= dict.fromkeys(
    ("debug", "info", "warn", "warning", "error", "fatal", "trace", "verbose", "log"), _log
)


def read(source: Source) -> None:
    handlers = dict(_HANDLERS)
    for each in source.imports:
        if each.module in _RETRIES and each.alias:
            handlers.setdefault(each.alias, _retry)
    if source.imports_any("knex"):
        for symbol in source.symbols:
            if symbol.kind in ("variable", "constant") and _QUERIES.search(symbol.signature):
                handlers.setdefault(symbol.name, _knex)
    source.dispatch(handlers, _raise)
    source.rethrows(_RETHROWN)
    ecma_classes.read(source)
    ecma_modules.read(source)
    ecma_routes.finish(source)
