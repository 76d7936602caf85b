"""Requests and answers of bundles: code for a task, packed under a ceiling of tokens, and what that saves.

Tokens are counted exactly, with the encoding that the server is set to.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from contracts.tools.base import Answer
from contracts.tools.repocontext import ContextRequest, RetrievalPath, SearchMode

Level = Literal["paths", "outline", "slices"]
UnitKind = Literal["pointer", "outline", "span"]


class BundleRequest(ContextRequest, frozen=True, kw_only=True):
    """A task, how much may be spent on it, and what the caller holds already."""

    repo_id: str
    task: Annotated[str, Meta(description="What is to be done, in words; identifiers help")]
    top: Annotated[int, Meta(description="Files wanted, 1-50")] = 10
    response_budget_tokens: Annotated[
        int, Meta(description="Ceiling of the whole result, at most 200000")
    ] = 8192
    detail: Annotated[str, Meta(description="auto, slices, outline or paths")] = "auto"
    seen: Annotated[tuple[str, ...], Meta(description="Receipts of units you hold")] = ()
    known: Annotated[
        tuple[str, ...], Meta(description="path@contentHash of whole files you hold; with session")
    ] = ()
    session: (
        Annotated[
            str,
            Meta(description="An id of your choice: units delivered under it are not sent again"),
        ]
        | None
    ) = None


class BundleUnit(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Describes a part of an entry's content; the text is in the content alone."""

    receipt: str
    kind: UnitKind
    symbol: str | None = None  # fully qualified; what the lines belong to
    lines: str | None = None  # "12-40" in the file, 1-based and inclusive; absent: all of it
    token_count: int


class BundleEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """One file. `content` is the newline-join of its units."""

    path: str
    score: float
    reasons: tuple[str, ...]
    token_count: int  # of content
    full_read_token_count: int | None = None  # null: the file was recorded without its text
    content: str
    content_hash: str  # SHA-256 of the file's content projection, whichever part is delivered
    units: tuple[BundleUnit, ...]


class ReusedUnit(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What was withheld because the caller holds it."""

    path: str
    kind: Literal["pointer", "outline", "span", "file"]  # file: all of it, as `known` says
    receipt: str | None = None
    content_hash: str
    symbol: str | None = None


class Bundle(Answer, frozen=True, kw_only=True):
    """Files for a task, best first.

    The whole result as sent stays within `budget_tokens`. Empty with a `retry_budget_tokens`: ask
    again with that. Empty without one: nothing matches, or the caller holds all of it.
    """

    repo_id: str
    task: str  # cut when it is very long
    mode: SearchMode
    retrieval_path: RetrievalPath
    detail: Level  # the richest level used
    budget_tokens: int
    total_tokens: int  # of all content
    response_tokens: int  # at least what the result costs as sent; 0 when empty
    truncated: bool  # some file did not fit
    retry_budget_tokens: int | None = None
    session: str | None = None
    entries: tuple[BundleEntry, ...]
    reused: tuple[ReusedUnit, ...]  # as many as the ceiling has room for
    reused_count: int = 0


class StatsRequest(ContextRequest, frozen=True, kw_only=True):
    """No arguments."""


class Stats(Answer, frozen=True, kw_only=True):
    """What bundles cost and saved within the window, in the process that answers."""

    calls: int
    response_tokens: int
    reads_replaced_tokens: int
    net_saved_tokens: int  # replaced - spent; negative when bundles cost more than they saved
    window_seconds: int
