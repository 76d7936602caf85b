"""What does a look at this node's projection tell, beside what was counted?"""

from __future__ import annotations

import time

from msgspec import Struct

from contracts.errors import Fault
from services.kernel.instruments import Key, Values
from services.query.host import Host
from store.env import CorruptEnvironment
from store.read.live import Snapshot
from store.rows import Positions, RepoRow

Cells = dict[Key, Values]


class Looked(Struct):
    """What one look found; nothing while there is no projection."""

    cells: Cells
    position: Positions | None = None
    repositories: frozenset[str] | None = None  # registered ones; None when that is not known


class Gauges:
    """Looks at the projection of one query process."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._threshold = host.settings.ann_threshold_vectors
        self._begun: dict[str, int] = {}  # by repository, when its first pass began
        self._oldest = (0, 0.0)  # transaction of the oldest reader, and when it was first seen

    def look(self) -> Looked:
        """The figures of this moment."""
        cells: Cells = {("repofold.uptime", ()): (time.monotonic() - self._host.started_at,)}
        found = Looked(cells)
        try:
            with self._host.read() as snapshot:
                found.position = position = snapshot.positions()
                rows = [row for row in snapshot.repos() if row.state == "registered"]
                for row in rows:
                    cells |= self._repository(snapshot, row)
            found.repositories = frozenset(row.repo_id for row in rows)
            cells["repofold.projection.position", ("LOG",)] = (float(position.log),)
            cells["repofold.projection.position", ("INDEX",)] = (float(position.index),)
            cells |= self._environment()
        except (Fault, CorruptEnvironment):
            return found
        return found

    def _repository(self, snapshot: Snapshot, row: RepoRow) -> Cells:
        name, totals = row.repo_id, row.counters
        cells: Cells = {
            ("repofold.files", (name,)): (float(totals.files),),
            ("repofold.chunks", (name, "wanted")): (float(totals.chunks),),
            ("repofold.chunks", (name, "embedded")): (float(totals.embedded_chunks),),
        }
        head = snapshot.ann_head(name)
        if head is not None or totals.embedded_chunks >= self._threshold:
            space = self._host.retrieval.embedder.known_space if head is None else head.space
            held = 0 if head is None else head.vectors
            cells |= {
                ("repocontext.ann.vectors", (name, space, "held")): (float(held),),
                ("repocontext.ann.vectors", (name, space, "expected")): (
                    float(totals.embedded_chunks),
                ),
                ("repocontext.ann.partitions", (name, space)): (
                    float(0 if head is None else head.partitions),
                ),
            }
        if moment_ms := row.last_ingested_ms or self._first_pass(snapshot, name):
            cells["repocontext.ingest.last_completed_pass_age", (name,)] = (moment_ms / 1000,)
        return cells

    def _first_pass(self, snapshot: Snapshot, name: str) -> int:
        """When the first of the passes began none of which has completed; 0 before it."""
        last = snapshot.newest_pass(name)
        if last is None or last.reason == "reset":
            self._begun.pop(name, None)
            return 0
        return self._begun.setdefault(name, last.started_ms)

    def _environment(self) -> Cells:
        usage = self._host.projections.usage()
        behind = max(usage["last_txn"] - usage["oldest_txn"], 0)
        if usage["oldest_txn"] != self._oldest[0]:
            self._oldest = (usage["oldest_txn"], time.monotonic())
        age = time.monotonic() - self._oldest[1] if behind else 0.0
        return {
            ("repofold.lmdb", ("map",)): (float(usage["map_bytes"]),),
            ("repofold.lmdb", ("used",)): (float(usage["used_bytes"]),),
            ("repofold.lmdb.reader_lag", ()): (float(behind),),
            ("repofold.lmdb.oldest_reader_age", ()): (age,),
        }
