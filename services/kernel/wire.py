"""How do messages go over the connection at little cost?

nats-py makes an object, a queue entry and a turn of a task of every message that arrives, and checks
each name and header of every message that leaves. Indexing moves tens of thousands of them, most of them
confirmations of a few bytes. `Wire` is nats-py's client with a short way beside the usual one: what
arrives for a `receive` subscription is handed over as it is read, and `send` puts a message straight
into the client's outgoing buffer. Connecting, authentication, reconnecting, flushing and everything
unusual on the wire stay nats-py's.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from services.kernel import lean, logs

with lean.without("aiohttp", "multidict"):
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.transport import TcpTransport
    from nats.errors import TimeoutError as NatsTimeout
    from nats.protocol.parser import Parser

if TYPE_CHECKING:
    from urllib.parse import ParseResult

    from nats.aio.subscription import Subscription

Headers = dict[str, str]
Taker = Callable[[Msg], None]
log = logs.get(__name__)
_LINE = b"\r\n"
_READ_BYTES = 1 << 18  # nats-py's own 32 KiB are three file records
_LONGEST_LINE = 4096  # of the protocol
_MOST_PENDING = 16 << 20  # bytes not flushed yet, from which on nats-py has to slow the sender down
_plain = re.compile("[!-~]+").fullmatch


class Wire(Client):
    """One connection to the broker."""

    def __init__(self) -> None:
        super().__init__()
        self._ps = _Reading(self)
        self._takers: dict[int, Taker] = {}

    async def _connect_to_server(self, s: Any) -> None:
        if self._transport is None and s.uri.scheme not in ("ws", "wss"):
            self._transport = _Transport()  # type: ignore[no-untyped-call]
        await super()._connect_to_server(s)

    async def receive(self, subject: str, taker: Taker) -> Subscription:
        """Subscribe; `taker` is called with each message as it is read, in order. It must be quick."""

        async def arrived(message: Msg) -> None:
            taker(message)

        subscription = await self.subscribe(
            subject, cb=arrived, pending_msgs_limit=0, pending_bytes_limit=0
        )
        self._takers[subscription._id] = taker  # noqa: SLF001 - the number that arrives with each message
        return subscription

    def take(self, sid: int, subject: str, reply: str, data: bytes, head: bytes) -> bool:
        """Hand a message over; False when it has to go the usual way."""
        taker = self._takers.get(sid)
        if taker is None:
            return False
        if sid not in self._subs:  # unsubscribed meanwhile
            del self._takers[sid]
            return True
        try:
            taker(_Taken(self, subject, reply, data, head))
        except Exception:
            log.exception("message_not_taken", subject=subject)
        return True

    async def send(
        self, subject: str, data: bytes, reply: str = "", headers: Headers | None = None
    ) -> None:
        """As `publish`."""
        frame = self._frame(subject, data, reply, headers) if self._is_free() else None
        if frame is None or self._flush_queue is None:
            await self.publish(subject, data, reply, headers)
            return
        self._pending.append(frame)
        self._pending_data_size += len(frame)
        if self._flush_queue.empty():
            self._flush_queue.put_nowait(asyncio.get_running_loop().create_future())

    def answers_lost(self) -> None:
        """Fail the requests under way: the connection that their answers would have come over is gone."""
        for answer in list(self._resp_map.values()):
            if not answer.done():
                answer.set_exception(NatsTimeout())

    def _is_free(self) -> bool:
        """Whether what is sent now needs nothing but to be flushed."""
        is_flushing = self._flusher_task is not None and not self._flusher_task.done()
        return (
            self._status == Client.CONNECTED
            and is_flushing
            and self._pending_data_size < _MOST_PENDING
        )

    def _frame(
        self, subject: str, data: bytes, reply: str, headers: Headers | None
    ) -> bytes | None:
        """The message as it is sent; None when nats-py has to look at it."""
        is_plain = _plain(subject) is not None and (not reply or _plain(reply) is not None)
        if not is_plain or len(data) > self._max_payload:
            return None
        if headers is None:
            return b"PUB %b %b %d\r\n%b\r\n" % (subject.encode(), reply.encode(), len(data), data)
        lines = "\r\n".join(
            ["NATS/1.0", *(f"{name}: {value.strip()}" for name, value in headers.items())]
        )
        if lines.count("\n") != len(headers) or lines.count("\r") != len(headers):
            return None
        head = f"{lines}\r\n\r\n".encode()
        return b"HPUB %b %b %d %d\r\n%b%b\r\n" % (
            subject.encode(), reply.encode(), len(head), len(head) + len(data), head, data,
        )  # fmt: skip


class _Taken(Msg):
    """A message whose headers are read when somebody asks for them."""

    def __init__(self, client: Wire, subject: str, reply: str, data: bytes, head: bytes) -> None:
        self._client = client
        self.subject, self.reply, self.data = subject, reply, data
        self._head = head

    @property
    def headers(self) -> Headers | None:  # type: ignore[override]
        return headers_of(self._head) if self._head else None


def headers_of(head: bytes) -> Headers:
    """The headers of a message as the broker keeps and sends them; "Status" and "Description" too."""
    first, *lines = head.decode(errors="replace").split("\r\n")
    pairs = (line.partition(":") for line in lines if ":" in line)
    headers = {name.strip(): value.strip() for name, _, value in pairs}
    status, _, description = first.removeprefix("NATS/1.0").strip().partition(" ")
    if status.isdigit():
        headers |= {"Status": status, "Description": description.strip()}
    return headers


def size_of(headers: Headers | None) -> int:
    """Bytes that headers take in a message, at most."""
    if not headers:
        return 0
    return 12 + sum(len(name) + len(value.encode()) + 4 for name, value in headers.items())


class _Reading(Parser):
    """nats-py's parser, which is asked about everything that is not a whole message."""

    def __init__(self, wire: Wire) -> None:
        super().__init__(wire)
        self._wire = wire

    async def parse(self, data: bytes = b"") -> None:
        buffer = self.buf
        buffer += data
        at = 0
        while (end := buffer.find(_LINE, at, at + _LONGEST_LINE)) >= 0:
            words = buffer[at:end].decode().split()
            start = end + len(_LINE)
            if len(words) < 4 or words[0] not in ("MSG", "HMSG"):
                if not await self._line(bytes(buffer[at:start])):
                    return
                at = start
                continue
            stop = start + int(words[-1])
            if len(buffer) < stop + len(_LINE):
                break
            own = 4 if words[0] == "MSG" else 5  # words without a reply subject
            reply = words[3] if len(words) > own else ""
            body = start + (int(words[-2]) if own == 5 else 0)
            head, content = bytes(buffer[start:body]), bytes(buffer[body:stop])
            at = stop + len(_LINE)
            if not self._wire.take(int(words[2]), words[1], reply, content, head):
                await self._wire._process_msg(  # noqa: SLF001 - what the base class does
                    int(words[2]), words[1].encode(), reply.encode(), content, head
                )
                if self.buf is not buffer:  # the connection was lost meanwhile
                    return
        del buffer[:at]

    async def _line(self, line: bytes) -> bool:
        """Leave one line to the base class; False when the connection was lost with it."""
        kept, alone = self.buf, bytearray(line)
        self.buf = alone
        await super().parse()
        if self.buf is not alone:
            return False
        self.buf = kept
        return True


class _Transport(TcpTransport):
    """Reads in larger pieces."""

    def __bool__(self) -> bool:  # nats-py replaces what is not
        return True

    async def connect(self, uri: ParseResult, buffer_size: int, connect_timeout: int) -> None:
        await super().connect(uri, max(buffer_size, _READ_BYTES), connect_timeout)

    async def read(self, buffer_size: int) -> bytes:
        data: bytes = await super().read(max(buffer_size, _READ_BYTES))
        return data
