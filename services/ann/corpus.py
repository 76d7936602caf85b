"""What does the builder read of a projection?"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from services.ann.plan import Standing
from store import keys
from store.read.live import Snapshot


class Corpus(Struct, frozen=True):
    """The vectors of one repository in one space."""

    dimension: int
    files: list[tuple[int, bytes]]  # file sequence, ascending; i1[chunks, dimension]


def standing_of(snapshot: Snapshot, repo_id: str) -> Standing:
    """How the repository stands; reads keys, not vectors."""
    prefix = keys.repo(repo_id)
    head = snapshot.ann_head(repo_id)
    live = [keys.sequence_of(key) for key in snapshot.txn.keys("vectors", prefix)]
    parts = 0
    if head is not None:
        wanted = [keys.part(prefix, head.generation, number) for number in range(head.parts)]
        parts = len(snapshot.txn.many("ann_parts", wanted))
    return Standing(
        head=head,
        intact=head is not None and parts == head.parts,
        live=np.array(live, np.uint64),
    )


def newest_generation(snapshot: Snapshot, repo_id: str) -> int:
    """The highest generation number ever seen here, published or not; 0 for none."""
    head = snapshot.ann_head(repo_id)
    prefix = keys.repo(repo_id)
    newest = next(iter(snapshot.txn.items("ann_parts", prefix, reverse=True)), None)
    begun = 0 if newest is None else keys.sequence_of(newest[0][:-8])
    return max(begun, 0 if head is None else head.generation)


def corpus_of(snapshot: Snapshot, repo_id: str, space: str) -> Corpus:
    """Every vector of the repository in `space`, copied."""
    files: list[tuple[int, bytes]] = []
    dimension = 0
    for sequence, row in snapshot.vectors(repo_id):
        if row.space == space and row.vectors:
            dimension = row.dimension
            files.append((sequence, row.vectors))
    return Corpus(dimension, files)
