"""Which routes do Laravel, Symfony and Slim programs declare?"""

from __future__ import annotations

import re
from collections.abc import Callable

from services.extractor.facts import marks as annotated
from services.extractor.facts.source import CALL, Source, Use
from services.surfaces import expressions

_VERBS = (
    "get",
    "post",
    "put",
    "patch",
    "delete",
    "options",
    "any",
    "match",
    "view",
    "inertia",
    "redirect",
    "permanentRedirect",
    "map",
)
_NAMED_VERBS = {
    "any": "ANY", "view": "GET", "inertia": "GET", "redirect": "ANY", "permanentredirect": "ANY",
}  # fmt: skip
_RESOURCE = (
    ("index", "GET", ""), ("create", "GET", "/create"), ("store", "POST", ""), ("show", "GET", "/{}"),
    ("edit", "GET", "/{}/edit"), ("update", "PUT", "/{}"), ("update", "PATCH", "/{}"), ("destroy", "DELETE", "/{}"),
)  # fmt: skip
_SINGLETON = (
    ("show", "GET", ""), ("edit", "GET", "/edit"), ("update", "PUT", ""), ("update", "PATCH", ""),
)  # fmt: skip
_APPS = re.compile(r"^\$(?:app|router|group|r|route|routes|api|this->app)$")
_PREFIX = re.compile(r"\bprefix\(\s*((?:'[^']*'|\"[^\"]*\"|[^()])*)\)")
_LARAVEL_CONTROLLER = re.compile(r"\bcontroller\(\s*([\w\\]+)::class")


def _laravel(source: Source, use: Use) -> bool:
    head = use.receiver.split("::")[0].split("->")[0]
    return head in ("Route", "\\Route") or (
        use.receiver in ("$router", "$this->router")
        and (source.path.startswith("routes/") or "/routes/" in source.path)
    )


def _statement(source: Source, use: Use) -> str:
    """Return the chain before a use, back to where its statement begins."""
    begin = max(0, use.start - 600)
    text = source.data[begin : use.start].decode(errors="replace")
    at = text.rfind("Route::")
    return text[at:] if at >= 0 and ";" not in text[at:] else ""


def _around(source: Source, use: Use) -> tuple[str, str]:
    """Return the prefix of the groups around, and their controller."""
    prefix = source.prefix_at(use.start)
    path, _, controller = prefix.partition("\0")
    return path, controller


def _chain_prefix(source: Source, use: Use) -> str:
    return "/".join(
        source.value(text).strip("/") for text in _PREFIX.findall(_statement(source, use))
    )


def _group(source: Source, use: Use) -> None:
    """`Route::prefix("x")->group(function () {...})`, `Route::group(["prefix" => "x"], ...)`."""
    if use.kind != CALL or not use.receiver:
        return
    found = source.call(use)
    if found is None or not found.positional:
        return
    outer, controller = _around(source, use)
    if _laravel(source, use):
        options = (
            expressions.entries(found.positional[0], "php")
            if found.positional[0].startswith("[")
            else {}
        )
        own = source.value(options["prefix"]) if "prefix" in options else ""
        for item in expressions.items(options.get("middleware", ""), "php"):
            name = item.removesuffix("::class") if "::class" in item else source.value(item)
            position = source.next_position(source.function_of(use.scope))
            source.fact("middleware", f"{name}|pos:{position}", use, "high", "middleware")
        own = "/".join(part for part in (_chain_prefix(source, use), own.strip("/")) if part)
        named = _LARAVEL_CONTROLLER.search(_statement(source, use))
        controller = named[1] if named else controller
        included = re.search(
            r"base_path\(\s*(['\"][^'\"]+['\"])\s*\)|__DIR__\s*\.\s*(['\"][^'\"]+['\"])",
            found.positional[-1],
        )
        if included and "function" not in found.positional[-1]:
            target = source.value(included[1] or included[2]).strip("/").removesuffix(".php")
            source.fact("mount", f"{outer}/{own}" if own else outer, use, target=f"{target}:routes")
            return
    elif _APPS.match(use.receiver) and found.positional[0][:1] in "'\"":
        own = source.value(found.positional[0]).strip("/")
    else:
        return
    path = f"{outer}/{own}" if own else outer
    source.open_block(use.end, f"{path}\0{controller}" if controller else path)


