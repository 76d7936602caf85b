"""When does the projector let messages come together before it commits?"""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

from services.kernel.reader import Entry
from services.projector import fold_loop
from services.projector.fold_loop import FoldLoop
from store.fold import Folded, Message
from store.rows import Positions

pytestmark = pytest.mark.anyio


class Folding:
    """A folder that says it folded so many files of each batch."""

    def __init__(self, files: int) -> None:
        self.positions = Positions(1, 1)
        self._files = files

    def fold(self, log: list[Message], index: list[Message], *, log_complete: bool) -> Folded:
        return Folded(self.positions, len(index), (), self._files, 0)


def loop_of(files: int) -> Any:
    bus = SimpleNamespace(when_reconnected=lambda call: None)
    found: Any = FoldLoop(bus, Folding(files))  # type: ignore[arg-type]
    found._suspicious = False
    for reader in (found._log, found._index):
        reader._broken = False
        reader._requested = 10_000  # nothing is asked of a broker
        reader._heard = time.monotonic()
    return found


def arrived(reader: Any, messages: int) -> None:
    for number in range(messages):
        reader._buffer.append(Entry(number + 2, "s", b"x"))
        reader._bytes += 1


async def quietly(_: Folded) -> None:
    return


async def test_after_a_large_commit_the_next_messages_are_gathered() -> None:
    loop = loop_of(files=100)
    arrived(loop._index, 100)
    await loop._fold_buffered(quietly)

    assert loop._gather_until > 0.0
    loop._gather_until = ends = time.monotonic() + 0.05
    arrived(loop._index, 1)
    await loop._gather()

    assert time.monotonic() >= ends


async def test_after_an_edit_nothing_waits() -> None:
    loop = loop_of(files=2)
    arrived(loop._index, 2)
    await loop._fold_buffered(quietly)

    assert loop._gather_until == 0.0


@pytest.mark.parametrize("what", ["a fact", "a whole batch", "a silence", "a stop"])
async def test_the_pause_ends_for(what: str) -> None:
    loop = loop_of(files=100)
    loop._gather_until = time.monotonic() + 3600
    loop._index._heard = time.monotonic() + 3600
    if what == "a fact":
        arrived(loop._log, 1)
    elif what == "a whole batch":
        arrived(loop._index, fold_loop._BATCH)
    elif what == "a silence":
        loop._index._heard = 0.0
    else:
        loop.stop()

    async with asyncio.timeout(5):
        await loop._gather()
