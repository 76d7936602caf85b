"""Static vectors: the same bytes whatever the batch, and near things near."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from contracts.errors import NotFound
from contracts.extract import Terms
from services.source.static_model import SCALE, StaticModel
from services.source.terms import TermArrays, build_terms, hash_term

WORDS = [
    "user",
    "cache",
    "token",
    "parser",
    "index",
    "vector",
    "query",
    "chunk",
    "file",
    "error",
    "retry",
    "queue",
    "stream",
]
DIMENSION = 8


def small_model(weight: int = 18_000) -> StaticModel:
    random = np.random.default_rng(7)
    terms = np.sort(np.array([hash_term(word) for word in WORDS], np.uint64))
    table = random.integers(-127, 128, (len(terms), DIMENSION), np.int8)
    weights = random.integers(weight // 2, weight, len(terms), np.int64)
    return StaticModel(terms, table, weights, weights)


def file_of(chunks: list[str], path: str = "src/user_cache.py") -> Terms:
    return build_terms(path, chunks, [["Parser"]] * len(chunks), [], [], [])


def files() -> list[Terms]:
    random = np.random.default_rng(3)
    return [
        file_of(
            [
                " ".join(random.choice(WORDS, random.integers(0, 40)))
                for _ in range(random.integers(0, 6))
            ],
            f"pkg/{WORDS[number % len(WORDS)]}/f{number}.py",
        )
        for number in range(40)
    ]


def whole_number_reference(model: StaticModel, terms: Terms) -> list[list[int]]:
    """The definition of a chunk's vector in Python's whole numbers."""
    arrays = TermArrays.of(terms)
    row_of = {int(term): number for number, term in enumerate(model.terms)}
    rows = []
    for chunk in range(len(arrays.chunk_length)):
        inside = slice(arrays.chunk_offsets[chunk], arrays.chunk_offsets[chunk + 1])
        around = slice(arrays.context_offsets[chunk], arrays.context_offsets[chunk + 1])
        counted = [
            *zip(arrays.chunk_hash[inside], arrays.chunk_tf[inside], strict=True),
            *((term, 1) for term in arrays.context_hash[around]),
        ]
        sums = [0] * model.dimension
        for term, tf in counted:
            row = row_of.get(int(term))
            if row is not None:
                log_tf = round(math.log1p(int(tf)) * 1024)
                factor = (int(model.document_weight[row]) * log_tf + 2**15) >> 16
                sums = [s + factor * int(v) for s, v in zip(sums, model.table[row], strict=True)]
        length = math.sqrt(sum(s * s for s in sums)) or 1.0
        rows.append([round(s / length * SCALE) for s in sums])
    return rows


@pytest.mark.parametrize("weight", [18_000, 50_000_000])
def test_vectors_are_the_exact_weighted_sums(weight: int) -> None:
    model = small_model(weight)

    for terms in files():
        assert model.embed_chunks(terms).tolist() == whole_number_reference(model, terms)


@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_vectors_do_not_depend_on_what_is_embedded_beside_them(size: int) -> None:
    model, together = small_model(), files()

    alone = [model.embed_chunks(terms).tobytes() for terms in together]
    batched = [
        rows.tobytes()
        for at in range(0, len(together), size)
        for rows in model.embed_many(together[at : at + size])
    ]
    assert batched == alone


def test_batches_larger_than_one_gather_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model, together = small_model(), files()
    before = [rows.tobytes() for rows in model.embed_many(together)]

    monkeypatch.setattr("services.source.static_model._BATCH_ELEMENTS", 5)
    assert [rows.tobytes() for rows in model.embed_many(together)] == before


def test_a_chunk_without_a_known_term_has_a_row_of_zeros() -> None:
    model = small_model()

    rows = model.embed_chunks(build_terms("zz.xx", ["qqqq wwww", "user"], [[], []], [], [], []))
    assert rows.dtype == np.int8
    assert not rows[0].any()
    assert rows[1].any()


def test_no_files_and_no_chunks_give_no_rows() -> None:
    model = small_model()

    assert model.embed_many([]) == []
    assert model.embed_chunks(file_of([])).shape == (0, DIMENSION)
    first, second = model.embed_many([file_of([]), file_of(["user"])])
    assert (first.shape, second.shape) == ((0, DIMENSION), (1, DIMENSION))


def test_a_query_is_a_unit_vector_or_zeros() -> None:
    model = small_model()

    assert np.linalg.norm(model.embed_query("parse the user cache")) == pytest.approx(1.0)
    assert not model.embed_query("qqqq").any()
    assert not model.embed_query("").any()


def test_the_space_names_the_weights() -> None:
    assert small_model().space == small_model().space
    assert small_model().space != small_model(9_000).space


def test_a_missing_file_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as raised:
        StaticModel.read(tmp_path / "static_code.npz")
    assert "ops.train" in raised.value.hint


def test_the_shipped_model_is_read_once() -> None:
    model = StaticModel.load()

    assert model is StaticModel.load()
    assert re.fullmatch(r"repofold-static-1/128/unit-int8/[0-9a-f]{8}", model.space)
    assert model.dimension == 128
    assert np.all(np.diff(model.terms.astype(object)) > 0)


PIECES = {
    "retry": "def call(self):\n    for attempt in range(limit):\n        try:\n            return send()\n"
    "        except TimeoutError:\n            sleep(backoff * 2 ** attempt)\n",
    "hash": "def fingerprint(path):\n    digest = sha256()\n    with open(path, 'rb') as file:\n"
    "        digest.update(file.read())\n    return digest.hexdigest()\n",
    "sql": "def rows(self, table):\n    cursor = self.connection.cursor()\n"
    "    cursor.execute('SELECT * FROM ' + table)\n    return cursor.fetchall()\n",
    "html": "def render(self, node):\n    return '<' + node.tag + '>' + escape(node.text) + '</' + "
    "node.tag + '>'\n",
    "auth": "def check(self, user, password):\n    stored = self.credentials[user]\n"
    "    return compare_digest(stored, bcrypt(password, stored))\n",
}


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("try again when the network is slow", "retry"),
        ("checksum of a document", "hash"),
        ("read records from the database", "sql"),
        ("convert an element to markup", "html"),
        ("verify the login secret", "auth"),
    ],
)
def test_the_shipped_model_finds_code_by_words_it_does_not_contain(query: str, answer: str) -> None:
    model = StaticModel.load()
    terms = build_terms("m.py", list(PIECES.values()), [[]] * len(PIECES), [], [], [])

    scores = model.embed_chunks(terms).astype(np.float32) @ model.embed_query(query)
    assert list(PIECES)[int(scores.argmax())] == answer
