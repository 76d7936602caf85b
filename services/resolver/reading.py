"""How does the resolver get the extract of bytes that no live file holds?

It asks the extractors, as the reconciler does, but the answer comes back instead of becoming the
live record. Whoever takes the job has the extract cache, so bytes seen before are not parsed again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from contracts import subjects
from contracts.envelope import Envelope, encode, new_id, now_ms
from contracts.errors import Unavailable
from contracts.events.jobs import FileRead, ReadJob
from contracts.extract import compressed
from contracts.ids import Digest, RepoId, RepoPath
from services.kernel.bus import Bus, Msg

_AT_ONCE = 64
_PATIENCE_S = 120.0  # without any answer
_decode = msgspec.msgpack.Decoder(FileRead).decode


async def read_files(
    bus: Bus, repo_id: str, files: Sequence[tuple[str, Digest, bytes]]
) -> dict[str, FileRead]:
    """Path -> what was read out of its bytes. Raises Unavailable when no extractor answers."""
    found: dict[str, FileRead] = {}
    if not files:
        return found
    inbox = bus.inbox()
    came, lost = asyncio.Event(), asyncio.Event()

    async def arrived(message: Msg) -> None:
        read = _decode(message.data)
        found[read.path] = read
        came.set()

    def returned() -> None:  # answers may have been lost with the broker
        lost.set()
        came.set()

    subscription = await bus.subscribe(inbox, arrived)
    bus.when_reconnected(returned)
    try:
        for start in range(0, len(files), _AT_ONCE):
            asked = files[start : start + _AT_ONCE]
            await _ask(bus, repo_id, asked, inbox)
            while missing := [file for file in asked if file[0] not in found]:
                came.clear()
                if lost.is_set():
                    lost.clear()
                    await _ask(bus, repo_id, missing, inbox)
                try:
                    await asyncio.wait_for(came.wait(), _PATIENCE_S)
                except TimeoutError:
                    raise Unavailable("no extractor answers", hint="try again") from None
    finally:
        bus.when_reconnected_no_more(returned)
        await subscription.unsubscribe()
    return found


async def _ask(
    bus: Bus, repo_id: str, files: Sequence[tuple[str, Digest, bytes]], inbox: str
) -> None:
    batch_id = new_id()
    for path, digest, data in files:
        job = ReadJob(path=RepoPath(path), digest=digest, data=compressed(data))
        envelope = Envelope(
            id=f"{batch_id}/{path}",
            repo=RepoId(repo_id),
            at_ms=now_ms(),
            producer="resolver",
            reply_to=inbox,
            event=job,
        )
        subject = subjects.read_job(repo_id, batch_id, path)
        await (await bus.put(subject, encode(envelope)))
