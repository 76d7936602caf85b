"""What does the query service count, and how is it read?"""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from contracts.errors import Fault
from services.query.calls import Outcome
from services.query.host import Host

_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Metrics:
    """Instruments of one query process."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._registry = CollectorRegistry(auto_describe=True)
        self._calls = Histogram(
            "repofold_tool_seconds", "Seconds per tool call", ["tool", "outcome"],
            registry=self._registry, buckets=_BUCKETS,
        )  # fmt: skip
        self._mistakes = Counter(
            "repocontext_client_errors", "Calls refused as the caller's mistake", ["tool", "reason"],
            registry=self._registry,
        )  # fmt: skip
        self._searches = Counter(
            "repocontext_retrieval_searches", "Searches by the path that answered", ["path"],
            registry=self._registry,
        )  # fmt: skip
        self._files = Gauge("repofold_files", "Live files", ["repository"], registry=self._registry)
        self._vectors = Gauge(
            "repocontext_ann_vectors",
            "Vectors by count kind",
            ["repository", "count"],
            registry=self._registry,
        )
        self._position = Gauge(
            "repofold_projection_position",
            "Last folded sequence",
            ["stream"],
            registry=self._registry,
        )
        self._map = Gauge(
            "repofold_lmdb_bytes", "LMDB map and used bytes", ["kind"], registry=self._registry
        )
        self._uptime = Gauge(
            "repofold_uptime_seconds", "Seconds since the start", registry=self._registry
        )
        host.retrieval.observe = self._searched

    def on_call(self, tool: str, seconds: float, outcome: Outcome, reason: str) -> None:
        """Count one finished call."""
        self._calls.labels(tool, outcome).observe(seconds)
        if outcome == "mistake":
            self._mistakes.labels(tool, reason).inc()

    def _searched(self, path: str) -> None:
        self._searches.labels(path).inc()

    def exposition(self) -> bytes:
        """The Prometheus text of this moment."""
        self._uptime.set(time.monotonic() - self._host.started_at)
        try:
            with self._host.read() as snapshot:
                position = snapshot.positions()
                for row in snapshot.repos():
                    if row.state != "registered":
                        continue
                    totals = row.counters
                    self._files.labels(row.repo_id).set(totals.files)
                    self._vectors.labels(row.repo_id, "held").set(totals.embedded_chunks)
                    self._vectors.labels(row.repo_id, "expected").set(totals.chunks)
            self._position.labels("LOG").set(position.log)
            self._position.labels("INDEX").set(position.index)
            usage = self._host.projections.usage()
            self._map.labels("map").set(usage["map_bytes"])
            self._map.labels("used").set(usage["used_bytes"])
        except Fault:
            pass
        return generate_latest(self._registry)
