"""Languages whose names live in packages or namespaces: Go, Java and its kin, C#, PHP."""

from __future__ import annotations

from msgspec.structs import replace

from services.resolution import values
from services.resolution.engine import Engine
from services.resolution.families import BUILTINS
from services.resolution.scopes import CALLABLE
from services.resolution.summary import (
    GO_MODULES,
    MODULES,
    SPACES,
    TYPE_LIKE,
    TYPES,
    Decl,
    ImportFact,
)
from services.resolution.usings import global_usings, usings
from services.resolution.values import (
    AMBIGUOUS,
    EXTERNAL,
    NOTHING,
    OUTSIDE,
    RESOLVED,
    TYPE,
    UNRESOLVED,
    Found,
    Value,
)

TYPE_PARAMETER = Found(UNRESOLVED)  # what `around` says of one, which hides all that is further out


def around(engine: Engine, name: str, context: str, outermost: str = "") -> Found:
    """Look a bare name up in what is around: functions, types with what they inherit, namespaces."""
    missing = NOTHING
    scope = context
    while scope != outermost and scope:
        container, _, last = scope.rpartition(".")
        outer = engine.decls(container, last)
        types = [decl for decl in outer if decl.kind in TYPES]
        if types:
            if last == name:
                return engine.chosen(tuple(types))
            if any(name in decl.parameters for decl in types):
                return TYPE_PARAMETER
            found = engine.member_of(types[0], name)
            if found.state in (RESOLVED, AMBIGUOUS):
                return found
            if found.state == EXTERNAL:
                missing = found
        else:
            decls = engine.decls(scope, name)
            if decls:
                return engine.chosen(decls)
            if outer and any(name in decl.parameters for decl in outer):
                return TYPE_PARAMETER
        scope = container
    return missing


def in_functions(engine: Engine, context: str, outermost: str, name: str) -> Found | None:
    """Look a bare name up among what the functions around declare, up to a package or module."""
    scope = context
    while len(scope) > len(outermost):
        container, _, last = scope.rpartition(".")
        if any(decl.kind in CALLABLE for decl in engine.decls(container, last)):
            decls = engine.decls(scope, name)
            if decls:
                return engine.chosen(decls)
        scope = container
    return None


def package_member(engine: Engine, value: Value, name: str) -> Found:
    """Return what a name means as a member of a package or namespace."""
    container = value.name
    decls = engine.decls(container, name)
    if decls:
        return engine.chosen(decls)
    full = f"{container}.{name}" if container else name
    if engine.holds_packages(full):
        return values.module(full)
    if not container:
        return values.outside("builtins" if name[:1].islower() else full)
    if not engine.is_package(container):
        return values.outside(full)  # only the beginning of its name is known here
    return Found(UNRESOLVED, hint=container)


def package_around(engine: Engine, name: str, context: str) -> Found:
    """Return the package a name begins with, as seen from inside another one."""
    scope = context
    while scope:
        if engine.holds_packages(scope) and engine.holds_packages(f"{scope}.{name}"):
            return values.module(f"{scope}.{name}")
        scope = scope.rpartition(".")[0]
    return values.module(name) if engine.holds_packages(name) else NOTHING


# ---- Go ------------------------------------------------------------------------------------------


def go_named(engine: Engine, name: str, path: str, context: str) -> Found:
    """Look a name up: functions around it, the file's imports, the package, dot imports."""
    folder = path.rpartition("/")[0].replace("/", ".")
    package = folder or context.partition(".")[0]
    local = in_functions(engine, context, package, name)
    if local is not None:
        return local
    for fact in engine.imports(path, name):
        return engine.imported(fact)
    decls = engine.decls(package, name)
    if decls:
        return go_chosen(engine, decls, path)
    if name in BUILTINS["go"]:
        return NOTHING
    outer = NOTHING
    for fact in engine.imports(path, "*"):
        source = go_imported(engine, fact)
        found = engine.member(engine.value(source), name)
        if found.state == RESOLVED:
            return found
        if source.state == EXTERNAL:
            outer = values.outside(source.hint)
    return outer


