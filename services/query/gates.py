"""Who gets through to an HTTP route?

A Host or Origin that is not allowed is turned away, which stops web pages that reach this machine
by DNS rebinding; then whoever has no bearer token of ours.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from services.query.access import Caller, TokenStore

Handler = Callable[[Request], Awaitable[Response]]

METADATA_PATH = "/.well-known/oauth-protected-resource/mcp"

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def security(names: Iterable[str], origins: Iterable[str]) -> TransportSecuritySettings:
    """Return what may stand in Host and Origin: this machine's names and those given, at any port."""
    further = tuple(names)
    hosts = (*_LOOPBACK, *further)
    return TransportSecuritySettings(
        allowed_hosts=[entry for name in hosts for entry in (name, f"{name}:*")],
        allowed_origins=[
            *origins,
            *(f"http://{name}{port}" for name in _LOOPBACK for port in ("", ":*")),
            *(f"https://{name}{port}" for name in further for port in ("", ":*")),
        ],
    )


def base_url(request: Request) -> str:
    """Return the address the client used, as far as its Host header tells."""
    return f"{request.url.scheme}://{request.headers.get('host', '')}"


class HostGuard:
    """421 for a Host and 403 for an Origin that is not allowed."""

    def __init__(self, security: TransportSecuritySettings) -> None:
        self._check = TransportSecurityMiddleware(security)

    async def refusal(self, request: Request) -> Response | None:
        return await self._check.validate_request(request)

    def around(self, handler: Handler) -> Handler:
        async def guarded(request: Request) -> Response:
            response: Response = await self.refusal(request) or await handler(request)
            return response

        return guarded


class BearerGate:
    """Lets in whoever has a token, and says who it is."""

    def __init__(self, app: ASGIApp, tokens: TokenStore) -> None:
        self._app = AuthContextMiddleware(app)
        self._tokens = tokens
        self._users: dict[Caller, AuthenticatedUser] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = self._caller(scope)
        if caller is None:
            await _challenge(scope, 401, "invalid_token", "a bearer token is required")(
                scope, receive, send
            )
        elif "read" not in caller.scopes:
            await _challenge(scope, 403, "insufficient_scope", "the read scope is required")(
                scope, receive, send
            )
        else:
            await self._app({**scope, "user": self._user(caller)}, receive, send)

    def _caller(self, scope: Scope) -> Caller | None:
        values = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(values) != 1:
            return None
        scheme, _, token = values[0].decode("latin-1").partition(" ")
        return self._tokens.find(token.strip()) if scheme.lower() == "bearer" else None

    def _user(self, caller: Caller) -> AuthenticatedUser:
        user = self._users.get(caller)
        if user is None:
            # Without the token itself: nothing downstream has a use for it.
            token = AccessToken(
                token="",
                client_id=caller.principal,
                subject=caller.principal,
                scopes=sorted(caller.scopes),
            )
            user = self._users[caller] = AuthenticatedUser(token)
        return user


def _challenge(scope: Scope, status: int, error: str, description: str) -> Response:
    metadata = f"{base_url(Request(scope))}{METADATA_PATH}"
    return JSONResponse(
        {"error": error, "error_description": description},
        status,
        {
            "www-authenticate": f'Bearer error="{error}", error_description="{description}", '
            f'resource_metadata="{metadata}"'
        },
    )
