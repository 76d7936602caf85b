"""Which services and routes do Symfony's PHP configuration files declare?"""

from __future__ import annotations

import re

from services.extractor.facts.source import CALL, Source, Use
from services.surfaces import expressions

_CONTROLLER = re.compile(
    r"->\s*controller\(\s*(?:\[\s*([\w\\]+)::class\s*,\s*'(\w+)'|([\w\\]+)::class)"
)
_METHODS = re.compile(r"->\s*methods\(\s*\[([^\]]*)\]")
_CLASS = re.compile(r"->\s*class\(\s*([\w\\]+)::class")
_CHAIN = 600


def service(source: Source, use: Use) -> None:
    """`$services->set(Mailer::class)`, `$services->alias(Sends::class, Mailer::class)`."""
    found = source.call(use) if use.kind == CALL and use.receiver == "$services" else None
    if found is None or not found.positional or not source.imports_any("Symfony"):
        return
    name, other = _name(found.get(0)), _name(found.get(1))
    chain = source.after(use, _CHAIN)[found.end :].partition(";")[0]
    made = _CLASS.search(chain)
    implementation = other or (made[1].rpartition("\\")[2] if made else name)
    lifetime = "transient" if re.search(r"->\s*share\(\s*false", chain) else "singleton"
    if name:
        value = f"{name} → {implementation}|{lifetime}"
        source.fact("di_registration", value, use, "high", "Symfony")


def _name(text: str) -> str:
    named = re.fullmatch(r"([\w\\]+)::class|['\"]([\w.\\]+)['\"]", text)
    return (named[1] or named[2]).lstrip("\\") if named else ""


def route(source: Source, use: Use) -> None:
    """`$routes->add('blog', '/blog')->controller([Blog::class, 'list'])->methods(['GET'])`."""
    found = source.call(use) if use.kind == CALL and use.receiver == "$routes" else None
    if found is None or len(found.positional) < 2 or not source.imports_any("Symfony"):
        return
    path = source.value(found.get(1))
    chain = source.after(use, _CHAIN)[found.end :].partition(";")[0]
    controller, methods = _CONTROLLER.search(chain), _METHODS.search(chain)
    if controller is None or (not expressions.tells(path) and path != "/"):
        return
    holder = (controller[1] or controller[3]).rpartition("\\")[2]
    for method in re.findall(r"\w+", methods[1]) if methods else ["ANY"]:
        source.fact(
            "route", f"{method.upper()} /{path.lstrip('/')}", use, "high", "Symfony", "routes",
            f":{holder}.{controller[2] or '__invoke'}",
        )  # fmt: skip
