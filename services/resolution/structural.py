"""Go: which interfaces does a type implement without saying so?"""

from __future__ import annotations

from typing import cast

from services.resolution.engine import Engine
from services.resolution.summary import INTERFACES, METHODS, Decl

_MAX_INTERFACES = 200  # that ask for a method of one name


def type_of_method(engine: Engine, container: str) -> Decl | None:
    """Return the type that declares a method, None for a method of an interface."""
    outer, _, name = container.rpartition(".")
    for decl in engine.decls(outer, name):
        if decl.kind in ("struct", "type"):
            return decl
    return None


def implemented(engine: Engine, decl: Decl, method: str) -> list[Decl]:
    """Return the interface methods that a type's method stands for."""
    question = ("s", decl.full_name, method)
    return cast(
        list[Decl], engine.remembered(question, lambda: _implemented(engine, decl, method), [])
    )


def _implemented(engine: Engine, decl: Decl, method: str) -> list[Decl]:
    asking = cast(tuple[Decl, ...], engine.facts(INTERFACES, method))
    if not asking or len(asking) > _MAX_INTERFACES:
        return []
    offered = methods(engine, decl)
    found: dict[str, Decl] = {}
    for wanted in asking:
        outer, _, name = wanted.container.rpartition(".")
        for interface in engine.decls(outer, name):
            if interface.kind != "interface" or wanted.id in found:
                continue
            needed = methods(engine, interface)
            if needed.items() <= offered.items():
                found[wanted.id] = wanted
    return [found[key] for key in sorted(found)]


def methods(engine: Engine, decl: Decl) -> dict[str, int]:
    """Return the arity of every method of a type or interface, embedded ones included."""
    question = ("S", decl.full_name)
    return cast(dict[str, int], engine.remembered(question, lambda: _methods(engine, decl), {}))


def _methods(engine: Engine, decl: Decl) -> dict[str, int]:
    found: dict[str, int] = {}
    line, missing = engine.lineage(decl)
    for ancestor in reversed(line):
        for method in cast(tuple[Decl, ...], engine.facts(METHODS, ancestor.full_name)):
            found[method.name] = method.arity
    if missing and decl.kind == "interface":
        found["?"] = -1  # asks for what cannot be seen: nothing is known to implement it
    return found
