"""Notes, and what was written over records, folded without a broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from contracts.events.log import RepoRemoved
from contracts.events.memory import NoteRecorded, NumbersTaken
from contracts.events.patches import FieldPatch, RecordPatched
from contracts.ids import RepoId
from contracts.notes import Claim, Note
from store import keys
from store.digest import digest_of
from store.env import Env
from store.fold import Folder, open_writable
from store.read.live import Snapshot
from store.read.notes import live_note, live_notes, note, rows
from tests import facts

NOTE = Note(repo_id=facts.REPO, topic="t", id="1", body="text", created_ms=1, updated_ms=1)


@pytest.fixture
def env(tmp_path: Path) -> Iterator[Env]:
    opened = open_writable(tmp_path / "env")
    yield opened
    opened.close()


def recorded(generation: int = 0, **changes: object) -> bytes:
    event = NoteRecorded(change="merged", note=replace(NOTE, **changes), principal="p")
    return facts.wrap(event, generation=generation, repo=event.note.repo_id)


def removed(generation: int) -> bytes:
    event = RepoRemoved(repo_id=facts.REPO, index_generation=generation, memory_generation=generation)  # fmt: skip
    return facts.wrap(event, generation=generation)


def patched(generation: int = 1) -> bytes:
    event = RecordPatched(
        repo_id=facts.REPO, family="file", name="a.py", fields=(FieldPatch("language", "x", 5),)
    )
    return facts.wrap(event, generation=generation)


def fold(env: Env, *log: bytes) -> None:
    Folder(env).fold(facts.messages(*log), [], log_complete=False)


def bodies(env: Env, now_ms: int = 10) -> list[str]:
    with env.read() as txn:
        return [found.body for _, found in live_notes(Snapshot(txn), facts.REPO, now_ms)]


def test_the_newest_fact_of_a_note_is_the_note(env: Env) -> None:
    taken = facts.wrap(NumbersTaken(upto=3), repo="")
    fold(env, recorded(body="a"), taken, recorded(body="b", claim=Claim(issued=2, fence=2)))

    with env.read() as txn:
        found = note(Snapshot(txn), facts.REPO, "t", "1")
        order = list(txn.keys("note_order", keys.repo(facts.REPO)))
    assert found is not None
    assert (found.body, found.claim.fence) == ("b", 2)
    assert len(order) == 1


def test_deleted_and_lapsed_notes_are_kept_and_not_shown(env: Env) -> None:
    fold(env, recorded(exists=False), recorded(id="2", expires_ms=10), recorded(id="3", body="c"))

    assert bodies(env, 10) == ["c"]
    assert bodies(env, 9) == ["text", "c"]
    with env.read() as txn:
        assert live_note(Snapshot(txn), facts.REPO, "t", "2", 10) is None
        assert len(list(rows(Snapshot(txn)))) == 3


def test_a_removal_voids_notes_of_repositories_that_were_never_registered(env: Env) -> None:
    fold(env, recorded(), removed(1), recorded(id="late"), recorded(1, id="new", body="n"))

    assert bodies(env) == ["n"]
    with env.read() as txn:
        row = Snapshot(txn).repo(facts.REPO)
    assert row is not None
    assert (row.state, row.memory_generation) == ("removed", 1)


def test_a_patch_is_void_after_a_reset(env: Env) -> None:
    def patches() -> int:
        with env.read() as txn:
            return txn.count("patches")

    fold(env, facts.registered(), patched())
    assert patches() == 1
    Folder(env).fold(facts.messages(facts.reset(2), patched(1), start=3), [], log_complete=False)
    assert patches() == 0
    other = facts.wrap(RecordPatched(repo_id=RepoId("none"), family="file", name="a"), repo="none")
    Folder(env).fold(facts.messages(other, start=5), [], log_complete=False)
    assert patches() == 0


def test_the_digest_depends_on_notes_and_on_nothing_but_them(tmp_path: Path) -> None:
    lines = []
    for number, log in enumerate(
        (
            [recorded(body="a"), recorded(body="b")],
            [recorded(body="b")],
            [recorded(body="c")],
            [],
        )
    ):
        made = open_writable(tmp_path / str(number))
        fold(made, *log)
        with made.read() as txn:
            lines.append(digest_of(txn))
        made.close()

    assert lines[0] == lines[1]
    assert len(set(lines)) == 3
    assert lines[0].endswith("notes=1")
    assert "notes" not in lines[3]
