"""What does the HTTP side let through, and what does it answer?"""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette

from contracts.errors import Forbidden, Unavailable
from services.query.access import LOCAL, StaticTokens, Tokens, load_or_create_tokens
from services.query.http import BODY_BYTES, Site, build_app, is_loopback
from services.query.mcp import build_server, local_caller, token_caller
from services.query.serve import serve_http
from services.query.visibility import Policy
from tests.conformance.http_server import running
from tests.conformance.small_catalogue import Recorder, View, catalogue

TOKENS = Tokens("t-read", "t-write", "t-admin")
MODERN = {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "small_echo",
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}
LEGACY = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
READ = {"authorization": "Bearer t-read"}


async def figures() -> bytes:
    return b"repofold_up 1\n"


def site(**changes: Any) -> Site:
    settings: dict[str, Any] = {
        "tokens": StaticTokens(TOKENS),
        "version": "1.2.3",
        "ready": lambda: "",
        "metrics": figures,
    }
    return Site(**(settings | changes))


def app(
    settings: Site | None = None, *, recorder: Recorder | None = None, log: list[str] | None = None
) -> Starlette:
    settings = settings or site()
    notes: list[str] = [] if log is None else log
    server = build_server(
        catalogue(),
        lambda caller: View(caller, notes),
        Policy(mode="workspace"),
        version="1.2.3",
        callers=token_caller if settings.tokens else local_caller,
        observer=recorder,
    )
    return build_app(server, settings)


@pytest.fixture(scope="module")
async def base_url() -> AsyncIterator[str]:
    async with running(app()) as url:
        yield url


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    envelope = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": name, "arguments": arguments, "_meta": envelope}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


async def post(
    base_url: str, headers: dict[str, str], message: dict[str, Any] | None = None
) -> httpx2.Response:
    async with httpx2.AsyncClient() as http:
        body = message or call("small_echo", {"text": "a"})
        return await http.post(f"{base_url}/mcp", headers={**MODERN, **headers}, json=body)


async def get(base_url: str, path: str, headers: dict[str, str] | None = None) -> httpx2.Response:
    async with httpx2.AsyncClient() as http:
        return await http.get(f"{base_url}{path}", headers=headers or {})


def client(base_url: str, token: str, era: str) -> Client:
    http = httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"})
    return Client(streamable_http_client(f"{base_url}/mcp", http_client=http), mode=era)


# --------------------------------------------------------------------------- serving


@pytest.mark.parametrize("era", ["legacy", "auto"])
@pytest.mark.parametrize(
    ("token", "principal", "tools"),
    [("t-read", "read", 8), ("t-write", "write", 9), ("t-admin", "admin", 10)],
)
async def test_a_token_decides_what_its_holder_sees_and_may_do(
    base_url: str, era: str, token: str, principal: str, tools: int
) -> None:
    async with client(base_url, token, era) as mcp_client:
        listed = (await mcp_client.list_tools()).tools
        echo = await mcp_client.call_tool("small_echo", {"text": "a"})
        if principal != "read":
            written = await mcp_client.call_tool("small_write", {})
            assert written.structured_content == {"principal": principal}

    assert len(listed) == tools
    assert not echo.is_error


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_tool_above_the_tokens_scope_is_unknown(era: str) -> None:
    log: list[str] = []

    async with running(app(log=log)) as base_url, client(base_url, "t-read", era) as mcp_client:
        with pytest.raises(Exception, match="Unknown tool"):
            await mcp_client.call_tool("small_remove", {})

    assert log == []


async def test_without_tokens_a_loopback_server_serves_everybody_on_this_machine() -> None:
    async with running(app(site(tokens=None))) as base_url, Client(f"{base_url}/mcp") as mcp_client:
        assert len((await mcp_client.list_tools()).tools) == 10


async def test_a_plain_call_is_answered_as_plain_json(base_url: str) -> None:
    response = await post(base_url, READ)

    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    result = response.json()["result"]
    assert result["structuredContent"]["text"] == "a"
    assert result["resultType"] == "complete"
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "repofold"


async def test_a_client_that_goes_away_ends_its_call() -> None:
    started, ended = anyio.Event(), anyio.Event()

    class Notes(list[str]):
        def append(self, note: str) -> None:
            super().append(note)
            ended.set()

    notes = Notes()
    server = build_server(
        catalogue(), lambda caller: View(caller, notes, started), Policy(), version="1"
    )
    async with running(build_app(server, site(tokens=None))) as base_url:
        slow = post(base_url, {"mcp-name": "small_slow"}, call("small_slow", {}))
        leaving = asyncio.create_task(slow)
        with anyio.fail_after(5):
            await started.wait()
            leaving.cancel()
            await ended.wait()

    assert notes == ["slow ended"]


