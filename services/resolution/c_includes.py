"""C and C++: which files of the repository does a file include?"""

from __future__ import annotations

from posixpath import normpath

from services.resolution.engine import Engine
from services.resolution.summary import MODULES


def is_header(path: str) -> bool:
    return path.endswith((".h", ".hpp", ".hh", ".hxx", ".H", ".inl"))


def included(engine: Engine, path: str) -> frozenset[str]:
    """Return the files of the repository that a file includes, two levels deep."""
    question = ("h", path)
    return engine.remembered(question, lambda: _includes(engine, path, 2), frozenset())  # type: ignore[no-any-return]


def _includes(engine: Engine, path: str, depth: int) -> frozenset[str]:
    found = set()
    folder = path.rpartition("/")[0]
    for fact in engine.imports(path, ""):
        if fact.kind != "include":
            continue
        near = normpath(f"{folder}/{fact.module}") if folder else normpath(fact.module)
        files = [d.path for d in engine.decls(MODULES, normpath(fact.module).lstrip("./"))]
        chosen = [near] if near in files else files
        found.update(chosen)
        if depth > 1:
            for one in chosen:
                found |= _includes(engine, one, depth - 1)
    return frozenset(found)
