"""The embedder: makes vectors of file records.

consumes  INDEX index.*.file.>             FileRecorded, FileRemoved (shared durable)
          LOG log.*.mem.>                  NoteRecorded (shared durable; notes.py)
produces  INDEX index.<repo>.vec.<path>    VectorsStored, only beside the record it was made from
          INDEX index.<repo>.note.<topic>.<id>  NoteVectorsStored
          INDEX index.=~.space             SpaceAgreed
          PROGRESS progress.=~.embedder    WorkerState: up, down (the endpoint does not answer),
                                           idle (another embedder fills another space)

The file records themselves are the jobs. There is one copy of what is to be embedded, the newest
record of a path replaces one that nobody has come to yet, and a record can never be without its job.
With the provider `none` nothing is taken: records wait in the stream, lexical search goes on without
vectors, and a provider chosen later starts where the last one stopped.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from mode import Service

from contracts import subjects
from contracts.envelope import Envelope, encode, following, now_ms
from contracts.errors import Fault, Superseded
from contracts.events.index import FileRecorded, FileRemoved, VectorsStored
from contracts.events.memory import NoteRecorded
from contracts.events.progress import WorkerState
from contracts.subjects import DURABLES
from services.embedder import notes
from services.embedder.agreement import Agreement
from services.embedder.provider import I1, FileToEmbed, Provider
from services.kernel import logs
from services.kernel.bus import Bus
from services.kernel.consumer import Consumer, Delivery, Outage, Outbox, Policy
from services.kernel.instruments import counted
from services.kernel.pacing import Pacer, pacer_of
from services.kernel.settings import Settings
from services.kernel.shell import Parts
from store.cache import ContentCache

Job = FileRecorded | FileRemoved
log = logs.get(__name__)
_SPEC = next(spec for spec in DURABLES if spec.name == "embedder")
_GATHER_S = 0.08
_RETRY_S = (0.5, 1.0, 2.0, 5.0, 15.0, 30.0)


class Announcer:
    """Says on PROGRESS how the embedder is, once for each change."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._said = ("", "")

    async def say(self, state: str, detail: str = "") -> None:
        if (state, detail) == self._said:
            return
        self._said = (state, detail)
        event = WorkerState(worker="embedder", state=state, detail=detail)
        at = now_ms()
        envelope = Envelope(id=f"embedder/{at}", at_ms=at, producer="embedder", event=event)
        await self._bus.put(subjects.progress("", "embedder"), encode(envelope))


class Embedding:
    """Turns batches of file records into their vectors."""

    def __init__(self, provider: Provider, announcer: Announcer) -> None:
        self._provider = provider
        self._announcer = announcer
        self.yielded = False  # another embedder fills another space

    async def handle(self, batch: Sequence[Delivery[Job]], out: Outbox) -> None:
        wanted = [(delivery, file) for delivery in batch if (file := _file_of(delivery.event))]
        try:
            vectors = await self._provider.embed([file for _, file in wanted]) if wanted else ()
        except Outage as outage:
            counted.add(
                "repocontext.bootstrap.pass_arm_faults", "ingest-files", outage.code.lower()
            )
            await self._announcer.say("down", outage.message)
            raise
        if self.yielded:
            raise Outage("another embedder fills another space")
        if wanted:
            await self._announcer.say("up", self._provider.space)
        for (delivery, _), rows in zip(wanted, vectors, strict=True):
            self._store(delivery, rows, out)
        self._count([delivery for delivery, _ in wanted])

    def _count(self, embedded: Sequence[Delivery[Job]]) -> None:
        files: Counter[str] = Counter()
        symbols: Counter[str] = Counter()
        for delivery in embedded:
            record = delivery.event
            if isinstance(record, FileRecorded) and record.extract is not None:
                files[delivery.envelope.repo] += 1
                symbols[delivery.envelope.repo] += len(record.extract.fq_names)
        for repo, count in files.items():
            counted.add("repocontext.ingest.files_embedded", repo, by=count)
            counted.add("repocontext.ingest.symbols_embedded", repo, by=symbols[repo])

    def _store(self, delivery: Delivery[Job], rows: I1, out: Outbox) -> None:
        record = delivery.envelope
        event = VectorsStored(
            path=record.event.path,
            file_sequence=delivery.sequence,
            space=self._provider.space,
            dimension=self._provider.dimension,
            vectors=rows.tobytes(),
        )
        envelope = following(record, "embedder", event)
        out.append_beside(
            subjects.file_vectors(record.repo, record.event.path),
            encode(envelope),
            beside=delivery.subject,
            sequence=delivery.sequence,
        )


