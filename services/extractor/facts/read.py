"""Which facts does a file tell about its program's surface?"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from contracts.extract import Fact
from services.extractor.facts import passing, raw_sql
from services.extractor.facts.source import Source

_MODULES = {
    "python": "python", "javascript": "ecma", "typescript": "ecma", "vue": "ecma", "svelte": "ecma",
    "java": "java", "kotlin": "java", "go": "go", "ruby": "ruby", "php": "php", "csharp": "csharp",
    "rust": "rust", "yaml": "symfony_config", "prisma": "prisma", "razor": "razor",
}  # fmt: skip
_TEXTS = frozenset({"yaml", "prisma", "razor"})  # no grammar reads them; what they quote is no SQL


@cache
def _reader(module: str) -> Callable[[Source], None]:
    found: Callable[[Source], None] = import_module(f"services.extractor.facts.{module}").read
    return found


def read_facts(source: Source) -> tuple[Fact, ...]:
    """Return the facts of one file by line."""
    module = _MODULES.get(source.language)
    if module is None:
        return ()
    _reader(module)(source)
    if source.language not in _TEXTS:
        raw_sql.read(source)
        passing.read(source)
    return tuple(sorted(set(source.facts), key=_order))


def _order(fact: Fact) -> tuple[int, str, str, int, str, str, str, str]:
    return (
        fact.line, fact.kind, fact.value, fact.symbol,
        fact.target, fact.owner, fact.detail, fact.confidence,
    )  # fmt: skip
