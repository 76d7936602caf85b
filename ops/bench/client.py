"""How does a benchmark or a test call tools over HTTP, as cheaply as a client can?"""

from __future__ import annotations

import http.client
import json
import urllib.parse
from pathlib import Path
from typing import Any

from contracts.errors import Fault, Unavailable

_PROTOCOL = "2026-07-28"


class ToolClient:
    """A keep-alive connection to a node's /mcp."""

    def __init__(self, url: str, token: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self._host, self._port, self._path = (
            parts.hostname or "127.0.0.1",
            parts.port or 80,
            parts.path,
        )
        self._headers = {
            "authorization": f"Bearer {token}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": _PROTOCOL,
        }
        self._connection: http.client.HTTPConnection | None = None
        self._number = 0

    @classmethod
    def of_state(cls, url: str, state: Path, scope: str = "admin") -> ToolClient:
        return cls(url, json.loads((state / "tokens.json").read_text())[scope])

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The tool's structured answer; raises Fault with the text of a refusal."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments}, name=tool)
        if result.get("isError"):
            raise Fault(result["content"][0]["text"])
        answer: dict[str, Any] = result["structuredContent"]
        return answer

    def request(self, method: str, params: dict[str, Any], *, name: str = "") -> dict[str, Any]:
        """One JSON-RPC request of the 2026 protocol."""
        self._number += 1
        meta = {
            "io.modelcontextprotocol/protocolVersion": _PROTOCOL,
            "io.modelcontextprotocol/clientInfo": {"name": "repofold-bench", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        body = json.dumps(
            {
                "jsonrpc": "2.0",
                "id": self._number,
                "method": method,
                "params": {**params, "_meta": meta},
            }
        )
        headers = {**self._headers, "mcp-method": method} | ({"mcp-name": name} if name else {})
        status, raw = self._post(body.encode(), headers)
        if status != 200:
            raise Unavailable(f"HTTP {status}: {raw[:300]!r}")
        message = _message(raw)
        if "error" in message:
            raise Fault(str(message["error"]))
        result: dict[str, Any] = message["result"]
        return result

    def _post(self, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        for attempt in (0, 1):
            if self._connection is None:
                self._connection = http.client.HTTPConnection(self._host, self._port, timeout=60)
            try:
                self._connection.request("POST", self._path, body, headers)
                response = self._connection.getresponse()
                return response.status, response.read()
            except (http.client.HTTPException, OSError):
                self.close()
                if attempt:
                    raise
        raise Unavailable("no answer")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _message(raw: bytes) -> dict[str, Any]:
    """The answer of a response: JSON, or the last event of a stream where it took long."""
    if not raw.startswith(b"{"):
        raw = [line[5:] for line in raw.splitlines() if line.startswith(b"data:")][-1]
    message: dict[str, Any] = json.loads(raw)
    return message
