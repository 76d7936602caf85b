"""How do a call's arguments become a request?

Names are checked before anything else: a client that misspells an argument must hear of it, not see
it ignored. Values are taken strictly first and leniently second, because clients do send "5" for 5,
JSON text for arrays, other letter case for enumerations, and null for what they leave out.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from contracts.errors import Forbidden, InvalidArgument
from services.query.schema import Json, input_schema, properties

Q = TypeVar("Q", bound=Struct)

_HERE = (None, "", "local")  # regions that mean this server
_NAMES_SHOWN = 5
_encode = msgspec.json.Encoder().encode


class ArgumentReader(Generic[Q]):
    """Reads the arguments of one tool; raises InvalidArgument whose `reason` says what is wrong."""

    def __init__(self, request: type[Q]) -> None:
        if not request.__struct_config__.forbid_unknown_fields:
            raise TypeError(f"{request.__name__} would ignore arguments it does not declare")
        self.schema = input_schema(request)
        self._request = request
        self._properties = properties(self.schema)
        self._required = _texts(self.schema.get("required", []))
        self._filled = _filled_fields(request)
        self._regional = "region" in self._properties
        self._values = {
            name: {value.casefold(): value for value in _texts(schema["enum"])}
            for name, schema in self._properties.items()
            if schema.get("type") == "string" and "enum" in schema
        }

    @property
    def accepted(self) -> list[str]:
        return list(self._properties)

    def read(self, arguments: Mapping[str, object]) -> Q:
        """Return the request. Forbidden when `region` names another one."""
        try:
            _encode(arguments)
            request = msgspec.convert(arguments, self._request)
        except (msgspec.ValidationError, UnicodeEncodeError, RecursionError):
            request = self._read_leniently(arguments)
        for field, name in self._filled:
            value = getattr(request, field)
            if value is not None and not value.strip():
                raise InvalidArgument(
                    f"{name} is blank", hint=f"give {name} a value", reason="blank_argument"
                )
        if self._regional and request.region not in _HERE:  # type: ignore[attr-defined]  # in accepted
            raise Forbidden(
                "no other region serves these tools",
                hint='leave region out, or say "local"',
                reason="region",
            )
        return request

    def _read_leniently(self, arguments: Mapping[str, object]) -> Q:
        self._check_names(arguments)
        try:
            _encode(arguments)
            return msgspec.convert(self._mended(arguments), self._request, strict=False)
        except UnicodeEncodeError:
            raise InvalidArgument(
                "an argument holds half of a surrogate pair, which is no text",
                hint="send well-formed Unicode",
                reason="unbindable_argument",
            ) from None
        except RecursionError:
            raise InvalidArgument(
                "an argument is nested too deeply",
                hint="see the tool's inputSchema",
                reason="unbindable_argument",
            ) from None
        except msgspec.ValidationError as error:
            raise self._unbindable(str(error)) from None

    def _check_names(self, arguments: Mapping[str, object]) -> None:
        undeclared = [name for name in arguments if name not in self._properties]
        accepted = ", ".join(self._properties)
        if undeclared:
            near = difflib.get_close_matches(
                _squeezed(undeclared[0]), self._properties, n=1, cutoff=0.7
            )
            meant = f"did you mean {near[0]}? " if near else ""
            raise InvalidArgument(
                f"undeclared argument{_plural(undeclared)} {_shown(undeclared)}",
                hint=f"{meant}accepted: {accepted}",
                reason="undeclared_argument",
            )
        missing = [name for name in self._required if arguments.get(name) is None]
        if missing:
            raise InvalidArgument(
                f"missing argument{_plural(missing)} {_shown(missing)}",
                hint=f"accepted: {accepted}",
                reason="missing_argument",
            )

    def _mended(self, arguments: Mapping[str, object]) -> dict[str, object]:
        mended: dict[str, object] = {}
        for name, value in arguments.items():
            if value is None and name not in self._required:
                continue
            mended[name] = self._mended_text(name, value) if isinstance(value, str) else value
        return mended

    def _mended_text(self, name: str, text: str) -> object:
        if name in self._values:
            return self._values[name].get(text.strip().casefold(), text)
        if self._properties[name]["type"] not in ("array", "object"):
            return text
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):  # no JSON, or nested without end
            return text

    def _unbindable(self, error: str) -> InvalidArgument:
        what, _, path = error.replace("`", "").partition(" - at $")
        place = path.lstrip(".") or "arguments"
        name = place.partition("[")[0].partition(".")[0]
        values = self._values.get(name)
        if values is not None:
            return InvalidArgument(
                f"{name}: {what}",
                hint=f"one of {', '.join(values.values())}",
                reason="unknown_value",
            )
        return InvalidArgument(
            f"{place}: {what}", hint="see the tool's inputSchema", reason="unbindable_argument"
        )


def _filled_fields(request: type[Struct]) -> list[tuple[str, str]]:
    """Fields that refuse blank text: every required text, and those marked `Filled`."""
    info = msgspec.inspect.type_info(request)
    if not isinstance(info, msgspec.inspect.StructType):
        raise TypeError(f"{request!r} is no Struct")
    return [
        (field.name, field.encode_name)
        for field in info.fields
        if (field.required and _is_text(field.type)) or _is_marked(field.type)
    ]


def _is_text(kind: msgspec.inspect.Type) -> bool:
    if isinstance(kind, msgspec.inspect.Metadata):
        return _is_text(kind.type)
    return isinstance(kind, msgspec.inspect.StrType)


def _is_marked(kind: msgspec.inspect.Type) -> bool:
    if isinstance(kind, msgspec.inspect.UnionType):
        return any(_is_marked(part) for part in kind.types)
    return isinstance(kind, msgspec.inspect.Metadata) and bool((kind.extra or {}).get("filled"))


def _texts(node: Json) -> list[str]:
    return msgspec.convert(node, list[str])


def _squeezed(name: str) -> str:
    return name.replace("_", "").replace("-", "")


def _plural(names: list[str]) -> str:
    return "s" if len(names) > 1 else ""


def _shown(names: list[str]) -> str:
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(repr(name[:60]) for name in names[:_NAMES_SHOWN]) + more
