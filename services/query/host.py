"""What does the query service hold between calls?

One `Host` per process: the projections, the bus (absent when there is no node, as for the command
line on a stopped one), the retrieval state of each repository. A `View` is the host as one caller
sees it; tool bodies get nothing else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager, suppress

import msgspec
from nats.errors import Error as NatsError

from contracts import subjects
from contracts.envelope import Envelope, encode, new_id, now_ms
from contracts.errors import Fault, NotFound, Unavailable, named
from contracts.events.commands import AddRepo, CommandReply, RemoveRepo, ResetIndex
from contracts.events.mapping import AnyMapCommand
from contracts.events.memory import AnyNoteCommand, NoteReply
from contracts.events.progress import FoldedNotice, ForegroundNotice
from contracts.ids import RepoId
from contracts.tools.repocontext import Pacing
from services.kernel import logs
from services.kernel.bus import FIRST, MESSAGE_ID, Bus, Msg
from services.kernel.publisher import PubAck
from services.kernel.settings import Settings
from services.query.access import Caller
from services.query.codemap.maps import CodeMaps
from services.query.foreground import Foreground, Paces
from services.query.ledger import Ledger
from services.query.notebook.books import NoteBooks
from services.query.retrieval import Retrieval
from services.query.sessions import Sessions
from store.read.live import Projections, Snapshot
from store.rows import Positions

log = logs.get(__name__)
_REPLY_S = 30.0
_ASK_AGAIN_S = 1.0  # after a reconnect: whoever answers may not be back yet
_LISTEN_ON_S = 60.0  # for further answers to what was asked for again
_FOLD_S = 10.0
_decode_reply = msgspec.msgpack.Decoder(CommandReply).decode
_decode_note_reply = msgspec.msgpack.Decoder(NoteReply).decode
_decode_notice = msgspec.msgpack.Decoder(FoldedNotice).decode
_encode = msgspec.msgpack.Encoder().encode
RepoCommand = AddRepo | RemoveRepo | ResetIndex


class _Asked(msgspec.Struct, eq=False):
    """A command whose answer is waited for."""

    subject: str
    envelope: Envelope[RepoCommand | AnyNoteCommand | AnyMapCommand]
    answer: asyncio.Future[bytes]
    stored: asyncio.Future[PubAck]
    since: float  # monotonic
    again: int = 0  # times


class Host:
    """Everything that outlives a call."""

    def __init__(self, settings: Settings, bus: Bus | None, version: str) -> None:
        self.settings = settings
        self.version = version
        self.started_at = time.monotonic()
        self.projections = Projections(settings.projections)
        self.retrieval = Retrieval(settings, self.projections)
        self.notebooks = NoteBooks(self.projections)
        self.sessions = Sessions(lambda: self._bus)
        self.ledger = Ledger()
        self.maps = CodeMaps(self.projections, settings.state)
        self._bus = bus
        self.folded = asyncio.Event()  # set, and replaced, whenever the projection moved on
        self._position = Positions()
        self.paces = Paces()
        self.foreground = Foreground(self._tell_workers)
        self.retrieval.asked = self.foreground.request
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asking: set[_Asked] = set()  # what may be asked for again
        self._telling: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Follow the projector's notices and the workers' pace."""
        self._loop = asyncio.get_running_loop()
        if self._bus is not None:
            await self._bus.subscribe(subjects.folded(self.settings.node), self._on_folded)
            await self._bus.subscribe(subjects.pace(), self._on_pace)
            self._bus.when_reconnected(self._on_returned)

    async def _on_pace(self, message: Msg) -> None:
        self.paces.told(message.data)

    def _tell_workers(self, requests: int) -> None:
        """Have workers give way to questions. From any thread."""
        if self._loop is not None and self.settings.pacing:
            self._loop.call_soon_threadsafe(self._send_foreground, requests)

    def _send_foreground(self, requests: int) -> None:
        if self._bus is None or not self._bus.started:
            return
        notice = _encode(ForegroundNotice(requests=requests))
        self._send(self._bus.publish(subjects.foreground(self.settings.node), notice))

    def _send(self, sending: Awaitable[object]) -> None:
        task = asyncio.get_running_loop().create_task(_quietly(sending))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    def _on_returned(self) -> None:
        """Ask again for the answers that may have been lost with the connection."""
        lost = list(self._asking)

        def again() -> None:
            for asked in lost:
                self._send(self._ask_again(asked))

        if lost:
            asyncio.get_running_loop().call_later(_ASK_AGAIN_S, again)

    async def _ask_again(self, asked: _Asked) -> None:
        """Store a command once more, as one that may have been carried out.

        Whoever takes it looks for what came of it, as after any other second delivery.
        """
        first = await asyncio.shield(asked.stored)
        if asked.answer.done():
            return
        asked.again += 1
        ago_ms = round((time.monotonic() - asked.since) * 1000)
        headers = {
            MESSAGE_ID: f"{asked.envelope.id}/{asked.again}",
            FIRST: f"{first.seq}/{ago_ms}",
        }
        log.info("asked_again", command=type(asked.envelope.event).__name__)
        await (await self.bus.put(asked.subject, encode(asked.envelope), headers=headers))

    async def stop(self) -> None:
        self.retrieval.close()
        self.maps.close()
        self.notebooks.close()
        self.projections.close()
        if self._bus is not None:
            await self._bus.stop()

    async def _on_folded(self, message: Msg) -> None:
        notice = _decode_notice(message.data)
        self._position = Positions(notice.log, notice.index)
        self.foreground.indexing()
        self.retrieval.release()
        self.notebooks.sweep()
        self.maps.rest()
        told, self.folded = self.folded, asyncio.Event()
        told.set()

    @property
    def offline(self) -> bool:
        """Whether there is no node: what is indexed is all there will be."""
        return self._bus is None

    @property
    def bus(self) -> Bus:
        """The connection to the node; raises Unavailable when there is none."""
        if self._bus is None or not self._bus.started:
            raise Unavailable("no node is running", hint="start it with `repofold up PATH`")
        return self._bus

    @contextmanager
    def read(self) -> Iterator[Snapshot]:
        """A snapshot. Before anything was folded: Unavailable of a node that starts, else NotFound."""
        try:
            reading = self.projections.read()
            snapshot = reading.__enter__()
        except NotFound:
            if self._bus is None:
                raise
            raise Unavailable("the node is starting", hint="ask again in a moment") from None
        try:
            yield snapshot
        finally:
            reading.__exit__(None, None, None)

    async def command(self, repo_id: str, command: RepoCommand) -> CommandReply:
        """Send a registry command, wait for its fact and for this node to have folded it.

        Raises the fault that the registry answered, or Unavailable when nobody answers.
        """
        try:
            raw = await self.ask(
                subjects.repo_command(repo_id), repo_id, command, _REPLY_S, repeatable=True
            )
        except TimeoutError:
            raise Unavailable(
                "the registry did not answer; the command is stored and will be carried out",
                hint="look again with repocontext_index_status",
            ) from None
        reply = _decode_reply(raw)
        if not reply.ok:
            raise named(reply.code)(reply.message, hint=reply.hint)
        await self.wait_for(reply.log_sequence, reply.index_sequence)
        return reply

    async def note_command(self, command: AnyNoteCommand, *, wait_s: float = 0.0) -> NoteReply:
        """Send a command on memory, wait for its fact and for this node to have folded it.

        `wait_s` is how long the command itself may wait, as a claim in a queue does. Raises the
        refusal as the fault it names (a refusal by a claim: Conflict whose reason is the fence's),
        or Unavailable when nobody answers.
        """
        subject = subjects.note_command(command.repo_id)
        try:
            raw = await self.ask(
                subject, command.repo_id, command, _REPLY_S + wait_s, repeatable=True
            )
        except TimeoutError:
            raise Unavailable(
                "the memory worker did not answer; the command is stored and will be carried out",
                hint="read the record before trying again; `repofold doctor` tells what is wrong",
            ) from None
        reply = _decode_note_reply(raw)
        if not reply.ok:
            reason = {"reason": reply.fence or reply.reason or reply.code.lower()}
            raise named(reply.code)(reply.message, hint=reply.hint, **reason)
        await self.wait_for(reply.log_sequence, 0)
        return reply

    async def ask(
        self,
        subject: str,
        repo_id: str,
        command: RepoCommand | AnyNoteCommand | AnyMapCommand,
        seconds: float,
        *,
        repeatable: bool = False,
    ) -> bytes:
        """Store a command and return its answer; raises TimeoutError when none comes.

        A `repeatable` one is stored again when its answer may have been lost with the broker:
        whoever carries it out finds out that it was.
        """
        bus = self.bus
        inbox = bus.inbox()
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def arrived(message: Msg) -> None:
            if not answer.done():
                answer.set_result(message.data)

        # One subscription a command: once nobody listens any more, whoever answers learns of it.
        subscription = await bus.subscribe(inbox, arrived)
        asked: _Asked | None = None
        try:
            envelope = Envelope(
                id=new_id(),
                repo=RepoId(repo_id),
                at_ms=now_ms(),
                producer="query",
                reply_to=inbox,
                event=command,
            )
            since = time.monotonic()
            stored = await bus.put(subject, encode(envelope), message_id=envelope.id)
            # The answer tells as well that the command was stored; only a failure is told before.
            stored.add_done_callback(lambda done: _fail_too(answer, done))
            asked = _Asked(subject, envelope, answer, stored, since)
            if repeatable:
                self._asking.add(asked)
            try:
                return await asyncio.wait_for(answer, seconds)
            finally:
                self._asking.discard(asked)
        finally:
            if asked is not None and asked.again and not answer.cancelled():
                # Several may answer. Who finds that nobody listens gives back what was granted.
                asyncio.get_running_loop().call_later(
                    _LISTEN_ON_S, lambda: self._send(subscription.unsubscribe())
                )
            else:
                await subscription.unsubscribe()

    async def wait_for(self, log_sequence: int, index_sequence: int) -> bool:
        """Wait, at most ten seconds, until the projection has reached these positions."""
        deadline = time.monotonic() + _FOLD_S
        while not self._reached(log_sequence, index_sequence):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            folded = self.folded
            try:
                await asyncio.wait_for(folded.wait(), min(left, 0.5))
            except TimeoutError:
                continue
        return True

    def _reached(self, log_sequence: int, index_sequence: int) -> bool:
        try:
            with self.read() as snapshot:
                here = snapshot.positions()
        except (NotFound, Unavailable):
            return False
        return here.log >= log_sequence and here.index >= index_sequence

    def pacing(self) -> Pacing:
        """How far indexing holds itself back at this moment."""
        return self.paces.reading(enabled=self.settings.pacing, requests=self.foreground.requests)

    def ready(self) -> tuple[bool, str]:
        """Whether questions can be answered, and why not."""
        try:
            with self.read() as snapshot:
                snapshot.positions()
        except Fault as fault:
            return False, fault.message
        return True, "serving"


async def _quietly(sending: Awaitable[object]) -> None:
    """Workers that are not told go on as they were, and who asks goes on waiting."""
    with suppress(NatsError, Fault):
        await sending


def _fail_too(answer: asyncio.Future[bytes], stored: asyncio.Future[PubAck]) -> None:
    error = None if stored.cancelled() else stored.exception()
    if error is not None and not answer.done():
        answer.set_exception(error)


class View:
    """The host as one caller sees it."""

    def __init__(self, host: Host, caller: Caller) -> None:
        self.host = host
        self.caller = caller

    @property
    def settings(self) -> Settings:
        return self.host.settings

    @contextmanager
    def read(self) -> Iterator[Snapshot]:
        with self.host.read() as snapshot:
            yield snapshot
