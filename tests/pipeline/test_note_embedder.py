"""Notes get the vectors of their newest text, on a real broker, and never hold up the files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from contracts import subjects
from contracts.envelope import Envelope, encode
from contracts.events.index import NoteVectorsStored
from contracts.events.log import RepoRemoved
from contracts.events.memory import Change, NoteRecorded
from contracts.note_text import text_digest
from contracts.notes import Claim, Note
from contracts.subjects import DEAD, INDEX
from services.embedder.main import Embedder
from services.embedder.provider import I1, NoteToEmbed
from services.kernel.bus import Bus
from services.kernel.consumer import Outage, Policy
from services.kernel.provision import provision
from services.kernel.settings import Settings
from services.source.passages import MAX_PASSAGES, PASSAGE_BYTES, passages
from services.source.static_model import StaticModel
from tests import facts
from tests.broker import Broker
from tests.embedding_server import serving
from tests.folded_notes import NOW, SLUG, memory
from tests.guarded_broker import connected, guarded
from tests.pipeline.test_embedder_broker import (
    Gated,
    assembled,
    embedding,
    record,
    until,
    vectors_of,
)

pytestmark = [pytest.mark.anyio, pytest.mark.broker]
_decode = msgspec.msgpack.Decoder(Envelope[NoteVectorsStored]).decode


class Counting(Gated):
    """Tells which notes it was asked for."""

    def __init__(self, space: str = "gated/2", fill: int = 1) -> None:
        super().__init__(space, fill)
        self.asked: list[NoteToEmbed] = []
        self.note_outages = 0

    async def embed_notes(self, notes: Sequence[NoteToEmbed]) -> Sequence[I1]:
        if self.note_outages:
            self.note_outages -= 1
            raise Outage("no notes today")
        self.asked += notes
        return [np.full((len(note.passages), 2), self.fill, np.int8) for note in notes]


@pytest.fixture
async def bus(broker: Broker) -> AsyncIterator[Bus]:
    own = Bus(Settings(nats_url=broker.url), "test")
    await own.start()
    await provision(own)
    yield own
    await own.stop()


async def say(bus: Bus, note: Note, change: Change = "created", generation: int = 0) -> int:
    envelope = Envelope(
        id="t", repo=note.repo_id, generation=generation, at_ms=NOW, producer="memory",
        event=NoteRecorded(change=change, note=note, principal="test"),
    )  # fmt: skip
    subject = subjects.note_log(note.repo_id, note.topic, note.id)
    return (await (await bus.put(subject, encode(envelope)))).seq


async def stored(bus: Bus, note: Note) -> NoteVectorsStored | None:
    found = await bus.last_message(subjects.note_vectors(note.repo_id, note.topic, note.id), INDEX)
    return None if found is None else _decode(found[2]).event


async def worked_off(bus: Bus) -> bool:
    info = await bus.api("CONSUMER.INFO.LOG.note_embedder", {})
    return info["num_pending"] == 0 and info["num_ack_pending"] == 0


async def test_only_a_changed_text_is_embedded_again(bus: Bus, broker: Broker) -> None:
    provider = Counting()
    note = memory(1, "Deploy from main")
    first = await say(bus, note)

    async with embedding(broker, provider):
        await until(lambda: worked_off(bus))
        held = await stored(bus, note)
        assert held is not None
        assert (held.text_digest, held.log_sequence, held.space) == (
            text_digest(note),
            first,
            "gated/2",
        )
        claimed = replace(note, claim=Claim(fence=1, held=True))
        await say(bus, claimed, "granted")
        await say(bus, replace(claimed, updated_ms=NOW + 1), "deprecated")
        await until(lambda: worked_off(bus))
        assert len(provider.asked) == 1

        changed = memory(1, "Deploy from release")
        await say(bus, changed, "merged")
        await until(lambda: worked_off(bus))

    held = await stored(bus, note)
    assert held is not None
    assert held.text_digest == text_digest(changed)
    assert len(provider.asked) == 2


async def test_of_many_facts_only_the_newest_is_embedded(bus: Bus, broker: Broker) -> None:
    provider = Counting()
    for turn in range(20):
        await say(bus, memory(1, f"turn {turn}"), "merged")

    async with embedding(broker, provider, batch=2):
        await until(lambda: worked_off(bus))

    assert [note.passages[0] for note in provider.asked] == ["Memory\nturn 19"]


async def test_what_is_gone_has_its_vectors_replaced_by_none(bus: Bus, broker: Broker) -> None:
    provider = Counting()
    note, brief = memory(1, "one"), memory(2, "two", expires_ms=1)
    await say(bus, note)
    await say(bus, brief)  # expired long ago

    async with embedding(broker, provider):
        await until(lambda: worked_off(bus))
        await say(bus, replace(note, exists=False), "deleted")
        await until(lambda: worked_off(bus))

    held = await stored(bus, note)
    assert held is not None
    assert (held.vectors, held.text_digest) == (b"", "")
    assert await stored(bus, brief) is None


async def test_another_space_embeds_every_note_again(bus: Bus, broker: Broker) -> None:
    notes = [memory(number, f"note {number}") for number in range(1, 60)]
    for note in notes:
        await say(bus, note)
    async with embedding(broker, Counting("first/2")):
        await until(lambda: worked_off(bus))

    other = Counting("second/2", fill=2)
    async with embedding(broker, other):

        async def in_space() -> bool:
            found = [await stored(bus, note) for note in notes]
            return all(each is not None and each.space == "second/2" for each in found)

        await until(in_space)

    assert len(other.asked) == len(notes)


async def test_notes_of_a_removed_repository_stay_without_vectors(bus: Bus, broker: Broker) -> None:
    note = memory(1, "before the removal")
    await say(bus, note)
    removed = RepoRemoved(repo_id=note.repo_id, index_generation=2, memory_generation=2)
    await (await bus.put(subjects.repo_log(SLUG), facts.wrap(removed, repo=SLUG)))
    late = memory(2, "after it")
    await say(bus, late, generation=2)

    async with embedding(broker, Counting()):
        await until(lambda: worked_off(bus))

    assert await stored(bus, note) is None
    assert await stored(bus, late) is not None


async def test_an_outage_of_notes_holds_up_no_file(bus: Bus, broker: Broker) -> None:
    provider = Counting()
    provider.note_outages = 2
    note = memory(1, "waits")
    await say(bus, note)
    await record(bus, "a.py", "def go(): pass")

    async def is_embedded() -> bool:
        return await stored(bus, note) is not None

    async with embedding(broker, provider):

        async def file_is_embedded() -> bool:
            return await vectors_of(bus, "a.py") is not None

        await until(file_is_embedded)
        await until(is_embedded)


async def test_without_a_provider_notes_wait_and_the_shipped_model_takes_them_later(
    bus: Bus, broker: Broker, tmp_path: Path
) -> None:
    note = memory(1, "Database migrations are applied by hand", context="see db/README")
    await say(bus, note)
    async with assembled(
        Settings(nats_url=broker.url, state_dir=str(tmp_path), embed_provider="none")
    ):
        assert (await bus.api("CONSUMER.INFO.LOG.note_embedder", {}))["num_pending"] == 1

    async with assembled(Settings(nats_url=broker.url, state_dir=str(tmp_path))):
        await until(lambda: worked_off(bus))

    held = await stored(bus, note)
    model = StaticModel.load()
    assert held is not None
    assert (held.space, len(held.vectors)) == (model.space, model.dimension)
    near = model.embed_query("how are schema migrations applied") @ np.frombuffer(
        held.vectors, np.int8
    )
    far = model.embed_query("button colour of the toolbar") @ np.frombuffer(held.vectors, np.int8)
    assert near > far


def test_long_notes_are_cut_like_files() -> None:
    text = "\n".join(f"line {number} of a long note" for number in range(2_000))

    cut = passages(text)

    assert "".join(cut) == text
    assert all(len(each.encode()) <= PASSAGE_BYTES for each in cut)
    wide = passages("é" * 4_000)
    assert "".join(wide) == "é" * 4_000
    assert len(passages("x\n" * 400_000)) == MAX_PASSAGES
    assert passages(" \n ") == []


async def test_a_server_is_asked_once_for_a_text_and_a_note_it_refuses_is_parked(
    bus: Bus, broker: Broker, tmp_path: Path
) -> None:
    with serving() as running:
        running.fail = lambda texts: (
            (422, {}, b"no") if any("cursed" in text for text in texts) else None
        )
        settings = Settings(
            nats_url=broker.url, state_dir=str(tmp_path), embed_provider="http",
            embed_url=running.url, embed_model="m",
        )  # fmt: skip
        good, cursed = memory(1, "Deploy from main"), memory(2, "cursed words")
        await say(bus, cursed)
        await say(bus, good)
        async with assembled(settings):

            async def is_embedded() -> bool:
                return await stored(bus, good) is not None

            await until(is_embedded)
            await until(lambda: worked_off(bus))
            asked = len(running.asked)
            twin = memory(3, "Deploy from main")  # the same text in another record
            await say(bus, twin)
            await until(lambda: worked_off(bus))

    assert len(running.asked) == asked
    first, second = await stored(bus, good), await stored(bus, twin)
    assert first is not None
    assert second is not None
    assert first.vectors == second.vectors
    assert await stored(bus, cursed) is None
    subject = subjects.note_log(cursed.repo_id, cursed.topic, cursed.id)
    assert await bus.last_message(subjects.dead("note_embedder", subject), DEAD) is not None


async def test_the_embedders_own_user_may_embed_notes(tmp_path: Path) -> None:
    note = memory(1, "Deploy from main")
    with guarded(tmp_path / "state") as settings:
        async with connected(settings, "ops") as ops, connected(settings, "memory") as worker:
            await provision(ops)
            await say(worker, note)
            for space in ("old/2", "new/2"):
                async with connected(settings, "embedder") as own:
                    embedder = Embedder(own, Counting(space), Policy())
                    await embedder.start()

                    async def in_space(space: str = space) -> bool:
                        held = await stored(worker, note)
                        return held is not None and held.space == space

                    await until(in_space)
                    await embedder.stop()
