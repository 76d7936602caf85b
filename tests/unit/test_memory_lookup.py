"""Reading memories through the tools, over projections folded by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from contracts.errors import InvalidArgument, NotFound, Unavailable
from contracts.ids import RepoId
from contracts.notes import Note
from services.query.notebook.scope import scope_of
from tests import facts
from tests.folded_notes import NOW, SLUG, VECTOR_SPACE, FoldedNotes, memory

pytestmark = pytest.mark.anyio


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[FoldedNotes]:
    folded = FoldedNotes(tmp_path)
    yield folded
    folded.close()


def ids(answer: Any) -> list[int]:
    return [each.id for each in answer.results]


async def test_pages_join_without_gap_and_limits_are_refused(notes: FoldedNotes) -> None:
    notes.put(*(memory(number, f"note {number}", days_ago=number % 3) for number in range(1, 13)))

    pages = [
        await notes.call("memory_list", repository=SLUG, limit=5, offset=at) for at in (0, 5, 10)
    ]

    assert [page.has_more for page in pages] == [True, True, False]
    assert {page.total_count for page in pages} == {12}
    together = [number for page in pages for number in ids(page)]
    assert together == sorted(range(1, 13), key=lambda number: (number % 3, -number))
    assert (await notes.call("memory_list", repository=SLUG)).limit == 8
    for arguments in ({"limit": 51}, {"limit": 0}, {"offset": -1}):
        with pytest.raises(InvalidArgument):
            await notes.call("memory_list", repository=SLUG, **arguments)


async def test_filters_narrow_and_nothing_else_does(notes: FoldedNotes) -> None:
    notes.put(
        memory(1, "gateway", tags="Area:CLI", certainty="verified"),
        memory(2, "gateway", status="deprecated", tags="area:100%"),
        memory(3, "gateway", status="superseded_by", superseded_by=1, memory_type="gotcha"),
    )

    async def found(**arguments: Any) -> set[int]:
        listed = await notes.call("memory_list", repository=SLUG, **arguments)
        queried = await notes.call(
            "memory_query", repository=SLUG, query="gateway", mode="keyword", **arguments
        )
        suggested = await notes.call(
            "memory_suggest", repository=SLUG, files="gateway.py", **arguments
        )
        assert set(ids(listed)) == set(ids(queried)) == set(ids(suggested))
        return set(ids(listed))

    assert await found() == {1, 2, 3}
    assert await found(status="active") == {1}
    assert await found(status="superseded_by") == {3}
    assert await found(memory_type="gotcha") == {3}
    assert await found(certainty="verified") == {1}
    assert await found(tags="a:cli") == {1}
    assert await found(tags="0%") == {2}
    assert await found(tags="_") == set()  # no wildcard
    assert await found(tags="%", status="active") == set()


async def test_an_unknown_repository_is_empty_and_an_unknown_id_an_error(
    notes: FoldedNotes,
) -> None:
    notes.put(memory(1, "one"))

    for tool, arguments in (
        ("memory_list", {}),
        ("memory_query", {"query": "one"}),
        ("memory_suggest", {"files": "one.py"}),
        ("memory_doctor", {}),
        ("memory_gc", {}),
    ):
        answer = await notes.call(tool, repository="nobody/here", **arguments)
        assert answer.count == 0, tool
    assert (await notes.call("memory_stats", repository="nobody/here")).oldest_memory is None
    for repository, number in (("nobody/here", 1), (SLUG, 2)):
        for tool, arguments in (
            ("memory_get", {}),
            ("memory_verify", {"fact": "x"}),
            ("memory_diff", {"content": "x"}),
        ):
            with pytest.raises(NotFound):
                await notes.call(tool, repository=repository, id=number, **arguments)
    for name in ("", " ", "x" * 65, "é" * 33, "a\nb"):
        with pytest.raises(InvalidArgument):
            await notes.call("memory_list", repository=name)


async def test_keyword_answers_are_scored_and_sorted(notes: FoldedNotes) -> None:
    notes.put(
        memory(1, "JWT tokens expire after an hour", tags="topic:auth", days_ago=400),
        memory(2, "Sessions and JWT are kept apart", certainty="verified", days_ago=10),
        memory(3, "Something else"),
    )

    found = await notes.call("memory_query", repository=SLUG, query="the jwt auth", mode="keyword")

    assert ids(found) == [2, 1]
    scores = [each.score for each in found.results]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == round(scores[0], 3)
    assert (
        await notes.call("memory_query", repository=SLUG, query="the and", mode="keyword")
    ).count == 0


async def test_without_an_embedder_hybrid_says_so_and_semantic_fails(notes: FoldedNotes) -> None:
    notes.put(memory(1, "gateway port"))

    hybrid = await notes.call("memory_query", repository=SLUG, query="gateway")

    assert ids(hybrid) == [1]
    assert "no embedder" in hybrid.degraded
    with pytest.raises(Unavailable):
        await notes.call("memory_query", repository=SLUG, query="gateway", mode="semantic")
    long = "a" * 511
    for mode in ("hybrid", "semantic"):
        with pytest.raises(InvalidArgument):
            await notes.call("memory_query", repository=SLUG, query=long, mode=mode)
    assert (
        await notes.call("memory_query", repository=SLUG, query=long, mode="keyword")
    ).count == 0


def _rows(notes: FoldedNotes, table: str) -> int:
    with notes.host.read() as snapshot:
        return snapshot.txn.count(table)


def test_vectors_are_kept_once_and_only_of_the_present_text(notes: FoldedNotes) -> None:
    old, new = memory(1, "old"), memory(1, "new")
    notes.put(old)
    notes.vectors(old, (1, 2, 3, 4))
    notes.vectors(old, (4, 3, 2, 1))
    assert (_rows(notes, "note_vectors"), _rows(notes, "note_vector_order")) == (1, 1)

    notes.put(new, change="merged")
    assert (_rows(notes, "note_vectors"), _rows(notes, "note_vector_order")) == (0, 0)
    notes.vectors(old, (1, 2, 3, 4))  # late
    assert (_rows(notes, "note_vectors"), _rows(notes, "note_vector_order")) == (0, 0)
    notes.vectors(new, (1, 2, 3, 4))
    notes.vectors(new)  # made anew, without any
    assert (_rows(notes, "note_vectors"), _rows(notes, "note_vector_order")) == (0, 0)


class _Embedder:
    """A question's vector as the test wants it."""

    space = VECTOR_SPACE
    fault = None

    def vector(self, _text: str) -> Any:
        import numpy as np

        return np.array([1, 0, 0, 0], np.float32)


