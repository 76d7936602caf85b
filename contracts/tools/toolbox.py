"""Requests and answers of the two tools that lead to all others."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct, field

from contracts.tools.base import Answer, Request


class FindToolsRequest(Request, frozen=True, kw_only=True):
    """What is to be done, in words, or the name of a tool."""

    query: Annotated[str, Meta(description="A task in words, or a tool's name")]


class FoundTool(Struct, frozen=True, kw_only=True, rename="camel"):
    """One tool, as `tools/list` would describe it."""

    name: str
    description: str
    writes: bool
    input_schema: dict[str, Any]


class FoundTools(Answer, frozen=True, kw_only=True):
    """The tools that fit best, best first, and the names of all others."""

    tools: tuple[FoundTool, ...]
    others: tuple[str, ...]


class CallToolRequest(Request, frozen=True, kw_only=True):
    """A tool that is not listed, and its arguments."""

    tool: str
    arguments: Annotated[dict[str, Any], Meta(description="As its inputSchema says")] = field(
        default_factory=dict
    )


class ToolAnswer(Answer, frozen=True, kw_only=True):
    """Whatever the called tool answers."""
