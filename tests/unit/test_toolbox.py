"""Can a client that is shown few tools find and run all the others, and no more?"""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.server.lowlevel import Server

from services.query.access import SCOPES, Caller
from services.query.catalogue import TOOLS
from services.query.mcp import build_server
from services.query.registry import AGENT
from services.query.toolbox import fitting
from services.query.visibility import Policy
from tests.conformance.small_catalogue import View, catalogue

FEW = ("small_echo",)


def served(
    *, profile: str = AGENT, scope: str = "admin", writes: bool = True, log: list[str] | None = None
) -> Server[Any]:
    notes: list[str] = [] if log is None else log
    caller = Caller("someone", SCOPES[scope])  # type: ignore[index]
    return build_server(
        catalogue().listing(AGENT, FEW),
        lambda who: View(who, notes),
        Policy(profile=profile, writes=writes),
        version="1",
        callers=lambda: caller,
    )


async def listed(server: Server[Any]) -> list[str]:
    async with Client(server) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


async def call(server: Server[Any], name: str, arguments: dict[str, Any]) -> Any:
    async with Client(server) as client:
        return await client.call_tool(name, arguments)


async def test_a_partial_profile_lists_its_tools_and_the_two_that_lead_on() -> None:
    assert await listed(served()) == ["small_echo", "tools_find", "tools_call"]
    assert "tools_find" not in await listed(served(profile="full"))


async def test_the_finder_describes_what_fits_and_names_the_rest() -> None:
    found = (await call(served(), "tools_find", {"query": "take something in"})).structured_content

    assert found["tools"][0]["name"] == "small_onboard"
    assert found["tools"][0]["writes"] is True
    assert found["tools"][0]["inputSchema"]["type"] == "object"
    assert "small_large" in found["others"]


def test_the_finder_does_not_listen_to_words_that_fit_every_tool() -> None:
    tools = {tool.name: tool for tool in TOOLS}

    for query, wanted in (
        ("list all symbols named Request", "symbols_search"),
        ("find the impact of changing a file", "repocontext_related"),
        ("who calls this function", "graph_callers"),
        ("show http endpoints", "surfaces_list_endpoints"),
    ):
        assert wanted in [tool.name for tool in fitting(query, list(tools.values()))], query


async def test_the_finder_knows_a_tool_by_its_name() -> None:
    found = (await call(served(), "tools_find", {"query": "small_large"})).structured_content

    assert [tool["name"] for tool in found["tools"]] == ["small_large"]


async def test_a_tool_that_is_not_listed_is_run_through_the_other() -> None:
    result = await call(served(), "tools_call", {"tool": "small_large", "arguments": {"size": 3}})

    assert not result.is_error
    assert result.structured_content == {"text": "xxx"}


async def test_the_call_through_validates_as_the_tool_itself_would() -> None:
    log: list[str] = []
    wrong = {"tool": "small_echo", "arguments": {"text": "a", "colour": "red"}}
    result = await call(served(log=log), "tools_call", wrong)

    assert result.is_error
    assert "colour" in result.content[0].text
    assert log == []


async def test_the_call_through_reaches_nothing_that_the_caller_may_not_use() -> None:
    log: list[str] = []
    for server in (served(scope="read", log=log), served(writes=False, log=log)):
        result = await call(server, "tools_call", {"tool": "small_write"})
        found = await call(server, "tools_find", {"query": "small_write"})

        assert result.is_error
        assert "no tool" in result.content[0].text
        assert "small_write" not in str(found.structured_content)
    assert log == []


async def test_an_unknown_tool_is_refused_with_the_likely_name() -> None:
    result = await call(served(), "tools_call", {"tool": "small_ecko"})

    assert result.is_error
    assert "small_echo" in result.content[0].text


async def test_a_tool_outside_the_profile_cannot_be_called_directly() -> None:
    async with Client(served()) as client:
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("small_large", {"size": 1})


async def test_the_call_through_does_not_call_itself() -> None:
    nested = {"tool": "tools_call", "arguments": {"tool": "small_write"}}

    assert (await call(served(), "tools_call", nested)).is_error