# --------------------------------------------------------------------------- tokens


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": "Bearer"},
        {"authorization": "Basic t-read"},
        {"authorization": "t-read"},
    ],
)
async def test_without_a_token_of_ours_the_answer_is_401_and_where_to_learn_more(
    base_url: str, headers: dict[str, str]
) -> None:
    response = await post(base_url, headers)
    where = f"{base_url}/.well-known/oauth-protected-resource/mcp"

    assert response.status_code == 401
    assert f'resource_metadata="{where}"' in response.headers["www-authenticate"]
    assert (await get(base_url, where.removeprefix(base_url))).json() == {
        "resource": f"{base_url}/mcp",
        "resource_name": "Repofold",
        "scopes_supported": ["read", "write", "admin"],
        "bearer_methods_supported": ["header"],
    }


@pytest.mark.parametrize(
    "headers",
    [
        ["authorization: Bearer t-read", "authorization: Bearer t-read"],
        ["authorization: Bearer "],
        ["authorization: Bearer t-read\xff"],
        ["authorization: Bearer t-read t-read"],
    ],
)
async def test_a_header_that_is_not_quite_right_is_no_token(
    base_url: str, headers: list[str]
) -> None:
    assert await raw(base_url, "POST /mcp HTTP/1.1", *headers) == 401


async def test_a_token_without_the_read_scope_is_403() -> None:
    class Odd:
        def find(self, token: str) -> Any:
            return LOCAL.__class__("odd", frozenset({"write"})) if token == "odd" else None

    async with running(app(site(tokens=Odd()))) as base_url:
        response = await post(base_url, {"authorization": "Bearer odd"})

    assert response.status_code == 403
    assert "insufficient_scope" in response.headers["www-authenticate"]


async def test_a_session_belongs_to_the_token_that_opened_it(base_url: str) -> None:
    async with httpx2.AsyncClient(base_url=base_url) as http:
        opened = await http.post(
            "/mcp", headers={**LEGACY, "authorization": "Bearer t-admin"}, json=HELLO
        )
        session = {"mcp-session-id": opened.headers["mcp-session-id"], **LEGACY}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        foreign = await http.post("/mcp", headers={**session, **READ}, json=ping)
        foreign_end = await http.delete("/mcp", headers={**session, **READ})
        own = await http.post(
            "/mcp", headers={**session, "authorization": "Bearer t-admin"}, json=ping
        )

    assert (foreign.status_code, foreign_end.status_code, own.status_code) == (404, 404, 200)


def test_a_token_is_found_by_its_digest_only() -> None:
    store = StaticTokens(TOKENS)

    assert store.find("t-write") is not None
    assert store.find("t-writ") is None
    assert store.find("") is None
    assert "t-write" not in repr(vars(store))
    assert "t-read" not in repr(TOKENS)


# --------------------------------------------------------------------------- token file


def test_tokens_are_made_once_and_kept_private(tmp_path: Path) -> None:
    path = tmp_path / "state" / "tokens.json"

    first = load_or_create_tokens(path)

    assert load_or_create_tokens(path) == first
    assert len({first.read, first.write, first.admin}) == 3
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["tokens.json"]


def test_processes_that_come_at_once_agree(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"

    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(load_or_create_tokens, [path] * 64))

    assert len({tokens.admin for tokens in made}) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["tokens.json"]


@pytest.mark.parametrize("content", ["", "{}", '{"read": "a"'])
def test_a_damaged_token_file_stops_the_start_with_advice(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(content)

    with pytest.raises(Unavailable) as caught:
        load_or_create_tokens(path)

    assert "delete it" in caught.value.hint


# --------------------------------------------------------------------------- web pages and strangers


@pytest.mark.parametrize(
    "path", ["/mcp", "/", "/metrics", "/.well-known/oauth-protected-resource/mcp"]
)
async def test_a_foreign_host_is_421(base_url: str, path: str) -> None:
    assert (await get(base_url, path, {"host": "evil.example"})).status_code == 421


@pytest.mark.parametrize("path", ["/health", "/ready"])
async def test_probes_may_use_any_host(base_url: str, path: str) -> None:
    assert (await get(base_url, path, {"host": "10.1.2.3:8765"})).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost.evil.example"]
)
async def test_a_foreign_origin_is_403(base_url: str, origin: str) -> None:
    assert (await post(base_url, {**READ, "origin": origin})).status_code == 403


async def test_a_local_origin_may_call(base_url: str) -> None:
    assert (await post(base_url, {**READ, "origin": "http://localhost:6274"})).status_code == 200


async def test_configured_names_are_hosts_and_origins() -> None:
    async with running(app(site(names=("ctx.example",)))) as base_url:
        plain = await post(
            base_url, {**READ, "host": "ctx.example", "origin": "https://ctx.example"}
        )
        with_port = await post(base_url, {**READ, "host": "ctx.example:8443"})
        other = await post(base_url, {**READ, "host": "other.example"})

    assert (plain.status_code, with_port.status_code, other.status_code) == (200, 200, 421)


@pytest.mark.parametrize(
    "changes",
    [{"tokens": None, "names": ("ctx.example",)}, {"names": ()}],
    ids=["no-tokens", "no-names"],
)
def test_an_address_others_reach_needs_tokens_and_names(changes: dict[str, Any]) -> None:
    with pytest.raises(Forbidden, match="reachable by other machines"):
        app(site(host="0.0.0.0", **changes))


