"""What was a caller's session given so far, and how is that kept?

The newest `SessionDelivered` of a session on INDEX is the truth; every node folds it. The process
that delivers keeps its own newest view, so that the next call need not wait for the fold, and
appends conditionally: when another process delivered to the same session meanwhile, both deliveries
are joined. State that is lost (a broker that does not answer, a process killed before the append)
costs a second delivery of the same text, nothing else.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec
from msgspec import Struct

from contracts import subjects
from contracts.envelope import Envelope, encode, now_ms, starting
from contracts.errors import Conflict, Fault
from contracts.events.index import Possession, SessionDelivered
from contracts.ids import RepoId
from services.kernel import logs
from services.kernel.bus import EXPECTED, Bus
from store.read.live import Snapshot
from store.read.sessions import session_row

TTL_MS = 6 * 3600 * 1000  # from the last delivery
RECEIPTS_MOST, POSSESSIONS_MOST = 2_000, 1_000  # of a session; the oldest are dropped first
_VIEWS = 1_000  # sessions this process remembers itself
_TRIES = 20
_PATIENCE_S = 3.0
_MESSAGE_BYTES = 512 << 10

log = logs.get(__name__)
T = TypeVar("T")
_decode = msgspec.msgpack.Decoder(Envelope[SessionDelivered]).decode


class SessionState(Struct, frozen=True):
    """What a session holds, oldest first."""

    receipts: tuple[str, ...] = ()
    possessions: tuple[Possession, ...] = ()
    expires_ms: int = 0

    def joined(self, other: SessionState) -> SessionState:
        """Both deliveries; within the caps, what `other` adds counts as newer."""
        return SessionState(
            _united(self.receipts, other.receipts, RECEIPTS_MOST),
            _united(self.possessions, other.possessions, POSSESSIONS_MOST),
            max(self.expires_ms, other.expires_ms),
        )


NOTHING = SessionState()


class _View(Struct):
    """The newest state this process knows, and where the stream stood."""

    generation: int
    state: SessionState
    sequence: int = 0  # of the subject's newest message; 0: not known


class Sessions:
    """The sessions of one process. Used from the event loop only."""

    def __init__(self, bus: Callable[[], Bus | None], clock: Callable[[], int] = now_ms) -> None:
        """`clock` tells Unix milliseconds."""
        self._bus = bus
        self._clock = clock
        self._views: OrderedDict[tuple[str, str], _View] = OrderedDict()

    def now_ms(self) -> int:
        return self._clock()

    def state(self, snapshot: Snapshot, repo_id: str, session: str) -> SessionState:
        """What the session holds now; nothing when it expired or was never given anything."""
        repo = snapshot.repo(repo_id)
        if repo is None:
            return NOTHING
        row = session_row(snapshot, repo_id, session)
        folded = NOTHING
        if row is not None and row.session == session:
            folded = self._live(SessionState(row.receipts, row.possessions, row.expires_ms))
        view = self._views.get((repo_id, session))
        if view is None or view.generation != repo.index_generation:
            return folded
        return folded.joined(self._live(view.state))

    def _live(self, state: SessionState) -> SessionState:
        return state if state.expires_ms > self._clock() else NOTHING

    async def deliver(
        self,
        repo_id: str,
        session: str,
        generation: int,
        receipts: Iterable[str],
        possessions: Iterable[Possession],
    ) -> None:
        """Add a delivery to the session and renew its time. Never raises: the answer is made."""
        given = SessionState(tuple(receipts), tuple(possessions), self._clock() + TTL_MS)
        view = self._own_view(repo_id, session, generation)
        view.state = view.state.joined(given)
        bus = self._bus()
        if bus is None or not bus.started or not bus.connected:
            return  # the next delivery tells of this one as well
        try:
            await asyncio.wait_for(self._append(bus, repo_id, session, view), _PATIENCE_S)
        except (TimeoutError, Fault) as fault:
            log.warning("session_not_stored", error=type(fault).__name__)

    def _own_view(self, repo_id: str, session: str, generation: int) -> _View:
        key = (repo_id, session)
        view = self._views.get(key)
        if view is None or view.generation != generation:
            view = self._views[key] = _View(generation, NOTHING)
        view.state = self._live(view.state)
        self._views.move_to_end(key)
        while len(self._views) > _VIEWS:
            self._views.popitem(last=False)
        return view

    async def _append(self, bus: Bus, repo_id: str, session: str, view: _View) -> None:
        """Append the view over what the stream holds, joined with it."""
        subject = subjects.session(repo_id, session)
        if not view.sequence:
            await self._catch_up(bus, subject, view)
        for _ in range(_TRIES):
            headers = {EXPECTED: str(view.sequence)}
            try:
                stored = await (
                    await bus.put(subject, _told(repo_id, session, view), headers=headers)
                )
            except Conflict:
                await self._catch_up(bus, subject, view)
                continue
            view.sequence = max(view.sequence, stored.seq)
            return
        raise Conflict("other processes keep delivering to the session")

    async def _catch_up(self, bus: Bus, subject: str, view: _View) -> None:
        found = await bus.last_message(subject, subjects.INDEX)
        view.sequence = 0
        if found is None:
            return
        view.sequence, _, data = found
        envelope = _decode(data)
        event = envelope.event
        if envelope.generation == view.generation:
            stored = SessionState(event.receipts, event.possessions, event.expires_ms)
            view.state = self._live(stored).joined(view.state)


def _told(repo_id: str, session: str, view: _View) -> bytes:
    """The message that tells of a view; paths of any length must not make it too large to send."""
    state = view.state
    while True:
        event = SessionDelivered(
            session=session,
            receipts=state.receipts,
            possessions=state.possessions,
            expires_ms=state.expires_ms,
        )
        envelope = starting("query", event, repo=RepoId(repo_id), generation=view.generation)
        message = encode(envelope)
        if len(message) <= _MESSAGE_BYTES or not state.possessions:
            return message
        newer = state.possessions[(len(state.possessions) + 1) // 2 :]
        state = msgspec.structs.replace(state, possessions=newer)


def _united(older: tuple[T, ...], newer: tuple[T, ...], most: int) -> tuple[T, ...]:
    """Each once, at its newest place; the last `most`."""
    last = dict.fromkeys(reversed((*older, *newer)))
    return tuple(reversed(list(last)[:most]))
