"""What does the extractor do before and beside the C and C++ grammars, and with string literals?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.extract import Extract
from contracts.ids import RepoPath
from services.extractor.extract import extract_file
from services.extractor.languages import c, cpp, php, ruby
from services.extractor.languages.c_prepare import readable_c, readable_cpp

PIECES = (
    "LIB_API int f(int x);\n", "LIB_EXTERN(const char *) name(void);\n", "LIB_BEGIN_DECLS\n",
    "DEFINE_MAP(a, const key *, b)\n", "class LIB_EXPORT A : B {\n};\n", "struct AB_C D {};\n",
    "int LIB_CALLBACK(x)(int);\n", "#define LIMIT 3\n", "return FOO_BAR(x);\n", "enum {\n  LAST_ONE\n};\n",
    "ABC_D(\n", ")\n", "\r\n", "{", "}", "\xff", "  ",
)  # fmt: skip


def extract(path: str, source: str) -> Extract:
    found = extract_file(RepoPath(path), source.encode())
    assert found.extract is not None, found.skipped_detail
    return found.extract


def symbols(path: str, source: str) -> dict[str, str]:
    return {symbol.fq_name: symbol.kind for symbol in extract(path, source).symbols}


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_blanking_macros_moves_no_byte_and_no_line(pieces: list[str]) -> None:
    source = "".join(pieces).encode()
    for prepare in (readable_c, readable_cpp):
        prepared = prepare(source)
        assert len(prepared) == len(source)
        assert [i for i, byte in enumerate(prepared) if byte == 10] == [
            i for i, byte in enumerate(source) if byte == 10
        ]


@pytest.mark.parametrize(
    "line",
    ["HRESULT open(int x);", "  LAST_ONE\n}", "x = FOO_BAR(y);", "if (x) DO_THIS(y);", "A_B = 3;"],
)
def test_plain_code_in_capitals_is_left_alone(line: str) -> None:
    assert readable_cpp(line.encode()) == line.encode()


def test_functions_behind_api_macros_are_read_with_their_types() -> None:
    source = "LIB_API const char *name(void);\nLIB_EXTERN(int) count(int a, int b);\n"
    found = extract("src/lib.h", source)
    assert [(s.name, s.returns, s.arity) for s in found.symbols] == [
        ("name", "const char*", 0), ("count", "int", 2),
    ]  # fmt: skip
    assert found.symbols[1].signature == "LIB_EXTERN(int) count(int a, int b)"
    assert found.quality == "full"


def test_a_header_is_read_as_the_language_its_words_belong_to() -> None:
    plain = extract_file(RepoPath("include/a.h"), b"struct a { int x; };\n")
    classes = extract_file(RepoPath("include/b.h"), b"namespace n {\nclass B {};\n}\n")
    assert (plain.language, classes.language) == ("c", "cpp")


def test_a_header_guard_is_no_macro_but_a_switch_is_one() -> None:
    source = "#ifndef A_H\n#define A_H\n#define A_DEBUG\n#endif\n"
    assert symbols("a.h", source) == {"A_DEBUG": "macro"}


def test_a_member_defined_elsewhere_belongs_to_its_class_and_keeps_its_visibility() -> None:
    source = "namespace n { class A { void f(); }; }\nvoid n::A::f() {}\nvoid n::g() {}\n"
    found = extract("a.cpp", source)
    definition = found.symbols[3]
    assert (definition.fq_name, definition.kind, definition.visibility) == (
        "n.A.f", "method", "private",
    )  # fmt: skip
    assert definition.parent == 1
    assert (found.symbols[4].fq_name, found.symbols[4].kind) == ("n.g", "function")


def test_static_hides_a_function_in_its_file_but_not_in_its_class() -> None:
    source = "static void f() {}\nstruct A { static void g(); };\n"
    visibility = {s.name: s.visibility for s in extract("a.cpp", source).symbols}
    assert visibility == {"f": "private", "A": "public", "g": "public"}


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b'"plain"', "plain"), (b'"a" "b"', "ab"), (b'L"wide"', "wide"),
        (b'R"(a "raw" one)"', 'a "raw" one'), (b'R"x(a)b)x"', "a)b"),
    ],
)  # fmt: skip
def test_c_and_cpp_literals_lose_their_quotes(raw: bytes, text: str) -> None:
    assert cpp.literal(raw) == text
    if b"R" not in raw:
        assert c.literal(raw) == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"'a $b'", "a $b"), (b'"plain"', "plain"), (b'"a $b"', None), (b'"a {$b->c}"', None),
        (b'"costs 3$"', "costs 3$"), (b'"\\$5 {x}"', "\\$5 {x}"),
        (b"<<<SQL\n  select 1\n  SQL", "  select 1"), (b"<<<SQL\nselect $x\nSQL", None),
        (b"<<<'SQL'\nselect $x\nSQL", "select $x"),
    ],
)  # fmt: skip
def test_php_literals_are_told_unless_they_interpolate(raw: bytes, text: str | None) -> None:
    assert php.literal(raw) == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"'a #{b}'", "a #{b}"), (b'"plain"', "plain"), (b'"a #{b}"', None), (b'" "', " "),
        (b":symbol", "symbol"), (b':"a b"', "a b"), (b'"a" "b"', "ab"), (b"%q(a b)", "a b"),
        (b"\n  select 1\n  SQL", "select 1"),
    ],
)  # fmt: skip
def test_ruby_literals_are_told_unless_they_interpolate(raw: bytes, text: str | None) -> None:
    assert ruby.literal(raw) == text


def test_a_dynamic_php_member_gives_its_object_to_no_later_name() -> None:
    source = "<?php function f($x, $m) { $x->$m(count(1)); A::{$m}(strlen('a')); }\n"
    references = extract("a.php", source).references
    assert references is not None
    assert not {"$x"} & set(references.strings)


def test_private_words_of_ruby_hold_until_the_next_one() -> None:
    source = (
        "class A\n  def a; end\n  private\n  def b; end\n  protected def c; end\n  def d; end\n"
        "  public\n  def e; end\n  private :e\n  def self.f; end\n  private_class_method :f\nend\n"
    )
    visibility = {s.name: s.visibility for s in extract("a.rb", source).symbols}
    assert visibility == {
        "A": "public", "a": "public", "b": "private", "c": "protected", "d": "private",
        "e": "private", "f": "private",
    }  # fmt: skip
