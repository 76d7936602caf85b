"""What do the plain HTTP routes answer? No repository data is among it."""

from __future__ import annotations

import html
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from services.query.access import SCOPES
from services.query.gates import base_url

_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
}


class Pages:
    """The plain routes. `ready` returns "" or why not; `guarded` says whether tokens are asked for."""

    def __init__(
        self,
        path: str,
        version: str,
        ready: Callable[[], str],
        metrics: Callable[[], Awaitable[bytes]],
        *,
        guarded: bool,
    ) -> None:
        self._path, self._version, self._guarded = path, version, guarded
        self._ready, self._metrics = ready, metrics

    async def health(self, _request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(self, _request: Request) -> Response:
        reason = self._ready()
        if reason:
            return JSONResponse({"ready": False, "reason": reason}, 503)
        return JSONResponse({"ready": True})

    async def metrics(self, _request: Request) -> Response:
        return Response(
            await self._metrics(), media_type="text/plain; version=0.0.4; charset=utf-8"
        )

    async def metadata(self, request: Request) -> Response:
        return JSONResponse(
            {
                "resource": f"{base_url(request)}{self._path}",
                "resource_name": "Repofold",
                "scopes_supported": list(SCOPES),
                "bearer_methods_supported": ["header"],
            }
        )

    async def front(self, request: Request) -> Response:
        reason = self._ready()
        page = _FRONT.format(
            version=html.escape(self._version),
            state="ready" if not reason else f"not ready: {html.escape(reason)}",
            colour="#2e7d32" if not reason else "#b26a00",
            endpoint=html.escape(f"{base_url(request)}{self._path}"),
            guard="a bearer token" if self._guarded else "no token",
        )
        return HTMLResponse(page, headers=_HEADERS)


_FRONT = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="10">
<meta name="viewport" content="width=device-width">
<title>Repofold</title>
<style>
:root {{ color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }}
body {{ max-width: 40rem; margin: 3rem auto; padding: 0 1rem }}
code {{ font-size: .9em }}
.state {{ color: {colour}; font-weight: 600 }}
</style>
<h1>Repofold <small>{version}</small></h1>
<p class="state">{state}</p>
<p>MCP endpoint: <code>{endpoint}</code>, guarded by {guard}.</p>
<p><a href="/ready">readiness</a> · <a href="/health">health</a> · <a href="/metrics">metrics</a></p>
</html>
"""
