"""How is the server reached over standard input and output?

The SDK reads standard input in a thread that nothing can interrupt, so a server that is told to
stop would wait for its client. Therefore the client's bytes come through a socket of our own:
shutting that down looks to the SDK like a client that has left.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

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
        await server.run(incoming, outgoing, server.create_initialization_options())


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
