"""Do the figures mean what their declarations say, whichever process they come from?"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from contracts.envelope import Envelope, encode
from contracts.errors import Conflict, NotFound, Unavailable
from contracts.events.progress import InstrumentsTold
from contracts.instruments import INSTRUMENTS, SPECIFIED, Instrument, exposed
from ops.docgen import pages
from services.ann.plan import Unreadable
from services.ann.watch import BuildWatch, cause_of
from services.kernel.bus import Bus
from services.kernel.instruments import Tally, counted
from services.kernel.reporter import Reporter
from services.kernel.settings import Settings
from services.query import searches
from services.query.board import Board, merged
from services.query.fallback import STALL_S, ExactFallback
from services.query.host import Host
from services.query.lag import Lag
from services.query.metrics import Metrics
from services.reconciler import counting
from services.reconciler.running import Ledger, RunningPass
from store.env import CorruptEnvironment
from store.rows import Positions

NAMES = [
    "calls", "response_tokens", "reads_replaced_tokens", "retrieval.ready_seconds", "retrieval.unavailable", "retrieval.ann.search", "ann.sweep", "ann.sweep.arming", "vectorplane.rederive", "ann.build.corpus", "ann.build.denial_terminal", "ann.build.slice", "ann.build.slice.items", "ann.build.stage.duration", "ann.build.step.in_flight_seconds", "ann.partitioning", "ann.repartition", "ann.index.load", "ann.vectors", "ann.partitions", "retrieval.duration", "retrieval.stage.duration", "retrieval.exact_gather.faults", "retrieval.exact_scan.budget", "retrieval.exact_scan.duration", "retrieval.exact_scan.gathers", "retrieval.exact_scan.pages", "retrieval.exact_scan.vectors", "bootstrap.pass_arm_faults", "bootstrap.phase_cancelled", "bootstrap.phase_cancelled.discarded_time", "bootstrap.memory_marker_scan", "bootstrap.coverage_probe", "bootstrap.coverage_verdict", "bootstrap.symbol_walk", "ingest.files_scanned", "ingest.files", "ingest.files_embedded", "ingest.symbols_embedded", "ingest.files_content_projected", "ingest.passes", "ingest.pass.duration", "ingest.last_completed_pass_age", "memory.restore",
]  # fmt: skip
CALLS, FILES = "repocontext.calls", "repocontext.ingest.files"
READY = "repocontext.retrieval.ready_seconds"


def value(name: str, *labels: str, tally: Tally = counted) -> float:
    """What was counted so far; of a histogram how many values."""
    cell = tally.cells().get((name, labels), (0.0,))
    return cell[0] if len(cell) == 1 else sum(cell[:-1])


def word(instance: str, told_ms: int, cells: dict[tuple[str, tuple[str, ...]], Any]) -> bytes:
    event = InstrumentsTold(
        instance=instance,
        worker="walker",
        told_ms=told_ms,
        cells=tuple((name, labels, values) for (name, labels), values in cells.items()),
    )
    return encode(Envelope(id=f"{instance}-{told_ms}", at_ms=told_ms, producer="w", event=event))


def families(text: bytes) -> dict[str, Metric]:
    return {family.name: family for family in text_string_to_metric_families(text.decode())}


def metrics_of(tmp_path: Path, **changes: Any) -> Metrics:
    return Metrics(Host(Settings(state_dir=str(tmp_path), **changes), None, "test"), Tally())


# -- the table --------------------------------------------------------------------------------------


def test_every_specified_instrument_is_declared() -> None:
    assert len(SPECIFIED) == 44
    assert set(SPECIFIED) == {f"repocontext.{name}" for name in NAMES}


@pytest.mark.parametrize("instrument", INSTRUMENTS.values(), ids=lambda each: each.name)
def test_a_declaration_is_sound(instrument: Instrument) -> None:
    assert instrument.meaning
    assert len(set(instrument.labels)) == len(instrument.labels)
    assert len({len(arm) for arm in instrument.arms}) <= 1
    assert len(set(instrument.arms)) == len(instrument.arms)
    assert instrument.free >= 0
    assert bool(instrument.buckets) == (instrument.kind == "histogram")
    assert list(instrument.buckets) == sorted(set(instrument.buckets))
    assert not (instrument.arms and instrument.kind != "counter"), "only counters are primed"


def test_no_two_instruments_are_shown_under_one_name() -> None:
    shown = [
        exposed(name, each.unit)
        for each in INSTRUMENTS.values()
        for name in (each.name, each.alias)
        if name
    ]

    assert len(set(shown)) == len(shown)


def test_a_plane_has_22_arms_of_build_steps() -> None:
    assert len(INSTRUMENTS["repocontext.ann.build.slice"].arms) == 22


def test_the_reference_lists_every_instrument() -> None:
    page = pages()["metrics.md"]

    assert all(f"`{each.exposed}" in page for each in INSTRUMENTS.values())
    assert "`lattice_repocontext_memory_restore_total`" in page


# -- the exposition ---------------------------------------------------------------------------------


def test_arms_exist_at_zero_before_anything_happened(tmp_path: Path) -> None:
    shown = families(metrics_of(tmp_path, memory_archive_dir="archive").exposition())

    for each in INSTRUMENTS.values():
        family = shown[each.exposed]
        assert (family.type, family.documentation) == (each.kind, each.meaning)
        if each.kind == "counter" and not each.free and (each.arms or not each.labels):
            arms = {
                tuple(sample.labels[label] for label in each.labels) for sample in family.samples
            }
            assert arms == set(each.arms or ((),)), each.name
            assert {sample.value for sample in family.samples} == {0.0}
            assert {sample.name for sample in family.samples} == {f"{each.exposed}_total"}
        elif each.kind == "histogram":
            assert family.samples == [], "histograms are never primed"


def test_restores_are_counted_only_with_an_archive_and_under_both_names(tmp_path: Path) -> None:
    without = families(metrics_of(tmp_path).exposition())
    metrics = metrics_of(tmp_path, memory_archive_dir="archive")
    metrics._process.add("repocontext.memory.restore", "partial")
    shown = families(metrics.exposition())

    names = ("repocontext_memory_restore", "lattice_repocontext_memory_restore")
    assert not any(name in without for name in names)
    for name in names:
        assert {s.labels["outcome"]: s.value for s in shown[name].samples} == {
            "restored": 0.0, "partial": 1.0, "nothingtorestore": 0.0, "notattempted": 0.0, "failed": 0.0,
        }  # fmt: skip


def test_calls_are_told_by_tool_reason_and_route(tmp_path: Path) -> None:
    metrics = metrics_of(tmp_path)
    metrics.on_call("repocontext_search", 0.003, "ok", "", "semantic.exact")
    metrics.on_call("repocontext_search", 0.003, "failed", "unexpected")
    metrics.on_call("repocontext_outline", 0.003, "mistake", "missing_argument")

    text = metrics.exposition().decode()

    assert 'client_errors_total{reason="missing_argument",tool="repocontext_outline"} 1.0' in text
    for path, tool in (
        ("semantic.exact", "search"),
        ("unresolved", "search"),
        ("not_applicable", "outline"),
    ):
        assert f'duration_seconds_count{{path="{path}",tool="{tool}"}} 1.0' in text
        assert f'_bucket{{le="0.0025",path="{path}",tool="{tool}"}} 0.0' in text
        assert f'_bucket{{le="0.005",path="{path}",tool="{tool}"}} 1.0' in text
        assert f'_bucket{{le="+Inf",path="{path}",tool="{tool}"}} 1.0' in text


def test_bundles_are_counted_with_what_they_cost_and_replaced(tmp_path: Path) -> None:
    metrics = metrics_of(tmp_path)
    metrics._host.ledger.record("repocontext_context", 700, 9_000)
    metrics._host.ledger.record("repocontext_context", 0, 0)

    text = metrics.exposition().decode()

    for name, expected in (("calls", 2), ("response_tokens", 700), ("reads_replaced_tokens", 9000)):
        assert f'repocontext_{name}_total{{command="repocontext_context"}} {expected}.0' in text


# -- counting ---------------------------------------------------------------------------------------


def test_threads_lose_no_count() -> None:
    tally = Tally()

    def count() -> None:
        for _ in range(2_000):
            tally.add(CALLS, "c")
            tally.observe(READY, 1.0, "restart")

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert value(CALLS, "c", tally=tally) == 8_000
    assert tally.cells()[READY, ("restart",)][-1] == 8_000.0


def test_what_is_not_declared_cannot_be_counted() -> None:
    with pytest.raises(KeyError):
        Tally().add("repocontext.invented")
    with pytest.raises(ValueError, match="has the labels"):
        Tally().add(CALLS, "one", "too many")


def test_a_flood_of_label_values_ends_in_one_series() -> None:
    tally = Tally()
    for number in range(2_500):
        tally.add("repocontext.client_errors", "tool", f"reason {number}")

    assert len(tally.cells()) == 2_001
    assert value("repocontext.client_errors", "other", "other", tally=tally) == 500


# -- how workers tell it ----------------------------------------------------------------------------


class _Stored:
    """A bus that keeps what is put; `refusals` puts fail first."""

    def __init__(self, refusals: int = 0) -> None:
        self.words: list[InstrumentsTold] = []
        self.refusals = refusals
        self.came = asyncio.Event()

    async def put(self, subject: str, data: bytes) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.refusals:
            self.refusals -= 1
            future.set_exception(Unavailable("away"))
            return future
        event = msgspec.msgpack.Decoder(Envelope[InstrumentsTold]).decode(data).event
        assert subject == f"progress.-.metrics.walker.{event.instance}"
        self.words.append(event)
        self.came.set()
        future.set_result(None)
        return future


async def test_a_change_is_told_once_and_an_idle_process_is_silent() -> None:
    bus, tally = _Stored(refusals=1), Tally()
    reporter = Reporter(cast(Bus, bus), "walker", tally)
    reporter.together_s = 0.01
    await reporter.start()
    try:
        tally.add(CALLS, "c")
        async with asyncio.timeout(5):
            await bus.came.wait()
        bus.came.clear()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await bus.came.wait()
        threading.Thread(target=tally.add, args=(CALLS, "c")).start()
        async with asyncio.timeout(5):
            await bus.came.wait()
    finally:
        await reporter.stop()

    assert [told.cells for told in bus.words] == [((CALLS, ("c",), (1.0,)),), ((CALLS, ("c",), (2.0,)),)]  # fmt: skip
    assert len({told.instance for told in bus.words}) == 1
    assert bus.words[0].told_ms < bus.words[1].told_ms


async def test_a_process_that_counted_nothing_says_nothing() -> None:
    bus = _Stored()

    assert await Reporter(cast(Bus, bus), "walker", Tally()).report()
    assert bus.words == []


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 30), st.integers(0, 9)), max_size=30)
)
def test_a_counter_never_goes_back_however_words_arrive(
    words: Sequence[tuple[str, int, int]],
) -> None:
    """Of each instance the values rise with its time; they may come late, twice, or not at all."""
    board, before = Board(), 0.0
    newest: dict[str, int] = {}
    for instance, told_ms, _ in words:
        board.told(word(instance, told_ms, {(CALLS, ("c",)): (float(told_ms * 10),)}))
        newest[instance] = max(newest.get(instance, 0), told_ms)
        total = merged(board.cells()).get((CALLS, ("c",)), (0.0,))[0]
        assert total >= before
        before = total

    assert before == 10 * sum(newest.values())


def test_a_restarted_worker_adds_to_what_its_predecessor_counted() -> None:
    board = Board()
    histogram = (1.0,) * (len(INSTRUMENTS[READY].buckets) + 2)
    for instance in ("first", "second"):
        board.told(word(instance, 5, {(FILES, ("r", "added")): (3.0,), (READY, ("restart",)): histogram}))  # fmt: skip

    total = merged(board.cells())

    assert total[FILES, ("r", "added")] == (6.0,)
    assert total[READY, ("restart",)] == tuple(2 * each for each in histogram)


def test_of_a_gauge_the_newest_word_counts() -> None:
    board = Board()
    key = ("repocontext.ann.build.step.in_flight_seconds", ("r", "s", "training"))
    board.told(word("new", 9, {key: (0.0,)}))
    board.told(word("killed", 5, {key: (1_000.0,)}))

    assert merged(board.cells())[key] == (0.0,)


def test_what_another_version_tells_and_this_one_does_not_know_is_left_out() -> None:
    board = Board()
    board.told(word("new", 5, {
        ("repocontext.later", ()): (1.0,), (CALLS, ("c", "d")): (1.0,), (READY, ("restart",)): (1.0,),
        (CALLS, ("c",)): (1.0,),
    }))  # fmt: skip
    board.told(b"no message at all")

    assert merged(board.cells()) == {(CALLS, ("c",)): (1.0,)}


def test_many_short_lived_workers_are_kept_as_a_sum() -> None:
    board = Board()
    for number in range(1_000):
        board.told(word(f"extractor-{number}", number, {(CALLS, ("c",)): (1.0,)}))
        board.told(word("extractor-0", number, {(CALLS, ("c",)): (1.0,)}))

    assert merged(board.cells())[CALLS, ("c",)] == (1_000.0,)
    assert len(board.cells()) <= 201
    assert board.instances == 1_000


def test_a_repository_that_is_gone_is_shown_no_more(tmp_path: Path) -> None:
    metrics = metrics_of(tmp_path)
    metrics._process.prime(FILES, "gone")
    looked = metrics._gauges.look()
    looked.repositories = frozenset({"here"})
    metrics._process.prime(FILES, "here")
    metrics._gauges.look = lambda: looked  # type: ignore[method-assign]

    text = metrics.exposition().decode()

    assert text.count('repository="here"') == 4
    assert 'repository="gone"' not in text


# -- how far everybody is ---------------------------------------------------------------------------


class _Broker:
    """Answers for one durable and two streams; the rest does not answer."""

    started = True

    def __init__(self) -> None:
        self.asked = 0

    async def api(self, subject: str, body: dict[str, Any], timeout: float) -> dict[str, Any]:
        self.asked += 1
        match subject:
            case "CONSUMER.INFO.INDEX.embedder":
                return {
                    "num_pending": 7, "num_ack_pending": 2, "num_redelivered": 1,
                    "created": "2026-01-01T00:00:00.123456789Z", "ack_floor": {"stream_seq": 0},
                }  # fmt: skip
            case "STREAM.INFO.INDEX":
                return {"state": {"last_seq": 50}}
            case "STREAM.INFO.DEAD":
                return {"state": {"messages": 3}}
        raise Unavailable("no answer")


async def test_lag_is_asked_once_for_scrapes_in_a_row_and_tells_what_answered() -> None:
    broker = _Broker()
    lag = Lag(cast(Bus, broker))
    await asyncio.gather(lag.refresh(), lag.refresh())
    asked = broker.asked
    await lag.refresh()

    cells = lag.cells(Positions(0, 42))

    assert broker.asked == asked
    age = cells.pop(("repofold.consumer.ack_age", ("embedder",)))
    assert age[0] > 86_400
    assert cells == {
        ("repofold.consumer.pending", ("embedder",)): (7.0,),
        ("repofold.consumer.unacknowledged", ("embedder",)): (2.0,),
        ("repofold.consumer.redelivered", ("embedder",)): (1.0,),
        ("repofold.embed.queue", ("files",)): (9.0,),
        ("repofold.projection.lag", ("INDEX",)): (8.0,),
        ("repofold.dead_letters", ()): (3.0,),
    }
    assert ("repofold.projection.lag", ("INDEX",)) not in lag.cells(None)


# -- feeding points that need no broker -------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "large", "blamed", "state", "cause"),
    [
        ("semantic.exact", False, "", "exhaustive", ""),
        ("semantic.exact", True, "", "bootstrapping", ""),
        ("semantic.approximate", True, "", "approximate", ""),
        ("keyword.no_embedder", False, "", "", ""),
        ("keyword.index_degraded", True, "", "bootstrapping", "keyword.index_degraded"),
        ("keyword.vector_plane_unavailable", True, "saturated", "bootstrapping", "saturated"),
        ("semantic.exact", False, "unknown", "exhaustive", "unknown"),
    ],
)
def test_a_search_is_counted_by_state_and_by_the_cause_of_its_lack(
    path: str, large: bool, blamed: Any, state: str, cause: str
) -> None:
    arms: list[tuple[str, tuple[str, ...]]] = [("repocontext.retrieval.ann.search", (s,)) for s in ("bootstrapping", "exhaustive", "approximate")]  # fmt: skip
    arms += [("repocontext.retrieval.unavailable", arm) for arm in INSTRUMENTS["repocontext.retrieval.unavailable"].arms]  # fmt: skip
    before = {arm: value(arm[0], *arm[1]) for arm in arms}
    staged = value("repocontext.retrieval.stage.duration", "embed", path)

    searches.begun()
    with searches.stage("embed"):
        pass
    if blamed:
        searches.because(blamed)
    searches.ended(path, large=large)

    risen = {arm[1][0] for arm in arms if value(arm[0], *arm[1]) > before[arm]}
    assert risen == {each for each in (state, cause) if each}
    assert value("repocontext.retrieval.stage.duration", "embed", path) == staged + 1


@pytest.mark.parametrize(
    ("reason", "replaces", "arm"),
    [
        ("", False, ("fresh", "none")),
        ("", True, ("resumed", "none")),
        ("missing_part", True, ("deferred", "none")),
        ("checksum", False, ("discarded", "unloadable_record")),
        ("unloadable", False, ("discarded", "unloadable_record")),
        ("count_mismatch", False, ("discarded", "count_mismatch")),
    ],
)
def test_loads_of_generations_are_told_apart(
    reason: str, replaces: bool, arm: tuple[str, str]
) -> None:
    name = "repocontext.ann.index.load"
    before = value(name, *arm)
    searches.loaded(reason, replaces)

    assert arm in INSTRUMENTS[name].arms
    assert value(name, *arm) == before + 1


def test_exact_scans_that_fail_are_told_apart() -> None:
    name = "repocontext.retrieval.exact_gather.faults"
    before = {arm: value(name, *arm) for arm in INSTRUMENTS[name].arms}
    fallback = ExactFallback()
    for error in (MemoryError(), TimeoutError(), ValueError()):
        fallback.failed("scans", error)
    fallback.failed("other", ValueError())
    fallback.finished("third", STALL_S + 1)

    risen = {arm[0]: value(name, *arm) - before[arm] for arm in INSTRUMENTS[name].arms}

    assert risen == {"stalled": 1, "timed_out": 1, "exhausted": 1, "abandoned": 0, "propagated": 1, "deterministic": 1}  # fmt: skip


def test_a_pass_is_counted_once_with_its_files() -> None:
    ledger = Ledger({"a": "added", "b": "updated", "c": "removed"})
    running = RunningPass("p", "reconcile", 1, 1, scanned=10)
    counting.begun("passes")
    primed = counted.cells()
    counting.ended("passes", running, ledger, "Completed")

    for arm in INSTRUMENTS["repocontext.ingest.passes"].arms:
        assert primed["repocontext.ingest.passes", ("passes", *arm)] == (0.0,)
    files = {arm[0]: value(FILES, "passes", *arm) for arm in INSTRUMENTS[FILES].arms}
    assert files == {"added": 1, "updated": 1, "removed": 1, "unchanged": 8}
    assert value("repocontext.ingest.files_scanned", "passes") == 10
    assert value("repocontext.ingest.passes", "passes", "completed") == 1
    assert value("repocontext.ingest.pass.duration", "passes", "completed") == 1


def test_a_pass_that_is_cut_off_is_told_with_its_phase_and_time() -> None:
    phase, lost = "repocontext.bootstrap.phase_cancelled", "repocontext.bootstrap.phase_cancelled.discarded_time"  # fmt: skip
    before = value(phase, "Applying"), value(lost, "Applying")
    counting.cut_off("cut", RunningPass("p", "reconcile", 1, 1, phase="Applying"))
    counting.cut_off("cut", RunningPass("p", "reconcile", 1, 1, phase="Done"))
    counting.cut_off("cut", None)

    assert value(phase, "Applying") == before[0] + 1
    assert value(lost, "Applying") > before[1]
    assert value("repocontext.ingest.passes", "cut", "cancelled") == 1


def test_a_build_tells_its_phases_and_where_it_failed() -> None:
    name = "repocontext.ann.build.slice"
    flight = "repocontext.ann.build.step.in_flight_seconds"

    def fail() -> None:
        with BuildWatch("built", "s") as watch:
            assert counted.cells()[flight, ("built", "s", "coordinating")][0] > 0
            watch.enter("opening")
            raise Conflict("no")

    with pytest.raises(Conflict):
        fail()
    with BuildWatch("built", "s") as watch:
        watch.end("starved")

    cells = {key[1][2:]: values[0] for key, values in counted.cells().items() if key[0] == name and key[1][0] == "built" and values[0]}  # fmt: skip
    assert cells == {
        ("coordinating", "advanced", ""): 1, ("opening", "faulted", "plane-rejected"): 1,
        ("coordinating", "starved", ""): 1,
    }  # fmt: skip
    in_flight = {values for key, values in counted.cells().items() if key[0] == flight and key[1][0] == "built"}  # fmt: skip
    assert in_flight == {(0.0,)}


def test_causes_of_a_failed_build_are_a_closed_set() -> None:
    causes = {
        cause_of(error)
        for error in (
            NotFound("x"),
            CorruptEnvironment("x"),
            Unavailable("x"),
            TimeoutError(),
            MemoryError(),
            Conflict("x"),
            ZeroDivisionError(),
        )
    }

    assert causes == {"projection-stale", "dependency-unavailable", "response-timeout", "saturated", "plane-rejected", "unexpected"}  # fmt: skip


def test_vectors_that_cannot_be_read_five_times_are_left_alone_until_they_change() -> None:
    unreadable = Unreadable()

    assert [unreadable.failed("r", 7) for _ in range(5)] == [False] * 4 + [True]
    assert unreadable.is_parked("r", 7)
    assert not unreadable.is_parked("other", 7)
    assert not unreadable.is_parked("r", 8)
    assert not unreadable.failed("r", 8)
