"""Folding: one transaction, idempotent by content, order within a path is stream order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.source.digest import digest_of
from store import keys
from store.digest import digest_of as content_digest
from store.env import CorruptEnvironment, Env
from store.fold import Folder, open_writable
from store.read.live import Snapshot
from store.segments import SegmentView
from tests import facts


@pytest.fixture
def env(tmp_path: Path) -> Iterator[Env]:
    opened = open_writable(tmp_path / "env")
    yield opened
    opened.close()


def content(env: Env) -> str:
    with env.read() as txn:
        return content_digest(txn)


def live_paths(env: Env) -> list[str]:
    with env.read() as txn:
        return [row.path for row in Snapshot(txn).files(facts.REPO)]


def test_a_recorded_file_is_listed_with_its_text_symbols_and_terms(env: Env) -> None:
    log = facts.messages(facts.registered())
    index = facts.messages(facts.recorded("a.py", "def go(): pass", 10, names=("go",)))

    Folder(env).fold(log, index, log_complete=False)

    with env.read() as txn:
        snapshot = Snapshot(txn)
        row = snapshot.file(facts.REPO, "a.py")
        assert row is not None
        assert (row.sequence, row.symbols, row.chunks, row.embedded) == (1, 1, 1, False)
        assert snapshot.declaring(facts.REPO, "a.py.go") == [1]
        assert snapshot.body(facts.REPO, 1) is not None
        assert [view.file_count for view in snapshot.segment_views(facts.REPO)] == [1]
        repo = snapshot.repo(facts.REPO)
        assert repo is not None
        assert (repo.counters.files, repo.counters.wanted, repo.counters.embedded) == (1, 1, 0)


def test_the_same_messages_a_second_time_change_nothing(env: Env) -> None:
    log = facts.messages(facts.registered())
    index = facts.messages(
        facts.recorded("a.py", "one", 10),
        facts.vectors("a.py", 1),
        facts.recorded("b.py", "two", 11),
    )
    folder = Folder(env)
    folder.fold(log, index, log_complete=False)
    before = content(env)

    folder.fold(log, index, log_complete=False)

    assert content(env) == before


def test_a_replaced_file_leaves_no_trace_of_its_old_version(env: Env) -> None:
    folder = Folder(env)
    folder.fold(
        facts.messages(facts.registered()),
        facts.messages(facts.recorded("a.py", "old", 10, names=("old",))),
        log_complete=False,
    )

    folder.fold(
        [],
        facts.messages(facts.recorded("a.py", "new", 11, names=("new",)), start=2),
        log_complete=False,
    )

    with env.read() as txn:
        snapshot = Snapshot(txn)
        assert snapshot.declaring(facts.REPO, "a.py.old") == []
        assert snapshot.declaring(facts.REPO, "a.py.new") == [2]
        assert [txn.count(table) for table in ("bodies", "texts", "paths")] == [1, 1, 1]
        live = [int(view.live_files.sum()) for view in snapshot.segment_views(facts.REPO)]
        assert sum(live) == 1


def test_vectors_of_a_replaced_version_are_dropped(env: Env) -> None:
    folder = Folder(env)
    folder.fold(
        facts.messages(facts.registered()),
        facts.messages(facts.recorded("a.py", "one", 10), facts.recorded("a.py", "two", 11)),
        log_complete=False,
    )

    folder.fold([], facts.messages(facts.vectors("a.py", 1), start=3), log_complete=False)

    with env.read() as txn:
        row = Snapshot(txn).file(facts.REPO, "a.py")
        assert row is not None
        assert not row.embedded
        assert txn.count("vectors") == 0


def test_a_touch_moves_the_anchor_of_the_digest_it_names_only(env: Env) -> None:
    folder = Folder(env)
    folder.fold(
        facts.messages(facts.registered()),
        facts.messages(facts.recorded("a.py", "one", 10)),
        log_complete=False,
    )

    folder.fold(
        [],
        facts.messages(
            facts.anchored("a.py", "xx128:other", 900),
            facts.anchored("a.py", digest_of(b"one"), 500),
            start=2,
        ),
        log_complete=False,
    )

    with env.read() as txn:
        row = Snapshot(txn).file(facts.REPO, "a.py")
        assert row is not None
        assert row.anchor_ns == 500


def test_events_of_an_earlier_generation_do_not_bring_data_back(env: Env) -> None:
    folder = Folder(env)
    folder.fold(
        facts.messages(facts.registered()),
        facts.messages(facts.recorded("a.py", "one", 10)),
        log_complete=False,
    )
    folder.fold(facts.messages(facts.reset(2), start=2), [], log_complete=False)

    folder.fold([], facts.messages(facts.recorded("a.py", "late", 12), start=2), log_complete=False)

    assert live_paths(env) == []
    with env.read() as txn:
        assert [
            txn.count(table) for table in ("bodies", "texts", "symbols", "segments", "vectors")
        ] == [0] * 5


def test_an_event_of_a_generation_not_yet_heard_of_waits_for_the_log(env: Env) -> None:
    folder = Folder(env)
    folder.fold(facts.messages(facts.registered()), [], log_complete=False)
    early = facts.messages(facts.recorded("a.py", "one", 10, generation=2))

    held = folder.fold([], early, log_complete=False)
    assert held.index_applied == 0

    folder.fold(
        facts.messages(facts.reset(2), facts.registered(generation=2), start=2),
        early,
        log_complete=False,
    )
    assert live_paths(env) == ["a.py"]


def test_an_event_of_a_repository_the_whole_log_does_not_know_is_dropped(env: Env) -> None:
    folder = Folder(env)

    folded = folder.fold([], facts.messages(facts.recorded("a.py", "one", 10)), log_complete=True)

    assert folded.index_applied == 1
    assert folder.positions.index == 1
    assert live_paths(env) == []


def test_an_undecodable_message_is_counted_and_passed(env: Env) -> None:
    folder = Folder(env)

    folder.fold(
        facts.messages(facts.registered()),
        facts.messages(b"\xc1junk", facts.recorded("a.py", "one", 10)),
        log_complete=False,
    )

    assert folder.undecodable == 1
    assert live_paths(env) == ["a.py"]


def test_the_map_grows_while_folding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("store.env._FIRST_MAP", 1 << 18)
    env = open_writable(tmp_path / "small")
    body = " ".join(f"word{number}" for number in range(2_000))

    Folder(env).fold(
        facts.messages(facts.registered()),
        facts.messages(*(facts.recorded(f"f{n}.py", f"{body} {n}", 10 + n) for n in range(60))),
        log_complete=False,
    )

    assert len(live_paths(env)) == 60
    assert env.usage()["map_bytes"] > 1 << 18
    env.close()


def test_an_environment_of_another_format_is_refused(tmp_path: Path) -> None:
    env = open_writable(tmp_path / "env")
    with env.write() as txn:
        txn.put("meta", b"format", b"\x63")
    env.close()

    with pytest.raises(CorruptEnvironment):
        open_writable(tmp_path / "env")


def test_a_damaged_file_is_reported_as_corrupt(tmp_path: Path) -> None:
    env = open_writable(tmp_path / "env")
    env.close()
    (tmp_path / "env" / "data.mdb").write_bytes(b"\0" * 8192 + b"no database" * 1000)

    with pytest.raises(CorruptEnvironment):
        open_writable(tmp_path / "env")


def test_removing_a_repository_keeps_its_neighbours(env: Env) -> None:
    folder = Folder(env)
    folder.fold(
        facts.messages(facts.registered(), facts.registered("other")),
        facts.messages(
            facts.recorded("a.py", "one", 10), facts.recorded("b.py", "two", 11, repo="other")
        ),
        log_complete=False,
    )

    folder.fold(facts.messages(facts.removed_repo(2), start=3), [], log_complete=False)

    with env.read() as txn:
        snapshot = Snapshot(txn)
        assert [row.path for row in snapshot.files("other")] == ["b.py"]
        assert list(snapshot.files(facts.REPO)) == []
        repo = snapshot.repo(facts.REPO)
        assert repo is not None
        assert repo.state == "removed"


def test_segments_hold_exactly_the_live_files(env: Env) -> None:
    folder = Folder(env)
    folder.fold(facts.messages(facts.registered()), [], log_complete=False)
    sequence = 1
    for step in range(40):
        folder.fold(
            [],
            facts.messages(
                facts.recorded(f"f{step % 7}.py", f"text {step}", 10 + step), start=sequence
            ),
            log_complete=False,
        )
        sequence += 1

    with env.read() as txn:
        snapshot = Snapshot(txn)
        rows = sorted(row.sequence for row in snapshot.files(facts.REPO))
        views: list[SegmentView] = snapshot.segment_views(facts.REPO)
        held = sorted(int(s) for view in views for s in view.arrays.file_sequence[view.live_files])
        assert held == rows
        assert len(views) <= 12
        assert keys.repo(facts.REPO)


def test_registering_another_root_under_the_same_id_drops_what_was_indexed_of_the_old_one(
    env: Env,
) -> None:
    folder = Folder(env)
    folder.fold(
        facts.messages(facts.registered()),
        facts.messages(facts.recorded("a.py", "one", 10)),
        log_complete=False,
    )

    folder.fold(
        facts.messages(facts.registered(generation=2, root="/other"), start=2),
        [],
        log_complete=False,
    )

    assert live_paths(env) == []
    with env.read() as txn:
        repo = Snapshot(txn).repo(facts.REPO)
        assert repo is not None
        assert (repo.root, repo.counters.files) == ("/other", 0)


def test_what_a_reader_holds_stays_readable_when_its_environment_is_closed(tmp_path: Path) -> None:
    env = open_writable(tmp_path / "env")
    Folder(env).fold(
        facts.messages(facts.registered()),
        facts.messages(facts.recorded("a.py", "one", 10)),
        log_complete=False,
    )

    with env.read() as txn:
        row = txn.get("files", keys.file(keys.repo(facts.REPO), "a.py"))
        env.close()
        assert row is not None
        assert b"a.py" in bytes(row)

    again = open_writable(tmp_path / "env")
    assert live_paths(again) == ["a.py"]
    again.close()
