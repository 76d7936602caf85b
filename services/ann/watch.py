"""What is counted of one build, from the first look to the published head?

A build is in one phase at a time. Leaving a phase for the next one counts as advanced; how the last
one ends is said by whoever ends it, or by the fault that did.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Literal

from contracts.errors import Conflict, NotFound, Poisoned, Unavailable
from services.kernel.instruments import counted
from store.env import CorruptEnvironment

Phase = Literal["coordinating", "opening", "ingesting", "training", "persisting", "reconciling"]
Progress = Literal["advanced", "churned", "starved", "idle"]
_SLICE = "repocontext.ann.build.slice"
_IN_FLIGHT = "repocontext.ann.build.step.in_flight_seconds"


class BuildWatch:
    """Watches one build; a context manager."""

    def __init__(self, repo_id: str, space: str) -> None:
        self._plane = (repo_id, space)
        self._phase: Phase = "coordinating"
        self._ended = False
        counted.prime(_SLICE, *self._plane)

    def __enter__(self) -> BuildWatch:
        counted.set(_IN_FLIGHT, *self._plane, self._phase, value=time.time())
        return self

    def enter(self, phase: Phase) -> None:
        """The next phase begins."""
        self._count("advanced")
        self._phase = phase
        counted.set(_IN_FLIGHT, *self._plane, phase, value=time.time())

    def end(self, progress: Progress) -> None:
        """The build goes no further."""
        if not self._ended:
            self._ended = True
            self._count(progress)

    def _count(self, progress: str, cause: str = "") -> None:
        counted.add(_SLICE, *self._plane, self._phase, progress, cause)
        counted.set(_IN_FLIGHT, *self._plane, self._phase, value=0.0)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception) and not self._ended:
            self._count("faulted", cause_of(error))
        else:
            self.end("advanced" if error is None else "churned")


def cause_of(error: Exception) -> str:
    """The closed set of causes that a build fails of."""
    match error:
        case NotFound() | CorruptEnvironment():
            return "projection-stale"
        case TimeoutError():
            return "response-timeout"
        case Conflict() | Poisoned():
            return "plane-rejected"
        case Unavailable():
            return "dependency-unavailable"
        case MemoryError():
            return "saturated"
    return "unexpected"


def cause_of_sweep(error: Exception) -> str:
    """The same of a repository in a sweep."""
    match error:
        case NotFound() | CorruptEnvironment():
            return "authority-unavailable"
        case Conflict() | Poisoned():
            return "plane-rejected"
        case Unavailable():
            return "dependency-unavailable"
    return "unexpected"