def test_an_address_others_reach_is_fine_with_both() -> None:
    app(site(host="0.0.0.0", names=("ctx.example",)))


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False),
     ("::", False), ("10.0.0.1", False), ("example.org", False)],
)  # fmt: skip
def test_what_counts_as_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


# --------------------------------------------------------------------------- bodies and headers


async def test_a_body_over_a_mebibyte_is_413_and_below_it_is_served(base_url: str) -> None:
    fits = await post(base_url, READ, call("small_echo", {"text": "x" * (BODY_BYTES - 1_000)}))
    over = await post(base_url, READ, call("small_echo", {"text": "x" * BODY_BYTES}))

    assert (fits.status_code, over.status_code) == (200, 413)


async def test_a_body_without_a_declared_length_is_capped_too(base_url: str) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(64):
            yield b" " * 65_536

    async with httpx2.AsyncClient() as http:
        response = await http.post(f"{base_url}/mcp", headers={**MODERN, **READ}, content=endless())

    assert response.status_code == 413


async def test_nobody_without_a_token_gets_a_body_read(base_url: str) -> None:
    assert (
        await post(base_url, {}, call("small_echo", {"text": "x" * BODY_BYTES}))
    ).status_code == 401


async def test_white_space_around_a_header_value_does_not_matter(base_url: str) -> None:
    body = json.dumps(call("small_echo", {"text": "a"}))
    headers = [f"{name}: \t {value} \t" for name, value in {**MODERN, **READ}.items()]

    assert await raw(base_url, "POST /mcp HTTP/1.1", *headers, body=body) == 200


async def test_a_request_keeps_its_id_or_gets_one(base_url: str) -> None:
    own = await get(base_url, "/health", {"x-request-id": "trace-7"})
    odd = await get(base_url, "/health", {"x-request-id": "a b<script>"})
    none = await get(base_url, "/health")

    assert own.headers["x-request-id"] == "trace-7"
    assert len({"a b<script>", odd.headers["x-request-id"], none.headers["x-request-id"]}) == 3


async def raw(base_url: str, request_line: str, *headers: str, body: str = "{}") -> int:
    """Send a request as written; returns the status."""
    host, port = base_url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    lines = [request_line, f"host: {host}:{port}", f"content-length: {len(body)}", *headers]
    writer.write("\r\n".join([*lines, "connection: close", "", body]).encode("latin-1"))
    status = (await reader.readline()).split()[1]
    writer.close()
    return int(status)


# --------------------------------------------------------------------------- pages


async def test_readiness_tells_the_reason() -> None:
    reasons = ["projections are 12 events behind", ""]

    async with running(app(site(ready=lambda: reasons[0]))) as base_url:
        before = await get(base_url, "/ready")
        reasons.pop(0)
        after = await get(base_url, "/ready")
        alive = await get(base_url, "/health")

    assert (before.status_code, before.json()["reason"]) == (
        503,
        "projections are 12 events behind",
    )
    assert (after.status_code, after.json()) == (200, {"ready": True})
    assert alive.json() == {"status": "ok"}


async def test_metrics_are_served_as_they_are(base_url: str) -> None:
    response = await get(base_url, "/metrics")

    assert response.text == "repofold_up 1\n"
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")


async def test_the_page_for_people_is_self_contained_and_escaped() -> None:
    async with running(app(site(ready=lambda: "<b>waiting</b>"))) as base_url:
        page = await get(base_url, "/")

    assert "Repofold <small>1.2.3</small>" in page.text
    assert "not ready: &lt;b&gt;waiting&lt;/b&gt;" in page.text
    assert f"{base_url}/mcp" in page.text
    assert "<script" not in page.text
    assert "src=" not in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")


# --------------------------------------------------------------------------- starting and stopping


async def test_an_address_in_use_stops_the_start_with_advice() -> None:
    async with running(app()) as base_url:
        with pytest.raises(Unavailable, match="cannot listen"):
            await serve_http(
                app(),
                host="127.0.0.1",
                port=int(base_url.rpartition(":")[2]),
                on_ready=print,
                stop=asyncio.Event(),
            )


async def test_stopping_ends_standing_streams_at_once(
    base_url_and_stop: tuple[str, Callable[[], None]],
) -> None:
    base_url, stop = base_url_and_stop

    async with httpx2.AsyncClient(base_url=base_url) as http:
        opened = await http.post("/mcp", headers={**LEGACY, **READ}, json=HELLO)
        session = {"mcp-session-id": opened.headers["mcp-session-id"], **LEGACY, **READ}
        async with http.stream("GET", "/mcp", headers=session) as stream:
            stop()
            with anyio.fail_after(4):  # well before the drain time that calls under way get
                assert [chunk async for chunk in stream.aiter_bytes() if chunk.strip(b"\r\n")] == []


@pytest.fixture
async def base_url_and_stop() -> AsyncIterator[tuple[str, Callable[[], None]]]:
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    serving = asyncio.create_task(
        serve_http(app(), host="127.0.0.1", port=0, on_ready=ready.set_result, stop=stop)
    )
    yield await ready, stop.set
    stop.set()
    await serving
