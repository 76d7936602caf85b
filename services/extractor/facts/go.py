"""What do Go files say of settings, tables, injection, errors, logs and retries?"""

from __future__ import annotations

import re
from collections.abc import Callable

from services.extractor.facts import go_routes, go_wraps, logs
from services.extractor.facts.ecma_classes import snake
from services.extractor.facts.source import CALL, Source, Use
from services.surfaces import expressions, plurals

_VIPER = (
    "Get",
    "GetString",
    "GetInt",
    "GetBool",
    "GetDuration",
    "GetFloat64",
    "GetStringSlice",
    "GetStringMap",
    "GetInt64",
    "IsSet",
    "UnmarshalKey",
    "SetDefault",
    "BindEnv",
    "GetUint",
    "GetStringMapString",
    "GetStringMapStringSlice",
    "GetInt32",
    "GetUint32",
    "GetUint64",
    "GetIntSlice",
    "GetSizeInBytes",
    "GetTime",
)
_TAG = re.compile(r"(?:^|[`\s])(envconfig|env):\"([^\",]+)")
_GORM_COLUMN = re.compile(r"gorm:\"[^\"]*(?:primary_?key|column:)", re.IGNORECASE)
_LOGGED = re.compile(
    r"^(Trace|Debug|Info|Print|Notice|Warn|Warning|Error|Fatal|Panic|DPanic|V)(?:f|ln|w|S|Context|Depth|fn|Ctx)?$"
)
_LOGGER_TYPE = re.compile(r"\b(?:zap|slog|logrus|logr|klog)\.(?:Sugared)?(?:Logger|Entry)\b")
_LEVEL_BEFORE = re.compile(r"\.(Trace|Debug|Info|Warn|Error|Fatal|Panic)\(\)")
_LOGGERS = (
    "log",
    "log/slog",
    "go.uber.org/zap",
    "github.com/sirupsen/logrus",
    "github.com/rs/zerolog",
    "k8s.io/klog",
    "github.com/golang/glog",
    "github.com/go-kit/log",
    "github.com/go-logr/logr",
)
_RETRIES = (
    ("github.com/cenkalti/backoff", "cenkalti/backoff"), ("github.com/avast/retry-go", "retry-go"),
    ("github.com/sony/gobreaker", "gobreaker"), ("github.com/sethvargo/go-retry", "go-retry"),
    ("github.com/afex/hystrix-go", "hystrix-go"), ("k8s.io/client-go/util/retry", "client-go retry"),
    ("github.com/eapache/go-resiliency", "go-resiliency"), ("github.com/hashicorp/go-retryablehttp", "go-retryablehttp"),
    ("github.com/failsafe-go/failsafe-go", "failsafe-go"),
)  # fmt: skip
_SENTINEL = re.compile(r"^\s*(?:var\s+)?(Err[A-Z]\w*|err[A-Z]\w*)\s*(?:error\s*)?=\s*[\w.]*$")
_RETURNED_SENTINEL = re.compile(rb"\breturn\b[^\n;{}]*?\b((?:[a-z]\w*\.)?Err[A-Z]\w*)\b(?!\s*[(=])")


def _env(source: Source, use: Use) -> None:
    if use.kind == CALL and use.receiver in ("os", "syscall"):
        found = source.call(use)
        key = source.literal(use, found.get(0)) if found else ""
        if key and expressions.UNKNOWN not in key and not re.fullmatch(r"\{=[a-z]\w*\}", key):
            source.fact("config", f"{key}|os.{use.name}", use)


def _viper(source: Source, use: Use) -> None:
    if use.kind != CALL or not use.receiver:
        return
    if use.name == "Get" and not use.receiver.lower().endswith(("viper", "v")):
        go_routes.verb(source, use)
        return
    if source.imports_any("github.com/spf13/viper") and re.search(
        r"(?:^|\.)(?:viper|v|vp|config|cfg)(?:\(\))?$", use.receiver, re.IGNORECASE
    ):
        found = source.call(use)
        key = source.literal(use, found.get(0)) if found else ""
        if key and "{?}" not in key and not re.fullmatch(r"\{=[a-z]\w*\}", key):
            source.fact(
                "config",
                f"{key}|viper.{use.name}",
                use,
                "high" if use.receiver == "viper" else "medium",
            )
    elif use.name == "Get":
        go_routes.verb(source, use)


