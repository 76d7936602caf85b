"""Words, scores and comparisons of memories, rule by rule."""

from __future__ import annotations

import random
import sqlite3

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.query.notebook.compare import compare_fact
from services.query.notebook.lexicon import Lexicon, best
from services.query.notebook.scoring import score
from services.query.notebook.shelf import Shelf
from services.query.notebook.words import extract_terms, is_negated, jaccard, tag_list, tokens
from tests.folded_notes import NOW, memory


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Use THE `make deploy` with care, and make it so", ["make", "deploy", "care", "it", "so"]),
        ("a b c 4 x1 snake_case", ["x1", "snake", "case"]),
        ("src/auth/jwt.ts", ["src", "auth", "jwt", "ts"]),
        ("Café naïve", ["cafe", "naive"]),
        ("", []),
        ("the and with from that this into your have for are use uses using", []),
    ],
)
def test_terms_are_lower_case_distinct_and_without_stop_words(text: str, terms: list[str]) -> None:
    assert extract_terms(text) == terms


def test_bm25_has_the_sign_and_size_of_fts5() -> None:
    choose = random.Random(3)
    words = [f"w{number}" for number in range(60)]
    texts = [" ".join(choose.choices(words, k=choose.randint(1, 40))) for _ in range(200)]
    lexicon = Lexicon()
    for text in texts:
        lexicon.add(tokens(text))
    connection = sqlite3.connect(":memory:")
    connection.execute("create virtual table notes using fts5(body)")
    connection.executemany("insert into notes(rowid, body) values (?, ?)", enumerate(texts))

    for query in (["w1"], ["w1", "w2", "w3"], ["w59", "absent"], words[:12]):
        asked = " OR ".join(f'"{term}"' for term in query)
        rows = connection.execute(
            "select rowid, bm25(notes) from notes where notes match ?", (asked,)
        ).fetchall()
        scores = lexicon.scores(query)
        assert set(np.flatnonzero(scores).tolist()) == {row for row, _ in rows}
        assert [-scores[row] for row, _ in rows] == pytest.approx([value for _, value in rows])


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=8), max_size=40), st.data())
def test_removing_slots_is_as_if_they_had_never_been(
    texts: list[list[str]], data: st.DataObject
) -> None:
    gone = data.draw(st.sets(st.integers(0, max(len(texts) - 1, 0))))
    all_of_them, rest = Lexicon(), Lexicon()
    for text in texts:
        all_of_them.add(text)
    for slot in gone & set(range(len(texts))):
        all_of_them.remove(slot)
    kept = [slot for slot in range(len(texts)) if slot not in gone]
    for slot in kept:
        rest.add(texts[slot])

    scores = all_of_them.scores(["a", "b"])

    assert scores[kept].tolist() == pytest.approx(rest.scores(["a", "b"]).tolist())
    assert not any(scores[slot] for slot in gone if slot < len(texts))


def test_equal_scores_come_newest_first() -> None:
    assert best(np.array([0.0, 2.0, 1.0, 2.0]), 3).tolist() == [3, 1, 2]


def test_a_shelf_that_changes_a_lot_stays_small_and_right() -> None:
    shelf = Shelf(lambda note: tokens(note.body))
    for turn in range(2_000):
        shelf.put(b"key", memory(1, f"turn{turn} common"))
    shelf.put(b"other", memory(2, "common"))

    assert shelf.lexicon.size < 1_000
    assert [note.body for note, _ in shelf.ranked(shelf.lexicon.scores(["turn1999"]))] == [
        "turn1999 common"
    ]
    shelf.drop(b"key")
    assert not shelf.lexicon.scores(["turn1999"]).any()


@pytest.mark.parametrize(
    ("fields", "bm25", "expected"),
    [
        ({"days_ago": 0}, 0.0, 30 + 10),
        ({"days_ago": 90}, 0.0, 15 + 10),
        ({"days_ago": 400}, 0.0, 10),
        ({"days_ago": 400, "certainty": "verified"}, 0.0, 20),
        ({"days_ago": 400, "certainty": "speculative"}, 0.0, 2),
        ({"days_ago": 400, "tags": "jwt, auth"}, 0.0, 10 + 18),
        ({"days_ago": 400, "tags": "topic:auth, area:jwt"}, 0.0, 10 + 8),  # the best case, once
        ({"days_ago": 400, "update_count": 3}, 0.0, 10 + 6),
        ({"days_ago": 400, "update_count": 30}, 0.0, 10 + 20),
        ({"days_ago": 400}, -1.25, 10 + 12.5),
        ({"days_ago": 400}, -9.0, 10 + 30),
        ({"days_ago": 400}, 1.0, 10),
        ({"certainty": "verified", "tags": "auth", "update_count": 10}, -3.0, 118),
    ],
)
def test_the_score_is_the_sum_of_its_parts(
    fields: dict[str, object], bm25: float, expected: float
) -> None:
    assert score(memory(1, "x", **fields), ["auth"], bm25, NOW) == pytest.approx(expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stored", "candidate", "conflict", "similarity"),
    [
        ("Retry three times", "Retry three times", False, 1.0),
        ("", "", False, 1.0),
        ("Retry three times", "Never retry three times", True, 0.75),
        ("Cannot deploy here", "We can't deploy here", False, 0.4),
        ("alpha beta gamma", "delta epsilon", True, 0.0),
        ("src lib app tests alpha", "alpha", False, 1.0),
    ],
)
def test_statements_are_compared_by_terms_and_negation(
    stored: str, candidate: str, conflict: bool, similarity: float
) -> None:
    compared = compare_fact(stored, candidate)

    assert (compared.conflict, compared.similarity) == (conflict, similarity)


def test_a_comparison_tells_twelve_terms_of_each_side() -> None:
    compared = compare_fact(
        " ".join(f"old{n}" for n in range(20)), " ".join(f"new{n}" for n in range(20))
    )

    assert compared.added == tuple(f"new{n}" for n in range(12))
    assert compared.removed == tuple(f"old{n}" for n in range(12))


@pytest.mark.parametrize("word", ["not", "no", "never", "without", "cannot", "can't", "NOT"])
def test_negations_are_whole_words(word: str) -> None:
    assert is_negated(f"do {word} deploy")
    assert not is_negated(f"do x{word}x deploy")


def test_tags_are_trimmed_lower_case_and_distinct() -> None:
    assert tag_list(" A, b ,a,, topic:X") == ("a", "b", "topic:x")
    assert jaccard([], []) == 1.0
