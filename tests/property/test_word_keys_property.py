"""Looking words up by arithmetic gives what a dictionary gives."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from services.source.word_keys import KeyTable, find_words, word_keys
from services.source.words import tokenise, tokenise_each

_WORD = re.compile(rb"[0-9A-Za-z_\x80-\xff]+")
_TEXTS = st.binary(max_size=60) | st.sampled_from([b"a" * 600, b"ab" * 8, "Größe été".encode()])


@given(st.lists(_TEXTS, max_size=8))
def test_words_and_their_keys(texts: list[bytes]) -> None:
    data = b" " + b" ".join(texts) + b" "
    starts, ends = find_words(data)
    words = [data[start:end] for start, end in zip(starts, ends, strict=True)]
    keys = word_keys(data, starts, ends).tolist()

    assert words == _WORD.findall(data)
    assert 0 not in keys
    assert len(set(zip(words, keys, strict=True))) == len(set(words)) == len(set(keys))


# Few different leading bits, so that keys want each other's places.
_KEYS = st.builds(lambda high, low: high << 60 | low, st.integers(0, 3), st.integers(1, 40))


@given(st.lists(st.sets(_KEYS), max_size=6), st.sets(_KEYS))
def test_a_key_table_finds_what_was_put_in(batches: list[set[int]], asked: set[int]) -> None:
    table, expected = KeyTable(), dict[int, int]()
    for batch in batches:
        new = [key for key in batch if key not in expected]
        numbers = range(len(expected), len(expected) + len(new))
        table.add(np.array(new, np.uint64), np.array(numbers, np.int64))
        expected |= dict(zip(new, numbers, strict=True))

    wanted = [*asked, *expected]
    found = table.find(np.array(wanted, np.uint64)).tolist()
    assert found == [expected.get(key, -1) for key in wanted]


def test_a_key_table_grows_and_keeps_everything() -> None:
    table = KeyTable()
    keys = np.random.default_rng(7).integers(1, 1 << 63, 30_000, np.uint64)
    for at in range(0, len(keys), 1_000):
        table.add(keys[at : at + 1_000], np.arange(at, at + 1_000))

    assert table.find(keys).tolist() == list(range(len(keys)))
    assert table.find(keys + np.uint64(1)).max() == -1


@given(st.lists(st.text(max_size=12) | st.from_regex(r"\w{1,12}", fullmatch=True), max_size=8))
def test_words_together_have_the_terms_of_each(words: list[str]) -> None:
    assert tokenise_each(words) == [tokenise(word) for word in words]