def _file_of(event: Job) -> FileToEmbed | None:
    if not isinstance(event, FileRecorded) or event.extract is None or not event.extract.chunks:
        return None
    return FileToEmbed(event.path, event.extract)


class Embedder(Service):
    """Agrees with the others on the space, then embeds until it is stopped or must yield."""

    def __init__(
        self, bus: Bus, provider: Provider, policy: Policy, pacer: Pacer | None = None
    ) -> None:
        super().__init__()
        self._bus, self._provider = bus, provider
        self._announcer = Announcer(bus)
        self._embedding = Embedding(provider, self._announcer)
        self._consumer: Consumer[Job] = Consumer(
            bus, _SPEC, Job, self._embedding.handle, policy=policy
        )
        self._consumer.pacer = pacer
        note_embedding = notes.NoteEmbedding(bus, provider, lambda: self._embedding.yielded)
        self._notes: Consumer[NoteRecorded] = Consumer(
            bus, notes.SPEC, NoteRecorded, note_embedding.handle, policy=policy
        )
        self.idle = False  # another space is filled, and nothing is in hand any more
        self._task: asyncio.Task[None] | None = None
        self._other_space: asyncio.Future[str] | None = None

    async def on_start(self) -> None:
        self._other_space = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(self._other_space))
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not self.should_stop:
            log.error("embedder_crashed", exc_info=error)
            asyncio.get_running_loop().create_task(self.crash(error))

    async def _run(self, other_space: asyncio.Future[str]) -> None:
        def lost(space: str) -> None:
            self._embedding.yielded = True
            if not other_space.done():
                other_space.set_result(space)

        try:
            await self._agree(lost)
        except Superseded as fault:
            await self._announcer.say("idle", fault.message)
            return
        await self.add_runtime_dependency(self._consumer)
        await self.add_runtime_dependency(self._notes)
        await self._announcer.say("up", self._provider.space)
        space = await other_space
        log.warning("embedder_idle", other_space=space, own=self._provider.space)
        await self._announcer.say("idle", f"another embedder fills {space}")
        await self._consumer.stop()
        await self._notes.stop()
        self.idle = True

    async def _agree(self, lost: Callable[[str], None]) -> None:
        """Know the space and have it agreed on, however long the endpoint or the broker take."""
        pauses = iter(_RETRY_S)
        while True:
            try:
                await self._provider.prepare()
                agreement = Agreement(self._bus, (_SPEC, notes.SPEC), self._provider.space)
                await agreement.reach()
                await agreement.watch(lost)
                return
            except Superseded:
                raise
            except Fault as fault:
                if isinstance(fault, Outage):
                    await self._announcer.say("down", fault.message)
                log.info("embedder_waits", error=fault.message, hint=fault.hint)
                await self.sleep(next(pauses, _RETRY_S[-1]))

    async def on_stop(self) -> None:
        if self._task is not None:
            self._task.cancel()


def provider_of(settings: Settings) -> Provider | None:
    """The provider that the settings choose; None for none. Raises InvalidArgument otherwise."""
    if settings.embed_provider == "none":
        return None
    cache = ContentCache(settings.state / "cache" / "vectors", settings.cache_bytes)
    match settings.embed_provider:
        case "http":
            from services.embedder.remote import RemoteProvider
            from services.source.embedding import endpoint_of

            endpoint = endpoint_of(settings, timeout_s=settings.embed_timeout_seconds, tries=3)
            return RemoteProvider(endpoint, cache, batch=settings.embed_batch)
        case _:
            from services.embedder.static import StaticProvider
            from services.source.static_model import StaticModel

            return StaticProvider(StaticModel.load(), cache)


async def assemble(settings: Settings, bus: Bus) -> Parts:
    """The embedder's part of a worker process."""
    provider = provider_of(settings)
    if provider is None:
        return Parts("embedder", bus, [])
    # A request takes long: small batches let the vectors come steadily.
    batch = 16 if settings.embed_provider == "http" else 64
    policy = Policy(
        batch=batch,
        window=2 * batch,
        grace_s=settings.drain_seconds,
        gather_s=_GATHER_S,
        trims=True,
    )

    async def close() -> None:
        provider.close()

    remote = settings.embed_provider == "http"
    pacer = await pacer_of(bus, "embedder", enabled=settings.pacing, judges_latency=remote)
    return Parts("embedder", bus, [Embedder(bus, provider, policy, pacer)], on_stop=close)
