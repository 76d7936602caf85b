"""Generations: built, stored, loaded, and searched together with what came and went since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import faiss
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.query.ranking.dense import VectorTable
from store import keys
from store.ann import AnnGenerations, AnnIndex, Built, Nearest, Overlay, build, load
from store.ann_codes import Codes
from store.env import Env
from store.rows import AnnHead

DIMENSION = 24
REPO = "demo"
Files = list[tuple[int, bytes]]


def random_files(count: int, *, first: int = 1, dimension: int = DIMENSION, seed: int = 1) -> Files:
    rng = np.random.default_rng(seed)
    files = []
    for number in range(count):
        rows = rng.normal(size=(int(rng.integers(1, 6)), dimension))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        files.append((first + 3 * number, np.rint(rows * 127).astype(np.int8).tobytes()))
    return files


def question(seed: int, dimension: int = DIMENSION) -> np.ndarray:
    vector = np.random.default_rng(seed).normal(size=dimension).astype(np.float32)
    return vector / np.linalg.norm(vector)


def built(files: Files, dimension: int = DIMENSION) -> Built:
    made = build(files, dimension, lambda: False)
    assert made is not None
    return made


def head_of(made: Built, generation: int = 1) -> AnnHead:
    return AnnHead(
        generation=generation, space="s", kind=made.kind, parts=len(made.parts()),
        size_bytes=len(made.blob), checksum=made.checksum, vectors=made.vectors, partitions=0,
        upto=9, files=made.files.astype("<u8").tobytes(),
    )  # fmt: skip


@pytest.fixture
def env(tmp_path: Path) -> Iterator[Env]:
    opened = Env(tmp_path / "env", writable=True, sync=False)
    yield opened
    opened.close()


def store(env: Env, head: AnnHead, parts: Sequence[bytes]) -> None:
    repo = keys.repo(REPO)
    with env.write() as txn:
        txn.put("ann_heads", repo, msgspec.msgpack.encode(head))
        for number, part in enumerate(parts):
            txn.put("ann_parts", keys.part(repo, head.generation, number), part)


def loaded(env: Env, made: Built) -> AnnIndex:
    store(env, head_of(made), made.parts())
    with env.read() as txn:
        index = AnnGenerations().get(txn, REPO).index
    assert index is not None
    return index


def exact(files: Files, query: np.ndarray, count: int, dimension: int = DIMENSION) -> Nearest:
    rows = [
        (sequence, chunk, float(vector.astype(np.float32) @ query) / 127)
        for sequence, raw in files
        for chunk, vector in enumerate(np.frombuffer(raw, np.int8).reshape(-1, dimension))
    ]
    rows.sort(key=lambda row: (-row[2], row[0], row[1]))
    best = rows[:count]
    return Nearest(
        np.array([row[0] for row in best], np.uint64),
        np.array([row[1] for row in best], np.int64),
        np.array([row[2] for row in best], np.float32),
    )


def pairs(found: Nearest) -> set[tuple[int, int]]:
    return set(zip(found.file_sequence.tolist(), found.chunk.tolist(), strict=True))


def test_a_generation_comes_back_from_the_store_and_finds_what_an_exact_scan_finds(
    env: Env,
) -> None:
    files = random_files(1_000)
    overlay = Overlay(loaded(env, built(files)), VectorTable(DIMENSION).changed(files))

    shares = []
    for seed in range(20):
        found, wanted = overlay.search(question(seed), 50), exact(files, question(seed), 50)
        shares.append(len(pairs(found) & pairs(wanted)) / 50)
        assert list(found.score) == sorted(found.score, reverse=True)
    assert np.mean(shares) > 0.97
    assert (overlay.later_vectors, overlay.dead_vectors) == (0, 0)


def test_scores_are_those_of_an_exact_scan(env: Env) -> None:
    files = random_files(300)
    overlay = Overlay(loaded(env, built(files)), VectorTable(DIMENSION).changed(files))

    found, wanted = overlay.search(question(1), 10), exact(files, question(1), 10)

    assert found.score == pytest.approx(wanted.score, abs=1e-5)


def test_what_came_later_is_found_and_what_went_is_not(env: Env) -> None:
    files = random_files(400)
    index = loaded(env, built(files))
    later = random_files(60, first=10_000, seed=2)
    table = VectorTable(DIMENSION).changed(files)
    table = table.changed(later, removed=[sequence for sequence, _ in files[::4]])
    live = [file for number, file in enumerate(files) if number % 4] + later

    overlay = Overlay(index, table)
    found = overlay.search(question(7), 40)

    gone = {sequence for sequence, _ in files[::4]}
    assert not gone & {sequence for sequence, _ in pairs(found)}
    assert len(pairs(found) & pairs(exact(live, question(7), 40))) >= 38
    assert overlay.later_vectors == sum(len(raw) for _, raw in later) // DIMENSION
    assert overlay.dead_vectors == sum(len(raw) for _, raw in files[::4]) // DIMENSION


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_asked_for_everything_it_gives_exactly_the_live_vectors(data: st.DataObject) -> None:
    indexed = data.draw(st.integers(1, 30))
    files = random_files(indexed + 10, seed=data.draw(st.integers(0, 5)))
    removed = data.draw(st.sets(st.sampled_from([sequence for sequence, _ in files])))
    made = built(files[:indexed])
    blob = msgspec.msgpack.decode(made.blob)
    index = AnnIndex(head_of(made), _blob(made), Codes.from_bytes(blob[3], DIMENSION))
    table = VectorTable(DIMENSION).changed(files).changed([], removed)

    found = Overlay(index, table).search(question(3), 1_000)

    live = [file for file in files if file[0] not in removed]
    wanted = exact(live, question(3), 1_000)
    assert pairs(found) == pairs(wanted)
    assert sorted(found.score) == pytest.approx(sorted(wanted.score), abs=1e-5)


@pytest.mark.parametrize("dimension", [20, 128, 512])  # the last has several components to a code
def test_codes_are_those_that_the_library_makes(dimension: int) -> None:
    rows = np.random.default_rng(dimension).integers(-128, 128, (700, dimension), np.int8)
    codes = Codes.trained(rows, dimension)
    codes.add(rows[:300])
    codes.add(rows[300:])

    width = -(-dimension // 16) * 16
    floats = np.zeros((700, width), np.float32)
    floats[:, :dimension] = rows
    library = faiss.IndexPQFastScan(width, min(width, 128), 4, faiss.METRIC_INNER_PRODUCT)
    library.train(floats)
    library.add(floats)
    assert codes.to_bytes() == bytes(faiss.serialize_index(library))
    assert len(codes) == 700


def _blob(made: Built):  # type: ignore[no-untyped-def]
    from store.ann import _Blob

    return msgspec.msgpack.decode(made.blob, type=_Blob)


def test_a_file_embedded_anew_under_the_same_record_is_scanned_not_mixed_up(env: Env) -> None:
    files = random_files(50)
    index = loaded(env, built(files))
    sequence, raw = files[10]
    table = VectorTable(DIMENSION).changed([*files[:10], (sequence, raw + raw), *files[11:]])

    overlay = Overlay(index, table)

    assert overlay.later_vectors == 2 * len(raw) // DIMENSION
    assert overlay.dead_vectors == len(raw) // DIMENSION


@pytest.mark.parametrize("dimension", [1, 7, 128, 769])
def test_any_number_of_components_will_do(env: Env, dimension: int) -> None:
    files = random_files(250, dimension=dimension)
    index = loaded(env, built(files, dimension))
    overlay = Overlay(index, VectorTable(dimension).changed(files))

    found = overlay.search(question(1, dimension), 5)

    wanted = exact(files, question(1, dimension), 5, dimension)
    assert found.score == pytest.approx(wanted.score, abs=1e-5)


def test_one_vector_makes_a_generation(env: Env) -> None:
    files = random_files(1)[:1]
    index = loaded(env, built([(1, files[0][1][:DIMENSION])]))

    found = Overlay(index, VectorTable(DIMENSION).changed([(1, files[0][1][:DIMENSION])])).search(
        question(1), 10
    )

    assert pairs(found) == {(1, 0)}


def test_vectors_that_are_all_alike_are_found(env: Env) -> None:
    files = [(number, random_files(1)[0][1][:DIMENSION]) for number in range(1, 1_001)]
    index = loaded(env, built(files))

    found = Overlay(index, VectorTable(DIMENSION).changed(files)).search(question(1), 10)

    assert len(pairs(found)) == 10


def test_nothing_at_all_makes_none() -> None:
    with pytest.raises(ValueError, match="nothing"):
        build([], DIMENSION, lambda: False)


def test_a_cancelled_build_ends_without_a_generation() -> None:
    assert build(random_files(20), DIMENSION, lambda: True) is None


def test_parts_fit_into_messages_and_the_checksum_covers_all_of_them(env: Env) -> None:
    made = built(random_files(4_000, dimension=192), 192)

    parts = made.parts()

    assert len(parts) > 1
    assert max(map(len, parts)) <= 512 * 1024
    assert b"".join(parts) == made.blob


def _without_a_part(parts: list[bytes], head: AnnHead) -> None:
    parts.pop()


def _with_a_changed_byte(parts: list[bytes], head: AnnHead) -> None:
    parts[0] = parts[0][:100] + bytes([parts[0][100] ^ 1]) + parts[0][101:]


def _with_nonsense(parts: list[bytes], head: AnnHead) -> None:
    from store.ann import checksum_of

    parts[:] = [b"nonsense"]
    head.parts, head.checksum = 1, checksum_of(b"nonsense")


def _with_foreign_codes(parts: list[bytes], head: AnnHead) -> None:
    from store.ann import checksum_of

    fields = msgspec.msgpack.decode(b"".join(parts))
    fields[3] = b"no faiss index"
    parts[:] = [msgspec.msgpack.encode(fields)]
    head.parts, head.checksum = 1, checksum_of(parts[0])


def _with_another_count(parts: list[bytes], head: AnnHead) -> None:
    head.vectors += 1


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (_without_a_part, "missing_part"),
        (_with_a_changed_byte, "checksum"),
        (_with_nonsense, "unloadable"),
        (_with_foreign_codes, "unloadable"),
        (_with_another_count, "count_mismatch"),
    ],
)
def test_a_damaged_generation_is_refused_with_a_reason(env: Env, damage, reason: str) -> None:  # type: ignore[no-untyped-def]
    made = built(random_files(30))
    head, parts = head_of(made), made.parts()
    damage(parts, head)
    store(env, head, parts)

    with env.read() as txn:
        found = AnnGenerations().get(txn, REPO)

    assert found.index is None
    assert found.reason == reason


def test_a_repository_without_a_generation_has_none(env: Env) -> None:
    with env.read() as txn:
        assert AnnGenerations().get(txn, REPO).reason == "none"


def test_a_generation_is_loaded_once_and_its_successor_takes_its_place(env: Env) -> None:
    generations = AnnGenerations()
    first, second = built(random_files(30)), built(random_files(40))
    store(env, head_of(first, 1), first.parts())
    with env.read() as txn:
        one, again = generations.get(txn, REPO), generations.get(txn, REPO)
    store(env, head_of(second, 2), second.parts())
    with env.read() as txn:
        two = generations.get(txn, REPO)

    assert one.index is again.index is not None
    assert two.index is not None
    assert (one.index.generation, two.index.generation) == (1, 2)


def test_parts_left_over_from_an_unfinished_build_do_not_disturb(env: Env) -> None:
    made = built(random_files(30))
    store(env, head_of(made, 4), made.parts())
    with env.write() as txn:
        txn.put("ann_parts", keys.part(keys.repo(REPO), 4, 77), b"left over")
        txn.put("ann_parts", keys.part(keys.repo(REPO), 5, 0), b"begun")

    with env.read() as txn:
        assert load(txn, REPO, head_of(made, 4)).index is not None
