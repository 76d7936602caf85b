"""What do the decorators of TypeScript classes say: Nest, TypeORM and containers?"""

from __future__ import annotations

import re

from services.extractor.facts import ecma_modules
from services.extractor.facts import marks as annotated
from services.extractor.facts.marks import Annotation
from services.extractor.facts.source import Source
from services.surfaces import expressions

_VERBS = {
    "Get": "GET", "Post": "POST", "Put": "PUT", "Delete": "DELETE", "Patch": "PATCH",
    "Options": "OPTIONS", "Head": "HEAD", "All": "ANY",
}  # fmt: skip
_GUARDS = frozenset({"UseGuards", "UseInterceptors", "UsePipes", "UseFilters"})
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def snake(name: str) -> str:
    return _CAMEL.sub("_", name).lower()


def read(source: Source) -> None:
    prefixes: dict[int, list[str]] = {}
    for index, symbol in enumerate(source.symbols):
        if not symbol.decorators:
            continue
        marks = annotated.of(source, index)
        if symbol.kind == "class":
            _class(source, index, marks, prefixes)
        elif symbol.parent in prefixes:
            _method(source, index, marks, prefixes[symbol.parent])


def _class(
    source: Source, index: int, marks: list[Annotation], prefixes: dict[int, list[str]]
) -> None:
    symbol = source.symbols[index]
    for mark in marks:
        at = (index, mark.line)
        if mark.name in ("Controller", "JsonController", "RestController"):
            text = mark.arguments.get(0)
            fields = expressions.entries(text, source.language)
            paths = expressions.items(
                fields.get("path", "''") if fields else text or "''", source.language
            )
            version = source.value(fields["version"]) if "version" in fields else ""
            head = f"v{version}/" if version.isdigit() else ""
            prefixes[index] = [head + source.value(path).lstrip("/") for path in paths]
        elif mark.name == "Injectable" and source.imports_any("@nestjs/common"):
            scope = re.search(r"Scope\.(\w+)", mark.arguments.get(0))
            lifetime = {"REQUEST": "scoped", "TRANSIENT": "transient"}.get(
                scope[1] if scope else "", "singleton"
            )
            source.fact(
                "di_registration", f"{symbol.name} → {symbol.name}|{lifetime}", at, "high", "NestJS"
            )
        elif mark.name in ("injectable", "singleton", "scoped") and source.imports_any(
            "tsyringe", "inversify"
        ):
            lifetime = "transient" if mark.name == "injectable" else mark.name
            source.fact("di_registration", f"{symbol.name} → {symbol.name}|{lifetime}", at, "high")
        elif mark.name == "Injectable" and source.imports_any("@angular/core"):
            value = f"{symbol.name} → {symbol.name}|singleton"
            source.fact("di_registration", value, at, "high", "Angular")
        elif mark.name == "Module":
            _module(source, index, mark)
            ecma_modules.nest_module(source, index, mark)
        elif mark.name == "NgModule":
            ecma_modules.angular_module(source, index, mark)
        elif mark.name in ("Entity", "Table", "ViewEntity"):
            _entity(source, index, mark)
        elif mark.name in _GUARDS:
            _guards(source, index, mark)


def _method(source: Source, index: int, marks: list[Annotation], prefixes: list[str]) -> None:
    for mark in marks:
        if mark.name in _VERBS:
            text = mark.arguments.get(0)
            for prefix in prefixes:
                for item in expressions.items(text, source.language) or ["''"]:
                    path = source.value(item).lstrip("/")
                    joined = "/" + "/".join(part.strip("/") for part in (prefix, path) if part)
                    confidence = source.confidence("@nestjs/common", "routing-controllers", "tsoa")
                    at, owner = (index, mark.line), source.symbols[source.symbols[index].parent]
                    source.route([_VERBS[mark.name]], joined, at, "NestJS", confidence, owner.name)
        elif mark.name in _GUARDS:
            _guards(source, index, mark)


def _guards(source: Source, index: int, mark: Annotation) -> None:
    for position, part in enumerate(mark.arguments.positional, 1):
        name = (
            re.sub(r"^new\s+", "", part).split("(")[0] if not part.startswith("AuthGuard") else part
        )
        source.fact("middleware", f"{name}|pos:{position}", (index, mark.line), "high", mark.name)


def _module(source: Source, index: int, mark: Annotation) -> None:
    fields = expressions.entries(mark.arguments.get(0), source.language)
    for item in expressions.items(fields.get("providers", ""), source.language):
        provider = expressions.entries(item, source.language)
        if "provide" not in provider:
            continue
        service = (
            source.value(provider["provide"])
            if provider["provide"][:1] in "'\""
            else provider["provide"]
        )
        implementation = next(
            (provider[key].split("(")[0].split("=>")[0].strip() if key != "useFactory" else "factory"
             for key in ("useClass", "useExisting", "useFactory", "useValue") if key in provider), service)  # fmt: skip
        scope = {"Scope.REQUEST": "scoped", "Scope.TRANSIENT": "transient"}.get(
            provider.get("scope", ""), "singleton"
        )
        source.fact(
            "di_registration",
            f"{service} → {implementation.strip('{ ') or 'value'}|{scope}",
            (index, _line(source, index, mark, item)),
            "high",
            "NestJS",
        )


def _line(source: Source, index: int, mark: Annotation, item: str) -> int:
    """Return the line of an item of an annotation."""
    start = source.lines.starts[mark.line - 1]
    at = source.data.find(item[:60].encode(), int(start), source.symbols[index].end_byte)
    return source.line_of(at) if at >= 0 else mark.line


def _entity(source: Source, index: int, mark: Annotation) -> None:
    text = mark.arguments.get(0)
    fields = expressions.entries(text, source.language)
    if mark.name == "Table" and "tableName" not in fields:
        return
    known = source.imports_any("typeorm", "sequelize-typescript", "@mikro-orm")
    name = source.value(fields.get("name") or fields.get("tableName") or ("" if fields else text))
    fields = fields or expressions.entries(mark.arguments.get(1), source.language)
    if fields.get("schema"):
        name = f"{source.value(fields['schema'])}.{name or snake(source.symbols[index].name)}"
    name = name or snake(source.symbols[index].name)
    if "{?}" not in name:
        framework = "TypeORM" if mark.name != "Table" else "Sequelize"
        source.fact(
            "db_table", f"{name}|{framework}", (index, mark.line), "high" if known else "medium"
        )
