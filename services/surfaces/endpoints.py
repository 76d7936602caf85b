"""Which endpoints does a program have, and what handles them?"""

from __future__ import annotations

import posixpath
import re

from contracts.extract import Fact
from services.surfaces import expressions
from services.surfaces.constants import Program
from services.surfaces.expressions import UNKNOWN
from services.surfaces.model import Endpoint, Place
from services.surfaces.patterns import plain_pattern
from services.surfaces.routers import Routers, joined

_TRAILING_SLASH = frozenset(
    {
        "FastAPI",
        "Flask",
        "Django",
        "Django REST framework",
        "Tornado",
        "Starlette",
        "Quart",
        "aiohttp",
        "gin",
        "echo",
        "net/http",
        "chi",
        "gorilla",
        "httprouter",
    }
)
# There the view says which methods it takes.
_BY_HANDLER = ("Django", "Flask", "Tornado", "Starlette", "aiohttp")
_VERBS = ("get", "post", "put", "patch", "delete", "head", "options")
_ALLOWED = re.compile(r"@(?:\w+\.)*(?:api_view|require_http_methods)\(([^)]*)")
_SHORT = re.compile(r"@(?:\w+\.)*require_(GET|POST|safe)\b")
_GENERIC = {
    "ListAPIView": "GET", "RetrieveAPIView": "GET", "CreateAPIView": "POST", "DestroyAPIView": "DELETE",
    "UpdateAPIView": "PUT PATCH", "ListCreateAPIView": "GET POST", "RetrieveUpdateAPIView": "GET PUT PATCH",
    "RetrieveDestroyAPIView": "GET DELETE", "RetrieveUpdateDestroyAPIView": "GET PUT PATCH DELETE",
    "TemplateView": "GET", "ListView": "GET", "DetailView": "GET", "RedirectView": "ANY",
    "FormView": "GET POST", "CreateView": "GET POST", "UpdateView": "GET POST", "DeleteView": "GET POST",
}  # fmt: skip
_ACTIONS = (
    ("list", "GET", ""), ("create", "POST", ""), ("retrieve", "GET", "<pk>/"), ("update", "PUT", "<pk>/"),
    ("partial_update", "PATCH", "<pk>/"), ("destroy", "DELETE", "<pk>/"),
)  # fmt: skip
_MIXINS = {
    "ListModelMixin": {"list"}, "CreateModelMixin": {"create"}, "RetrieveModelMixin": {"retrieve"},
    "UpdateModelMixin": {"update", "partial_update"}, "DestroyModelMixin": {"destroy"},
    "ReadOnlyModelViewSet": {"list", "retrieve"}, "ModelViewSet": {name for name, _, _ in _ACTIONS},
}  # fmt: skip
_ACTION = re.compile(r"@(?:\w+\.)*action\((.*)\)$")


