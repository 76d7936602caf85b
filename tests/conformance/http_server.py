"""A real HTTP server on a free port, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette

from services.query.serve import serve_http


@asynccontextmanager
async def running(app: Starlette) -> AsyncIterator[str]:
    """Serve `app` on a free loopback port; yields the base URL."""
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    serving = asyncio.create_task(
        serve_http(app, host="127.0.0.1", port=0, on_ready=ready.set_result, stop=stop)
    )
    try:
        await asyncio.wait((serving, ready), return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            await serving
        yield ready.result()
    finally:
        stop.set()
        await serving
