"""Ranking: what counts, what wins, and what stays the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.bench.retrieval import metrics
from services.query.ranking.corpus import Corpus
from services.query.ranking.dense import (
    DensePlane,
    DenseScores,
    Pool,
    VectorTable,
    pooled_scores,
)
from services.query.ranking.facts import FileFacts
from services.query.ranking.fuse import RankedFile, Ranking
from services.query.ranking.history import HistoryScores
from services.query.ranking.lexical import score, score_corpus
from services.query.ranking.reasons import (
    KeywordMatch,
    file_match,
    keyword_reasons,
    semantic_reasons,
    symbol_hits,
)
from services.source.static_model import StaticModel
from services.source.terms import query_terms
from store.segments import SegmentView, build_segment
from tests.lexical_reference import SourceFile, reference_scores

FORMS = SourceFile(
    "shop/forms.py",
    ("class UserCreationForm: clean password", "def save(): commit", "helper text"),
    ("UserCreationForm", "save", "clean_password"),
)
VIEWS = SourceFile(
    "shop/views.py",
    ("def login(request): form = UserCreationForm()", "password reset mail"),
    ("login", "reset"),
)
TESTS = SourceFile(
    "tests/test_forms.py",
    ("def test_password(): UserCreationForm password clean password", "password"),
    ("test_password",),
    kind="test",
)
GUIDE = SourceFile("docs/password.md", ("reset the password of a user",), kind="doc")
SHOP = (FORMS, VIEWS, TESTS, GUIDE)


def corpus_of(files: Sequence[SourceFile]) -> Corpus:
    numbered = [file.numbered(sequence) for sequence, file in enumerate(files, 1)]
    return Corpus([SegmentView(build_segment(numbered))])


def rank(
    query: str,
    files: Sequence[SourceFile],
    dense: DenseScores | None = None,
    history: HistoryScores | None = None,
) -> Ranking:
    corpus, asked = corpus_of(files), query_terms(query)
    facts = FileFacts(corpus, [file.path for file in files])
    return Ranking(asked, facts, score_corpus(asked, corpus), dense, history)


def paths(ranked: list[RankedFile]) -> list[str]:
    return [file.path for file in ranked]


@pytest.mark.parametrize(
    "query",
    [
        "reset password", "`UserCreationForm`", "usercreationform", "creation form", "forms", "views",
        "mail a password reset. The form of views is a helper, views is saved", "form: clean views",
    ],
)  # fmt: skip
def test_scores_equal_the_formulas_worked_out_by_hand(query: str) -> None:
    numbered = [file.numbered(sequence) for sequence, file in enumerate(SHOP, 1)]

    scores = score(query_terms(query), [SegmentView(build_segment(numbered))])

    for field, expected in reference_scores(query, SHOP).items():
        np.testing.assert_allclose(getattr(scores, field), expected, atol=1e-5)


@pytest.mark.parametrize("query", ["", "   ", "()", "from as", "zebra", "zebra_quagga `Okapi`"])
def test_a_query_without_a_known_word_finds_nothing(query: str) -> None:
    ranking = rank(query, SHOP)

    assert ranking.top(10) == []
    assert not ranking.scores.any()
    assert ranking.passages(0) == []


def test_an_index_without_files_answers_every_query() -> None:
    assert rank("password", ()).top(10) == []
    assert score(query_terms("password"), []).body.shape == (0,)


def test_a_query_of_stop_words_finds_what_holds_them() -> None:
    files = (SourceFile("a.txt", ("to be or not to be",)), SourceFile("b.txt", ("question",)))

    assert paths(rank("to be or not to be", files).top(10)) == ["a.txt"]


def test_a_file_that_defines_the_name_asked_for_comes_before_those_that_use_it() -> None:
    assert paths(rank("UserCreationForm", SHOP).top(10))[0] == "shop/forms.py"


def test_words_side_by_side_find_the_identifier_made_of_them() -> None:
    scattered = SourceFile("a.py", ("creation of users, and then one form",))
    joined = SourceFile("b.py", ("CreationForm and other things, and many more of those things",))

    (first, *_) = rank("creation form", (scattered, joined, GUIDE)).top(1)

    assert first.path == "b.py"


LOCKS = SourceFile("a.py", ("release every lock of a transaction",))
INDEXES = SourceFile("b.py", ("rebuild every index of a table",))


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Release every lock at once. It was asked to rebuild every index of a table.", "a.py"),
        (
            "Rebuild every index at once. It was asked to release every lock of a transaction.",
            "b.py",
        ),
        ("release every lock at once: rebuild every index of a table", "b.py"),
    ],
)
def test_the_first_sentence_of_a_query_counts_most(query: str, first: str) -> None:
    assert paths(rank(query, (LOCKS, INDEXES)).top(1)) == [first]


@pytest.mark.parametrize("topic", ["lock", "index"])
def test_what_a_query_names_before_a_colon_counts_double(topic: str) -> None:
    files = {"lock": SourceFile("a.py", ("lock",)), "index": SourceFile("b.py", ("index",))}

    ranked = rank(f"{topic}: an index or a lock", tuple(files.values())).top(2)

    assert ranked[0].path == files[topic].path


def test_code_comes_first_unless_the_query_asks_for_tests_or_documentation() -> None:
    def place(query: str, path: str) -> int:
        return paths(rank(query, SHOP).top(10)).index(path)

    assert place("clean password", "tests/test_forms.py") > 0
    assert place("tests of clean password", "tests/test_forms.py") == 0
    assert place("password reset", "docs/password.md") > 0
    assert place("guide to password reset", "docs/password.md") == 0


def test_declarations_come_after_the_implementation() -> None:
    text = ("export function parse(text)",)
    files = [SourceFile(f"lib/parse{end}", text, ("parse",)) for end in (".d.ts", ".ts")]

    assert paths(rank("exported text", files).top(2)) == ["lib/parse.ts", "lib/parse.d.ts"]


def test_of_two_files_that_fit_equally_the_larger_comes_first_and_size_alone_finds_nothing() -> (
    None
):
    filler = tuple(f"other{at} thing{at}" for at in range(40))
    files = (
        SourceFile("a/x.py", ("retry policy", "plain text")),
        SourceFile("b/x.py", ("retry policy", "plain text", *filler)),
        SourceFile("c/x.py", filler),
    )

    ranked = rank("retry", files).top(10)

    assert paths(ranked) == ["b/x.py", "a/x.py"]


def test_ties_stand_in_the_order_of_paths_and_survive_the_limit() -> None:
    names = ["m.py", "b.py", "z.py", "a.py", "k.py"]
    files = [SourceFile(name, ("same words",)) for name in names]

    ranking = rank("same words", files)

    assert paths(ranking.top(10)) == sorted(names)
    assert paths(ranking.top(2)) == ["a.py", "b.py"]
    assert ranking.top(0) == []


def test_only_allowed_files_are_listed() -> None:
    ranking = rank("password", SHOP)
    allowed = np.array([False, True, False, True])

    assert set(paths(ranking.top(10, allowed))) == {"shop/views.py", "docs/password.md"}
    assert ranking.top(10, np.zeros(4, np.bool_)) == []


def test_a_ranked_file_says_what_its_score_is_made_of() -> None:
    (first, *_) = rank("clean password forms", SHOP).top(1)

    assert first.path == "shop/forms.py"
    assert first.file_sequence == 1
    assert first.chunk == 0
    assert first.parts.keys() == {
        "body", "chunk_max", "chunk_top3", "path", "symbols", "stem", "cover", "size", "language",
    }  # fmt: skip
    assert 0 < first.score <= 1


def test_passages_come_best_first_and_only_those_that_match() -> None:
    ranking = rank("commit save", SHOP)

    assert ranking.passages(0) == [1]
    assert rank("password", SHOP).passages(2) == [1, 0]


def test_a_file_whose_path_alone_matches_has_no_best_passage() -> None:
    (first, *_) = rank("shop", SHOP).top(1)

    assert first.chunk is None


def test_history_moves_a_file_up_but_makes_none_match() -> None:
    nothing, guide = np.zeros(4, np.float32), np.array([0, 1, 0, 0], np.float32)
    history = HistoryScores(guide, guide)

    assert rank("zebra", SHOP, history=history).top(10) == []
    assert paths(rank("clean password", SHOP).top(4))[0] == "shop/forms.py"
    found = rank("clean password", SHOP, history=history).top(4)
    assert found[0].path == "shop/views.py"
    assert {"history_words", "history_nearest"} <= found[0].parts.keys()
    same = rank("clean password", SHOP, history=HistoryScores(nothing, nothing)).top(4)
    assert paths(same) == paths(rank("clean password", SHOP).top(4))


def test_the_language_of_most_code_is_preferred() -> None:
    text = "def render(page): return page"
    files = (
        SourceFile("a/tool.sh", (text,)),
        *(SourceFile(f"b/page{at}.py", (text,)) for at in range(5)),
    )

    assert paths(rank("render page", files).top(10))[-1] == "a/tool.sh"


def test_facts_want_one_path_for_each_file() -> None:
    with pytest.raises(ValueError, match="3 paths for 4 files"):
        FileFacts(corpus_of(SHOP), ["a", "b", "c"])


def test_a_file_that_lives_in_two_segments_is_refused() -> None:
    view = SegmentView(build_segment([FORMS.numbered(1)]))

    with pytest.raises(ValueError, match="two segments"):
        Corpus([view, view])


# ---------------------------------------------------------------- vectors

DIMENSION = 8
RANDOM = np.random.default_rng(7)


def vectors(rows: int) -> np.ndarray:
    return RANDOM.integers(-127, 128, (rows, DIMENSION)).astype(np.int8)


def unit(vector: np.ndarray) -> np.ndarray:
    scaled: np.ndarray = (vector / np.linalg.norm(vector)).astype(np.float32)
    return scaled


def test_a_scan_gives_the_cosine_of_every_row() -> None:
    rows, query = vectors(5_000), unit(RANDOM.standard_normal(DIMENSION))
    big = np.repeat(rows, 16, axis=1)
    table = VectorTable(DIMENSION * 16).changed([(1, big.tobytes())])
    wide = unit(np.repeat(query, 16))

    np.testing.assert_allclose(table.scan(wide), big @ wide / 127, atol=1e-4)
    assert VectorTable(DIMENSION).scan(query).shape == (0,)


def test_changing_a_table_leaves_the_old_one_as_it_was() -> None:
    first, second, third = vectors(3), vectors(2), vectors(1)
    old = VectorTable(DIMENSION).changed([(1, first.tobytes()), (2, second.tobytes())])
    new = old.changed([(3, third.tobytes())])
    branch = old.changed([(9, second.tobytes())])
    newer = new.changed([(2, third.tobytes())], removed=[1])

    def content(table: VectorTable) -> dict[int, list[list[int]]]:
        spans = zip(
            table.file_sequence.tolist(),
            table.row_start.tolist(),
            table.row_count.tolist(),
            strict=True,
        )
        return {file: table.vectors[at : at + rows].tolist() for file, at, rows in spans}

    assert content(old) == {1: first.tolist(), 2: second.tolist()}
    assert content(new) == {**content(old), 3: third.tolist()}
    assert content(branch) == {**content(old), 9: second.tolist()}
    assert content(newer) == {2: third.tolist(), 3: third.tolist()}
    assert content(newer.changed([], removed=[2, 3])) == {}


def test_dead_rows_do_not_pile_up() -> None:
    table = VectorTable(DIMENSION)
    for sequence in range(10, 200):
        table = table.changed([(sequence, vectors(5).tobytes())], removed=[sequence - 10])

    assert len(table.file_sequence) == 10
    assert table.rows <= 50 / 0.75


def test_bytes_that_are_not_whole_vectors_are_refused() -> None:
    with pytest.raises(ValueError, match="file 4 are not of dimension 8"):
        VectorTable(DIMENSION).changed([(4, b"123")])


def shop_plane(query_rows: dict[int, np.ndarray]) -> tuple[Corpus, DensePlane]:
    corpus = corpus_of(SHOP)
    added = [(sequence, rows.tobytes()) for sequence, rows in query_rows.items()]
    return corpus, DensePlane(corpus, VectorTable(DIMENSION).changed(added))


def test_files_are_scored_by_their_best_and_their_three_best_passages() -> None:
    axis = np.eye(DIMENSION, dtype=np.int8)
    forms = np.stack([axis[0] * 127, axis[0] * 64, axis[0] * -127])
    views = np.stack([axis[0] * 32, axis[1] * 127])
    other_size = np.stack([axis[0] * 127] * 5)
    corpus, plane = shop_plane({1: forms, 2: views, 3: other_size, 77: forms})

    scores = plane.score(axis[0].astype(np.float32))

    np.testing.assert_allclose(scores.best, [1, 32 / 127, 0, 0], atol=1e-6)
    np.testing.assert_allclose(scores.top3, [(1 + 64 / 127) / 3, 16 / 127, 0, 0], atol=1e-6)
    assert scores.chunk.shape == (corpus.chunk_count,)
    assert plane.covered_files == 2
    assert scores.best_baseline == pytest.approx(32 / 127)


@pytest.mark.parametrize("values", [[0.0, 0.0, 0.25, 0.5, 0.75], [0.0, 0.25, 0.5, 0.625, 0.75]])
@given(data=st.data())
def test_the_best_passages_of_a_file_are_those_a_sort_finds(
    values: list[float], data: st.DataObject
) -> None:
    few = st.lists(st.sampled_from(values), max_size=5)
    many = st.lists(st.sampled_from(values), min_size=10, max_size=16)
    scores = data.draw(st.lists(few | many, max_size=12))
    files = [SourceFile(f"{at}.py", ("word",) * len(own)) for at, own in enumerate(scores)]
    chunk = np.array([score for own in scores for score in own], np.float32)
    some = np.flatnonzero([bool(own) and at % 2 == 0 for at, own in enumerate(scores)])

    corpus = corpus_of(files)
    best, top3 = corpus.best_chunks(chunk)
    best_of_some, top3_of_some = corpus.best_chunks_of(some, chunk)

    ordered = [sorted(own, reverse=True) for own in scores]
    assert best.tolist() == [sum(own[:1]) for own in ordered]
    assert top3.tolist() == [sum(own[:3]) for own in ordered]
    assert best_of_some.tolist() == best[some].tolist()
    assert top3_of_some.tolist() == top3[some].tolist()


@given(
    st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.4]), max_size=150),
    st.integers(0, 12),
)
def test_the_best_files_are_those_a_sort_finds(scores: list[float], limit: int) -> None:
    files = [SourceFile(f"{at * 7 % 150:03}.py", ("word",)) for at in range(len(scores))]
    ranking = rank("word", files)
    ranking.scores = np.array(scores, np.float32)

    found = [hit.number for hit in ranking.top(limit)]

    matching = [at for at, score in enumerate(scores) if score]
    assert found == sorted(matching, key=lambda at: (-scores[at], files[at].path))[:limit]


def test_the_baseline_is_the_score_a_quarter_down_the_list() -> None:
    files = [SourceFile(f"f{at}.py", ("text",)) for at in range(100)]
    corpus = corpus_of(files)
    rows = np.zeros((100, DIMENSION), np.int8)
    rows[:, 0] = np.arange(100)
    table = VectorTable(DIMENSION).changed([(at + 1, rows[at].tobytes()) for at in range(100)])

    scores = DensePlane(corpus, table).score(np.eye(DIMENSION, dtype=np.float32)[0])

    assert scores.best_baseline == pytest.approx((99 - 25) / 127)


def test_meaning_decides_where_words_do_not() -> None:
    axis = np.eye(DIMENSION, dtype=np.int8) * 127
    _, plane = shop_plane({1: axis[[1, 2, 3]], 2: axis[[4, 0]], 3: axis[[2, 3]], 4: axis[[5]]})
    dense = plane.score(axis[0] / np.float32(127))

    (only,) = rank("zebra", SHOP, dense).top(10)

    assert (only.path, only.chunk) == ("shop/views.py", 1)
    assert only.parts.keys() == {"dense_max", "dense_top3", "size", "language"}


def test_a_vector_that_stands_for_little_of_the_question_says_little() -> None:
    axis = np.eye(DIMENSION, dtype=np.int8) * 127
    _, plane = shop_plane({1: axis[[1, 2, 3]], 2: axis[[4, 0]], 3: axis[[2, 3]], 4: axis[[5]]})
    dense = plane.score(axis[0] / np.float32(127))

    sure, unsure = (
        rank("clean password", SHOP, replace(dense, trust=trust)).top(4) for trust in (1.0, 0.1)
    )

    parts = [{hit.path: hit.parts.get("dense_max", 0.0) for hit in hits} for hits in (sure, unsure)]
    assert parts[0]["shop/views.py"] > 0
    assert parts[1]["shop/views.py"] == pytest.approx(0.1 * parts[0]["shop/views.py"])
    assert StaticModel.load().known_share(query_terms("図書館を検索").terms) == 0
    assert StaticModel.load().known_share(query_terms("open the file").terms) == 1
    assert StaticModel.load().known_share(query_terms("").terms) == 0


def test_the_only_file_and_the_only_candidate_are_found_by_their_meaning() -> None:
    axis = np.eye(DIMENSION, dtype=np.int8) * 127
    corpus = corpus_of([VIEWS])
    alone = DensePlane(corpus, VectorTable(DIMENSION).changed([(1, axis[:2].tobytes())]))
    candidate = Pool(np.array([2], np.uint64), np.array([1]), np.array([0.7], np.float32))

    assert paths(rank("zebra", [VIEWS], alone.score(axis[1] / np.float32(127))).top(5)) == [
        "shop/views.py"
    ]
    (only,) = rank("zebra", SHOP, pooled_scores(corpus_of(SHOP), candidate)).top(5)
    assert (only.path, only.chunk) == ("shop/views.py", 1)


def test_a_pool_of_everything_ranks_like_the_exact_scan() -> None:
    query = unit(RANDOM.standard_normal(DIMENSION))
    chunks = {sequence: vectors(len(file.chunks)) for sequence, file in enumerate(SHOP, 1)}
    corpus, plane = shop_plane(chunks)
    exact = plane.score(query)
    pool = Pool(
        file_sequence=np.repeat(np.arange(1, 5, dtype=np.uint64), [3, 2, 2, 1]),
        chunk=np.array([0, 1, 2, 0, 1, 0, 1, 0]),
        score=np.concatenate([rows @ query / np.float32(127) for rows in chunks.values()]),
    )

    pooled = pooled_scores(corpus, pool)

    np.testing.assert_allclose(pooled.best, exact.best, atol=1e-5)
    np.testing.assert_allclose(pooled.top3, exact.top3, atol=1e-5)


def test_what_is_not_in_the_pool_counts_like_its_lowest_and_strangers_do_not_count() -> None:
    pool = Pool(
        file_sequence=np.array([1, 1, 2, 99, 4], np.uint64),
        chunk=np.array([2, 0, 1, 0, 7]),
        score=np.array([0.5, 0.9, 0.4, 1.0, 1.0], np.float32),
    )

    scores = pooled_scores(corpus_of(SHOP), pool)

    np.testing.assert_allclose(scores.best, [0.9, 0.4, 0.4, 0.4])
    np.testing.assert_allclose(scores.top3, [(0.9 + 0.5 + 0.4) / 3, 0.4, 0.4, 0.4], rtol=1e-6)
    assert scores.best_baseline == pytest.approx(0.4)
    found = rank("zebra", SHOP, scores).top(10)
    assert paths(found) == ["shop/forms.py"]


def test_an_empty_pool_finds_nothing() -> None:
    nothing = Pool(np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.float32))

    assert rank("zebra", SHOP, pooled_scores(corpus_of(SHOP), nothing)).top(10) == []
    assert pooled_scores(corpus_of(()), nothing).best.shape == (0,)


# ---------------------------------------------------------------- reasons


def test_keyword_reasons_stand_in_their_order_and_are_six_at_most() -> None:
    everything = KeywordMatch(
        path=True, symbol="a.b", tags=("x", "c", "x"), topic=True, content=True, key=True
    )

    assert keyword_reasons(everything) == [
        "path-name-match", "symbol:a.b", "tag:c", "tag:x", "topic-match", "content-match",
    ]  # fmt: skip
    assert keyword_reasons(KeywordMatch()) == []
    assert keyword_reasons(KeywordMatch(content=True, key=True)) == ["content-match", "key-match"]


def test_semantic_reasons_name_what_was_embedded_and_what_is_meant() -> None:
    assert semantic_reasons("file") == ["semantic", "chunk:file"]
    assert semantic_reasons("symbol", symbol="a.b") == ["semantic", "chunk:symbol", "symbol:a.b"]
    assert semantic_reasons("memory", topic="t") == ["semantic", "chunk:memory", "topic:t"]


def test_a_match_is_read_off_the_parts_of_a_score() -> None:
    (first, *_) = rank("clean password forms", SHOP).top(1)

    assert keyword_reasons(file_match(first.parts, "shop.forms.clean_password")) == [
        "path-name-match", "symbol:shop.forms.clean_password", "content-match",
    ]  # fmt: skip


def test_symbols_meant_come_exact_names_first_then_by_the_words_they_share() -> None:
    names = [
        ("form_clean", "m.form_clean"),
        ("usercreationform", "m.usercreationform"),
        ("UserCreationForm", "m.UserCreationForm"),
        ("UserForm", "m.UserForm"),
        ("clean_very_long_other_name", "m.other"),
        ("unrelated", "m.unrelated"),
    ]

    hits = symbol_hits(query_terms("the UserCreationForm should clean a form"), names)

    assert hits == ["m.UserCreationForm", "m.usercreationform", "m.form_clean", "m.UserForm"]
    assert (
        symbol_hits(query_terms("the UserCreationForm should clean a form"), names, 1) == hits[:1]
    )
    assert symbol_hits(query_terms("zebra"), names) == []


# ---------------------------------------------------------------- measuring


def test_an_answer_is_measured_by_where_the_right_files_stand() -> None:
    ranked = [f"{at}.py" for at in range(20)]

    assert metrics(ranked, ["0.py"]) == (1.0, 1.0, 1.0, 1.0, 1.0)
    assert metrics(ranked, ["3.py", "15.py"]) == pytest.approx(
        ((1 / np.log2(5)) / (1 + 1 / np.log2(3)), 0.25, 0.5, 0.5, 1.0)
    )
    assert metrics([], ["0.py"]) == (0.0, 0.0, 0.0, 0.0, 0.0)
