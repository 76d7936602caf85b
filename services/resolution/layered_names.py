"""Ruby, Rust, C and C++, Swift, scripts: lexical nesting, module trees, includes."""

from __future__ import annotations

import re
from posixpath import normpath

from msgspec.structs import replace

from services.resolution import cpp_spaces, values
from services.resolution.c_includes import included, is_header
from services.resolution.engine import Engine
from services.resolution.module_names import rust_module
from services.resolution.packaged_names import around, in_functions, package_around
from services.resolution.summary import (
    COMPACT,
    CRATES,
    MODULES,
    SPACES,
    TYPE_LIKE,
    TYPES,
    Decl,
    ImportFact,
)
from services.resolution.values import (
    AMBIGUOUS,
    MEDIUM,
    NOTHING,
    RESOLVED,
    UNRESOLVED,
    Found,
    Value,
)

# ---- Ruby ----------------------------------------------------------------------------------------


def ruby_named(engine: Engine, name: str, path: str, context: str) -> Found:
    """Look a constant up outwards, a method in the type around and at the top."""
    constant = name[:1].isupper()
    scope = context
    while scope:
        container, _, last = scope.rpartition(".")
        outer = engine.decls(container, last)
        types = [decl for decl in outer if decl.kind in TYPES or decl.kind in SPACES]
        if constant:
            decls = engine.decls(scope, name)
            if decls:
                return engine.chosen(decls)
            if types and scope == context:
                inherited = engine.member_of(types[0], name)
                if inherited.state == RESOLVED:
                    return inherited
            container = _beyond(types, path, container)
        elif types:
            found = engine.member_of(types[0], name)
            if found.state == RESOLVED:
                return replace(found, confidence=MEDIUM) if found.confidence > MEDIUM else found
            break
        else:
            decls = engine.decls(scope, name)
            if decls:
                return engine.chosen(decls)
        scope = container
    decls = engine.decls("", name)
    if not decls:
        return NOTHING
    if constant or any(decl.path == path for decl in decls):
        return engine.chosen(decls)
    found = engine.chosen(decls)  # unless what is around inherits another one, unseen
    return replace(found, confidence=MEDIUM) if found.state == RESOLVED else found


def _beyond(types: list[Decl], path: str, container: str) -> str:
    """Return what is lexically around a type: of `class A::B` no A."""
    for decl in types:
        levels = decl.modifiers[-1].removeprefix(COMPACT) if decl.modifiers else ""
        if decl.path == path and levels.isdecimal():
            for _ in range(int(levels)):
                container = container.rpartition(".")[0]
            break
    return container


def ruby_imported(engine: Engine, fact: ImportFact) -> Found:
    if fact.kind == "include":
        return engine.dotted(fact.module, fact.path, fact.scope)
    wanted = fact.module.removesuffix(".rb") + ".rb"
    folder = fact.path.rpartition("/")[0]
    near = normpath(f"{folder}/{wanted}") if folder else normpath(wanted)
    tail = wanted.lstrip("./")
    for found in engine.decls(MODULES, tail):
        if found.path == near or (not wanted.startswith(".") and found.path.endswith(tail)):
            if fact.name:
                decls = engine.decls("", fact.name)
                return engine.chosen(decls) if decls else values.module(found.path)
            return values.module(found.path)
    return values.outside(fact.module)


def space_member(engine: Engine, value: Value, name: str) -> Found:
    """Return a member of a module or namespace."""
    decls = engine.decls(value.name, name)
    if decls:
        return engine.chosen(decls)
    full = f"{value.name}.{name}" if value.name else name
    return (
        values.module(full) if engine.holds_packages(full) else Found(UNRESOLVED, hint=value.name)
    )


# ---- Rust ----------------------------------------------------------------------------------------

