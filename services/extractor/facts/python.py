"""What do Python files say of settings, injection, exceptions, logs and retries?"""

from __future__ import annotations

import re
from collections.abc import Callable

from services.extractor.facts import logs, python_lists, python_routes, python_tornado
from services.extractor.facts.source import CALL, DECORATOR, Source, Use
from services.surfaces import expressions

_ENVIRONMENT = ".".join(("os", "environ"))  # only a name here: nothing reads the environment
_KEY = re.compile(r"\s*\[\s*([^\]\n]+?)\s*\]")
_MEMBER = re.compile(r"\s*\.\s*([A-Z][A-Z0-9_]*)\b(?!\s*\()")
_PROVIDERS = {
    "Singleton": "singleton", "ThreadSafeSingleton": "singleton", "Factory": "transient",
    "Callable": "transient", "Resource": "singleton", "ThreadLocalSingleton": "thread",
    "ContextLocalSingleton": "scoped", "Coroutine": "transient", "Object": "singleton",
}  # fmt: skip
_DEPENDS = re.compile(
    r"(?:\w+\s*:\s*(?:\w+\.)?(?:Annotated\[\s*)?|\bAnnotated\[\s*)([\w.\[\], |]+?)\s*(?:=\s*|,\s*)"
    r"(?:fastapi\.)?$"
)
_BARE_RAISE = re.compile(rb"raise[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z)")
_RETRYING = ("tenacity", "retrying", "retry", "backoff", "stamina")


def _config(source: Source, use: Use, key: str, pattern: str, confidence: str = "high") -> None:
    value = source.literal(use, key)
    known = expressions.tells(value) or expressions.HOLE.fullmatch(value)
    if known and expressions.UNKNOWN not in value:
        source.fact("config", f"{value}|{pattern}", use, confidence)


def _environ(source: Source, use: Use) -> None:
    if use.receiver not in ("os", "") or (use.receiver == "" and not source.imported("environ")):
        return
    text = source.after(use, 300)
    key = _KEY.match(text)
    if key:
        _config(source, use, key[1], _ENVIRONMENT)
        return
    method = re.match(r"\s*\.\s*(get|setdefault|pop)\s*\(", text)
    if method:
        found = expressions.arguments(text, method.end() - 1, "python")
        _config(source, use, found.get(0, "key"), f"{_ENVIRONMENT}.{method[1]}")


def _getenv(source: Source, use: Use) -> None:
    found = source.call(use) if use.receiver in ("os", "") else None
    if found and (use.receiver or source.imported("getenv")):
        _config(source, use, found.get(0, "key"), "os.getenv")


def _settings(source: Source, use: Use) -> None:
    if use.receiver or not source.imports_any("django.conf"):
        return
    key = _MEMBER.match(source.after(use, 120))
    if key:
        source.fact("config", f"{key[1]}|django settings", use)


def _getattr(source: Source, use: Use) -> None:
    if use.literal and not use.receiver and source.imports_any("django.conf"):
        found = source.call(use)
        if found and found.get(0) == "settings" and use.literal.isupper():
            source.fact("config", f"{use.literal}|django settings", use)


def _app_config(source: Source, use: Use) -> None:
    if use.kind == CALL and not use.receiver:  # python-decouple
        if source.imports_any("decouple", "starlette.config"):
            found = source.call(use)
            _config(source, use, found.get(0, "cast_key") if found else "", "config")
        return
    if use.receiver.rpartition(".")[2] not in ("app", "current_app", "application"):
        return
    confidence = source.confidence("flask", "quart", "sanic")
    text = source.after(use, 300)
    key = _KEY.match(text)
    method = re.match(r"\s*\.\s*(?:get|setdefault|pop)\s*\(", text)
    if key:
        _config(source, use, key[1], "app.config", confidence)
    elif method:
        found = expressions.arguments(text, method.end() - 1, "python")
        _config(source, use, found.get(0), "app.config", confidence)


def _environ_reader(source: Source, use: Use) -> None:
    """`env("X")`, `env.bool("X")` of django-environ and environs."""
    if not source.imports_any("environ", "environs"):
        return
    text = source.after(use, 300)
    method = re.match(r"\s*(?:\.\s*\w+)?\s*\(", text)
    if method and use.literal is None and "." not in method[0]:
        return
    if method:
        found = expressions.arguments(text, method.end() - 1, "python")
        _config(source, use, found.get(0), "env")


def _depends(source: Source, use: Use) -> None:
    found = source.call(use)
    if found is None or not source.imports_any("fastapi", "fast_depends"):
        return
    implementation = found.get(0, "dependency").split("(")[0].strip()
    declared = _DEPENDS.search(source.line_before(use))
    service = declared[1] if declared else implementation
    if service:
        source.fact(
            "di_registration",
            f"{service} → {implementation or service}|request",
            use,
            "high",
            "FastAPI",
        )


