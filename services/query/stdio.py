"""How is the server reached over standard input and output?

The SDK reads standard input in a thread that nothing can interrupt, so a server that is told to
stop would wait for its client. Therefore the client's bytes come through a socket of our own:
shutting that down looks to the SDK like a client that has left.

The SDK passes over lines that it cannot read, and whoever sent one would wait for ever, so they are
answered here.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

if TYPE_CHECKING:
    from mcp.shared._stream_protocols import ReadStream, WriteStream

_CHUNK_BYTES = 1 << 16


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client until it closes our standard input, or until cancelled.

    Standard input is this function's from then on. While it serves, what is printed by accident
    goes to standard error: the SDK moves the descriptors.
    """
    feed = _divert_stdin() if os.name == "posix" else None
    serving = asyncio.create_task(_serve(server))
    try:
        await asyncio.wait((serving,))
    finally:
        if feed is not None:
            with contextlib.suppress(OSError):  # the client may have left already
                feed.shutdown(socket.SHUT_WR)
        await serving


async def _serve(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        readable = _Readable(incoming, outgoing)
        await server.run(readable, outgoing, server.create_initialization_options())


class _Readable:
    """The messages that can be read; to each of the others an error is the answer."""

    def __init__(
        self,
        incoming: ReadStream[SessionMessage | Exception],
        outgoing: WriteStream[SessionMessage],
    ) -> None:
        self._incoming, self._outgoing = incoming, outgoing

    async def __anext__(self) -> SessionMessage | Exception:
        while isinstance(item := await anext(self._incoming), Exception):
            error = _answer(item)
            if error is not None:
                await self._outgoing.send(SessionMessage(error))
        return item

    async def receive(self) -> SessionMessage | Exception:
        return await anext(self)

    def __aiter__(self) -> Self:
        return self

    async def aclose(self) -> None:
        await self._incoming.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def _answer(unread: Exception) -> types.JSONRPCError | None:
    """What the sender of a line that is no message is told; None where a line is empty."""
    wrong = unread.errors()[0] if isinstance(unread, ValidationError) else None
    if wrong is None or wrong["type"] != "json_invalid":
        return _error(types.INVALID_REQUEST, "the line is no JSON-RPC message")
    text = str(wrong["input"])
    if not text.strip():
        return None
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return _error(types.PARSE_ERROR, "the line is no JSON that can be read")
    # This reader takes what the SDK's does not: text that was cut within a pair is what clients send.
    name = message.get("id") if isinstance(message, dict) else None
    return _error(
        types.PARSE_ERROR,
        "the message holds half of a surrogate pair, which is no text, or is nested too deeply",
        name if type(name) is int or (isinstance(name, str) and name.isascii()) else None,
    )


def _error(code: int, message: str, name: types.RequestId | None = None) -> types.JSONRPCError:
    return types.JSONRPCError(
        jsonrpc="2.0", id=name, error=types.ErrorData(code=code, message=message)
    )


def _divert_stdin() -> socket.socket:
    """Put a socket in place of standard input; return the end that feeds it."""
    feed, replacement = socket.socketpair()
    client = os.dup(0)
    os.dup2(replacement.fileno(), 0)
    replacement.close()
    threading.Thread(target=_copy, args=(client, feed), name="stdin", daemon=True).start()
    return feed


def _copy(client: int, feed: socket.socket) -> None:
    try:
        while data := os.read(client, _CHUNK_BYTES):
            feed.sendall(data)
        feed.shutdown(socket.SHUT_WR)
    except OSError:
        return  # the server stopped first, and nobody reads any more
