"""The training recipe: what it may read, what it reads there, and that it learns."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from contracts.errors import NotFound
from ops.train.archives import Member, members, stated_licence
from ops.train.card import BEGIN, END, Facts, write_facts
from ops.train.check import Quality, measure
from ops.train.fetch import WrongPackage, fetch, sha256
from ops.train.fit import Recipe, fit
from ops.train.mine import Pair, clean, mine, mine_file
from ops.train.pack import pack, write
from ops.train.pairs import assemble, encode
from ops.train.sources import (
    Source,
    debian_licences,
    is_excluded,
    is_permissive,
    licence_of,
    read_sources,
    write_sources,
)
from services.source.static_model import StaticModel


@pytest.mark.parametrize(
    "licence",
    ["MIT", "BSD-3-Clause", "Apache License 2.0", "Apache-2.0 OR GPL-2.0", "Expat", "ISC License"],
)
def test_permissive_licences_are_admitted(licence: str) -> None:
    assert is_permissive(licence)


@pytest.mark.parametrize(
    "licence", ["", "GPL-3.0", "LGPL-2.1+", "MIT AND GPL-2.0", "License", "MPL-2.0", "Zlib"]
)
def test_other_licences_are_not(licence: str) -> None:
    assert not is_permissive(licence)


@pytest.mark.parametrize(
    "name", ["pytest", "Flask", "@vue/express", "librust-tokio-dev", "ruby-puma", "liblucene-java"]
)
def test_benchmark_subjects_are_excluded_under_any_name(name: str) -> None:
    assert is_excluded(name)


def test_every_pinned_source_may_be_used() -> None:
    sources = read_sources()

    assert len({source.group for source in sources}) == len(sources) > 300
    for source in sources:
        assert is_permissive(source.licence), source.group
        assert not is_excluded(source.name), source.group
        assert source.version
        assert all(len(digest) == 64 for digest in source.files.values()), source.group


def test_sources_survive_writing_and_reading(tmp_path: Path) -> None:
    sources = [Source(registry="npm", name="a", version="1", licence="MIT", files={"a.tgz": "0"})]
    path = tmp_path / "sources.json"

    write_sources(sources, path)
    assert read_sources(path) == sources


def test_a_later_pattern_of_a_copyright_file_wins() -> None:
    pairs = debian_licences(
        "Format: x\n\nFiles: *\nCopyright: a\nLicense: Expat\n\n"
        "Files: lib/a.c\n lib/b.c\nCopyright: b\nLicense: GPL-2+\n text\n"
    )

    assert licence_of("src/main.c", pairs) == "Expat"
    assert licence_of("lib/b.c", pairs) == "GPL-2+"


def tarball(path: Path, files: dict[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


def test_an_npm_tarball_gives_its_sources_and_licence(tmp_path: Path) -> None:
    path = tarball(
        tmp_path / "p.tgz",
        {
            "package/package.json": '{"version": "1.2.0", "license": "MIT"}',
            "package/lib/b.js": "b",
            "package/lib/a.js": "a",
            "package/readme.md": "r",
        },
    )

    assert stated_licence("npm", [path]) == ("1.2.0", "MIT")
    assert [m.path for m in members("npm", [path], (".js",))] == ["lib/a.js", "lib/b.js"]


def test_a_wheel_gives_its_python_sources_and_licence(tmp_path: Path) -> None:
    path = tmp_path / "p-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("p/m.py", "x = 1\n")
        wheel.writestr("p/static/bundle.js", "x = 1\n")
        wheel.writestr(
            "p-1.0.dist-info/METADATA",
            "Name: p\nVersion: 1.0\nClassifier: License :: OSI Approved :: MIT License\n",
        )

    assert stated_licence("pypi", [path]) == ("1.0", "MIT License")
    assert [*members("pypi", [path], (".js", ".py"))] == [Member("p/m.py", b"x = 1\n")]


def test_a_debian_source_leaves_out_files_under_another_licence(tmp_path: Path) -> None:
    main = tarball(tmp_path / "p_1.orig.tar.gz", {"p-1/a.c": "a", "p-1/gpl/b.c": "b"})
    copyright_text = "Files: *\nLicense: Expat\n\nFiles: gpl/*\nLicense: GPL-2\n"
    changes = tarball(
        tmp_path / "p_1-1.debian.tar.gz",
        {"debian/copyright": copyright_text, "debian/changelog": "p (1-1) stable; urgency=low\n"},
    )

    assert stated_licence("debian", [main, changes]) == ("1-1", "Expat")
    assert [m.path for m in members("debian", [main, changes], (".c",))] == ["a.c"]


def test_a_file_with_other_bytes_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "npm"
    place.mkdir()
    (place / "a.tgz").write_bytes(b"something")
    good = sha256(place / "a.tgz")

    assert fetch(Source(registry="npm", name="a", files={"a.tgz": good}), tmp_path)
    with pytest.raises(WrongPackage):
        fetch(Source(registry="npm", name="a", files={"a.tgz": "0" * 64}), tmp_path)


PYTHON = b'''
class Store:
    """Keeps the recent answers of the service in memory."""

    def drop_stale_entries(self, now):
        """Forget every answer that is older than its lifetime.

        Args:
            now: the time
        """
        for key, entry in list(self.entries.items()):
            # an entry may be pinned by a reader that has not finished yet
            if entry.readers == 0 and entry.expires < now:
                del self.entries[key]
        if not self.entries:
            raise LookupError("no answer was left in the store")
'''
GO = b"""package a

