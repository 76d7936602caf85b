"""How does a generation reach the stream whole, when two builders may work at once?

The first part is the claim: it is appended over the first part that was there when the build began,
or not at all. Everything else, the head last, is appended only while that first part is still the
newest of its subject. So parts of two builds never mix, and the head of a build that was overtaken
is never stored.
"""

from __future__ import annotations

import asyncio

from msgspec import Struct

from contracts import subjects
from contracts.envelope import Envelope, encode, new_id, now_ms
from contracts.errors import Conflict, Superseded
from contracts.events.index import AnnPart, AnnPublished
from contracts.ids import RepoId
from contracts.subjects import INDEX
from services.kernel.bus import EXPECTED, MESSAGE_ID, Bus
from store.ann import Built


class Edition(Struct, frozen=True, kw_only=True):
    """What a build is published as."""

    repo: RepoId
    index_generation: int
    generation: int
    space: str
    upto: int  # INDEX sequence up to which vectors are in it
    claim_over: int  # sequence of the first part that was there when the build began; 0 for none


async def claimed(bus: Bus, repo: str) -> int:
    """Sequence of the newest first part of a repository; 0 when there is none."""
    found = await bus.last_message(subjects.ann_part(repo, 0), INDEX)
    return 0 if found is None else found[0]


async def publish(bus: Bus, edition: Edition, built: Built) -> None:
    """Store all parts and then the head; raises Superseded when another builder was first."""
    build_id = new_id()
    claim = subjects.ann_part(edition.repo, 0)
    parts = built.parts()
    messages = [
        _message(
            edition,
            f"{build_id}/{number}",
            AnnPart(generation=edition.generation, part=number, data=data),
        )
        for number, data in enumerate(parts)
    ]
    sequence = await _claim(bus, claim, messages[0], edition.claim_over, build_id)
    await asyncio.gather(
        *(
            bus.append_beside(
                subjects.ann_part(edition.repo, number), message, beside=claim, sequence=sequence
            )
            for number, message in enumerate(messages)
            if number
        )
    )
    head = AnnPublished(
        generation=edition.generation,
        space=edition.space,
        kind=built.kind,
        parts=len(parts),
        size_bytes=len(built.blob),
        checksum=built.checksum,
        vectors=built.vectors,
        partitions=0,  # all codes are scanned
        upto=edition.upto,
        files=built.files.astype("<u8").tobytes(),
    )
    await bus.append_beside(
        subjects.ann_head(edition.repo),
        _message(edition, f"{build_id}/head", head),
        beside=claim,
        sequence=sequence,
    )


async def _claim(bus: Bus, subject: str, message: bytes, over: int, build_id: str) -> int:
    headers = {EXPECTED: str(over), MESSAGE_ID: build_id}
    try:
        return (await (await bus.put(subject, message, headers=headers))).seq
    except Conflict:
        # It may be our own, stored before its confirmation got lost and sent again.
        found = await bus.last_message(subject, INDEX)
        if found is not None and found[1].get(MESSAGE_ID) == build_id:
            return found[0]
        raise Superseded("another builder publishes a generation") from None


def _message(edition: Edition, message_id: str, event: AnnPart | AnnPublished) -> bytes:
    return encode(
        Envelope(
            id=message_id,
            repo=edition.repo,
            generation=edition.index_generation,
            at_ms=now_ms(),
            producer="ann",
            event=event,
        )
    )
