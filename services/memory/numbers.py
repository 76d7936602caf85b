"""Which number does a new record of the memory_* tools get?

One counter for all repositories, in the log: a fact says up to where numbers are given away, and to
which commands, so that a command delivered twice gets the number it had.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from contracts import subjects
from contracts.envelope import Envelope, encode, new_id
from contracts.errors import Conflict, Unavailable
from contracts.events.memory import NumbersTaken
from contracts.subjects import LOG
from services.kernel.bus import EXPECTED, Bus

_TRIES = 100
_decode = msgspec.msgpack.Decoder(Envelope[NumbersTaken]).decode


class Numbers:
    """Gives numbers away."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def take(self, commands: Sequence[str], now_ms: int) -> dict[str, int]:
        """A number for each command, rising in their order."""
        if not commands:
            return {}
        for _ in range(_TRIES):
            sequence, upto = await self._newest()
            if await self._append(sequence, upto + len(commands), tuple(commands), now_ms):
                return {command: upto + n for n, command in enumerate(commands, 1)}
        raise Unavailable("numbers are given away too quickly", hint="try again")

    async def reserve(self, upto: int, now_ms: int) -> None:
        """Give away every number up to the given one, as an import does."""
        for _ in range(_TRIES):
            sequence, known = await self._newest()
            if known >= upto or await self._append(sequence, upto, (), now_ms):
                return
        raise Unavailable("numbers are given away too quickly", hint="try again")

    async def taken_by(self, command: str, since_ms: int) -> int:
        """The number that a command got when it was delivered before; 0: none."""
        subject = subjects.memory_numbers()
        found = await self._bus.message_from(subject, LOG, since_ms=since_ms)
        while found is not None:
            event = _decode(found[2]).event
            if command in event.takers:
                return event.upto - len(event.takers) + 1 + event.takers.index(command)
            found = await self._bus.message_from(subject, LOG, sequence=found[0] + 1)
        return 0

    async def _newest(self) -> tuple[int, int]:
        found = await self._bus.last_message_of_leader(subjects.memory_numbers(), LOG)
        return (0, 0) if found is None else (found[0], _decode(found[2]).event.upto)

    async def _append(self, sequence: int, upto: int, takers: tuple[str, ...], now_ms: int) -> bool:
        envelope = Envelope(
            id=new_id(),
            at_ms=now_ms,
            producer="memory",
            event=NumbersTaken(upto=upto, takers=takers),
        )
        headers = {EXPECTED: str(sequence)}
        try:
            stored = await self._bus.put(
                subjects.memory_numbers(), encode(envelope), headers=headers
            )
            await stored
        except Conflict:
            return False
        return True
