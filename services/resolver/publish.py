"""How do edges and manifests reach the stream?

Edges are stored beside the record they were made from, so those of a replaced version are refused.
A manifest's first part is its claim, as with FAISS generations: everything else is stored only
while that part is the newest of its subject, the head last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct

from contracts import subjects
from contracts.envelope import Envelope, encode, new_id, now_ms, starting
from contracts.errors import Conflict, Superseded
from contracts.events.index import (
    AnyIndexEvent,
    BaselineDropped,
    BaselinePublished,
    EdgesDropped,
    EdgesResolved,
    FileRecorded,
    FileRemoved,
    ManifestPart,
    OverlayPublished,
)
from contracts.filemap import Entry, pack_entries
from contracts.ids import RepoId, RepoPath
from contracts.subjects import INDEX
from services.kernel.bus import EXPECTED, MESSAGE_ID, Bus
from services.resolver.live import VERSION, Result

_PART_BYTES = 512 << 10
_AT_ONCE = 128
_decode_record = msgspec.msgpack.Decoder(Envelope[FileRecorded | FileRemoved]).decode

Head = BaselinePublished | OverlayPublished


class Target(Struct, frozen=True):
    """Where a repository's map goes."""

    repo_id: RepoId
    generation: int

    def wrapped(self, event: AnyIndexEvent) -> bytes:
        return encode(starting("resolver", event, repo=self.repo_id, generation=self.generation))


async def publish_edges(bus: Bus, target: Target, results: Sequence[Result]) -> dict[str, int]:
    """Store edges; returns path -> file sequence of those whose record was still the newest."""
    stored: dict[str, int] = {}

    async def one(result: Result) -> None:
        event = EdgesResolved(
            path=RepoPath(result.path),
            file_sequence=result.file_sequence,
            version=VERSION,
            edges=result.edges,
            columns=result.columns,
            summary=result.summary,
        )
        try:
            await bus.append_beside(
                subjects.file_edges(target.repo_id, result.path),
                target.wrapped(event),
                beside=subjects.file_record(target.repo_id, result.path),
                sequence=result.file_sequence,
            )
        except Superseded:
            return
        stored[result.path] = result.file_sequence

    for start in range(0, len(results), _AT_ONCE):
        await asyncio.gather(*map(one, results[start : start + _AT_ONCE]))
    return stored


async def publish_drops(bus: Bus, target: Target, paths: Sequence[str]) -> list[str]:
    """Store that paths have no edges any more; returns those that really are gone."""
    dropped: list[str] = []

    async def one(path: str) -> None:
        record = subjects.file_record(target.repo_id, path)
        found = await bus.last_message(record, INDEX)
        if found is not None:
            event = _decode_record(found[2]).event
            if isinstance(event, FileRecorded) and not event.skipped:
                return  # it is back; its edges are pending
        event_dropped = EdgesDropped(path=RepoPath(path))
        try:
            await bus.append_beside(
                subjects.file_edges(target.repo_id, path),
                target.wrapped(event_dropped),
                beside=record,
                sequence=0 if found is None else found[0],
            )
        except Superseded:
            return
        dropped.append(path)

    for start in range(0, len(paths), _AT_ONCE):
        await asyncio.gather(*map(one, paths[start : start + _AT_ONCE]))
    return dropped


class Place(Struct, frozen=True):
    """Which subjects a manifest's edition takes."""

    name: str  # "base/<commit>", "ws/<workspace>"
    edition: int
    part: Callable[[int], str]
    head: str


def baseline_place(repo_id: str, name: str, commit: str) -> Place:
    return Place(
        name,
        now_ms(),
        lambda number: subjects.baseline_part(repo_id, commit, number),
        subjects.baseline_head(repo_id, commit),
    )


def overlay_place(repo_id: str, name: str, workspace: str, before: int) -> Place:
    """The next edition lies where the one before the last did: the last serves until the head."""
    edition = max(now_ms(), before + 1)
    edition += (edition - before + 1) % 2
    return Place(
        name,
        edition,
        lambda number: subjects.overlay_part(repo_id, workspace, edition, number),
        subjects.overlay_head(repo_id, workspace),
    )


async def publish_manifest(
    bus: Bus, target: Target, place: Place, parts: Iterable[bytes], head: Callable[[int], Head]
) -> int:
    """Store the parts and then `head(number of parts)`; returns the head's sequence.

    Raises Superseded when another worker builds the same manifest.
    """
    claim, sequence, count = place.part(0), 0, 0
    waiting: list[asyncio.Task[int]] = []
    for number, entries in enumerate(parts):
        event = ManifestPart(
            manifest=place.name, edition=place.edition, part=number, entries=entries
        )
        data = target.wrapped(event)
        if number == 0:
            sequence = await _claimed(bus, claim, data)
        else:
            append = bus.append_beside(place.part(number), data, beside=claim, sequence=sequence)
            waiting.append(asyncio.create_task(append))
        count = number + 1
        if len(waiting) >= _AT_ONCE:
            await asyncio.gather(*waiting)
            waiting.clear()
    await asyncio.gather(*waiting)
    return await bus.append_beside(
        place.head, target.wrapped(head(count)), beside=claim, sequence=sequence
    )


async def publish_dropped(bus: Bus, target: Target, commit: str) -> int:
    """Store that a baseline is gone and free what it held; returns the sequence."""
    event = BaselineDropped(commit=commit)
    head = subjects.baseline_head(target.repo_id, commit)
    stored = await bus.put(head, target.wrapped(event))
    sequence = (await stored).seq
    pattern = subjects.baseline_part(target.repo_id, commit, 0).removesuffix("0") + ">"
    await bus.api(f"STREAM.PURGE.{INDEX}", {"filter": pattern}, timeout=30)
    return sequence


def in_parts(entries: Iterable[Entry]) -> Iterator[bytes]:
    """Entries as parts of about half a megabyte; always at least one."""
    held: list[Entry] = []
    size, any_yet = 0, False
    for entry in entries:
        held.append(entry)
        size += len(entry.columns) + len(entry.body) + len(entry.edges) + len(entry.file.path) + 64
        if size >= _PART_BYTES:
            yield pack_entries(held)
            held, size, any_yet = [], 0, True
    if held or not any_yet:
        yield pack_entries(held)


async def _claimed(bus: Bus, subject: str, data: bytes) -> int:
    found = await bus.last_message(subject, INDEX)
    build_id = new_id()
    headers = {EXPECTED: str(0 if found is None else found[0]), MESSAGE_ID: build_id}
    try:
        return (await (await bus.put(subject, data, headers=headers))).seq
    except Conflict:
        # It may be our own, stored before its confirmation got lost and sent again.
        found = await bus.last_message(subject, INDEX)
        if found is not None and found[1].get(MESSAGE_ID) == build_id:
            return found[0]
        raise Superseded("another worker builds this manifest") from None
