"""What do C# files say of settings, tables, injection, middleware, exceptions, logs and retries?"""

from __future__ import annotations

import re
from collections.abc import Callable

from services.extractor.facts import csharp_routes
from services.extractor.facts import marks as annotated
from services.extractor.facts.source import CALL, NEW, Source, Use
from services.surfaces import expressions

_CONFIGURATIONS = (
    "Configuration",
    "configuration",
    "_configuration",
    "config",
    "_config",
    "Config",
)
_LIFETIMES = {
    "Scoped": "Scoped", "Singleton": "Singleton", "Transient": "Transient",
    "HostedService": "Singleton", "DbContext": "Scoped", "HttpClient": "Transient",
    "DbContextFactory": "Singleton", "DbContextPool": "Scoped",
}  # fmt: skip
_REGISTRATION = re.compile(
    r"^(?:Try)?Add(?:Keyed)?(Scoped|Singleton|Transient|HostedService|DbContext|HttpClient|DbContextFactory|DbContextPool)$"
)
_LEVEL = re.compile(r"^Log(Trace|Debug|Information|Warning|Error|Critical)$")
_SERILOG = {
    "Verbose": "Trace",
    "Debug": "Debug",
    "Information": "Information",
    "Warning": "Warning",
    "Error": "Error",
    "Fatal": "Critical",
}
_POLICIES = (
    "RetryAsync", "WaitAndRetryAsync", "WaitAndRetry", "Retry", "RetryForever", "RetryForeverAsync",
    "WaitAndRetryForeverAsync", "CircuitBreaker", "CircuitBreakerAsync", "AdvancedCircuitBreakerAsync",
    "AddRetry", "AddCircuitBreaker", "AddTimeout", "AddResilienceHandler", "AddStandardResilienceHandler",
    "AddPolicyHandler", "AddTransientHttpErrorPolicy", "AddResiliencePipeline", "AddHedging",
)  # fmt: skip
_GENERIC = re.compile(r"\s*<((?:[^<>()]|<(?:[^<>]|<[^<>]*>)*>)*)>")
_INDEXED = re.compile(rb"(?<![\w.])(config(?:uration)?)(?=\s*\[)")
_RETHROW = re.compile(rb"\bthrow\s*;|\bthrow\s+([a-z_]\w*)\s*;")


def _key(source: Source, use: Use, text: str, pattern: str, prefix: str = "") -> None:
    key = source.value(text)
    if (
        key
        and expressions.UNKNOWN not in key
        and (expressions.tells(key) or "{=" in key)
        and not re.fullmatch(r"\{=[a-z]\w*\}", key)
    ):
        source.fact("config", f"{prefix}{key}|{pattern}", use, _sure(source, use))


def _sure(source: Source, use: Use) -> str:
    if "onfig" in use.receiver + use.name or source.imports_any(
        "Microsoft.Extensions.Configuration"
    ):
        return "high"
    return "medium"


def _indexer(source: Source, use: Use) -> None:
    index = source.symbol_named(use.name)
    declared = source.type_of(use.name, use.scope) or (
        source.symbols[index].returns if index >= 0 else ""
    )
    if declared and "Configuration" not in declared:
        return  # a dictionary that is called like one
    key = re.match(r"\s*\[\s*([^\]]+?)\s*\](?!\s*=[^=])", source.after(use, 200))
    if (key and key[1][:1] in '"$@') or (key and re.match(r"[A-Z][\w.]*$|nameof", key[1])):
        _key(source, use, key[1], "IConfiguration indexer")


