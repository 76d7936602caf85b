"""Under which prefixes is each router reached?

A router is a node (file, name); it has a prefix of its own and is mounted, grouped or handed to a
function, in its file or another. Mounted twice, it has two paths.
"""

from __future__ import annotations

from typing import NamedTuple

from contracts.extract import Fact
from services.surfaces.constants import Program

_MOST_PREFIXES = 50
_DEPTH = 12
_DEFAULT = frozenset({"", "default", "exports", "module.exports"})


class Node(NamedTuple):
    """A router by its file and its name there: "api", "12#v1" in a function, "@f" a parameter."""

    path: str
    name: str


class _Mount(NamedTuple):
    owner: Node | None
    prefix: str
    replaces: bool  # the router's own prefix


class Routers:
    """The routers of a program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._names: dict[str, set[str]] = {}
        self._own: dict[Node, tuple[str, Node | None]] = {}
        self._mounts: dict[Node, list[_Mount]] = {}
        self._known: dict[Node, tuple[str, ...]] = {}
        self._handed: dict[str, list[Node]] | None = None
        facts = [
            (path, fact) for path, file in program.files.items() if not file.is_test
            for fact in file.facts if fact.kind in ("router", "mount", "route")
        ]  # fmt: skip
        for path, fact in facts:
            if fact.owner and not fact.owner.startswith("="):
                self._names.setdefault(path, set()).add(fact.owner)
        for path, fact in facts:
            if fact.kind == "router":
                parent = self.owner(path, fact.target) if fact.target else None
                self._own[Node(path, fact.owner)] = (program.filled(fact.value, path), parent)
            elif fact.kind == "mount" and fact.detail != "global":
                self._mount(path, fact)

    def _mount(self, path: str, fact: Fact) -> None:
        owner = self.owner(path, fact.owner) if fact.owner else None
        prefix = self._program.filled(fact.value, path)
        for child in self.nodes(fact.target, path):
            if child != owner:
                self._mounts.setdefault(child, []).append(
                    _Mount(owner, prefix, fact.detail == "replaces")
                )

    def is_placed(self, node: Node | None) -> bool:
        """Tell whether it is known where a router stands; one handed to a function needs a caller."""
        return node is None or not node.name.startswith("@") or node in self._mounts

    def owner(self, path: str, name: str) -> Node | None:
        """Return the node a fact's owner means: "=module:name" is another file's."""
        if not name.startswith("="):
            return Node(path, name) if name else None
        found = self.nodes(name[1:], path)
        return found[0] if found else None

    def nodes(self, target: str, path: str, depth: int = _DEPTH) -> list[Node]:
        """Return the routers that "module:name" means in a file; none when nothing is known."""
        module, _, name = target.rpartition(":")
        if not module:
            found = self._named(path, name, depth)
            return found or self._anywhere(path, name)
        language = self._program.files[path].language
        modules = self._program.modules
        if language != "python" and "@" in name:
            name = name[name.index("@") :]
        if language == "go":
            found = []
            for each in modules.folder(module):
                found += [Node(each, name)] if name in self._names.get(each, ()) else []
            return found
        where = modules.find(module, path, language)
        found = self._named(where, name, depth) if where else []
        parts = name.split(".") if language == "python" else []
        while not found and parts:  # `users.router` of a package is `router` of its module `users`
            module += ("" if module.endswith(".") else ".") + parts.pop(0)
            inner = modules.find(module, path, language)
            if inner:
                found = self._named(inner, ".".join(parts) or "urlpatterns", depth)
        return found

    def _anywhere(self, path: str, name: str) -> list[Node]:
        """Return the one function of the program with this name that is handed a router."""
        if not name.startswith("@"):
            return []
        if self._handed is None:
            self._handed = {}
            for each, names in self._names.items():
                for known in names:
                    if known.startswith("@"):
                        self._handed.setdefault(known, []).append(Node(each, known))
        language = self._program.files[path].language
        found = self._handed.get(name, [])
        found = [node for node in found if self._program.files[node.path].language == language]
        return found if len(found) == 1 else []

    def _named(self, path: str, name: str, depth: int) -> list[Node]:
        names = self._names.get(path, set())
        for spelled in (name, "@" + name):
            if spelled in names:
                return [Node(path, spelled)]
        if name.removeprefix("@") in _DEFAULT:
            module_level = sorted(
                each for each in names if "#" not in each and not each.startswith("@")
            )
            handed = sorted(each for each in names if each.startswith("@"))
            if "default" in module_level:
                module_level = ["default"]
            if module_level or handed:
                wanted = handed if name.startswith("@") and handed else module_level or handed
                return [Node(path, each) for each in wanted]
        return self._passed_on(path, name.removeprefix("@"), depth)

    def _passed_on(self, path: str, name: str, depth: int) -> list[Node]:
        body = self._program.body(path) if depth else None
        for each in body.imports if body is not None else ():
            if each.alias == name or (name in _DEFAULT and each.kind == "export"):
                target = f"{'.' * each.level}{each.module}:{each.name}"
                found = self.nodes(target, path, depth - 1)
                if found:
                    return found
        return []

    def prefixes(self, node: Node | None, below: tuple[Node, ...] = ()) -> tuple[str, ...]:
        """Return every prefix a router is reached under; `below` guards against circles."""
        if node is None:
            return ("",)
        if node in self._known:
            return self._known[node]
        if node in below or len(below) > _DEPTH:
            return ()
        own, parent = self._own.get(node, ("", None))
        found: dict[str, None] = {}
        if parent is not None:
            for base in self.prefixes(parent, (*below, node)):
                found[joined(base, own)] = None
        mounts = self._mounts.get(node, [])
        reached = [each for each in mounts if self.is_placed(each.owner)]
        for mount in reached or mounts:
            for base in self.prefixes(mount.owner, (*below, node)):
                prefix = joined(base, mount.prefix)
                found[prefix if mount.replaces else joined(prefix, own)] = None
        prefixes = tuple(found)[:_MOST_PREFIXES] or (own,)
        if not below:
            self._known[node] = prefixes
        return prefixes


def joined(prefix: str, path: str) -> str:
    """Join two parts of a path with one slash between."""
    if not path:
        return prefix
    if not prefix:
        return path
    return prefix.rstrip("/") + "/" + path.lstrip("/")
