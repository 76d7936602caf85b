"""Which routes and middleware do net/http, gin, echo, chi, fiber and gorilla programs declare?"""

from __future__ import annotations

import re
from collections.abc import Callable

from services.extractor.facts.source import CALL, Source, Use
from services.surfaces import expressions

_FRAMEWORKS = (
    ("github.com/gin-gonic/gin", "gin"), ("github.com/labstack/echo", "echo"),
    ("github.com/go-chi/chi", "chi"), ("github.com/gofiber/fiber", "fiber"),
    ("github.com/gorilla/mux", "gorilla"), ("github.com/julienschmidt/httprouter", "httprouter"),
    ("github.com/emicklei/go-restful", "go-restful"), ("net/http", "net/http"),
)  # fmt: skip
_UPPER = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "Any", "CONNECT", "TRACE")
_TITLE = ("Get", "Post", "Put", "Delete", "Patch", "Head", "Options", "All")
_PATTERN = re.compile(r"^(?:(GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS|CONNECT|TRACE)\s+)?(\S*)$")
_ROUTER_TYPES = re.compile(
    r"(?:gin\.|echo\.|chi\.|fiber\.|mux\.|http\.ServeMux|httprouter\.|web\.Router|Router|RouterGroup|Group|Engine|Mux)"
)
_ROUTER_NAMES = re.compile(
    r"(?:^|\.)(?:\w*[rR]outer|\w*[mM]ux|r|e|g|app|api|v\d+|\w*[gG]roup|engine|server|srv|m|rg|http|admin|auth|public|private|protected)$"
)
_METHOD = re.compile(r"http\.Method(\w+)")
_STRIPPED = re.compile(r"http\.StripPrefix\(\s*([^,]+),\s*(\w+)\s*\)$")
_VERB_LIST = re.compile(r"\s*\.\s*(?:Name\([^()]*\)\s*\.\s*)?Methods\(([^)]*)\)")


def _framework(source: Source) -> str:
    return next((name for module, name in _FRAMEWORKS if source.imports_any(module)), "")


def _owner(source: Source, use: Use) -> tuple[str, str] | None:
    """Return router and confidence, None when the receiver is likely none."""
    owner = source.router(use.receiver, use.scope)
    if owner and not owner.startswith("@"):
        return owner, "high"
    declared = source.type_of(use.receiver, use.scope)
    if declared and declared != "?":
        return (owner, "high") if _ROUTER_TYPES.search(declared) else None
    if _ROUTER_NAMES.search(use.receiver) or use.receiver.endswith(
        ("Router()", "Subrouter()", "Group()", "PathPrefix()", "With()")
    ):
        return owner, "high" if _framework(source) else "medium"
    return None


def verb(source: Source, use: Use) -> None:
    """`r.GET("/x", h)`, `r.Get("/x", h)`."""
    if use.kind != CALL or (use.argc < 2 and use.argc >= 0):
        return
    framework = _framework(source)
    title = use.name in _TITLE
    if (
        title
        and framework not in ("chi", "fiber", "httprouter", "")
        and not _ROUTER_TYPES.search(source.type_of(use.receiver, use.scope))
    ):
        return
    known = _owner(source, use)
    if known is None or (title and framework == "" and known[1] != "high"):
        return
    found = source.call(use)
    if found is None or len(found.positional) < 2 or use.receiver == "http":
        return
    path = source.literal(use, found.positional[0])
    relative = framework == "gin" and known[1] == "high" and found.positional[0][:1] in '"`'
    if not path.startswith(("/", "{=", "{?}", "*")) and path != "" and not relative:
        return
    if (
        path.startswith("{")
        and not expressions.tells(path)
        and re.match(r"[a-z]\w*$", found.positional[0])
    ):
        return
    if path == "" and found.positional[0] not in ('""', "``"):
        return
    method = {"ANY": "ANY", "ALL": "ANY"}.get(use.name.upper(), use.name)
    at = 1 if framework == "echo" else len(found.positional) - 1
    source.route(
        [method],
        _inside(source, use, path),
        use,
        framework,
        known[1],
        known[0],
        _handler(source, use, found.positional[at]),
    )


def _inside(source: Source, use: Use, path: str) -> str:
    outer = source.prefix_at(use.start)
    return f"{outer.rstrip('/')}/{path.lstrip('/')}" if outer else path