_PRELUDE = frozenset(
    [
        "Vec",
        "String",
        "Option",
        "Some",
        "None",
        "Result",
        "Ok",
        "Err",
        "Box",
        "Default",
        "Clone",
        "Copy",
        "Send",
        "Sync",
        "Sized",
        "Drop",
        "Fn",
        "FnMut",
        "FnOnce",
        "Iterator",
        "IntoIterator",
        "Extend",
        "From",
        "Into",
        "AsRef",
        "AsMut",
        "ToString",
        "ToOwned",
        "PartialEq",
        "Eq",
        "Ord",
        "PartialOrd",
        "drop",
        "std",
        "core",
        "alloc",
        "bool",
        "char",
        "str",
        "u8",
        "u16",
        "u32",
        "u64",
        "u128",
        "usize",
        "i8",
        "i16",
        "i32",
        "i64",
        "i128",
        "isize",
        "f32",
        "f64",
        "println",
        "print",
        "eprintln",
        "eprint",
        "format",
        "vec",
        "panic",
        "assert",
        "assert_eq",
        "assert_ne",
        "write",
        "writeln",
        "debug_assert",
        "todo",
        "unimplemented",
        "unreachable",
        "matches",
        "concat",
        "env",
        "include_str",
        "line",
        "file",
        "derive",
        "Debug",
        "Hash",
        "Display",
        "debug_assert_eq",
        "TryFrom",
        "TryInto",
        "dbg",
        "cfg",
        "test",
    ]
)


_OF_CRATE = re.compile(r"((?:.*?/)??)(?:src|tests|benches|examples)/")


def rust_crate(path: str) -> str:
    """Return the container of a file's crate root."""
    head, found, _ = path.rpartition("/src/")
    if not found:
        return "" if path.startswith("src/") else rust_module(path)
    return head.replace("/", ".").replace("-", "_")


def rust_named(engine: Engine, name: str, path: str, context: str) -> Found:
    """Look a name up: functions around it, then the module and what it uses."""
    module = rust_module(path)
    if name == "crate":
        return values.module(rust_crate(path))
    inner = _module_around(engine, context, module)
    if name in ("self", "super"):
        return values.module(inner if name == "self" else inner.rpartition(".")[0])
    local = in_functions(engine, context, inner, name)
    return _of_module(engine, inner, name, path, frozenset()) if local is None else local


def _module_around(engine: Engine, context: str, module: str) -> str:
    scope = context
    while len(scope) > len(module):
        container, _, last = scope.rpartition(".")
        if any(decl.kind == "module" for decl in engine.decls(container, last)):
            return scope
        scope = container
    return module


def _of_module(engine: Engine, module: str, name: str, path: str, seen: frozenset[str]) -> Found:
    decls = engine.decls(module, name)
    if decls:
        return engine.chosen(decls)
    facts = [f for f in engine.imports(path, name) if _is_of(f, module, path)]
    for fact in facts:
        return engine.imported(fact)
    if engine.is_package(f"{module}.{name}" if module else name):
        return values.module(f"{module}.{name}" if module else name)
    outer = NOTHING
    for fact in engine.imports(path, "*"):
        if not _is_of(fact, module, path) or fact.module in seen:
            continue
        source = _use(engine, fact.module, fact)
        found = engine.member(engine.value(source), name)
        if found.state == RESOLVED:
            return found
        if source.state == values.EXTERNAL:
            outer = values.outside(source.hint)
    if name in _PRELUDE:
        return values.outside("std")
    crate = _crate(engine, name, path)
    return outer if crate is NOTHING else crate


def _is_of(fact: ImportFact, module: str, path: str) -> bool:
    """Does a `use` stand in this module of its file, or in a function of it?"""
    own = rust_module(path)
    return (not fact.scope and module == own) or bool(fact.scope and fact.scope.startswith(module))


def _use(engine: Engine, written: str, fact: ImportFact) -> Found:
    """Return what a path of a `use` leads to."""
    parts = [part for part in written.split("::") if part]
    if not parts:
        return NOTHING
    own = fact.scope or rust_module(fact.path)
    first = parts[0]
    if first == "crate":
        found = values.module(rust_crate(fact.path))
    elif first in ("self", "super"):
        module = _module_around(engine, own, rust_module(fact.path))
        found = values.module(module if first == "self" else module.rpartition(".")[0])
    else:
        found = _first(engine, first, own, fact.path)
    for part in parts[1:]:
        if part == "super" and found.value is not None:
            found = values.module(found.value.name.rpartition(".")[0])
            continue
        found = engine.member(engine.value(found), part)
    return found


