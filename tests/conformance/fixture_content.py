"""Content fixtures of the official suite: one of every kind a tool, resource or prompt may return."""

from __future__ import annotations

import base64
import io
import struct
import wave
import zlib
from typing import Any

import mcp_types as types


def text(value: str, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[plain(value)], is_error=is_error)


def plain(value: str) -> types.TextContent:
    return types.TextContent(type="text", text=value)


def embedded(uri: str, mime_type: str, value: str) -> types.EmbeddedResource:
    resource = types.TextResourceContents(uri=uri, mime_type=mime_type, text=value)
    return types.EmbeddedResource(type="resource", resource=resource)


def _pixel() -> str:
    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)  # one grey pixel
    parts = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(b"\0\x7f")), chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


def _silence() -> str:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8_000)
        sound.writeframes(b"\x80" * 8)
    return base64.b64encode(file.getvalue()).decode()


PNG, WAV = _pixel(), _silence()
IMAGE = types.ImageContent(type="image", data=PNG, mime_type="image/png")

# Tools that take nothing and always return the same.
FIXED = {
    "test_simple_text": text("plain text"),
    "test_image_content": types.CallToolResult(content=[IMAGE]),
    "test_audio_content": types.CallToolResult(
        content=[types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")]
    ),
    "test_embedded_resource": types.CallToolResult(
        content=[embedded("test://embedded-resource", "text/plain", "embedded")]
    ),
    "test_multiple_content_types": types.CallToolResult(
        content=[
            plain("three kinds"),
            IMAGE,
            embedded("test://mixed-content-resource", "application/json", '{"ok":true}'),
        ]
    ),
    "test_error_handling": text("refused on purpose", is_error=True),
    "json_schema_2020_12_tool": text("ok"),
}

_STRING = {"type": "string"}
SCHEMAS: dict[str, dict[str, Any]] = {  # of the tools whose schema is the subject
    "test_x_mcp_header": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    },
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": _STRING, "city": _STRING},
            }
        },
        "properties": {
            "name": _STRING,
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": _STRING,
            "email": _STRING,
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
}

RESOURCES: dict[str, types.TextResourceContents | types.BlobResourceContents] = {
    "test://static-text": types.TextResourceContents(
        uri="test://static-text", mime_type="text/plain", text="static"
    ),
    "test://static-binary": types.BlobResourceContents(
        uri="test://static-binary", mime_type="image/png", blob=PNG
    ),
    "test://watched-resource": types.TextResourceContents(
        uri="test://watched-resource", mime_type="text/plain", text="watched"
    ),
}
TEMPLATE = types.ResourceTemplate(
    uri_template="test://template/{id}/data", name="template", mime_type="application/json"
)


def templated(uri: str) -> types.TextResourceContents | None:
    identifier = uri.removeprefix("test://template/").removesuffix("/data")
    if uri != f"test://template/{identifier}/data":
        return None
    return types.TextResourceContents(
        uri=uri, mime_type="application/json", text=f'{{"id":"{identifier}"}}'
    )


def _prompt(name: str, *arguments: str) -> types.Prompt:
    return types.Prompt(
        name=name,
        description=f"Fixture {name}",
        arguments=[types.PromptArgument(name=argument, required=True) for argument in arguments],
    )


PROMPTS = [
    _prompt("test_simple_prompt"),
    _prompt("test_prompt_with_arguments", "arg1", "arg2"),
    _prompt("test_prompt_with_embedded_resource", "resourceUri"),
    _prompt("test_prompt_with_image"),
    _prompt("test_input_required_result_prompt"),
]


def messages(*content: types.ContentBlock) -> types.GetPromptResult:
    return types.GetPromptResult(
        messages=[types.PromptMessage(role="user", content=part) for part in content]
    )


def fixed_prompt(name: str, arguments: dict[str, str]) -> types.GetPromptResult | None:
    match name:
        case "test_simple_prompt":
            return messages(plain("Say hello."))
        case "test_prompt_with_arguments":
            return messages(plain(f"{arguments.get('arg1')} and {arguments.get('arg2')}"))
        case "test_prompt_with_embedded_resource":
            uri = arguments.get("resourceUri", "")
            return messages(embedded(uri, "text/plain", "embedded"), plain("Read it."))
        case "test_prompt_with_image":
            return messages(IMAGE, plain("Describe it."))
    return None