def _handler(source: Source, use: Use, text: str) -> str:
    """Name what handles: the function itself, what is wrapped, or the function that makes it."""
    wrapped = re.match(r"(?:[\w.]+\()+\s*([A-Za-z_]\w*(?:\.\w+)+|[A-Za-z_]\w*)\s*\)", text)
    made = re.match(r"((?!http\.|func\b)[\w.]+)\(", text)
    if wrapped and not (made and source.type_of(wrapped[1], use.scope)):
        text = wrapped[1]
    elif made:
        text = made[1]
    if re.fullmatch(r"[A-Za-z_][\w.]*", text) is None:
        return ""
    holder, dot, name = text.rpartition(".")
    kind = _made(source, use, holder) if dot and "." not in holder else ""
    return f"{kind}.{name}" if kind else text


def _made(source: Source, use: Use, name: str) -> str:
    """Return the type of a variable of this function: of `&Books{}`, or of `NewBooks()`."""
    around = source.function_of(use.scope)
    if around < 0:
        return ""
    text = source.data[source.symbols[around].start_byte : use.start].decode(errors="replace")
    found = re.findall(rf"\b{name}\s*(?::=|=)\s*&?((?:\w+\.)?\w+)\s*[({{]", text)
    package, dot, kind = found[-1].rpartition(".") if found else ("", "", "")
    return package + dot + re.sub(r"^(?:New|new)(?=[A-Z])", "", kind)


def _handle(source: Source, use: Use) -> None:
    """`http.HandleFunc("GET /x", h)`, `mux.Handle`, gorilla's `.Methods("GET")`, gin's `Handle("GET", "/x")`."""
    known = _owner(source, use) if use.kind == CALL else None
    found = source.call(use) if known is not None else None
    if found is None or known is None or len(found.positional) < 2:
        return
    texts = list(found.positional)
    methods = _methods(source, texts[0]) if len(texts) > 2 else []
    if methods:
        path = source.value(texts[1])
        if path.startswith("/") or expressions.HOLE.match(path):
            handler = _handler(source, use, texts[2 if _framework(source) == "echo" else -1])
            path = _inside(source, use, path)
            source.route(methods, path, use, _framework(source), known[1], known[0], handler)
    if methods or use.name in ("Match", "Add", "Method", "MethodFunc"):
        return
    pattern = _PATTERN.match(source.literal(use, texts[0]))
    if pattern is None or not ("/" in pattern[2] or "{=" in pattern[2]):
        return
    if _serves_router(source, use, texts[1], known[0]):
        return
    verbs = [pattern[1] or "ANY"]
    framework = _framework(source)
    framework = framework if framework in ("chi", "gorilla") else "net/http"
    listed = _VERB_LIST.match(source.after(use, 3_000)[found.end :])
    if listed:
        verbs = re.findall(r"\"(\w+)\"|http\.Method(\w+)", listed[1]) and [
            (a or b).upper() for a, b in re.findall(r"\"(\w+)\"|http\.Method(\w+)", listed[1])
        ]
    source.route(
        verbs,
        _inside(source, use, _prefixed(source, use, re.sub(r"^[\w.-]+(?=/)", "", pattern[2]))),
        use,
        framework,
        known[1],
        known[0],
        _handler(source, use, texts[1]),
    )


def _methods(source: Source, text: str) -> list[str]:
    """Read `"GET"`, `http.MethodGet`, or a list of these; empty for anything else."""
    found = []
    for item in expressions.items(text, "go"):
        constant = _METHOD.fullmatch(item)
        name = constant[1].upper() if constant else source.value(item)
        if not re.fullmatch(r"[A-Z]+", name):
            return []
        found.append(name)
    return found


def _serves_router(source: Source, use: Use, text: str, owner: str) -> bool:
    """`mux.Handle("/api/", http.StripPrefix("/api", inner))`: the inner router has the routes."""
    stripped = _STRIPPED.match(text)
    inner = source.router(stripped[2] if stripped else text, use.scope)
    if not inner or inner == owner or not re.fullmatch(r"\w+", stripped[2] if stripped else text):
        return False
    prefix = source.value(stripped[1]) if stripped else ""
    source.fact("mount", prefix, use, owner=owner, target=":" + inner)
    return True


def _prefixed(source: Source, use: Use, path: str) -> str:
    """`r.PathPrefix("/x").HandlerFunc` keeps its prefix in the chain."""
    if not use.receiver.endswith("Subrouter()"):
        return path
    before = source.data[max(0, use.start - 200) : use.start].decode(errors="replace")
    found = re.findall(r"PathPrefix\(([^()]*)\)", before.rpartition("\n")[2])
    return "".join(source.value(text).rstrip("/") for text in found) + path