def _provider(source: Source, use: Use) -> None:
    if use.receiver.rpartition(".")[2] != "providers" and not source.imported(use.name).startswith(
        "dependency_injector"
    ):
        return
    found = source.call(use)
    if found and found.positional:
        name = source.assigned_to(use) or found.positional[0]
        implementation = found.positional[0].split("(")[0]
        lifetime = _PROVIDERS[use.name]
        source.fact(
            "di_registration",
            f"{name} → {implementation}|{lifetime}",
            use,
            "high",
            "dependency-injector",
        )


def _bind(source: Source, use: Use) -> None:
    found = source.call(use) if source.imports_any("injector", "flask_injector") else None
    if found and found.positional:
        service = found.positional[0]
        implementation = found.get(1, "to") or service
        scope = found.named.get("scope", "transient").rpartition(".")[2]
        source.fact(
            "di_registration", f"{service} → {implementation}|{scope}", use, "high", "injector"
        )


def _log(source: Source, use: Use) -> None:
    if use.kind != CALL or not use.literal or not source.is_logger(use.receiver):
        return
    if use.name == "log":
        found = source.call(use)
        if found and len(found.positional) > 1 and re.match(r"[rRuU]?['\"]", found.positional[1]):
            name = found.positional[0].rpartition(".")[2].lower()
            text = source.value(found.positional[1])
            if name in logs.LEVELS and expressions.UNKNOWN not in text:
                source.fact("log", f"{text[:200]}|{logs.LEVELS[name]}", use, _logging(source))
        return
    logs.level(source, use, use.name, "", _logging(source))


def _logging(source: Source) -> str:
    return source.confidence("logging", "structlog", "loguru", "eliot")


def _raise(source: Source, use: Use) -> None:
    line_end = source.data.find(b"\n", use.end)
    following = source.data[use.end : line_end if line_end >= 0 else use.end + 200].decode(
        errors="replace"
    )
    context = "raise from" if re.search(r"\)?\s+from\s+\w", following) else "raise"
    called = following.lstrip().startswith("(")
    name = (
        f"{use.receiver}.{use.name}"
        if use.receiver and not use.receiver.startswith("self")
        else use.name
    )
    if not called and use.name[:1].islower() and not use.receiver:
        source.fact("exception", f"{use.name}|re-raise", use, "medium")
        return
    status = ""
    if use.name == "HTTPException" and called:
        found = source.call(use)
        status = source.value(found.get(0, "status_code")) if found else ""
        status = re.sub(r"\{=.*HTTP_(\d+)_?\w*\}", r"\1", status)
        status = f"status {status}" if status.isdigit() else ""
    source.fact("exception", f"{name}|{context}", use, detail=status)


def _retry(source: Source, use: Use) -> None:
    if use.kind == DECORATOR and source.imports_any(*_RETRYING):
        framework = next(each for each in _RETRYING if source.imports_any(each))
        _policy(source, use, framework)
    elif (
        use.name == "Retry"
        and use.kind == CALL
        and source.imports_any("urllib3", "requests", "redis.retry")
    ):
        _policy(source, use, "urllib3" if source.imports_any("urllib3", "requests") else "redis")
    elif (
        use.name in ("Retrying", "AsyncRetrying")
        and use.kind == CALL
        and source.imports_any("tenacity")
    ):
        _policy(source, use, "tenacity")


def _task(source: Source, use: Use) -> None:
    if use.kind == DECORATOR:
        found = source.call(use)
        if found and ("autoretry_for" in found.named or "max_retries" in found.named):
            options = [
                f"{name}={' '.join(found.named[name].split())}"
                for name in ("autoretry_for", "max_retries", "retry_backoff")
                if name in found.named
            ]
            source.fact("retry_policy", f"{use.name}({', '.join(options)})|Celery", use, "medium")


def _policy(source: Source, use: Use, framework: str) -> None:
    text = f"{use.name}({source.line_text(use)})"
    source.fact("retry_policy", f"{text}|{framework}", use, "medium")


_HANDLERS: dict[str, Callable[[Source, Use], None]] = {
    "environ": _environ, "getenv": _getenv, "settings": _settings, "getattr": _getattr,
    "config": _app_config, "env": _environ_reader, "Depends": _depends, "Security": _depends,
    "bind": _bind, "retry": _retry, "on_exception": _retry, "on_predicate": _retry,
    "Retry": _retry, "Retrying": _retry, "AsyncRetrying": _retry, "task": _task, "shared_task": _task,
}  # fmt: skip
_HANDLERS |= dict.fromkeys(_PROVIDERS, _provider)
_HANDLERS |= dict.fromkeys(
    ("debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log"), _log
)
_HANDLERS = {**python_routes.HANDLERS, **python_lists.HANDLERS, **_HANDLERS}


def read(source: Source) -> None:
    source.dispatch(_HANDLERS, _raise)
    if b"raise" in source.data:
        for found in _BARE_RAISE.finditer(source.data):
            line_start = source.data.rfind(b"\n", 0, found.start()) + 1
            before = source.data[line_start : found.start()].strip()
            if not before or (before.endswith(b":") and b"#" not in before):
                source.fact("exception", "(current)|re-raise", source.at(found.start()))
    python_routes.finish(source)
    python_tornado.read(source)
