"""What do Ruby files say of settings, tables, filters, exceptions, logs and retries?"""

from __future__ import annotations

import re
from collections.abc import Callable

from services.extractor.facts import logs, ruby_initialisers, ruby_routes
from services.extractor.facts.ecma_classes import snake
from services.extractor.facts.source import CALL, RAISE, Source, Use
from services.surfaces import plurals

_KEY = re.compile(r"\s*\[\s*([^\]\n]+?)\s*\]")
_FETCH = re.compile(r"\s*\.\s*(fetch|dig|key\?|delete)[ (]\s*([\"'][^\"'\n]+[\"']|[A-Z]\w*)")
_CREDENTIAL = re.compile(
    r"(?:\s*[!&]?\.\s*(?:dig|fetch)\s*\(\s*:(\w+)(?:\s*,\s*:(\w+))?|\s*[&!]?\.\s*(?!dig|fetch|config\b|to_|is_)([a-z]\w*)(?:\s*&?\.\s*(?!to_|present|presence|nil|blank|dig|fetch|each|key)([a-z]\w*))?|\s*\[:(\w+)\](?:\[:(\w+)\])?)"
)
_MODELS = frozenset({"ApplicationRecord", "ActiveRecord::Base"})
_CALLBACKS = (
    "before_action",
    "after_action",
    "around_action",
    "before_filter",
    "prepend_before_action",
    "skip_before_action",
)


def _env(source: Source, use: Use) -> None:
    text = source.after(use, 160)
    key, fetched = _KEY.match(text), _FETCH.match(text)
    written, pattern = (
        (key[1], "ENV[]") if key else (fetched[2], f"ENV.{fetched[1]}") if fetched else ("", "")
    )
    value = source.value(written)
    if value and "{?}" not in value and not re.fullmatch(r"\{=[a-z_]\w*\}", value):
        source.fact("config", f"{value}|{pattern}", use)


def _configuration(source: Source, use: Use) -> None:
    if use.receiver not in ("Rails", "Rails.application"):
        return
    found = _CREDENTIAL.match(source.after(use, 160))
    names = [each for each in found.groups() if each] if found else []
    if use.name == "config" and names[:1] in (
        ["middleware"],
        ["eager_load"],
        ["to_prepare"],
        ["after_initialize"],
    ):
        return
    if names:
        pattern = "credentials" if use.name == "credentials" else "Rails.configuration"
        source.fact("config", f"{'.'.join(names)}|{pattern}", use)


def _create_table(source: Source, use: Use) -> None:
    if use.kind != CALL:
        return
    found = source.call(use)
    name = source.value(found.get(0)) if found else ""
    if name and re.fullmatch(r"[\w.]+", name):
        source.fact(
            "db_table",
            f"{name}|migration",
            use,
            "high" if "ActiveRecord" in source.modules or "db/" in source.path else "medium",
        )


def _middleware(source: Source, use: Use) -> None:
    if use.kind != CALL:
        return
    found = source.call(use)
    if found is None or not found.positional:
        return
    if use.name in _CALLBACKS:
        for text in found.positional:
            if text.startswith((":", "lambda", "->")) or re.match(r"[A-Z]", text):
                name = "(inline)" if text.startswith(("lambda", "->")) else text.lstrip(":")
                _positioned(source, use, name, use.name)
        return
    at = -1 if use.name.startswith("insert") else 0
    if use.receiver.endswith("middleware") or (
        use.name == "use"
        and not use.receiver
        and (source.path.endswith(".ru") or source.imports_any("sinatra", "sinatra/base", "rack"))
    ):
        name = found.positional[at].split("(")[0].strip("'\"")
        if re.match(r"(?:::)?[A-Z]", name):
            _positioned(source, use, name, "Rack")


def _positioned(source: Source, use: Use, name: str, detail: str) -> None:
    position = source.next_position(
        source.enclosing(use.scope, frozenset({"class", "module", "method", "function"}))
    )
    source.fact("middleware", f"{name}|pos:{position}", use, "high", detail)


def _register(source: Source, use: Use) -> None:
    """dry-container: `register(:mailer) { Mailer.new }`."""
    if use.kind != CALL or not (
        "container" in use.receiver.lower()
        or source.imports_any("dry-container", "dry/container", "dry/system", "dry-auto_inject")
        or "Dry::Container" in source.data.decode(errors="replace")[:5_000]
    ):
        return
    found = source.call(use)
    if found is None or not found.positional:
        return
    text = source.after(use, 400)
    made = re.match(r"[^\n]*?(?:\{|\bdo\b)\s*([A-Z][\w:]*)", text[:400])
    service = source.value(found.positional[0].split("{")[0].split(" do")[0].strip())
    implementation = made[1] if made else (found.get(1) or "block").split("(")[0]
    if service and "{?}" not in service:
        lifetime = "singleton" if "memoize" in text.partition("\n")[0] else "transient"
        source.fact(
            "di_registration",
            f"{service} → {implementation}|{lifetime}",
            use,
            "high",
            "dry-container",
        )


