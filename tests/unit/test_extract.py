"""The extractor takes any bytes, within bounds, and always says the same about the same bytes."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.extract import (
    EXTRACTOR_VERSION,
    PROJECTION_CHARS,
    REFERENCE_KINDS,
    Extract,
    compressed,
    decompressed,
)
from contracts.ids import RepoPath
from services.extractor import chunks, grammar, languages, references
from services.extractor.extract import extract_file, extract_files
from services.source import tokens
from services.source.charset import to_utf8

LANGUAGES = {
    "python": "a.py", "javascript": "a.js", "typescript": "a.ts", "tsx": "a.tsx", "java": "A.java",
    "csharp": "A.cs", "go": "a.go", "rust": "a.rs", "c": "a.c", "cpp": "a.cpp", "ruby": "a.rb",
    "php": "a.php", "vue": "a.vue", "svelte": "a.svelte",
}  # fmt: skip
PYTHON = b'"""Doc."""\nimport os\n\n\ndef run(path: str) -> None:\n    os.remove(path)\n'


def extracted(path: str, data: bytes) -> Extract:
    found = extract_file(RepoPath(path), data)
    assert found.extract is not None, found
    assert found.skipped_detail == ""
    return found.extract


def text_of(extract: Extract) -> str:
    return decompressed(extract.text).decode()


def names(extract: Extract) -> list[str]:
    return [symbol.fq_name for symbol in extract.symbols]


def test_an_extract_says_who_made_it_and_measures_the_file():
    extract = extracted("pkg/a.py", PYTHON)
    assert extract.extractor_version == EXTRACTOR_VERSION
    assert extract.quality == "full"
    assert extract.line_count == 6
    assert extract.token_count == tokens.count(PYTHON.decode())
    assert text_of(extract) == PYTHON.decode()
    assert names(extract) == ["pkg.a.run"]


@pytest.mark.parametrize("path", [*LANGUAGES.values(), "a.md", "a.json", "a.unknown", "a"])
def test_an_empty_file_gives_an_empty_extract(path):
    extract = extracted(path, b"")
    assert extract.line_count == 0
    assert extract.token_count == 0
    assert extract.chunks == ()
    assert text_of(extract) == ""


@pytest.mark.parametrize("path", LANGUAGES.values())
def test_blank_files_have_no_chunks(path):
    assert extracted(path, b" \n\t\r\n\n").chunks == ()


def test_undecodable_bytes_become_replacement_characters_and_offsets_stay_raw():
    data = b"# \xff\xfe\xe4\n\xc3\x28 = 1\ndef after(): pass\n"
    extract = extracted("a.py", data)
    assert text_of(extract) == data.decode(errors="replace")
    after = next(symbol for symbol in extract.symbols if symbol.name == "after")
    assert data[after.start_byte : after.end_byte] == b"def after(): pass"
    assert (after.start_line, after.end_line) == (3, 3)


def test_columns_and_spans_count_bytes_not_characters():
    data = 'é = "ü"; größe(é)\n'.encode()
    extract = extracted("a.py", data)
    assert extract.references is not None
    column = np.frombuffer(extract.references.column, "<u4").tolist()
    assert data[column[0] :].startswith("größe".encode())
    assert extract.references.strings[0] == "größe"


def test_a_byte_order_mark_is_left_out_of_the_text_but_counts_in_offsets():
    extract = extracted("a.py", b"\xef\xbb\xbf" + PYTHON)
    plain = extracted("a.py", PYTHON)
    assert text_of(extract) == text_of(plain)
    assert extract.token_count == plain.token_count
    assert names(extract) == names(plain)
    assert extract.symbols[0].start_byte == plain.symbols[0].start_byte + 3
    assert extract.symbols[0].start_line == plain.symbols[0].start_line


def test_line_ends_of_windows_change_no_line_number():
    extract = extracted("a.py", PYTHON.replace(b"\n", b"\r\n"))
    plain = extracted("a.py", PYTHON)
    assert extract.line_count == plain.line_count
    assert [(s.start_line, s.end_line, s.signature, s.doc) for s in extract.symbols] == [
        (s.start_line, s.end_line, s.signature, s.doc) for s in plain.symbols
    ]


def test_a_last_line_without_a_line_end_counts():
    assert extracted("a.txt", b"one\ntwo").line_count == 2
    assert extracted("a.txt", b"one\ntwo\n").line_count == 2


@pytest.mark.parametrize(
    "data", [PYTHON, b"", b"\xef\xbb\xbfx = 1\n", b"x = '\xff'\n", b"x = 1\n" * 20_000, "é".encode("latin-1")]
)  # fmt: skip
def test_a_text_packed_already_is_the_same_text(data: bytes) -> None:
    known = extract_files([(RepoPath("a.py"), data)], [compressed(data)])

    assert known == extract_files([(RepoPath("a.py"), data)])


def test_the_projection_is_cut_by_characters_and_the_token_count_is_not():
    data = ("ä" * 40 + "\n").encode() * 4_000
    extract = extracted("a.txt", data)
    assert len(text_of(extract)) == PROJECTION_CHARS
    assert extract.token_count == tokens.count(data.decode())


def test_one_line_of_a_megabyte_stays_text_in_whole_pieces():
    data = b"value=1;" * 131_072
    extract = extracted("a.txt", data)
    assert len(extract.chunks) == chunks.MAX_CHUNKS
    assert all(span.end_byte - span.start_byte <= chunks.CHUNK_BYTES for span in extract.chunks)
    for path in ("a.js", "a.py"):
        assert extract_file(RepoPath(path), data).skipped == "minified"


@pytest.mark.parametrize("path", LANGUAGES.values())
def test_ten_thousand_brackets_are_survived(path):
    head = b"<?php " if path.endswith(".php") else b""
    for opening, closing in (b"()", b"[]", b"{}"):
        row = bytes([opening]) * 50 + b"\n"
        close = bytes([closing]) * 50 + b"\n"
        assert extracted(path, head + row * 200 + close * 200).line_count == 400
        assert extracted(path, head + row * 200).line_count == 200


@pytest.mark.parametrize("path", LANGUAGES.values())
def test_deeply_nested_functions_and_calls_are_survived(path):
    nested = b"f(\n" * 5_000 + b")" * 5_000
    assert extracted(path, b"x = " + nested + b"\n").line_count == 5_001


def test_code_over_the_size_limit_is_read_as_text(monkeypatch):
    monkeypatch.setattr(grammar, "MAX_PARSED_BYTES", 100)
    extract = extracted("a.py", PYTHON * 2)
    assert extract.quality == "limit"
    assert extract.symbols == ()
    assert extract.references is None
    assert len(extract.chunks) == 1


def test_code_that_costs_too_many_parser_steps_is_read_as_text(monkeypatch):
    monkeypatch.setattr(grammar, "_STEPS_BASE", 0)
    monkeypatch.setattr(grammar, "_BYTES_PER_STEP", 10_000_000)
    assert extracted("a.py", PYTHON * 100).quality == "limit"
    monkeypatch.undo()
    assert extracted("a.py", PYTHON * 100).quality == "full"


def test_long_lines_are_no_food_for_scanners_that_measure_columns(monkeypatch):
    slow = languages.grammar_for("a.py", "python", b"")
    assert slow is not None
    object.__setattr__(slow, "slow_on_long_lines", True)
    try:
        assert extracted("a.py", PYTHON * 20 + b"# " + b"-" * 30_000).quality == "limit"
        assert extracted("a.py", PYTHON).quality == "full"
    finally:
        object.__setattr__(slow, "slow_on_long_lines", False)


def test_references_are_bounded(monkeypatch):
    monkeypatch.setattr(references, "MAX_REFERENCES", 50)
    extract = extracted("a.py", b"call(value)\n" * 100)
    assert extract.references is not None
    assert len(extract.references.kind) == 50


def test_a_fault_while_reading_structure_costs_the_structure_only(monkeypatch):
    python = languages.grammar_for("a.py", "python", b"")
    assert python is not None

    def broken(_reader):
        raise IndexError("child index out of range")

    monkeypatch.setitem(python.__dict__, "declare", broken)
    found = extract_file(RepoPath("a.py"), PYTHON)
    assert found.skipped == ""
    assert found.skipped_detail.startswith("structure not read: IndexError at test_extract.py:")
    assert found.extract is not None
    assert found.extract.quality == "partial"
    assert found.extract.symbols == ()
    assert len(found.extract.chunks) == 1


def test_generated_files_are_recorded_without_an_extract():
    found = extract_file(RepoPath("api/zz_generated.go"), b"package api\n")
    assert (found.language, found.kind) == ("go", "code")
    assert found.skipped == "generated"
    assert found.extract is None


@pytest.mark.parametrize("path", LANGUAGES.values())
def test_broken_code_gives_what_can_be_read(path):
    slips = b"} ) ] class if ( { <? \x00 def fn function struct @ # \" ' ` $x -> :: \n" * 40
    extract = extracted(path, slips)
    assert extract.quality in ("partial", "full", "limit")
    assert extract.chunks


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(LANGUAGES.values())),
    st.lists(
        st.sampled_from(
            [
                "class",
                "struct",
                "def",
                "fn",
                "func",
                "function",
                "interface",
                "enum",
                "namespace",
                "import",
                "export",
                "use",
                "from",
                "as",
                "public",
                "static",
                "new",
                "return",
                "throw",
                "raise",
                "await",
                "async",
                "type",
                "impl",
                "trait",
                "module",
                "end",
                "do",
                "if",
                "a",
                "b.c",
                "x:y",
                "<T>",
                "(",
                ")",
                "[",
                "]",
                "{",
                "}",
                ";",
                ",",
                ":",
                "=",
                "=>",
                "->",
                "::",
                ".",
                "@d",
                "#[d]",
                "'q'",
                '"s"',
                "`t`",
                "\\",
                "\n",
                "$v",
                "&r",
                "*p\n//",
                "/*",
                "*/",
                "#",
                "<?php",
                "<script>",
                "</script>",
                "1",
                "2.0",
                "null",
                "self",
                "this",
                "\t",
                "é",
                "中",
                "🙂",
            ]
        ),
        max_size=60,
    ),
)
def test_any_sequence_of_words_is_read_twice_alike_and_in_bounds(path, words):
    data = " ".join(words).encode()
    first, second = (extract_file(RepoPath(path), data) for _ in range(2))
    assert msgspec.msgpack.encode(first.extract) == msgspec.msgpack.encode(second.extract)
    assert first.skipped_detail == ""
    assert first.extract is not None
    check_bounds(first.extract, data)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(LANGUAGES.values())), st.binary(max_size=400))
def test_any_bytes_are_read(path, data):
    found = extract_file(RepoPath(path), data)
    assert found.skipped_detail == ""
    assert found.extract is not None
    check_bounds(found.extract, to_utf8(data))


def test_files_read_together_give_what_each_gives_alone() -> None:
    files = [
        (RepoPath("pkg/a.py"), PYTHON),
        (RepoPath("api/zz_generated.go"), b"package api\n"),
        (RepoPath("pkg/b.py"), PYTHON),
        (RepoPath("empty.py"), b""),
        (RepoPath("NOTES"), "Größe 中文字 HTTPServer\n".encode() * 200 + b"\xff\xfe"),
        (RepoPath("src/A.java"), b"class A { A a = new A(); int size() { return a.size(); } }\n"),
        (RepoPath("static/a.js"), b"var a=1;" * 5_000),
        (RepoPath("pkg/long.py"), PYTHON * 200),
    ]
    alone = [extract_file(path, data) for path, data in files]
    assert extract_files(files) == alone
    assert extract_files(files[::-1]) == alone[::-1]
    assert extract_files([]) == []
    assert [found.skipped for found in alone if found.skipped] == ["generated", "minified"]


def test_what_is_bound_first_in_the_source_decides() -> None:
    body = "".join(
        f"        a{n} = make()\n        self.a{n} = a{n}\n        self.b{n} = make()\n"
        f"        b{n} = make()\n"
        for n in range(50)
    )
    found = extracted("a.py", f"class A:\n    def run(self):\n{body}".encode())

    names = [binding.name for binding in found.bindings if binding.origin != "local"]
    assert names == [name for n in range(50) for name in (f"a{n}", f"self.a{n}", f"self.b{n}")]


def test_the_object_that_ends_last_is_the_receiver() -> None:
    body = "".join(f"            Outer.this.size{n} = A.B.size{n};\n" for n in range(50))
    source = (
        f"class Outer {{\n    class A {{\n        void run() {{\n{body}        }}\n    }}\n}}\n"
    )
    uses = extracted("Outer.java", source.encode()).references

    assert uses is not None
    receivers = dict.fromkeys(range(50), ("Outer.this", "A.B"))
    found: dict[int, tuple[str, ...]] = {}
    for name, receiver in zip(
        np.frombuffer(uses.name, "<u4").tolist(),
        np.frombuffer(uses.receiver, "<i4").tolist(),
        strict=True,
    ):
        if uses.strings[name].startswith("size"):
            number = int(uses.strings[name].removeprefix("size"))
            found[number] = (*found.get(number, ()), uses.strings[receiver])
    assert found == receivers


def check_bounds(extract: Extract, data: bytes) -> None:
    count = len(extract.symbols)
    for symbol in extract.symbols:
        assert 0 <= symbol.start_byte <= symbol.end_byte <= len(data)
        assert 1 <= symbol.start_line <= symbol.end_line <= max(1, extract.line_count)
        assert -1 <= symbol.parent < count
        assert len(symbol.signature) <= 300
        assert "\n" not in symbol.signature
        assert len(symbol.doc) <= 600
    assert all(-1 <= imported.scope < count for imported in extract.imports)
    assert all(-1 <= binding.scope < count for binding in extract.bindings)
    _check_references(extract, count)
    ends = [0]
    for span in extract.chunks:
        assert ends[-1] <= span.start_byte < span.end_byte <= len(data)
        assert not data[ends[-1] : span.start_byte].strip()
        assert data[span.start_byte : span.end_byte].strip()
        ends.append(span.end_byte)
    assert not data[ends[-1] :].strip()


def _check_references(extract: Extract, count: int) -> None:
    rows = extract.references
    if rows is None:
        return
    size = len(rows.kind)
    table = len(rows.strings)
    for column, dtype, least, most in (
        ("kind", "u1", 0, len(REFERENCE_KINDS) - 1),
        ("name", "<u4", 0, table - 1),
        ("receiver", "<i4", -1, table - 1),
        ("line", "<u4", 1, max(1, extract.line_count)),
        ("scope", "<i4", -1, count - 1),
        ("literal", "<i4", -1, table - 1),
        ("argc", "<i2", -1, 32_767),
    ):
        values = np.frombuffer(getattr(rows, column), dtype)
        assert len(values) == size
        assert values.min() >= least
        assert values.max() <= most