def _config(source: Source, use: Use) -> None:
    found = source.call(use) if use.kind == CALL else None
    if found is None or not found.positional:
        return
    before = source.line_before(use)
    if use.name == "GetSection" and re.search(
        r"\b(?:Configure|Bind)\s*(?:<[^()]*>)?\(\s*[\w.]*$", before
    ):
        return  # told by Configure
    if use.name == "GetSection":
        following = source.after(use, 300)[found.end :]
        inner = re.match(r"\s*\[\s*(\"[^\"\n]*\")\s*\]", following)
        if inner and source.value(found.positional[0]):
            prefix = source.value(found.positional[0]) + ":"
            _key(source, use, inner[1], "IConfiguration indexer", prefix)
        if inner or re.match(r"\s*\[|\s*\.\s*GetSection", following):
            return
    prefix = "ConnectionStrings:" if use.name == "GetConnectionString" else ""
    if use.name == "GetEnvironmentVariable":
        if use.receiver.endswith("Environment"):
            value = source.value(found.positional[0])
            if value and expressions.UNKNOWN not in value:
                source.fact("config", f"{value}|GetEnvironmentVariable", use)
        return
    if use.name in ("GetValue", "GetSection", "GetRequiredSection", "GetConnectionString"):
        _key(source, use, found.positional[0], use.name, prefix)


def _options(source: Source, use: Use) -> None:
    found = source.call(use) if use.kind == CALL else None
    if found is None:
        return
    if use.name == "BindConfiguration":
        _key(source, use, found.get(0), "Options Configure")
        return
    for text in found.positional:
        section = re.search(r"GetSection\(\s*([^()]*(?:\([^()]*\))?[^()]*)\)", text)
        if section:
            key = source.value(section[1])
            if key and expressions.UNKNOWN not in key:
                source.fact("config", f"{key}|Options Configure", use)


def _registration(source: Source, use: Use) -> None:
    if use.kind != CALL or not use.receiver:
        return
    kind = _REGISTRATION.match(use.name)
    generic = _GENERIC.match(source.after(use, 400))
    found = source.call(use)
    names = _types(generic[1]) if generic else []
    if not names and found:
        names = [
            name for each in found.positional for name in re.findall(r"typeof\(([^()]+)\)", each)
        ]
    if not names or kind is None:
        return
    made = (
        re.search(r"\bnew\s+([\w.<>]+)\s*\(", found.positional[-1])
        if found and found.positional
        else None
    )
    implementation = names[1] if len(names) > 1 else made[1] if made else names[0]
    if (
        len(names) == 1
        and found
        and found.positional
        and not made
        and kind[1] in ("Scoped", "Singleton", "Transient")
        and "typeof" not in found.positional[0]
    ):
        implementation = "factory"
    source.fact(
        "di_registration",
        f"{names[0]} → {implementation}|{_LIFETIMES[kind[1]]}",
        use,
        "high" if "ervices" in use.receiver or "builder" in use.receiver else "medium",
    )


def _types(text: str) -> list[str]:
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [" ".join(part.split()) for part in parts if part.strip()]


def _log(source: Source, use: Use) -> None:
    found = source.call(use) if use.kind == CALL else None
    if found is None:
        return
    level = _LEVEL.match(use.name)
    for text in found.positional[:3]:
        if text[:1] in '"@' and not text.startswith(("$", "@$")):
            template = (
                source.value(text)
                if "+" not in text.replace('"', " ") or "{=" not in source.value(text)
                else ""
            )
            if template and "{?}" not in template and "{=" not in template:
                source.fact(
                    "log", f"{template[:200]}|{level[1] if level else _SERILOG[use.name]}", use
                )
            return


def _serilog(source: Source, use: Use) -> None:
    if use.receiver in (
        "Log",
        "_log",
        "_logger",
        "logger",
        "Logger",
        "Log.Logger",
    ) and source.imports_any("Serilog"):
        _log(source, use)


def _raise(source: Source, use: Use) -> None:
    before = source.line_before(use)
    context = "throw new"
    if re.search(r"(?:\?\?|=>|[?:])\s*throw\s+new\s+[\w.]*$", before):
        context = "throw expression"
    elif re.match(r"\s*\(\s*(?:nameof\(|paramName\s*:)", source.after(use, 60)):
        context = "nameof guard"
    source.fact("exception", f"{use.name}|{context}", use)


