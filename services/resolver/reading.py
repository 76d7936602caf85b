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
    came = asyncio.Event()

    async def arrived(message: Msg) -> None:
        read = _decode(message.data)
        found[read.path] = read
        came.set()

    subscription = await bus.subscribe(inbox, arrived)
    batch_id = new_id()
    try:
        for start in range(0, len(files), _AT_ONCE):
            for path, digest, data in files[start : start + _AT_ONCE]:
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
            wanted = min(start + _AT_ONCE, len(files))
            while len(found) < wanted:
                came.clear()
                try:
                    await asyncio.wait_for(came.wait(), _PATIENCE_S)
                except TimeoutError:
                    raise Unavailable("no extractor answers", hint="try again") from None
    finally:
        await subscription.unsubscribe()
    return found
