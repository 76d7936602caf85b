"""Which routes and middleware do ASP.NET controllers and minimal programs declare?"""

from __future__ import annotations

import re
from collections.abc import Callable

from services.extractor.facts import marks as annotated
from services.extractor.facts.marks import Annotation
from services.extractor.facts.source import CALL, Source, Use
from services.surfaces import expressions

_VERBS = {
    "HttpGet": "GET", "HttpPost": "POST", "HttpPut": "PUT", "HttpDelete": "DELETE",
    "HttpPatch": "PATCH", "HttpHead": "HEAD", "HttpOptions": "OPTIONS",
}  # fmt: skip
_MAPS = {
    "MapGet": "GET", "MapPost": "POST", "MapPut": "PUT", "MapDelete": "DELETE", "MapPatch": "PATCH",
}  # fmt: skip
_BUILDERS = re.compile(
    r"^(?:_?app|application|builder|endpoints?|\w*[gG]roup|\w*[aA]pp|routes?|\w*[aA]pi|v\d+|this)$"
)
_MAPPED = re.compile(r"\bEntity(?:TypeBuilder)?<([\w.]+)>")
_BUILDER_TYPES = re.compile(
    r"IApplicationBuilder|WebApplication|IEndpointRouteBuilder|RouteGroupBuilder"
)


def controllers(source: Source) -> None:
    for index, symbol in enumerate(source.symbols):
        if symbol.kind not in ("class", "record"):
            continue
        marks = annotated.of(source, index) if symbol.decorators else []
        named = any("Controller" in base for base in symbol.bases) or symbol.name.endswith(
            "Controller"
        )
        if not named and not any(
            mark.name in ("ApiController", "Route", "RoutePrefix") for mark in marks
        ):
            continue
        prefixes = [
            source.value(mark.arguments.get(0))
            for mark in marks
            if mark.name in ("Route", "RoutePrefix")
        ]
        area = next(
            (source.value(mark.arguments.get(0)) for mark in marks if mark.name == "Area"), ""
        )
        for inner, member in enumerate(source.symbols):
            if (
                member.parent == index
                and member.decorators
                and member.kind in ("method", "function")
            ):
                _action(source, inner, symbol.name, prefixes, area)


def _action(source: Source, index: int, controller: str, prefixes: list[str], area: str) -> None:
    marks = annotated.of(source, index)
    verbs: list[tuple[Annotation, list[str], str]] = []
    templates = [source.value(mark.arguments.get(0)) for mark in marks if mark.name == "Route"]
    for mark in marks:
        if mark.name in _VERBS:
            verbs.append((mark, [_VERBS[mark.name]], source.value(mark.arguments.get(0))))
        elif mark.name == "AcceptVerbs":
            names = [
                source.value(each).upper() for each in mark.arguments.positional if each[:1] == '"'
            ]
            verbs.append((mark, names, source.value(mark.arguments.named.get("Route", ""))))
    if not verbs:
        routes = [mark for mark in marks if mark.name == "Route"]
        verbs = [(mark, ["ANY"], source.value(mark.arguments.get(0))) for mark in routes]
        templates = []
    for mark, methods, template in verbs:
        for own in [template] if template or not templates else templates:
            for prefix in prefixes or [""]:
                route = _route(prefix, own)
                if route:
                    route = _placeholders(route, controller, source.symbols[index].name, area)
                    source.route(methods, route, (index, mark.line), "ASP.NET")


def _route(prefix: str, template: str) -> str:
    if template.startswith(("/", "~/")):
        return "/" + template.lstrip("~/")
    return (
        "/" + "/".join(part.strip("/") for part in (prefix, template) if part.strip("/"))
        if prefix or template
        else ""
    )


def _placeholders(route: str, controller: str, action: str, area: str) -> str:
    route = re.sub(
        r"\[controller\]",
        lambda _: controller.removesuffix("Controller"),
        route,
        flags=re.IGNORECASE,
    )
    route = re.sub(
        r"\[action\]", lambda _: action.removesuffix("Async"), route, flags=re.IGNORECASE
    )
    return re.sub(r"\[area\]", lambda _: area, route, flags=re.IGNORECASE)


def _builder(source: Source, use: Use) -> str | None:
    """Return the router of a receiver, None when it is likely none."""
    owner = source.router(use.receiver, use.scope)
    if owner:
        declared = source.type_of(use.receiver, use.scope)
        if (
            not owner.startswith("@")
            or _BUILDER_TYPES.search(declared)
            or _BUILDERS.match(use.receiver)
        ):
            return owner
    return (
        owner
        if _BUILDERS.match(use.receiver) or use.receiver.endswith(("MapGroup()", "Build()"))
        else None
    )