def _guard(source: Source, use: Use) -> None:
    if use.kind == CALL and use.receiver.endswith("Exception"):
        source.fact("exception", f"{use.receiver}|guard", use)


def _policy(source: Source, use: Use) -> None:
    if use.kind not in (CALL, NEW):
        return
    if use.name in ("Retry", "AddTimeout", "CircuitBreaker") and not source.imports_any(
        "Polly", "Microsoft.Extensions.Http.Resilience", "Microsoft.Extensions.Resilience"
    ):
        return
    framework = (
        "Microsoft.Extensions.Resilience"
        if "Resilience" in use.name and not source.imports_any("Polly")
        else "Polly"
    )
    source.fact(
        "retry_policy", f"{use.name}({source.line_text(use)[:80]})|{framework}", use, "medium"
    )


_HANDLERS: dict[str, Callable[[Source, Use], None]] = dict(csharp_routes.HANDLERS)
_HANDLERS |= dict.fromkeys(_CONFIGURATIONS, _indexer)
_HANDLERS |= dict.fromkeys(
    (
        "GetValue",
        "GetSection",
        "GetRequiredSection",
        "GetConnectionString",
        "GetEnvironmentVariable",
    ),
    _config,
)
_HANDLERS |= dict.fromkeys(("Configure", "Bind", "BindConfiguration"), _options)
_HANDLERS |= dict.fromkeys(
    [f"Log{level}" for level in ("Trace", "Debug", "Information", "Warning", "Error", "Critical")],
    _log,
)
_HANDLERS |= dict.fromkeys(_SERILOG, _serilog)
_HANDLERS |= dict.fromkeys(_POLICIES, _policy)
_HANDLERS |= dict.fromkeys(
    ("ThrowIfNull", "ThrowIfNullOrEmpty", "ThrowIfNullOrWhiteSpace", "ThrowIfNegative", "ThrowIf"),
    _guard,
)
_HANDLERS |= dict.fromkeys(
    [f"{head}{kind}" for head in ("Add", "TryAdd", "AddKeyed") for kind in _LIFETIMES],
    _registration,
)


def read(source: Source) -> None:
    handlers = dict(_HANDLERS)
    for text in source.references.strings if source.references is not None else ():
        if text.startswith(("Use", "Map")) and text.isidentifier():
            handlers.setdefault(text, csharp_routes.pipeline)
    source.dispatch(handlers, _raise)
    for found in _INDEXED.finditer(source.data):  # uses of local names are not kept
        scope, line = source.at(found.start())
        name = found[1].decode()
        _indexer(source, Use(0, name, "", line, found.start(1), scope, -1, None))
    if b"throw" in source.data:
        for found in _RETHROW.finditer(source.data):
            name = found[1].decode() if found[1] else "(current)"
            source.fact("exception", f"{name}|re-throw", source.at(found.start()))
    for index, symbol in enumerate(source.symbols):
        if symbol.returns.startswith(("DbSet<", "IDbSet<")) and symbol.kind in (
            "property",
            "field",
        ):
            source.fact("db_table", f"{symbol.name}|{symbol.returns}", (index, symbol.start_line))
        for mark in (
            annotated.of(source, index)
            if symbol.decorators and "Table" in "".join(symbol.decorators)
            else ()
        ):
            if mark.name == "Table" and symbol.kind in ("class", "record", "struct"):
                name, schema = source.value(mark.arguments.get(0)), _schema(source, mark)
                if name and "{?}" not in name:
                    source.fact(
                        "db_table",
                        f"{schema}{name}|[Table]",
                        (index, mark.line),
                        detail=symbol.name,
                    )
    csharp_routes.controllers(source)


def _schema(source: Source, mark: annotated.Annotation) -> str:
    for part in mark.arguments.positional[1:]:
        found = re.match(r"Schema\s*=\s*(.+)", part)
        if found:
            return source.value(found[1]) + "."
    return ""
