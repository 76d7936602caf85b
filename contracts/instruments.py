"""What is measured, and what does each figure mean?

One declaration per instrument. The exposition on /metrics, its documentation and the test that holds
a running node against both are made from this table; whatever is counted anywhere is named in it.

`fed_by` names the process that counts: its values travel on PROGRESS to the query service, which
adds up the instances. `verdict` says where the name is from: K the specification's own, A its name
with a meaning of this pipeline, R the equivalent of something this pipeline does otherwise, and N new.
"""

from __future__ import annotations

from itertools import product
from typing import Literal

from msgspec import Struct

Kind = Literal["counter", "gauge", "histogram"]
Labels = tuple[str, ...]
_SUFFIXES = {"s": "seconds", "ms": "milliseconds", "bytes": "bytes"}
_SHORT = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_LONG = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 600.0, 1800.0, 7200.0)


class Instrument(Struct, frozen=True, kw_only=True):
    """One instrument."""

    name: str
    kind: Kind
    unit: str  # s, ms, bytes, or what is counted
    meaning: str
    fed_by: str
    labels: Labels = ()
    arms: tuple[Labels, ...] = ()  # values of the last labels that exist at zero from the start
    buckets: tuple[float, ...] = ()  # upper bounds, of a histogram
    since: bool = False  # of a gauge: what is counted is a moment, and shown is its age; 0 = none
    alias: str = ""  # another name under which the same values are shown
    needs: str = ""  # setting without which it does not exist
    verdict: str = "K"

    @property
    def free(self) -> int:
        """How many of the first labels (e.g. the repository) come up only while running."""
        return len(self.labels) - (len(self.arms[0]) if self.arms else len(self.labels))

    @property
    def exposed(self) -> str:
        """The name in Prometheus' form, without the `_total` of a counter."""
        return exposed(self.name, self.unit)


def exposed(name: str, unit: str) -> str:
    """Dots become underscores, a unit that is one becomes a suffix."""
    base, suffix = name.replace(".", "_"), _SUFFIXES.get(unit, "")
    return base if not suffix or base.endswith(f"_{suffix}") else f"{base}_{suffix}"


def _each(*values: str) -> tuple[Labels, ...]:
    return tuple((value,) for value in values)


REPOSITORY, PLANE = ("repository",), ("repository", "space")
PHASES = ("coordinating", "opening", "ingesting", "training", "persisting", "reconciling")
BUILD_CAUSES = (
    "scan-page-stalled", "projection-stale", "dependency-unavailable", "response-timeout",
    "plane-rejected", "saturated", "unexpected",
)  # fmt: skip
PASS_PHASES = ("Walking", "Reconciling", "Applying", "Vectorising")
_SLICES = (
    *((phase, "advanced", "") for phase in PHASES),
    *((phase, "churned", "") for phase in PHASES[1:]),
    *((phase, "starved", "") for phase in PHASES[:2]),
    *((phase, "idle", "") for phase in (PHASES[0], PHASES[-1])),
    *(("coordinating", "faulted", cause) for cause in BUILD_CAUSES),
)
_LOADS = (
    ("fresh", "none"), ("resumed", "none"), ("deferred", "none"), ("refused", "admission_refused"),
    *product(("faulted",), ("timeout", "embedding_space_change", "unloadable_record", "other")),
    *product(("discarded",), ("count_mismatch", "embedding_space_change", "unloadable_record")),
)  # fmt: skip
_REPLAYS = _each("complete", "resumed", "banked")
_REBUILDS = tuple(
    product(("projection",), ("observed", "completed", "failed", "denied", "suppressed", "refused"))
)
_CONTEXT = _each("repocontext_context")
_OUTCOMES = _each("completed", "failed", "cancelled")
_CACHED = tuple((of, outcome) for of in ("extracts", "vectors") for outcome in ("hit", "miss"))

