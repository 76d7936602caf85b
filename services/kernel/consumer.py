"""How does a worker take messages without ever losing one?

A standing pull on a shared durable; a batch goes to the handler; what the handler put out is
confirmed stored; only then is the batch acknowledged. A batch that fails is tried again member by
member, the culprit comes back after a pause, and after `max_deliver` attempts (or at once when it
can never succeed) its bytes are parked on DEAD with the cause. A message that kills its process is
found by the journal and parked too. An `Outage` is no message's fault: the batch stays in hand until
it is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from mode import Service
from nats.errors import Error as NatsError

from contracts import subjects
from contracts.envelope import Envelope
from contracts.errors import Conflict, Poisoned, Superseded, Unavailable
from contracts.subjects import DurableSpec
from services.kernel import logs, memory
from services.kernel.bus import (
    EXPECTED,
    EXPECTED_SUBJECT,
    FIRST,
    MESSAGE_ID,
    VERSION_HEADER,
    Bus,
    Msg,
    Subscription,
)
from services.kernel.instruments import counted
from services.kernel.journal import Journal
from services.kernel.pacing import Pacer
from services.kernel.publisher import Headers, PubAck

E = TypeVar("E")
log = logs.get(__name__)
_NS = 1_000_000_000
_HEARTBEAT_S = 10
_QUIET_S = 0.05  # nothing came for so long: the server has nothing more to send
_LEAVE_S = 2.0
_SUSPECT = 3  # deliveries from which on a message is handled alone and written down
_LIGHT = 4  # messages: so little work waits for no question, and nothing for company after it
_GATHER_LOOK_S = 0.02
_OUTAGE_PAUSES_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


class Outage(Unavailable):
    """Something that every message needs is down. Raised by a handler.

    The batch is kept and tried again, for as long as it takes; no delivery is counted against it,
    and nothing more is asked for meanwhile.
    """


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """How one worker takes its messages."""

    batch: int = 64
    window: int = 128  # messages asked for ahead
    window_bytes: int = 8 << 20
    max_deliver: int = 5
    backoff_s: tuple[float, ...] = (0.5, 2.0, 10.0, 30.0)
    grace_s: float = 20.0  # for batches in hand at a stop
    gather_s: float = 0.0  # so long a batch waits for company, behind one that was not light
    trims: bool = False  # memory is given back once there was nothing to do for a while


class Delivery(Generic[E]):
    """One message as a handler sees it."""

    __slots__ = ("attempt", "envelope", "kept", "message", "sequence")

    def __init__(self, envelope: Envelope[E], message: Msg, sequence: int, attempt: int) -> None:
        self.envelope = envelope
        self.message = message
        self.sequence = sequence
        self.attempt = attempt
        self.kept = False  # the handler answers for it later; see Consumer.finish

    @property
    def event(self) -> E:
        return self.envelope.event

    @property
    def subject(self) -> str:
        return self.message.subject

    @property
    def stored_ms(self) -> int:
        """When the broker stored the message, by its own clock."""
        parts = self.message.reply.split(".")
        return int(parts[9 if len(parts) >= 11 else 7]) // 1_000_000

    @property
    def first(self) -> tuple[int, int]:
        """Sequence and time of storage of the first of the messages that ask for the same."""
        sequence, _, ago_ms = (self.message.headers or {}).get(FIRST, "").partition("/")
        if not (sequence.isdigit() and ago_ms.isdigit()):
            return self.sequence, self.stored_ms
        return int(sequence), self.stored_ms - int(ago_ms)


class _Append(msgspec.Struct, frozen=True):
    """A conditional append, sent when the attempt ends."""

    subject: str
    data: bytes
    headers: Headers
    again: Callable[[], Awaitable[int]]  # what settles a conflict


class Outbox:
    """What one attempt published; the attempt succeeds only when all of it is stored."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._sent: list[asyncio.Future[PubAck]] = []
        self._appends: list[_Append] = []

    async def put(self, subject: str, data: bytes, *, message_id: str = "") -> None:
        self._sent.append(await self._bus.put(subject, data, message_id=message_id))

    def append_newer(self, subject: str, data: bytes, *, version: int, expected: int) -> None:
        """As Bus.append_newer; being superseded counts as done."""
        headers = {VERSION_HEADER: str(version), EXPECTED: str(expected)}

        def again() -> Awaitable[int]:
            return self._bus.append_newer(subject, data, version=version, expected=expected)

        self._appends.append(_Append(subject, data, headers, again))

    def append_beside(self, subject: str, data: bytes, *, beside: str, sequence: int) -> None:
        headers = {EXPECTED: str(sequence), EXPECTED_SUBJECT: beside}

        def again() -> Awaitable[int]:
            return self._bus.append_beside(subject, data, beside=beside, sequence=sequence)

        self._appends.append(_Append(subject, data, headers, again))

    async def stored(self) -> None:
        """Wait for every confirmation; raises the first failure."""
        appends, self._appends = self._appends, []
        for append in appends:
            self._sent.append(
                await self._bus.put(append.subject, append.data, headers=append.headers)
            )
        sent, self._sent = self._sent, []
        if sent:
            await asyncio.wait(sent)
        errors = [future.exception() for future in sent]
        first = len(sent) - len(appends)
        conflicts = [
            number
            for number, error in enumerate(errors)
            if number >= first and isinstance(error, Conflict)
        ]
        settled = await asyncio.gather(
            *(_settled(appends[number - first].again()) for number in conflicts),
            return_exceptions=True,
        )
        for number, result in zip(conflicts, settled, strict=True):
            errors[number] = result if isinstance(result, BaseException) else None
        for error in errors:
            if error is not None:
                raise error

    def discard(self) -> None:
        """The attempt failed: what was not sent yet is not sent, and nobody asks about the rest."""
        sent, self._sent, self._appends = self._sent, [], []
        for future in sent:
            future.add_done_callback(lambda done: done.cancelled() or done.exception())


