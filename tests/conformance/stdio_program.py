"""A stdio server of the small catalogue: `python -m tests.conformance.stdio_program`."""

from __future__ import annotations

import asyncio
import signal

from services.query.mcp import build_server
from services.query.stdio import serve_stdio
from services.query.visibility import Policy
from tests.conformance.small_catalogue import View, catalogue


async def main() -> None:
    server = build_server(catalogue(), lambda caller: View(caller, []), Policy(), version="1")
    await serve_stdio(server)


if __name__ == "__main__":
    # Whoever runs the tests in the background of a script has handed an ignored SIGINT down.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    asyncio.run(main())