def _group(source: Source, use: Use) -> None:
    """Gin and echo `v1 := r.Group("/v1")`; chi `r.Route("/x", func(r chi.Router) {...})`."""
    known = _owner(source, use) if use.kind == CALL else None
    found = source.call(use) if known is not None else None
    if found is None or known is None or not found.positional:
        return
    if use.name == "Group" and found.positional[0].startswith("func"):
        return
    prefix = source.literal(use, found.positional[0])
    if not prefix.startswith("/") and "{=" not in prefix and found.positional[0] != '""':
        return
    block = found.get(1)
    if block.startswith("func") and use.name in ("Route", "Group"):
        source.open_block(use.end, _inside(source, use, prefix))
        return
    if block and use.name == "Route" and re.fullmatch(r"[\w.]+", block):
        source.fact(
            "mount", prefix, use, owner=known[0], target=_function(source.target(block, use.scope))
        )
        return
    name = source.assigned_to(use)
    if name and use.name == "Group":
        source.add_router(use, name, prefix, known[0])
        _wrapped(source, use, list(found.positional[1:]))
        return
    callee = re.search(
        r"([\w.]+)\(\s*(?:[\w.]+\s*,\s*)*[\w.]*$",
        source.line_before(use).removesuffix(use.receiver + "."),
    )
    if use.name == "Group" and callee and source.line_before(use).endswith(use.receiver + "."):
        source.fact(
            "mount",
            prefix,
            use,
            owner=known[0],
            target=_function(source.target(callee[1], use.scope)),
        )


def _function(target: str) -> str:
    module, _, name = target.rpartition(":")
    return f"{module}:@{name.rpartition('.')[2]}"


def _subrouter(source: Source, use: Use) -> None:
    """gorilla: `s := r.PathPrefix("/x").Subrouter()`."""
    name = source.assigned_to(use)
    line = source.line_before(use)
    found = re.search(r"([\w.]+?)\.PathPrefix\(([^()]*)\)\.$", line)
    assigned = re.match(r"\s*(?:var\s+)?([\w.]+)\s*:?=", line)
    if found and assigned:
        source.add_router(
            use, assigned[1] or name, source.value(found[2]), source.router(found[1], use.scope)
        )


def router(source: Source, use: Use) -> None:
    """`r := gin.Default()`, `echo.New()`, `chi.NewRouter()`, `http.NewServeMux()`."""
    if use.kind != CALL or use.receiver not in (
        "gin",
        "echo",
        "chi",
        "fiber",
        "mux",
        "http",
        "httprouter",
    ):
        return
    name = source.assigned_to(use)
    if name:
        source.add_router(use, name, "")


def _mount(source: Source, use: Use) -> None:
    known = _owner(source, use) if use.kind == CALL else None
    found = source.call(use) if known is not None else None
    if found is None or known is None or len(found.positional) < 2:
        return
    prefix = source.value(found.positional[0])
    text = found.positional[1]
    method = re.match(r"&?([\w.]+)\{[^{}]*\}\.(\w+)\(", text)  # of a value made here
    target = source.target(method[1] if method else text.split("(")[0], use.scope)
    if method and target:
        module, _, name = target.rpartition(":")
        target = f"{module}:@{name}.{method[2]}"
    elif "(" in text:
        target = _function(target)
    if prefix.startswith("/") and target:
        source.fact("mount", _inside(source, use, prefix), use, owner=known[0], target=target)


def _use(source: Source, use: Use) -> None:
    known = _owner(source, use) if use.kind == CALL else None
    found = source.call(use) if known is not None else None
    if found and known and _framework(source):
        _wrapped(source, use, list(found.positional))


def _wrapped(source: Source, use: Use, texts: list[str]) -> None:
    for text in texts:
        name = "(inline)" if text.startswith("func") else text.split("(")[0]
        if re.fullmatch(r"[\w.]+|\(inline\)", name):
            position = source.next_position(source.function_of(use.scope))
            source.fact(
                "middleware",
                f"{name}|pos:{position}",
                use,
                "high" if _framework(source) else "medium",
                _framework(source),
            )


HANDLERS: dict[str, Callable[[Source, Use], None]] = dict.fromkeys((*_UPPER, *_TITLE), verb)
HANDLERS |= dict.fromkeys(
    ("Handle", "HandleFunc", "HandlerFunc", "Method", "MethodFunc", "Match", "Add"), _handle
)
HANDLERS |= dict.fromkeys(("Default", "NewRouter", "NewServeMux", "NewMux"), router)
HANDLERS |= {
    "Group": _group,
    "Route": _group,
    "Mount": _mount,
    "Use": _use,
    "Pre": _use,
    "Subrouter": _subrouter,
}
