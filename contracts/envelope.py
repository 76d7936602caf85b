"""What wraps every message, and how is it written?

msgpack. `version` is the schema version of the whole family; an older one is lifted by
contracts/upcast.py before it is decoded.
"""

from __future__ import annotations

import os
import time
from typing import Generic, TypeVar

import msgspec

from contracts.ids import RepoId

SCHEMA_VERSION = 1  # 1: first

E = TypeVar("E")
F = TypeVar("F")
_OF_NONE = RepoId("")
_encoder = msgspec.msgpack.Encoder()


class Envelope(msgspec.Struct, Generic[E], frozen=True, kw_only=True):
    """One message. `id` is also its Nats-Msg-Id, made from its cause where it has one."""

    id: str
    version: int = SCHEMA_VERSION
    repo: RepoId = RepoId("")
    generation: int = 0  # index generation (INDEX, WORK) or memory generation of the repository
    at_ms: int  # producer's clock, Unix milliseconds
    producer: str  # worker name
    cause: str = ""  # id of the message that led to this one
    correlation: str = ""  # pass id or request id
    reply_to: str = ""  # commands only: subject of the answer
    event: E


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def new_id() -> str:
    return os.urandom(16).hex()


def starting(
    producer: str,
    event: E,
    *,
    repo: RepoId = _OF_NONE,
    generation: int = 0,
    correlation: str = "",
) -> Envelope[E]:
    """The envelope of what a worker says by itself, with an id of its own."""
    return Envelope(
        id=new_id(),
        repo=repo,
        generation=generation,
        at_ms=now_ms(),
        producer=producer,
        correlation=correlation,
        event=event,
    )


def following(cause: Envelope[F], producer: str, event: E) -> Envelope[E]:
    """The envelope of what one message led one worker to; its id is made from its cause."""
    return Envelope(
        id=f"{cause.id}/{producer}",
        repo=cause.repo,
        generation=cause.generation,
        at_ms=now_ms(),
        producer=producer,
        cause=cause.id,
        correlation=cause.correlation,
        event=event,
    )


def encode(envelope: Envelope[E]) -> bytes:
    return _encoder.encode(envelope)
