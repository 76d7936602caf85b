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


class PaceChanged(Struct, frozen=True, kw_only=True, tag="progress.pace"):
    """How far a worker holds itself back; told at a change, and now and then while batches go on."""

    worker: str
    state: str  # Pacing Backoff Waiting Resting Yielding
    reason: str = ""
    delay_ms: int = 0  # before each batch, because of congestion
    since_ms: int = 0  # Unix milliseconds
    foreground: int = 0


class InstrumentsTold(Struct, frozen=True, kw_only=True, tag="progress.instruments"):
    """What one worker process has counted since its start (contracts/instruments.py)."""

    instance: str  # a new one for each start of a process
    worker: str
    told_ms: int
    # Name, labels, values: one value, or the counts of a histogram's buckets, the rest, and the sum.
    cells: tuple[tuple[str, tuple[str, ...], tuple[float, ...]], ...]


AnyProgress = StageProgress | WorkerState | PaceChanged | InstrumentsTold


class ForegroundNotice(Struct, frozen=True, kw_only=True):
    """Core NATS, not stored: somebody waits for answers of this node's query service."""

    requests: int  # in flight


class FoldedNotice(Struct, frozen=True, kw_only=True):
    """Core NATS, not stored: how far a node's projection is after a commit."""

    log: int
    index: int
    repos: tuple[str, ...] = ()