async def _settled(append: Awaitable[int]) -> int:
    try:
        return await append
    except Superseded:
        counted.add("repofold.messages.dropped", "version")
        return 0


Handler = Callable[[Sequence[Delivery[E]], Outbox], Awaitable[None]]
Parked = Callable[[Delivery[E], Exception], Awaitable[None]]


class Consumer(Service, Generic[E]):
    """Takes one durable's messages for as long as the process lives."""

    def __init__(
        self,
        bus: Bus,
        spec: DurableSpec,
        union: Any,
        handle: Handler[E],
        *,
        policy: Policy | None = None,
        parked: Parked[E] | None = None,
        journal: Journal | None = None,
    ) -> None:
        super().__init__()
        self._bus, self._spec, self._handle = bus, spec, handle
        self._policy = policy or Policy()
        self._parked = parked
        self._journal = journal
        self.pacer: Pacer | None = None  # of a worker that gives way to questions
        self._decode = msgspec.msgpack.Decoder(Envelope[union]).decode
        self._buffer: list[Msg] = []
        self._in_hand: set[str] = set()
        self._kept: set[str] = set()  # handled so far that nothing waits for them here
        self._requested = 0
        self._heard = 0.0
        self._gather_until = 0.0
        self._grown = False  # by work since memory was last given back
        self._wake = asyncio.Event()
        self._inbox = ""
        self._subscription: Subscription | None = None
        self._task: asyncio.Task[None] | None = None

    async def on_start(self) -> None:
        if self._journal is not None:
            self._journal.open()
        self._inbox = self._bus.inbox()
        self._subscription = await self._bus.receive(self._inbox, self._arrived)
        self._bus.when_reconnected(self._request_lost)
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            log.error("consumer_crashed", durable=self._spec.name, exc_info=task.exception())
            self._bus_failure(task.exception())

    def _bus_failure(self, error: BaseException | None) -> None:
        # The supervisor restarts the process; limping on with a dead consumer would hide the loss.
        asyncio.get_running_loop().create_task(self.crash(error or RuntimeError("consumer ended")))

    # -- pulling ----------------------------------------------------------------------------

    def _request_lost(self) -> None:
        self._requested = 0
        self._wake.set()

    def _arrived(self, message: Msg) -> None:
        self._heard = time.monotonic()
        if message.reply.startswith("$JS.ACK."):
            self._requested -= 1
            self._buffer.append(message)
        elif message.headers and message.headers.get("Status") != "100":
            if (
                message.headers.get("Status") == "503"
            ):  # not provisioned yet, or the broker is recovering
                asyncio.get_running_loop().call_later(0.1, self._request_lost)
                return
            self._requested -= unfilled(message, self._requested)
        self._wake.set()

    async def _top_up(self) -> None:
        policy, now = self._policy, time.monotonic()
        if self._requested > 0 and now - self._heard > 2 * _HEARTBEAT_S + 1:
            self._requested = 0
        held = len(self._buffer) + len(self._in_hand) + max(self._requested, 0)
        need = policy.window - held
        if need < policy.window // 2 or not self._bus.connected:
            return
        self._requested = max(self._requested, 0) + need
        self._heard = now
        await self._bus.publish(
            f"$JS.API.CONSUMER.MSG.NEXT.{self._spec.stream}.{self._spec.name}",
            json.dumps(
                {
                    "batch": need,
                    "max_bytes": policy.window_bytes,
                    "expires": 60 * _NS,
                    "idle_heartbeat": _HEARTBEAT_S * _NS,
                }
            ).encode(),
            self._inbox,
        )

    async def _next_batch(self) -> list[Msg]:
        while not self.should_stop:
            self._wake.clear()  # first: a connection may be lost, and back, while more is asked for
            await self._top_up()
            if self._buffer:
                await self._gather()
                size = self._policy.batch
                batch, self._buffer = self._buffer[:size], self._buffer[size:]
                return batch
            try:
                await asyncio.wait_for(self._wake.wait(), _HEARTBEAT_S + 1)
            except TimeoutError:
                await self._rest()
        return []

    async def _rest(self) -> None:
        if self._policy.trims and self._grown:
            self._grown = False
            await asyncio.to_thread(memory.trim)

    async def _gather(self) -> None:
        """Under load let more come together: a batch costs much the same however little is in it."""
        policy = self._policy
        while len(self._buffer) < policy.batch and not self.should_stop:
            left = self._gather_until - time.monotonic()
            if left <= 0:
                return
            await asyncio.sleep(min(left, _GATHER_LOOK_S))

    # -- handling ---------------------------------------------------------------------------

    async def _run(self) -> None:
        keep_alive = asyncio.create_task(self._still_working())
        keep_alive.add_done_callback(self._ended)
        try:
            while not self.should_stop:
                batch = await self._next_batch()
                replies = {message.reply for message in batch}
                self._in_hand |= replies
                try:
                    await self._process(batch)
                finally:
                    self._in_hand -= replies
                if len(batch) > _LIGHT:
                    self._grown = True
                    self._gather_until = time.monotonic() + self._policy.gather_s
        finally:
            keep_alive.cancel()

    async def _process(self, messages: list[Msg]) -> None:
        deliveries: list[Delivery[E]] = []
        for message in messages:
            _, sequence, attempt = _ack_fields(message.reply)
            try:
                deliveries.append(Delivery(self._decode(message.data), message, sequence, attempt))
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                await self._park(message, sequence, attempt, error)
        if self._journal is not None:
            suspects = [delivery for delivery in deliveries if delivery.attempt >= _SUSPECT]
            deliveries = [delivery for delivery in deliveries if delivery.attempt < _SUSPECT]
            await self._one_by_one(suspects, self._journal)
        if deliveries and await self._attempt(deliveries) is not None:
            await self._one_by_one(deliveries, None)

    async def _one_by_one(self, deliveries: Sequence[Delivery[E]], journal: Journal | None) -> None:
        for delivery in deliveries:
            if self.should_stop:
                await self._bus.publish(delivery.message.reply, b"-NAK")
                continue
            if journal is not None and journal.is_culprit(delivery.sequence):
                await self._failed(
                    delivery, Poisoned("the worker died twice with this message in hand")
                )
                journal.forget(delivery.sequence)
                continue
            if journal is not None:
                journal.began(delivery.sequence)
            error = await self._attempt([delivery])
            if journal is not None:
                journal.ended()
            if error is not None:
                await self._failed(delivery, error)

    async def _attempt(self, batch: list[Delivery[E]]) -> Exception | None:
        # A single save is quickly done, and is perhaps what the questions are about.
        if self.pacer is not None and len(batch) + len(self._buffer) > _LIGHT:
            await self.pacer.before()
        error = await self._try(batch)
        pauses = iter(_OUTAGE_PAUSES_S)
        while isinstance(error, Outage):
            await self.sleep(next(pauses, _OUTAGE_PAUSES_S[-1]))
            if self.should_stop:
                break
            error = await self._try(batch)
        return error

    async def _try(self, batch: list[Delivery[E]]) -> Exception | None:
        if self.pacer is None:
            return await self._handled(batch)
        began = time.monotonic()
        error = await self._handled(batch)
        await self.pacer.after(time.monotonic() - began, failed=error is not None)
        return error

    async def _handled(self, batch: list[Delivery[E]]) -> Exception | None:
        out = Outbox(self._bus)
        try:
            await self._handle(batch, out)
            await out.stored()
        except Exception as error:  # noqa: BLE001 - the kernel's loop: retried, then parked
            out.discard()
            return error
        self._kept.update(delivery.message.reply for delivery in batch if delivery.kept)
        await self._bus.acknowledge(
            delivery.message.reply for delivery in batch if not delivery.kept
        )
        return None

    async def finish(self, delivery: Delivery[E]) -> None:
        """Acknowledge a message that its handler kept.

        Until then it takes no room here: others are handled meanwhile, the broker is told that it is
        in work, and at a stop it is handed back.
        """
        self._kept.discard(delivery.message.reply)
        await self._bus.publish(delivery.message.reply, b"+ACK")

    async def _failed(self, delivery: Delivery[E], error: Exception) -> None:
        policy = self._policy
        if isinstance(error, Outage):  # only at a stop
            await self._bus.publish(delivery.message.reply, b"-NAK")
            return
        retryable = bool(getattr(error, "retryable", False))
        # What a dependency could not do yet is not the message's fault: it comes back for ever.
        if isinstance(error, Poisoned) or (
            delivery.attempt >= policy.max_deliver and not retryable
        ):
            if self._parked is not None:
                try:
                    await self._parked(delivery, error)
                except Exception:
                    log.exception("parked_hook_failed", durable=self._spec.name)
            await self._park(delivery.message, delivery.sequence, delivery.attempt, error)
            return
        pause = policy.backoff_s[min(delivery.attempt, len(policy.backoff_s)) - 1]
        log.log(
            20 if retryable else 30,
            "retry",
            durable=self._spec.name,
            attempt=delivery.attempt,
            error=repr(error)[:300],
        )
        body = json.dumps({"delay": int(pause * _NS)})
        await self._bus.publish(delivery.message.reply, f"-NAK {body}".encode())

    async def _park(self, message: Msg, sequence: int, attempt: int, error: Exception) -> None:
        headers = {
            MESSAGE_ID: f"dead-{self._spec.name}-{sequence}",
            "Rf-Error": repr(error)[:400].replace("\n", " ").replace("\r", " "),
            "Rf-Durable": self._spec.name,
            "Rf-Attempts": str(attempt),
            "Rf-Subject": message.subject,
        }
        stored = await self._bus.put(
            subjects.dead(self._spec.name, message.subject), message.data, headers=headers
        )
        ack: PubAck = await stored
        await self._bus.publish(message.reply, b"+TERM")
        counted.add("repofold.messages.parked", self._spec.name)
        log.error(
            "parked",
            durable=self._spec.name,
            subject=message.subject,
            dead_sequence=ack.seq,
            error=repr(error)[:300],
        )

    async def _still_working(self) -> None:
        while True:
            await asyncio.sleep(self._spec.ack_wait_s / 3)
            if not self._bus.connected:
                continue  # it would pile up, and say nothing once it arrives
            buffered = [message.reply for message in self._buffer]
            for reply in [*self._in_hand, *self._kept, *buffered]:
                await self._bus.publish(reply, b"+WPI")

    # -- stopping ---------------------------------------------------------------------------

    async def _leave(self, subscription: Subscription) -> None:
        """End the pulling with everything here that was sent, so that it can be handed back.

        What is on its way when the subscription goes would come again only after the ack wait.
        """
        until = time.monotonic() + _LEAVE_S
        before = 0
        with contextlib.suppress(NatsError):
            while 0 < self._requested != before and time.monotonic() < until:
                before = self._requested
                await self._bus.client.flush()
                await asyncio.sleep(_QUIET_S)
            await subscription.drain()  # type: ignore[no-untyped-call]

    async def on_stop(self) -> None:
        if self._subscription is not None and self._bus.connected:
            await self._leave(self._subscription)
        self._wake.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=self._policy.grace_s)
            self._task.cancel()
        buffered = [message.reply for message in self._buffer]
        for reply in [*buffered, *self._in_hand, *self._kept]:
            await self._bus.publish(reply, b"-NAK")
        if self._journal is not None:
            self._journal.close()


def unfilled(message: Msg, requested: int) -> int:
    """How many messages a pull request that ended had still to bring, of all that were asked for.

    Several requests may be waiting. To take the end of one for the end of all would have each
    replaced as it ends, for ever, and the broker send heartbeats for every one of them.
    """
    left = (message.headers or {}).get("Nats-Pending-Messages", "")
    return min(int(left), max(requested, 0)) if left.isdigit() else requested


def _ack_fields(reply: str) -> tuple[str, int, int]:
    """Stream, stream sequence and delivery count out of an acknowledgement subject."""
    parts = reply.split(".")
    if len(parts) >= 11:  # with domain and account hash
        return parts[4], int(parts[7]), int(parts[6])
    return parts[2], int(parts[5]), int(parts[4])
