"""Which routes, services and settings do Symfony's YAML files declare?

A file of another program may look alike: routes need a path with a controller or a resource, services
a class by name, and both a place where Symfony looks for them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

import yaml

from services.extractor.facts.source import Source

_MOST_BYTES = 200_000
_PLACE = re.compile(
    r"(?:^|/)(?:config|Resources/config)/|(?:^|/)(?:routes|routing|services)[\w.-]*\.ya?ml$"
)
_ENV = re.compile(rb"%env\((?:[\w-]+:)*([A-Za-z_]\w*)\)%")
_CLASS = re.compile(r"\\?[A-Za-z_]\w*(?:\\[A-Za-z_]\w*)+")
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_Entry = tuple[str, yaml.Node, int]  # key, value, line


def read(source: Source) -> None:
    if _PLACE.search(source.path) is None or len(source.data) > _MOST_BYTES:
        return
    for found in _ENV.finditer(source.data):
        source.fact("config", f"{found[1].decode()}|%env()%", source.at(found.start()))
    if not any(word in source.data for word in (b"services:", b"path:", b"resource:", b"pattern:")):
        return
    try:
        root = yaml.compose(source.data.decode(errors="replace"), _LOADER)
    except yaml.YAMLError:
        return
    _file(source, root)


def _file(source: Source, root: yaml.Node | None) -> None:
    for key, value, line in _entries(root):
        if key.startswith("when@"):
            _file(source, value)
        elif key == "services":
            for service, described, at in _entries(value):
                _service(source, service, described, at)
        else:
            _route(source, _fields(value), line)


def _entries(node: yaml.Node | None) -> Iterator[_Entry]:
    """Yield the entries of a mapping; of anything else none."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield key.value, value, key.start_mark.line + 1


def _fields(node: yaml.Node) -> dict[str, yaml.Node]:
    return {key: value for key, value, _ in _entries(node)}


def _text(node: yaml.Node | None) -> str:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else ""


def _texts(node: yaml.Node | None) -> list[str]:
    if isinstance(node, yaml.SequenceNode):
        return [_text(item) for item in node.value]
    return [part.strip() for part in _text(node).split("|") if part.strip()]


def _at(source: Source, line: int) -> tuple[int, int]:
    start = int(source.lines.starts[line - 1])
    indented = len(source.data[start : start + 80]) - len(source.data[start : start + 80].lstrip())
    return source.table.scope_at(start + indented), line


# -- routes --------------------------------------------------------------------------------------


def _route(source: Source, fields: dict[str, yaml.Node], line: int) -> None:
    if "resource" in fields:
        _resource(source, fields, line)
        return
    written = fields.get("path") or fields.get("pattern")
    handler = _controller(fields)
    if written is None or not handler:
        return
    methods = [method.upper() for method in _texts(fields.get("methods"))] or ["ANY"]
    paths = [_text(value) for _, value, _ in _entries(written)] or [_text(written)]
    for path in paths:
        for method in methods:
            source.fact(
                "route", f"{method} /{path.lstrip('/')}", _at(source, line), "high", "Symfony",
                "routes", f":{handler}",
            )  # fmt: skip


def _controller(fields: dict[str, yaml.Node]) -> str:
    """Spell a controller "Class.method", as routes of PHP files do; "" for none."""
    text = _text(fields.get("controller"))
    if not text and "defaults" in fields:
        text = _text(_fields(fields["defaults"]).get("_controller"))
    text = text.strip("\\")
    holder, _, method = text.partition("::")
    if not method and text.count(":") == 2:  # Bundle:Controller:action
        _, name, action = text.split(":")
        return f"{name.rpartition('/')[2]}Controller.{action}Action"
    return f"{holder.rpartition(chr(92))[2]}.{method or '__invoke'}" if holder else ""


def _resource(source: Source, fields: dict[str, yaml.Node], line: int) -> None:
    """A prefix for another file's routes, or for the attributes of a folder's controllers."""
    resource = fields["resource"]
    described = _fields(resource)
    text = _text(described.get("path")) if described else _text(resource)
    prefix = _text(fields.get("prefix"))
    if not text or text.startswith("@") or "rout" not in source.path:
        return
    where = posixpath.normpath(posixpath.join(posixpath.dirname(source.path), text))
    if posixpath.splitext(where)[1] in (".yaml", ".yml", ".php"):
        target = f"{posixpath.splitext(where)[0]}:routes"
        source.fact("mount", prefix, _at(source, line), owner="routes", target=target)
    elif prefix.strip("/"):
        target = f"Symfony:{where.partition('*')[0].rstrip('/')}"
        source.fact("mount", prefix, _at(source, line), detail="global", target=target)


# -- services ------------------------------------------------------------------------------------


def _service(source: Source, service: str, described: yaml.Node, line: int) -> None:
    if service.startswith("_") or service.endswith("\\") or "{" in service:
        return
    fields = _fields(described)
    text = _text(described)
    if "resource" in fields or "abstract" in fields:
        return
    named = _CLASS.fullmatch(service) is not None
    implementation = _text(fields.get("class")) or service.lstrip("\\")
    if text.startswith("@") or "alias" in fields:
        implementation = (text or _text(fields["alias"])).lstrip("@")
    elif "factory" in fields and "class" not in fields:
        implementation = "factory"
    if not named and not (_CLASS.fullmatch(implementation) or text.startswith("@")):
        return
    lifetime = "transient" if _text(fields.get("shared")) == "false" else "singleton"
    value = f"{service.lstrip(chr(92))} → {implementation.lstrip(chr(92))}|{lifetime}"
    source.fact("di_registration", value, _at(source, line), "high", "Symfony")
