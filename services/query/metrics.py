"""What do the figures on /metrics say?

The instruments of contracts/instruments.py in Prometheus' text: what this process counted, what the
workers told of themselves, what a look at the projection shows and, when somebody scrapes, how far
behind the broker says everybody is. Arms that are declared exist at zero from the start.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator

from prometheus_client import generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from contracts.errors import Fault
from contracts.instruments import INSTRUMENTS, Instrument, Labels, exposed
from services.kernel import logs
from services.kernel.bus import Bus
from services.kernel.instruments import Key, Tally, Values, counted
from services.query.board import Board, merged
from services.query.calls import Outcome
from services.query.gauges import Gauges, Looked
from services.query.host import Host
from services.query.lag import Lag

log = logs.get(__name__)
_RECALL_S, _RECALL_MOST_S = 1.0, 60.0
_RETRIEVERS = {
    "repocontext_search": ("search", "unresolved"),
    "repocontext_context": ("context", "unresolved"),
    "repocontext_outline": ("outline", "not_applicable"),
    "repocontext_related": ("related", "not_applicable"),
}


class Metrics(Collector):
    """The instruments as one query process shows them."""

    def __init__(self, host: Host, process: Tally = counted) -> None:
        self._host = host
        self._process = process
        self._own = Tally()
        self._gauges = Gauges(host)
        self._board = Board()
        self._lag: Lag | None = None
        self._tasks: list[asyncio.Task[None]] = []
        host.retrieval.observe = self._searched
        host.ledger.observe = self._delivered

    async def start(self, bus: Bus) -> None:
        """Follow what the workers tell."""
        self._lag = Lag(bus)
        await self._board.follow(bus)
        self._tasks = [
            asyncio.create_task(self._until_ready()),
            asyncio.create_task(self._recall(bus)),
        ]

    def stop(self) -> None:
        """Wait for nothing any more."""
        for task in self._tasks:
            task.cancel()

    async def _recall(self, bus: Bus) -> None:
        """Learn what was told before, however long the broker takes; nobody waits for it."""
        pause_s = _RECALL_S
        while True:
            try:
                await self._board.recall(bus)
            except Fault as fault:
                log.info("instruments_unread", error=fault.message)
            else:
                return
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _RECALL_MOST_S)

    # -- what is counted here -------------------------------------------------------------------

    def on_call(
        self, tool: str, seconds: float, outcome: Outcome, reason: str, path: str = ""
    ) -> None:
        """Count one finished call."""
        self._own.observe("repofold.tool_seconds", seconds, tool, outcome)
        if outcome == "mistake":
            self._own.add("repocontext.client_errors", tool, reason)
        if (retriever := _RETRIEVERS.get(tool)) is not None:
            kind, without = retriever
            self._own.observe("repocontext.retrieval.duration", seconds, kind, path or without)

    def _searched(self, path: str) -> None:
        self._own.add("repocontext.retrieval.searches", path)

    def _delivered(self, command: str, response_tokens: int, replaced_tokens: int) -> None:
        self._own.add("repocontext.calls", command)
        self._own.add("repocontext.response_tokens", command, by=response_tokens)
        self._own.add("repocontext.reads_replaced_tokens", command, by=replaced_tokens)

    async def _until_ready(self) -> None:
        phase = "restart"
        while not self._is_ready():
            phase = "onboarding"
            await self._host.folded.wait()
        seconds = time.monotonic() - self._host.started_at
        self._own.observe("repocontext.retrieval.ready_seconds", seconds, phase)

    def _is_ready(self) -> bool:
        """Whether a repository was read to its end, and has its vectors where it should."""
        embeds = self._host.settings.embed_provider != "none"
        try:
            with self._host.read() as snapshot:
                return any(
                    row.state == "registered"
                    and row.last_ingested_ms > 0
                    and (not embeds or row.counters.embedded >= row.counters.wanted)
                    for row in snapshot.repos()
                )
        except Fault:
            return False

    # -- how it is shown ------------------------------------------------------------------------

    async def scrape(self) -> bytes:
        """The Prometheus text of this moment, with what the broker says."""
        if self._lag is not None:
            await self._lag.refresh()
        return self.exposition()

    def exposition(self) -> bytes:
        """The Prometheus text of this moment."""
        return generate_latest(self)

    def collect(self) -> Iterator[Metric]:
        """Every instrument, as its declaration says."""
        looked = self._gauges.look()
        series: dict[str, list[tuple[Labels, Values]]] = {}
        for (name, labels), values in self._cells(looked).items():
            if _is_shown(INSTRUMENTS[name], labels, looked.repositories):
                series.setdefault(name, []).append((labels, values))
        for instrument in INSTRUMENTS.values():
            if instrument.needs and not getattr(self._host.settings, instrument.needs):
                continue
            rows = sorted(series.get(instrument.name, []))
            for name in filter(None, (instrument.name, instrument.alias)):
                yield _family(instrument, exposed(name, instrument.unit), rows)

    def _cells(self, looked: Looked) -> dict[Key, Values]:
        told = self._board.cells()
        cells = merged([_primed(), *told, self._process.cells(), self._own.cells()])
        cells |= looked.cells
        if self._lag is not None:
            cells |= self._lag.cells(looked.position)
        cells["repofold.instruments.instances", ()] = (float(self._board.instances),)
        return cells


def _primed() -> dict[Key, Values]:
    """The arms that exist before anything happened."""
    return {
        (instrument.name, arm): (0.0,)
        for instrument in INSTRUMENTS.values()
        if instrument.kind == "counter" and not instrument.free
        for arm in (instrument.arms or (() if instrument.labels else ((),)))
    }


def _is_shown(instrument: Instrument, labels: Labels, repositories: frozenset[str] | None) -> bool:
    """Not what was counted of a repository that is registered no more."""
    if repositories is None or "repository" not in instrument.labels:
        return True
    return labels[instrument.labels.index("repository")] in repositories


def _family(instrument: Instrument, name: str, rows: Iterable[tuple[Labels, Values]]) -> Metric:
    text = instrument.meaning
    if instrument.kind == "histogram":
        histogram = HistogramMetricFamily(name, text, labels=instrument.labels)
        for labels, values in rows:
            histogram.add_metric(labels, _cumulative(instrument, values), values[-1])
        return histogram
    if instrument.kind == "counter":
        counter = CounterMetricFamily(name, text, labels=instrument.labels)
        for labels, values in rows:
            counter.add_metric(labels, values[0])
        return counter
    gauge = GaugeMetricFamily(name, text, labels=instrument.labels)
    now = time.time()
    for labels, values in rows:
        value = values[0]
        if instrument.since and value:
            value = max(now - value, 0.0)
        gauge.add_metric(labels, value)
    return gauge


def _cumulative(instrument: Instrument, values: Values) -> list[tuple[str, float]]:
    below, buckets = 0.0, []
    for bound, count in zip((*instrument.buckets, float("inf")), values[:-1], strict=True):
        below += count
        buckets.append(("+Inf" if bound == float("inf") else repr(bound), below))
    return buckets
