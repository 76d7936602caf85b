"""How is a message published so that nobody has to wonder whether it is stored?

One inbox for all confirmations, a bound on what is under way (in messages and bytes), re-sending
after a silence or a reconnect. nats-py's own `publish_async` loses futures when a broker dies.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Protocol

import msgspec

from contracts.errors import Conflict, Fault, Unavailable
from services.kernel.instruments import counted

Headers = dict[str, str]
WRONG_LAST_SEQUENCE = 10071


class PubError(msgspec.Struct):
    code: int = 0
    err_code: int = 0
    description: str = ""


class PubAck(msgspec.Struct):
    """The broker's confirmation: where the message was stored."""

    stream: str = ""
    seq: int = 0
    duplicate: bool = False
    error: PubError | None = None


class Connection(Protocol):
    """What the publisher needs of a NATS connection."""

    async def publish(
        self, subject: str, payload: bytes, reply: str, headers: Headers | None
    ) -> None: ...

    @property
    def is_connected(self) -> bool: ...


class _Pending(msgspec.Struct):
    future: asyncio.Future[PubAck]
    subject: str
    data: bytes
    headers: Headers | None
    tries: int
    sent_at: float


_decode = msgspec.json.Decoder(PubAck).decode


class Publisher:
    """Confirmed publishing, bounded by `limit` messages and `limit_bytes` under way."""

    def __init__(
        self,
        connection: Connection,
        inbox: str,
        *,
        limit: int = 512,
        limit_bytes: int = 4 << 20,
        timeout_s: float = 5.0,
        tries: int = 24,
    ) -> None:
        self._connection = connection
        self._inbox = inbox
        self._limit, self._limit_bytes = limit, limit_bytes
        self._timeout_s, self._tries = timeout_s, tries
        self._waiting: dict[str, _Pending] = {}
        self._bytes = 0
        self._count = 0
        self._room = asyncio.Event()
        self._busy = asyncio.Event()

    async def put(
        self, subject: str, data: bytes, headers: Headers | None = None
    ) -> asyncio.Future[PubAck]:
        """Send, waiting only for room; the future completes once the message is stored.

        The future raises Conflict when a condition in the headers failed (`resent` among its
        details: perhaps by what was stored when it was sent first), Unavailable when no stream
        takes the subject or no confirmation came.
        """
        while len(self._waiting) >= self._limit or (
            self._waiting and self._bytes + len(data) > self._limit_bytes
        ):
            self._room.clear()
            await self._room.wait()
        self._count += 1
        key = str(self._count)
        future: asyncio.Future[PubAck] = asyncio.get_running_loop().create_future()
        self._waiting[key] = _Pending(future, subject, data, headers, 1, time.monotonic())
        self._bytes += len(data)
        self._busy.set()
        if self._connection.is_connected:
            with contextlib.suppress(Unavailable):  # the sweep sends it again
                await self._connection.publish(subject, data, self._inbox + key, headers)
        return future

    def confirmed(self, subject: str, data: bytes, status: str | None) -> None:
        """Take one message that arrived on the inbox."""
        key = subject[len(self._inbox) :]
        if status == "503":
            self._nobody_took(key)
            return
        ack, entry = _decode(data), self._waiting.get(key)
        resent = entry is not None and entry.tries > 1
        self._finish(key, ack, None if ack.error is None else _fault(ack.error, resent=resent))

    def _nobody_took(self, key: str) -> None:
        # A broker that has just started answers so until its streams are recovered: try again soon.
        entry = self._waiting.get(key)
        if entry is not None and entry.tries < self._tries:
            entry.sent_at = time.monotonic() - self._timeout_s + 0.25
            return
        fault = Unavailable("no stream takes this subject", hint="run `repofold provision`")
        self._finish(key, None, fault)

    def _finish(self, key: str, ack: PubAck | None, fault: Fault | None) -> None:
        entry = self._waiting.pop(key, None)
        if entry is None:
            return
        self._bytes -= len(entry.data)
        self._room.set()
        if entry.future.done():
            return
        if fault is not None:
            entry.future.set_exception(fault)
        elif ack is not None:
            if ack.duplicate:
                counted.add("repofold.messages.dropped", "message_id")
            entry.future.set_result(ack)

    async def sweep(self) -> None:
        """Re-send what was not confirmed in time; runs for as long as the connection."""
        while True:
            if not self._waiting:
                self._busy.clear()
                await self._busy.wait()
            await asyncio.sleep(0.25)
            if not self._connection.is_connected:
                continue
            now = time.monotonic()
            for key, entry in list(self._waiting.items()):
                if now - entry.sent_at < self._timeout_s:
                    continue
                if key not in self._waiting:
                    continue  # confirmed meanwhile: a newer one may lie over it by now
                if entry.tries >= self._tries:
                    self._finish(key, None, Unavailable(f"not confirmed: {entry.subject}"))
                    continue
                entry.tries += 1
                entry.sent_at = now
                with contextlib.suppress(Unavailable):
                    await self._connection.publish(
                        entry.subject, entry.data, self._inbox + key, entry.headers
                    )

    def reconnected(self) -> None:
        """Have everything under way sent again at the next sweep; it may have died with the broker."""
        for entry in self._waiting.values():
            entry.sent_at = 0.0

    async def settle(self) -> None:
        """Wait until nothing is under way."""
        while self._waiting:
            await asyncio.wait([entry.future for entry in self._waiting.values()])


def _fault(error: PubError, *, resent: bool) -> Fault:
    if error.err_code == WRONG_LAST_SEQUENCE:
        return Conflict(error.description or "wrong last sequence", resent=resent)
    return Unavailable(
        error.description or "the broker refused the message", err_code=error.err_code
    )
