"""JavaScript and TypeScript: modules by path, barrels, re-exports, compiler paths, packages."""

from __future__ import annotations

import re
from itertools import chain
from posixpath import normpath

from services.resolution import values
from services.resolution.ecma_packages import by_package, by_settings, is_own_package
from services.resolution.engine import Engine
from services.resolution.module_names import ecma_module
from services.resolution.summary import MODULES, TYPE_LIKE, Decl, ImportFact
from services.resolution.values import NOTHING, RESOLVED, UNRESOLVED, Found, Value

_EXTENSIONS = (
    ".ts",
    ".tsx",
    ".d.ts",
    ".js",
    ".jsx",
    ".mjs",
    ".cjs",
    ".mts",
    ".cts",
    ".vue",
    ".svelte",
)
_WRITTEN = re.compile(r"\.(?:[cm]?[jt]sx?)$")


def named(engine: Engine, name: str, path: str, context: str) -> Found:
    """Look a bare name up: functions and namespaces around it, the module, its imports."""
    module = ecma_module(path)
    scope = context
    while len(scope) > len(module) and scope.startswith(module):
        container, _, last = scope.rpartition(".")
        around = engine.decls_in(path, container, last)
        if not around or any(decl.kind not in TYPE_LIKE for decl in around):
            decls = engine.decls_in(path, scope, name)
            if decls and not all(decl.kind in ("method", "field") for decl in decls):
                return engine.chosen(decls)
            for fact in engine.imports(path, name):
                if fact.scope == scope and fact.kind != "export":
                    return engine.imported(fact)
        elif around[0].name == name:
            return engine.chosen(around)
        scope = container
    decls = engine.decls_in(path, module, name)
    if decls:
        return engine.chosen(decls)
    for fact in engine.imports(path, name):
        if fact.kind != "export":
            return engine.imported(fact)
    ambient = tuple(
        [d for d in engine.decls(module, name) if d.path.endswith(".d.ts")] if not decls else []
    )
    return engine.chosen(ambient) if ambient else NOTHING


def imported(engine: Engine, fact: ImportFact) -> Found:
    """Return what an import or a re-export binds."""
    if not fact.module:  # `export { a as b }`
        return _own(engine, fact.path, fact.name)
    source = module_at(engine, fact.module, fact.path)
    if not fact.name or fact.name == "*":
        return source
    if source.state != RESOLVED or source.value is None:
        return source
    found = engine.member(source.value, fact.name)
    if found.state == UNRESOLVED and fact.name == "default":
        return source if fact.kind == "require" or _is_script(source.value.path) else found
    return found


def _is_script(path: str) -> bool:
    return path.endswith((".js", ".cjs"))


def _own(engine: Engine, path: str, name: str) -> Found:
    decls = engine.decls_in(path, ecma_module(path), name)
    if decls:
        return engine.chosen(decls)
    for fact in engine.imports(path, name):
        if fact.kind != "export":
            return engine.imported(fact)
    return NOTHING


def module_at(engine: Engine, written: str, importer: str) -> Found:
    """Return the module that an import names."""
    folder = importer.rpartition("/")[0]
    if written.startswith("."):
        found = _by_path(engine, normpath(f"{folder}/{written}" if folder else written))
        return found if found is not NOTHING else Found(UNRESOLVED, hint=written)
    if written.startswith("/"):
        return _by_path(engine, written.lstrip("/"))
    found = _by_settings(engine, written, folder)
    if found is NOTHING and is_own_package(engine, written):
        return Found(UNRESOLVED, hint=written)
    return found if found is not NOTHING else values.outside(written)


def _by_path(engine: Engine, path: str) -> Found:
    """Return the module at a path, written with or without its extension."""
    path = "" if path == "." else path
    for name in dict.fromkeys((path, _WRITTEN.sub("", path))):
        facts = engine.decls(MODULES, name)
        if facts:
            best = min(facts, key=lambda fact: _rank(fact, path))
            return values.module(best.container, best.path)
    return NOTHING


def _rank(fact: Decl, path: str) -> tuple[int, int, str]:
    at = next((n for n, e in enumerate(_EXTENSIONS) if fact.path == path + e), None)
    if fact.path == path:
        at = 0
    if at is None:
        at = 20 + next((n for n, e in enumerate(_EXTENSIONS) if fact.path.endswith("index" + e)), 9)
    return at, len(fact.path), fact.path


def _by_settings(engine: Engine, written: str, folder: str) -> Found:
    """Resolve through compiler paths of the settings around, and packages of this repository."""
    for path in chain(by_settings(engine, written, folder), by_package(engine, written)):
        found = _by_path(engine, path)
        if found is not NOTHING:
            return found
    return NOTHING


def member(engine: Engine, value: Value, name: str) -> Found:
    """Return what a name means as a member of a module or of a namespace."""
    question = ("p", value.path, value.name, name)
    return engine.remembered(question, lambda: _member(engine, value, name), NOTHING)  # type: ignore[no-any-return]


def _member(engine: Engine, value: Value, name: str) -> Found:
    path = value.path
    module = ecma_module(path)
    if value.name != module and value.name.startswith(module):
        decls = engine.decls_in(path, value.name, name)
        return engine.chosen(decls) if decls else NOTHING
    decls = engine.decls_in(path, module, name)
    if decls and name != "default":
        return engine.chosen(decls)
    for fact in engine.imports(path, name):
        if fact.kind == "export":
            found = engine.imported(fact)
            if found.state != UNRESOLVED:
                return found
    if name == "default":
        return _default(engine, path, decls)
    outer = _exported_on(engine, path, name)
    if outer is not NOTHING:
        return outer
    whole = _of_whole(engine, path, name) if _is_script(path) else NOTHING
    if whole.state == RESOLVED:
        return whole
    required = [fact for fact in engine.imports(path, name) if fact.kind == "require"]
    return engine.imported(required[0]) if required else Found(UNRESOLVED, hint=value.name)


def _of_whole(engine: Engine, path: str, name: str) -> Found:
    """Look a name up in the object that `module.exports = object` exports."""
    for fact in engine.imports(path, "default"):
        if fact.kind == "export" and not fact.module:
            return engine.member(engine.value(engine.imported(fact)), name)
    return NOTHING


def _exported_on(engine: Engine, path: str, name: str) -> Found:
    """Look a name up in what a module exports of others as a whole."""
    outer = NOTHING
    for fact in engine.imports(path, "*"):
        if fact.kind != "export":
            continue
        source = module_at(engine, fact.module, path)
        found = engine.member(engine.value(source), name)
        if found.state == RESOLVED:
            return found
        if found.state != UNRESOLVED:
            outer = found
    return outer


def _default(engine: Engine, path: str, decls: tuple[Decl, ...]) -> Found:
    if decls:
        return engine.chosen(decls)
    named_default = engine.decls_in(path, "#default", path)
    return engine.chosen(named_default) if named_default else NOTHING
