"""Are the figures of a working node right, and do they reach the query process over the broker?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from contracts import subjects
from contracts.subjects import DURABLES
from services.kernel.bus import Bus
from services.kernel.instruments import Tally, counted
from services.kernel.reporter import Reporter
from services.query.metrics import Metrics
from tests import facts
from tests.broker import Broker
from tests.pipeline.inprocess import Node, node
from tests.pipeline.test_ann_broker import FILES, SPACE, open_desk
from tests.pipeline.test_upkeep import purge, replay, tick

pytestmark = pytest.mark.broker
_INGEST = "repocontext.ingest"
_FILES = {
    "add.py": "def add(a, b):\n    return a + b\n",
    "sub.py": "def sub(a, b):\n    return a - b\n",
    "notes.md": "# Notes\n\nOn addition.\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "demo"
    root.mkdir()
    for name, text in _FILES.items():
        (root / name).write_text(text)
    return root


@pytest.fixture
async def running(broker: Broker, tree: Path, tmp_path: Path) -> AsyncIterator[Node]:
    async with node(broker, tmp_path / "state", tree) as started:
        yield started


def shown(text: bytes, name: str) -> dict[tuple[str, ...], float]:
    """Label values in the order of their names -> value."""
    families: dict[str, Metric] = {
        family.name: family for family in text_string_to_metric_families(text.decode())
    }
    return {
        tuple(sample.labels[label] for label in sorted(sample.labels)): sample.value
        for sample in families[name].samples
        if not sample.name.endswith("_created")
    }


def ingested(repo: str) -> dict[tuple[str, ...], float]:
    """What was counted of a repository in this process, which all workers of the test share."""
    return {
        (name.removeprefix(f"{_INGEST}."), *labels[1:]): values[0]
        for (name, labels), values in counted.cells().items()
        if name.startswith(_INGEST) and labels[0] == repo and len(values) == 1
    }


async def passes_counted(repo: str, passes: int) -> dict[tuple[str, ...], float]:
    """Wait until so many passes were counted, which comes a moment after their records."""
    async with asyncio.timeout(30):
        while ingested(repo).get(("passes", "completed")) != passes:
            await asyncio.sleep(0.02)
    return ingested(repo)


async def test_a_pass_is_counted_where_each_part_of_it_happens(running: Node, tree: Path) -> None:
    await running.add(tree, "counted")
    await running.indexed("counted")
    first = await passes_counted("counted", 1)
    (tree / "add.py").write_text("def add(*numbers):\n    return sum(numbers)\n")
    (tree / "sub.py").unlink()
    await running.add(tree, "counted")
    second = await passes_counted("counted", 2)

    assert first == {
        ("files_scanned",): 3, ("files", "added"): 3, ("files", "updated"): 0,
        ("files", "removed"): 0, ("files", "unchanged"): 0, ("files_embedded",): 3,
        ("symbols_embedded",): 3, ("files_content_projected",): 3,
        ("passes", "completed"): 1, ("passes", "failed"): 0, ("passes", "cancelled"): 0,
    }  # fmt: skip
    risen = {key: second[key] - first[key] for key in second}
    assert {key: count for key, count in risen.items() if count} == {
        ("files_scanned",): 2, ("files", "updated"): 1, ("files", "removed"): 1,
        ("files", "unchanged"): 1, ("files_embedded",): 1, ("symbols_embedded",): 1,
        ("files_content_projected",): 1, ("passes", "completed"): 1,
    }  # fmt: skip


async def test_a_scrape_tells_how_far_everybody_is_behind(running: Node, tree: Path) -> None:
    metrics = Metrics(running.host)
    await metrics.start(running.bus)
    await running.stop("extractor", "embedder")
    await running.add(tree)
    async with asyncio.timeout(20):
        while (await running.bus.api("CONSUMER.INFO.WORK.extractor", {}))["num_pending"] < 3:
            await asyncio.sleep(0.02)
    waiting = await metrics.scrape()
    dead = subjects.dead("extractor", "work.extract.demo.x")
    async with Connected(running, "ops") as bus:
        await (await bus.put(dead, b"cause"))
    later = Metrics(running.host)
    await later.start(running.bus)
    text = await later.scrape()
    metrics.stop()
    later.stop()

    pending = shown(waiting, "repofold_consumer_pending")
    assert set(pending) == {(spec.name,) for spec in DURABLES}
    assert pending["extractor",] == 3
    assert shown(waiting, "repofold_consumer_ack_age_seconds")["extractor",] >= 0
    assert set(shown(waiting, "repofold_projection_lag")) == {("LOG",), ("INDEX",)}
    assert set(shown(waiting, "repofold_embed_queue")) == {("files",), ("notes",)}
    assert shown(waiting, "repofold_dead_letters") == {(): 0}
    assert shown(text, "repofold_dead_letters") == {(): 1}
    assert shown(text, "repofold_lmdb_reader_lag")[()] >= 0


class Connected:
    """A connection of another user, for a block."""

    def __init__(self, running: Node, user: str) -> None:
        self._bus = Bus(running.settings, user)

    async def __aenter__(self) -> Bus:
        await self._bus.start()
        return self._bus

    async def __aexit__(self, *_: object) -> None:
        await self._bus.stop()


async def test_figures_of_workers_reach_a_query_process_that_starts_later_and_one_that_listens(
    running: Node,
) -> None:
    tallies = [Tally(), Tally()]
    reporters = [
        Reporter(running.bus, name, tally)
        for name, tally in zip(("reconciler", "embedder"), tallies, strict=True)
    ]
    for tally in tallies:
        tally.add("repocontext.bootstrap.coverage_verdict", "converged", by=3)
    assert await reporters[0].report()
    metrics = Metrics(running.host, Tally())
    await metrics.start(running.bus)
    assert await reporters[1].report()
    tallies[0].add("repocontext.bootstrap.coverage_verdict", "converged")
    assert await reporters[0].report()

    def converged() -> float:
        return shown(metrics.exposition(), "repocontext_bootstrap_coverage_verdict")["converged",]

    async with asyncio.timeout(10):
        while converged() < 7:
            await asyncio.sleep(0.01)
    metrics.stop()

    assert converged() == 7
    assert shown(metrics.exposition(), "repofold_instruments_instances") == {(): 2}


async def test_readiness_is_told_once_with_how_it_came(running: Node, tree: Path) -> None:
    name = "repocontext_retrieval_ready_seconds"
    metrics = Metrics(running.host)
    await metrics.start(running.bus)
    assert shown(metrics.exposition(), name) == {}
    await running.add(tree)
    await running.indexed()
    async with asyncio.timeout(20):
        while not shown(metrics.exposition(), name):
            await asyncio.sleep(0.02)
    again = Metrics(running.host)
    await again.start(running.bus)
    async with asyncio.timeout(20):
        while not shown(again.exposition(), name):
            await asyncio.sleep(0.02)
    metrics.stop()
    again.stop()

    assert 'ready_seconds_count{phase="onboarding"} 1.0' in metrics.exposition().decode()
    assert 'ready_seconds_count{phase="restart"} 1.0' in again.exposition().decode()


async def test_a_message_stored_twice_is_counted_as_dropped(running: Node) -> None:
    key = ("repofold.messages.dropped", ("message_id",))
    before = counted.cells().get(key, (0.0,))[0]
    for _ in range(2):
        await (await running.bus.put("cmd.none.x", b"", message_id="the same"))

    assert counted.cells()[key] == (before + 1,)


async def test_a_generation_is_counted_from_its_corpus_to_its_head(
    broker: Broker, tmp_path: Path
) -> None:
    async with open_desk(broker, tmp_path / "state") as made:
        await made.folds(await made.embedded(range(FILES)))
        before = counted.cells()
        await made.builder._sweep()
        await made.generation(1)
        await made.builder._sweep()
        await made.passing("Running")
        await made.until(lambda s: s.newest_pass(facts.REPO) is not None)
        await made.builder._sweep()

    risen = {
        (name.removeprefix("repocontext.ann."), *labels): values[0] - before.get((name, labels), (0,))[0]
        for (name, labels), values in counted.cells().items()
        if name.startswith("repocontext.ann.") and len(values) == 1
    }  # fmt: skip
    plane = (facts.REPO, SPACE)
    assert {key: count for key, count in risen.items() if count} == {
        ("sweep", "armed", ""): 1, ("sweep", "empty", ""): 2,
        ("sweep.arming", "armed"): 1, ("sweep.arming", "deferred"): 1,
        ("partitioning", "unpartitioned-large"): 3, ("repartition", "partitioned"): 1,
        ("build.corpus", "nonempty"): 1, ("build.slice.items",): FILES,
        ("build.slice", *plane, "coordinating", "advanced", ""): 2,
        ("build.slice", *plane, "opening", "advanced", ""): 1,
        ("build.slice", *plane, "opening", "idle", ""): 1,
        ("build.slice", *plane, "ingesting", "advanced", ""): 1,
        ("build.slice", *plane, "training", "advanced", ""): 1,
        ("build.slice", *plane, "persisting", "advanced", ""): 1,
        ("build.slice", *plane, "reconciling", "advanced", ""): 1,
    }  # fmt: skip
    staged = {labels[0] for name, labels in counted.cells() if name == "repocontext.ann.build.stage.duration"}  # fmt: skip
    assert staged == {"source_wait", "key_assign", "index_upsert", "key_flush"}


async def test_the_maintainer_tells_what_it_looked_for_and_concluded(
    running: Node, tree: Path
) -> None:
    probe, verdict = "repocontext.bootstrap.coverage_probe", "repocontext.bootstrap.coverage_verdict"  # fmt: skip
    rebuilt = "repocontext.vectorplane.rederive"
    await running.add(tree)
    await running.indexed()
    before = counted.cells()
    await purge(running, "index.demo.vec.>")
    await replay(running)
    await running.until(lambda s: s.repo("demo").counters.embedded == 0)  # type: ignore[union-attr]
    for _ in range(2):  # a gap counts when two looks saw it
        await tick(running)

    risen = {
        key[1]: values[0] - before.get(key, (0.0,))[0]
        for key, values in counted.cells().items()
        if key[0] in (probe, verdict, rebuilt) and values != before.get(key)
    }
    assert {labels: count for labels, count in risen.items() if labels[0] != "sweep"} == {
        ("file", "conclusive"): 2, ("symbol", "conclusive"): 2, ("converged",): 1, ("gap_found",): 1,
        ("projection", "observed"): 1, ("projection", "completed"): 1,
    }  # fmt: skip


async def test_a_snapshot_that_is_held_shows_as_the_oldest_reader(
    running: Node, tree: Path
) -> None:
    metrics = Metrics(running.host)
    await running.add(tree, "held")
    await running.indexed("held")
    position = await _edited(running, tree, 1)
    with running.host.read():
        fresh = metrics.exposition()
        await running.until(lambda s: s.positions().index >= position)
        later = await _edited(running, tree, 2)
        await running.until(lambda s: s.positions().index >= later)
        running.host.retrieval.release()
        held = metrics.exposition()
        again = metrics.exposition()
    running.host.retrieval.release()
    done = metrics.exposition()

    lag, age = "repofold_lmdb_reader_lag", "repofold_lmdb_oldest_reader_age_seconds"
    assert shown(fresh, age)[()] == 0
    assert shown(held, lag)[()] > 0
    assert shown(again, age)[()] > 0
    assert (shown(done, lag)[()], shown(done, age)[()]) == (0, 0)


async def _edited(running: Node, tree: Path, number: int) -> int:
    """Have a further pass end with a change; returns a position it is folded at."""
    (tree / "add.py").write_text(f"def add_{number}(a, b):\n    return a + b\n")
    await running.add(tree, "held")
    name = f"add.add_{number}"
    await running.until(lambda s: bool(s.declaring("held", name)))
    await running.indexed("held")
    with running.host.read() as snapshot:
        return snapshot.positions().index


async def test_vectors_that_cannot_be_read_fault_the_sweep_and_are_left_alone_in_the_end(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> None:
        raise ValueError("half a row")

    monkeypatch.setattr("services.ann.main.corpus_of", damaged)
    async with open_desk(broker, tmp_path / "state") as made:
        await made.folds(await made.embedded(range(FILES)))
        before = counted.cells()
        for _ in range(7):
            await made.builder._sweep()

    def risen(name: str, *labels: str) -> float:
        key = (f"repocontext.ann.{name}", labels)
        return counted.cells()[key][0] - before.get(key, (0.0,))[0]

    assert risen("sweep", "faulted", "authority-unavailable") == 5
    assert risen("sweep", "empty", "") == 2
    assert risen("sweep.arming", "faulted") == 5
    assert risen("build.corpus", "unknown") == 5
    assert risen("build.denial_terminal") == 1
    plane = (facts.REPO, SPACE)
    assert risen("build.slice", *plane, "ingesting", "faulted", "projection-stale") == 5
    assert counted.cells()["repocontext.ann.build.step.in_flight_seconds", (*plane, "ingesting")] == (0.0,)  # fmt: skip