def _chained(source: Source, use: Use) -> str:
    """Return the prefix of `app.MapGroup("/x").MapGet(...)`."""
    if not use.receiver.endswith("MapGroup()"):
        return ""
    before = source.data[max(0, use.start - 300) : use.start].decode(errors="replace")
    found = re.findall(r"MapGroup\(\s*(\"[^\"]*\")\s*\)", before.rpartition(";")[2])
    return "/".join(source.value(text).strip("/") for text in found)


def _map(source: Source, use: Use) -> None:
    owner = _builder(source, use) if use.kind == CALL else None
    found = source.call(use) if owner is not None else None
    if found is None or len(found.positional) < 2:
        return
    path = source.literal(use, found.positional[0])
    if (
        path.startswith("{=")
        and not expressions.tells(path)
        and not re.match(r"[A-Z]", found.positional[0])
    ):
        return
    methods = [_MAPS[use.name]] if use.name in _MAPS else ["ANY"]
    if use.name == "MapMethods":
        methods = [each.upper() for each in re.findall(r"\"(\w+)\"", found.positional[1])] or [
            "ANY"
        ]
    handler = found.positional[-1] if re.fullmatch(r"[\w.]+", found.positional[-1]) else ""
    prefix = _chained(source, use)
    whole = f"/{prefix}/{path.strip('/')}".rstrip("/") if prefix else path
    source.route(methods, whole, use, "ASP.NET", "high", owner or "", handler)


def _group(source: Source, use: Use) -> None:
    owner = _builder(source, use) if use.kind == CALL else None
    found = source.call(use) if owner is not None else None
    name = source.assigned_to(use) if found else ""
    if found and name:
        chained = _chained(source, use)
        own = source.value(found.get(0))
        source.add_router(use, name, f"{chained}/{own.strip('/')}" if chained else own, owner or "")
    elif found:
        extension = re.match(
            r"\s*\.\s*(Map[A-Z]\w*)\s*\(\s*\)", source.after(use, 300)[found.end :]
        )
        if extension:
            source.fact(
                "mount",
                source.value(found.get(0)),
                use,
                owner=owner or "",
                target=f":@{extension[1]}",
            )


def pipeline(source: Source, use: Use) -> None:
    """`app.UseX()`, `app.MapX()`: middleware in order; what is mapped ends the pipeline."""
    owner = _builder(source, use) if use.kind == CALL else None
    if (
        owner is None
        or not use.receiver
        or (
            use.receiver in ("builder", "this")
            and use.name.startswith("Use")
            and not _BUILDER_TYPES.search(source.type_of(use.receiver, use.scope))
        )
    ):
        return
    if use.receiver.endswith("MapGroup()"):
        return
    name = use.name
    generic = re.match(r"\s*<\s*([\w.]+)", source.after(use, 100))
    if name == "UseMiddleware" and generic:
        name = generic[1]
    position = source.next_position(source.function_of(use.scope))
    terminal = "|terminal" if use.name.startswith("Map") else ""
    source.fact(
        "middleware",
        f"{name}|pos:{position}{terminal}",
        use,
        "high" if use.receiver in ("app", "application") or owner else "medium",
        "ASP.NET",
    )
    if use.name.startswith("Map") and use.argc == 0:
        source.fact("mount", "", use, "high", "passed", owner, f":@{use.name}")


def _run(source: Source, use: Use) -> None:
    if use.kind == CALL and use.receiver == "app" and use.argc == 1:
        found = source.call(use)
        if found and "=>" in found.get(0):
            position = source.next_position(source.function_of(use.scope))
            source.fact("middleware", f"Run|pos:{position}|terminal", use, "high", "ASP.NET")


def _to_table(source: Source, use: Use) -> None:
    found = source.call(use) if use.kind == CALL else None
    if found and found.get(0)[:1] == '"':
        schema = found.get(1, "schema")
        head = source.value(schema) + "." if schema[:1] == '"' else ""
        before = source.data[max(0, use.start - 2_000) : use.start].decode(errors="replace")
        mapped = _MAPPED.findall(before)
        entity = mapped[-1].rpartition(".")[2] if mapped else ""
        name = source.value(found.get(0))
        source.fact("db_table", f"{head}{name}|ToTable", use, detail=entity)


def _map_any(source: Source, use: Use) -> None:
    """`app.Map("/x", handler)`; given a builder it is a branch of the pipeline instead."""
    found = source.call(use) if use.kind == CALL else None
    branch = found.get(1) if found else ""
    index = source.symbol_named(branch)
    declared = " ".join(kind for _, kind in source.symbols[index].params) if index >= 0 else ""
    if re.match(r"\w+\s*=>", branch) or "IApplicationBuilder" in declared + branch:
        pipeline(source, use)
    else:
        _map(source, use)


HANDLERS: dict[str, Callable[[Source, Use], None]] = dict.fromkeys(
    (*_MAPS, "MapMethods", "MapFallback"), _map
)
HANDLERS |= {"MapGroup": _group, "Map": _map_any, "Run": _run, "ToTable": _to_table}