def _first(engine: Engine, name: str, own: str, path: str) -> Found:
    full = f"{own}.{name}" if own else name
    if engine.is_package(full):
        return values.module(full)
    decls = engine.decls(own, name)
    if decls:
        return engine.chosen(decls)
    crate = _crate(engine, name, path)
    return values.outside(name) if crate is NOTHING else crate


def _crate(engine: Engine, name: str, path: str) -> Found:
    """Return the root of the crate that a Cargo.toml names so, or else of one in a folder so named.

    The Cargo.toml of a file's own crate may give another crate a name for itself.
    """
    folder = _OF_CRATE.match(path)
    manifest = f"{folder[1] if folder is not None else ''}Cargo.toml"
    for renamed in engine.projects(CRATES, f"{manifest}:{name}"):
        name = renamed.name
    for named in engine.projects(CRATES, name):
        root = rust_module(named.path.removesuffix("Cargo.toml") + "src/lib.rs")
        if engine.is_package(root):
            return values.module(root)
    for crate in engine.decls(MODULES, f"crate:{name}"):
        return values.module(crate.container)
    return NOTHING


def rust_imported(engine: Engine, fact: ImportFact) -> Found:
    if fact.kind == "mod":
        own = fact.scope or rust_module(fact.path)
        full = f"{own}.{fact.alias}" if own else fact.alias
        return values.module(full) if engine.is_package(full) else Found(UNRESOLVED, hint=full)
    written = f"{fact.module}::{fact.name}" if fact.name and fact.name != "*" else fact.module
    return _use(engine, written, fact)


def rust_member(engine: Engine, value: Value, name: str) -> Found:
    question = ("p", value.name, name)
    return engine.remembered(question, lambda: _rust_member(engine, value, name), NOTHING)  # type: ignore[no-any-return]


def _rust_member(engine: Engine, value: Value, name: str) -> Found:
    module = value.name
    if name == "super":
        return values.module(module.rpartition(".")[0])
    decls = engine.decls(module, name)
    if decls:
        return engine.chosen(decls)
    full = f"{module}.{name}" if module else name
    if engine.is_package(full):
        return values.module(full)
    outer = NOTHING
    for place in engine.decls("#package", module):
        found = _of_module(engine, module, name, place.path, frozenset({module}))
        if found.state == RESOLVED:
            return found
        if found.state == values.EXTERNAL:
            outer = found
    return outer if outer is not NOTHING else Found(UNRESOLVED, hint=module)


# ---- C and C++ -----------------------------------------------------------------------------------


def c_named(engine: Engine, name: str, path: str, context: str) -> Found:
    """Look a name up: what is around, then everything at the top, this file and its headers first."""
    if name == "std":
        return values.outside("std")
    using = [fact for fact in engine.imports(path, name) if _in_sight(engine, fact, context)]
    for fact in using:
        if fact.scope:  # it hides what is around
            return engine.imported(fact)
    found = around(engine, name, context)
    if found.state == RESOLVED:
        container = found.decls[0].container
        beside = engine.decls(container, name) if engine.is_package(container) else ()
        own = tuple([d for d in beside if d.path == path])
        return engine.chosen(own) if own else _nearest(engine, found.decls, path)
    own = engine.decls(path.rpartition(".")[0].replace("/", "."), name)  # static
    decls = own or engine.decls("", name)
    if decls:
        return engine.chosen(own) if own else _nearest(engine, decls, path)
    brought = _brought_in(engine, using, name, path, context)
    if brought is not NOTHING or found.state == AMBIGUOUS:
        return found if brought is NOTHING else brought
    package = package_around(engine, name, context)
    if package is NOTHING and found is NOTHING:
        found = _in_sources(engine, name, path)
    return package if found is NOTHING and package is not NOTHING else found


