"""How do the embedders agree on one space, and what happens when the settings name another?

One message of the INDEX stream says which space is filled. An embedder that starts with another one
claims the space first, so that those who fill the old one stop; then it puts the durables all
embedders share back to the first message, so that everything is embedded again, by all of them
together; then it confirms. A crash at any point is finished by whoever starts next. Vectors of both
spaces may stand side by side meanwhile; each row names its own and they are never compared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from contracts import subjects
from contracts.envelope import Envelope, encode, new_id, now_ms
from contracts.errors import Conflict, Superseded, Unavailable
from contracts.events.index import SpaceAgreed
from contracts.subjects import INDEX, DurableSpec
from services.kernel import logs
from services.kernel.bus import EXPECTED, Bus

if TYPE_CHECKING:
    from nats.aio.msg import Msg

log = logs.get(__name__)
_TRIES = 50
_decode = msgspec.msgpack.Decoder(Envelope[SpaceAgreed]).decode


class _Held(Struct, frozen=True):
    """What the stream says, and where."""

    space: str
    ready: bool
    sequence: int


_NOTHING = _Held("", False, 0)


class Agreement:
    """One process's part in the agreement."""

    def __init__(self, bus: Bus, durables: Sequence[DurableSpec], space: str) -> None:
        """`durables` deliver everything that is to be embedded."""
        self._bus, self._durables, self._space = bus, durables, space
        self._subject = subjects.embedding_space()
        self._looking: asyncio.Task[None] | None = None

    async def reach(self) -> bool:
        """Have everybody fill this process's space; True when all has to be embedded again.

        Raises Superseded when another process claims another space at the same time.
        """
        again = False
        for _ in range(_TRIES):
            held = await self._held()
            if held.space == self._space and held.ready:
                return again
            try:
                if held.space != self._space:
                    held = await self._say(held.sequence, ready=False)
                again = True
                for durable in self._durables:
                    await rewind(self._bus, durable, 1)
                await self._say(held.sequence, ready=True)
            except Conflict:
                now = await self._held()
                if now.space != self._space:
                    raise Superseded(f"another embedder claims {now.space}") from None
                continue
            log.info("embedding_space_agreed", space=self._space)
            return again
        raise Unavailable("the embedders do not agree on a space", hint="start them one by one")

    async def watch(self, lost: Callable[[str], None]) -> None:
        """Call `lost` with the name of the other space as soon as somebody claims one."""

        async def arrived(message: Msg) -> None:
            said = _decode(message.data).event
            if said.space != self._space:
                lost(said.space)

        async def look() -> None:
            held = await self._held()
            if held.space != self._space:
                lost(held.space)

        async def look_again() -> None:
            with suppress(Unavailable):  # the next claim or reconnect tells as well
                await look()

        def back() -> None:
            self._looking = asyncio.get_running_loop().create_task(look_again())

        await self._bus.subscribe(self._subject, arrived)
        self._bus.when_reconnected(back)  # what was said meanwhile did not arrive
        await look()

    async def _held(self) -> _Held:
        found = await self._bus.last_message(self._subject, INDEX)
        if found is None:
            return _NOTHING
        sequence, _, data = found
        said = _decode(data).event
        return _Held(said.space, said.ready, sequence)

    async def _say(self, expected: int, *, ready: bool) -> _Held:
        envelope = Envelope(
            id=new_id(),
            at_ms=now_ms(),
            producer=self._durables[0].worker,
            event=SpaceAgreed(space=self._space, ready=ready),
        )
        stored = await self._bus.put(
            self._subject, encode(envelope), headers={EXPECTED: str(expected)}
        )
        return _Held(self._space, ready, (await stored).seq)


async def rewind(bus: Bus, durable: DurableSpec, sequence: int) -> None:
    """Have a durable deliver everything from a stream sequence on once more (NATS 2.14 or later)."""
    await bus.api(f"CONSUMER.RESET.{durable.stream}.{durable.name}", {"seq": sequence})
