"""C++: what does a namespace hold that only a macro says to be in it, or that is inline?

A macro that opens a namespace, as `LIB_BEGIN_NAMESPACE` does, is not expanded: what stands behind it
is declared one level further out, in headers that see the macro's definition.
"""

from __future__ import annotations

from msgspec.structs import replace

from services.resolution import values
from services.resolution.c_includes import included, is_header
from services.resolution.engine import Engine
from services.resolution.summary import INLINE, OPENED, SPACES, Decl
from services.resolution.values import MEDIUM, NOTHING, RESOLVED, Found


def beyond(engine: Engine, container: str, name: str) -> Found:
    """Look a name up that a namespace does not declare itself."""
    for inner in engine.decls(INLINE, container):
        decls = engine.decls(inner.full_name, name)
        if decls:
            return engine.chosen(decls)
    parts = container.split(".")
    at = [number for number, part in enumerate(parts) if _opening(engine, part)]
    if not at:
        return NOTHING
    for outer in _without(parts, at):
        found = _behind(engine, outer, name, _opening(engine, parts[at[0]]))
        if found is not NOTHING:
            return values.module(f"{container}.{name}") if found.value is not None else found
    return NOTHING


def is_opened(engine: Engine, container: str) -> bool:
    return bool(_opening(engine, container.rpartition(".")[2]))


def around(engine: Engine, name: str, path: str) -> Found:
    """Look a bare name up in the namespaces that macros open, for a file that sees these."""
    macros = _opening(engine, "")
    if not macros:
        return NOTHING
    seen = included(engine, path) | {path}
    opened = {part for decl in macros if decl.path in seen for part in decl.bases}
    for container in sorted(opened):
        found = _behind(engine, container, name, _opening(engine, container))
        if found is not NOTHING:
            return found
    return values.module(name) if name in opened else NOTHING


def _opening(engine: Engine, part: str) -> tuple[Decl, ...]:
    """Return the macros that open a namespace; all that open any for no name."""
    return engine.decls(OPENED, part)


def _without(parts: list[str], at: list[int]) -> list[str]:
    """Return the container without its first, its last, and all of the namespaces macros open."""
    left = [
        [part for number, part in enumerate(parts) if number not in out]
        for out in (at[:1], at[-1:], at)
    ]
    return list(dict.fromkeys([".".join(one) for one in left]))


def _behind(engine: Engine, container: str, name: str, macros: tuple[Decl, ...]) -> Found:
    """Return what headers declare that see one of some macros."""
    places = {macro.path for macro in macros}
    decls = tuple(
        [
            decl
            for decl in engine.decls(container, name)
            if is_header(decl.path)
            and decl.kind != "macro"
            and decl.kind not in SPACES
            and (decl.path in places or not places.isdisjoint(included(engine, decl.path)))
        ]
    )
    if not decls:
        full = f"{container}.{name}" if container else name
        return values.module(full) if engine.holds_packages(full) else NOTHING
    found = engine.chosen(decls)
    return replace(found, confidence=MEDIUM) if found.state == RESOLVED else found
