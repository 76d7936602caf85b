"""What memory does with files: syncing the log's, and exports."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from contracts.errors import Conflict, InvalidArgument, NotFound
from contracts.ids import RepoId
from contracts.notes import Claim, Facts, Link, Note
from services.kernel.settings import Settings
from services.memory.disk import LogDisk
from store import archive

pytestmark = pytest.mark.anyio
NOTES = [
    Note(
        repo_id=RepoId("demo"), topic="a/b", id="1", kind="Decision", title="T", body="text\nmore", author="me",
        tags=("x",), links=(Link("see", "repo/demo/file/a.py", "xx128:1"),), created_ms=5, updated_ms=6,
        claim=Claim(issued=3, fence=3, owner="a", region="local", held=True),
    ),
    Note(repo_id=RepoId("demo"), topic="machine-memory", id="7", kind="Memory", facts=Facts(number=7)),
    Note(repo_id=RepoId("demo"), topic="t", id="gone", exists=False, claim=Claim(issued=4)),
]  # fmt: skip


async def test_the_newest_block_is_synced_once_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "nats" / "jetstream" / "$G" / "streams" / "LOG" / "msgs"
    folder.mkdir(parents=True)
    for name in ("1.blk", "2.blk", "index.db", "10.blk"):
        (folder / name).write_bytes(b"x")
    synced: list[str] = []

    def fdatasync(descriptor: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)

    monkeypatch.setattr(os, "fdatasync", fdatasync)
    monkeypatch.setattr(os, "fsync", fdatasync)
    users = str(tmp_path / "nats" / "users.json")
    disk = LogDisk.of(Settings(state_dir=str(tmp_path), nats_users_file=users))

    await disk.sync()
    assert synced == ["1.blk", "2.blk", "10.blk", "msgs"]
    synced.clear()
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(disk.sync)
    assert set(synced) == {"10.blk"}
    (folder / "11.blk").write_bytes(b"x")
    synced.clear()
    await disk.sync()
    assert synced == ["10.blk", "11.blk", "msgs"]


async def test_a_foreign_brokers_files_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "nats" / "jetstream" / "$G" / "streams" / "LOG" / "msgs"
    folder.mkdir(parents=True)
    (folder / "1.blk").write_bytes(b"x")
    disk = LogDisk.of(Settings(state_dir=str(tmp_path), nats_url="nats://elsewhere"))

    await disk.sync()

    assert disk.syncs == 0


async def test_an_export_is_read_back_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"
    archive.write(file, archive.text_of(NOTES, log=9, now_ms=100))

    assert list(archive.read(file)) == NOTES
    heading = archive.heading_of(file)
    assert heading is not None
    assert (heading.log, heading.notes) == (9, 2)


async def test_an_export_without_notes_does_not_replace_one_that_has_some(tmp_path: Path) -> None:
    file, previous = tmp_path / archive.CURRENT, tmp_path / archive.PREVIOUS
    archive.write(file, archive.text_of([], log=1, now_ms=100), previous=previous)
    archive.write(file, archive.text_of(NOTES, log=2, now_ms=100), previous=previous)
    text = archive.text_of(NOTES[2:], log=3, now_ms=100)

    with pytest.raises(Conflict):
        archive.write(file, text, previous=previous)

    assert len(list(archive.read(file))) == 3
    assert list(archive.read(previous)) == []
    assert {path.name for path in tmp_path.iterdir()} == {archive.CURRENT, archive.PREVIOUS}
    file.unlink()  # a crash between the two renames
    assert archive.newest(tmp_path) == previous


async def test_what_is_no_export_is_refused_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"
    with pytest.raises(NotFound):
        list(archive.read(file))
    file.write_bytes(archive.text_of(NOTES, log=1, now_ms=1) + b'{"repo_id": 1}\n')
    with pytest.raises(InvalidArgument, match="line 5"):
        list(archive.read(file))
    file.write_text('{"repofold": "memory", "version": 99, "log": 1, "at_ms": 1, "notes": 1}\n')
    with pytest.raises(InvalidArgument, match="version 99"):
        list(archive.read(file))


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "x" * 201},
        {"topic": "a\0b"},
        {"expires_ms": 10**18},
        {"created_ms": -1},
        {"claim": Claim(issued=2**63)},
        {"links": (Link("see", "nokey"),)},
        {"body": "x" * 400_001},
        {"facts": Facts(number=1)},
        {"topic": "machine-memory"},
        {"topic": "machine-memory", "facts": Facts(number=2)},
        {"topic": "machine-memory", "id": str(2**63), "facts": Facts(number=2**63)},
        {"topic": "machine-memory", "facts": Facts(number=1, status="gone")},
        {"topic": "machine-memory", "facts": Facts(number=1, superseded_by=0)},
    ],
)
def test_a_line_that_holds_no_note_is_refused_or_left_out(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    wrong = msgspec.structs.replace(Note(repo_id=RepoId("demo"), topic="t", id="1"), **changes)
    path = tmp_path / "export.jsonl"
    archive.write(path, archive.text_of([NOTES[0], wrong, NOTES[1]], log=9, now_ms=1))

    with pytest.raises(InvalidArgument, match="line 3 holds no note"):
        list(archive.read(path))
    flawed: list[str] = []
    assert list(archive.read(path, flawed)) == [NOTES[0], NOTES[1]]
    assert len(flawed) == 1
