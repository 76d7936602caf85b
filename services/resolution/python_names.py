"""Python: scopes, modules by path, packages, re-exports, wildcards."""

from __future__ import annotations

from services.resolution import values
from services.resolution.engine import Engine
from services.resolution.families import PYTHON_LIBRARY
from services.resolution.module_names import python_module
from services.resolution.summary import MODULES, TYPES, Decl, ImportFact
from services.resolution.values import (
    NOTHING,
    RESOLVED,
    UNRESOLVED,
    Found,
    Value,
)

_ROOTS = ("", "src", "lib", "python")


def named(engine: Engine, name: str, path: str, context: str) -> Found:
    """Look a bare name up: functions around it, the class whose body it stands in, the module."""
    module = python_module(path)
    scope, innermost = context, True
    while len(scope) > len(module) and scope.startswith(module):
        container, _, last = scope.rpartition(".")
        if innermost or not any(
            decl.kind in TYPES for decl in engine.decls_in(path, container, last)
        ):
            decls = engine.decls_in(path, scope, name)
            if decls:
                return engine.chosen(decls)
            for fact in engine.imports(path, name):
                if fact.scope == scope and fact.kind != "export":
                    return engine.imported(fact)
        scope, innermost = container, False
    return of_file(engine, path, module, name, anywhere=True)


def of_file(engine: Engine, path: str, module: str, name: str, anywhere: bool = False) -> Found:
    """Look a name up in a file: declared, imported, or part of a wildcard import."""
    decls = engine.decls_in(path, module, name)
    imports = [fact for fact in engine.imports(path, name) if fact.kind != "export"]
    at_module_level = [fact for fact in imports if not fact.scope]
    if decls and not (at_module_level and all(d.kind in ("variable", "constant") for d in decls)):
        return engine.chosen(decls)
    for fact in at_module_level or (imports if anywhere else []):
        found = engine.imported(fact)
        if found.state == RESOLVED or not decls:
            return found
    if decls:
        return engine.chosen(decls)
    outer = NOTHING
    for fact in engine.imports(path, "*"):
        if fact.kind == "export" or name.startswith("_"):
            continue
        source = imported_module(engine, fact)
        found = engine.member(engine.value(source), name)
        if found.state == RESOLVED:
            return found
        if source.state == values.EXTERNAL:
            outer = values.outside(source.hint)
    return outer if name not in _builtins(engine) else NOTHING


def _builtins(engine: Engine) -> frozenset[str]:
    from services.resolution.families import BUILTINS

    return BUILTINS[engine.family.name]


def imported(engine: Engine, fact: ImportFact) -> Found:
    """Return what an import binds."""
    source = imported_module(engine, fact)
    if not fact.name:
        if fact.alias and "." in fact.module and fact.alias == fact.module.partition(".")[0]:
            return _module(engine, fact.alias, fact.path)  # `import a.b` binds `a`
        return source
    if source.state != RESOLVED or source.value is None:
        return source
    return engine.member(source.value, fact.name)


def imported_module(engine: Engine, fact: ImportFact) -> Found:
    """Return the module an import statement names."""
    if not fact.level:
        return _module(engine, fact.module, fact.path)
    folder = fact.path.split("/")[: -fact.level]
    if len(fact.path.split("/")) < fact.level:
        return NOTHING
    parts = [*folder, *(fact.module.split(".") if fact.module else [])]
    found = _by_path(engine, "/".join(parts))
    return found if found.state == RESOLVED else Found(UNRESOLVED, hint=fact.module)


def _by_path(engine: Engine, stem: str) -> Found:
    """Return the module or package at a path without extension."""
    names = (f"{stem}.py", f"{stem}/__init__.py", f"{stem}.pyi", f"{stem}/__init__.pyi")
    facts = engine.decls(MODULES, stem.replace("/", "."))
    for wanted in names:
        for fact in facts:
            if fact.path == wanted:
                return values.module(fact.container, fact.path)
    if any(fact.path.startswith(stem + "/") for fact in facts) or engine.facts("#folder", stem):
        return values.module(stem.replace("/", "."), stem + "/")
    return NOTHING


def _module(engine: Engine, dotted: str, importer: str) -> Found:
    """Return the module of an absolute import."""
    tail = dotted.replace(".", "/")
    best: tuple[int, int, str, Decl] | None = None
    for fact in engine.decls(MODULES, dotted):
        stem = fact.path.rpartition(".")[0]
        stem = stem.removesuffix("/__init__")
        root = stem.removesuffix(tail).rstrip("/")
        rank = _rank_of(engine, root, dotted, importer)
        if rank is not None:
            key = (rank, len(root) if rank else -len(root), fact.path, fact)
            if best is None or key[:3] < best[:3]:
                best = key
    if best is not None:
        return values.module(best[3].container, best[3].path)
    top = dotted.partition(".")[0]
    if top not in PYTHON_LIBRARY:
        for root in _ROOTS:
            stem = f"{root}/{tail}" if root else tail
            if engine.facts("#folder", stem):
                return values.module(stem.replace("/", "."), stem + "/")
        if top != dotted and _module(engine, top, importer).state == RESOLVED:
            return Found(UNRESOLVED, hint=dotted)
    return values.outside(dotted)


def _rank_of(engine: Engine, root: str, dotted: str, importer: str) -> int | None:
    """Return how near a source root is to an importing file; None when it can be none."""
    library = dotted.partition(".")[0] in PYTHON_LIBRARY
    if root and _is_package(engine, root):
        return None
    if root and importer.startswith(root + "/"):
        own = importer.rpartition("/")[0] == root
        return 0 if own or not library else None
    if root in _ROOTS:
        return 1
    return None if library else 2


def _is_package(engine: Engine, folder: str) -> bool:
    wanted = f"{folder}/__init__.py"
    return any(fact.path == wanted for fact in engine.decls(MODULES, folder.replace("/", ".")))


def member(engine: Engine, value: Value, name: str) -> Found:
    """Return what a name means as a member of a module."""
    question = ("p", value.path, name)
    return engine.remembered(question, lambda: _member(engine, value, name), NOTHING)  # type: ignore[no-any-return]


def _member(engine: Engine, value: Value, name: str) -> Found:
    path = value.path
    if not path.endswith("/"):
        found = of_file(engine, path, value.name, name)
        if found.state == RESOLVED or (found.state != UNRESOLVED and not _is_init(path)):
            return found
    else:
        found = NOTHING
    if path.endswith("/") or _is_init(path):
        below = _by_path(engine, f"{path.rpartition('/')[0]}/{name}".lstrip("/"))
        if below.state == RESOLVED:
            return below
    if found.state != UNRESOLVED:
        return found
    return Found(UNRESOLVED, hint=value.name)


def _is_init(path: str) -> bool:
    return path.endswith(("/__init__.py", "/__init__.pyi")) or path in (
        "__init__.py",
        "__init__.pyi",
    )
