"""The extractor: reads symbols, references, text and terms out of one file version.

consumes  WORK work.extract.<repo>.<path>   ExtractJob (shared durable: add processes, gain throughput)
          WORK work.extract.<repo>.=~.<batch>.<path>   ReadJob
produces  INDEX index.<repo>.file.<path>    FileRecorded, only over an older version of the path
answers   a ReadJob with FileRead on its reply subject; nothing is recorded

An extract is made once per (path, digest, extractor version); the cache beside the state directory
answers the next time the same bytes turn up, in another branch, worktree or repository.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import xxhash

from contracts import subjects
from contracts.envelope import encode, following
from contracts.events.index import FileRecorded
from contracts.events.jobs import AnyJob, ExtractJob, FileRead, ReadJob
from contracts.extract import EXTRACTOR_VERSION, Packed, decompressed, pack
from contracts.subjects import DURABLES
from services.extractor.extract import extract_files
from services.kernel import logs
from services.kernel.bus import Bus
from services.kernel.consumer import Consumer, Delivery, Outbox, Policy
from services.kernel.instruments import counted
from services.kernel.journal import Journal
from services.kernel.pacing import pacer_of
from services.kernel.settings import Settings
from services.kernel.shell import Parts
from services.source.languages import kind_of, language_of
from services.source.terms import build_terms
from store.cache import ContentCache

log = logs.get(__name__)
_SPEC = next(spec for spec in DURABLES if spec.name == "extractor")


class Cached(msgspec.Struct, frozen=True, array_like=True):
    """What the cache holds: the part of a record that only bytes and path decide."""

    language: str
    kind: str
    skipped: str
    skipped_detail: str
    extract: Packed | None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Cached).decode


class Extractor:
    """Turns jobs into file records."""

    def __init__(self, bus: Bus, cache: ContentCache) -> None:
        self._bus = bus
        self._cache = cache

    async def handle(self, batch: Sequence[Delivery[AnyJob]], out: Outbox) -> None:
        jobs = [_to_record(delivery.event) for delivery in batch]
        records = await asyncio.to_thread(self._read_all, jobs)
        for delivery, record in zip(batch, records, strict=True):
            if record is not None and isinstance(delivery.event, ReadJob):
                await self._answer(delivery.envelope.reply_to, record)
            elif record is not None:
                self._record(delivery, record, out)

    def _read_all(self, jobs: Sequence[AnyJob]) -> list[FileRecorded | None]:
        keys = [
            _cache_key(job) if isinstance(job, ExtractJob) and not job.skipped else b""
            for job in jobs
        ]
        known = self._cache.get_many([key for key in keys if key])
        counted.add("repofold.cache", "extracts", "hit", by=len(known))
        contents = {key: _decode(content) for key, content in known.items()}
        fresh = {
            key: job
            for job, key in zip(jobs, keys, strict=True)
            if key and key not in known and isinstance(job, ExtractJob)
        }
        counted.add("repofold.cache", "extracts", "miss", by=len(fresh))
        made = dict(zip(fresh, _read(list(fresh.values())), strict=True))
        self._cache.put_many([(key, _encode(content)) for key, content in made.items()])
        contents |= made
        return [
            _recorded(job, contents[key] if key else _left_out(job))
            if isinstance(job, ExtractJob)
            else None
            for job, key in zip(jobs, keys, strict=True)
        ]

    def _record(self, delivery: Delivery[AnyJob], record: FileRecorded, out: Outbox) -> None:
        envelope = delivery.envelope
        job = envelope.event
        if not isinstance(job, ExtractJob):
            return
        wrapped = following(envelope, "extractor", record)
        out.append_newer(
            subjects.file_record(envelope.repo, job.path),
            encode(wrapped),
            version=job.version,
            expected=job.expected_sequence,
        )
        if record.extract is not None:
            counted.add("repocontext.ingest.files_content_projected", envelope.repo)

    async def parked(self, delivery: Delivery[AnyJob], error: Exception) -> None:
        """Record a file that cannot be read out, so that it is listed and its pass can end."""
        job = _to_record(delivery.event)
        if not isinstance(job, ExtractJob):
            return
        counted.add("repocontext.bootstrap.pass_arm_faults", "ingest-symbols", type(error).__name__)
        content = Cached(
            language_of(job.path), kind_of(job.path), "extract_failed", type(error).__name__, None
        )
        if isinstance(delivery.event, ReadJob):
            await self._answer(delivery.envelope.reply_to, _recorded(job, content))
            return
        out = Outbox(self._bus)
        self._record(delivery, _recorded(job, content), out)
        await out.stored()

    async def _answer(self, reply_to: str, record: FileRecorded) -> None:
        read = FileRead(
            path=record.path, language=record.language, kind=record.kind, extract=record.extract
        )
        await self._bus.publish(reply_to, _encode(read))


def _to_record(job: AnyJob) -> AnyJob:
    """A ReadJob as the ExtractJob of the same bytes, so that both share the cache."""
    if not isinstance(job, ReadJob):
        return job
    return ExtractJob(
        path=job.path, version=0, digest=job.digest, size_bytes=0, mtime_ns=0, anchor_ns=0,
        pass_id="", expected_sequence=0, data=job.data,
    )  # fmt: skip


def _read(jobs: Sequence[ExtractJob]) -> list[Cached]:
    files = [(job.path, decompressed(job.data)) for job in jobs]
    return [
        Cached(
            found.language,
            found.kind,
            found.skipped,
            found.skipped_detail,
            None if found.extract is None else pack(found.extract),
        )
        for found in extract_files(files, [job.data for job in jobs])
    ]


def _left_out(job: ExtractJob) -> Cached:
    """What there is to say of a file whose bytes were not sent."""
    return Cached(language_of(job.path), kind_of(job.path), job.skipped, job.skipped_detail, None)


def _recorded(job: ExtractJob, content: Cached) -> FileRecorded:
    return FileRecorded(
        path=job.path,
        version=job.version,
        digest=job.digest,
        size_bytes=job.size_bytes,
        mtime_ns=job.mtime_ns,
        anchor_ns=job.anchor_ns,
        language=content.language,
        kind=content.kind,
        pass_id=job.pass_id,
        skipped=content.skipped,
        skipped_detail=content.skipped_detail,
        extract=content.extract,
        terms=build_terms(job.path, (), (), (), (), ()) if content.extract is None else None,
        extractor_version=EXTRACTOR_VERSION,
    )


def _cache_key(job: ExtractJob) -> bytes:
    return xxhash.xxh128_digest(f"{EXTRACTOR_VERSION}\0{job.digest}\0{job.path}".encode())


async def assemble(settings: Settings, bus: Bus) -> Parts:
    """The extractor's part of a worker process."""
    cache = ContentCache(settings.state / "cache" / "extracts", settings.cache_bytes)
    extractor = Extractor(bus, cache)
    policy = Policy(batch=32, window=96, window_bytes=2 << 20, grace_s=settings.drain_seconds)
    journal = Journal(settings.state / "cache", "extractor")
    consumer = Consumer(
        bus,
        _SPEC,
        AnyJob,
        extractor.handle,
        policy=policy,
        parked=extractor.parked,
        journal=journal,
    )
    consumer.pacer = await pacer_of(bus, "extractor", enabled=settings.pacing)

    async def close() -> None:
        cache.close()

    return Parts("extractor", bus, [consumer], on_stop=close)
