"""How are the tools offered over MCP?

A low-level server of the SDK: it serves the handshake protocols of 2024 and 2025 and the 2026 one
alike, takes any JSON Schema, and leaves validation to us, where it belongs. What is served depends
on the policy and on the caller's scopes only, checked when tools are listed and again at each call.

The result of a call is built here in its wire form, so on the 2026 protocol it goes past the SDK's
own validation of results, which costs more than most tools do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

import mcp_types as types
import msgspec
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from contracts.errors import Fault
from services.query import resources
from services.query.access import LOCAL, NOBODY, Caller, Scope
from services.query.calls import Calls, Observer, Unobserved
from services.query.instructions import instructions
from services.query.registry import AGENT, Catalogue, Tool
from services.query.results import sanitised, text_of_fault
from services.query.schema import JsonObject
from services.query.toolbox import HasCaller, Toolbox
from services.query.visibility import Policy, Visibility, as_declared

V = TypeVar("V", bound=HasCaller)
Context = ServerRequestContext[Any, Any]

NAME = "repofold"
_LIST_TTL_MS = 300_000
_STATUS_TTL_MS = 0
_PARTIAL = frozenset({AGENT, "memory", "codemap"})
_PLAIN_KEYS = frozenset({"name", "arguments", "_meta"})
RUNNING = "repofold.running"  # in the scope of an HTTP request: its call, started already


def local_caller() -> Caller:
    """The caller where no token is asked for: the owner of the process."""
    return LOCAL


def token_caller() -> Caller:
    """The caller that the request's bearer token names; nobody when there is none."""
    token = get_access_token()
    if token is None:
        return NOBODY
    scopes: set[Scope] = {scope for scope in ("read", "write", "admin") if scope in token.scopes}
    return Caller(token.client_id, frozenset(scopes))


