"""kill -9 of the memory worker and of the broker while notes are written: what was answered is there,
once."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from contracts.errors import Fault
from contracts.events.memory import AddFact, FactsPatch
from ops.node.workers import command
from store.read.notes import rows
from tests.broker import Broker
from tests.pipeline.memory_node import REPO, MemoryNode, memory_node, token_of

pytestmark = [pytest.mark.slow, pytest.mark.broker, pytest.mark.anyio]

WRITERS = 6
CLAIMERS = 3
KILLS = ("memory", "broker", "memory", "both")
ANSWERS, GRANTS = 30, 5  # heard between two kills


class Worker:
    """A memory worker in a process of its own, started again after each kill."""

    def __init__(self, url: str, state: Path) -> None:
        self._line, environ = command(["work", "memory", "--nats", url, "--state", str(state)])
        self._environ = {**os.environ, **environ}
        self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._line, env=self._environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def start(self) -> None:
        self._process = self._started()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(30)


@contextmanager
def memory_process(url: str, state: Path) -> Iterator[Worker]:
    worker = Worker(url, state)
    try:
        yield worker
    finally:
        worker.stop()


class Writers:
    """Clients that write until they are told to stop, and what they were told."""

    def __init__(self, node: MemoryNode) -> None:
        self._node = node
        self.stopping = False
        self.sent: Counter[str] = Counter()
        self._heard = asyncio.Event()
        self.answered: dict[str, str] = {}  # content -> id
        self.tokens: list[int] = []
        self.behind: list[tuple[int, int]] = []  # a grant, and one heard of before it was asked for

    async def heard_more(self) -> None:
        """Wait until everything works again and is at work."""
        answers, grants = len(self.answered) + ANSWERS, len(self.tokens) + GRANTS
        while len(self.answered) < answers or len(self.tokens) < grants:
            self._heard.clear()
            await self._heard.wait()

    async def add(self, writer: int) -> None:
        while not self.stopping:
            content = f"{writer}-{self.sent[str(writer)]}"
            self.sent[str(writer)] += 1
            adding = AddFact(repo_id=REPO, patch=FactsPatch(content=content), principal="test")
            try:
                reply = await self._node.host.note_command(adding)
            except Fault:
                continue  # nobody answered in time: it may or may not have happened
            assert reply.note is not None
            self.answered[content] = reply.note.id
            self._heard.set()

    async def claim(self) -> None:
        while not self.stopping:
            newest = max(self.tokens, default=0)
            try:
                token = token_of(await self._node.claim("1", "a", lease_s=0.1, wait_s=5))
                if token:
                    self.tokens.append(token)
                    self._heard.set()
                    if token <= newest:
                        self.behind.append((token, newest))
                    await self._node.release("1", token)
            except Fault:
                continue


async def test_no_answered_write_is_lost_and_none_is_doubled(
    broker: Broker, tmp_path: Path
) -> None:
    async with memory_node(broker, memory_workers=0) as node:
        with memory_process(broker.url, tmp_path / "worker") as worker:
            await node.remember("1")
            writers = Writers(node)
            writing = [asyncio.create_task(writers.add(number)) for number in range(WRITERS)]
            writing += [asyncio.create_task(writers.claim()) for _ in range(CLAIMERS)]
            for victim in KILLS:
                await asyncio.wait_for(writers.heard_more(), 90)
                if victim != "broker":
                    worker.kill()
                if victim != "memory":
                    broker.kill()
                    await asyncio.to_thread(broker.start)
                if victim != "broker":
                    worker.start()
            await asyncio.wait_for(writers.heard_more(), 90)
            writers.stopping = True
            await asyncio.wait_for(asyncio.gather(*writing), 90)
        stored = contents(node)

    for content, number in writers.answered.items():
        assert stored[content] == [number], content
    assert all(len(numbers) == 1 for numbers in stored.values())
    # An answer may be on its way while a broker dies, and longer than the lease: grants to different
    # clients are not heard of in their order. What was asked for later is granted later all the same.
    assert len(set(writers.tokens)) == len(writers.tokens)
    assert writers.behind == []


def contents(node: MemoryNode) -> dict[str, list[str]]:
    """Ids of the live records by their content."""
    found: dict[str, list[str]] = {}
    with node.host.read() as snapshot:
        for row in rows(snapshot):
            if row.note.facts is not None:
                found.setdefault(row.note.body, []).append(row.note.id)
    return found
