"""What is counted of one search, and how long did its stages take?

A search runs in one thread from its beginning to its end, so what its parts tell is kept with the
thread until the end knows the route that it is all told by.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Literal

from services.kernel.instruments import counted

Stage = Literal["embed", "vector_search", "hydrate", "keyword_scan"]
_STAGES = "repocontext.retrieval.stage.duration"
_CAUSES = frozenset(
    {
        "keyword.vector_plane_unavailable",
        "keyword.index_degraded",
        "keyword.exact_fallback_suppressed",
    }
)


class _Told(threading.local):
    def __init__(self) -> None:
        self.stages: list[tuple[Stage, float]] = []
        self.cause = ""  # a better one than the route, e.g. saturated


_told = _Told()


def begun() -> None:
    """A search begins; what one that failed left here is not its own."""
    _told.stages, _told.cause = [], ""


@contextmanager
def stage(name: Stage) -> Iterator[None]:
    """Time one stage of the search that runs in this thread."""
    began = perf_counter()
    try:
        yield
    finally:
        _told.stages.append((name, perf_counter() - began))


def because(cause: Literal["probe", "saturated", "unknown"]) -> None:
    """What is to blame if the search is not answered by meaning."""
    _told.cause = cause


def ended(path: str, *, large: bool) -> None:
    """The search took this route; `large`: an index is, or would be, used for its repository."""
    for name, seconds in _told.stages:
        counted.observe(_STAGES, seconds, name, path)
    if path in _CAUSES:
        counted.add("repocontext.retrieval.unavailable", _told.cause or path)
    elif _told.cause == "unknown":
        counted.add("repocontext.retrieval.unavailable", "unknown")
    if path != "keyword.no_embedder":
        counted.add("repocontext.retrieval.ann.search", _state(path, large))
    begun()


def _state(path: str, large: bool) -> str:
    if path == "semantic.approximate":
        return "approximate"
    return "exhaustive" if path == "semantic.exact" and not large else "bootstrapping"


def scanned(seconds: float, vectors: int, blocks: int) -> None:
    """An exact scan answered."""
    counted.add("repocontext.retrieval.exact_scan.gathers", "completed")
    counted.add("repocontext.retrieval.exact_scan.duration", by=seconds)
    counted.add("repocontext.retrieval.exact_scan.vectors", by=vectors)
    counted.add("repocontext.retrieval.exact_scan.pages", by=blocks)


_LOADS = {
    "missing_part": ("deferred", "none"),
    "checksum": ("discarded", "unloadable_record"),
    "unloadable": ("discarded", "unloadable_record"),
    "count_mismatch": ("discarded", "count_mismatch"),
}


def loaded(reason: str, replaces: bool) -> None:
    """A generation was loaded, or why it was not; `replaces`: it took the place of another."""
    outcome = _LOADS.get(reason, ("resumed" if replaces else "fresh", "none"))
    counted.add("repocontext.ann.index.load", *outcome)