def verb(source: Source, use: Use) -> None:
    if use.kind != CALL or not use.receiver:
        return
    laravel = _laravel(source, use)
    slim = not laravel and _APPS.match(use.receiver) is not None
    if not laravel and not slim:
        return
    found = source.call(use)
    if found is None or len(found.positional) < 2:
        return
    texts = list(found.positional)
    methods = [use.name]
    if use.name in ("match", "map"):
        methods = [source.value(item) for item in expressions.items(texts.pop(0), "php")]
    if not texts or (slim and texts[0][:1] not in "'\""):
        return
    path = source.value(texts[0])
    if slim and not (path.startswith("/") or path in ("", "[/]")):
        return
    methods = [_NAMED_VERBS.get(name.lower(), name) for name in methods]
    outer, controller = _around(source, use)
    own = "/".join(
        part for part in (_chain_prefix(source, use) if laravel else "", path.strip("/")) if part
    )
    whole = f"{outer}/{own}" if own else outer or "/"
    handler = _handler(texts[-1] if slim else texts[1] if len(texts) > 1 else "", controller)
    known = source.confidence("Slim", "Laravel", "Psr", "Leaf") if slim else "high"
    _add(source, use, methods, whole, "Slim" if slim else "Laravel", known, handler)


def _add(
    source: Source,
    use: Use,
    methods: list[str],
    path: str,
    framework: str,
    confidence: str,
    handler: str,
) -> None:
    if path.strip("/") and not expressions.tells(path):
        return
    target = _controller(source, handler)
    for method in methods:
        index = source.symbol_named(handler)
        at = (index, use.line) if handler and index >= 0 else (use.scope, use.line)
        owner = "routes" if framework == "Laravel" else ""
        if (
            framework == "Laravel"
            and source.path.endswith("routes/api.php")
            and not path.startswith("/api")
        ):
            path = "/api" + path.rstrip("/")
        source.fact(
            "route",
            f"{method.upper()} {path}",
            at,
            confidence,
            framework,
            owner,
            target if handler and index < 0 else "",
        )


def _controller(source: Source, handler: str) -> str:
    """Spell a controller's method by the file of the class that is imported under its name."""
    name, _, method = handler.partition(".")
    for each in source.imports:
        if each.alias == name:
            whole = "\\".join(part for part in (each.module, each.name) if part)
            last = whole.rpartition("\\")[2]
            return f"{whole.partition(chr(92))[2] or whole}:{last}.{method}"
    return f":{handler}"


def _handler(text: str, controller: str) -> str:
    if re.match(r"\[\s*['\"]", text):
        text = expressions.entries(text, "php").get("uses", "")
    pair = re.match(r"\[\s*([\w\\]+)::class\s*,\s*['\"](\w+)['\"]", text)
    if pair:
        return f"{pair[1].rpartition(chr(92))[2]}.{pair[2]}"
    named = re.match(r"['\"]([\w\\]+)[@:]+(\w+)['\"]", text)
    if named:
        return f"{named[1].rpartition(chr(92))[2]}.{named[2]}"
    single = re.match(r"([\w\\]+)::class", text)
    if single:
        return f"{single[1].rpartition(chr(92))[2]}.__invoke"
    action = re.fullmatch(r"['\"](\w+)['\"]", text)
    return f"{controller.rpartition(chr(92))[2]}.{action[1]}" if action and controller else ""


def resource(source: Source, use: Use) -> None:
    found = source.call(use) if use.kind == CALL and _laravel(source, use) else None
    if found is None or not found.positional:
        return
    text = source.after(use, 800)[found.end :].partition(";")[0]
    if use.name.endswith("s"):
        for name, controller in expressions.entries(found.positional[0], "php").items():
            _resources(source, use, name, controller, text, found.get(1))
    elif len(found.positional) > 1:
        name = source.value(found.positional[0])
        _resources(source, use, name, found.positional[1], text, found.get(2))