def _table(source: Source, use: Use) -> None:
    if (
        use.kind == CALL
        and use.literal
        and use.receiver
        and re.fullmatch(r"[\w.]+(?:\s+(?:as\s+)?\w+)?", use.literal)
    ) and source.imports_any(
        "gorm.io/gorm", "github.com/jinzhu/gorm", "xorm.io/xorm", "github.com/doug-martin/goqu"
    ):
        source.fact("db_table", f"{use.literal.split()[0]}|query builder", use, "medium")


def _provide(source: Source, use: Use) -> None:
    framework = {"fx": "fx", "wire": "wire"}.get(
        use.receiver, "dig" if use.name == "Provide" else ""
    )
    module = {
        "fx": "go.uber.org/fx",
        "wire": "github.com/google/wire",
        "dig": "go.uber.org/dig",
    }.get(framework, "-")
    found = source.call(use) if use.kind == CALL and source.imports_any(module) else None
    for text in found.positional if found else ():
        if use.name == "Bind":
            names = re.findall(r"new\(\*?([\w.]+)\)", " ".join(found.positional if found else ()))
            if len(names) == 2:
                source.fact(
                    "di_registration", f"{names[0]} → {names[1]}|singleton", use, "high", framework
                )
            return
        annotated = re.match(r"fx\.Annotate\(\s*([\w.]+)", text)
        name = annotated[1] if annotated else text
        if re.fullmatch(r"[\w.]+", name) and name not in ("nil",):
            service = re.sub(r"^(?:.*\.)?(?:New|Provide)(?=[A-Z])", "", name)
            source.fact("di_registration", f"{service} → {name}|singleton", use, "high", framework)


def _error(source: Source, use: Use) -> None:
    """`errors.New` and `fmt.Errorf`, returned or kept as a sentinel; `gin.New` is a router."""
    go_routes.router(source, use)
    if use.receiver not in ("errors", "fmt", "xerrors") or use.kind != CALL:
        return
    before = source.line_before(use)
    sentinel = _SENTINEL.match(before)
    if sentinel:
        source.fact("exception", f"{sentinel[1]}|sentinel", use, detail=(use.literal or "")[:120])
    elif re.search(r"\breturn\b", before):
        source.fact(
            "exception",
            f"{use.receiver}.{use.name}|returned",
            use,
            detail=(use.literal or "")[:120],
        )


def _raise(source: Source, use: Use) -> None:
    if use.name == "panic":
        source.fact("exception", "panic|panic", use, detail=(use.literal or "")[:120])


def _log(source: Source, use: Use) -> None:
    if use.receiver in ("fmt", "xerrors"):
        _error(source, use)
    if use.kind != CALL or not use.literal:
        return
    if not (
        source.is_logger(use.receiver)
        or _LOGGER_TYPE.search(source.type_of(use.receiver, use.scope))
        or (use.receiver.startswith("log.") and use.receiver.endswith("()"))
    ) and (
        use.name in ("Error", "Fatal", "Panic")
        or not use.receiver.endswith(("V()", "Sugar()", "L()", "S()"))
    ):
        return
    level = _LOGGED.match(use.name)
    if level is None:
        return
    found = source.call(use)
    texts = found.positional[:3] if found else ()
    text = next((each for each in texts if each[:1] in '"`'), "")
    if text and source.value(text) == use.literal:
        name = {"print": "Info", "v": "Info", "dpanic": "Panic"}.get(
            level[1].lower()
        ) or logs.LEVELS.get(level[1].lower(), level[1])
        source.fact("log", f"{use.literal[:200]}|{name}", use, source.confidence(*_LOGGERS))


def _event(source: Source, use: Use) -> None:
    """Read zerolog's `log.Info().Str("user", name).Msg("seen")`."""
    if use.kind != CALL or not use.literal or not source.imports_any("github.com/rs/zerolog"):
        return
    before = source.data[max(0, use.start - 400) : use.start].decode(errors="replace")
    levels = _LEVEL_BEFORE.findall(before)
    if levels:
        source.fact("log", f"{use.literal[:200]}|{logs.LEVELS[levels[-1].lower()]}", use)


