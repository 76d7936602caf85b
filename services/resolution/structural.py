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
    return interfaces(engine, decl).get(method, [])


def interfaces(engine: Engine, decl: Decl) -> dict[str, list[Decl]]:
    """Return the interface methods that a type's methods stand for, by their names."""
    question = ("s", decl.container, decl.name)
    found = engine.remembered(question, lambda: _interfaces(engine, decl), {})
    return cast(dict[str, list[Decl]], found)


def _interfaces(engine: Engine, decl: Decl) -> dict[str, list[Decl]]:
    offered = methods(engine, decl)
    fitting: dict[str, bool] = {}  # by full name, so that each is looked at once
    found: dict[str, list[Decl]] = {}
    for method in offered:
        asking = cast(tuple[Decl, ...], engine.facts(INTERFACES, method))
        if len(asking) > _MAX_INTERFACES:
            continue
        wanted: dict[str, Decl] = {}
        for one in asking:
            fits = fitting.get(one.container)
            if fits is None:
                fits = fitting[one.container] = _fits(engine, one.container, offered)
            if fits:
                wanted.setdefault(one.id, one)
        if wanted:
            found[method] = [wanted[key] for key in sorted(wanted)]
    return found


def _fits(engine: Engine, interface: str, offered: dict[str, int]) -> bool:
    own = cast(tuple[Decl, ...], engine.facts(METHODS, interface))
    for method in own:  # most ask for something else as well, which is seen at once
        if method.name not in offered:
            return False
    outer, _, name = interface.rpartition(".")
    return any(
        methods(engine, decl).items() <= offered.items()
        for decl in engine.decls(outer, name)
        if decl.kind == "interface"
    )


def methods(engine: Engine, decl: Decl) -> dict[str, int]:
    """Return the arity of every method of a type or interface, embedded ones included."""
    question = ("S", decl.container, decl.name)
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
