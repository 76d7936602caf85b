"""What do Java and Kotlin files say: Spring, JAX-RS, JPA, SLF4J, Resilience4j?"""

from __future__ import annotations

import re
from collections.abc import Callable

from services.extractor.facts import java_classes, java_routes, logs
from services.extractor.facts.source import CALL, DECORATOR, Source, Use

_PLACEHOLDER = re.compile(r"\$\{([^:}$]+)")
_RETHROWN = re.compile(rb"\bthrow\s+([a-z_]\w*)\s*[;\n}]")
_RESILIENCE = (
    "io.github.resilience4j",
    "org.springframework.retry",
    "org.springframework.resilience",
    "net.jodah.failsafe",
    "dev.failsafe",
    "org.eclipse.microprofile.faulttolerance",
)


def _value(source: Source, use: Use) -> None:
    if use.kind == DECORATOR and use.literal:
        for key in _PLACEHOLDER.findall(use.literal.replace("\\$", "$")):
            source.fact("config", f"{key.strip()}|@Value", use)


def _property(source: Source, use: Use) -> None:
    if use.kind != CALL or not use.literal:
        return
    receiver = use.receiver.rpartition(".")[2]
    if use.receiver == "System":
        source.fact("config", f"{use.literal}|System.{use.name}", use)
    elif use.name in ("getProperty", "getRequiredProperty") and re.search(
        r"env(?:ironment)?(?:\(\))?$", receiver, re.IGNORECASE
    ):
        confidence = source.confidence("org.springframework", "io.micronaut")
        source.fact("config", f"{use.literal}|Environment.{use.name}", use, confidence)


def _properties(source: Source, use: Use) -> None:
    if use.kind != DECORATOR:
        return
    found = source.call(use)
    key = source.value(found.get(0, "prefix", "name", "value")) if found else ""
    if key and "{" not in key:
        source.fact("config", f"{key}|@{use.name}", use)


def _system(source: Source, use: Use) -> None:
    """Kotlin's and statically imported `getenv`, and Java's `System.getenv().get("X")`."""
    if use.kind == CALL and use.receiver == "System.getenv()" and use.literal:
        source.fact("config", f"{use.literal}|System.getenv", use)


def _log(source: Source, use: Use) -> None:
    if use.kind == CALL and use.literal and source.is_logger(use.receiver):
        logs.level(
            source,
            use,
            use.name,
            "",
            source.confidence(
                "org.slf4j",
                "org.apache.logging",
                "org.apache.log4j",
                "java.util.logging",
                "lombok",
                "mu",
                "io.github.oshai",
                "org.jboss.logging",
                "org.apache.commons.logging",
            ),
        )


def _jul(source: Source, use: Use) -> None:
    """`logger.log(Level.INFO, "x")`."""
    if use.kind != CALL or not use.literal or not source.is_logger(use.receiver):
        return
    found = source.call(use)
    level = re.match(r"(?:\w+\.)*Level\.(\w+)$", found.get(0)) if found else None
    if level and found and source.value(found.get(1)) == use.literal:
        name = {
            "SEVERE": "Error",
            "FINE": "Debug",
            "FINER": "Trace",
            "FINEST": "Trace",
            "CONFIG": "Debug",
        }.get(level[1], logs.LEVELS.get(level[1].lower(), level[1].title()))
        source.fact("log", f"{use.literal}|{name}", use)


def _retry(source: Source, use: Use) -> None:
    own = source.imported(use.name)  # one file may use two of them
    framework = next((each for each in _RESILIENCE if own.startswith(each)), "") or next(
        (each for each in _RESILIENCE if source.imports_any(each)), ""
    )
    if not framework or (
        use.kind != DECORATOR
        and not (
            use.kind == CALL
            and use.receiver
            in ("Retry", "CircuitBreaker", "RetryConfig", "RetryPolicy", "RetryTemplate")
        )
    ):
        return
    name = (
        "Resilience4j"
        if "resilience4j" in framework
        else "Spring Retry"
        if "spring" in framework
        else "Failsafe"
        if "failsafe" in framework
        else "MicroProfile"
    )
    shown = f"@{use.name}" if use.kind == DECORATOR else f"{use.receiver}.{use.name}"
    text = source.line_text(use)
    source.fact("retry_policy", f"{shown}({text})|{name}", use, "medium")


def _bind(source: Source, use: Use) -> None:
    """Guice: `bind(A.class).to(B.class).in(Singleton.class)`."""
    if use.kind != CALL or use.receiver or not source.imports_any("com.google.inject"):
        return
    text = source.after(use, 500)
    found = re.match(
        r"\((\w[\w.]*)\.class\)\s*(?:\.annotatedWith\([^;]*?\))?\s*\.(to|toInstance|toProvider)\(\s*(?:new\s+)?(\w[\w.]*?)(?:\.class)?\s*[()]",
        text,
    )
    if found:
        lifetime = (
            "singleton"
            if "ingleton" in text.partition(";")[0] or found[2] == "toInstance"
            else "transient"
        )
        source.fact("di_registration", f"{found[1]} → {found[3]}|{lifetime}", use, "high", "Guice")


def _interceptor(source: Source, use: Use) -> None:
    if use.kind != CALL:
        return
    found = source.call(use)
    if found and found.positional:
        name = re.sub(r"^new\s+", "", found.positional[0]).split("(")[0]
        position = source.next_position(source.function_of(use.scope))
        source.fact(
            "middleware",
            f"{name}|pos:{position}",
            use,
            source.confidence("org.springframework"),
            use.name,
        )


def _raise(source: Source, use: Use) -> None:
    context = "throw" if source.language == "kotlin" else "throw new"
    source.fact("exception", f"{use.name}|{context}", use)


_HANDLERS: dict[str, Callable[[Source, Use], None]] = {
    "Value": _value, "getProperty": _property, "getRequiredProperty": _property, "getenv": _property,
    "get": _system, "ConfigurationProperties": _properties, "ConfigProperty": _properties,
    "ConditionalOnProperty": _properties, "log": _jul, "bind": _bind, "addInterceptor": _interceptor,
    "addFilterBefore": _interceptor, "addFilterAfter": _interceptor, "addFilterAt": _interceptor,
}  # fmt: skip
_HANDLERS |= dict.fromkeys(
    (
        "Retryable",
        "Retry",
        "CircuitBreaker",
        "RateLimiter",
        "Bulkhead",
        "of",
        "ofDefaults",
        "builder",
    ),
    _retry,
)
_HANDLERS |= dict.fromkeys(
    ("trace", "debug", "info", "warn", "error", "fatal", "warning", "severe", "fine"), _log
)
_HANDLERS |= java_routes.FUNCTIONAL
_KOTLIN = {**_HANDLERS, **java_routes.KTOR}


def read(source: Source) -> None:
    handlers = _HANDLERS
    if source.language == "kotlin" and source.imports_any("io.ktor"):
        handlers = _KOTLIN
    source.dispatch(handlers, _raise)
    source.rethrows(_RETHROWN)
    java_classes.read(source)
