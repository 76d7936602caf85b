"""Which file does an import, or the name of a class, mean?

By the paths alone: relative imports exactly, absolute ones by the file whose path ends that way.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from functools import cached_property

_SCRIPTS = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".vue")
_SCRIPT_LANGUAGES = frozenset({"javascript", "typescript", "vue", "svelte"})


class Modules:
    """The files of a program, found by module."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = frozenset(paths)
        self._found: dict[tuple[str, str, str], str] = {}
        self._folders: dict[str, list[str]] = {}

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            name = path.rpartition("/")[2]
            stem = name.rpartition(".")[0] or name
            found.setdefault(stem, []).append(path)
        return found

    @cached_property
    def _by_folder(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            found.setdefault(posixpath.dirname(path), []).append(path)
        return found

    def beside(self, path: str) -> list[str]:
        """Return the files of a file's folder with its extension, as a Go package has them."""
        extension = posixpath.splitext(path)[1]
        siblings = self._by_folder.get(posixpath.dirname(path), [])
        return [each for each in siblings if each.endswith(extension)]

    def of_class(self, name: str, like: str) -> str:
        """Return the one file named like a class, with the extension of `like`; "" for none."""
        extension = posixpath.splitext(like)[1]
        files = [each for each in self._by_stem.get(name, []) if each.endswith(extension)]
        return _nearest(files, like)

    def of_stem(self, ending: str, like: str) -> str:
        """Return the file whose path without extension ends like this."""
        files = [
            each for each in self._by_stem.get(posixpath.basename(ending), [])
            if ("/" + posixpath.splitext(each)[0]).endswith("/" + ending)
        ]  # fmt: skip
        return _nearest(files, like)

    def find(self, module: str, importer: str, language: str) -> str:
        """Return the file a module means where it is imported, "" when it is none of the program."""
        key = (module, posixpath.dirname(importer), language)
        if key not in self._found:
            if language == "python":
                self._found[key] = self._python(module, importer)
            elif language in _SCRIPT_LANGUAGES:
                self._found[key] = self._script(module, importer)
            elif language == "rust":
                self._found[key] = self._rust(module, importer)
            else:
                self._found[key] = self.of_stem(
                    module.replace("\\", "/").replace("::", "/").replace(".", "/").strip("/"),
                    importer,
                )
        return self._found[key]

    def folder(self, package: str) -> list[str]:
        """Return the files of the folder a Go import path ends with, the longest match."""
        if package not in self._folders:
            self._folders[package] = self._folder(package)
        return self._folders[package]

    def _folder(self, package: str) -> list[str]:
        parts = package.split("/")
        for begin in range(len(parts)):
            ending = "/".join(parts[begin:])
            found = [
                each for each in self._by_folder if each == ending or each.endswith("/" + ending)
            ]
            if found and (begin == 0 or len(parts) - begin > 1 or len(found) == 1):
                return [path for each in sorted(found) for path in self._by_folder[each]]
        return []

    def _python(self, module: str, importer: str) -> str:
        name = module.lstrip(".")
        level = len(module) - len(name)
        tail = name.replace(".", "/")
        if level:
            folder = posixpath.dirname(importer)
            for _ in range(level - 1):
                folder = posixpath.dirname(folder)
            stem = posixpath.join(folder, tail) if tail else folder
            return self._first(stem + ".py", stem + "/__init__.py")
        exact = self._first(
            tail + ".py", tail + "/__init__.py", f"src/{tail}.py", f"src/{tail}/__init__.py"
        )
        if exact or not tail:
            return exact
        files = [
            each
            for each in self._by_stem.get(posixpath.basename(tail), [])
            if each.endswith(f"/{tail}.py")
        ]
        files += [
            each
            for each in self._by_stem.get("__init__", [])
            if each.endswith(f"/{tail}/__init__.py")
        ]
        inner = tail.partition("/")[2]  # the program's own folder is its package
        return _nearest(files, importer) or (
            self._first(f"{inner}.py", f"{inner}/__init__.py") if inner and not files else ""
        )

    def _rust(self, module: str, importer: str) -> str:
        tail = re.sub(r"^(?:(?:crate|self|super)(?:::|$))+", "", module).replace("::", "/")
        inner = tail.partition("/")[2]  # without the crate's own name
        stems = [stem for each in (tail, inner) if each for stem in (each, each + "/mod")]
        return next((path for stem in stems if (path := self.of_stem(stem, importer))), "")

    def _script(self, module: str, importer: str) -> str:
        if module.startswith("."):
            return self._script_at(
                posixpath.normpath(posixpath.join(posixpath.dirname(importer), module))
            )
        tail = module.removeprefix("@/").removeprefix("~/").removeprefix("src/")
        if tail == module and not module.startswith("#"):
            return self._script_at(module) if "/" in module else ""
        files = [
            self._script_at(posixpath.join(folder, tail)) for folder in _folders_above(importer)
        ]
        return next((each for each in files if each), "")

    def _script_at(self, stem: str) -> str:
        bare = stem.removesuffix(".js").removesuffix(".mjs")
        return self._first(
            stem, *(bare + extension for extension in _SCRIPTS),
            *(f"{stem}/index{extension}" for extension in _SCRIPTS),
        )  # fmt: skip

    def _first(self, *paths: str) -> str:
        return next((path for path in paths if path in self.paths), "")


def _folders_above(path: str) -> list[str]:
    found = []
    while path:
        path = posixpath.dirname(path)
        found += [posixpath.join(path, "src"), path]
    return found


def _nearest(files: list[str], like: str) -> str:
    """Return the only file, or the one that shares the longest path with `like`, if just one does."""
    if len(files) < 2:
        return files[0] if files else ""
    shared = [len(posixpath.commonprefix([each, like])) for each in files]
    best = max(shared)
    return files[shared.index(best)] if shared.count(best) == 1 else ""
