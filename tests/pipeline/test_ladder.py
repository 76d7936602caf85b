"""The ladder of routes under faults: every rung can be reached, is labelled as itself, and heals."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from services.query import fallback
from services.query.planes import Plane
from services.query.ranking.dense import DensePlane
from services.query.tools import readiness
from tests.broker import Broker
from tests.pipeline.inprocess import Node, node

pytestmark = [pytest.mark.anyio, pytest.mark.broker]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "ws" / "demo"
    root.mkdir(parents=True)
    for number in range(4):
        (root / f"valve{number}.py").write_text(f"def open_valve{number}():\n    return {number}\n")
    return root


@pytest.fixture
async def running(broker: Broker, tmp_path: Path, tree: Path) -> AsyncIterator[Node]:
    # Every corpus is large enough for an approximate index, and there is none yet.
    async with node(broker, tmp_path / "state", tree.parent, ann_threshold_vectors=1) as started:
        await started.add(tree)
        await started.indexed()
        yield started


async def search(running: Node) -> tuple[str, str]:
    found = await running.call("repocontext_search", repoId="demo", query="open the valve")
    return found.mode, found.retrieval_path


async def health(running: Node) -> Any:
    return await running.call("repocontext_health", repoId="demo")


class Breaking:
    """A scan that raises, or takes long, for as long as it is told to."""

    def __init__(self, running: Node, monkeypatch: pytest.MonkeyPatch) -> None:
        self.error: Exception | None = None
        self.takes = 0.0
        self.now = 1000.0
        running.host.retrieval.fallback.clock = lambda: self.now
        good = DensePlane.score

        def score(plane: DensePlane, vector: Any) -> Any:
            self.now += self.takes
            if self.error is not None:
                raise self.error
            return good(plane, vector)

        monkeypatch.setattr(DensePlane, "score", score)


async def test_without_an_index_of_a_large_corpus_everything_is_scanned(running: Node) -> None:
    assert await search(running) == ("semantic", "semantic.exact")


async def test_a_scan_that_stalled_is_left_alone_for_a_minute_then_twice_as_long(
    running: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = Breaking(running, monkeypatch)
    scan.takes = fallback.STALL_S + 1

    assert await search(running) == ("semantic", "semantic.exact")  # late, but an answer
    scan.takes = 0.0
    assert await search(running) == ("keyword", "keyword.exact_fallback_suppressed")
    told = (await health(running)).repository
    assert (told.breaker_open, told.breaker_probe_due_in) == (True, 60.0)
    assert (await health(running)).repository.breaker_probe_due_in == 60.0  # looking costs nothing

    scan.now += 61
    scan.takes = fallback.STALL_S + 1
    assert (await search(running))[1] == "semantic.exact"  # the probe, as slow as before
    scan.takes = 0.0
    assert (await health(running)).repository.breaker_probe_due_in == 120.0
    scan.now += 121
    assert (await search(running))[1] == "semantic.exact"
    told = (await health(running)).repository
    assert (told.breaker_open, told.breaker_probe_due_in) == (False, None)


async def test_the_breaker_never_rests_longer_than_a_quarter_of_an_hour(
    running: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = Breaking(running, monkeypatch)
    scan.takes = fallback.STALL_S + 1
    rests = []
    for _ in range(8):
        await search(running)
        rests.append((await health(running)).repository.breaker_probe_due_in)
        scan.now += rests[-1] + 1

    assert rests == [60, 120, 240, 480, 900, 900, 900, 900]


async def test_a_lack_of_memory_is_load_at_first_and_a_defect_when_it_stays(
    running: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = Breaking(running, monkeypatch)
    scan.error = MemoryError()
    seen = []
    for _ in range(3):
        seen.append((await search(running))[1])
        scan.now += 1000

    assert seen == ["keyword.exact_fallback_suppressed"] * 2 + ["keyword.index_degraded"]
    scan.error = None
    assert (await search(running))[1] == "semantic.exact"


async def test_an_index_that_throws_is_degraded_and_answers_by_keyword(
    running: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(plane: Plane, generations: Any) -> Any:
        raise ValueError("damaged codes")

    monkeypatch.setattr(Plane, "overlay", broken)

    assert await search(running) == ("keyword", "keyword.index_degraded")
    told = await health(running)
    assert (told.retrieval_phase, told.repository.last_retrieval_path) == (
        "serving",  # proven before: it is held for half a minute
        "keyword.index_degraded",
    )
    assert "keyword.index_degraded" in told.repository.reason
    monkeypatch.setattr(readiness, "_HOLD_MS", -1)
    assert (await health(running)).retrieval_phase == "building"


async def test_stored_vectors_that_cannot_be_read_degrade_and_do_not_fail(
    running: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: Any) -> Any:
        raise ValueError("not whole vectors")

    monkeypatch.setattr("services.query.planes._vectors", unreadable)
    running.host.retrieval.release()

    assert await search(running) == ("keyword", "keyword.index_degraded")


async def test_an_index_whose_candidates_are_all_gone_is_degraded(
    running: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    import services.query.retrieval as retrieval

    good = retrieval._hit

    def gone(*arguments: Any) -> Any:
        dense = arguments[-1]
        return good(*arguments) if dense is None else None

    monkeypatch.setattr(retrieval, "_hit", gone)

    assert await search(running) == ("keyword", "keyword.index_degraded")


async def test_a_fault_of_the_keyword_scan_is_an_empty_answer_with_its_route(
    running: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: Any) -> Any:
        raise IndexError("postings end too early")

    monkeypatch.setattr("services.query.retrieval.score_corpus", unreadable)

    assert await search(running) == ("empty", "semantic.exact")


async def test_a_corpus_over_the_bound_without_an_index_is_saturated_until_it_has_one(
    broker: Broker, tmp_path: Path, tree: Path
) -> None:
    async with node(
        broker, tmp_path / "state", tree.parent, ann_threshold_vectors=1, exact_scan_vectors=2
    ) as started:
        await started.add(tree)
        await started.indexed()

        assert await search(started) == ("keyword", "keyword.vector_plane_unavailable")
        told = await health(started)
        assert (told.retrieval_ready, told.retrieval_phase) == (False, "saturated_unavailable")
        assert "4 vectors" in told.repository.reason
        host = await started.call("repocontext_health")
        assert (host.available, host.retrieval_phase) == (True, "saturated_unavailable")

        (tree / "valve3.py").unlink()
        (tree / "valve2.py").unlink()
        await started.add(tree)
        await started.until(lambda s: len(list(s.files("demo"))) == 2)
        await started.indexed()
        assert (await health(started)).retrieval_phase == "serving"
        assert (await search(started))[1] == "semantic.exact"


@pytest.mark.parametrize(
    ("vectors", "bound", "outcome"),
    [
        (10, 0, "unbounded"),
        (None, 5, "corpus_unknown"),
        (5, 5, "within_budget"),
        (6, 5, "exceeded"),
    ],
)
async def test_a_corpus_of_unknown_size_passes_the_bound(
    vectors: int | None, bound: int, outcome: str
) -> None:
    assert fallback.budget_of(vectors, bound) == outcome
