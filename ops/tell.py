"""How does the command line change something? By the same tools, on the node that runs.

Tools that write need the node's broker; they answer once this node's projections show the change.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ops.node.options import running_node
from services.kernel.bus import Bus
from services.query.access import LOCAL
from services.query.catalogue import TOOLS
from services.query.host import Host, View


def tell(args: argparse.Namespace, tool: str, arguments: Mapping[str, Any]) -> Struct:
    """The tool's answer; raises its faults, and Unavailable when no node runs."""
    declared = TOOLS[tool]
    request = declared.arguments.read(arguments)
    settings = running_node(args)

    async def answer() -> Struct:
        bus = Bus(settings, "ops")
        await bus.start(patience_s=10.0)
        host = Host(settings, bus, "")
        try:
            await host.start()
            found: Struct = await declared.body(View(host, LOCAL), request)
        finally:
            await host.stop()
        return found

    return asyncio.run(answer())
