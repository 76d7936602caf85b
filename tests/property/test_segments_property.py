"""However files are spread over segments, die and are merged, the index says the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from services.query.ranking.corpus import Corpus
from services.query.ranking.facts import FileFacts
from services.query.ranking.fuse import Ranking
from services.query.ranking.lexical import LexicalScores, score, score_corpus
from services.source.terms import query_terms
from store.segments import (
    KINDS,
    SegmentFile,
    SegmentSize,
    SegmentView,
    build_segment,
    merge_segments,
    plan_merge,
    verify,
)
from tests.lexical_reference import FIELDS, SourceFile, reference_scores

WORDS = (
    "parse",
    "parser",
    "token",
    "tokenList",
    "HTTPServer",
    "user_form",
    "creation",
    "form",
    "CreationForm",
    "id",
    "x1",
)
names = st.sampled_from(WORDS)
texts = st.lists(names, max_size=6).map(" ".join)
Segment = tuple[bytes, list[int]]  # a blob and its dead ordinals


@st.composite
def source_files(draw: st.DrawFn) -> list[SourceFile]:
    folders = draw(st.lists(st.tuples(names, names), unique=True, min_size=1, max_size=7))
    return [
        SourceFile(
            path=f"{folder}/{name}.py",
            chunks=tuple(draw(st.lists(texts, max_size=5))),
            symbols=tuple(draw(st.lists(names, max_size=3))),
            kind=draw(st.sampled_from(KINDS)),
        )
        for folder, name in folders
    ]


@st.composite
def spread_files(draw: st.DrawFn) -> tuple[list[SegmentFile], list[SourceFile], list[Segment]]:
    """Live files in the order of their sequence, twice, and segments of them and of dead ones."""
    live, dead = draw(source_files()), draw(source_files())
    fates = draw(st.permutations([True] * len(live) + [False] * len(dead)))
    next_live, next_dead = iter(live), iter(dead)
    segments: list[list[tuple[SegmentFile, bool]]] = [[], [], [], []]
    numbered = []
    for sequence, alive in enumerate(fates, 10):
        file = next(next_live if alive else next_dead).numbered(sequence)
        segments[draw(st.integers(0, 3))].append((file, alive))
        numbered += [file] if alive else []
    parts = [
        (
            build_segment([file for file, _ in files]),
            [ordinal for ordinal, (_, alive) in enumerate(files) if not alive],
        )
        for files in segments
    ]
    return numbered, live, list(draw(st.permutations(parts)))


def scores_of(query: str, segments: list[Segment]) -> LexicalScores:
    return score(query_terms(query), [SegmentView(blob, dead) for blob, dead in segments])


@given(spread_files())
def test_merging_gives_byte_for_byte_what_building_the_live_files_gives(
    spread: tuple[list[SegmentFile], list[SourceFile], list[Segment]],
) -> None:
    numbered, _, segments = spread

    merged = merge_segments(segments)

    verify(merged)
    assert merged == build_segment(numbered)
    assert merge_segments([(merge_segments(segments[:2]), []), *segments[2:]]) == merged


@given(spread_files(), texts)
def test_scores_equal_the_formulas_worked_out_by_hand(
    spread: tuple[list[SegmentFile], list[SourceFile], list[Segment]], query: str
) -> None:
    _, live, segments = spread

    scores, expected = scores_of(query, segments), reference_scores(query, live)

    for field in FIELDS:
        np.testing.assert_allclose(getattr(scores, field), expected[field], atol=1e-5, rtol=1e-5)


@given(spread_files(), texts)
def test_scores_and_ranks_are_the_same_to_the_last_bit_for_any_spread(
    spread: tuple[list[SegmentFile], list[SourceFile], list[Segment]], query: str
) -> None:
    numbered, live, segments = spread
    asked, paths = query_terms(query), [file.path for file in live]
    fresh = Corpus([SegmentView(build_segment(numbered))])
    spread_out = Corpus([SegmentView(blob, dead) for blob, dead in segments])

    once, again = score_corpus(asked, fresh), score_corpus(asked, spread_out)

    for field in (*FIELDS, "chunk"):
        assert getattr(once, field).tobytes() == getattr(again, field).tobytes()
    assert (
        Ranking(asked, FileFacts(fresh, paths), once).top(5)
        == Ranking(asked, FileFacts(spread_out, paths), again).top(5)
    )  # fmt: skip


@settings(max_examples=50)
@given(st.lists(st.integers(1, 300_000), min_size=1, max_size=120))
def test_segments_stay_few_and_in_order_whatever_is_committed(commits: list[int]) -> None:
    sizes: list[SegmentSize] = []
    moved = 0
    for commit in commits:
        sizes.append(SegmentSize(commit))
        while groups := plan_merge(sizes):
            for group in reversed(groups):
                assert group == list(range(group[0], group[-1] + 1))
                total = sum(sizes[at].postings for at in group)
                moved += total
                sizes[group[0] : group[-1] + 1] = [SegmentSize(total)]

    total = sum(commits)
    assert sum(size.postings for size in sizes) == total
    assert len(sizes) <= 16
    assert moved <= total * len(commits).bit_length() + len(commits) * 2 * 32_768
