"""When is a new generation worth its price?"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from store.rows import AnnHead, PassRow, RepoRow

U8 = NDArray[np.uint64]
_CHANGED_SHARE = 0.2  # of the files: beyond it, scanning what came later costs more than it saves
_SPACE_SHARE = 0.9  # of the live files: a new space is indexed once this much of it is filled
_RUNNING_MS = 600_000
_UNREADABLE_MOST = 5  # attempts at vectors that cannot be read


class Standing(Struct, frozen=True):
    """What is known of one repository before its vectors are read."""

    head: AnnHead | None
    intact: bool  # every part of the head's generation is there
    live: U8  # file sequences with vectors, ascending


class Unreadable:
    """Repositories whose vectors could not be read, how often in a row, and in which state they were."""

    def __init__(self) -> None:
        self._failures: dict[str, tuple[int, int]] = {}  # repository -> failures, its stamp

    def failed(self, repo_id: str, stamp: int) -> bool:
        """Note a failure; whether it is the one after which the repository is left alone."""
        failures = self._failures.get(repo_id, (0, 0))[0] + 1
        self._failures[repo_id] = (failures, stamp)
        return failures == _UNREADABLE_MOST

    def read(self, repo_id: str) -> None:
        """Note that they can be read."""
        self._failures.pop(repo_id, None)

    def is_parked(self, repo_id: str, stamp: int) -> bool:
        """Whether to leave it alone; once it has changed, it is tried again."""
        failures, seen = self._failures.get(repo_id, (0, 0))
        if failures >= _UNREADABLE_MOST and stamp != seen:
            self.read(repo_id)
            return False
        return failures >= _UNREADABLE_MOST


def is_large(row: RepoRow, threshold: int) -> bool:
    """Whether the repository has so many vectors that a generation pays at all."""
    return row.state == "registered" and row.counters.embedded_chunks >= max(threshold, 1)


def is_running(newest_pass: PassRow | None, now_ms: int) -> bool:
    """Whether a pass is at work; one that has not stirred for ten minutes has died."""
    if newest_pass is None or newest_pass.status != "Running":
        return False
    return now_ms - newest_pass.updated_ms <= _RUNNING_MS


def is_due(standing: Standing, space: str) -> bool:
    """Whether the present generation does not serve, or not well any more."""
    head = standing.head
    if head is None or not standing.intact or head.space != space:
        return True
    held = np.frombuffer(head.files, "<u8")
    later = len(np.setdiff1d(standing.live, held, assume_unique=True))
    dead = len(np.setdiff1d(held, standing.live, assume_unique=True))
    return max(later, dead) > _CHANGED_SHARE * len(standing.live)


def is_filled(standing: Standing, in_space: int) -> bool:
    """Whether enough of the live files have vectors in the space that is to be indexed."""
    return in_space > 0 and in_space >= _SPACE_SHARE * len(standing.live)
