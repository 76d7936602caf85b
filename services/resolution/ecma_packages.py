"""Where may a module be that JavaScript names by no path: by compiler settings or as a package?

Answers are paths from the root of the repository, written as an import may be, likeliest first;
whether there is a file is for others to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import normpath

from services.resolution.engine import Engine
from services.resolution.summary import PACKAGE_NAMES, Decl

_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"")
_CONFIGS = ("tsconfig.json", "tsconfig.app.json", "tsconfig.base.json", "jsconfig.json")
_BUILT = re.compile(r"^(?:dist|lib|build|out|esm|cjs|es|types)/(?:(?:esm|cjs|es|types|src)/)?")
_ENDING = re.compile(r"(?:\.d)?\.[cm]?[jt]sx?$")
_ENTRIES = ("source", "main", "module", "types", "typings", "browser")
_USUAL = ("src/index", "index", "src", "lib/index")
_MOST_EXTENDED = 4  # settings that settings are made from, one behind the other


def by_settings(engine: Engine, written: str, folder: str) -> Iterator[str]:
    """Yield what the settings of a folder and of those around it say of an import."""
    while True:
        prefix = f"{folder}/" if folder else ""
        for name in _CONFIGS:
            yield from _by_config(engine, prefix + name, written, 0)
        if written[:1] == "#":
            yield from _listed(engine, prefix + "package.json", "imports", written)
        if not folder:
            break
        folder = folder.rpartition("/")[0]


def by_package(engine: Engine, written: str) -> Iterator[str]:
    """Yield where packages of this repository may have what an import names."""
    name, rest = _parted(written)
    for fact in engine.projects(PACKAGE_NAMES, name):
        prefix = fact.path.removesuffix("package.json")
        yield from _listed(engine, fact.path, "exports", f"./{rest}" if rest else ".")
        if not rest:
            keys = {key.context.rpartition(".")[2]: key for key in engine.settings(fact.path)}
            for entry in _ENTRIES:
                for target in _targets(keys[entry]) if entry in keys else ():
                    yield from _sources(prefix, target)
        for inner in (f"src/{rest}", rest) if rest else _USUAL:
            yield f"{prefix}{inner}".rstrip("/")


def is_own_package(engine: Engine, written: str) -> bool:
    """Is it a package of this repository?"""
    return bool(engine.projects(PACKAGE_NAMES, _parted(written)[0]))


def _parted(written: str) -> tuple[str, str]:
    """Return a package's name, and what of it is imported."""
    parts = written.split("/")
    size = 2 if written.startswith("@") else 1
    return "/".join(parts[:size]), "/".join(parts[size:])


def _by_config(engine: Engine, path: str, written: str, depth: int) -> Iterator[str]:
    keys = engine.settings(path)
    if not keys:
        return
    folder = path.rpartition("/")[0]
    prefix = f"{folder}/" if folder else ""
    for target in _paths(keys, written):
        yield normpath(prefix + target)
    if depth < _MOST_EXTENDED:
        for key in keys:
            if key.name == "extends":
                for target in _texts(key):
                    for above in _extended(engine, prefix, target):
                        yield from _by_config(engine, above, written, depth + 1)


def _extended(engine: Engine, prefix: str, target: str) -> Iterator[str]:
    """Yield the files that settings may be extended from."""
    if target.startswith("."):
        path = normpath(prefix + target)
        yield path if path.endswith(".json") else f"{path}.json"
        return
    name, rest = _parted(target)
    for fact in engine.projects(PACKAGE_NAMES, name):
        inner = rest or "tsconfig.json"
        yield fact.path.removesuffix("package.json") + inner.removesuffix(".json") + ".json"


def _paths(keys: tuple[Decl, ...], written: str) -> list[str]:
    """Return where settings say an import may be found, relative to them."""
    base, found = "", []
    for key in keys:
        if key.name == "baseUrl":
            texts = _texts(key)
            base = texts[0] if texts else ""
            found.append(f"{base}/{written}")
    for key in keys:
        middle = _matched(key.name, written) if ".paths." in key.context else None
        if middle is not None:
            targets = [target.replace("*", middle) for target in _texts(key)]
            found = [f"{base or '.'}/{target}" for target in targets] + found
    return found


def _listed(engine: Engine, path: str, which: str, written: str) -> Iterator[str]:
    """Yield what `exports` or `imports` of a package say of a name, under any condition."""
    start = f"{path.rpartition('.')[0].replace('/', '.')}.{which}"
    prefix = path.removesuffix("package.json")
    listed = ""
    for key in engine.settings(path):
        if key.context == start and key.told[0].endswith('"'):
            listed = "."
        elif key.context == f"{start}.{key.name}":
            listed = key.name if key.name[:1] in ".#" else "."  # only conditions: of the package
        elif not listed or not key.context.startswith(f"{start}.{listed}."):
            continue
        middle = _matched(listed, written)
        for target in _targets(key) if middle is not None else ():
            yield from _sources(prefix, target.replace("*", middle or ""))


def _matched(pattern: str, written: str) -> str | None:
    """Return what the star of a pattern stands for in an import; None when it is of another."""
    head, star, tail = pattern.partition("*")
    if not star:
        return "" if pattern == written else None
    fits = written.startswith(head) and written.endswith(tail)
    return written[len(head) : len(written) - len(tail)] if fits else None


def _targets(key: Decl) -> list[str]:
    found = _texts(key)
    if key.name in _ENTRIES:
        return found
    return [text for text in found if text.startswith("./")]


def _texts(key: Decl) -> list[str]:
    return _QUOTED.findall(key.told[0].partition('":')[2])


def _sources(prefix: str, target: str) -> Iterator[str]:
    """Yield a file that a package names, and what it may have been built from."""
    inner = target.removeprefix("./")
    yield prefix + inner
    plain = _ENDING.sub("", _BUILT.sub("", inner))
    yield f"{prefix}src/{plain}"
    yield prefix + plain
