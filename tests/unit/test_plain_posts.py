"""Which calls go past the SDK's transport, and does the client see a difference?"""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.query.mcp import RUNNING, DirectCalls, build_server
from services.query.plain_posts import PlainPosts
from services.query.registry import Catalogue, tool
from services.query.visibility import Policy
from tests.conformance.small_catalogue import Done, Nothing, View, catalogue

BODY_BYTES = 4_096
PLAIN = {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "small_echo",
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}
ENVELOPE: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@tool("small_turns", title="Turns", family="small", description="Give way many times.")
async def turns(view: View, _request: Nothing) -> Done:
    view.log.append("small_turns")
    for _ in range(100):
        await checkpoint()
    return Done(principal=view.caller.principal)


class Transport:
    """Stands in for the SDK's: keeps what comes to it."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def __call__(self, _scope: Scope, receive: Receive, _send: Send) -> None:
        self.bodies.append(await _whole(receive))


async def _whole(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message["body"]
        more = message.get("more_body", False)
    return body


def posts(transport: ASGIApp, log: list[str] | None = None, **settings: Any) -> PlainPosts:
    notes: list[str] = [] if log is None else log
    tools = Catalogue([*catalogue(), turns])
    server = build_server(tools, lambda caller: View(caller, notes), Policy(), version="1")
    return PlainPosts(transport, DirectCalls.of(server), body_bytes=BODY_BYTES, **settings)


def body(name: str = "small_echo", **changes: Any) -> bytes:
    arguments = {"text": "a"} if name == "small_echo" else {}
    params = {"name": name, "arguments": arguments, "_meta": ENVELOPE}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    request |= {key: value for key, value in changes.items() if key in request}
    params |= {key: value for key, value in changes.items() if key not in request}
    return json.dumps(request).encode()


async def post(
    app: ASGIApp, *parts: bytes, **changes: str
) -> tuple[int, dict[bytes, bytes], dict[str, Any]] | None:
    """Status, headers and content of the answer; None when there was none."""
    headers = {**PLAIN, **{name.replace("_", "-"): value for name, value in changes.items()}}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items() if value],
    }
    waiting: list[Message] = [
        {"type": "http.request", "body": part, "more_body": at + 1 < len(parts)}
        for at, part in enumerate(parts)
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        if not waiting:
            await anyio.sleep_forever()
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    with anyio.fail_after(5):
        await app(scope, receive, send)
    if not sent:
        return None
    start, *rest = sent
    content = json.loads(b"".join(message["body"] for message in rest))
    return start["status"], dict(start["headers"]), content


# --------------------------------------------------------------------------- which way


async def test_a_plain_call_does_not_reach_the_transport() -> None:
    transport = Transport()

    answer = await post(posts(transport), body())

    assert answer is not None
    status, headers, content = answer
    assert (status, headers[b"content-type"], content["id"]) == (200, b"application/json", 1)
    assert content["result"]["structuredContent"]["text"] == "a"
    assert transport.bodies == []


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp_protocol_version": "2025-11-25"},
        {"mcp_protocol_version": "2099-01-01"},
        {"mcp_method": "tools/list"},
        {"mcp_name": "small_write"},
        {"mcp_name": ""},
        {"accept": "application/json"},
        {"accept": "*/*"},
        {"content_type": "text/plain"},
        {"content_type": ""},
        {"mcp_session_id": "s"},
    ],
)
async def test_other_headers_are_for_the_transport_to_judge(headers: dict[str, str]) -> None:
    transport = Transport()
    log: list[str] = []

    assert await post(posts(transport, log), body(), **headers) is None

    assert (transport.bodies, log) == ([body()], [])


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"[" * 3_000,
        body(jsonrpc="1.0"),
        body(id=None),
        body(id=True),
        body(id=1.0),
        body(id=1 << 60),
        body(id="\u00e9"),
        body(method="tools/list"),
        body(params=None),
        body(params=[]),
        body(_meta=None),
        body(_meta={}),
        body(_meta={**ENVELOPE, "progressToken": 1}),
        body(name="small_unknown"),
        body(name=1),
        body(arguments=[]),
        body(inputResponses={}),
        body(arguments={"text": "x" * BODY_BYTES}),
    ],
)
async def test_other_bodies_are_for_the_transport_to_judge(sent: bytes) -> None:
    transport = Transport()
    log: list[str] = []
    name = "small_unknown" if b"small_unknown" in sent else "small_echo"

    assert await post(posts(transport, log), sent, mcp_name=name) is None

    assert (transport.bodies, log) == ([sent], [])


async def test_a_body_in_parts_reaches_the_transport_whole() -> None:
    transport = Transport()

    assert await post(posts(transport), body()[:20], body()[20:]) is None

    assert transport.bodies == [body()]


# --------------------------------------------------------------------------- no difference


def sdk(server: Any) -> tuple[StreamableHTTPSessionManager, ASGIApp]:
    manager = StreamableHTTPSessionManager(app=server)
    return manager, StreamableHTTPASGIApp(manager)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("small_echo", {"text": 'caf\u00e9 \U0001f9ed "quoted" \u2028', "links": {"a": ["b"]}}),
        ("small_echo", {"text": "a", "count": "5", "globs": '["*.py"]'}),
        ("small_echo", {"text": "a", "shout": True}),
        ("small_echo", {}),
        ("small_missing", {}),
        ("small_refused", {}),
        ("small_broken", {}),
    ],
)
async def test_the_client_cannot_tell_which_way_its_call_took(
    name: str, arguments: dict[str, Any]
) -> None:
    server = build_server(catalogue(), lambda caller: View(caller, []), Policy(), version="1")
    manager, transport = sdk(server)
    plain = PlainPosts(Transport(), DirectCalls.of(server), body_bytes=BODY_BYTES)
    sent = body(name=name, arguments=arguments, id="q")

    async with manager.run():
        by_transport = await post(transport, sent, mcp_name=name)
        by_itself = await post(plain, sent, mcp_name=name)

    assert by_transport is not None
    assert by_itself is not None
    assert by_itself[0] == by_transport[0]
    assert by_itself[1].keys() == by_transport[1].keys()
    assert by_itself[2] == by_transport[2]


# --------------------------------------------------------------------------- longer calls


async def test_a_longer_call_goes_on_in_the_transport_and_runs_once() -> None:
    log: list[str] = []
    tools = Catalogue([turns])
    server = build_server(tools, lambda caller: View(caller, log), Policy(), version="1")
    manager, transport = sdk(server)
    handed_over: list[bool] = []

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        handed_over.append(scope[RUNNING].done())
        await transport(scope, receive, send)

    app = PlainPosts(watched, DirectCalls.of(server), body_bytes=BODY_BYTES, at_once_s=0)
    async with manager.run():
        answer = await post(app, body("small_turns"), mcp_name="small_turns")

    assert answer is not None
    assert answer[2]["result"]["structuredContent"] == {"principal": "local"}
    assert (handed_over, log) == ([False], ["small_turns"])


async def test_a_call_ends_when_nobody_waits_for_it_any_more() -> None:
    started, log = anyio.Event(), list[str]()
    server = build_server(
        catalogue(), lambda caller: View(caller, log, started), Policy(), version="1"
    )
    app = PlainPosts(Transport(), DirectCalls.of(server), body_bytes=BODY_BYTES)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: post(app, body("small_slow"), mcp_name="small_slow"))
        with anyio.fail_after(5):
            await started.wait()
            tasks.cancel_scope.cancel()

    with anyio.fail_after(5):
        while not log:
            await checkpoint()
    assert log == ["slow ended"]