async def test_hybrid_fuses_ranks_and_semantic_sorts_by_cosine(tmp_path: Path) -> None:
    notes = FoldedNotes(tmp_path, embed_provider="static")
    notes.host.retrieval._embedder = _Embedder()  # type: ignore[assignment]
    near, far, word = memory(1, "alpha"), memory(2, "beta"), memory(3, "gateway", days_ago=400)
    old = memory(4, "delta", status="deprecated")
    notes.put(near, far, word, old)
    notes.vectors(near, (126, 10, 0, 0))
    notes.vectors(far, (0, 127, 0, 0), (60, 110, 0, 0))
    notes.vectors(old, (127, 0, 0, 0))
    notes.vectors(word, (127, 0, 0, 0), space="other/4")  # of another space: never compared

    semantic = await notes.call("memory_query", repository=SLUG, query="gateway", mode="semantic")
    hybrid = await notes.call("memory_query", repository=SLUG, query="gateway")
    active = await notes.call(
        "memory_query", repository=SLUG, query="gateway", mode="semantic", status="active", limit=1
    )

    assert ids(semantic) == [4, 1, 2]
    assert [round(each.score, 2) for each in semantic.results] == [1.0, 0.99, 0.47]
    assert ids(hybrid) == [3, 4, 1, 2]  # first of each list, ties by number
    assert [round(each.score, 5) for each in hybrid.results] == [
        round(1 / 61, 5), round(1 / 61, 5), round(1 / 62, 5), round(1 / 63, 5),
    ]  # fmt: skip
    assert hybrid.degraded is None
    assert ids(active) == [1]

    changed = memory(1, "alpha changed")
    notes.put(changed, change="merged")
    assert ids(await notes.call("memory_query", repository=SLUG, query="x", mode="semantic")) == [
        4,
        2,
    ]
    notes.vectors(changed, (100, 78, 0, 0))
    assert ids(await notes.call("memory_query", repository=SLUG, query="x", mode="semantic")) == [
        4,
        1,
        2,
    ]
    notes.put(memory(4, "delta", exists=False), change="deleted")
    assert ids(await notes.call("memory_query", repository=SLUG, query="x", mode="semantic")) == [
        1,
        2,
    ]
    notes.close()


