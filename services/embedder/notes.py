"""How do notes get their vectors?

The newest fact of each note is the job. Only what has another text than its stored vectors is
embedded; what is gone has its vectors replaced by none. Vectors are appended over the ones that the
decision saw, so a late message can never replace those of a newer fact.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from contracts import subjects
from contracts.envelope import Envelope, encode, following, now_ms
from contracts.errors import Conflict, Unavailable
from contracts.events import AnyRepoFact
from contracts.events.index import NoteVectorsStored
from contracts.events.memory import NoteRecorded
from contracts.note_text import note_text, text_digest
from contracts.notes import MEMORY_TOPIC, Note
from contracts.subjects import DURABLES, INDEX, LOG
from services.embedder.provider import NoteToEmbed, Provider
from services.kernel.bus import EXPECTED, Bus
from services.kernel.consumer import Delivery, Outage, Outbox
from services.kernel.instruments import counted
from services.source.passages import passages

SPEC = next(spec for spec in DURABLES if spec.name == "note_embedder")
_TRIES = 20
_LINGER_S = 0.1  # whoever writes several notes in a row does not wait behind each one's vectors
_decode = msgspec.msgpack.Decoder(Envelope[NoteVectorsStored]).decode
_decode_repo = msgspec.msgpack.Decoder(Envelope[AnyRepoFact]).decode


class _Job(Struct):
    """One note whose vectors are not those of its text."""

    delivery: Delivery[NoteRecorded]
    over: int  # sequence of the vectors it has; 0 for none
    note: NoteToEmbed | None  # None: only its vectors are to go


class NoteEmbedding:
    """Turns batches of facts about notes into their vectors."""

    def __init__(self, bus: Bus, provider: Provider, has_yielded: Callable[[], bool]) -> None:
        """`has_yielded()` tells whether another embedder fills another space meanwhile."""
        self._bus, self._provider, self._has_yielded = bus, provider, has_yielded

    async def handle(self, batch: Sequence[Delivery[NoteRecorded]], _out: Outbox) -> None:
        await asyncio.sleep(_LINGER_S)
        newest = {delivery.subject: delivery for delivery in sorted(batch, key=_sequence)}
        generations = await self._generations({each.envelope.repo for each in newest.values()})
        looked = await asyncio.gather(
            *(
                self._look(delivery)
                for delivery in newest.values()
                if delivery.envelope.generation >= generations[delivery.envelope.repo]
            )
        )
        jobs = [job for job in looked if job is not None]
        notes = [job.note for job in jobs if job.note is not None]
        try:
            vectors = iter(await self._provider.embed_notes(notes) if notes else ())
        except Outage as outage:
            counted.add(
                "repocontext.bootstrap.pass_arm_faults", "ingest-memory", outage.code.lower()
            )
            raise
        if self._has_yielded():
            raise Outage("another embedder fills another space")
        await asyncio.gather(
            *(
                self._store(job, b"" if job.note is None else next(vectors).tobytes())
                for job in jobs
            )
        )

    async def _generations(self, repos: set[str]) -> dict[str, int]:
        """The memory generation in force in each namespace; 0 where nobody registered one."""
        found = await asyncio.gather(
            *(self._bus.last_message(subjects.repo_log(repo), LOG) for repo in repos)
        )
        return {
            repo: 0 if last is None else _decode_repo(last[2]).event.memory_generation
            for repo, last in zip(repos, found, strict=True)
        }

    async def _look(self, delivery: Delivery[NoteRecorded]) -> _Job | None:
        """What there is to do for a fact; None for nothing."""
        newest = await self._bus.last_message(delivery.subject, LOG)
        if newest is not None and newest[0] > delivery.sequence:
            return None  # that one comes as well
        note = delivery.event.note
        stored = await self._bus.last_message(_vectors_of(note), INDEX)
        digest = text_digest(note) if note.is_live(now_ms()) else ""
        if stored is None:
            return _Job(delivery, 0, _passages_of(note, digest)) if digest else None
        held = _decode(stored[2]).event
        same = held.text_digest == digest and (not digest or held.space == self._provider.space)
        if same or held.log_sequence > delivery.sequence:
            return None
        return _Job(delivery, stored[0], _passages_of(note, digest))

    async def _store(self, job: _Job, vectors: bytes) -> None:
        delivery = job.delivery
        note = delivery.event.note
        event = NoteVectorsStored(
            topic=note.topic,
            id=note.id,
            log_sequence=delivery.sequence,
            text_digest="" if job.note is None else text_digest(note),
            space=self._provider.space,
            dimension=self._provider.dimension,
            vectors=vectors,
        )
        data = encode(following(delivery.envelope, "embedder", event))
        over: int | None = job.over
        for attempt in range(_TRIES):
            try:
                headers = {EXPECTED: str(over)}
                await (await self._bus.put(_vectors_of(note), data, headers=headers))
                return
            except Conflict:
                await asyncio.sleep(0.02 * attempt)  # a lagging replica may have answered
                again = await self._look(delivery)
                if again is None:
                    return
                over = again.over
        raise Unavailable("vectors of a note could not be appended")


def _vectors_of(note: Note) -> str:
    return subjects.note_vectors(note.repo_id, note.topic, note.id)


def _passages_of(note: Note, digest: str) -> NoteToEmbed | None:
    if not digest:
        return None
    text, about = note_text(note), " ".join((note.topic, note.title))
    if note.topic == MEMORY_TOPIC:  # the same in every one of them, and a number says nothing
        head, _, text = text.partition("\n")
        about, text = note.title, f"{head.split(' ')[0]}\n{text}"
    return NoteToEmbed(about.strip(), tuple(passages(text)))


def _sequence(delivery: Delivery[NoteRecorded]) -> int:
    return delivery.sequence
