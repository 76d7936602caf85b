"""The memo: shared, bounded, and never anybody's problem."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from store.cache import ContentCache, content_key

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
WRITER = """
import sys
from pathlib import Path
from store.cache import ContentCache, content_key
cache = ContentCache(Path(sys.argv[1]), 64 << 20)
for number in range(200):
    cache.put_many([(content_key(sys.argv[2], str(number)), sys.argv[2].encode() * 100)])
"""


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ContentCache]:
    opened = ContentCache(tmp_path / "memo", 64 * MIB)
    yield opened
    opened.close()


def data_file(folder: Path) -> Path:
    return next(folder.glob("*/data.mdb"))


def test_what_was_put_is_found_and_the_rest_is_not(cache: ContentCache) -> None:
    cache.put_many([(b"b", b"two"), (b"a", b"one"), (b"c", b"")])

    assert cache.get_many([b"a", b"x", b"c"]) == {b"a": b"one", b"c": b""}
    assert (cache.hits, cache.misses) == (2, 1)


def test_a_later_value_replaces_an_earlier_one(cache: ContentCache) -> None:
    cache.put_many([(b"a", b"one")])
    cache.put_many([(b"a", b"two")])

    assert cache.get_many([b"a"]) == {b"a": b"two"}


def test_processes_that_write_at_once_share_one_memo(tmp_path: Path, cache: ContentCache) -> None:
    names = ("first", "second", "third")
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "memo"), name], cwd=ROOT)
        for name in names
    ]

    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    keys = [content_key(name, str(number)) for name in names for number in range(200)]
    assert len(cache.get_many(keys)) == 600


def test_a_memo_outlives_its_process(tmp_path: Path) -> None:
    first = ContentCache(tmp_path, 64 * MIB)
    first.put_many([(b"a", b"kept")])
    first.close()

    second = ContentCache(tmp_path, 64 * MIB)
    assert second.get_many([b"a"]) == {b"a": b"kept"}
    second.close()


def test_the_oldest_values_go_once_the_budget_is_used(tmp_path: Path) -> None:
    cache = ContentCache(tmp_path, 4 * MIB)
    keys = [str(number).encode() for number in range(400)]

    for key in keys:
        cache.put_many([(key, key * 8_000)])

    found = cache.get_many(keys)
    assert 20 < len(found) < 300
    assert keys[-1] in found
    assert keys[0] not in found
    assert data_file(tmp_path).stat().st_size <= 5 * MIB
    cache.close()


def test_a_value_in_use_stays_however_much_is_written(tmp_path: Path) -> None:
    cache = ContentCache(tmp_path, 4 * MIB)
    cache.put_many([(b"used", b"value")])

    for number in range(400):
        cache.put_many([(str(number).encode(), bytes(30_000))])
        assert cache.get_many([b"used"]) == {b"used": b"value"}
    cache.close()


def test_a_value_too_large_for_the_budget_is_left_out(tmp_path: Path) -> None:
    cache = ContentCache(tmp_path, MIB)

    cache.put_many([(b"large", bytes(MIB)), (b"small", b"fits")])

    assert cache.get_many([b"large", b"small"]) == {b"small": b"fits"}
    cache.close()


@pytest.mark.parametrize("damage", [b"", b"nonsense" * 4_096])
def test_a_damaged_file_is_begun_anew(tmp_path: Path, damage: bytes) -> None:
    first = ContentCache(tmp_path, 64 * MIB)
    first.put_many([(b"a", b"lost")])
    first.close()
    data_file(tmp_path).write_bytes(damage)

    second = ContentCache(tmp_path, 64 * MIB)
    assert second.get_many([b"a"]) == {}
    second.put_many([(b"a", b"new")])
    assert second.get_many([b"a"]) == {b"a": b"new"}
    second.close()


def test_a_value_whose_bytes_were_changed_on_disk_is_not_given_out(tmp_path: Path) -> None:
    first = ContentCache(tmp_path, 64 * MIB)
    first.put_many([(b"a", b"precious " * 50)])
    first.close()
    file = data_file(tmp_path)
    file.write_bytes(file.read_bytes().replace(b"precious", b"Precious", 1))

    second = ContentCache(tmp_path, 64 * MIB)
    assert second.get_many([b"a"]) == {}
    assert second.restarts == 1
    second.put_many([(b"a", b"again")])
    assert second.get_many([b"a"]) == {b"a": b"again"}
    second.close()


def test_a_folder_that_cannot_be_used_costs_nothing_but_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = ContentCache(tmp_path / "file" / "memo", 64 * MIB)

    cache.put_many([(b"a", b"one")])

    assert cache.get_many([b"a"]) == {}
    cache.close()


def test_a_budget_of_nothing_switches_it_off(tmp_path: Path) -> None:
    cache = ContentCache(tmp_path / "memo", 0)

    cache.put_many([(b"a", b"one")])

    assert cache.get_many([b"a"]) == {}
    assert not (tmp_path / "memo").exists()


def test_a_memo_from_before_the_last_start_of_the_machine_is_deleted(tmp_path: Path) -> None:
    old = tmp_path / "1-another-boot"
    old.mkdir()
    (old / "data.mdb").write_bytes(b"may look whole")

    ContentCache(tmp_path, 64 * MIB).close()

    assert not old.exists()


def test_after_closing_it_answers_nothing_and_takes_nothing(cache: ContentCache) -> None:
    cache.put_many([(b"a", b"one")])
    cache.close()

    cache.put_many([(b"b", b"two")])
    assert cache.get_many([b"a", b"b"]) == {}


def test_keys_tell_where_a_part_ends() -> None:
    keys = {
        content_key("ab", "c"),
        content_key("a", "bc"),
        content_key("abc"),
        content_key("abc", ""),
    }

    assert len(keys) == 4
    assert content_key("é") == content_key("é".encode())
    assert len(content_key("x")) == 16
