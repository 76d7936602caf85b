"""How is a record that is made from the tree patched? By a fact of its own beside it.

The last writer of a field wins; tags are a set. An index reset voids all patches, as it does what they
were written over.
"""

from __future__ import annotations

import asyncio

import msgspec

from contracts import subjects
from contracts.envelope import Envelope, encode
from contracts.errors import Conflict, Unavailable
from contracts.events import AnyRepoFact
from contracts.events.memory import NoteReply
from contracts.events.patches import FieldPatch, PatchRecord, RecordPatched
from contracts.subjects import LOG
from services.kernel.bus import EXPECTED, MESSAGE_ID, Bus
from services.memory.decision import Asked
from services.memory.merging import tagged

_TRIES = 50
_decode = msgspec.msgpack.Decoder(Envelope[RecordPatched]).decode
_decode_repo = msgspec.msgpack.Decoder(Envelope[AnyRepoFact]).decode


def patched(known: RecordPatched | None, command: PatchRecord, now_ms: int) -> RecordPatched:
    """All patches of the record with the command's among them."""
    fields = {} if known is None else {field.name: field for field in known.fields}
    fields |= {name: FieldPatch(name, value, now_ms) for name, value in command.fields.items()}
    tags = () if known is None else known.tags
    return RecordPatched(
        repo_id=command.repo_id,
        family=command.family,
        name=command.name,
        fields=tuple(fields[name] for name in sorted(fields)),
        tags=tagged(tags, command.add_tags, command.remove_tags),
        principal=command.principal,
    )


class Patching:
    """Appends patches."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def run(self, command: PatchRecord, asked: Asked, since_ms: int) -> NoteReply:
        """Append the patch, once; `since_ms` of a command that was tried before, else 0."""
        subject = subjects.record_patch(command.repo_id, command.family, command.name)
        if since_ms and (sequence := await self._earlier(subject, asked, since_ms)):
            return NoteReply(ok=True, log_sequence=sequence, existed=True)
        for attempt in range(_TRIES):
            generation = await self._generation(command)
            found = await self._bus.last_message_of_leader(subject, LOG)
            known = None if found is None else _decode(found[2])
            current = known.event if known is not None and known.generation == generation else None
            envelope = Envelope(
                id=asked.id,
                repo=command.repo_id,
                generation=generation,
                at_ms=asked.now_ms,
                producer="memory",
                cause=asked.id,
                event=patched(current, command, asked.now_ms),
            )
            headers = {EXPECTED: str(0 if found is None else found[0])}
            try:
                stored = await self._bus.put(
                    subject, encode(envelope), message_id=asked.id, headers=headers
                )
                return NoteReply(ok=True, log_sequence=(await stored).seq, existed=True)
            except Conflict:
                await asyncio.sleep(0.002 * attempt)
        raise Unavailable("the record changes too quickly", hint="try again")

    async def _earlier(self, subject: str, asked: Asked, since_ms: int) -> int:
        """The sequence of what an earlier try of the command appended; 0: nothing.

        To append it again would undo what was patched since.
        """
        found = await self._bus.message_from(subject, LOG, since_ms=since_ms)
        while found is not None and found[1].get(MESSAGE_ID) != asked.id:
            found = await self._bus.message_from(subject, LOG, sequence=found[0] + 1)
        return 0 if found is None else found[0]

    async def _generation(self, command: PatchRecord) -> int:
        found = await self._bus.last_message_of_leader(subjects.repo_log(command.repo_id), LOG)
        return 0 if found is None else _decode_repo(found[2]).event.index_generation
