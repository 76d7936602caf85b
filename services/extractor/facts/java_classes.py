"""What do the annotated classes of Java and Kotlin declare: routes, tables, beans, filters?"""

from __future__ import annotations

import re

from services.extractor.facts import java_routes
from services.extractor.facts import marks as annotated
from services.extractor.facts.ecma_classes import snake
from services.extractor.facts.marks import Annotation
from services.extractor.facts.source import Source

_TYPES = frozenset({"class", "interface", "record", "object", "enum"})
_COMPONENTS = frozenset(
    {
        "Component",
        "Service",
        "Repository",
        "Configuration",
        "Named",
        "Singleton",
        "RestController",
        "Controller",
        "ControllerAdvice",
        "RestControllerAdvice",
    }
)
_CDI = {
    "ApplicationScoped": "singleton",
    "RequestScoped": "scoped",
    "SessionScoped": "scoped",
    "Dependent": "transient",
}
_SCOPES = {
    "prototype": "transient",
    "request": "scoped",
    "session": "scoped",
    "singleton": "singleton",
}
_FILTERS = frozenset(
    {
        "Filter",
        "OncePerRequestFilter",
        "GenericFilterBean",
        "HandlerInterceptor",
        "WebFilter",
        "HandlerInterceptorAdapter",
        "ContainerRequestFilter",
        "ContainerResponseFilter",
        "HttpFilter",
        "AsyncHandlerInterceptor",
    }
)
_ORDER = re.compile(r"\b(?:setOrder\(|order\s*=)\s*(\d+)")
_THROWS = re.compile(r"\)\s*throws\s+([\w.,\s<>]+)")


def read(source: Source) -> None:
    prefixes: dict[int, list[str] | None] = {}
    for index, symbol in enumerate(source.symbols):
        marks = annotated.of(source, index) if symbol.decorators else []
        if symbol.kind in _TYPES:
            prefixes[index] = java_routes.class_prefixes(source, marks)
            _type(source, index, marks)
            continue
        if " throws " in symbol.signature:
            declared = _THROWS.search(symbol.signature)
            for name in declared[1].split(",") if declared else ():
                source.fact(
                    "exception", f"{name.strip()}|declared throws", (index, symbol.start_line)
                )
        if marks:
            known = prefixes.get(symbol.parent, [""])
            if known is not None:
                java_routes.method(source, index, marks, known)
            _bean(source, index, marks)
            _joined(source, index, marks)


def _named(marks: list[Annotation]) -> dict[str, Annotation]:
    return {mark.name: mark for mark in marks}


def _lifetime(source: Source, marks: dict[str, Annotation]) -> str:
    for name, lifetime in _CDI.items():
        if name in marks:
            return lifetime
    if "RequestScope" in marks or "SessionScope" in marks:
        return "scoped"
    scope = marks.get("Scope")
    text = source.value(scope.arguments.get(0, "value", "scopeName")) if scope else ""
    word = re.search(r"prototype|request|session", text, re.IGNORECASE)
    return _SCOPES[word[0].lower()] if word else "singleton"


def _type(source: Source, index: int, marks: list[Annotation]) -> None:
    symbol = source.symbols[index]
    named = _named(marks)
    at = (index, symbol.start_line)
    if (
        "Entity" in named
        or "MappedEntity" in named
        or ("Table" in named and "persistence" in source.modules + "relational")
    ):
        _entity(source, index, named)
    component = next(
        (mark for mark in marks if mark.name in _COMPONENTS or mark.name in _CDI), None
    )
    if component is not None and symbol.kind in ("class", "interface", "object"):
        service = (
            symbol.bases[0]
            if len(symbol.bases) == 1
            and "extends" not in symbol.signature
            and component.name in ("Service", "Component")
            else symbol.name
        )
        source.fact(
            "di_registration",
            f"{service} → {symbol.name}|{_lifetime(source, named)}",
            (index, component.line),
            "high",
            f"@{component.name}",
        )
    if _FILTERS.intersection(base.rpartition(".")[2] for base in symbol.bases) and symbol.kind in (
        "class",
        "object",
    ):
        order = named.get("Order") or named.get("Priority")
        value = source.value(order.arguments.get(0, "value")) if order else ""
        position = value if value.isdigit() else "0"
        source.fact(
            "middleware",
            f"{symbol.name}|pos:{position}",
            at,
            "high" if order or component else "medium",
            "filter",
        )
    application = named.get("ApplicationPath")
    if application is not None:
        prefix = source.value(application.arguments.get(0, "value"))
        where = (index, application.line)
        source.fact("mount", prefix, where, detail="global", target="JAX-RS")
    status = named.get("ResponseStatus")
    if status is not None:
        code = re.sub(r".*\.", "", status.arguments.get(0, "value", "code"))
        source.fact("exception", f"{symbol.name}|@ResponseStatus {code}", (index, status.line))


def _entity(source: Source, index: int, named: dict[str, Annotation]) -> None:
    symbol = source.symbols[index]
    table = named.get("Table") or named.get("MappedEntity")
    entity = named.get("Entity")
    name = source.value(table.arguments.get(0, "name", "value")) if table else ""
    if not name and entity is not None:
        name = source.value(entity.arguments.named.get("name", ""))
    schema = source.value(table.arguments.named.get("schema", "")) if table else ""
    known = source.imports_any(
        "javax.persistence",
        "jakarta.persistence",
        "org.springframework.data",
        "io.micronaut.data",
        "org.hibernate",
    )
    explicit = bool(name)
    name = name or snake(symbol.name)
    if "{?}" in name:
        return
    mark = table or entity
    whole = f"{schema}.{name}" if schema and "{" not in schema else name
    source.fact(
        "db_table",
        f"{whole}|JPA",
        (index, mark.line if mark else symbol.start_line),
        "high" if known and explicit else "medium",
    )


def _joined(source: Source, index: int, marks: list[Annotation]) -> None:
    """`@JoinTable(name = "owner_tags")` of a field or its getter."""
    for mark in marks:
        if mark.name in ("JoinTable", "CollectionTable"):
            name = source.value(mark.arguments.named.get("name", ""))
            schema = source.value(mark.arguments.named.get("schema", ""))
            if name and "{" not in schema + name:
                whole = f"{schema}.{name}" if schema else name
                source.fact("db_table", f"{whole}|JPA", (index, mark.line))


def _bean(source: Source, index: int, marks: list[Annotation]) -> None:
    named = _named(marks)
    symbol = source.symbols[index]
    bean = named.get("Bean") or named.get("Produces")
    if (
        bean is None
        or symbol.kind not in ("method", "function")
        or (
            bean.name == "Produces"
            and not source.imports_any("javax.enterprise", "jakarta.enterprise")
        )
    ):
        return
    service = symbol.returns or symbol.name
    source.fact(
        "di_registration",
        f"{service} → {symbol.name}|{_lifetime(source, named)}",
        (index, bean.line),
        "high",
        f"@{bean.name}",
    )
    if "SecurityFilterChain" in service or "FilterRegistrationBean" in service:
        order = named.get("Order")
        body = source.data[symbol.start_byte : symbol.end_byte].decode(errors="replace")
        set_to = _ORDER.search(body)
        value = source.value(order.arguments.get(0, "value")) if order else ""
        value = set_to[1] if set_to and not order else value
        source.fact(
            "middleware",
            f"{symbol.name}|pos:{value if value.isdigit() else 0}",
            (index, bean.line),
            "high",
            service.partition("<")[0],
        )
