"""Which tool calls over HTTP are answered past the SDK's transport?

Plain ones of the 2026 protocol: one complete body that names a tool and asks for nothing beside its
answer. The transport makes models of each request and response and starts two tasks for a call, which
takes longer than many tools do. What it would look at is looked at here, where it matters with its own
functions; whatever is not plain goes to it untouched and is answered or refused there.

So does a call that is not answered at once, with its running task: the transport sees whether the
client leaves, and keeps the connection alive.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.query.mcp import RUNNING, DirectCalls, agrees_with

_AT_ONCE_S: Final = 0.25
_READ: Final = frozenset(
    {
        b"accept",
        b"content-type",
        b"mcp-method",
        b"mcp-name",
        b"mcp-protocol-version",
        b"mcp-session-id",
    }
)
_ACCEPTED: Final = frozenset({b"application/json", b"text/event-stream"})
_KEYS: Final = frozenset({"jsonrpc", "id", "method", "params"})
_WATCHED: Final = "progressToken"  # of a call whose progress is to be told
_LARGEST_ID: Final = 1 << 53
_encode = msgspec.json.Encoder().encode

Headers = Mapping[bytes, bytes]


class _Request(Struct, frozen=True):
    id: int | str
    params: dict[str, Any]


class PlainPosts:
    """Answers plain calls, and leaves the rest to the transport behind it.

    Host, Origin and token are checked before.
    """

    def __init__(
        self,
        transport: ASGIApp,
        calls: DirectCalls,
        *,
        body_bytes: int,
        at_once_s: float = _AT_ONCE_S,
    ) -> None:
        """Larger bodies, and calls that take longer, are the transport's."""
        self._transport, self._calls = transport, calls
        self._body_bytes, self._at_once_s = body_bytes, at_once_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _plain_headers(scope)
        if headers is None:
            await self._transport(scope, receive, send)
            return
        message = await receive()
        request = self._read(message, headers)
        pending = None if request is None else self._calls.started(request.params)
        if request is None or pending is None:
            await self._transport(scope, _from(message, receive), send)
            return
        call = asyncio.ensure_future(pending)
        try:
            await asyncio.wait((call,), timeout=self._at_once_s)
            if not call.done():
                running = {**scope, RUNNING: call}
                await self._transport(running, _from(message, receive), send)
                return
        finally:
            call.cancel()  # does nothing to one that is done
        await _send(send, request.id, self._calls.stamped(call.result()))

    def _read(self, message: Message, headers: Headers) -> _Request | None:
        """The request of a body; None when it is not whole, well formed and plain."""
        if message["type"] != "http.request" or message.get("more_body", False):
            return None
        body = message.get("body", b"")
        if len(body) > self._body_bytes:
            return None
        try:
            decoded = json.loads(body)
        except (ValueError, RecursionError):
            return None
        if not isinstance(decoded, dict) or decoded.keys() != _KEYS or decoded["jsonrpc"] != "2.0":
            return None
        told = {name.decode(): value.decode("latin-1") for name, value in headers.items()}
        if not agrees_with(decoded, told):
            return None
        number, params = decoded["id"], decoded["params"]
        if _WATCHED in params["_meta"] or not _is_plain_id(number):
            return None
        return _Request(number, params)


def _plain_headers(scope: Scope) -> Headers | None:
    """The headers that decide, by name; None when they are not those of a plain call."""
    if scope["method"] != "POST":
        return None
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _READ:
            if name in headers:
                return None
            headers[name] = value
    accepted = {kind.strip() for kind in headers.get(b"accept", b"").split(b",")}
    is_plain = (
        headers.get(b"mcp-method") == b"tools/call"
        and headers.get(b"content-type") == b"application/json"
        and b"mcp-session-id" not in headers
        and accepted >= _ACCEPTED
    )
    return headers if is_plain else None


def _is_plain_id(number: object) -> bool:
    if isinstance(number, str):
        return number.isascii()
    return type(number) is int and abs(number) < _LARGEST_ID


def _from(first: Message, receive: Receive) -> Receive:
    """Return a `receive` that gives the first message once more."""
    read = [first]

    async def again() -> Message:
        return read.pop() if read else await receive()

    return again


async def _send(send: Send, number: int | str, result: Mapping[str, Any]) -> None:
    body = _encode({"jsonrpc": "2.0", "id": number, "result": result})
    headers = [
        (b"content-length", str(len(body)).encode()),
        (b"content-type", b"application/json"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
