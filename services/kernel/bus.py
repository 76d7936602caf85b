"""How does this process speak JetStream? With wire.py the only importer of nats.

A `Bus` is one connection as one NATS user. What it offers beyond publish and subscribe:

- `put`            confirmed publishing (publisher.py)
- `append_newer`   append a versioned record unless the subject already holds that version or a newer one
- `append_beside`  append only while another subject's newest message is still the given one
- `last_message`, `message_from`, ...  what a stream holds, read directly
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contracts.errors import Conflict, Poisoned, Superseded, Unavailable
from services.kernel import lean, logs
from services.kernel.publisher import Headers, PubAck, Publisher
from services.kernel.settings import Settings
from services.kernel.wire import Taker, Wire, headers_of, size_of

with lean.without("aiohttp", "multidict"):
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription
    from nats.errors import Error as NatsError
    from nats.errors import MaxPayloadError, NoRespondersError
    from nats.errors import TimeoutError as NatsTimeout

__all__ = [
    "EXPECTED",
    "EXPECTED_SUBJECT",
    "FIRST",
    "MESSAGE_ID",
    "VERSION_HEADER",
    "Arrived",
    "Bus",
    "Msg",
    "Subscription",
    "credentials",
]

VERSION_HEADER = "Rf-Version"
EXPECTED = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_SUBJECT = "Nats-Expected-Last-Subject-Sequence-Subject"
MESSAGE_ID = "Nats-Msg-Id"
FIRST = "Rf-First"  # of a message stored again: sequence of the first one / ms since it was sent

_NO_MESSAGE = 10037
_READ_AGAIN_S = (0.75, 1.75)  # tries before the last, which waits longest

Arrived = Callable[[Msg], Awaitable[None]]
log = logs.get(__name__)


class Bus:
    """One connection to the broker; reconnects for ever."""

    def __init__(self, settings: Settings, worker: str) -> None:
        self._settings = settings
        self._worker = worker
        self._reconnected: list[Callable[[], None]] = []
        self._closed: list[Callable[[], None]] = []
        self._stopping = False
        self._sweeper: asyncio.Task[None] | None = None
        self.started = False
        self.client: Wire
        self.publisher: Publisher

    async def start(self, patience_s: float = 120.0) -> None:
        """Connect, waiting up to `patience_s` for a broker that is still starting.

        Raises Unavailable when none answers by then, or at once when it refuses the credentials.
        """
        user, password = credentials(self._settings, self._worker)
        prefix = f"_INBOX_{user or self._worker}"
        options: dict[str, Any] = {
            "name": f"repofold-{self._worker}",
            "reconnect_time_wait": 0.02,
            "ping_interval": 20,
            "inbox_prefix": prefix.encode(),
            "reconnected_cb": self._on_reconnected,
            "disconnected_cb": self._on_disconnected,
            "closed_cb": self._on_closed,
            "error_cb": self._on_error,
            "pending_size": 64 << 20,
        }
        if user:
            options |= {"user": user, "password": password}
        if self._settings.nats_url.startswith("tls://"):
            options["tls"] = ssl.create_default_context()
        self.client = await self._connect(options, patience_s)
        inbox = self.client.new_inbox() + "."
        self.publisher = Publisher(_Outgoing(self.client), inbox)
        await self.client.receive(inbox + "*", self._confirmed)
        self._sweeper = asyncio.create_task(self.publisher.sweep())
        self._sweeper.add_done_callback(self._swept)
        self.started = True

    async def _connect(self, options: dict[str, Any], patience_s: float) -> Wire:
        servers = self._settings.nats_url.split(",")
        deadline = time.monotonic() + patience_s
        while True:
            try:
                # One attempt: with reconnecting on, nats-py tries for ever even where credentials are wrong.
                client = Wire()
                await client.connect(
                    servers,
                    allow_reconnect=False,
                    max_reconnect_attempts=1,
                    connect_timeout=5,
                    **options,
                )
            except (OSError, NatsError) as error:
                if "authorization" in str(error).lower():
                    raise Unavailable(
                        f"the NATS server refused the credentials of the {self._worker} user",
                        hint="give --nats-users the file that `repofold provision` wrote for this server",
                    ) from None
                if time.monotonic() > deadline:
                    break
                await asyncio.sleep(0.05 + random.random() * 0.05)  # noqa: S311 - jitter
            else:
                client.options |= {
                    "allow_reconnect": True, "max_reconnect_attempts": -1, "reconnect_time_wait": 0.25,
                }  # fmt: skip
                return client
        raise Unavailable(
            "the NATS server does not answer", hint="check --nats and that the server runs"
        )

    async def stop(self) -> None:
        """Wait for confirmations, flush and close."""
        if not self.started:
            return
        self._stopping = True
        try:
            await asyncio.wait_for(self.publisher.settle(), 5)
        except TimeoutError:
            log.warning("unconfirmed_at_stop")
        if self._sweeper is not None:
            self._sweeper.cancel()
        try:
            await asyncio.wait_for(self.client.drain(), 5)
        except (TimeoutError, NatsError):
            await self.client.close()

    def _swept(self, sweeper: asyncio.Task[None]) -> None:
        if not sweeper.cancelled():  # nothing would be sent again any more
            log.error("publisher_crashed", exc_info=sweeper.exception())
            self._give_up()

    def _confirmed(self, message: Msg) -> None:
        status = (message.headers or {}).get("Status")
        self.publisher.confirmed(message.subject, message.data, status)

    async def _on_reconnected(self) -> None:
        log.info("broker_back")
        self.publisher.reconnected()
        for call in self._reconnected:
            call()

    async def _on_disconnected(self) -> None:
        log.info("broker_lost")
        if self.started and not self._stopping:
            self.client.answers_lost()

    async def _on_closed(self) -> None:
        if self._stopping or not self._closed:
            return
        log.error("broker_closed_the_connection")
        self._give_up()

    def _give_up(self) -> None:
        for call in self._closed:
            call()

    async def _on_error(self, error: Exception) -> None:
        # A refused subject is a mistake in contracts/nats_users.py or in the worker, never a passing state.
        forbidden = "permissions violation" in str(error).lower()
        log.log(40 if forbidden else 20, "broker_error", error=repr(error)[:300])

    def when_reconnected(self, call: Callable[[], None]) -> None:
        self._reconnected.append(call)

    def when_reconnected_no_more(self, call: Callable[[], None]) -> None:
        self._reconnected.remove(call)

    def when_closed(self, call: Callable[[], None]) -> None:
        """Have `call` made when the connection ended for good, which only a new process can heal."""
        self._closed.append(call)

    # -- publishing -------------------------------------------------------------------------

    async def put(
        self, subject: str, data: bytes, *, message_id: str = "", headers: Headers | None = None
    ) -> asyncio.Future[PubAck]:
        """Publish; the future completes when the message is stored. A repeated id is stored once."""
        if message_id:
            headers = {MESSAGE_ID: message_id, **(headers or {})}
        size = len(data) + size_of(headers)
        if size > self.client.max_payload:  # the broker would end the connection, time and again
            raise Poisoned(f"a message of {size:,} bytes is over the broker's max_payload")
        return await self.publisher.put(subject, data, headers)

    async def append_newer(self, subject: str, data: bytes, *, version: int, expected: int) -> int:
        """Append a versioned record to its subject; returns its sequence.

        `expected` is a guess of the subject's last sequence (0: none). Raises Superseded when the
        subject holds a newer version. The same version being there already is success: it is our
        own earlier attempt. No message id is used: the version itself makes a repeat harmless.
        """
        for attempt in range(100):
            headers = {VERSION_HEADER: str(version), EXPECTED: str(expected)}
            try:
                return (await (await self.put(subject, data, headers=headers))).seq
            except Conflict:
                last = await self.last(subject)
                if last is None:
                    expected = 0
                else:
                    expected, held = last
                    if held == version:
                        return expected
                    if held > version:
                        raise Superseded("a newer version is on record") from None
                await asyncio.sleep(min(0.02 * attempt, 0.5))  # a lagging replica may have answered
        raise Unavailable(f"could not append to {subject}")

    async def append_beside(self, subject: str, data: bytes, *, beside: str, sequence: int) -> int:
        """Append while `beside`'s newest message is still number `sequence`; raises Superseded otherwise."""
        headers = {EXPECTED: str(sequence), EXPECTED_SUBJECT: beside}
        try:
            return (await (await self.put(subject, data, headers=headers))).seq
        except Conflict:
            raise Superseded("the record it belongs to was replaced") from None

    async def last(self, subject: str, stream: str = "INDEX") -> tuple[int, int] | None:
        """Sequence and version of the newest message of a subject; None when there is none."""
        found = await self.last_message(subject, stream)
        if found is None:
            return None
        sequence, headers, _ = found
        return sequence, int(headers.get(VERSION_HEADER, "0"))

    async def last_message(self, subject: str, stream: str) -> tuple[int, Headers, bytes] | None:
        return await self._direct(f"{stream}.{subject}", b"")

    async def message_from(
        self, subject: str, stream: str, *, sequence: int = 0, since_ms: int = 0
    ) -> tuple[int, Headers, bytes] | None:
        """The first message of a subject (wildcards allowed) at or after a sequence, or a time."""
        body: dict[str, Any] = {"next_by_subj": subject}
        if since_ms:
            stamp = datetime.fromtimestamp(since_ms / 1000, UTC)
            body["start_time"] = stamp.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        else:
            body["seq"] = max(sequence, 1)
        return await self._direct(stream, json.dumps(body).encode())

    async def last_message_before(
        self, subject: str, stream: str, sequence: int
    ) -> tuple[int, Headers, bytes] | None:
        """The newest message of a subject whose sequence is below the given one."""
        if sequence <= 1:
            return None
        body = {"multi_last": [subject], "up_to_seq": sequence - 1}
        return await self._direct(stream, json.dumps(body).encode())

    async def last_message_of_leader(
        self, subject: str, stream: str
    ) -> tuple[int, Headers, bytes] | None:
        """As `last_message`, never older than what was confirmed: a replica may answer the other."""
        body = json.dumps({"last_by_subj": subject}).encode()
        try:
            answer = _api_answer(await self._read(f"$JS.API.STREAM.MSG.GET.{stream}", body))
        except Unavailable as error:
            if error.details.get("err_code") == _NO_MESSAGE:
                return None
            raise
        found = answer["message"]
        headers = headers_of(base64.b64decode(found.get("hdrs", "")))
        return int(found["seq"]), headers, base64.b64decode(found.get("data", ""))

    async def _direct(self, target: str, body: bytes) -> tuple[int, Headers, bytes] | None:
        reply = await self._read(f"$JS.API.DIRECT.GET.{target}", body)
        headers = reply.headers or {}
        if headers.get("Status") == "404":
            return None
        if "Nats-Sequence" not in headers:
            raise Unavailable(
                "the stream does not answer direct reads", status=headers.get("Status", "")
            )
        return int(headers["Nats-Sequence"]), headers, reply.data

    async def _read(self, subject: str, body: bytes) -> Msg:
        """A request that changes nothing: whose answer was lost with a connection, it is sent again."""
        for timeout in _READ_AGAIN_S:
            try:
                return await self.request(subject, body, timeout)
            except Unavailable as fault:
                if fault.details.get("error") != NatsTimeout.__name__:
                    raise
        return await self.request(subject, body)

    # -- plain NATS -------------------------------------------------------------------------

    async def request(self, subject: str, data: bytes, timeout: float = 5.0) -> Msg:
        """Request and reply; raises Unavailable when nobody answers in time."""
        try:
            return await self.client.request(subject, data, timeout=timeout)
        except (NatsTimeout, NoRespondersError) as error:
            raise Unavailable(
                f"no answer on {subject.split('.')[0]}", error=type(error).__name__
            ) from None

    async def api(self, subject: str, body: dict[str, Any], timeout: float = 5.0) -> dict[str, Any]:
        """Call the JetStream API; raises Unavailable with the broker's words on an error."""
        reply = await self.request(f"$JS.API.{subject}", json.dumps(body).encode(), timeout)
        return _api_answer(reply)

    async def publish(self, subject: str, data: bytes, reply: str = "") -> None:
        """Core NATS, not stored."""
        try:
            await self.client.publish(subject, data, reply)
        except MaxPayloadError:
            raise Poisoned("the message is over the broker's max_payload") from None

    async def acknowledge(self, replies: Iterable[str]) -> None:
        """Tell the broker that the messages with these reply subjects are done."""
        for reply in replies:
            await self.client.send(reply, b"+ACK")

    async def receive(self, subject: str, taker: Taker) -> Subscription:
        """As `subscribe`, for what is only put aside: `taker` runs as each message is read."""
        return await self.client.receive(subject, taker)

    async def subscribe(self, subject: str, arrived: Arrived) -> Subscription:
        return await self.client.subscribe(
            subject, cb=arrived, pending_msgs_limit=0, pending_bytes_limit=0
        )

    def inbox(self) -> str:
        return self.client.new_inbox()

    @property
    def connected(self) -> bool:
        return self.client.is_connected


def _api_answer(reply: Msg) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(reply.data)
    if "error" in answer:
        error = answer["error"]
        raise Unavailable(str(error.get("description", "error")), err_code=error.get("err_code", 0))
    return answer


class _Outgoing:
    """The publisher's narrow view of the client."""

    def __init__(self, client: Wire) -> None:
        self._client = client

    async def publish(
        self, subject: str, payload: bytes, reply: str, headers: Headers | None
    ) -> None:
        try:
            await self._client.send(subject, payload, reply, headers)
        except NatsError as error:
            raise Unavailable(
                "the connection cannot take a message now", error=repr(error)
            ) from None

    @property
    def is_connected(self) -> bool:
        return self._client.is_connected


def credentials(settings: Settings, worker: str) -> tuple[str, str]:
    """User and password of a worker; ("", "") when the URL carries them or none are needed."""
    if not settings.nats_users_file:
        return "", ""
    users: dict[str, dict[str, str]] = json.loads(Path(settings.nats_users_file).read_bytes())
    entry = users.get(worker)
    if entry is None:
        raise Unavailable(
            f"no NATS user for the {worker} worker", hint="run `repofold provision` again"
        )
    return entry["user"], entry["password"]
