"""The ANN builder on a real broker, with a projector: generations appear, whole, when they are due."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from contracts import subjects
from contracts.envelope import Envelope, encode
from contracts.errors import NotFound, Superseded
from contracts.events.index import PassChanged, SpaceAgreed, VectorsStored
from contracts.ids import RepoPath
from contracts.subjects import INDEX
from services.ann.main import AnnBuilder, assemble
from services.ann.publish import Edition, claimed, publish
from services.kernel.bus import Bus
from services.kernel.provision import provision
from services.kernel.settings import Settings
from services.projector.main import assemble as projector
from services.query.ranking.dense import VectorTable
from store.ann import AnnGenerations, AnnIndex, Overlay, build
from store.read.live import Projections, Snapshot
from tests import facts
from tests.broker import Broker
from tests.guarded_broker import connected, guarded

pytestmark = [pytest.mark.anyio, pytest.mark.broker]
SPACE, DIMENSION = "test/16", 16
FILES = 60


class Desk:
    """A projector and a builder beside it, and what a test does to the streams."""

    def __init__(self, settings: Settings, bus: Bus, builder: AnnBuilder) -> None:
        self.settings, self.bus, self.builder = settings, bus, builder
        self.projections = Projections(settings.projections)
        self.folded = asyncio.Event()

    async def registered(self) -> None:
        await (await self.bus.put(subjects.repo_log(facts.REPO), facts.registered()))
        agreed = SpaceAgreed(space=SPACE, ready=True)
        envelope = Envelope(id="s", at_ms=1, producer="embedder", event=agreed)
        await (await self.bus.put(subjects.embedding_space(), encode(envelope)))

    async def embedded(self, numbers: range, version: int = 1, space: str = SPACE) -> int:
        """Record files and store their vectors; returns the newest sequence."""
        sequence = 0
        for number in numbers:
            path = f"f{number}.py"
            record = facts.recorded(path, f"text {number}", version)
            stored = await self.bus.put(subjects.file_record(facts.REPO, path), record)
            event = VectorsStored(
                path=RepoPath(path), file_sequence=(await stored).seq, space=space,
                dimension=DIMENSION, vectors=vector(number, version).tobytes(),
            )  # fmt: skip
            kept = await self.bus.put(subjects.file_vectors(facts.REPO, path), facts.wrap(event))
            sequence = (await kept).seq
        return sequence

    async def passing(self, status: str) -> int:
        event = PassChanged(
            pass_id="p", reason="onboard", status=status, phase="Done", attempt=1,
            updated_ms=1 << 62,
        )  # fmt: skip
        return (await (await self.bus.put(subjects.repo_pass(facts.REPO), facts.wrap(event)))).seq

    async def until(self, holds: Callable[[Snapshot], bool]) -> None:
        async with asyncio.timeout(30):
            while True:
                with contextlib.suppress(NotFound), self.projections.read() as snapshot:
                    if holds(snapshot):
                        return
                self.folded.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.folded.wait(), 0.2)

    async def folds(self, sequence: int) -> None:
        await self.until(lambda snapshot: snapshot.positions().index >= sequence)

    async def generation(self, number: int) -> tuple[AnnIndex, VectorTable]:
        """Wait for a generation, load it, with the live vectors."""

        def there(snapshot: Snapshot) -> bool:
            head = snapshot.ann_head(facts.REPO)
            return head is not None and head.generation >= number

        await self.until(there)
        with self.projections.read() as snapshot:
            loaded = AnnGenerations().get(snapshot.txn, facts.REPO)
            rows = [(sequence, row.vectors) for sequence, row in snapshot.vectors(facts.REPO)]
        assert loaded.index is not None, loaded.reason
        return loaded.index, VectorTable(DIMENSION).changed(rows)


def vector(number: int, version: int) -> np.ndarray:
    rows = np.random.default_rng((number, version)).normal(size=DIMENSION)
    return np.rint(127 * rows / np.linalg.norm(rows)).astype(np.int8)


@contextlib.asynccontextmanager
async def desk(
    settings: Settings, bus: Bus, projector_bus: Bus, ann_bus: Bus, *, started: bool = False
) -> AsyncIterator[Desk]:
    parts = await projector(settings, projector_bus)
    for service in parts.services:
        await service.start()
    (builder,) = (await assemble(settings, ann_bus)).services
    assert isinstance(builder, AnnBuilder)
    made = Desk(settings, bus, builder)
    if started:
        await builder.start()
    try:
        yield made
    finally:
        await builder.stop()
        for service in parts.services:
            await service.stop()
        made.projections.close()


@contextlib.asynccontextmanager
async def open_desk(broker: Broker, state: Path, **options: bool) -> AsyncIterator[Desk]:
    settings = Settings(nats_url=broker.url, state_dir=str(state), ann_threshold_vectors=FILES - 10)
    bus = Bus(settings, "test")
    await bus.start()
    await provision(bus)
    try:
        async with desk(settings, bus, bus, bus, **options) as made:
            await made.registered()
            yield made
    finally:
        await bus.stop()


async def test_a_large_repository_gets_a_generation_without_being_asked(
    broker: Broker, tmp_path: Path
) -> None:
    async with open_desk(broker, tmp_path / "state", started=True) as made:
        await made.embedded(range(FILES))
        index, table = await made.generation(1)

    assert (index.generation, index.space, index.vectors) == (1, SPACE, FILES)
    query = (vector(7, 1) / 127).astype(np.float32)
    found = Overlay(index, table).search(query, 1)
    assert found.score[0] == pytest.approx(1, abs=0.05)


async def test_a_small_repository_gets_none(broker: Broker, tmp_path: Path) -> None:
    async with open_desk(broker, tmp_path / "state") as made:
        await made.folds(await made.embedded(range(FILES - 11)))

        assert not await made.builder.consider(facts.REPO, patient=False)


async def test_a_generation_is_built_once_and_again_after_many_changes(
    broker: Broker, tmp_path: Path
) -> None:
    async with open_desk(broker, tmp_path / "state") as made:
        consider = made.builder.consider
        await made.folds(await made.embedded(range(FILES)))
        assert await consider(facts.REPO, patient=True)
        await made.generation(1)
        assert not await consider(facts.REPO, patient=True)

        await made.folds(await made.embedded(range(5), version=2))
        assert not await consider(facts.REPO, patient=True)
        index, table = await made.generation(1)
        overlay = Overlay(index, table)
        assert (overlay.later_vectors, overlay.dead_vectors) == (5, 5)

        await made.folds(await made.embedded(range(20), version=3))
        assert await consider(facts.REPO, patient=True)
        index, table = await made.generation(2)

    overlay = Overlay(index, table)
    assert (index.generation, overlay.later_vectors, overlay.dead_vectors) == (2, 0, 0)


async def test_nothing_is_built_while_a_pass_runs(broker: Broker, tmp_path: Path) -> None:
    async with open_desk(broker, tmp_path / "state") as made:
        await made.embedded(range(FILES))
        await made.folds(await made.passing("Running"))
        assert not await made.builder.consider(facts.REPO, patient=False)

        await made.folds(await made.passing("Completed"))
        assert await made.builder.consider(facts.REPO, patient=True)


async def test_a_patient_builder_waits_for_vectors_that_are_still_to_come(
    broker: Broker, tmp_path: Path
) -> None:
    async with open_desk(broker, tmp_path / "state") as made:
        await made.embedded(range(FILES))
        waiting = facts.recorded("waiting.py", "not embedded yet", 1)
        stored = await made.bus.put(subjects.file_record(facts.REPO, "waiting.py"), waiting)
        await made.folds((await stored).seq)

        assert not await made.builder.consider(facts.REPO, patient=True)
        assert await made.builder.consider(facts.REPO, patient=False)


async def test_only_vectors_of_the_space_agreed_on_are_indexed(
    broker: Broker, tmp_path: Path
) -> None:
    async with open_desk(broker, tmp_path / "state") as made:
        await made.folds(await made.embedded(range(FILES), space="old/16"))
        assert not await made.builder.consider(facts.REPO, patient=False)

        await made.folds(await made.embedded(range(FILES), version=2))
        assert await made.builder.consider(facts.REPO, patient=False)
        index, _ = await made.generation(1)
    assert index.space == SPACE


def edition(over: int, generation: int = 1) -> Edition:
    return Edition(
        repo=facts.REPO, index_generation=1, generation=generation, space=SPACE, upto=1,
        claim_over=over,
    )  # fmt: skip


async def test_of_builders_that_publish_at_once_exactly_one_is_heard(
    broker: Broker, tmp_path: Path
) -> None:
    async with open_desk(broker, tmp_path / "state") as made:
        await made.folds(await made.embedded(range(FILES)))
        over = await claimed(made.bus, facts.REPO)
        builds = []
        for seed in (5, 6, 7):
            rows = np.random.default_rng(seed).integers(-127, 128, (90_000, DIMENSION), np.int8)
            built = build([(seed, rows.tobytes())], DIMENSION, lambda: False)
            assert built is not None
            assert len(built.parts()) > 1
            builds.append(built)
        outcomes = await asyncio.gather(
            *(publish(made.bus, edition(over), built) for built in builds), return_exceptions=True
        )
        index, _ = await made.generation(1)

    assert outcomes.count(None) == 1
    assert sum(isinstance(outcome, Superseded) for outcome in outcomes) == 2
    assert index.files.tolist() == [5 + outcomes.index(None)]


async def test_a_builder_overtaken_midway_does_not_touch_the_newer_generation(
    broker: Broker, tmp_path: Path
) -> None:
    async with open_desk(broker, tmp_path / "state") as made:
        await made.folds(await made.embedded(range(FILES)))
        first = await made.bus.put(subjects.ann_part(facts.REPO, 0), b"claimed by the first")
        claim = (await first).seq
        made_files = [(number + 1, vector(number, 1).tobytes()) for number in range(FILES)]
        second = build(made_files, DIMENSION, lambda: False)
        assert second is not None
        await publish(made.bus, edition(claim, 2), second)

        with pytest.raises(Superseded):
            await made.bus.append_beside(
                subjects.ann_head(facts.REPO), b"head of the first",
                beside=subjects.ann_part(facts.REPO, 0), sequence=claim,
            )  # fmt: skip
        index, _ = await made.generation(2)
    assert index.generation == 2


async def test_a_stopped_builder_publishes_nothing(broker: Broker, tmp_path: Path) -> None:
    async with open_desk(broker, tmp_path / "state", started=True) as made:
        await made.builder.stop()
        await made.folds(await made.embedded(range(FILES)))

        assert not await made.builder.consider(facts.REPO, patient=False)
        assert await claimed(made.bus, facts.REPO) == 0


async def test_where_everything_is_scanned_exactly_nothing_is_built(
    broker: Broker, tmp_path: Path
) -> None:
    settings = Settings(nats_url=broker.url, state_dir=str(tmp_path), semantic_retrieval="exact")
    parts = await assemble(settings, Bus(settings, "ann"))

    assert parts.services == []


async def test_the_builders_own_user_may_do_all_of_it(tmp_path: Path) -> None:
    with guarded(tmp_path / "state") as settings:
        settings = msgspec.structs.replace(settings, ann_threshold_vectors=10)
        async with (
            connected(settings, "ops") as ops,
            connected(settings, "memory") as memory,
            connected(settings, "extractor") as extractor,
            connected(settings, "embedder") as embedder,
            connected(settings, "projector") as projector_bus,
            connected(settings, "ann") as ann_bus,
        ):
            await provision(ops)
            async with desk(settings, embedder, projector_bus, ann_bus) as made:
                made.bus = memory
                await (await memory.put(subjects.repo_log(facts.REPO), facts.registered()))
                made.bus = embedder
                agreed = SpaceAgreed(space="test/4", ready=True)
                envelope = Envelope(id="s", at_ms=1, producer="embedder", event=agreed)
                await (await embedder.put(subjects.embedding_space(), encode(envelope)))
                sequence = 0
                for number in range(12):
                    path = f"f{number}.py"
                    record = facts.recorded(path, "text", 1)
                    stored = await extractor.put(subjects.file_record(facts.REPO, path), record)
                    vectors = facts.vectors(path, (await stored).seq)
                    kept = await embedder.put(subjects.file_vectors(facts.REPO, path), vectors)
                    sequence = (await kept).seq
                await made.folds(sequence)

                assert await made.builder.consider(facts.REPO, patient=True)
                found = await ann_bus.last_message(subjects.ann_head(facts.REPO), INDEX)
    assert found is not None