def _retry(source: Source, use: Use) -> None:
    if use.kind != CALL or not use.receiver:
        return
    bound = source.imported(use.receiver).removesuffix(":")
    for module, framework in _RETRIES:
        if bound == module or bound.startswith(module + "/"):
            source.fact(
                "retry_policy",
                f"{use.receiver}.{use.name}({source.line_text(use)[:60]})|{framework}",
                use,
                "medium",
            )
            return


_HANDLERS: dict[str, Callable[[Source, Use], None]] = dict(go_routes.HANDLERS)
_HANDLERS |= {"Getenv": _env, "LookupEnv": _env, "Setenv": _env, "Table": _table, "Provide": _provide,
              "NewSet": _provide, "Build": _provide, "Bind": _provide, "New": _error, "Errorf": _error}  # fmt: skip
_HANDLERS |= dict.fromkeys(("ListenAndServe", "ListenAndServeTLS", "Serve"), go_wraps.serve)
_HANDLERS |= dict.fromkeys(_VIPER, _viper) | {"Msg": _event, "Msgf": _event}
_HANDLERS |= dict.fromkeys(
    (
        "Retry",
        "RetryNotify",
        "RetryWithData",
        "Do",
        "DoWithData",
        "NewCircuitBreaker",
        "RetryOnConflict",
        "OnError",
        "Go",
        "NewClient",
        "NewExponential",
        "Exponential",
    ),
    _retry,
)
for _level in ("Trace", "Debug", "Info", "Print", "Warn", "Warning", "Error", "Fatal", "Panic"):
    _HANDLERS |= dict.fromkeys(
        [_level + end for end in ("", "f", "ln", "w", "S", "Context", "Depth")], _log
    )


def read(source: Source) -> None:
    source.dispatch(_HANDLERS, _raise)
    if b"Err" in source.data:
        for found in _RETURNED_SENTINEL.finditer(source.data):
            source.fact("exception", f"{found[1].decode()}|returned", source.at(found.start(1)))
    go_wraps.read(source)
    _declared(source)


def _declared(source: Source) -> None:
    """Read struct tags, and the tables that types stand for."""
    named = {
        source.symbols[symbol.parent].name: index
        for index, symbol in enumerate(source.symbols)
        if symbol.name == "TableName" and symbol.kind == "method" and symbol.parent >= 0
    }
    tagged = _with_gorm_tags(source)
    for index, symbol in enumerate(source.symbols):
        at = (index, symbol.start_line)
        if symbol.kind == "field":
            for tag, key in _TAG.findall(" ".join(symbol.decorators)):
                if key != "-":
                    source.fact("config", f"{key}|{tag} tag", at)
        elif symbol.kind == "struct" and symbol.name not in named:
            for base, framework in (("gorm.Model", "GORM"), ("ent.Schema", "ent")):
                if base in symbol.bases or (framework == "GORM" and index in tagged):
                    name = plurals.plural(snake(symbol.name))
                    source.fact("db_table", f"{name}|{framework}", at, "medium")
    for holder, index in named.items():
        _table_name(source, holder, index)


def _with_gorm_tags(source: Source) -> set[int]:
    """Return the structs of which a field is a primary key or a column by its tag."""
    if b'gorm:"' not in source.data:
        return set()
    return {
        symbol.parent for symbol in source.symbols
        if symbol.kind == "field" and _GORM_COLUMN.search(" ".join(symbol.decorators))
    }  # fmt: skip


def _table_name(source: Source, holder: str, index: int) -> None:
    symbol = source.symbols[index]
    text = source.data[symbol.start_byte : symbol.end_byte].decode(errors="replace")
    returned = re.search(r"\breturn\s+([^\n}]+)", text)
    name = source.value(returned[1]) if returned else ""
    owner = source.symbol_named(holder)
    if name and "{?}" not in name:
        source.fact(
            "db_table", f"{name}|TableName", (owner if owner >= 0 else index, symbol.start_line)
        )
