"""What do the names stand for that one file uses and another declares?"""

from __future__ import annotations

from collections.abc import Callable

from contracts.extract import Body, Symbol
from services.surfaces import expressions
from services.surfaces.expressions import HOLE, UNKNOWN
from services.surfaces.model import FileFacts
from services.surfaces.modules import Modules

_DEPTH = 4
_VALUES = frozenset({"constant", "variable", "field", "property"})


class Program:
    """The files of a program; bodies are decoded when first asked for, and kept."""

    def __init__(self, files: dict[str, FileFacts], body_of: Callable[[str], Body | None]) -> None:
        self.files = files
        self.modules = Modules(files)
        self._body_of = body_of
        self._bodies: dict[str, Body | None] = {}
        self._names: dict[str, dict[str, int]] = {}

    def body(self, path: str) -> Body | None:
        if path not in self._bodies:
            self._bodies[path] = self._body_of(path)
        return self._bodies[path]

    def symbols(self, path: str) -> tuple[Symbol, ...]:
        body = self.body(path)
        return body.symbols if body is not None else ()

    def symbol(self, path: str, name: str) -> int:
        """Return a symbol by its name or by Class.name, -1 when the file declares none."""
        if path not in self._names:
            names: dict[str, int] = {}
            symbols = self.symbols(path)
            for index, symbol in enumerate(symbols):
                if symbol.parent >= 0:
                    names.setdefault(f"{symbols[symbol.parent].name}.{symbol.name}", index)
                names.setdefault(symbol.name, index)
            self._names[path] = names
        return self._names[path].get(name, -1)

    # -- constants -------------------------------------------------------------------------------

    def filled(self, text: str, path: str, depth: int = _DEPTH) -> str:
        """Fill the holes of a value found in a file; what nothing tells stays unknown."""
        if "{=" not in text:
            return text
        return HOLE.sub(lambda found: self._value(found[1], path, depth), text)

    def _value(self, reference: str, path: str, depth: int) -> str:
        if depth == 0:
            return UNKNOWN
        module, colon, name = reference.rpartition(":")
        if module.endswith(":"):  # C::NAME
            module, colon, name = "", "", reference.replace("::", ".")
        for where, simple in self._candidates(
            module if colon else "", name.replace("::", "."), path
        ):
            value = self._declared(where, simple, depth)
            if value:
                return value
        return UNKNOWN

    def _candidates(self, module: str, name: str, path: str) -> list[tuple[str, str]]:
        language = self.files[path].language if path in self.files else ""
        if module and language == "go":
            return [(each, name) for each in self.modules.folder(module)[:50]]
        if module:
            found = self.modules.find(module, path, language)
            candidates = [(found, name)] if found else []
            head, dot, rest = name.partition(".")
            if dot and language == "python":
                inner = self.modules.find(
                    f"{module}.{head}".replace("..", ".")
                    if not module.endswith(".")
                    else module + head,
                    path,
                    language,
                )
                candidates += [(inner, rest)] if inner else []
            if found or language == "python":
                return candidates
            simple = module.replace("\\", ".").rpartition(".")[2]
            name = f"{simple}.{name}" if name and simple[:1].isupper() else name or simple
        if language == "go":
            return [(each, name) for each in self.modules.beside(path)[:50]]
        holder = name.rpartition(".")[0].rpartition(".")[2]
        where = self.modules.of_class(holder, path) if holder else ""
        return [(path, name), *([(where, name)] if where else [])]

    def _declared(self, path: str, name: str, depth: int) -> str:
        language = self.files[path].language if path in self.files else ""
        short = ".".join(name.split(".")[-2:])
        index = self.symbol(path, short)
        if index < 0:
            index = self.symbol(path, short.rpartition(".")[2]) if "." in short else -1
            head, _, key = short.rpartition(".")
            holder = self.symbol(path, head) if head else -1
            if index < 0 and holder >= 0:
                value = expressions.declared_value(self.symbols(path)[holder].signature)
                text = expressions.entries(value, language).get(key, "")
                return self._evaluated(text, path, language, depth) if text else ""
        if index < 0:
            return self._imported(path, name, depth)
        symbol = self.symbols(path)[index]
        if symbol.kind not in _VALUES:
            return ""
        return self._evaluated(expressions.declared_value(symbol.signature), path, language, depth)

    def _evaluated(self, text: str, path: str, language: str, depth: int) -> str:
        value = expressions.evaluate(text, language, lambda _: None)
        return self.filled(value, path, depth - 1) if value else ""

    def _imported(self, path: str, name: str, depth: int) -> str:
        """A name that a module only passes on."""
        body = self.body(path)
        for each in body.imports if body is not None else ():
            if each.alias == name and each.name not in ("", "*"):
                value = self._value(f"{'.' * each.level}{each.module}:{each.name}", path, depth - 1)
                return "" if value == UNKNOWN else value
        return ""