async def test_suggestions_come_from_paths_and_their_neighbourhood(notes: FoldedNotes) -> None:
    notes.put(
        memory(1, "Tokens are signed with RS256, jwt", days_ago=400),
        memory(2, "Nothing of the kind", tags="area:auth", days_ago=400),
        memory(3, "See src/auth/ for the flow", days_ago=400),
        memory(4, "Unrelated", days_ago=400),
    )

    found = await notes.call(
        "memory_suggest", repository=SLUG, files=" ./src//auth\\jwt.ts , ,src/auth/jwt.ts"
    )

    assert found.files == ("src/auth/jwt.ts",)
    assert found.normalized_path_terms == ("src", "auth", "jwt", "ts")
    assert (found.neighborhood.tags, found.neighborhood.paths) == (("auth",), ("src/auth/",))
    assert set(ids(found)) == {1, 2, 3}
    score_of = {each.id: each.score for each in found.results}
    assert score_of[2] == 10 + 8 + 12  # certainty, a tag that holds the term, the neighbourhood
    root = await notes.call("memory_suggest", repository=SLUG, files="Makefile", query="signed")
    assert root.neighborhood.tags == root.neighborhood.paths == ()
    assert ids(root) == [1]
    with pytest.raises(InvalidArgument):
        await notes.call("memory_suggest", repository=SLUG, files=" , ./")


async def test_verify_and_diff_compare_the_content(notes: FoldedNotes) -> None:
    notes.put(memory(1, "Deploy from main", context="never from a branch"))

    same = await notes.call("memory_verify", repository=SLUG, id=1, fact="deploy from MAIN")
    denied = await notes.call("memory_verify", repository=SLUG, id=1, fact="Never deploy from main")
    diff = await notes.call("memory_diff", repository=SLUG, id=1, content="Deploy from release")

    assert (same.ok, same.result, same.similarity, same.warning) == (True, "consistent", 1.0, None)
    assert (denied.ok, denied.result, denied.warning) == (False, "conflict", "Conflict")
    assert (diff.added_terms, diff.removed_terms, diff.conflict) == (("release",), ("main",), True)
    assert (await notes.call("memory_get", repository=SLUG, id=1)).content == "Deploy from main"


async def test_gc_lists_what_outlived_its_days_and_keeps_it(notes: FoldedNotes) -> None:
    notes.put(
        memory(1, "old", memory_type="status", expires_after_days=14, days_ago=15),
        memory(2, "older", memory_type="status", expires_after_days=14, days_ago=20),
        memory(3, "young", memory_type="status", expires_after_days=14, days_ago=13),
        memory(
            4,
            "retired",
            memory_type="status",
            expires_after_days=1,
            days_ago=9,
            status="deprecated",
        ),
        memory(5, "exact", memory_type="status", expires_after_days=14, days_ago=14),
    )

    found = await notes.call("memory_gc", repository=SLUG)

    assert (found.dry_run, found.count, found.ids) == (True, 3, (2, 1, 5))
    assert (await notes.call("memory_list", repository=SLUG)).total_count == 5
    notes.put(
        memory(1, "old", memory_type="status", expires_after_days=14, update_count=1),
        change="merged",
    )
    assert (await notes.call("memory_gc", repository=SLUG)).ids == (2, 5)


