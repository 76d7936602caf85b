"""Counters for watching; nothing depends on them."""

from __future__ import annotations

from msgspec import Struct


class StageProgress(Struct, frozen=True, kw_only=True, tag="progress.stage"):
    """How far one stage of a repository is."""

    pass_id: str
    stage: str  # walk reconcile extract fold embed
    done: int
    total: int  # 0 when unknown
    notice: str = ""


class WorkerState(Struct, frozen=True, kw_only=True, tag="progress.worker"):
    """A worker's state changed, e.g. the embedding endpoint went down."""

    worker: str
    state: str
    detail: str = ""


AnyProgress = StageProgress | WorkerState


class FoldedNotice(Struct, frozen=True, kw_only=True):
    """Core NATS, not stored: how far a node's projection is after a commit."""

    log: int
    index: int
    repos: tuple[str, ...] = ()
