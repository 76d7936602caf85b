"""Ten thousand claims by many clients of several query services and memory workers at once."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from contracts.events.memory import ClaimNote, NoteReply, ReleaseClaim
from services.kernel.bus import Bus
from services.query.host import Host
from tests.broker import Broker
from tests.pipeline.memory_node import REPO, MemoryNode, memory_node, token_of

pytestmark = [pytest.mark.anyio, pytest.mark.broker]

ATTEMPTS, CLIENTS, RECORDS, SERVICES = 10_000, 80, 8, 3


class Field:
    """The records that clients race for, and who holds which."""

    def __init__(self) -> None:
        self.holders: Counter[str] = Counter()
        self.doubles = 0
        self.tokens: dict[str, list[int]] = {str(number): [] for number in range(RECORDS)}
        self.left = ATTEMPTS

    def took(self, item: str, token: int) -> None:
        self.holders[item] += 1
        self.doubles += self.holders[item] > 1
        self.tokens[item].append(token)

    def gave(self, item: str) -> None:
        self.holders[item] -= 1


async def attempt(host: Host, item: str, owner: str, wait_ms: int) -> NoteReply:
    command = ClaimNote(
        repo_id=REPO, topic="t", id=item, principal="test", owner=owner, lease_ms=120_000,
        wait_ms=wait_ms,
    )  # fmt: skip
    return await host.note_command(command, wait_s=wait_ms / 1000)


async def client(host: Host, field: Field, number: int) -> None:
    turn = number
    while field.left > 0:
        field.left -= 1
        turn += 1
        item = str(turn % RECORDS)
        patience = 2_000 if turn % 20 == 0 else 0
        token = token_of(await attempt(host, item, f"client {number}", patience))
        if not token:
            continue
        field.took(item, token)
        await asyncio.sleep(0)
        field.gave(item)
        release = ReleaseClaim(repo_id=REPO, topic="t", id=item, principal="test", token=token)
        assert (await host.note_command(release)).reason == ""


async def test_ten_thousand_claims_never_give_a_note_to_two(broker: Broker) -> None:
    async with memory_node(broker, memory_workers=3) as node:
        for number in range(RECORDS):
            await node.remember(str(number))
        hosts = [await another(node) for _ in range(SERVICES)]
        field = Field()

        await asyncio.gather(
            *(client(hosts[number % SERVICES], field, number) for number in range(CLIENTS))
        )

        for host in hosts:
            await host.stop()

    assert field.doubles == 0
    granted = sum(map(len, field.tokens.values()))
    assert granted > 500
    for tokens in field.tokens.values():
        assert tokens == sorted(set(tokens))


async def another(node: MemoryNode) -> Host:
    """A query service of its own."""
    bus = Bus(node.settings, "query")
    await bus.start()
    host = Host(node.settings, bus, "test")
    await host.start()
    return host
