"""What does the query service hold between calls?

One `Host` per process: the projections, the bus (absent when there is no node, as for the command
line on a stopped one), the retrieval state of each repository. A `View` is the host as one caller
sees it; tool bodies get nothing else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from contracts import subjects
from contracts.envelope import Envelope, encode, new_id, now_ms
from contracts.errors import Fault, NotFound, Unavailable
from contracts.events.commands import AddRepo, CommandReply, RemoveRepo, ResetIndex
from contracts.events.progress import FoldedNotice
from contracts.ids import RepoId
from services.kernel import logs
from services.kernel.bus import Bus, Msg
from services.kernel.settings import Settings
from services.query.access import Caller
from services.query.retrieval import Retrieval
from store.read.live import Projections, Snapshot
from store.rows import Positions

log = logs.get(__name__)
_REPLY_S = 30.0
_FOLD_S = 10.0
_decode_reply = msgspec.msgpack.Decoder(CommandReply).decode
_decode_notice = msgspec.msgpack.Decoder(FoldedNotice).decode
RepoCommand = AddRepo | RemoveRepo | ResetIndex


class Host:
    """Everything that outlives a call."""

    def __init__(self, settings: Settings, bus: Bus | None, version: str) -> None:
        self.settings = settings
        self.version = version
        self.started_at = time.monotonic()
        self.projections = Projections(settings.projections)
        self.retrieval = Retrieval(settings, self.projections)
        self._bus = bus
        self.folded = asyncio.Event()  # set, and replaced, whenever the projection moved on
        self._position = Positions()

    async def start(self) -> None:
        """Follow the projector's notices."""
        if self._bus is not None:
            await self._bus.subscribe(subjects.folded(self.settings.node), self._on_folded)

    async def stop(self) -> None:
        self.retrieval.close()
        self.projections.close()
        if self._bus is not None:
            await self._bus.stop()

    async def _on_folded(self, message: Msg) -> None:
        notice = _decode_notice(message.data)
        self._position = Positions(notice.log, notice.index)
        self.retrieval.release()
        told, self.folded = self.folded, asyncio.Event()
        told.set()

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
        bus = self.bus
        inbox = bus.inbox()
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def arrived(message: Msg) -> None:
            if not answer.done():
                answer.set_result(message.data)

        subscription = await bus.subscribe(inbox, arrived)
        try:
            envelope = Envelope(
                id=new_id(),
                repo=RepoId(repo_id),
                at_ms=now_ms(),
                producer="query",
                reply_to=inbox,
                event=command,
            )
            stored = await bus.put(
                subjects.repo_command(repo_id), encode(envelope), message_id=envelope.id
            )
            await stored
            reply = _decode_reply(await asyncio.wait_for(answer, _REPLY_S))
        except TimeoutError:
            raise Unavailable(
                "the registry did not answer; the command is stored and will be carried out",
                hint="look again with repocontext_index_status",
            ) from None
        finally:
            await subscription.unsubscribe()
        if not reply.ok:
            fault = Fault(reply.message, hint=reply.hint)
            fault.code = reply.code
            raise fault
        await self.wait_for(reply.log_sequence, reply.index_sequence)
        return reply

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

    def ready(self) -> tuple[bool, str]:
        """Whether questions can be answered, and why not."""
        try:
            with self.read() as snapshot:
                snapshot.positions()
        except Fault as fault:
            return False, fault.message
        return True, "serving"


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
