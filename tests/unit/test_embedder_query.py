"""Vectors of questions: the same space as the stored ones, and no waiting for what is down."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from services.kernel.settings import Settings
from services.source.embedding import Breaker, QueryEmbedder
from services.source.static_model import StaticModel
from tests.embedding_server import EmbeddingServer, serving, vector_of


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with serving() as running:
        yield running


def remote(server: EmbeddingServer) -> QueryEmbedder:
    return QueryEmbedder(Settings(embed_provider="http", embed_url=server.url, embed_model="m"))


def test_the_embedded_model_answers_in_its_own_space() -> None:
    embedder = QueryEmbedder(Settings())
    vector = embedder.vector("parse the request")

    assert embedder.space == StaticModel.load().space
    assert vector is not None
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_a_question_without_a_known_word_has_no_vector() -> None:
    assert QueryEmbedder(Settings()).vector("???") is None


def test_without_a_provider_there_is_neither_space_nor_vector() -> None:
    embedder = QueryEmbedder(Settings(embed_provider="none"))

    assert (embedder.space, embedder.vector("anything")) == ("", None)


def test_a_provider_that_is_not_set_up_is_told_not_raised() -> None:
    embedder = QueryEmbedder(Settings(embed_provider="http"))

    assert (embedder.space, embedder.vector("anything")) == ("", None)
    assert embedder.fault is not None


def test_a_remote_question_has_unit_length_and_is_asked_once(server: EmbeddingServer) -> None:
    embedder = remote(server)
    expected = np.array(vector_of("how?"), np.float32)

    first, second = embedder.vector("how?"), embedder.vector("how?")

    assert first is not None
    assert first == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)
    assert second is first
    assert server.asked == [["how?"]]


def test_the_space_is_learned_from_the_server(server: EmbeddingServer) -> None:
    embedder = remote(server)

    assert embedder.space == "http:m/8/unit-int8/1"
    assert embedder.space == embedder.space
    assert len(server.asked) == 1


def test_a_server_that_failed_is_left_alone(server: EmbeddingServer) -> None:
    asked = []
    server.fail = lambda texts: asked.append(texts) or (500, {}, b"")  # type: ignore[func-returns-value]
    embedder = remote(server)

    assert [embedder.vector(text) for text in ("a", "b", "c")] == [None, None, None]
    assert embedder.space == ""
    assert len(asked) == 1
    assert embedder.breaker.is_open
    assert 0 < embedder.breaker.probe_due_in_s <= 5
    assert embedder.fault is not None


def test_looking_at_the_space_asks_no_server(server: EmbeddingServer) -> None:
    embedder = remote(server)

    assert (embedder.known_space, server.asked) == ("", [])
    assert embedder.space == embedder.known_space != ""


def test_a_server_that_stays_away_is_tried_every_minute() -> None:
    clock = Clock()
    breaker = Breaker(clock, rests_s=(5.0, 60.0))
    rests = []

    for _ in range(6):
        breaker.failed()
        rests.append(breaker.probe_due_in_s)

    assert rests == [5, 10, 20, 40, 60, 60]


def test_a_question_that_is_refused_does_not_count_against_the_server(
    server: EmbeddingServer,
) -> None:
    server.fail = lambda texts: (400, {}, b"") if texts == ["bad"] else None
    embedder = remote(server)

    assert embedder.vector("bad") is None
    assert embedder.vector("good") is not None


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_rests_double_from_a_minute_to_a_quarter_of_an_hour_with_one_probe_each() -> None:
    clock = Clock()
    breaker = Breaker(clock)
    rests = []

    breaker.failed()
    for _ in range(6):
        rests.append(breaker.probe_due_in_s)
        clock.now += rests[-1] - 1
        assert not breaker.admits()
        clock.now += 1
        assert breaker.probe_due_in_s == 0
        assert breaker.admits()
        assert not breaker.admits()
        breaker.failed()

    assert rests == [60, 120, 240, 480, 900, 900]


def test_a_success_closes_the_breaker_at_once() -> None:
    breaker = Breaker(Clock())
    breaker.failed()
    breaker.succeeded()

    assert breaker.admits()
    assert breaker.admits()
    assert (breaker.is_open, breaker.probe_due_in_s) == (False, 0.0)


def test_looking_at_the_breaker_does_not_use_up_its_probe() -> None:
    clock = Clock()
    breaker = Breaker(clock)
    breaker.failed()
    clock.now += 60

    assert (breaker.is_open, breaker.probe_due_in_s) == (True, 0.0)
    assert breaker.admits()
