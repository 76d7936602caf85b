"""What do the using directives of C# bring into a file, its own and those for its whole project?"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from services.resolution.summary import USINGS, ImportFact

if TYPE_CHECKING:
    from services.resolution.engine import Engine


def global_usings(engine: Engine, path: str) -> tuple[ImportFact, ...]:
    """Return what files of the same project bring into all of its files."""
    found = engine.remembered(("g", path), lambda: _global_usings(engine, path), ())
    return cast(tuple[ImportFact, ...], found)


def _global_usings(engine: Engine, path: str) -> tuple[ImportFact, ...]:
    found: list[ImportFact] = []
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        found += cast(tuple[ImportFact, ...], engine.facts(USINGS, folder))
    return tuple(found)


def usings(engine: Engine, path: str) -> tuple[ImportFact, ...]:
    """Return the namespaces and types whose members a file sees."""
    everywhere = [fact for fact in global_usings(engine, path) if fact.name == "*"]
    return (*engine.imports(path, "*"), *everywhere)