async def test_stats_count_every_status(notes: FoldedNotes) -> None:
    notes.put(
        memory(1, "a", tags="x, X ,y", days_ago=100, created_days_ago=200),
        memory(2, "b", status="deprecated", memory_type="gotcha", certainty="verified"),
        memory(3, "c", status="superseded_by", tags="y"),
    )

    found = await notes.call("memory_stats", repository=SLUG)

    assert (found.total_memories, found.active, found.deprecated, found.superseded) == (3, 1, 1, 1)
    assert found.breakdown_by_memory_type == {"convention": 2, "gotcha": 1}
    assert found.breakdown_by_certainty == {"verified": 1, "inferred": 2}
    assert found.tag_frequency_map == {"y": 2, "x": 1}
    assert found.oldest_memory.id == 1
    assert (found.memories_not_updated_over_90_days, found.memories_with_no_tags) == (1, 1)


async def test_repositories_are_listed_by_slug_with_their_counts(notes: FoldedNotes) -> None:
    notes.put(
        memory(1, "a"), memory(2, "b", status="deprecated"), memory(3, "c", status="superseded_by"),
        memory(4, "d", repo="a/first"), memory(5, "e", repo="z/gone", exists=False),
        memory(6, "f", repo="z/brief", expires_ms=NOW + 1_000),
        replace(memory(7, "g", repo="z/plain"), facts=None),
    )  # fmt: skip

    found = await notes.call("list_repositories")

    rows = [(r.slug, r.total, r.active, r.deprecated, r.superseded) for r in found.repositories]
    assert rows == [("a/first", 1, 1, 0, 0), (SLUG, 3, 1, 1, 1), ("z/brief", 1, 1, 0, 0)]
    page = await notes.call("list_repositories", limit=1, offset=1)
    assert (page.count, page.total_count, page.has_more) == (1, 3, True)
    notes.now_ms = NOW + 1_000
    assert (await notes.call("list_repositories")).total_count == 2


async def test_an_expired_note_is_gone_at_once_everywhere(notes: FoldedNotes) -> None:
    notes.put(memory(1, "brief gateway note", expires_ms=NOW + 1_000), memory(2, "gateway"))
    assert (await notes.call("memory_list", repository=SLUG)).total_count == 2
    assert len((await notes.call("repocontext_search", repoId=SLUG, query="gateway")).hits) == 2

    notes.now_ms = NOW + 1_000

    assert ids(await notes.call("memory_list", repository=SLUG)) == [2]
    assert ids(
        await notes.call("memory_query", repository=SLUG, query="gateway", mode="keyword")
    ) == [2]
    assert len((await notes.call("repocontext_search", repoId=SLUG, query="gateway")).hits) == 1
    with pytest.raises(NotFound):
        await notes.call("memory_get", repository=SLUG, id=1)
    notes.put(memory(1, "brief gateway note", expires_ms=NOW + 9_000), change="expiry_extended")
    assert (await notes.call("memory_get", repository=SLUG, id=1)).id == 1


