"""Which pages do Razor files serve? `@page` makes a page of a component or a view."""

from __future__ import annotations

import re

from services.extractor.facts.source import Source

_PAGE = re.compile(rb"^[ \t]*@page(?:[ \t]+\"([^\"\n]*)\")?[ \t]*\r?$", re.MULTILINE)
_FOLDER = "Pages"


def read(source: Source) -> None:
    for found in _PAGE.finditer(source.data):
        template = (found[1] or b"").decode(errors="replace")
        if source.path.endswith(".razor"):
            framework, route = "Blazor", template
        else:
            framework = "Razor Pages"
            route = template if template.startswith(("/", "~/")) else _placed(source.path, template)
        if route:
            route = "/" + route.lstrip("~").strip("/")
            source.fact("route", f"PAGE {route}", source.at(found.start()), "high", framework)


def _placed(path: str, template: str) -> str:
    """Return the path of a view by its place under `Pages`; what `@page` says comes behind it."""
    parts = path.rpartition(".")[0].split("/")
    if _FOLDER not in parts[:-1]:
        return ""
    at = len(parts) - 1 - parts[::-1].index(_FOLDER)
    area = [parts[at - 1]] if at > 1 and parts[at - 2] == "Areas" else []
    own = parts[at + 1 :]
    own = own[:-1] if own[-1] == "Index" else own
    return "/" + "/".join([*area, *own, *([template] if template else [])])
