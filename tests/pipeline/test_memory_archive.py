"""Memory outlives its broker: exports, imports, the archive directory."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path

import pytest

from contracts.errors import Unavailable
from contracts.events.memory import AddFact, FactsPatch
from ops.cli import main
from store import archive
from tests.broker import Broker, running
from tests.pipeline.memory_node import REPO, MemoryNode, memory_node, token_of

pytestmark = [pytest.mark.anyio, pytest.mark.broker]


async def fill(node: MemoryNode) -> None:
    """Notes, a number, a claimed one, and tokens of one that is gone."""
    await node.remember("1", title="kept", body="text")
    await node.remember("gone")
    for _ in range(2):
        await node.release("gone", token_of(await node.claim("gone")))
    await node.forget("gone")
    await node.claim("1", "holder", lease_s=100)
    await node.host.note_command(
        AddFact(repo_id=REPO, patch=FactsPatch(content="a fact"), principal="test")
    )


async def check_restored(node: MemoryNode) -> None:
    entry = await node.call("repocontext_recall", key="repo/demo/mem/t/1")
    assert (entry.exists, entry.fields["title"]) == (True, "kept")
    status = await node.call("repocontext_claim_status", key="repo/demo/mem/t/1")
    assert (status.owner, status.fencing_token, status.claimed) == ("holder", 1, True)
    await node.remember("gone")
    assert token_of(await node.claim("gone")) == 3
    added = await node.host.note_command(
        AddFact(repo_id=REPO, patch=FactsPatch(content="another"), principal="test")
    )
    assert added.note is not None
    assert added.note.id == "2"


async def test_a_graceful_stop_leaves_an_archive_that_fills_an_empty_log(
    broker: Broker, tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    async with memory_node(broker, memory_archive_dir=str(folder)) as node:
        await fill(node)
    assert archive.newest(folder) == folder / archive.CURRENT

    fresh = tmp_path / "fresh"
    fresh.mkdir()
    with running(fresh) as other:
        async with memory_node(other, memory_archive_dir=str(folder)) as node:
            await restored(node)
            await check_restored(node)
    heading = archive.heading_of(folder / archive.CURRENT)
    assert heading is not None
    assert heading.notes == 4


async def restored(node: MemoryNode, item: str = "1") -> None:
    """Wait until the note is there."""
    while True:
        with contextlib.suppress(Unavailable):  # nothing is folded yet
            entry = await node.call("repocontext_recall", key=f"repo/demo/mem/t/{item}")
            if entry.exists:
                return
        await asyncio.sleep(0.02)


async def test_without_restoring_the_archive_is_not_overwritten_by_nothing(
    broker: Broker, tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    async with memory_node(broker) as node:
        await fill(node)
        exported = folder / archive.CURRENT
        assert await command("memory", "export", str(exported), "--state", node.settings.state_dir) == 0  # fmt: skip
    kept = exported.read_bytes()

    fresh = tmp_path / "fresh"
    fresh.mkdir()
    off = {"memory_archive_dir": str(folder), "memory_archive_restore": "off"}
    with running(fresh) as other:
        async with memory_node(other, **off) as node:
            topics = await node.call("repocontext_list_topics", repoId="demo")
            assert topics.topics == ()

    assert exported.read_bytes() == kept


async def test_an_import_on_the_command_line_can_be_repeated(
    broker: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "export.jsonl"
    async with memory_node(broker) as node:
        await fill(node)
        assert await command("memory", "export", str(file), "--state", node.settings.state_dir) == 0
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    with running(fresh) as other:
        async with memory_node(other) as node:
            told = []
            for _ in range(2):
                capsys.readouterr()
                place = ["--nats", other.url, "--state", node.settings.state_dir]
                assert await command("memory", "import", str(file), *place, "--json") == 0
                told.append(json.loads(capsys.readouterr().out))
            assert [(one["imported"], one["kept"]) for one in told] == [(2, 1), (0, 3)]
            await check_restored(node)


async def command(*arguments: str) -> int:
    """One command line, in a thread of its own as it runs a loop of its own."""
    with contextlib.suppress(SystemExit):
        return await asyncio.to_thread(main, arguments)
    return 2
