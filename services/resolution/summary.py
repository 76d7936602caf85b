"""What do other files need to know of a file to tell what their names mean?

Everything in a summary is a fact: an entry under a key of two names, a container and a name in it.
Whatever is asked about other files is asked by such a key, so that the keys a file asked for are all
that its edges depend on.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from contracts.extract import Body, Symbol
from services.resolution.expressions import annotated
from services.resolution.families import Family, family_of
from services.resolution.generics import (
    GENERIC,
    TYPED_SCRIPTS,
    bounds_of,
    derived_of,
    go_bounds_of,
    parameter_list,
    rust_bounds_of,
    template_parameters,
)
from services.resolution.ids import OVERLOADING, kind_letter, symbol_id
from services.resolution.module_names import ecma_module, python_module, rust_module, stem_of
from services.resolution.scopes import CALLABLE, RETURNED, Scopes

SUMMARY_VERSION = 4
TYPES = frozenset({"class", "interface", "struct", "enum", "trait", "record", "union", "component"})
TYPE_LIKE = TYPES | {"type"}
VALUES = frozenset({"field", "property", "constant", "variable", "event"})
SPACES = frozenset({"module", "namespace"})
UNSEEN = "unseen"  # modifier of a field that no symbol stands for
OBJECT = "object"  # modifier of a function or constant that methods are declared in
MEMBERS = frozenset({"method", "property"})
FILE = "file"  # kind of the fact that a module is there

_OPENING = re.compile(r"(inline[\s\\]+)?\bnamespace[\s\\]+([A-Za-z_]\w*)[\s\\]*(?:\{|\Z)")
_NAMELESS = frozenset({"union", "struct"})  # the type of a C field that is declared in place
_BESIDE_CODE = frozenset({"Properties", "Global", "Globals", "Usings", "GlobalUsings"})
_SCOPED = re.compile(r"(?:typedef\s+)?enum\s+(?:class|struct)\b")
_NESTED_PACKAGES = frozenset({"jvm", "csharp", "php", "c"})
_ASKING = frozenset({"go", "jvm"})  # families in which others ask for the methods of an interface
INTERFACES = "#interfaces"  # by a method they ask for, where types implement without saying so
MODULES, BY_NAME, METHODS, IMPLS, PACKAGES = "#module", "#name", "#methods", "#impls", "#package"
USINGS = "#usings"  # what C# brings into all files of a project, by the folder it is said in
OPENED = "#opened"  # macros by each namespace that they open; all of them by ""
INLINE = "#inline"  # inline namespaces by the one around
ABOVE = "#above"  # a package by the name of one inside it

SETTINGS, PACKAGE_NAMES, GO_MODULES = "#project", "#packages", "#gomodules"
CRATES = "#crates"
PROJECT_CONTAINERS = frozenset({SETTINGS, PACKAGE_NAMES, GO_MODULES, CRATES})
_GENERIC = re.compile(r"\b(?:Generic|Protocol)\[([\w, ]+)\]")
_PARAMETER = re.compile(
    r"(?:^|,)\s*(?:in |out |const |typename |class |\*+|'\w+,?\s*)*([A-Za-z_]\w*)"
)
_RENAMED = re.compile(r"\bpackage\s*=\s*[\"']([\w-]+)")  # a dependency that goes by another name
_WRITTEN_TYPE = re.compile(r"\w+ = ((?:[\w.]+\.)?[A-Z]\w*\[.+\])")
_ALIASES = frozenset({"TypeAlias", "typing.TypeAlias", "t.TypeAlias"})
_TYPE_VARIABLE = re.compile(
    r"(\w+)(?:: [\w.]+)? = (?:[\w.]+\.)?TypeVar\((?:.*?\bbound ?= ?['\"]?([\w.]+))?"
)
_COMPACT = re.compile(r"(?:class|module) ((?:\w+::)+)\w")
COMPACT = (
    "compact:"  # modifier of Ruby's `class A::B`: what is in A is not seen from B, 1 level of it
)
_ATTRIBUTE = re.compile(r"(?:self|this|cls)\.(#?\w+)\Z")


class Decl(Struct, array_like=True, gc=False):
    """A declaration as others see it. It holds no position, so that moving it changes nothing."""

    kind: str  # as of contracts.extract.Symbol, and "file"
    name: str
    container: str  # full name of what it is declared in
    suffix: str = ""  # parameter list of the symbol id
    context: str = ""  # full name in whose scope its types are read, when not its container
    arity: int = -1
    modifiers: tuple[str, ...] = ()
    told: tuple[str, ...] = ()  # expressions of its value, or of what calling it gives
    bases: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()  # generic type parameters
    takes: tuple[str, ...] = ()  # declared types of parameters, where they are asked for
    path: str = ""  # where it is; set when it enters an index
    bounds: tuple[tuple[str, str], ...] = ()  # of type parameters: what each extends, its default
    derived: tuple[str, ...] = ()  # generic base types, with their arguments
    optional: int = 0  # parameters that may be left out of a call

    @property
    def shared(self) -> bool:
        """Does it stand for a package, which several files make up?"""
        return self.kind == FILE and "package" in self.modifiers

    @property
    def full_name(self) -> str:
        return f"{self.container}.{self.name}" if self.container else self.name

    @property
    def id(self) -> str:
        return f"{kind_letter(self.kind)}:{self.full_name}{self.suffix}"


class ImportFact(Struct, array_like=True, gc=False):
    """An imported or exported binding; see contracts.extract.Import."""

    module: str
    name: str
    alias: str
    kind: str = "import"
    level: int = 0
    scope: str = ""  # full name of the symbol whose body holds it; "" at module level
    path: str = ""


Fact = Decl | ImportFact
Facts = dict[tuple[str, str], tuple[Fact, ...]]


class Summary(Struct, array_like=True):
    """One file's facts, and hashes of the keys its edges depend on."""

    version: int
    language: str
    module: str  # container of what is declared at the file's outermost level
    decls: tuple[Decl, ...]
    imports: tuple[ImportFact, ...]
    needs: bytes = b""  # u4, ascending


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Summary)