def _raise(source: Source, use: Use) -> None:
    if use.kind == RAISE:
        name = (
            f"{use.receiver}::{use.name}"
            if use.receiver and use.receiver[:1].isupper()
            else use.name
        )
        if use.name[:1].isupper():
            source.fact("exception", f"{name}|raise", use)
        return
    if use.receiver or use.kind != CALL:
        return
    following = source.after(use, 80).partition("\n")[0].lstrip(" (")
    if following.startswith(('"', "'")):
        source.fact("exception", "RuntimeError|raise", use)
    elif re.match(r"(?:if\b|unless\b|\)|\}|$|#|end\b)", following):
        source.fact("exception", "(current)|re-raise", use)
    elif kept := re.match(r"([a-z_]\w*)\s*(?:$|if\b|unless\b|\))", following):
        source.fact("exception", f"{kept[1]}|re-raise", use, "medium")


def _log(source: Source, use: Use) -> None:
    if use.kind == CALL and use.literal and source.is_logger(use.receiver):
        logs.level(
            source, use, use.name, "", "high" if use.receiver.startswith("Rails") else "medium"
        )


def _retry(source: Source, use: Use) -> None:
    if use.kind != CALL:
        return
    text = " ".join(source.line_text(use).split(" do")[0].split())[:100]
    if use.name == "retry_on" and not use.receiver:
        source.fact("retry_policy", f"retry_on({text})|ActiveJob", use, "medium")
    elif use.name in ("sidekiq_options", "sidekiq_retry_in") and (
        "retry" in text or use.name == "sidekiq_retry_in"
    ):
        source.fact("retry_policy", f"{use.name}({text})|Sidekiq", use, "medium")
    elif use.name == "retriable" and use.receiver in ("Retriable", ""):
        source.fact("retry_policy", f"retriable({text})|retriable", use, "medium")
    elif use.name == "with_retries":
        source.fact("retry_policy", f"with_retries({text})|with_retries", use, "medium")


_HANDLERS: dict[str, Callable[[Source, Use], None]] = {
    "ENV": _env, "configuration": _configuration, "credentials": _configuration, "config": _configuration,
    "create_table": _create_table, "rename_table": _create_table, "use": _middleware,
    "insert_before": _middleware, "insert_after": _middleware, "unshift": _middleware,
    "register": _register, "raise": _raise, "retry_on": _retry, "sidekiq_options": _retry,
    "initializer": ruby_initialisers.block, "sidekiq_retry_in": _retry, "retriable": _retry, "with_retries": _retry,
}  # fmt: skip
_HANDLERS |= dict.fromkeys(_CALLBACKS, _middleware)
_HANDLERS |= dict.fromkeys(("debug", "info", "warn", "error", "fatal", "unknown"), _log)
_SINATRA = {**_HANDLERS, **ruby_routes.SINATRA}


def read(source: Source) -> None:
    sinatra = source.imports_any("sinatra", "sinatra/base", "sinatra/contrib") or any(
        base.startswith("Sinatra::") for symbol in source.symbols for base in symbol.bases
    )
    handlers = _SINATRA if sinatra else _HANDLERS
    source.dispatch(handlers, _raise)
    ruby_routes.read(source)
    ruby_initialisers.read(source)
    if "/migrate/" not in "/" + source.path:
        _models(source)


def _models(source: Source) -> None:
    for index, symbol in enumerate(source.symbols):
        direct = _MODELS.intersection(symbol.bases)
        if symbol.kind != "class" or not symbol.bases:
            continue
        text = source.data[symbol.start_byte : symbol.end_byte]
        written = re.search(rb"self\.table_name\s*=\s*(['\":][^\n#]+)", text)
        if written:
            name = source.value(written[1].decode(errors="replace").strip())
            if re.fullmatch(r"[\w.]+", name):
                source.fact("db_table", f"{name}|table_name", (index, symbol.start_line))
        elif direct and symbol.name != "ApplicationRecord" and b"abstract_class = true" not in text:
            name = plurals.plural(snake(symbol.name.rpartition("::")[2]))
            source.fact(
                "db_table",
                f"{name}|ActiveRecord",
                (index, symbol.start_line),
                "medium" if "::" in symbol.fq_name or symbol.parent >= 0 else "high",
            )
