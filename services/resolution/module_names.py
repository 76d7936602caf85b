"""What is a file called as a module, where its path alone says so?

The container of a file's outermost declarations and what an import is looked up under must be the
same name, so there is one rule for both.
"""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=1_024)
def python_module(path: str) -> str:
    parts = path.rpartition(".")[0].split("/")
    if len(parts) > 1 and parts[0] in ("src", "lib", "python"):
        parts = parts[1:]
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts)


@lru_cache(maxsize=1_024)
def ecma_module(path: str) -> str:
    parts = stem_of(path).split("/")
    if len(parts) > 1 and parts[0] in ("src", "lib"):
        parts = parts[1:]
    if len(parts) > 1 and parts[-1] == "index":
        parts = parts[:-1]
    return ".".join(parts)


def stem_of(path: str) -> str:
    """Return a module's path without its extension, as an import may write it."""
    for extension in (".d.ts", ".d.mts", ".d.cts"):
        if path.endswith(extension):
            return path.removesuffix(extension)
    return path.rpartition(".")[0]


@lru_cache(maxsize=1_024)
def rust_module(path: str) -> str:
    names = [name for name in path.removesuffix(".rs").split("/") if name != "src"]
    if names[-1] in ("mod", "lib", "main"):
        names.pop()
    return ".".join(names).replace("-", "_")
