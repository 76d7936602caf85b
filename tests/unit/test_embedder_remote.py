"""The remote provider against a server that behaves and misbehaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from contracts.errors import InvalidArgument, Poisoned
from contracts.extract import pack
from contracts.ids import RepoPath
from services.embedder.provider import FileToEmbed
from services.embedder.remote import RemoteProvider
from services.embedder.texts import chunk_texts
from services.kernel.consumer import Outage
from services.source.embedding_endpoint import Endpoint, EndpointDown, TextRefused
from store.cache import ContentCache
from tests.embedding_server import DIMENSION, EmbeddingServer, serving, vector_of
from tests.facts import extract_of

pytestmark = pytest.mark.anyio
REFUSED = (400, {}, b'{"error": "maximum context length exceeded"}')
BUSY = (429, {"Retry-After": "0"}, b"")


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with serving() as running:
        yield running


@pytest.fixture
def provider(server: EmbeddingServer, tmp_path: Path) -> Iterator[RemoteProvider]:
    made = remote(server.url, tmp_path)
    yield made
    made.close()


def remote(url: str, folder: Path, **options: object) -> RemoteProvider:
    endpoint = Endpoint(url, "test-model", timeout_s=10, **{"tries": 2, **options})  # type: ignore[arg-type]
    return RemoteProvider(endpoint, ContentCache(folder / "memo", 8 << 20), batch=4)


def file_of(path: str, text: str) -> FileToEmbed:
    return FileToEmbed(RepoPath(path), pack(extract_of(path, text)))


def unit(text: str) -> np.ndarray:
    vector = np.array(vector_of(text), np.float32)
    return vector / np.linalg.norm(vector)


async def test_vectors_are_those_of_the_chunks_texts_of_unit_length_in_bytes(
    provider: RemoteProvider,
) -> None:
    await provider.prepare()
    files = [file_of(f"f{number}.py", f"text {number}") for number in range(11)]

    vectors = await provider.embed(files)

    assert provider.dimension == DIMENSION
    assert provider.space.startswith(f"http:test-model/{DIMENSION}/")
    for file, rows in zip(files, vectors, strict=True):
        (text,) = chunk_texts(file.path, file.extract)
        assert rows.dtype == np.int8
        assert np.abs(rows[0] / 127 - unit(text)).max() < 0.5 / 127 + 1e-6


async def test_requests_are_as_large_as_allowed_and_each_text_is_asked_for_once(
    provider: RemoteProvider, server: EmbeddingServer
) -> None:
    await provider.prepare()
    server.asked.clear()
    files = [file_of("same.py", "same text"), file_of("same.py", "same text")]
    files += [file_of(f"f{number}.py", "x") for number in range(8)]

    vectors = await provider.embed(files)
    await provider.embed(files)

    assert sorted(map(len, server.asked)) == [1, 4, 4]
    assert np.array_equal(vectors[0], vectors[1])


async def test_the_length_is_known_beforehand_when_the_settings_tell_it(
    server: EmbeddingServer, tmp_path: Path
) -> None:
    made = remote(server.url, tmp_path, dimension=DIMENSION)

    await made.prepare()

    assert server.asked == []
    assert made.space.startswith(f"http:test-model/{DIMENSION}/")
    made.close()


async def test_a_server_that_is_not_there_is_an_outage(tmp_path: Path) -> None:
    with serving() as gone:
        url = gone.url
    made = remote(url, tmp_path, tries=1)

    with pytest.raises(Outage) as caught:
        await made.prepare()
    assert "REPOFOLD_EMBED_URL" in caught.value.hint
    made.close()


async def test_a_busy_server_is_asked_again(
    provider: RemoteProvider, server: EmbeddingServer
) -> None:
    answers = [BUSY]
    server.fail = lambda _: answers.pop() if answers else None

    await provider.prepare()

    assert server.asked == [["dimension"]]


async def test_what_was_answered_before_an_outage_is_not_asked_for_again(
    provider: RemoteProvider, server: EmbeddingServer
) -> None:
    await provider.prepare()
    server.asked.clear()
    files = [file_of(f"f{number}.py", "x") for number in range(20)]
    server.fail = lambda _: (401, {}, b"") if len(server.asked) >= 2 else None
    with pytest.raises(Outage) as caught:
        await provider.embed(files)
    assert "REPOFOLD_EMBED_API_KEY_FILE" in caught.value.hint

    server.fail = lambda _: None
    await provider.embed(files)

    asked = [text for texts in server.asked for text in texts]
    assert len(asked) == len(set(asked)) == 20


async def test_a_text_too_long_for_the_model_is_cut_and_its_neighbours_are_not(
    provider: RemoteProvider, server: EmbeddingServer
) -> None:
    await provider.prepare()
    server.asked.clear()
    server.fail = lambda texts: REFUSED if sum(map(len, texts)) > 700 else None
    short, long = file_of("short.py", "brief"), file_of("long.py", "word " * 400)

    vectors = await provider.embed([short, long])

    assert [len(rows) for rows in vectors] == [1, 1]
    texts = [text for asked in server.asked for text in asked]
    assert "short.py\nbrief" in texts
    assert any(text.startswith("long.py\nword") and len(text) <= 700 for text in texts)


async def test_a_text_the_server_never_takes_is_the_files_fault(
    provider: RemoteProvider, server: EmbeddingServer
) -> None:
    await provider.prepare()
    server.fail = lambda texts: REFUSED if any("cursed" in text for text in texts) else None

    with pytest.raises(Poisoned):
        await provider.embed([file_of("a.py", "cursed " * 200), file_of("b.py", "fine")])


async def test_a_server_that_takes_no_text_at_all_is_an_outage(
    provider: RemoteProvider, server: EmbeddingServer
) -> None:
    await provider.prepare()
    server.fail = lambda _: REFUSED

    with pytest.raises(Outage):
        await provider.embed([file_of("a.py", "word " * 200)])


@pytest.mark.parametrize(
    "answer",
    [
        b"not json",
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": [1, 2, 3]}]}',
        b'{"data": [{"index": 0, "embedding": [0, 0, 0, 0, 0, 0, 0, 0]}]}',
        b'{"data": [{"index": 0, "embedding": "AAAA"}]}',
    ],
)
async def test_an_answer_that_is_no_vector_of_this_space_is_never_stored(
    provider: RemoteProvider, server: EmbeddingServer, answer: bytes
) -> None:
    await provider.prepare()
    server.fail = lambda _: (200, {}, answer)

    with pytest.raises(Outage):
        await provider.embed([file_of("a.py", "x")])


def test_the_key_is_read_for_each_request(server: EmbeddingServer, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("first\n")
    endpoint = Endpoint(server.url, "m", key_file=str(key), tries=1)

    endpoint.embed(["a"])
    key.write_text("second\n")
    endpoint.embed(["b"])
    key.unlink()

    assert server.keys == ["Bearer first", "Bearer second"]
    with pytest.raises(EndpointDown):
        endpoint.embed(["c"])


def test_a_connection_closed_by_the_server_meanwhile_is_no_failure(server: EmbeddingServer) -> None:
    endpoint = Endpoint(server.url, "m", tries=1)
    server.fail = lambda _: (400, {"Connection": "close"}, b"")
    with pytest.raises(TextRefused):
        endpoint.embed(["a"])
    server.fail = lambda _: None

    assert endpoint.embed(["a", "b"]).shape == (2, DIMENSION)
    assert endpoint.embed(["c"]).shape == (1, DIMENSION)


@pytest.mark.parametrize(
    ("url", "model"), [("", "m"), ("ftp://host/v1", "m"), ("http://host/v1", "")]
)
def test_an_endpoint_that_is_not_set_up_is_refused_with_a_hint(url: str, model: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        Endpoint(url, model)
    assert "REPOFOLD_EMBED_URL" in caught.value.hint