def go_chosen(engine: Engine, decls: tuple[Decl, ...], path: str) -> Found:
    """Of declarations under several build conditions all are meant: they have one id."""
    if len(decls) == 1:
        return Found(RESOLVED, decls)
    own = tuple([decl for decl in decls if decl.path == path])
    return engine.chosen(own or decls)


def go_imported(engine: Engine, fact: ImportFact) -> Found:
    """Return the package of an import path."""
    written = fact.module
    parts = written.split("/")
    for size in range(len(parts), 0, -1):
        head = "/".join(parts[:size])
        for module in engine.projects(GO_MODULES, head):
            root = module.path.rpartition("/")[0]
            folder = "/".join(part for part in (root, *parts[size:]) if part)
            if engine.is_package(folder.replace("/", ".")) and folder:
                return values.module(folder.replace("/", "."))
            outermost = {decl.container for decl in engine.decls(MODULES, folder)} - {""}
            if not folder and outermost:  # named as its files say, a test's package aside
                return values.module(min(outermost, key=lambda name: (name[-5:] == "_test", name)))
    found = [d.container for d in engine.decls(MODULES, written) if d.name == written]
    if found and "." in parts[0]:  # a vendored or staged copy, under its whole path
        return values.module(min(found, key=lambda container: (len(container), container)))
    return values.outside(written)


def go_member(engine: Engine, value: Value, name: str) -> Found:
    decls = engine.decls(value.name, name)
    if decls:
        return go_chosen(engine, decls, "")
    return Found(UNRESOLVED, hint=value.name)


# ---- Java, Kotlin, Scala -------------------------------------------------------------------------


def jvm_named(engine: Engine, name: str, path: str, context: str) -> Found:
    """Look a name up: what is around, the imports, the package, imports on demand, java.lang."""
    package = _package_around(engine, context)
    found = around(engine, name, context, package)
    if found.state in (RESOLVED, AMBIGUOUS):
        return found
    if found is TYPE_PARAMETER:
        return NOTHING
    for fact in engine.imports(path, name):
        imported = engine.imported(fact)
        if imported.state != UNRESOLVED:
            return imported
    decls = engine.decls(package, name)
    if decls:
        return engine.chosen(decls)
    if name in BUILTINS["jvm"]:
        return NOTHING
    outer = found
    for fact in engine.imports(path, "*"):
        container = fact.module
        decls = engine.decls(container, name)
        if decls:
            return engine.chosen(decls)
        owner = _type_named(engine, container)
        if owner is not None:
            inside = engine.member_of(owner, name)
            if inside.state == RESOLVED:
                return inside
        elif not engine.is_package(container):
            outer = values.outside(container) if name[:1].isupper() or found is NOTHING else found
    return values.module(name) if engine.holds_packages(name) else outer


def _package_around(engine: Engine, context: str) -> str:
    """Return the package of a place: what no declaration stands for."""
    package, scope = context, context
    while scope:
        container, _, last = scope.rpartition(".")
        if engine.decls(container, last):
            package = container
        scope = container
    return package


def _type_named(engine: Engine, full_name: str) -> Decl | None:
    container, _, name = full_name.rpartition(".")
    return next((d for d in engine.decls(container, name) if d.kind in TYPE_LIKE), None)


def jvm_imported(engine: Engine, fact: ImportFact) -> Found:
    decls = engine.decls(fact.module, fact.name)
    if decls:
        return engine.chosen(decls)
    owner = _type_named(engine, fact.module)
    if owner is not None:  # a static import, or a nested type
        return engine.member_of(owner, fact.name)
    if engine.is_package(fact.module):
        if engine.is_package(f"{fact.module}.{fact.name}"):
            return values.module(f"{fact.module}.{fact.name}")
        return Found(UNRESOLVED, hint=fact.module)
    return values.outside(fact.module)


# ---- C# ------------------------------------------------------------------------------------------