def encode(summary: Summary) -> bytes:
    return _encoder.encode(summary)


def decode(data: bytes) -> Summary | None:
    """Return a summary, None when it is of another version."""
    try:
        found = _decoder.decode(data)
    except msgspec.DecodeError:
        return None
    return found if found.version == SUMMARY_VERSION else None


def summarise(path: str, language: str, body: Body) -> Summary:
    """Read the summary out of a file's extract."""
    family = family_of(language)
    if family is None:
        keys = tuple(
            Decl("key", symbol.name, "#project", told=(symbol.signature,), context=symbol.fq_name)
            for symbol in body.symbols
            if symbol.kind == "key" and _is_project_file(path)
        )
        return Summary(SUMMARY_VERSION, language, "", keys, ())
    scopes = Scopes(body)
    module = module_of(path, family, body)
    decls = [
        _declared(symbol, index, language, scopes) for index, symbol in enumerate(body.symbols)
    ]
    decls += _attributes(body, scopes, decls, language)
    if family.name == "ecma":
        _mark_objects(decls)
    elif family.name == "python":
        _declare_parameters(body, decls)
    imports = tuple(
        ImportFact(
            i.module, i.name, i.alias, i.kind, i.level,
            body.symbols[i.scope].fq_name if i.scope >= 0 else "",
        )
        for i in body.imports
    )  # fmt: skip
    return Summary(SUMMARY_VERSION, language, module, tuple(decls), imports)


def _declare_parameters(body: Body, decls: list[Decl]) -> None:
    """Let variables made by TypeVar be type parameters, and each know what it extends."""
    for symbol, decl in zip(body.symbols, decls, strict=False):
        if symbol.kind in VALUES and "TypeVar(" in symbol.signature:
            made = _TYPE_VARIABLE.match(symbol.signature)
            if made is not None:
                decl.told, decl.parameters = (), (made[1],)
                decl.bounds = ((made[2], ""),) if made[2] else ()
        elif symbol.kind in VALUES and not decl.told and "[" in symbol.signature:
            written = _WRITTEN_TYPE.fullmatch(symbol.signature)  # too nested to be an expression
            decl.told = (written[1],) if written is not None else ()
        elif decl.parameters and f"{symbol.name}[" in symbol.signature:
            decl.bounds = _bounds_in_brackets(symbol)


