"""May the tools of the code map be called by the names they were specified with?"""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client, MCPError
from msgspec import Struct

from services.query.access import EVERYTHING, Caller
from services.query.catalogue import TOOLS
from services.query.mcp import build_server
from services.query.registry import Catalogue, tool
from services.query.visibility import Policy, as_declared


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing."""


class Told(Struct, frozen=True):
    """Which tool it was."""

    name: str


class View(Struct, frozen=True):
    """What the tools of this file work with."""

    caller: Caller


@tool("graph_callers", title="Callers", family="codemap", profiles=("agent",))
async def graph_callers(view: View, request: Asked) -> Told:
    """Tell its name."""
    return Told("graph_callers")


@tool("types_hierarchy", title="Hierarchy", family="codemap")
async def types_hierarchy(view: View, request: Asked) -> Told:
    """Tell its name."""
    return Told("types_hierarchy")


def test_a_dot_is_the_first_underscore_of_a_tool_of_the_code_map_only() -> None:
    for entry in TOOLS:
        called = as_declared(entry.name.replace("_", ".", 1))

        assert (called == entry.name) == (entry.family == "codemap"), entry.name
        assert as_declared(entry.name) == entry.name


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_dotted_name_calls_what_the_caller_sees_and_is_not_listed(era: str) -> None:
    catalogue: Catalogue[Any] = Catalogue([graph_callers, types_hierarchy])
    server = build_server(
        catalogue, View, Policy(profile="agent"), version="1",
        callers=lambda: Caller("root", EVERYTHING),
    )  # fmt: skip

    async with Client(server, mode=era) as client:
        listed = [entry.name for entry in (await client.list_tools()).tools]
        seen = await client.call_tool("graph.callers", {})
        through = await client.call_tool("tools_call", {"tool": "types.hierarchy", "arguments": {}})
        with pytest.raises(MCPError):
            await client.call_tool("types.hierarchy", {})  # which this profile does not list

    assert listed == ["graph_callers", "tools_find", "tools_call"]
    assert seen.structured_content == {"name": "graph_callers"}
    assert through.structured_content == {"name": "types_hierarchy"}
