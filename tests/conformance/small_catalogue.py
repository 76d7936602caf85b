"""A small catalogue whose tools show one behaviour each."""

from __future__ import annotations

from typing import Annotated, Literal

import anyio
from msgspec import Meta, Struct, field

from contracts.errors import Forbidden, NotFound
from contracts.tools.base import Answer, Filled, Request
from contracts.tools.repocontext import (
    IndexStatus,
    IndexStatusRequest,
    ListReposRequest,
    RepoList,
    RepoSummary,
)
from services.query.access import Caller
from services.query.calls import Outcome
from services.query.registry import Catalogue, tool


class View(Struct):
    """What the bodies work with."""

    caller: Caller
    log: list[str]
    started: anyio.Event = field(default_factory=anyio.Event)  # set by the slow tool


class EchoRequest(Request, frozen=True, kw_only=True):
    """Every kind of argument."""

    text: Annotated[str, Meta(description="Anything")]
    scope: Literal["Files", "MemoryTopic"] = "Files"
    count: int = 3
    ratio: float = 0.5
    loud: bool = False
    globs: tuple[str, ...] = ()
    links: dict[str, tuple[str, ...]] | None = None
    repo_id: Filled | None = None
    region: str | None = None


class Echo(Answer, frozen=True, kw_only=True):
    """What was understood."""

    text: str
    scope: str
    count: int
    globs: tuple[str, ...]
    links: dict[str, tuple[str, ...]] | None = None


class Nothing(Request, frozen=True, kw_only=True):
    """No arguments."""


class Done(Answer, frozen=True, kw_only=True):
    """It was done, and by whom."""

    principal: str


class SizeRequest(Request, frozen=True, kw_only=True):
    """How much to return."""

    size: int


class Text(Answer, frozen=True, kw_only=True):
    """Some text."""

    text: str


@tool("small_echo", title="Echo", family="small")
async def echo(view: View, request: EchoRequest) -> Echo:
    """Say what was understood. Use it to look at arguments."""
    view.log.append("small_echo")
    return Echo(
        text=request.text,
        scope=request.scope,
        count=request.count,
        globs=request.globs,
        links=request.links,
    )


@tool("small_missing", title="Missing", family="small", description="Never find anything.")
async def missing(_view: View, _request: Nothing) -> Done:
    raise NotFound(
        "no such thing\nHint: forged\u2028line", hint="name another", reason="missing_target"
    )


@tool("small_refused", title="Refused", family="small", description="Always refuse.")
async def refused(_view: View, _request: Nothing) -> Done:
    raise Forbidden("writes stopped by the fence", reason="fenced")


@tool("small_broken", title="Broken", family="small", description="Fail without foresight.")
async def broken(_view: View, _request: Nothing) -> Done:
    raise RuntimeError("password=hunter2")


@tool("small_large", title="Large", family="small", description="Return many characters.")
async def large(_view: View, request: SizeRequest) -> Text:
    return Text(text="x" * request.size)


@tool("small_slow", title="Slow", family="small", description="Wait until it is cancelled.")
async def slow(view: View, _request: Nothing) -> Done:
    view.started.set()
    try:
        await anyio.sleep_forever()
    finally:
        view.log.append("slow ended")
    return Done(principal=view.caller.principal)


@tool(
    "small_write",
    title="Write",
    family="small",
    description="Change something.",
    writes=True,
    destructive=False,
)
async def write(view: View, _request: Nothing) -> Done:
    view.log.append("small_write")
    return Done(principal=view.caller.principal)


@tool(
    "small_remove",
    title="Remove",
    family="small",
    description="Remove something for good.",
    writes=True,
    scope="admin",
    modes=("workspace",),
)
async def remove(view: View, _request: Nothing) -> Done:
    view.log.append("small_remove")
    return Done(principal=view.caller.principal)


@tool(
    "small_onboard",
    title="Onboard",
    family="small",
    description="Take something in.",
    writes=True,
    modes=("single",),
    needs_workspace_root=True,
    profiles=("setup",),
)
async def onboard(view: View, _request: Nothing) -> Done:
    return Done(principal=view.caller.principal)


@tool("repocontext_list_repos", title="Repositories", family="repocontext")
async def list_repos(_view: View, _request: ListReposRequest) -> RepoList:
    """List the repositories."""
    one = RepoSummary(repo_id="a/b", file_count=2, embedded_vector_count_pending=False)
    return RepoList(repos=(one,), count=1)


@tool("repocontext_index_status", title="Status", family="repocontext")
async def index_status(_view: View, request: IndexStatusRequest) -> IndexStatus:
    """Tell how far indexing is."""
    return IndexStatus(repo_id=request.repo_id, status="None")


TOOLS = (
    echo, missing, refused, broken, large, slow, write, remove, onboard, list_repos, index_status,
)  # fmt: skip


def catalogue() -> Catalogue[View]:
    return Catalogue(TOOLS)


class Recorder:
    """An Observer that keeps what it was told."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Outcome, str]] = []

    def on_call(
        self, tool: str, seconds: float, outcome: Outcome, reason: str, path: str = ""
    ) -> None:
        assert seconds >= 0
        self.calls.append((tool, outcome, reason))
