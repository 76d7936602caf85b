"""Keys, paths and subject tokens: every mapping gives back what it was given."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from contracts.ids import RecordKey, RepoId, parse_key, path_from_bytes, path_to_bytes
from contracts.subjects import token

names = st.text(min_size=1, max_size=30)
paths = st.lists(
    st.text(min_size=1, max_size=8).map(lambda t: t.replace("/", "_")), min_size=1, max_size=4
).map("/".join)


@given(repo=names, family=st.sampled_from(["symbol", "xref", "session"]), name=names)
def test_a_key_is_parsed_into_what_it_was_made_of(repo: str, family: str, name: str) -> None:
    key = RecordKey(RepoId(repo), family, name)
    assert parse_key(str(key)) == key


@given(repo=names, family=st.sampled_from(["file", "pkg", "content"]), path=paths)
def test_a_key_of_a_path_keeps_its_folders(repo: str, family: str, path: str) -> None:
    key = RecordKey(RepoId(repo), family, path)
    assert parse_key(str(key)) == key
    assert str(key).endswith(path.replace("%", "%25"))


@given(repo=names, topic=names, item=names)
def test_a_key_of_a_note_keeps_topic_and_id(repo: str, topic: str, item: str) -> None:
    key = RecordKey(RepoId(repo), "mem", topic, item)
    assert parse_key(str(key)) == key


@given(st.binary(min_size=1, max_size=40).filter(lambda raw: b"\0" not in raw))
def test_file_names_of_any_bytes_survive_as_text(raw: bytes) -> None:
    text = path_from_bytes(raw)
    assert path_to_bytes(text) == raw
    text.encode()


@given(st.text(max_size=400), st.text(max_size=400))
def test_a_subject_token_is_plain_bounded_and_tells_texts_apart(one: str, other: str) -> None:
    for text in (one, other):
        assert re.fullmatch(r"[A-Za-z0-9_=~-]{1,160}", token(text))
    assert (token(one) == token(other)) == (one == other)