async def test_notes_of_other_tools_are_no_memories(notes: FoldedNotes) -> None:
    plain = Note(
        repo_id=RepoId(SLUG),
        topic="design",
        id="one",
        title="Gateway",
        created_ms=NOW,
        updated_ms=NOW,
    )
    notes.put(memory(1, "gateway"), plain)

    assert ids(await notes.call("memory_list", repository=SLUG)) == [1]
    assert ids(
        await notes.call("memory_query", repository=SLUG, query="gateway", mode="keyword")
    ) == [1]
    found = await notes.call("repocontext_search", repoId=SLUG, query="gateway")
    assert {hit.entry.key for hit in found.hits} == {
        "repo/owner%2Fdemo/mem/machine-memory/1", "repo/owner%2Fdemo/mem/design/one",
    }  # fmt: skip


async def test_a_removed_repository_takes_its_memories_along(notes: FoldedNotes) -> None:
    notes.log(facts.registered())
    notes.put(memory(1, "before", repo="demo"), generation=1)
    assert (await notes.call("memory_list", repository="demo")).total_count == 1

    notes.log(facts.removed_repo(2))

    assert (await notes.call("memory_list", repository="demo")).total_count == 0
    assert (await notes.call("list_repositories")).total_count == 0
    notes.put(memory(2, "late", repo="demo"), generation=1)  # decided before the removal
    assert (await notes.call("memory_list", repository="demo")).total_count == 0


async def test_two_clones_of_one_origin_share_what_is_kept_under_its_name(
    notes: FoldedNotes,
) -> None:
    from contracts.events.log import RepoRegistered, WalkFilters

    for name in ("one", "two"):
        event = RepoRegistered(
            repo_id=RepoId(name), root=f"/{name}", filters=WalkFilters(), display_name=name, aliases=(SLUG,),
            index_generation=1, memory_generation=1,
        )  # fmt: skip
        notes.log(facts.wrap(event, repo=name))
    notes.put(memory(1, "of one", repo="one"), memory(2, "of two", repo="two"), generation=1)
    notes.put(memory(3, "shared"))

    assert sorted(ids(await notes.call("memory_list", repository=SLUG))) == [1, 2, 3]
    assert sorted(ids(await notes.call("memory_list", repository="one"))) == [1, 3]
    assert sorted(ids(await notes.call("memory_list", repository="two"))) == [2, 3]
    with notes.host.read() as snapshot:
        assert scope_of(snapshot, SLUG).home == SLUG
    found = await notes.call("list_repositories")
    assert {r.slug: r.total for r in found.repositories} == {"one": 1, "two": 1, SLUG: 1}


async def test_an_idle_book_is_let_go_and_read_again(
    notes: FoldedNotes, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes.put(*(memory(number, f"note {number}") for number in range(1, 101)))
    books = notes.host.notebooks
    with notes.host.read() as snapshot:
        assert not books.is_quick(snapshot, scope_of(snapshot, SLUG))
        assert (await notes.call("memory_list", repository=SLUG)).total_count == 100
        assert books.is_quick(snapshot, scope_of(snapshot, SLUG))
        monkeypatch.setattr("services.query.notebook.books._IDLE_S", -1.0)
        books.sweep()
        assert not books.is_quick(snapshot, scope_of(snapshot, SLUG))
    assert (await notes.call("memory_list", repository=SLUG)).total_count == 100


async def test_a_book_follows_as_one_that_is_read_at_once(
    notes: FoldedNotes, tmp_path: Path
) -> None:
    steps = [
        memory(1, "alpha"), memory(2, "beta"), memory(1, "alpha two", update_count=1), memory(2, "beta", exists=False),
        memory(3, "gamma", expires_ms=NOW + 5), memory(2, "beta back"), memory(3, "gamma", expires_ms=NOW - 5),
    ]  # fmt: skip
    for step in steps:
        notes.put(step)
        await notes.call("memory_list", repository=SLUG)
    fresh = FoldedNotes(tmp_path / "fresh")
    fresh.put(*steps)

    for query in ("alpha", "beta", "gamma", "two back"):
        answers = [
            await each.call("memory_query", repository=SLUG, query=query, mode="keyword")
            for each in (notes, fresh)
        ]
        assert answers[0] == answers[1]
    fresh.close()
