"""Which functions are handed a router, so that what they add to it is mounted there?

`RegisterUsers(v1)`, `init_app(app)` and `require("./routes")(app)` each make a function's routes
part of a router.
"""

from __future__ import annotations

import re

from services.extractor.facts.source import Source

_OWN = frozenset(
    [
        "use",
        "include_router",
        "register_blueprint",
        "add_namespace",
        "mount",
        "Mount",
        "Handle",
        "HandleFunc",
        "Use",
        "if",
        "for",
        "while",
        "switch",
        "print",
        "printf",
        "Println",
        "repr",
        "str",
        "len",
        "return",
        "append",
        "func",
        "function",
        "require",
    ]
)


_TYPED = re.compile(
    r"(?:gin\.(?:Engine|RouterGroup|IRouter|IRoutes)|echo\.(?:Echo|Group)|chi\.(?:Router|Mux)|mux\.Router"
    r"|fiber\.(?:App|Router|Group)|http\.ServeMux|httprouter\.Router|FastifyInstance|Express|Hono|FastAPI|Flask"
    r"|APIRouter|Blueprint)\b"
)
_NAMED = frozenset({"app", "router", "fastify", "api", "bp", "blueprint"})


def read(source: Source) -> None:
    _returned(source)
    for name in {name for _, name in source.routers} | _handed(source):
        plain = re.escape(name.rpartition(".")[2] if name.startswith(("self.", "this.")) else name)
        if re.search(rf"{plain}\s*[,)]".encode(), source.data) is None:  # quicker than all calls
            continue
        pattern = re.compile(
            rf"(?P<callee>require\(\s*['\"][^'\"]+['\"]\s*\)|[A-Za-z_$][\w.$]*)\s*\((?:\s*[&*]?[\w.]+\s*,)*\s*[&*]?(?:self\.|this\.)?{plain}\s*(?=[,)])".encode()
        )
        for found in pattern.finditer(source.data):
            callee = found["callee"].decode(errors="replace")
            before = source.data[max(0, found.start() - 12) : found.start()]
            if callee.rpartition(".")[2] in _OWN or before.rstrip().endswith(
                (b"def", b"func", b"function", b"new", b"fn")
            ):
                continue
            scope = source.table.scope_at(found.start())
            owner = source.router(name, scope)
            target = source.target(callee, scope)
            if owner and target and target != ":" + owner:
                source.fact(
                    "mount",
                    "",
                    (scope, source.line_of(found.start())),
                    "high",
                    "passed",
                    owner,
                    _function(target),
                )


def _handed(source: Source) -> set[str]:
    """Return the parameters that are routers by their type; by their name where the file has routes."""
    routes = any(fact.kind in ("route", "router", "mount") for fact in source.facts)
    return {
        plain
        for symbol in source.symbols
        for name, declared in symbol.params
        if (plain := name.lstrip("*&$@"))
        and (_TYPED.search(declared) if declared else routes and plain in _NAMED)
    }


def _returned(source: Source) -> None:
    """What a function makes and returns is mounted where the function's value is."""
    for (scope, name), key in source.routers.items():
        if scope < 0 or "." in name:
            continue
        symbol = source.symbols[scope]
        text = source.data[symbol.start_byte : symbol.end_byte]
        if re.search(rb"\breturn\s+&?\$?" + re.escape(name.encode()) + rb"\b", text):
            at, target = (scope, symbol.start_line), ":" + key
            source.fact("mount", "", at, owner="@" + symbol.name, target=target)
            if source.language == "go" and symbol.parent >= 0:  # types may have methods of one name
                holder = source.symbols[symbol.parent].name
                source.fact("mount", "", at, owner=f"@{holder}.{symbol.name}", target=target)


def _function(target: str) -> str:
    """Spell a function as a node; Python names the module before it, `routes.add` of a package."""
    module, _, name = target.rpartition(":")
    holder, dot, last = name.rpartition(".")
    return f"{module}:{holder + dot if module else ''}@{last or 'exports'}"
