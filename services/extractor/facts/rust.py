"""What do Rust files say of settings, logs and panics?"""

from __future__ import annotations

from collections.abc import Callable

from services.extractor.facts import logs, rust_routes
from services.extractor.facts.source import CALL, Source, Use


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
    "var": _env, "var_os": _env, "env": _env_macro, "option_env": _env_macro, "panic": _panic, "bail": _panic,
}  # fmt: skip
_HANDLERS |= rust_routes.HANDLERS
_HANDLERS |= dict.fromkeys(("trace", "debug", "info", "warn", "error"), _log)


def read(source: Source) -> None:
    for use in source.uses(_HANDLERS):
        _HANDLERS[use.name](source, use)
    rust_routes.attributes(source)