// Drain waits until all running handlers have come to an end.
func (s *Server) DrainHandlers(ctx context.Context) error {
\tfor s.running > 0 { <-s.finished; s.running-- }
\treturn ctx.Err()
}
"""


def test_a_python_file_gives_pairs_of_every_kind() -> None:
    pairs = {(pair.kind, pair.query): pair for pair in mine_file(Member("a/store.py", PYTHON))}

    doc = pairs["doc", "Forget every answer that is older than its lifetime."]
    assert doc.enclosing == ("Store",)
    assert "Forget" not in doc.body
    assert "entry.expires" in doc.body
    name = pairs["name", "drop_stale_entries"]
    assert "drop_stale_entries" not in name.body
    note = pairs["note", "an entry may be pinned by a reader that has not finished yet"]
    assert note.enclosing == ("Store", "drop_stale_entries")
    assert "pinned" not in note.body
    text = pairs["text", "no answer was left in the store"]
    assert "was left" not in text.body
    assert doc.home == name.home == note.home == text.home


def test_a_comment_before_a_declaration_is_its_documentation() -> None:
    [doc, name] = mine_file(Member("a/server.go", GO))

    assert doc.query == "Drain waits until all running handlers have come to an end."
    assert "Drain waits" not in doc.body
    assert (name.kind, name.query) == ("name", "DrainHandlers")


def test_tests_copies_of_others_and_minified_code_are_left_out() -> None:
    skipped = ["tests/a.py", "x/vendor/a.py", "a/test_b.py", "lib/node_modules/m/a.py"]
    skipped += ["typer/_click/core.py", "pkg/k8s.io/api/a.py", "static/vue.global.js"]

    assert mine([Member(path, PYTHON) for path in skipped], 1, 1) == []
    assert mine_file(Member("a.js", b"var a = 1; // " + b"x" * 5_000)) == []


def test_copies_of_a_file_count_once() -> None:
    pairs = mine([Member(path, PYTHON) for path in ("a.py", "copy/a.py", "b/a.py")], 1, 1)

    assert Counter(pair.kind for pair in pairs if pair.kind != "name") == Counter(
        doc=2, note=1, text=1
    )


@pytest.mark.parametrize(
    ("comment", "prose"),
    [
        (
            "/**\n * Returns the {@link Foo} of a bar.\n * @param x y\n */",
            "Returns the Foo of a bar.",
        ),
        ("# Copyright 2020 by some company here", ""),
        ("// a = b + c;", ""),
        ('"""Say what it does here.\n\n:param x: y\n"""', "Say what it does here."),
        ('f"cannot read {path} of the archive"', "cannot read of the archive"),
    ],
)
def test_only_prose_is_left_of_a_comment(comment: str, prose: str) -> None:
    assert clean(comment) == prose


TOPICS = {
    "network": ("connection timeout retry", "socket send receive host port"),
    "storage": ("save record database", "cursor commit table row insert"),
    "display": ("draw picture screen", "canvas pixel colour width height"),
    "text": ("split sentence words", "token string letter parse grammar"),
}


def pairs_of(package: int) -> list[Pair]:
    random = np.random.default_rng(package)
    pairs = []
    for number in range(64):
        words, code = TOPICS[[*TOPICS][number % len(TOPICS)]]
        query = " ".join(random.permutation(words.split()))
        body = " ".join(random.permutation(code.split() * 2)) + f" item{number % 16}"
        pairs.append(Pair("doc", query, f"p{package}/f.py", (), body, number))
    return pairs


def test_training_brings_words_and_the_code_they_mean_together(tmp_path: Path) -> None:
    corpus = assemble([encode(pairs_of(package)) for package in range(8)], 1_000, 2)
    recipe = Recipe(dimension=16, epochs=30, blocks=2, block_pairs=32, learning_rate=1e-2)
    model = pack(corpus.vocabulary, fit(corpus, recipe, lambda *_: None))

    def nearest(query: str) -> int:
        code = [Pair("doc", "", "q.py", (), body, 0) for _, body in TOPICS.values()]
        scores = [measure(model, [Pair("doc", query, "q.py", (), each.body, 0)]) for each in code]
        assert all(score.queries == 1 for score in scores)
        bags = [encode([each]) for each in code]
        vectors = [
            model.table[
                np.searchsorted(model.terms, np.intersect1d(bag.document_terms, model.terms))
            ]
            .astype(float)
            .sum(0)
            for bag in bags
        ]
        query_vector = model.embed_query(query)
        return int(np.argmax([v @ query_vector / np.linalg.norm(v) for v in vectors]))

    assert [nearest(words) for words, _ in TOPICS.values()] == [0, 1, 2, 3]

    write(model, tmp_path / "model.npz")
    assert StaticModel.read(tmp_path / "model.npz").space == model.space


def test_the_same_pairs_and_seed_give_the_same_model() -> None:
    corpus = assemble([encode(pairs_of(package)) for package in range(2)], 1_000, 2)
    recipe = Recipe(dimension=8, epochs=2, blocks=1, block_pairs=32)

    first, second = (pack(corpus.vocabulary, fit(corpus, recipe, lambda *_: None)) for _ in "ab")
    assert first.space == second.space


def test_the_card_keeps_its_prose(tmp_path: Path) -> None:
    path = tmp_path / "card.md"
    path.write_text(f"# Card\n{BEGIN}\nold\n{END}\nAfterwards.\n", encoding="utf-8")
    facts = Facts(
        "space/8", 9, 1, 2, Counter(doc=2), Counter(py=2), Recipe(), {"npm:a": Quality(2, 0.5, 1.0)}
    )
    source = Source(registry="npm", name="a", version="1", licence="MIT", files={"a.tgz": "abc"})

    write_facts(path, facts, [source])
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Card\n")
    assert text.endswith("Afterwards.\n")
    assert "old" not in text
    assert "| a | 1 | MIT | `abc` |" in text
    with pytest.raises(NotFound):
        write_facts(tmp_path / "none.md", facts, [])
