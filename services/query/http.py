"""How is the server reached over HTTP?

    POST GET DELETE /mcp    the protocol; bearer token, Host and Origin checked, bodies up to 1 MiB
    GET /health             the process lives
    GET /ready              200 when it serves, else 503 and the reason
    GET /metrics            Prometheus text
    GET /                   a page for people: name, version, state; no repository data
    GET /.well-known/oauth-protected-resource/mcp    which scopes exist, for clients that got a 401

Tokens guard /mcp alone. Host and Origin are checked there and, on a loopback address, wherever a
web page could otherwise read an answer by DNS rebinding; /health and /ready answer any Host,
because probes address a pod by its number.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import anyio
import structlog
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contracts.errors import Forbidden
from services.query.access import TokenStore
from services.query.gates import METADATA_PATH, BearerGate, Handler, HostGuard, security
from services.query.mcp import DirectCalls
from services.query.pages import Pages
from services.query.plain_posts import PlainPosts

PATH = "/mcp"
BODY_BYTES = 1 << 20

_SESSIONS = 1_000  # of the handshake protocols, held in memory
_SESSION_IDLE_S = 1_800.0
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Site(Struct, frozen=True, kw_only=True):
    """What the HTTP side needs to know beside the MCP server."""

    host: str = "127.0.0.1"  # address it will be bound to
    names: tuple[str, ...] = ()  # further host names it is reached by, without scheme or port
    origins: tuple[str, ...] = ()  # further Origins of web pages that may call
    tokens: TokenStore | None = None  # None: no token is asked for, loopback only
    version: str = ""
    ready: Callable[[], str]  # "" when ready, else why not
    metrics: Callable[[], Awaitable[bytes]]


def is_loopback(host: str) -> bool:
    """Whether an address to bind reaches this machine only."""
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return False


def build_app(server: Server[Any], site: Site) -> Starlette:
    """Return the ASGI application.

    Raises Forbidden for an address other machines reach when there are no tokens or no names: there
    a token is the only guard, and without names Host cannot be checked.
    """
    if not is_loopback(site.host) and (site.tokens is None or not site.names):
        raise Forbidden(
            f"{site.host} is reachable by other machines",
            hint="bind a loopback address, or set both tokens and the allowed host names",
        )
    allowed = security(site.names, site.origins)
    manager = StreamableHTTPSessionManager(
        app=server,
        json_response=False,  # still answers plain JSON, unless there is progress to stream
        stateless=False,
        security_settings=allowed,
        max_request_body_size=BODY_BYTES,
        session_idle_timeout=_SESSION_IDLE_S,
        max_sessions=_SESSIONS,
    )
    guard = HostGuard(allowed)
    transport = StreamableHTTPASGIApp(manager)
    streams = _Streams(PlainPosts(transport, DirectCalls.of(server), body_bytes=BODY_BYTES))
    inner: ASGIApp = streams if site.tokens is None else BearerGate(streams, site.tokens)
    pages = Pages(PATH, site.version, site.ready, site.metrics, guarded=site.tokens is not None)
    exposed = guard.around if is_loopback(site.host) else _open_to_any_host

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    app = Starlette(
        routes=[
            Route(PATH, endpoint=_Endpoint(guard, inner)),
            Route("/health", pages.health),
            Route("/ready", pages.ready),
            Route("/metrics", exposed(pages.metrics)),
            Route("/", exposed(pages.front)),
            Route(METADATA_PATH, exposed(pages.metadata)),
        ],
        lifespan=lifespan,
    )
    app.add_middleware(_RequestIds)
    app.state.close_streams = streams.close
    return app


def _open_to_any_host(handler: Handler) -> Handler:
    return handler


class _Endpoint:
    """The route of /mcp: every method, the exact path."""

    def __init__(self, guard: HostGuard, app: ASGIApp) -> None:
        self._guard, self._app = guard, app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
        if any(value[:1] in b" \t" or value[-1:] in b" \t" for _, value in headers if value):
            # The HTTP parser leaves optional white space around values, which RFC 9110 excludes.
            scope = {**scope, "headers": [(name, value.strip(b" \t")) for name, value in headers]}
        refusal = await self._guard.refusal(Request(scope))
        await (refusal or self._app)(scope, receive, send)


class _Streams:
    """Ends the standing GET streams when the server stops; clients would hold them open for ever."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open: set[anyio.CancelScope] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        with anyio.CancelScope() as stream:
            self._open.add(stream)
            try:
                await self._app(scope, receive, watched)
            finally:
                self._open.discard(stream)
        if stream.cancelled_caught:
            if not started:
                await send({"type": "http.response.start", "status": 503, "headers": []})
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def close(self) -> None:
        for stream in tuple(self._open):
            stream.cancel()


class _RequestIds:
    """Gives every request an id: the client's own when it is harmless, else a new one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        offered = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1").strip()
        request_id = offered if _REQUEST_ID.fullmatch(offered) else secrets.token_hex(8)

        async def stamped(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), (b"x-request-id", request_id.encode())]
                message = {**message, "headers": headers}
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            await self._app(scope, receive, stamped)
