"""The embedded provider: the same bytes however files are batched, and each file once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from contracts.errors import Poisoned
from contracts.extract import pack
from contracts.ids import RepoPath
from services.embedder.provider import FileToEmbed
from services.embedder.static import StaticProvider
from services.source.static_model import StaticModel
from services.source.words import hash_term
from store.cache import ContentCache
from tests.facts import extract_of

WORDS = ("parse", "request", "token", "cache", "render", "vector", "merge", "queue", "walk", "fold")
pytestmark = pytest.mark.anyio


class Counting(StaticModel):
    """A model that counts the files it embeds."""

    embedded = 0

    def embed_many(self, files):  # type: ignore[no-untyped-def]
        self.embedded += len(files)
        return super().embed_many(files)


@pytest.fixture
def model() -> Counting:
    rng = np.random.default_rng(5)
    terms = np.unique(np.array([hash_term(word) for word in WORDS], np.uint64))
    table = rng.integers(-127, 128, (len(terms), 16)).astype(np.int8)
    weight = rng.integers(1 << 8, 1 << 12, len(terms))
    return Counting(terms, table, weight, weight)


@pytest.fixture
def provider(model: Counting, tmp_path: Path) -> Iterator[StaticProvider]:
    made = StaticProvider(model, ContentCache(tmp_path / "memo", 8 << 20))
    yield made
    made.close()


def files(count: int) -> list[FileToEmbed]:
    rng = np.random.default_rng(9)
    return [
        FileToEmbed(
            RepoPath(f"f{number}.py"),
            pack(extract_of(f"f{number}.py", " ".join(rng.choice(WORDS, 40)))),
        )
        for number in range(count)
    ]


async def test_a_file_has_the_same_vectors_alone_and_among_others(
    provider: StaticProvider, model: Counting, tmp_path: Path
) -> None:
    together = await provider.embed(files(40))
    lonely = StaticProvider(model, ContentCache(tmp_path / "other", 0))
    alone = [(await lonely.embed([file]))[0] for file in files(40)]

    assert [rows.tobytes() for rows in together] == [rows.tobytes() for rows in alone]
    assert all(rows.shape == (1, 16) and rows.dtype == np.int8 for rows in together)
    lengths = [float(np.linalg.norm(rows.astype(np.float64))) for rows in together]
    assert lengths == pytest.approx([127.0] * 40, abs=2.5)


async def test_a_file_met_before_is_not_embedded_again(
    provider: StaticProvider, model: Counting
) -> None:
    first = await provider.embed(files(10))
    again = await provider.embed(files(12))

    assert model.embedded == 12
    assert [rows.tobytes() for rows in again[:10]] == [rows.tobytes() for rows in first]


async def test_the_same_text_at_another_path_is_another_file(
    provider: StaticProvider, model: Counting
) -> None:
    renamed = FileToEmbed(RepoPath("merge.py"), pack(extract_of("merge.py", "parse request")))
    original = FileToEmbed(RepoPath("walk.py"), pack(extract_of("walk.py", "parse request")))

    await provider.embed([original])
    await provider.embed([renamed])

    assert model.embedded == 2


async def test_chunks_without_terms_are_the_records_fault(provider: StaticProvider) -> None:
    extract = pack(extract_of("a.py", "parse"))
    broken = FileToEmbed(RepoPath("a.py"), type(extract)(**{**_fields(extract), "terms": None}))

    with pytest.raises(Poisoned):
        await provider.embed([broken])


async def test_nothing_to_embed_gives_nothing(provider: StaticProvider) -> None:
    assert list(await provider.embed([])) == []


def _fields(extract: object) -> dict[str, object]:
    return {name: getattr(extract, name) for name in extract.__struct_fields__}  # type: ignore[attr-defined]