class Endpoints:
    """Routes of all files, made whole."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._routers = Routers(program)
        self._globals = [
            (path, fact) for path, file in program.files.items()
            for fact in file.facts if fact.kind == "mount" and fact.detail == "global"
        ]  # fmt: skip

    def all(self) -> list[Endpoint]:
        found: dict[Endpoint, None] = {}
        for path, file in self._program.files.items():
            for fact in file.facts:
                if fact.kind == "route" and not file.is_test:
                    for endpoint in self._of(path, fact):
                        found[endpoint] = None
        return sorted(
            found, key=lambda each: (each.path, each.line, each.route_path, each.http_method)
        )

    def _of(self, path: str, fact: Fact) -> list[Endpoint]:
        method, _, written = fact.value.partition(" ")
        own = self._program.filled(written, path)
        if "(?P<" in own and own != written:  # a part of the pattern was another file's
            own = plain_pattern(own)
        node = self._routers.owner(path, fact.owner)
        handler = self._handler(path, fact)
        found = []
        for prefix in self._routers.prefixes(node):
            prefix = joined(self._global_prefix(path, fact.detail), prefix)
            for verb, tail, place in self._methods(method, handler, fact.detail):
                route = _whole(prefix, own if not tail else joined(own, tail), fact.detail)
                if UNKNOWN in route and not expressions.tells(route):
                    continue
                confidence = "low" if UNKNOWN in route else fact.confidence
                if confidence == "high" and not self._routers.is_placed(node):
                    confidence = "medium"
                found.append(Endpoint(verb, route, place, path, fact.line, confidence, fact.detail))
        return found

    def _global_prefix(self, path: str, framework: str) -> str:
        """Return the prefix set for all routes: Nest's in its program, Symfony's in a folder."""
        for where, fact in self._globals:
            name, colon, root = fact.target.partition(":")
            if not colon:
                root = posixpath.dirname(where)
                root = _sources(root) if name == "JAX-RS" else root
                root = posixpath.dirname(root) if posixpath.basename(root) == "src" else root
            if name == framework and (path == root or path.startswith(root and root + "/")):
                return self._program.filled(fact.value, where)
        return ""

    # -- handlers --------------------------------------------------------------------------------

    def _handler(self, path: str, fact: Fact) -> Place:
        module, _, name = fact.target.rpartition(":")
        if not fact.target:
            return Place(path, fact.symbol)
        program = self._program
        for where, simple in self._candidates(path, module, name):
            index = program.symbol(where, simple)
            if index >= 0:
                return Place(where, index)
        return Place(path, fact.symbol)

    def _candidates(self, path: str, module: str, name: str) -> list[tuple[str, str]]:
        program, modules = self._program, self._program.modules
        language = program.files[path].language
        short = ".".join(name.split(".")[-2:])
        last = name.rpartition(".")[2]
        if language == "python":
            found = []
            parts = name.split(".")
            for taken in range(len(parts)):
                spelled = module
                for part in parts[:taken]:
                    spelled += ("" if spelled.endswith(".") else ".") + part
                where = modules.find(spelled, path, language) if spelled else path
                if where:
                    found.append((where, ".".join(parts[taken:])))
            found += [(self._passed_on(where, each), each) for where, each in found]
            holder, dot, action = name.rpartition(".")
            inherited = dot and holder.rpartition(".")[2][:1].isupper()  # what only a base declares
            return found + [
                (where, each.removesuffix("." + action)) for where, each in found if inherited
            ]
        if language == "go":
            near = modules.folder(module)[:40] if module else [path, *modules.beside(path)[:40]]
            names = dict.fromkeys(
                (short, last)
            )  # a type may be another package's: the method tells
            return [(each, one) for one in names for each in near]
        if module:
            where = modules.find(module, path, language)
            if where:
                return [(where, short), (where, last)]
        holder = name.rpartition(".")[0]
        places = [(path, short)]
        if language == "yaml":  # Symfony's routes; the classes are PHP
            path = posixpath.splitext(path)[0] + ".php"
        if holder:
            where = modules.of_class(holder.replace("\\", "/").rpartition("/")[2], path)
            snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", holder.replace("::", "/")).lower()
            where = where or modules.of_stem(snake, path)
            places += [(where, short.replace("::", ".")), (where, last)] if where else []
        return places

    def _passed_on(self, path: str, name: str) -> str:
        """A package that only passes a view on names the module it is from."""
        body = self._program.body(path) if path.endswith("__init__.py") else None
        for each in body.imports if body is not None else ():
            if each.alias == name or each.name == "*":
                where = self._program.modules.find("." * each.level + each.module, path, "python")
                if where and self._program.symbol(where, name) >= 0:
                    return where
        return path

    # -- methods ---------------------------------------------------------------------------------

    def _methods(self, method: str, handler: Place, framework: str) -> list[tuple[str, str, Place]]:
        """Return verb, rest of the path and handler of what one declaration stands for."""
        if method == "VIEWSET":
            return self._viewset(handler)
        if method != "ANY" or not framework.startswith(_BY_HANDLER) or handler.symbol < 0:
            return [(method, "", handler)]
        symbols = self._program.symbols(handler.path)
        if handler.symbol >= len(symbols):
            return [(method, "", handler)]
        symbol = symbols[handler.symbol]
        verbs: list[str] = []
        for decorator in symbol.decorators:
            allowed, short = _ALLOWED.match(decorator), _SHORT.match(decorator)
            if allowed:
                verbs += re.findall(r"['\"]([A-Z]+)['\"]", allowed[1]) or ["GET"]
            elif short:
                verbs.append("GET" if short[1] == "safe" else short[1])
        if symbol.kind == "class":
            own = [each.name for each in symbols if each.parent == handler.symbol]
            verbs = [name.upper() for name in _VERBS if name in own]
            for base in symbol.bases:
                verbs += _GENERIC.get(base.rpartition(".")[2], "").split()
        return [(verb, "", handler) for verb in dict.fromkeys(verbs)] or [(method, "", handler)]

    def _viewset(self, handler: Place) -> list[tuple[str, str, Place]]:
        symbols = self._program.symbols(handler.path)
        if not 0 <= handler.symbol < len(symbols) or symbols[handler.symbol].kind != "class":
            return [("ANY", "", handler), ("ANY", "<pk>/", handler)]
        own = {
            each.name: index for index, each in enumerate(symbols) if each.parent == handler.symbol
        }
        one = self._lookup(handler.path, own)
        names = set(own)
        for base in symbols[handler.symbol].bases:
            simple = base.rpartition(".")[2]
            names |= _MIXINS.get(
                simple, _MIXINS["ModelViewSet"] if "ModelViewSet" in simple else set()
            )
        found = [
            (verb, tail and one, Place(handler.path, own.get(name, handler.symbol)))
            for name, verb, tail in _ACTIONS if name in names
        ]  # fmt: skip
        for name, index in own.items():
            for decorator in symbols[index].decorators:
                action = _ACTION.match(decorator)
                if action:
                    detail = "detail=True" in action[1].replace(" ", "")
                    path = re.search(r"url_path\s*=\s*['\"]([^'\"]+)", action[1])
                    tail = (one if detail else "") + (path[1] if path else name) + "/"
                    written = re.search(r"methods\s*=\s*[\[(]([^\])]*)", action[1])
                    verbs = re.findall(r"\w+", written[1]) if written else ["get"]
                    found += [(verb.upper(), tail, Place(handler.path, index)) for verb in verbs]
        return found or [("ANY", "", handler), ("ANY", one, handler)]

    def _lookup(self, path: str, own: dict[str, int]) -> str:
        """Return the part of a view set's path that names one object."""
        for field in ("lookup_url_kwarg", "lookup_field"):
            if field in own:
                text = expressions.declared_value(self._program.symbols(path)[own[field]].signature)
                name = expressions.evaluate(text, "python", lambda _: None)
                if re.fullmatch(r"\w+", name):
                    return f"<{name}>/"
        return "<pk>/"


def _sources(folder: str) -> str:
    """Return the folder of a module's sources around a package's folder."""
    head, marker, _ = f"{folder}/".partition("src/main/")
    return (head + marker).rstrip("/") if marker else folder


def _whole(prefix: str, own: str, framework: str) -> str:
    """Join prefix and path to one with a leading slash and no double ones."""
    if framework == "Django REST framework" and own and not own.endswith("/"):
        own += "/"
    route = joined(prefix, own)
    if own.strip("/") == "" and prefix and framework not in _TRAILING_SLASH:
        route = prefix
    route = "/" + route.lstrip("/")
    if len(route) > 1 and framework not in _TRAILING_SLASH:
        route = route.rstrip("/") or "/"
    return re.sub(r"(?<!:)//+", "/", route)