_SPECIFIED = (
    Instrument(
        name="repocontext.calls", kind="counter", unit="call", labels=("command",), arms=_CONTEXT,
        meaning="calls that deliver a bundle", fed_by="query",
    ),
    Instrument(
        name="repocontext.response_tokens", kind="counter", unit="token", labels=("command",), arms=_CONTEXT,
        meaning="tokens of delivered bundles, as estimated for the wire", fed_by="query",
    ),
    Instrument(
        name="repocontext.reads_replaced_tokens", kind="counter", unit="token", labels=("command",), arms=_CONTEXT,
        meaning="tokens of the whole files that bundles stood in for", fed_by="query",
    ),
    Instrument(
        name="repocontext.retrieval.ready_seconds", kind="histogram", unit="s", labels=("phase",), buckets=_LONG,
        meaning="from the start of the query process until a repository's content is searchable as it is meant to be, once per process; phase: restart (it was at the first look), onboarding",
        fed_by="query",
    ),
    Instrument(
        name="repocontext.retrieval.unavailable", kind="counter", unit="event", labels=("cause",),
        arms=_each("keyword.vector_plane_unavailable", "keyword.index_degraded", "keyword.exact_fallback_suppressed", "probe", "saturated", "unknown"),
        meaning="searches that could not be answered by meaning; probe: the scan that tries an open breaker failed; saturated: the corpus is over the bound of a scan; unknown: the keyword scan failed as well",
        fed_by="query",
    ),
    Instrument(
        name="repocontext.retrieval.ann.search", kind="counter", unit="query", labels=("state",),
        arms=_each("bootstrapping", "exhaustive", "approximate"),
        meaning="searches by what the vector index was to them: not there yet, not needed (all vectors scanned), used; none with the provider `none`",
        fed_by="query",
    ),
    Instrument(
        name="repocontext.ann.sweep", kind="counter", unit="sweep", labels=("outcome", "cause"),
        arms=(("armed", ""), ("empty", ""), ("faulted", "")),
        meaning="the builder's periodic looks at all registered repositories: something was built, nothing was due, or why it failed",
        fed_by="ann", verdict="A",
    ),
    Instrument(
        name="repocontext.ann.sweep.arming", kind="counter", unit="repository", labels=("result",),
        arms=_each("armed", "deferred", "faulted"),
        meaning="repositories of those sweeps: built, put off because a pass runs, failed",
        fed_by="ann", verdict="A",
    ),
    Instrument(
        name="repocontext.vectorplane.rederive", kind="counter", unit="event", labels=("tree", "outcome"), arms=_REBUILDS,
        meaning="rebuilds of the projection from the streams; observed: asked for by an operator, or found necessary; suppressed: asked for while one was under way; denied and refused cannot occur",
        fed_by="projector", verdict="R",
    ),
    Instrument(
        name="repocontext.ann.build.corpus", kind="counter", unit="build", labels=("coverage",),
        arms=_each("nonempty", "unrestricted", "filtered", "denied", "unknown"),
        meaning="corpora read for a build: with vectors, read whole and without any, unreadable; filtered and denied cannot occur",
        fed_by="ann", verdict="A",
    ),
    Instrument(
        name="repocontext.ann.build.denial_terminal", kind="counter", unit="coordinator",
        meaning="repositories left alone after five corpora in a row that could not be read, until they change",
        fed_by="ann", verdict="R",
    ),
    Instrument(
        name="repocontext.ann.build.slice", kind="counter", unit="step", labels=(*PLANE, "phase", "progress", "cause"), arms=_SLICES,
        meaning="steps of builds; churned: overtaken by another builder or stopped, starved: vectors are missing, idle: nothing is due",
        fed_by="ann", verdict="A",
    ),
    Instrument(
        name="repocontext.ann.build.slice.items", kind="counter", unit="item",
        meaning="vectors put into generations", fed_by="ann",
    ),
    Instrument(
        name="repocontext.ann.build.stage.duration", kind="histogram", unit="s", labels=("stage",), buckets=_LONG,
        meaning="source_wait: reading the vectors, key_assign: which files are due, index_upsert: training and encoding, key_flush: publishing",
        fed_by="ann",
    ),
    Instrument(
        name="repocontext.ann.build.step.in_flight_seconds", kind="gauge", unit="s", labels=(*PLANE, "phase"), since=True,
        meaning="how long the phase under way has taken; 0 when idle", fed_by="ann",
    ),
    Instrument(
        name="repocontext.ann.partitioning", kind="counter", unit="observation", labels=("state",),
        arms=_each("partitioned", "unpartitioned-small", "unpartitioned-large"),
        meaning="looks at a repository by the builder: below the threshold and scanned exactly, or large; this index scans all codes, so partitioned cannot occur",
        fed_by="ann",
    ),
    Instrument(
        name="repocontext.ann.repartition", kind="counter", unit="training", labels=("outcome",), arms=_each("partitioned", "declined"),
        meaning="trainings of a quantiser: made, or given up (stopped, or too few vectors in the space)",
        fed_by="ann",
    ),
    Instrument(
        name="repocontext.ann.index.load", kind="counter", unit="attempt", labels=("outcome", "reason"), arms=_LOADS,
        meaning="generations loaded; resumed: one took the place of another, deferred: parts are still to be folded",
        fed_by="query",
    ),
    Instrument(
        name="repocontext.ann.vectors", kind="gauge", unit="vector", labels=(*PLANE, "count"),
        meaning="vectors of the published generation (held) and live ones (expected); only where there is or should be a generation",
        fed_by="query",
    ),
    Instrument(
        name="repocontext.ann.partitions", kind="gauge", unit="partition", labels=PLANE,
        meaning="partitions of the published generation; 0: all codes are scanned", fed_by="query",
    ),
    Instrument(
        name="repocontext.retrieval.duration", kind="histogram", unit="s", labels=("tool", "path"), buckets=_SHORT,
        meaning="seconds per call of search, context, outline and related, however it ended; unresolved: it failed before a path was known",
        fed_by="query",
    ),
    Instrument(
        name="repocontext.retrieval.stage.duration", kind="histogram", unit="s", labels=("stage", "path"), buckets=_SHORT,
        meaning="seconds per stage of a search: embed, vector_search, hydrate, keyword_scan", fed_by="query",
    ),
    Instrument(
        name="repocontext.retrieval.exact_gather.faults", kind="counter", unit="fault", labels=("fault",),
        arms=_each("stalled", "timed_out", "exhausted", "abandoned", "propagated", "deterministic"),
        meaning="exact scans that failed, or took over five seconds (stalled); abandoned cannot occur: a scan is not interrupted",
        fed_by="query", verdict="A",
    ),
    Instrument(
        name="repocontext.retrieval.exact_scan.budget", kind="counter", unit="evaluation", labels=("outcome",),
        arms=_each("unbounded", "corpus_unknown", "within_budget", "exceeded"),
        meaning="whether a large corpus without an index may be scanned", fed_by="query",
    ),
    Instrument(
        name="repocontext.retrieval.exact_scan.duration", kind="counter", unit="s",
        meaning="seconds spent in exact scans", fed_by="query",
    ),
    Instrument(
        name="repocontext.retrieval.exact_scan.gathers", kind="counter", unit="gather", labels=("outcome",), arms=_each("completed", "faulted", "cancelled"),
        meaning="exact scans begun, by their end; cancelled cannot occur", fed_by="query",
    ),
    Instrument(
        name="repocontext.retrieval.exact_scan.pages", kind="counter", unit="page",
        meaning="blocks of vectors that exact scans compared", fed_by="query", verdict="A",
    ),
    Instrument(
        name="repocontext.retrieval.exact_scan.vectors", kind="counter", unit="vector",
        meaning="vectors that exact scans compared", fed_by="query",
    ),
    Instrument(
        name="repocontext.bootstrap.pass_arm_faults", kind="counter", unit="fault", labels=("arm", "kind"),
        meaning="faults by what was being done: retire (removals), ingest-files (reading, embedding files), ingest-symbols (extraction given up), ingest-memory (embedding notes)",
        fed_by="reconciler, extractor, embedder",
    ),
    Instrument(
        name="repocontext.bootstrap.phase_cancelled", kind="counter", unit="cancellation", labels=("phase",), arms=_each(*PASS_PHASES),
        meaning="passes cut off in a phase: by a reset, a removal, another pass, or a stop", fed_by="reconciler",
    ),
    Instrument(
        name="repocontext.bootstrap.phase_cancelled.discarded_time", kind="counter", unit="ms", labels=("phase",), arms=_each(*PASS_PHASES),
        meaning="time those passes had taken", fed_by="reconciler",
    ),
    Instrument(
        name="repocontext.bootstrap.memory_marker_scan", kind="counter", unit="walk", labels=("outcome",), arms=_REPLAYS,
        meaning="catching up with LOG: begun behind a stored position (resumed), tail reached (complete), interrupted by the broker (banked)",
        fed_by="projector", verdict="R",
    ),
    Instrument(
        name="repocontext.bootstrap.coverage_probe", kind="counter", unit="probe", labels=("arm", "outcome"),
        arms=tuple(product(("file", "symbol", "sweep"), ("conclusive", "gate_pruned", "probe_failed"))),
        meaning="looks for what is missing: of records (file: contents and vectors, symbol: extracts) and of trees (sweep: walks); gate_pruned cannot occur",
        fed_by="walker, reconciler", verdict="A",
    ),
    Instrument(
        name="repocontext.bootstrap.coverage_verdict", kind="counter", unit="verdict", labels=("reason",),
        arms=_each("converged", "arm_failure", "gap_found", "probe_unmeasurable"),
        meaning="what the maintainer concluded: nothing missing, a failed pass to drive again, a gap, no answer", fed_by="walker",
    ),
    Instrument(
        name="repocontext.bootstrap.symbol_walk", kind="counter", unit="walk", labels=("outcome",), arms=_REPLAYS,
        meaning="as memory_marker_scan, for INDEX", fed_by="projector", verdict="R",
    ),
    Instrument(
        name="repocontext.ingest.files_scanned", kind="counter", unit="file", labels=REPOSITORY,
        meaning="files seen by passes that ended", fed_by="reconciler",
    ),
    Instrument(
        name="repocontext.ingest.files", kind="counter", unit="file", labels=(*REPOSITORY, "outcome"),
        arms=_each("added", "updated", "removed", "unchanged"),
        meaning="files of completed passes; what a watch saw counts with the pass after it", fed_by="reconciler",
    ),
    Instrument(
        name="repocontext.ingest.files_embedded", kind="counter", unit="file", labels=REPOSITORY,
        meaning="file records whose vectors were made", fed_by="embedder",
    ),
    Instrument(
        name="repocontext.ingest.symbols_embedded", kind="counter", unit="symbol", labels=REPOSITORY,
        meaning="symbols of those records", fed_by="embedder",
    ),
    Instrument(
        name="repocontext.ingest.files_content_projected", kind="counter", unit="file", labels=REPOSITORY,
        meaning="file records made with their content", fed_by="extractor",
    ),
    Instrument(
        name="repocontext.ingest.passes", kind="counter", unit="pass", labels=(*REPOSITORY, "outcome"), arms=_OUTCOMES,
        meaning="passes by their end", fed_by="reconciler",
    ),
    Instrument(
        name="repocontext.ingest.pass.duration", kind="histogram", unit="s", labels=(*REPOSITORY, "outcome"), buckets=_LONG,
        meaning="seconds of a pass", fed_by="reconciler",
    ),
    Instrument(
        name="repocontext.ingest.last_completed_pass_age", kind="gauge", unit="s", labels=REPOSITORY, since=True,
        meaning="since the newest pass completed; since the first began until one does", fed_by="query",
    ),
    Instrument(
        name="repocontext.memory.restore", kind="counter", unit="attempt", labels=("outcome",),
        arms=_each("restored", "partial", "nothingtorestore", "notattempted", "failed"),
        alias="lattice.repocontext.memory.restore", needs="memory_archive_dir",
        meaning="what became of the memory archive at a start", fed_by="memory", verdict="A",
    ),
)  # fmt: skip