def csharp_named(engine: Engine, name: str, path: str, context: str) -> Found:
    """Look a name up: what is around, namespaces outwards, usings."""
    found = around(engine, name, context)
    if found.state in (RESOLVED, AMBIGUOUS):
        return found
    if found is TYPE_PARAMETER:
        return NOTHING
    decls = engine.decls("", name)
    if decls:
        return engine.chosen(decls)
    for fact in (*engine.imports(path, name), *global_usings(engine, path)):
        if fact.alias == name:
            return engine.imported(fact)
    brought = _from_usings(engine, name, path, found)
    if brought.state in (RESOLVED, AMBIGUOUS):
        return brought
    package = package_around(engine, name, context)
    return brought if package is NOTHING else package


def _from_usings(engine: Engine, name: str, path: str, outer: Found) -> Found:
    """Return what the usings of a file bring in, or else where a name may come from outside."""
    hits: dict[str, Found] = {}
    for fact in usings(engine, path):
        decls = tuple([d for d in engine.decls(fact.module, name) if d.kind in TYPE_LIKE])
        if decls:
            hits[decls[0].id] = engine.chosen(decls)
            continue
        owner = _type_named(engine, fact.module)
        if owner is not None:
            inside = engine.member_of(owner, name)
            if inside.state == RESOLVED:
                hits[inside.decls[0].id] = inside
        elif not engine.is_package(fact.module) and outer is NOTHING:
            outer = values.outside(fact.module) if name[:1].isupper() else NOTHING
    if len(hits) == 1:
        return next(iter(hits.values()))
    if hits:
        every = tuple(hits[key].decls[0] for key in sorted(hits))
        return Found(AMBIGUOUS, every, values.MEDIUM)
    return outer


def csharp_imported(engine: Engine, fact: ImportFact) -> Found:
    """`using Alias = A.B.C`, or a namespace."""
    full = f"{fact.module}.{fact.name}" if fact.name and fact.name != "*" else fact.module
    container, _, name = full.partition("<")[0].rpartition(".")
    decls = engine.decls(container, name)
    made = engine.typed(full, fact.path, fact.scope) if "<" in full else None
    if decls and decls[0].kind not in SPACES:
        found = engine.chosen(decls)
        known = made is not None and made.decl in found.decls
        return replace(found, value=replace(made, sort=TYPE)) if made and known else found
    if engine.is_package(full):
        return values.module(full)
    if made is not None and made.sort == OUTSIDE:
        return Found(EXTERNAL, (), values.HIGH, made, container)
    return values.outside(fact.module)


# ---- PHP -----------------------------------------------------------------------------------------


def php_named(engine: Engine, name: str, path: str, context: str) -> Found:
    """Look a name up: the uses of the file, its namespace, functions and constants outside any.

    Of the namespaces around its own, PHP sees none.
    """
    for fact in engine.imports(path, name):
        return engine.imported(fact)
    space = context
    while space:
        outer, _, last = space.rpartition(".")
        around = [decl for decl in engine.decls(outer, last) if decl.path == path]
        if not any(decl.kind in TYPES or decl.kind in CALLABLE for decl in around):
            break
        decls = () if around[0].kind in TYPES else engine.decls(space, name)
        if decls:
            return engine.chosen(decls)
        space = outer
    if name == "namespace":
        return values.module(space)
    decls = engine.decls(space, name)
    if not decls and space:
        decls = tuple([decl for decl in engine.decls("", name) if decl.kind not in TYPES])
    if decls:
        return engine.chosen(decls)
    full = f"{space}.{name}" if space else name
    return values.module(full) if engine.holds_packages(full) else NOTHING


def php_imported(engine: Engine, fact: ImportFact) -> Found:
    container = fact.module.replace("\\", ".").strip(".")
    decls = engine.decls(container, fact.name)
    if decls:
        return engine.chosen(decls)
    full = f"{container}.{fact.name}" if container else fact.name
    if engine.is_package(full):
        return values.module(full)
    return values.outside(full.replace(".", "\\"))
