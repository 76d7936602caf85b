"""When may all vectors be scanned, and what is said when that, or the index, fails?

A repository large enough for an approximate index is scanned only while there is none. Two guards
stand before that: a bound on the size of the corpus, and a breaker for each repository that opens
when a scan stalled. A scan that keeps failing is no matter of load and is reported as what it is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Literal

from contracts.tools.repocontext import RetrievalPath
from services.kernel import logs
from services.kernel.instruments import counted
from services.query import searches
from services.source.embedding import Breaker
from store.env import CorruptEnvironment

log = logs.get(__name__)
_FAULTS = "repocontext.retrieval.exact_gather.faults"
STALL_S = 5.0  # a scan that took longer stalled
_DETERMINISTIC = 3  # failures in a row that are no longer a matter of load
_KEYS_SHOWN = 5
# What damaged content or a lack of memory raises out of numpy, LMDB and decoders. Anything else is
# a mistake of ours and must be seen as one.
INDEX_FAULTS = (
    ArithmeticError, CorruptEnvironment, IndexError, KeyError, MemoryError, OSError, RuntimeError,
    ValueError,
)  # fmt: skip
Budget = Literal["unbounded", "corpus_unknown", "within_budget", "exceeded"]


def budget_of(vectors: int | None, bound: int) -> Budget:
    """Whether a corpus may be scanned in full; one of unknown size may."""
    if bound <= 0:
        return "unbounded"
    if vectors is None:
        return "corpus_unknown"
    return "within_budget" if vectors <= bound else "exceeded"


class ExactFallback:
    """The guards of one process. Thread-safe; looking at them consumes nothing."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._breakers: dict[str, Breaker] = {}
        self._failures: dict[str, int] = {}

    def breaker(self, repo_id: str) -> Breaker:
        """The breaker of a repository."""
        with self._lock:
            return self._breakers.setdefault(repo_id, Breaker(lambda: self.clock()))

    def answered(self, repo_id: str) -> None:
        """The index, or a scan, answered."""
        if repo_id in self._breakers:
            self.breaker(repo_id).succeeded()
        self._failures.pop(repo_id, None)

    def finished(self, repo_id: str, seconds: float) -> None:
        """A scan answered; a slow answer is used, and is the last one for a while."""
        if seconds > STALL_S:
            counted.add(_FAULTS, "stalled")
            self.breaker(repo_id).failed()
            log.warning("exact_scan_stalled", repo=repo_id, seconds=round(seconds, 1))
        else:
            self.answered(repo_id)

    def failed(self, repo_id: str, error: Exception) -> RetrievalPath:
        """A scan raised; how the answer by keyword is to be labelled."""
        with self._lock:
            failures = self._failures[repo_id] = self._failures.get(repo_id, 0) + 1
        exhausted = isinstance(error, MemoryError | TimeoutError)
        counted.add("repocontext.retrieval.exact_scan.gathers", "faulted")
        counted.add(_FAULTS, _fault_of(error, failures))
        if self.breaker(repo_id).is_open:
            searches.because("probe")
        if exhausted:
            self.breaker(repo_id).failed()
        log.warning("exact_scan_failed", repo=repo_id, error=repr(error)[:300])
        if exhausted and failures < _DETERMINISTIC:
            return "keyword.exact_fallback_suppressed"
        return "keyword.index_degraded"


def _fault_of(error: Exception, failures: int) -> str:
    if failures >= _DETERMINISTIC:
        return "deterministic"
    if isinstance(error, TimeoutError):
        return "timed_out"
    return "exhausted" if isinstance(error, MemoryError) else "propagated"


def degraded(repo_id: str, cause: str, keys: list[str]) -> None:
    """Say that the index cannot be used, with a few of the keys it named."""
    log.warning("index_degraded", repo=repo_id, cause=cause, keys=keys[:_KEYS_SHOWN])