_ADDED = (
    Instrument(
        name="repocontext.client_errors", kind="counter", unit="call", labels=("tool", "reason"),
        meaning="calls refused as the caller's mistake", fed_by="query", verdict="N",
    ),
    Instrument(
        name="repocontext.retrieval.searches", kind="counter", unit="search", labels=("path",),
        meaning="searches by the path that answered", fed_by="query", verdict="N",
    ),
    Instrument(
        name="repofold.tool_seconds", kind="histogram", unit="s", labels=("tool", "outcome"), buckets=_SHORT,
        meaning="seconds per tool call", fed_by="query", verdict="N",
    ),
    Instrument(
        name="repofold.files", kind="gauge", unit="file", labels=REPOSITORY,
        meaning="live files", fed_by="query", verdict="N",
    ),
    Instrument(
        name="repofold.chunks", kind="gauge", unit="chunk", labels=(*REPOSITORY, "state"),
        meaning="passages wanted and those that have their vectors (embedded)", fed_by="query", verdict="N",
    ),
    Instrument(
        name="repofold.uptime", kind="gauge", unit="s", meaning="since the query process started", fed_by="query", verdict="N",
    ),
    Instrument(
        name="repofold.projection.position", kind="gauge", unit="sequence", labels=("stream",),
        meaning="last folded sequence", fed_by="query", verdict="N",
    ),
    Instrument(
        name="repofold.projection.lag", kind="gauge", unit="sequence", labels=("stream",),
        meaning="sequences between the stream's head and the last folded one", fed_by="query", verdict="N",
    ),
    Instrument(
        name="repofold.lmdb", kind="gauge", unit="bytes", labels=("kind",),
        meaning="size of the map, and of its pages in use", fed_by="query", verdict="N",
    ),
    Instrument(
        name="repofold.lmdb.reader_lag", kind="gauge", unit="transaction",
        meaning="commits since the oldest snapshot that somebody still reads: their pages are not used again", fed_by="query", verdict="N",
    ),
    Instrument(
        name="repofold.lmdb.oldest_reader_age", kind="gauge", unit="s",
        meaning="for how long that snapshot has been read, as seen from scrape to scrape; 0 while it is the newest", fed_by="query", verdict="N",
    ),
    Instrument(
        name="repofold.consumer.pending", kind="gauge", unit="message", labels=("durable",),
        meaning="messages nobody has taken yet", fed_by="query", verdict="N",
    ),
    Instrument(
        name="repofold.consumer.unacknowledged", kind="gauge", unit="message", labels=("durable",),
        meaning="messages taken and not done with", fed_by="query", verdict="N",
    ),
    Instrument(
        name="repofold.consumer.redelivered", kind="gauge", unit="message", labels=("durable",),
        meaning="messages in hand that were delivered before", fed_by="query", verdict="N",
    ),
    Instrument(
        name="repofold.consumer.ack_age", kind="gauge", unit="s", labels=("durable",),
        meaning="since the last acknowledgement while there is something to do; 0 otherwise", fed_by="query", verdict="N",
    ),
    Instrument(
        name="repofold.embed.queue", kind="gauge", unit="record", labels=("of",),
        meaning="files and notes whose vectors are still to be made", fed_by="query", verdict="N",
    ),
    Instrument(
        name="repofold.cache", kind="counter", unit="value", labels=("of", "outcome"), arms=_CACHED,
        meaning="extracts and vectors that were needed: hit, worked out before from the same bytes, in another branch, worktree or repository; miss, worked out anew",
        fed_by="extractor, embedder", verdict="N",
    ),
    Instrument(
        name="repofold.dead_letters", kind="gauge", unit="message",
        meaning="messages that failed for good and wait for `repofold dead`", fed_by="query", verdict="N",
    ),
    Instrument(
        name="repofold.messages.dropped", kind="counter", unit="message", labels=("by",), arms=_each("message_id", "version"),
        meaning="messages that were stored already or overtaken, and so changed nothing: by their id at the broker, by a conditional append",
        fed_by="every worker", verdict="N",
    ),
    Instrument(
        name="repofold.messages.parked", kind="counter", unit="message", labels=("durable",),
        meaning="messages parked as dead letters", fed_by="every worker", verdict="N",
    ),
    Instrument(
        name="repofold.instruments.instances", kind="gauge", unit="process",
        meaning="worker processes whose figures are in this exposition, ended ones included", fed_by="query", verdict="N",
    ),
)  # fmt: skip

INSTRUMENTS: dict[str, Instrument] = {each.name: each for each in (*_SPECIFIED, *_ADDED)}
SPECIFIED = tuple(each.name for each in _SPECIFIED)
