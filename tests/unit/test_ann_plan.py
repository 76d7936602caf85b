"""When a generation is built, and what the builder reads for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from contracts.events.log import WalkFilters
from contracts.ids import RepoId
from services.ann.corpus import corpus_of, newest_generation, standing_of
from services.ann.plan import Standing, is_due, is_filled, is_large, is_running
from store import keys
from store.env import Env
from store.read.live import Snapshot
from store.rows import AnnHead, Counters, PassRow, RepoRow, VectorRow

REPO = RepoId("demo")


def head(files: list[int], *, space: str = "new", generation: int = 3, parts: int = 2) -> AnnHead:
    return AnnHead(
        generation=generation, space=space, kind="pq4", parts=parts, size_bytes=1, checksum="",
        vectors=len(files), partitions=0, upto=0, files=np.array(files, "<u8").tobytes(),
    )  # fmt: skip


def standing(live: range | list[int], present: AnnHead | None, *, intact: bool = True) -> Standing:
    return Standing(present, intact, np.array(list(live), np.uint64))


def row(vectors: int, state: str = "registered") -> RepoRow:
    return RepoRow(
        repo_id=REPO, state=state, root="/t", filters=WalkFilters(), display_name="demo",
        index_generation=1, memory_generation=1, counters=Counters(embedded_chunks=vectors),
    )  # fmt: skip


def newest_pass(status: str, updated_ms: int) -> PassRow:
    return PassRow(
        pass_id="p", reason="", status=status, phase="", attempt=1, files_scanned=0, files_added=0,
        files_updated=0, files_removed=0, files_unchanged=0, started_ms=0, updated_ms=updated_ms,
        completed_ms=0, error="", notice="",
    )  # fmt: skip


def test_only_a_registered_repository_with_many_vectors_gets_a_generation() -> None:
    assert is_large(row(60_000), 60_000)
    assert not is_large(row(59_999), 60_000)
    assert not is_large(row(60_000, "reset"), 60_000)
    assert not is_large(row(0), 0)


def test_a_pass_is_at_work_until_it_ends_or_has_been_silent_for_long() -> None:
    assert is_running(newest_pass("Running", 1_000), 2_000)
    assert not is_running(newest_pass("Running", 1_000), 1_000_000)
    assert not is_running(newest_pass("Completed", 1_000), 2_000)
    assert not is_running(None, 2_000)


def test_a_generation_is_due_without_one_with_a_broken_one_and_in_another_space() -> None:
    live = range(100)

    assert is_due(standing(live, None), "new")
    assert is_due(standing(live, head(list(live)), intact=False), "new")
    assert is_due(standing(live, head(list(live), space="old")), "new")
    assert not is_due(standing(live, head(list(live))), "new")


@pytest.mark.parametrize(
    ("held", "live", "due"),
    [
        (range(100), range(20, 120), False),  # a fifth came, a fifth went
        (range(100), range(21, 121), True),
        (range(100), range(100, 126), True),
        (range(100), range(84), False),
        (range(100), range(83), True),
        (range(100), range(125), False),
        (range(100), range(126), True),
    ],
)
def test_a_generation_is_due_once_more_than_a_fifth_of_the_files_changed(
    held: range, live: range, due: bool
) -> None:
    assert is_due(standing(live, head(list(held))), "new") is due


def test_a_space_is_indexed_once_nearly_all_live_files_are_in_it() -> None:
    assert not is_filled(standing(range(100), None), 89)
    assert is_filled(standing(range(100), None), 90)
    assert not is_filled(standing([], None), 0)


@pytest.fixture
def env(tmp_path: Path) -> Iterator[Env]:
    opened = Env(tmp_path / "env", writable=True, sync=False)
    repo = keys.repo(REPO)
    with opened.write() as txn:
        for sequence in (9, 300, 70_000):
            space = "old" if sequence == 300 else "new"
            value = msgspec.msgpack.encode(VectorRow(space, 2, bytes([sequence % 100, 1])))
            txn.put("vectors", keys.sequence(repo, sequence), value)
        txn.put("vectors", keys.sequence(keys.repo("other"), 5), b"not ours")
    yield opened
    opened.close()


def test_the_corpus_holds_the_vectors_of_one_space_in_order(env: Env) -> None:
    with env.read() as txn:
        corpus = corpus_of(Snapshot(txn), REPO, "new")

    assert corpus.dimension == 2
    assert corpus.files == [(9, bytes([9, 1])), (70_000, bytes([0, 1]))]


def test_a_generation_with_all_its_parts_is_intact(env: Env) -> None:
    repo = keys.repo(REPO)
    with env.write() as txn:
        txn.put("ann_heads", repo, msgspec.msgpack.encode(head([9], generation=3)))
        txn.put("ann_parts", keys.part(repo, 3, 0), b"a")
    with env.read() as txn:
        broken = standing_of(Snapshot(txn), REPO)
    with env.write() as txn:
        txn.put("ann_parts", keys.part(repo, 3, 1), b"b")
    with env.read() as txn:
        whole = standing_of(Snapshot(txn), REPO)

    assert not broken.intact
    assert whole.intact
    assert whole.live.tolist() == [9, 300, 70_000]


def test_a_number_is_never_used_twice_even_for_a_build_that_was_not_finished(env: Env) -> None:
    repo = keys.repo(REPO)
    with env.read() as txn:
        none = newest_generation(Snapshot(txn), REPO)
    with env.write() as txn:
        txn.put("ann_heads", repo, msgspec.msgpack.encode(head([9], generation=3)))
        txn.put("ann_parts", keys.part(repo, 4, 0), b"begun")
    with env.read() as txn:
        begun = newest_generation(Snapshot(txn), REPO)

    assert (none, begun) == (0, 4)