def _brought_in(
    engine: Engine, using: list[ImportFact], name: str, path: str, context: str
) -> Found:
    """Look a name up that a `using` brings in: by itself, or with all of a namespace."""
    for fact in using:
        return engine.imported(fact)
    for fact in engine.imports(path, "*"):
        if fact.kind == "using" and _in_sight(engine, fact, context):
            container = fact.module.replace("::", ".")
            decls = engine.decls(container, name)
            inner = engine.chosen(decls) if decls else cpp_spaces.beyond(engine, container, name)
            if inner is not NOTHING:
                return inner
    return NOTHING


def _in_sight(engine: Engine, fact: ImportFact, context: str) -> bool:
    """Does a `using` hold at a place? One of a class is about what it inherits anyway."""
    if not fact.scope:
        return True
    container, _, last = fact.scope.rpartition(".")
    inside = f"{context}.".startswith(f"{fact.scope}.")
    return inside and not any(d.kind in TYPES for d in engine.decls(container, last))


def _in_sources(engine: Engine, name: str, path: str) -> Found:
    """Look a name up where only a macro or an unusual include leads to."""
    for source in included(engine, path):
        if source.endswith(".c"):  # whose statics are in sight, then
            decls = engine.decls(source.rpartition(".")[0].replace("/", "."), name)
            if decls:
                return engine.chosen(decls)
    return cpp_spaces.around(engine, name, path)


def _nearest(engine: Engine, decls: tuple[Decl, ...], path: str) -> Found:
    """Of declarations of one name prefer this file's, then what it includes; statics stay in theirs."""
    own = tuple([d for d in decls if d.path == path])
    if own and any(d.kind != "macro" or len(decls) == 1 for d in own):
        return engine.chosen(own)
    seen = tuple([d for d in decls if "static" not in d.modifiers or is_header(d.path)])
    if path.endswith(".c"):  # what C++ defines for it is declared as C somewhere
        seen = tuple([d for d in seen if not d.suffix]) or seen
    if not seen:
        return NOTHING
    ids = {d.id for d in seen}
    if len(ids) == 1:
        return engine.chosen(seen)
    headers = included(engine, path)
    near = tuple([d for d in seen if d.path in headers])
    return engine.chosen(near or seen)


def c_imported(engine: Engine, fact: ImportFact) -> Found:
    if fact.kind == "include":
        found = engine.decls(MODULES, normpath(fact.module).lstrip("./"))
        return values.module(found[0].path) if found else values.outside(fact.module)
    container = fact.module.replace("::", ".")
    if fact.name and fact.name != "*":
        decls = engine.decls(container, fact.name)
        inner = engine.chosen(decls) if decls else cpp_spaces.beyond(engine, container, fact.name)
        if inner is not NOTHING:
            return inner
    if engine.is_package(container) or cpp_spaces.is_opened(engine, container):
        return Found(UNRESOLVED, hint=container) if fact.name else values.module(container)
    return values.outside(container)


def c_member(engine: Engine, value: Value, name: str) -> Found:
    """Return a member of a namespace, an inline one's or one's that only a macro opens included."""
    found = space_member(engine, value, name)
    if found.state == UNRESOLVED and value.name:
        hidden = cpp_spaces.beyond(engine, value.name, name)
        return found if hidden is NOTHING else hidden
    return found


# ---- Swift, scripts ------------------------------------------------------------------------------


def global_named(engine: Engine, name: str, _path: str, context: str) -> Found:
    """Look a name up in what is around and at the top of any file."""
    found = around(engine, name, context)
    if found.state == RESOLVED:
        return found
    decls = engine.decls("", name)
    return engine.chosen(decls) if decls else found


def script_named(engine: Engine, name: str, path: str, context: str) -> Found:
    """Look a name up in its own file only."""
    scope = context
    while True:
        decls = engine.decls_in(path, scope, name)
        if decls:
            return engine.chosen(decls)
        if not scope:
            return NOTHING
        scope = scope.rpartition(".")[0]


def outside_import(engine: Engine, fact: ImportFact) -> Found:  # noqa: ARG001 - one signature
    return values.outside(fact.module)


_ = TYPE_LIKE
