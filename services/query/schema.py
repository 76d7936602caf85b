"""How is a Struct written as a JSON Schema that every MCP client accepts?

Clients were seen to fail on `$ref` and `$defs`, on an enum without a type, on `anyOf` in inputs and
on a root that is not an object. So everything is inlined, null alternatives of inputs are dropped
(an absent argument says the same), and titles, empty defaults and Struct docstrings are left out.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
JsonObject = dict[str, Json]

_REF = "#/$defs/{name}"
_NULL: JsonObject = {"type": "null"}
_REFUSED = ("$ref", "$defs", "$schema", "prefixItems", "oneOf", "allOf")
_LITERAL = frozenset({"enum", "const", "default", "required"})  # values, not schemas


def input_schema(request: type[Struct]) -> JsonObject:
    """Return the schema of a tool's arguments; the request's own fields come before inherited ones."""
    schema = _clean(request, nullable=False)
    of = properties(schema)
    ordered: JsonObject = {name: of[name] for name in _own_fields_first(request)}
    return {**schema, "properties": ordered}


def output_schema(answer: type[Struct]) -> JsonObject:
    """Return the schema of a tool's structured result."""
    return _clean(answer, nullable=True)


def properties(schema: JsonObject) -> dict[str, JsonObject]:
    """Return the schemas of an object's properties."""
    return {
        name: _as_object(child) for name, child in _as_object(schema.get("properties", {})).items()
    }


def problems(schema: JsonObject, *, where: str = "$") -> list[str]:
    """Return what a strict client would refuse in a cleaned schema; empty when there is nothing."""
    alternatives = schema.get("anyOf")
    if isinstance(alternatives, list):
        rest = [_as_object(item) for item in alternatives if item != _NULL]
        if len(rest) != 1 or len(alternatives) != 2:
            return [f"{where}: a choice between types"]
        return problems(rest[0], where=where)
    found = [f"{where}: {word}" for word in _REFUSED if word in schema]
    if where == "$" and schema.get("type") != "object":
        found.append("$: the root is no object")
    if not isinstance(schema.get("type"), str):
        found.append(f"{where}: no type")
    for name, child in properties(schema).items():
        found += problems(child, where=f"{where}.{name}")
    for word in ("items", "additionalProperties"):
        below = schema.get(word)
        if isinstance(below, dict):
            found += problems(below, where=f"{where}.{word}")
    return found


def _clean(struct: type[Struct], *, nullable: bool) -> JsonObject:
    made = msgspec.json.schema_components([struct], ref_template=_REF)
    (root,), definitions = msgspec.json.decode(
        msgspec.json.encode(made)
    )  # defaults as JSON has them
    return _as_object(_walk(root, definitions, nullable, ()))


def _walk(node: Json, definitions: JsonObject, nullable: bool, inside: tuple[str, ...]) -> Json:
    if isinstance(node, list):
        return [_walk(item, definitions, nullable, inside) for item in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("$ref")
    if isinstance(reference, str):
        return _inline(reference.rpartition("/")[2], definitions, nullable, inside)
    if not nullable:
        node = _without_null(node)
    cleaned: JsonObject = {}
    for word, value in node.items():
        if word == "title" or (word == "default" and value in (None, [], {})):
            continue
        if word == "additionalProperties" and value is False:
            continue  # refused all the same (arguments.py), and said 68 times it costs 340 tokens
        if word == "properties":
            children = _as_object(value)
            cleaned[word] = {
                name: _walk(child, definitions, nullable, inside)
                for name, child in children.items()
            }
        elif word in _LITERAL:
            cleaned[word] = value
        else:
            cleaned[word] = _walk(value, definitions, nullable, inside)
    if "type" not in cleaned and (kind := _kind_of_values(cleaned)):
        cleaned = {"type": kind, **cleaned}
    if cleaned.get("required") == []:
        del cleaned["required"]
    return cleaned


def _inline(name: str, definitions: JsonObject, nullable: bool, inside: tuple[str, ...]) -> Json:
    if name in inside:
        raise TypeError(f"{name} contains itself, which cannot be inlined")
    definition = {k: v for k, v in _as_object(definitions[name]).items() if k != "description"}
    return _walk(definition, definitions, nullable, (*inside, name))


def _without_null(node: JsonObject) -> JsonObject:
    alternatives = node.get("anyOf")
    if not isinstance(alternatives, list) or _NULL not in alternatives:
        return node
    rest = [item for item in alternatives if item != _NULL]
    if len(rest) != 1:
        return {**node, "anyOf": rest}
    around: JsonObject = {word: value for word, value in node.items() if word != "anyOf"}
    return {**_as_object(rest[0]), **around}


def _kind_of_values(node: JsonObject) -> str:
    values = node.get("enum", [node["const"]] if "const" in node else None)
    if not isinstance(values, list):
        return ""
    if all(isinstance(value, bool) for value in values):
        return "boolean"
    return "string" if all(isinstance(value, str) for value in values) else ""


def _own_fields_first(struct: type[Struct]) -> list[str]:
    wire_name = dict(zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True))
    ordered: dict[str, None] = {}
    for cls in struct.__mro__:
        ordered.update(
            dict.fromkeys(f for f in vars(cls).get("__annotations__", ()) if f in wire_name)
        )
    return [wire_name[field] for field in ordered]


def _as_object(node: Json) -> JsonObject:
    if not isinstance(node, dict):
        raise TypeError(f"a JSON object is expected here, not {node!r}")
    return node
