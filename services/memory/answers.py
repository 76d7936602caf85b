"""How does an answer find whoever asked?

On a subject that only the asker listens on, over core NATS. After a broker came back, its clients
return one by one: an answer that is sent before the asker is there again would be lost, and the
asker would wait in vain. The broker says at once that nobody listens; for a while after a reconnect
such an answer is sent again, a few times, as things stand by then. At any other time whoever does
not listen has gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from msgspec import Struct

from contracts.envelope import new_id
from contracts.errors import Fault
from services.kernel.bus import Bus, Msg

_RETURNING_S = 10.0  # after a reconnect clients may still be on their way
_AGAIN_S = (0.1, 0.25, 0.5, 1.0, 2.0)
_NO_WORD_S = 10.0  # the broker said nothing for so long: somebody listened
Gone = Callable[[], None]
Afresh = Callable[[], Awaitable[bytes]]


class _Sent(Struct):
    reply_to: str
    data: bytes
    gone: Gone | None
    afresh: Afresh | None
    tries: int = 0


class Answers:
    """Sends answers. Without `start` they are sent once."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._inbox = ""
        self._sent: dict[str, _Sent] = {}
        self._returned = -_RETURNING_S
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._inbox = self._bus.inbox()
        await self._bus.subscribe(f"{self._inbox}.*", self._on_unheard)
        self._bus.when_reconnected(self._on_returned)

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def send(
        self, reply_to: str, data: bytes, gone: Gone | None = None, afresh: Afresh | None = None
    ) -> None:
        """Answer; `gone` is called when nobody listens any more.

        `afresh` makes the answer anew when it has to be sent again; without it the same is sent.
        """
        if not reply_to:
            return
        if self._inbox and (gone is not None or self._are_returning()):
            await self._publish(_Sent(reply_to, data, gone, afresh))
        else:
            await self._bus.publish(reply_to, data)

    async def _publish(self, sent: _Sent) -> None:
        heard = f"{self._inbox}.{new_id()}"
        self._sent[heard] = sent
        asyncio.get_running_loop().call_later(_NO_WORD_S, self._sent.pop, heard, None)
        await self._bus.publish(sent.reply_to, sent.data, heard)

    def _on_returned(self) -> None:
        self._returned = time.monotonic()

    def _are_returning(self) -> bool:
        return time.monotonic() - self._returned < _RETURNING_S

    async def _on_unheard(self, message: Msg) -> None:
        sent = self._sent.pop(message.subject, None)
        if sent is None or (message.headers or {}).get("Status", "") != "503":
            return
        if self._are_returning() and sent.tries < len(_AGAIN_S):
            task = asyncio.create_task(self._again(sent))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif sent.gone is not None:
            sent.gone()

    async def _again(self, sent: _Sent) -> None:
        await asyncio.sleep(_AGAIN_S[sent.tries])
        sent.tries += 1
        if sent.afresh is not None:
            with contextlib.suppress(Fault):  # the broker is away once more: what was known is sent
                sent.data = await sent.afresh()
        await self._publish(sent)
