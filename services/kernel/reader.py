"""How is a stream read in order from a stored position?

An ephemeral pull consumer that needs no acknowledgement: the reader's own position, committed with
the effect of what it read, is the only truth. A gap, a silence or a reconnect makes it start again
behind the last message it handed out.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import uuid
from collections.abc import Sequence

from msgspec import Struct
from nats.errors import Error as NatsError

from contracts.errors import Fault
from services.kernel import logs
from services.kernel.bus import Bus, Msg, Subscription
from services.kernel.consumer import unfilled

log = logs.get(__name__)
_NS = 1_000_000_000
_HEARTBEAT_S = 10
_IDLE_NS = 60 * _NS  # the broker forgets the consumer after this silence


class Entry(Struct, frozen=True):
    """One stored message."""

    sequence: int  # of the stream
    subject: str
    data: bytes


class StreamReader:
    """Reads one stream's messages after `position`, in order, in batches."""

    def __init__(
        self,
        bus: Bus,
        stream: str,
        position: int,
        *,
        window: int = 1024,
        window_bytes: int = 16 << 20,
        filters: Sequence[str] = (),
    ) -> None:
        self._bus, self._stream = bus, stream
        self.position = position  # sequence of the last message handed out
        self._window, self._window_bytes = window, window_bytes
        self._filters = list(filters)
        self._buffer: list[Entry] = []
        self._bytes = 0
        self._consumer_sequence = 0
        self._requested = 0
        self._heard = 0.0
        self._name = ""
        self._inbox = ""
        self._broken = True
        self._subscription: Subscription | None = None
        self._pending = -1  # messages of the stream behind the last one that arrived; -1 unknown
        self.wake = asyncio.Event()
        bus.when_reconnected(self._lost)

    async def close(self) -> None:
        """Read no more. What is under way from the broker would otherwise still be kept here."""
        self._bus.when_reconnected_no_more(self._lost)
        if self._subscription is not None:
            with contextlib.suppress(NatsError):
                await self._subscription.unsubscribe()
            self._subscription = None
        self._buffer.clear()
        self._bytes = 0

    def _lost(self) -> None:
        self._broken = True
        self.wake.set()

    def rewind(self, position: int) -> None:
        """Go on behind `position` instead: what was handed out since was not used."""
        self.position = position
        self._lost()

    async def tail(self) -> int:
        """Sequence of the newest message of the stream."""
        info = await self._bus.api(f"STREAM.INFO.{self._stream}", {})
        return int(info["state"]["last_seq"])

    @property
    def exhausted(self) -> bool:
        """The broker said that nothing is left to send, and nothing is buffered."""
        return self._pending == 0 and not self._buffer and not self._broken

    def holds(self, limit: int, limit_bytes: int) -> bool:
        """Whether as much as `take` would hand out is buffered."""
        return len(self._buffer) >= limit or self._bytes >= limit_bytes

    def silent_s(self) -> float:
        """For how long nothing has come."""
        return time.monotonic() - self._heard

    async def ready(self) -> bool:
        """Ask for more where needed; True when something is buffered. Never waits for messages."""
        if self._broken or time.monotonic() - self._heard > 3 * _HEARTBEAT_S:
            try:
                await self._restart()
            except Fault as error:
                log.info("reader_restart_failed", stream=self._stream, error=error.message)
                await asyncio.sleep(0.25)
                return bool(self._buffer)
        await self._top_up()
        return bool(self._buffer)

    def take(self, limit: int, limit_bytes: int) -> list[Entry]:
        """Hand out buffered messages, at least one if there is any."""
        taken: list[Entry] = []
        size = 0
        for entry in self._buffer[:limit]:
            size += len(entry.data)
            if taken and size > limit_bytes:
                size -= len(entry.data)
                break
            taken.append(entry)
        del self._buffer[: len(taken)]
        self._bytes -= size
        if taken:
            self.position = taken[-1].sequence
        return taken

    async def _restart(self) -> None:
        if self._subscription is not None:
            await self._subscription.unsubscribe()
            self._subscription = None
        self._buffer.clear()
        self._bytes = 0
        self._consumer_sequence = 0
        self._requested = 0
        self._name = f"r{uuid.uuid4().hex[:12]}"
        self._inbox = self._bus.inbox()
        self._subscription = await self._bus.receive(self._inbox, self._on_message)
        config: dict[str, object] = {
            "name": self._name,
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": self.position + 1,
            "ack_policy": "none",
            "inactive_threshold": _IDLE_NS,
            "num_replicas": 1,
            "mem_storage": True,
        }
        if self._filters:
            config["filter_subjects"] = self._filters
        created = await self._bus.api(
            f"CONSUMER.CREATE.{self._stream}.{self._name}",
            {"stream_name": self._stream, "config": config},
        )
        self._pending = int(created["num_pending"])
        self._broken = False
        self._heard = time.monotonic()

    async def _top_up(self) -> None:
        need = self._window - len(self._buffer) - max(self._requested, 0)
        if self._broken or need < self._window // 2 or self._bytes > self._window_bytes:
            return
        self._requested = max(self._requested, 0) + need
        await self._bus.publish(
            f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._name}",
            json.dumps(
                {
                    "batch": need,
                    "max_bytes": self._window_bytes,
                    "expires": 30 * _NS,
                    "idle_heartbeat": _HEARTBEAT_S * _NS,
                }
            ).encode(),
            self._inbox,
        )

    def _on_message(self, message: Msg) -> None:
        self._heard = time.monotonic()
        if not message.reply.startswith("$JS.ACK."):
            self._on_status(message)
            return
        self._requested -= 1
        parts = message.reply.split(".")
        shift = 2 if len(parts) >= 11 else 0
        sequence, consumer_sequence = int(parts[5 + shift]), int(parts[6 + shift])
        self._pending = int(parts[8 + shift])
        if consumer_sequence != self._consumer_sequence + 1:
            self._lost()
            return
        self._consumer_sequence = consumer_sequence
        self._buffer.append(Entry(sequence, message.subject, message.data))
        self._bytes += len(message.data)
        self.wake.set()

    def _on_status(self, message: Msg) -> None:
        status = (message.headers or {}).get("Status", "100")
        if status == "100":
            return
        self._requested -= unfilled(message, self._requested)
        described = (message.headers or {}).get("Description", "").lower()
        if status not in ("404", "408", "409") or "deleted" in described:
            self._broken = True
        self.wake.set()