def _resources(source: Source, use: Use, name: str, controller: str, text: str, given: str) -> None:
    name = name.strip("/")
    outer, _ = _around(source, use)
    chained = _chain_prefix(source, use)
    parts = name.split(".")
    base = "/".join(f"{part}/{{{_singular(part)}}}" for part in parts[:-1])
    path = "/".join(part for part in (outer.strip("/"), chained, base, parts[-1]) if part)
    only, without = re.search(r"only\(([^)]*)\)", text), re.search(r"except\(([^)]*)\)", text)
    options = expressions.entries(given, "php")
    wanted = set(re.findall(r"\w+", only[1] if only else options.get("only", "")))
    unwanted = set(re.findall(r"\w+", without[1] if without else options.get("except", "")))
    if use.name.startswith("api"):
        unwanted |= {"create", "edit"}
    controller = (
        _handler(controller, "").partition(".")[0] or controller.strip("'\"").rpartition("\\")[2]
    )
    for action, method, tail in _SINGLETON if use.name.endswith("ingleton") else _RESOURCE:
        if (wanted and action not in wanted) or action in unwanted:
            continue
        whole = f"/{path}" + tail.replace("{}", "{" + _singular(parts[-1].rpartition("/")[2]) + "}")
        _add(source, use, [method], whole, "Laravel", "high", f"{controller}.{action}")


def _singular(word: str) -> str:
    word = word.replace("-", "_")
    return (
        word[:-3] + "y"
        if word.endswith("ies")
        else word.removesuffix("s")
        if not word.endswith("ss")
        else word
    )


def attributes(source: Source) -> None:
    """Symfony's #[Route] on classes and methods, and its older @Route in comments."""
    prefixes: dict[int, str] = {}
    for index, symbol in enumerate(source.symbols):
        if symbol.kind == "class":
            prefixes[index] = next((path for path, _, _ in _routes(source, index)), "")
            if any(
                member.name == "__invoke" and member.parent == index for member in source.symbols
            ):
                for path, methods, line in _routes(source, index):
                    source.route(
                        methods,
                        "/" + path.strip("/"),
                        (source.symbol_named(f"{symbol.name}.__invoke"), line),
                        "Symfony",
                    )
                prefixes[index] = ""
        elif symbol.kind in ("method", "function"):
            for path, methods, line in _routes(source, index):
                prefix = prefixes.get(symbol.parent, "").strip("/")
                whole = "/" + "/".join(part for part in (prefix, path.lstrip("/")) if part)
                source.route(methods, whole, (index, line), "Symfony")


def _routes(source: Source, index: int) -> list[tuple[str, list[str], int]]:
    symbol = source.symbols[index]
    found = []
    for mark in (
        annotated.of(source, index) if any("Route" in each for each in symbol.decorators) else ()
    ):
        if mark.name == "Route" and (
            mark.arguments.positional
            or "path" in mark.arguments.named
            or symbol.kind != "class"
            or "name" in mark.arguments.named
        ):
            written = mark.arguments.get(0, "path")
            paths = list(expressions.entries(written, "php").values())  # one for each language
            listed = mark.arguments.named.get("methods", "")
            methods = (
                [source.value(item) for item in expressions.items(listed, "php")] if listed else []
            )
            methods = [re.sub(r".*METHOD_|\}", "", method) for method in methods]
            methods = [method for method in methods if method] or ["ANY"]
            found += [(source.value(each), methods, mark.line) for each in paths or [written]]
    for documented in re.finditer(
        r"@Route\(\s*\"([^\"]*)\"(.*?)\)\s*(?:$|\n|\*)", symbol.doc, re.DOTALL
    ):
        methods = re.findall(
            r"\"([A-Z]+)\"", documented[2].partition("methods")[2].partition("}")[0]
        )
        found.append((documented[1], methods or ["ANY"], symbol.start_line))
    return found


HANDLERS: dict[str, Callable[[Source, Use], None]] = dict.fromkeys(_VERBS, verb)
HANDLERS |= dict.fromkeys(
    ("resource", "apiResource", "resources", "apiResources", "apiSingleton"), resource
)
HANDLERS |= {"group": _group}