def _bounds_in_brackets(symbol: Symbol) -> tuple[tuple[str, str], ...]:
    """Return what the type parameters in `def f[T: Bound, *Ts]` extend; nothing when none does."""
    inside = symbol.signature.partition(f"{symbol.name}[")[2].partition("](")[0]
    found = tuple([(part.partition(":")[2].strip(), "") for part in _flat(inside).split(",")])
    return found if any(bound for bound, _ in found) else ()


def _mark_objects(decls: list[Decl]) -> None:
    """Mark the functions that hold methods, and the constants that are objects with functions."""
    holding = {decl.container for decl in decls if decl.kind in MEMBERS}
    assigned = {decl.container for decl in decls if decl.kind == "function"} | holding
    for decl in decls:
        if decl.kind == "function":
            holds = decl.full_name in holding
        else:
            held = decl.kind in ("constant", "variable") and not decl.told
            holds = held and decl.full_name in assigned
        if holds:
            decl.modifiers += (OBJECT,)


def _is_project_file(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in ("package.json", "go.mod", "Cargo.toml") or (
        name.startswith(("tsconfig", "jsconfig")) and name.endswith(".json")
    )


def _declared(symbol: Symbol, index: int, language: str, scopes: Scopes) -> Decl:
    full_name = symbol.fq_name
    container = full_name[: -len(symbol.name) - 1] if len(full_name) > len(symbol.name) else ""
    suffix = ""
    if symbol.kind in CALLABLE:
        identity = symbol_id(language, symbol)
        suffix = identity[len(full_name) + 2 :]
    modifiers = tuple([m for m in symbol.modifiers if m in _KEPT])
    if symbol.params and _is_variadic(symbol):
        modifiers += ("variadic",)
    if symbol.kind == "enum" and _SCOPED.match(symbol.signature):
        modifiers += ("scoped",)
    if language == "ruby" and (compact := _COMPACT.match(symbol.signature)) is not None:
        modifiers += (f"{COMPACT}{compact[1].count('::')}",)
    bases = symbol.bases
    if symbol.kind == "macro" and "namespace" in symbol.signature:
        bases = tuple([name for inline, name in _OPENING.findall(symbol.signature) if not inline])
    if symbol.kind == "namespace" and symbol.signature[:7] == "inline ":
        modifiers += ("inline",)
    return Decl(
        symbol.kind, symbol.name, container, suffix,
        full_name if symbol.kind in CALLABLE else "",
        symbol.arity, modifiers, _told(symbol, index, scopes), bases,
        _type_parameters(symbol, language)
        if symbol.kind in TYPE_LIKE or symbol.kind in CALLABLE else (),
        _takes(symbol, language),
        bounds=_bounds(symbol, language),
        derived=derived_of(symbol, language) if language in GENERIC or language == "cpp" else (),
        optional=_optional(symbol) if language in OVERLOADING and "=" in symbol.signature else 0,
    )  # fmt: skip


def _bounds(symbol: Symbol, language: str) -> tuple[tuple[str, str], ...]:
    if language in GENERIC:
        return bounds_of(symbol, language)
    if language == "go":
        return go_bounds_of(symbol)
    told = rust_bounds_of(symbol) if language == "rust" and ":" in symbol.signature else {}
    names = _type_parameters(symbol, language) if told else ()
    return tuple([(told.get(name, ""), "") for name in names])


def _optional(symbol: Symbol) -> int:
    """Count the parameters with a default, as far as the signature shows them."""
    if not symbol.params or symbol.name.startswith("operator"):
        return 0
    start = symbol.signature.find("(", symbol.signature.find(symbol.name))
    depth, found = 0, 0
    counted = False
    for at in range(max(start, 0), len(symbol.signature)):
        char = symbol.signature[at]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                break
        elif char == "," and depth == 1:
            counted = False
        elif char == "=" and depth == 1 and not counted:
            counted = symbol.signature[at + 1 : at + 2] not in ("=", ">")
            found += counted
    return min(found, len(symbol.params))


def _is_variadic(symbol: Symbol) -> bool:
    for name, declared in symbol.params:
        if name.startswith(("*", "...")) or declared.endswith("...") or declared[:7] == "params ":
            return True
    return False


def _takes(symbol: Symbol, language: str) -> tuple[str, ...]:
    if not symbol.params:
        return ()
    if language in TYPED_SCRIPTS:
        return tuple(declared for _, declared in symbol.params)
    if language in GENERIC:
        if symbol.kind not in CALLABLE:
            return tuple(declared for _, declared in symbol.params)
        told = tuple(declared if "<" in declared else "" for _, declared in symbol.params)
        return told if any(told) else ()
    if not any("=>" in declared for _, declared in symbol.params):
        return ()
    return tuple(declared if "=>" in declared else "" for _, declared in symbol.params)


_KEPT = frozenset(
    {"static", "abstract", "async", "staticmethod", "classmethod", "abstractmethod", "override"}
    | {"export", "default", "extension", "partial", "virtual", "get", "set", "overload", "assigned"}
)


def _told(symbol: Symbol, index: int, scopes: Scopes) -> tuple[str, ...]:
    """Return what is known of a symbol's value, or of what calling it gives."""
    if symbol.returns in _NAMELESS:  # its members count as those of the type around it
        return (annotated(symbol.fq_name.rpartition(".")[0].rpartition(".")[2]),)
    if symbol.returns in _ALIASES and symbol.kind == "type":
        return (annotated(symbol.signature.partition(" = ")[2].strip("'\"")),)
    if symbol.returns:
        return (annotated(symbol.returns),)
    if symbol.kind in CALLABLE or symbol.kind == "property":
        told = scopes.told.get((index, RETURNED), ())
        scope = index
    elif symbol.kind in VALUES:
        told = scopes.at_large(symbol.parent, symbol.name)
        scope = symbol.parent
    else:
        return ()
    found = [text for _, one in told if one for text in scopes.expanded(scope, one)]
    return tuple(dict.fromkeys(found))[:4]


def _attributes(body: Body, scopes: Scopes, decls: list[Decl], language: str) -> list[Decl]:
    """Declare the fields that only assignments to `self.x` tell of, and type those declared."""
    symbols = body.symbols
    known: dict[tuple[str, str], Decl] = {}
    for decl in decls:
        if language != "ruby" or decl.kind in VALUES:  # whose `@x` is never a method
            known.setdefault((decl.container, decl.name), decl)
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for binding in body.bindings:
        named = _ATTRIBUTE.match(binding.name)
        if named is None or binding.scope < 0:
            continue
        owner = binding.scope
        while owner >= 0 and symbols[owner].kind not in TYPES:
            owner = symbols[owner].parent
        if owner >= 0:
            told = found[symbols[owner].fq_name, named[1]]
            for _, text in scopes.told.get((binding.scope, binding.name), ()):
                told += scopes.expanded(binding.scope, text) if text else []
    added = []
    for (container, name), told in found.items():
        texts = tuple(dict.fromkeys(told))[:4]
        declared = known.get((container, name))
        if declared is None:
            added.append(Decl("field", name, container, modifiers=("assigned", UNSEEN), told=texts))
        elif not declared.told and declared.kind in VALUES:
            declared.told = texts
    return added


def _type_parameters(symbol: Symbol, language: str) -> tuple[str, ...]:
    head = symbol.signature
    if language == "java" and symbol.kind in CALLABLE:  # in front of what it gives
        return tuple(_PARAMETER.findall(_flat(parameter_list(symbol, language))))
    if language == "cpp":
        return template_parameters(symbol) if head[:8] == "template" else ()
    generic = _GENERIC.search(head) if symbol.kind in TYPES and symbol.bases else None
    if generic is not None:  # Python's class Box(Generic[T])
        return tuple(name.strip() for name in generic[1].split(","))
    at = head.find(symbol.name)
    if at < 0 or head[at + len(symbol.name) : at + len(symbol.name) + 1] not in ("<", "["):
        return ()
    text = head[at + len(symbol.name) + 1 :]
    depth, cut = 1, len(text)
    for place, char in enumerate(text):
        depth += (char in "<[") - (char in ">]" and text[place - 1 : place] not in "=-")
        if depth == 0:
            cut = place
            break
    return tuple(_PARAMETER.findall(_flat(text[:cut])))


def _flat(text: str) -> str:
    """Drop what stands in inner brackets."""
    depth, found = 0, []
    for char in text:
        depth -= char in ">])}"
        if depth <= 0:
            found.append(char)
        depth += char in "<[({"
    return "".join(found)


def module_of(path: str, family: Family, body: Body) -> str:
    """Return the container of a file's outermost declarations."""
    by_path, by_content = _BY_PATH.get(family.name), _BY_CONTENT.get(family.name)
    if by_path is not None:
        return by_path(path)
    if by_content is not None:
        return by_content(path, body)
    for symbol in body.symbols:
        outermost = symbol.parent < 0 and len(symbol.fq_name) > len(symbol.name)
        telling = symbol.kind in SPACES or symbol.kind in TYPES or family.name in ("jvm", "php")
        if outermost and telling:
            return symbol.fq_name[: -len(symbol.name) - 1]
    return ""


def _go(path: str, body: Body) -> str:
    folder = path.rpartition("/")[0].replace("/", ".")
    if not folder:
        for symbol in body.symbols:
            if symbol.parent < 0 and len(symbol.fq_name) > len(symbol.name):
                return symbol.fq_name.partition(".")[0]
    return folder


def _script(path: str, body: Body) -> str:
    for symbol in body.symbols:
        if symbol.parent < 0 and symbol.fq_name.endswith("." + symbol.name):
            return symbol.fq_name[: -len(symbol.name) - 1]
    return path.rpartition(".")[0].replace("/", ".")


_BY_PATH = {"python": python_module, "ecma": ecma_module, "rust": rust_module}
_BY_CONTENT = {"go": _go, "script": _script}


def facts_of(path: str, summary: Summary) -> Facts:
    """Return a file's facts by key, and let each know its path."""
    found: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for decl in summary.decls:
        decl.path = path
        found[decl.container, decl.name].append(decl)
    family = family_of(summary.language)
    if family is None:
        return _project_facts(path, summary) if summary.decls else {}
    interfaces = _interfaces(summary.decls)
    open_enums = _open_enums(summary.decls) if family.name == "c" else frozenset()
    for decl in summary.decls:
        for key in _further_keys(decl, family, open_enums):
            found[key].append(decl)
        if decl.kind == "method" and decl.container in interfaces and family.name in _ASKING:
            found[_asked_key(decl, family)].append(decl)
        if "default" in decl.modifiers and family.name == "ecma":
            found["#default", path].append(decl)
    for folder in _folders(path) if family.name == "python" else ():
        found["#folder", folder].append(Decl(FILE, folder, "", modifiers=("package",), path=path))
    _add_imports(found, path, summary.imports)
    for name in _module_names(path, family):
        marks = ("package",) if family.name == "go" else ()
        found[MODULES, name].append(Decl(FILE, name, summary.module, modifiers=marks, path=path))
    for package in {summary.module, *(d.full_name for d in summary.decls if d.kind in SPACES)}:
        fact = Decl(FILE, package, package, modifiers=("package",), path=path)
        found[PACKAGES, package].append(fact)
        outer = package.rpartition(".")[0] if family.name in _NESTED_PACKAGES else ""
        while outer and (ABOVE, outer) not in found:
            found[ABOVE, outer].append(fact)
            outer = outer.rpartition(".")[0]
    return {key: tuple(value) for key, value in found.items()}


def _project_facts(path: str, summary: Summary) -> Facts:
    found: dict[tuple[str, str], tuple[Fact, ...]] = {(SETTINGS, path): summary.decls}
    stem = path.rpartition(".")[0].replace("/", ".")
    for decl in summary.decls:
        if decl.context == f"{stem}.name" and path.endswith("package.json"):
            named = decl.told[0].partition(":")[2].strip(' ,"')
            found[PACKAGE_NAMES, named] = (Decl("key", named, PACKAGE_NAMES, path=path),)
        elif decl.name == "module" and path.endswith("go.mod"):
            named = decl.told[0].removeprefix("module").strip(' "')
            found[GO_MODULES, named] = (Decl("key", named, GO_MODULES, path=path),)
        elif decl.context in (f"{stem}.package.name", f"{stem}.lib.name"):
            named = _value_of(decl.told[0])
            found[CRATES, named] = (Decl("key", named, CRATES, path=path),)
        elif "dependencies." in decl.context and (other := _RENAMED.search(decl.told[0])):
            alias = (decl.context if decl.name == "package" else f"{decl.context}.").split(".")[-2]
            named, key = other[1].replace("-", "_"), f"{path}:{alias.replace('-', '_')}"
            found[CRATES, key] = (Decl("key", named, CRATES, path=path),)
    return found


def _value_of(line: str) -> str:
    """Return the name of a crate that a line of Cargo.toml gives, as code writes it."""
    return line.partition("=")[2].strip(" \"'").replace("-", "_")


def _folders(path: str) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def _interfaces(decls: tuple[Decl, ...]) -> frozenset[str]:
    return frozenset([decl.full_name for decl in decls if decl.kind == "interface"])


def _asked_key(decl: Decl, family: Family) -> tuple[str, str]:
    """Return under which key others ask for a method of an interface."""
    return (INTERFACES, decl.name) if family.name == "go" else (METHODS, decl.container)


def _add_imports(
    found: dict[tuple[str, str], list[Fact]], path: str, imports: tuple[ImportFact, ...]
) -> None:
    for imported in imports:
        imported.path = path
        found[f"@{path}", "*" if _is_wild(imported) else imported.alias].append(imported)
        if imported.kind == "global using":
            found[USINGS, _project_folder(path)].append(imported)


def _project_folder(path: str) -> str:
    """Return the folder whose files a global using in a file is for."""
    folder = path.rpartition("/")[0]
    outer, _, last = folder.rpartition("/")
    return outer if last in _BESIDE_CODE else folder


def _is_wild(imported: ImportFact) -> bool:
    return imported.name == "*" and (not imported.alias or imported.kind != "export")


def _open_enums(decls: tuple[Decl, ...]) -> frozenset[str]:
    """Return the enums whose constants are names of the scope around them, as C has it."""
    return frozenset(
        [d.full_name for d in decls if d.kind == "enum" and "scoped" not in d.modifiers]
    )


def _further_keys(
    decl: Decl, family: Family, open_enums: frozenset[str]
) -> Iterator[tuple[str, str]]:
    if decl.kind in CALLABLE and decl.kind != "macro":
        yield BY_NAME, decl.name
        if family.name == "go":
            yield METHODS, decl.container
        elif family.name in ("rust", "c"):
            yield IMPLS, f"{decl.container.rpartition('.')[2]}.{decl.name}"
    elif decl.kind in TYPE_LIKE:
        yield BY_NAME, decl.name
    elif decl.kind == "macro" and decl.bases:
        yield OPENED, ""
        for opened in decl.bases:
            yield OPENED, opened
    elif "inline" in decl.modifiers:
        yield INLINE, decl.container
    elif decl.kind == "constant" and decl.container in open_enums:
        yield decl.container.rpartition(".")[0], decl.name


def _module_names(path: str, family: Family) -> list[str]:
    """Return the names by which others may ask for a file."""
    if family.name == "python":
        stem = path.rpartition(".")[0].removesuffix("/__init__")
        parts = stem.split("/")
        return [".".join(parts[at:]) for at in range(len(parts))]
    if family.name == "ecma":
        stem = stem_of(path)
        names = [path, stem]
        if stem.endswith("/index") or stem == "index":
            names.append(stem.removesuffix("index").rstrip("/"))
        return list(dict.fromkeys(names))
    if family.name == "go":
        folder = path.rpartition("/")[0]
        parts = folder.split("/") if folder else []
        return ["/".join(parts[at:]) for at in range(len(parts))] or [""]
    if family.name == "rust":
        if path.endswith(("src/lib.rs", "src/main.rs")):
            crate = path.rsplit("/src/", 1)[0].rpartition("/")[2] if "/src/" in path else ""
            return [f"crate:{crate.replace('-', '_')}"]
        return []
    if family.name in ("c", "ruby"):
        parts = path.split("/")
        return ["/".join(parts[at:]) for at in range(len(parts))]
    return []
