"""The texts that stand for chunks when a model wants text."""

from __future__ import annotations

from contracts.extract import Packed, pack
from contracts.ids import RepoPath
from services.embedder.texts import chunk_texts
from services.extractor.extract import extract_file

SOURCE = '''"""Shapes."""


class Circle:
    """Round."""

    def area(self):
        return {body}


def unrelated():
    return {other}
'''


def extract_of(path: str, data: bytes) -> Packed:
    extract = extract_file(RepoPath(path), data).extract
    assert extract is not None
    return pack(extract)


def test_a_chunk_comes_under_its_path_and_the_symbols_around_it() -> None:
    body = " + ".join(f"width_{number} * height_{number}" for number in range(120))
    other = " + ".join(f"left_{number} * right_{number}" for number in range(120))
    extract = extract_of("geo/shapes.py", SOURCE.format(body=body, other=other).encode())

    texts = chunk_texts("geo/shapes.py", extract)

    assert len(texts) == extract.chunks > 1
    assert all(text.startswith("geo/shapes.py") for text in texts)
    inside = next(text for text in texts if "width_60 " in text)
    assert inside.splitlines()[0] == "geo/shapes.py Circle area"
    assert texts[-1].splitlines()[0] == "geo/shapes.py unrelated"


def test_together_the_chunks_hold_the_whole_file() -> None:
    source = SOURCE.format(body="3.14 * self.radius ** 2", other="0").replace("Round", "Ründ ☃")
    texts = chunk_texts("shapes.py", extract_of("shapes.py", source.encode()))

    body = "".join(text.partition("\n")[2] for text in texts)
    for line in source.split("\n"):
        assert line.strip() in body


def test_bytes_that_are_no_text_do_not_shift_what_follows() -> None:
    lines = [b"word_%d = '\xe9\xe8\xff'" % number for number in range(400)]
    extract = extract_of("latin.py", b"\n".join(lines))

    texts = chunk_texts("latin.py", extract)

    assert len(texts) > 2
    assert texts[1].splitlines()[1].startswith("word_")
    assert "word_399 = " in texts[-1]


def test_a_chunk_beyond_what_the_record_holds_keeps_its_first_line() -> None:
    data = b"\n".join(b"some words on line %d" % number for number in range(8_000))
    texts = chunk_texts("long.txt", extract_of("long.txt", data))

    assert texts[0].startswith("long.txt\nsome words on line 0")
    assert texts[-1] == "long.txt\n"
