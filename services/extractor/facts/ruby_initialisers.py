"""Which objects do Rails initialisers make, and which does a railtie's initializer block?"""

from __future__ import annotations

import re

from services.extractor.facts.source import CALL, Source, Use

_MADE = re.compile(
    rb"^(?P<service>\$\w+|[A-Z][\w:]*(?:\.\w+)*)[ \t]*(?:\|\|)?=[ \t]*(?P<made>[A-Z][\w:]*)\.(?:new|instance|pool)\b",
    re.MULTILINE,
)


def read(source: Source) -> None:
    """Add what files of config/initializers keep in constants, globals and settings."""
    if "config/initializers/" not in source.path:
        return
    for found in _MADE.finditer(source.data):
        service, made = found["service"].decode(), found["made"].decode()
        service = service.removeprefix("Rails.application.config.").removeprefix("x.")
        at = source.at(found.start())
        source.fact("di_registration", f"{service} → {made}|singleton", at, "high", "initializer")


def block(source: Source, use: Use) -> None:
    """`initializer "mail.setup" do |app|` of a railtie or engine."""
    around = source.enclosing(use.scope, frozenset({"class", "module"}))
    if use.kind != CALL or use.receiver or not use.literal or around < 0:
        return
    if any(base.rpartition("::")[2] in ("Engine", "Railtie", "Application", "Plugin")
           for base in source.symbols[around].bases):  # fmt: skip
        value = f"{use.literal} → {source.symbols[around].name}|singleton"
        source.fact("di_registration", value, use, "medium", "initializer")