def agrees_with(request: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    """Whether a request of the 2026 protocol is the one that its HTTP headers, in lower case, name."""
    return isinstance(classify_inbound_request(request, headers=headers), InboundModernRoute)


def build_server(
    catalogue: Catalogue[V],
    views: Callable[[Caller], V],
    policy: Policy,
    *,
    version: str,
    repository: str = "",
    callers: Callable[[], Caller] = local_caller,
    observer: Observer | None = None,
) -> Server[Any]:
    """Return a server of the catalogue's tools and of the resources behind them.

    `views(caller)` makes what a tool body works with, once per call; `callers()` tells who is
    calling; `repository` is the id of the only one there is. More handlers may be put in with the server's own `add_request_handler`.
    Raises InvalidArgument when the policy names an unknown profile.
    """
    offer = _Offer(catalogue, views, policy, callers, observer or Unobserved())
    server: Server[Any] = Server(
        NAME,
        version=version,
        title="Repofold",
        description="A live index of code repositories for coding agents.",
        instructions=instructions(policy.profile, repository),
        get_tool_input_schema=_no_header_arguments,
    )
    server.add_request_handler("tools/list", types.PaginatedRequestParams, offer.list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, offer.call_tool)
    server.add_request_handler("resources/list", types.PaginatedRequestParams, offer.list_resources)
    server.add_request_handler(
        "resources/templates/list", types.PaginatedRequestParams, offer.list_templates
    )
    server.add_request_handler(
        "resources/read", types.ReadResourceRequestParams, offer.read_resource
    )
    # The tracing middleware that the SDK puts here costs a tenth of a call and exports nothing.
    server.middleware[:] = [DirectCalls(offer, server.server_info_stamp)]
    return server


def _no_header_arguments(_tool: str) -> Mapping[str, Any] | None:
    """No tool takes arguments from HTTP headers; saying so spares a `tools/list` per call."""
    return None


class _Offer(Generic[V]):
    """The request handlers."""

    def __init__(
        self,
        catalogue: Catalogue[V],
        views: Callable[[Caller], V],
        policy: Policy,
        callers: Callable[[], Caller],
        observer: Observer,
    ) -> None:
        self._catalogue, self._policy, self._callers = catalogue, policy, callers
        self._visibility = Visibility(catalogue, policy)
        # Whoever is shown part of the tools can reach the rest through two more.
        self._toolbox = Toolbox(self._visibility).tools if policy.profile in _PARTIAL else {}
        self._calls = Calls(views, policy, observer)

    async def list_tools(self, _ctx: Context, params: types.PaginatedRequestParams) -> JsonObject:
        structured = self._policy.results != "text"
        caller = self._callers()
        visible = [*self._visibility.tools(caller).values(), *self._toolbox_of(caller).values()]
        return _page("tools", [tool.listing(structured=structured) for tool in visible], params)

    async def call_tool(self, _ctx: Context, params: types.CallToolRequestParams) -> JsonObject:
        pending = self.call(params.name, params.arguments)
        if pending is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {sanitised(params.name, 128)}")
        return await pending

    def call(
        self, name: str, arguments: Mapping[str, object] | None
    ) -> Awaitable[JsonObject] | None:
        """Start a call; None when the caller sees no tool of that name."""
        caller = self._callers()
        tool = self._visibility.tools(caller).get(as_declared(name))
        if tool is None:
            tool = self._toolbox_of(caller).get(name)
        return None if tool is None else self._calls.run(tool, arguments, caller)

    def _toolbox_of(self, caller: Caller) -> dict[str, Tool[V, Any, Any]]:
        return {name: tool for name, tool in self._toolbox.items() if tool.scope in caller.scopes}

    async def list_resources(
        self, _ctx: Context, params: types.PaginatedRequestParams
    ) -> JsonObject:
        guide: JsonObject = {
            "uri": resources.GUIDE_URI,
            "name": "guide",
            "title": "How to use Repofold",
            "mimeType": "text/markdown",
        }
        fixed = [_described(a, "uri") for a in self._addresses() if not a.is_template]
        return _page("resources", [guide, *fixed], params)

    async def list_templates(
        self, _ctx: Context, params: types.PaginatedRequestParams
    ) -> JsonObject:
        open_ended = [_described(a, "uriTemplate") for a in self._addresses() if a.is_template]
        return _page("resourceTemplates", open_ended, params)

    async def read_resource(
        self, _ctx: Context, params: types.ReadResourceRequestParams
    ) -> JsonObject:
        uri = str(params.uri)
        if uri == resources.GUIDE_URI:
            return _contents(uri, "text/markdown", resources.GUIDE, _LIST_TTL_MS)
        for address in self._addresses():
            arguments = address.match(uri)
            if arguments is not None:
                content = await self._answer(address.tool, arguments)
                return _contents(uri, "application/json", content, _STATUS_TTL_MS)
        raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": sanitised(uri, 256)})

    async def _answer(self, tool: str, arguments: Mapping[str, object]) -> str:
        try:
            answer = await self._calls.answer(self._catalogue[tool], arguments, self._callers())
        except Fault as fault:
            raise MCPError(types.INVALID_PARAMS, text_of_fault(fault)) from None
        return msgspec.json.encode(answer).decode()

    def _addresses(self) -> list[resources.Address]:
        visible = self._visibility.tools(self._callers())
        return [address for address in resources.ADDRESSES if address.tool in visible]


class DirectCalls:
    """Middleware that answers plain tool calls of the 2026 protocol in place.

    Whatever is not plain (another method or era, a retry with input, malformed parameters, an
    unknown tool) goes on to the handlers.
    """

    def __init__(self, offer: _Offer[Any], server_info: dict[str, Any]) -> None:
        self._offer = offer
        self._server_info = server_info

    @classmethod
    def of(cls, server: Server[Any]) -> DirectCalls:
        """The one in a server of `build_server`."""
        return next(each for each in server.middleware if isinstance(each, cls))

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        scope = getattr(ctx.request, "scope", {})  # there is no request over stdio
        pending = scope.get(RUNNING) or self._plain_call(ctx)
        if pending is None:
            return await call_next(ctx)
        return self.stamped(await pending)

    def started(self, params: Mapping[str, Any]) -> Awaitable[JsonObject] | None:
        """Start a call by its parameters; None when they are not plain or name no tool to be seen."""
        if not _PLAIN_KEYS.issuperset(params):
            return None
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, dict | None):
            return None
        return self._offer.call(name, arguments)

    def stamped(self, result: JsonObject) -> JsonObject:
        """The result of a call, with what the protocol wants each to tell of the server."""
        stamp: JsonObject = {types.SERVER_INFO_META_KEY: dict(self._server_info)}
        meta = result.get("_meta")
        result["_meta"] = {**meta, **stamp} if isinstance(meta, dict) else stamp
        return result

    def _plain_call(self, ctx: Context) -> Awaitable[JsonObject] | None:
        if (
            ctx.method != "tools/call"
            or ctx.params is None
            or ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS
            or ctx.meta is None
        ):
            return None
        return self.started(ctx.params)


def _page(key: str, entries: list[JsonObject], params: types.PaginatedRequestParams) -> JsonObject:
    """One page that holds everything; who sees what depends on the token, so none may be shared."""
    if params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "Invalid cursor: there is one page")
    return {
        key: [*entries],
        "ttlMs": _LIST_TTL_MS,
        "cacheScope": "private",
        "resultType": "complete",
    }


def _described(address: resources.Address, uri_key: str) -> JsonObject:
    return {
        uri_key: address.uri,
        "name": address.name,
        "title": address.title,
        "description": address.description,
        "mimeType": "application/json",
    }


def _contents(uri: str, mime_type: str, text: str, ttl_ms: int) -> JsonObject:
    return {
        "contents": [{"uri": uri, "mimeType": mime_type, "text": text}],
        "ttlMs": ttl_ms,
        "cacheScope": "private",
        "resultType": "complete",
    }
