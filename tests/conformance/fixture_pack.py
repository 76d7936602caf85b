"""What the official suite expects to find, put into a server of our own builder.

The suite calls tools, prompts and resources by fixed names. They join what the server already
serves: the lists are those of the product with the fixtures behind, and a name that is no fixture
goes to the product's handler. So the builder, the transports and the security around them are what
is tested, with no line of this in the product.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError

from tests.conformance import fixture_content as content
from tests.conformance.fixture_dialogue import Context, Handler, ask_in_prompt, dialogue_tools

Inner = Callable[[Context, Any], Awaitable[Any]]


def install(server: Server[Any]) -> None:
    """Put the fixtures into `server`."""
    bus = InMemorySubscriptionBus()
    pack = _Pack(server, dialogue_tools(bus))
    server.get_tool_input_schema = content.SCHEMAS.get
    server.middleware.append(
        RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=server.name)
    )
    page = types.PaginatedRequestParams
    server.add_request_handler("tools/list", page, pack.list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, pack.call_tool)
    server.add_request_handler("resources/list", page, pack.list_resources)
    server.add_request_handler("resources/templates/list", page, pack.list_templates)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, pack.read)
    server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, _accept)
    server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, _accept)
    server.add_request_handler("prompts/list", page, _list_prompts)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, _get_prompt)
    server.add_request_handler("completion/complete", types.CompleteRequestParams, _complete)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _accept)
    server.add_request_handler(
        "subscriptions/listen", types.SubscriptionsListenRequestParams, ListenHandler(bus)
    )


class _Pack:
    """Handlers that put fixtures before the product's own."""

    def __init__(self, server: Server[Any], dialogue: dict[str, Handler]) -> None:
        self._inner: dict[str, Inner] = {}
        for method in (
            "tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read",
        ):  # fmt: skip
            entry = server.get_request_handler(method)
            assert entry is not None
            self._inner[method] = entry.handler
        self._dialogue = dialogue
        self._tools = [_listed(name) for name in (*content.FIXED, *dialogue)]

    async def list_tools(
        self, ctx: Context, params: types.PaginatedRequestParams
    ) -> dict[str, Any]:
        return await self._joined("tools/list", "tools", self._tools, ctx, params)

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        if params.name in content.FIXED:
            return content.FIXED[params.name]
        if params.name in self._dialogue:
            return await self._dialogue[params.name](ctx, params)
        return await self._inner["tools/call"](ctx, params)

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams
    ) -> dict[str, Any]:
        listed = [
            {"uri": uri, "name": uri.rpartition("/")[2], "mimeType": resource.mime_type}
            for uri, resource in content.RESOURCES.items()
        ]
        return await self._joined("resources/list", "resources", listed, ctx, params)

    async def list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams
    ) -> dict[str, Any]:
        listed = [content.TEMPLATE.model_dump(by_alias=True, exclude_none=True)]
        return await self._joined(
            "resources/templates/list", "resourceTemplates", listed, ctx, params
        )

    async def read(self, ctx: Context, params: types.ReadResourceRequestParams) -> Any:
        found = content.RESOURCES.get(params.uri) or content.templated(params.uri)
        if found is None:
            return await self._inner["resources/read"](ctx, params)
        return types.ReadResourceResult(contents=[found], ttl_ms=1_000, cache_scope="private")

    async def _joined(
        self, method: str, key: str, fixtures: list[dict[str, Any]], ctx: Context, params: Any
    ) -> dict[str, Any]:
        served = await self._inner[method](ctx, params)
        return {**served, key: [*served[key], *fixtures]}


def _listed(name: str) -> dict[str, Any]:
    schema = content.SCHEMAS.get(name, {"type": "object"})
    return {"name": name, "description": f"Fixture {name}", "inputSchema": schema}


async def _accept(_ctx: Context, _params: Any) -> types.EmptyResult:
    return types.EmptyResult()


async def _list_prompts(
    _ctx: Context, _params: types.PaginatedRequestParams
) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=content.PROMPTS, ttl_ms=300_000, cache_scope="public")


async def _get_prompt(
    _ctx: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    if params.name == "test_input_required_result_prompt":
        return ask_in_prompt(params)
    found = content.fixed_prompt(params.name, params.arguments or {})
    if found is None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    return found


async def _complete(_ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    values = [v for v in ("paris", "park", "party") if v.startswith(params.argument.value)]
    return types.CompleteResult(
        completion=types.Completion(values=values, total=len(values), has_more=False)
    )
