"""How does a client that is shown few tools reach all the others?

Sixty schemas cost a model thousands of tokens in every conversation, and a model that has to choose
among them often chooses none. So a small profile lists what coding agents do all day, and two tools
more: one that describes any tool the caller may use, one that runs it. Both see exactly what the
same caller would see under the full profile.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from contracts.errors import InvalidArgument
from contracts.tools.toolbox import (
    CallToolRequest,
    FindToolsRequest,
    FoundTool,
    FoundTools,
    ToolAnswer,
)
from services.query.access import Caller
from services.query.registry import Tool, tool
from services.query.visibility import Visibility, as_declared
from services.source.query_text import query_terms


class HasCaller(Protocol):
    """A view knows whom it serves."""

    @property
    def caller(self) -> Caller: ...


V = TypeVar("V", bound=HasCaller)
_DESCRIBED = 4
_SAYS_LITTLE = frozenset(
    {"list", "show", "find", "get", "give", "tell", "look"}
)  # what all tools do


class Toolbox(Generic[V]):
    """The finder and the call-through over one visibility."""

    def __init__(self, visibility: Visibility[V]) -> None:
        self._visibility = visibility
        self.tools: Mapping[str, Tool[V, Any, Any]] = {
            entry.name: entry for entry in (self._declare_find(), self._declare_call())
        }

    def _declare_find(self) -> Tool[V, Any, Any]:
        @tool("tools_find", title="Find a tool", family="toolbox")
        async def tools_find(view: V, request: FindToolsRequest) -> FoundTools:
            """More tools than are listed: notes with claims, symbols, call graph, endpoints, index
            upkeep. Says which fit a task and what arguments they take."""
            return self._found(view.caller, request.query)

        return tools_find

    def _declare_call(self) -> Tool[V, Any, Any]:
        @tool("tools_call", title="Call a tool", family="toolbox", writes=True, scope="read")
        async def tools_call(view: V, request: CallToolRequest) -> ToolAnswer:
            """Run a tool that tools_find described. Its arguments are checked as if it were listed."""
            inner = self._named(view.caller, request.tool)
            answer: Struct = await inner.body(view, inner.arguments.read(request.arguments))
            return answer  # type: ignore[return-value]  # any answer is one

        return tools_call

    def _named(self, caller: Caller, name: str) -> Tool[V, Any, Any]:
        reachable = self._visibility.reachable(caller)
        found = reachable.get(as_declared(name))
        if found is not None:
            return found
        near = difflib.get_close_matches(name, reachable, n=3)
        raise InvalidArgument(
            f"there is no tool {name!r}",
            hint=f"did you mean {', '.join(near)}?" if near else "look it up with tools_find",
            reason="unknown_tool",
        )

    def _found(self, caller: Caller, query: str) -> FoundTools:
        reachable = self._visibility.reachable(caller)
        named = reachable.get(query.strip())
        best = [named] if named is not None else fitting(query, list(reachable.values()))
        shown = {entry.name for entry in best}
        return FoundTools(
            tools=tuple(
                FoundTool(
                    name=entry.name,
                    description=entry.description,
                    writes=entry.writes,
                    input_schema=dict(entry.arguments.schema),
                )
                for entry in best
            ),
            others=tuple(name for name in reachable if name not in shown),
        )


def fitting(query: str, entries: list[Tool[V, Any, Any]]) -> list[Tool[V, Any, Any]]:
    """The tools whose own words answer the query best; rare words say more than common ones."""
    shelves = [_shelf(entry) for entry in entries]
    scores = [0.0] * len(entries)
    words = query_terms(query).words
    for word in [word for word in words if word not in _SAYS_LITTLE] or words:
        holders = [number for number, shelf in enumerate(shelves) if word in shelf]
        for number in holders:
            scores[number] += shelves[number][word] * math.log(1 + len(entries) / len(holders))
    ranked = sorted(range(len(entries)), key=lambda number: (-scores[number], entries[number].name))
    return [entries[number] for number in ranked[:_DESCRIBED] if scores[number] > 0]


def _shelf(entry: Tool[Any, Any, Any]) -> dict[str, float]:
    """The words that tell of a tool, each with the weight of the place where it stands."""
    words: dict[str, float] = {}
    places = (
        (1.0, f"{entry.description} {' '.join(entry.arguments.accepted)}"),
        (2.0, entry.title),
        (3.0, entry.name),
    )
    for weight, text in places:
        words.update(dict.fromkeys(query_terms(text).words, weight))
    return words
