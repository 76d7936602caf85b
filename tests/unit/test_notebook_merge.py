"""Notes among files: where they stand, and that they never crowd the files out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from contracts.ids import RepoId
from contracts.notes import Note
from services.query.notebook.merge import NoteHit, interleaved
from tests import facts
from tests.folded_notes import NOW, VECTOR_SPACE, FoldedNotes, memory

pytestmark = pytest.mark.anyio
REPO = "demo"


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[FoldedNotes]:
    folded = FoldedNotes(tmp_path)
    folded.log(facts.registered())
    folded.index(
        facts.recorded("src/upload.py", "def upload(): retry the upload of a file with backoff\n" * 3, 1, names=("upload",)),
        *(
            facts.recorded(f"src/part{number}.py", f"def part{number}(): upload handler {number} of the file\n", number, names=(f"part{number}",))
            for number in range(2, 30)
        ),
    )  # fmt: skip
    yield folded
    folded.close()


async def hits(notes: FoldedNotes, query: str, k: int = 10) -> list[Any]:
    found = await notes.call("repocontext_search", repoId=REPO, query=query, k=k)
    return list(found.hits)


def is_note(hit: Any) -> bool:
    return "/mem/" in hit.entry.key


async def test_a_note_that_is_about_the_question_comes_first(notes: FoldedNotes) -> None:
    notes.put(
        memory(
            1,
            "Gateway connections are dropped after ninety seconds, so keep uploads short",
            repo=REPO,
        ),
        generation=1,
    )

    assert is_note((await hits(notes, "why are gateway connections dropped"))[0])
    assert (await hits(notes, "upload retry backoff"))[0].entry.path == "src/upload.py"


async def test_files_keep_their_scores_and_order_whatever_is_remembered(notes: FoldedNotes) -> None:
    before = [(hit.entry.key, hit.score) for hit in await hits(notes, "upload file backoff", 29)]
    notes.put(
        *(memory(number, f"upload file backoff {number}", repo=REPO) for number in range(1, 400)),
        generation=1,
    )

    after = [hit for hit in await hits(notes, "upload file backoff", 100) if not is_note(hit)]

    assert [(hit.entry.key, hit.score) for hit in after] == before


async def test_thousands_of_notes_do_not_drown_the_files(notes: FoldedNotes) -> None:
    notes.put(
        *(memory(number, f"upload file backoff {number}", repo=REPO) for number in range(1, 3_001)),
        generation=1,
    )

    shown = await hits(notes, "upload file backoff", 10)

    assert sum(map(is_note, shown)) == 3
    assert next(hit for hit in shown if not is_note(hit)).entry.path == "src/upload.py"


async def test_reasons_of_words_come_in_their_order(notes: FoldedNotes) -> None:
    note = Note(
        repo_id=RepoId(REPO), topic="sharding", id="plan-sharding", kind="Decision", title="Sharding plan",
        body="We shard by tenant", tags=("sharding", "zeta", "database"), created_ms=NOW, updated_ms=NOW,
    )  # fmt: skip
    notes.put(note, generation=1)

    (found,) = [hit for hit in await hits(notes, "database sharding plan") if is_note(hit)]

    assert found.reasons == (
        "tag:database", "tag:sharding", "topic-match", "content-match", "key-match",
    )  # fmt: skip
    assert (found.entry.topic, found.entry.id) == ("sharding", "plan-sharding")


class _Embedder:
    space = VECTOR_SPACE
    fault = None

    def vector(self, _text: str) -> Any:
        return np.array([1, 0, 0, 0], np.float32)


async def test_reasons_of_meaning_name_chunk_and_topic(tmp_path: Path) -> None:
    notes = FoldedNotes(tmp_path, embed_provider="static")
    notes.host.retrieval._embedder = _Embedder()  # type: ignore[assignment]
    note = memory(1, "alpha", repo=REPO)
    notes.put(note)
    notes.vectors(note, (100, 70, 0, 0))

    found = await notes.call("repocontext_search", repoId=REPO, query="something else entirely")

    assert (found.mode, found.retrieval_path) == ("semantic", "semantic.exact")
    assert found.hits[0].reasons == ("semantic", "chunk:memory", "topic:machine-memory")
    notes.close()


async def test_a_repository_without_notes_or_files_answers_empty(notes: FoldedNotes) -> None:
    assert await hits(notes, "zzzz") == []
    empty = await notes.call("repocontext_search", repoId="nobody", query="upload")
    assert (empty.mode, empty.hits) == ("empty", ())


@given(
    st.lists(st.floats(0.01, 1), max_size=30),
    st.lists(st.floats(0.01, 2), max_size=30),
    st.integers(1, 40),
)
def test_merging_keeps_both_orders_and_the_notes_share(
    files: list[float], notes: list[float], limit: int
) -> None:
    ranked = [(number, score) for number, score in enumerate(sorted(files, reverse=True))]
    shown = [
        NoteHit(replace(memory(1, "x"), id=str(number)), score, (), False)
        for number, score in enumerate(sorted(notes, reverse=True))
    ]

    merged = interleaved(ranked, shown, limit)

    assert len(merged) == min(limit, len(files) + len(notes))
    of_files = [each for each in merged if isinstance(each, int)]
    of_notes = [int(each.note.id) for each in merged if isinstance(each, NoteHit)]
    assert of_files == list(range(len(of_files)))
    assert of_notes == list(range(len(of_notes)))
    score_of = dict(ranked)
    scores = [score_of[each] if isinstance(each, int) else each.score for each in merged]
    assert scores == sorted(scores, reverse=True)
    for length in range(1, len(merged) + 1):
        part = merged[:length]
        placed = sum(isinstance(each, NoteHit) for each in part)
        if len(of_files) < len(files) or isinstance(part[-1], int):
            assert placed <= 1 + (length - placed) // 3 + 1
