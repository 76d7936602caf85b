"""How text becomes terms: the rules, by example."""

# ruff: noqa: RUF001 - letters that look like others are what this is about

from __future__ import annotations

import numpy as np
import pytest

from services.source import terms as terms_module
from services.source import word_table
from services.source.terms import (
    PATH,
    STEM,
    TermArrays,
    build_terms,
    count_terms,
    field_salt,
    file_stem,
    fold,
    hash_term,
    normal_stem,
    plural_variant,
    query_terms,
    stem,
    tokenise,
)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("  .,;()\n", []),
        ("camelCase", ["camel", "case", "camelcase"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("snake_case_name", ["snak", "case", "name", "snakecasename"]),
        ("__init__", ["init"]),
        ("getURLs", ["get", "url", "geturls"]),
        ("userIDs2", ["user", "id", "2", "userids2"]),
        ("IDs", ["id", "ids"]),
        ("utf8", ["utf", "8", "utf8"]),
        ("x_y", ["xy"]),
        ("x i j", []),
        ("7 n 42", ["7", "42"]),
        ("MAX_SIZE", ["max", "size", "maxsize"]),
        ("self.fields[0]", ["self", "field", "0"]),
    ],
)
def test_identifiers_split_where_a_reader_would_split_them(text: str, terms: list[str]) -> None:
    assert tokenise(text) == terms


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [
        ("queries", "query"),
        ("classes", "class"),
        ("class", "class"),
        ("status", "status"),
        ("analysis", "analysis"),
        ("fields", "field"),
        ("running", "run"),
        ("parsed", "pars"),
        ("parse", "pars"),
        ("calling", "call"),
        ("string", "str"),
        ("red", "red"),
        ("bus", "bus"),
    ],
)
def test_inflections_of_a_word_meet_in_one_stem(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("café naïve", ["cafe", "café", "naiv", "naïve"]),
        ("cafe\u0301", ["cafe", "café"]),
        ("Straße", ["strass"]),
        (
            "\uff28\uff34\uff34\uff30\uff33\uff45\uff52\uff56\uff45\uff52\uff12",
            ["http", "server", "2", "httpserver2"],
        ),
        ("ｶﾞﾗｽ", ["ガラ", "ラス", "ガ", "ラ", "ス"]),
        ("ﬁle", ["file"]),
        ("Привет", ["привет"]),
        ("приветМир", ["привет", "мир", "приветмир"]),
        ("Ünïcode_Näme", ["unicod", "name", "unicodename", "ünïcode_näme"]),
    ],
)
def test_accents_widths_and_case_do_not_matter(text: str, terms: list[str]) -> None:
    assert tokenise(text) == terms


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("resume", "résumé"),
        ("RÉSUMÉ", "re\u0301sume\u0301"),
        ("istanbul", "İSTANBUL"),
        ("isparta", "Isparta ısparta"),
        ("STRASSE", "Straße"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("елка", "Ёлка"),
        ("عربي", "عَرَبِيٌّ"),
        ("שלום", "שָׁלוֹם"),
        ("smorrebrod", "smørrebrød"),
        ("lodz", "Łódź"),
        ("42", "\u0664\u0662"),
        ("data", "\uff44\uff41\uff54\uff41"),
        ("データ", "ﾃﾞｰﾀ"),
        ("क़लम", "क\u093cलम"),
        ("rocket", "🚀rocket👩\u200d💻\ufe0f"),
    ],
)
def test_another_spelling_shares_a_term(one: str, other: str) -> None:
    assert set(tokenise(one)) & set(tokenise(other))
    assert set(query_terms(one).words) & set(tokenise(other))
    assert set(query_terms(other).words) & set(tokenise(one))


def test_emoji_and_marks_alone_are_no_terms() -> None:
    assert tokenise("👩\u200d💻 ❤\ufe0f \u0301\u0301 ™ …") in ([], ["tm"])


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("漢", ["漢"]),
        ("検索", ["検索"]),
        ("全文検索", ["全文", "文検", "検索"]),
        ("ユーザー名", ["ユー", "ーザ", "ザー", "ー名"]),
        ("검색어", ["검색", "색어"]),
        ("用户ID列表", ["用户", "id", "列表"]),
        ("get用户", ["get", "用户"]),
        ("索引\uff0c搜索", ["索引", "搜索"]),
        ("𠮷野", ["𠮷野"]),
    ],
)
def test_scripts_without_spaces_give_character_pairs(text: str, terms: list[str]) -> None:
    assert tokenise(text, singles=False) == terms
    assert list(query_terms(text).words) == terms
    assert set(terms) <= set(tokenise(text))


@pytest.mark.parametrize("one", ["図", "書", "館"])
def test_one_character_finds_a_longer_word(one: str) -> None:
    assert set(query_terms(one).words) <= set(tokenise("図書館"))
    assert "図" not in query_terms("図書館").words


def test_thai_vowel_signs_stay_in_their_run() -> None:
    assert tokenise("ที่นี่") == ["ที", "ี่", "่น", "นี", "ี่"]


def test_hindi_words_stay_whole() -> None:
    assert tokenise("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


def test_data_blobs_give_no_terms_but_long_sentences_do() -> None:
    assert tokenise("A9" * 200) == []
    assert len(tokenise("漢字" * 200)) == 399 + 400


def test_a_long_identifier_is_not_joined() -> None:
    assert "".join(["word"] * 16) not in tokenise("_".join(["word"] * 16))


def test_ascii_text_is_folded_to_itself() -> None:
    text = "plain text"
    assert fold(text) is text


def test_a_field_hash_is_the_body_hash_and_a_salt() -> None:
    assert hash_term("user", PATH) == hash_term("user") ^ field_salt(PATH)
    assert hash_term("user", PATH) != hash_term("user", STEM) != hash_term("user")


def test_the_hash_of_a_term_never_changes() -> None:
    assert hash_term("user") == 0x99E389D25C10AF32


def test_an_empty_file_has_empty_arrays_and_its_path() -> None:
    arrays = TermArrays.of(build_terms("src/app.py", [], [], [], [], []))

    assert arrays.chunk_offsets.tolist() == [0]
    assert arrays.context_offsets.tolist() == [0]
    assert len(arrays.chunk_hash) == 0
    assert arrays.path_length == 3
    assert hash_term("app", STEM) in arrays.field_hash.tolist()


def test_counts_stop_at_255() -> None:
    arrays = TermArrays.of(build_terms("a.py", ["word " * 300], [[]], ["name"] * 300, [], []))

    assert arrays.chunk_tf.tolist() == [255]
    assert arrays.chunk_length.tolist() == [300]
    assert max(arrays.field_tf.tolist()) == 255
    assert arrays.symbols_length == 300


def test_unpacking_copies_nothing() -> None:
    terms = build_terms("a.py", ["some words here"], [[]], [], [], [])

    view = TermArrays.of(terms).chunk_hash
    assert not view.flags.owndata
    assert not view.flags.writeable


def test_a_clash_of_leading_hash_bits_is_still_ordered_and_kept_apart() -> None:
    owner = np.array([1, 0, 1, 0], np.int64)
    hashes = np.array([7, 3, 6, 2], np.uint64)

    order = terms_module._order(owner, hashes, 2)
    assert list(zip(owner[order].tolist(), hashes[order].tolist(), strict=True)) == [
        (0, 2),
        (0, 3),
        (1, 6),
        (1, 7),
    ]


def test_texts_too_many_to_be_numbered_in_half_a_word_keep_their_own_terms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(word_table, "_table", word_table.WordTable())
    texts = [f"part{number}x" for number in range(70_000)]

    counts = count_terms(texts)

    for at in (0, 40_000, 69_999):
        own = counts.hashes[counts.offsets[at] : counts.offsets[at + 1]]
        assert own.tolist() == sorted(map(hash_term, tokenise(texts[at])))


def test_a_full_word_table_is_begun_anew_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chunks = [f"word{number} name{number} Größe" for number in range(50)]
    before = build_terms("a.py", chunks, [[]] * 50, [], [], [])
    monkeypatch.setattr(word_table, "_MAX_TABLE_WORDS", 3)
    monkeypatch.setattr(word_table, "_MAX_NAMES", 1)

    assert build_terms("a.py", chunks, [[]] * 50, [], [], []) == before
    assert build_terms("a.py", chunks, [[]] * 50, [], [], []) == before


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/user_service.py", "userservice"),
        ("src/users/index.ts", "users"),
        ("pkg/__init__.py", "pkg"),
        ("crate/src/lib.rs", "src"),
        ("main.go", "main"),
        ("Makefile", "makefile"),
        (".gitignore", "gitignore"),
        ("app/user.controller.ts", "usercontroller"),
        ("文書/検索.md", "検索"),
    ],
)
def test_a_file_is_called_by_its_stem_or_its_folder(path: str, expected: str) -> None:
    assert file_stem(path) == expected


def test_a_plural_differs_by_its_s() -> None:
    assert (plural_variant("users"), plural_variant("user")) == ("user", "users")
    assert normal_stem("User-Service.v2") == "userservicev2"


def test_a_query_keeps_content_words_in_order_once_each() -> None:
    query = query_terms("Where is the user cache of userCache used?")

    assert query.words == ("user", "cach", "usercache")
    assert query.terms.tolist() == [hash_term(word) for word in query.words]


def test_a_query_of_stop_words_alone_keeps_them() -> None:
    assert query_terms("what is this").words == ("what", "is", "this")


def test_an_empty_query_asks_for_nothing() -> None:
    query = query_terms("")

    assert (query.words, query.identifiers, query.stems) == ((), (), ())
    assert query.terms.dtype == np.uint64


@pytest.mark.parametrize(
    ("query", "identifiers"),
    [
        ("Fix crash in `parse_url` helper", ("parse_url",)),
        ("Router loses HTTPServer state", ("Router", "HTTPServer")),
        ("why does resolveUser return null", ("resolveUser",)),
        ("MAX_SIZE of _private thing", ("MAX_SIZE", "_private")),
        ("call Session.close and foo::barBaz", ("Session", "close", "foo", "barBaz")),
        ("session", ("session",)),
        ("plain words only", ()),
    ],
)
def test_names_in_a_query_are_recognised(query: str, identifiers: tuple[str, ...]) -> None:
    assert query_terms(query).identifiers == identifiers


def test_stems_are_words_neighbours_joined_and_names() -> None:
    assert query_terms("fix the url parser of `HttpCache`").stems == (
        "fix",
        "url",
        "parser",
        "httpcache",
        "fixurl",
        "urlparser",
        "parserhttpcache",
    )


@pytest.mark.parametrize(
    ("query", "tests", "docs"),
    [
        ("unit tests of the parser", True, False),
        ("update the README and docs", False, True),
        ("latest protest doctor", False, False),
    ],
)
def test_a_query_says_whether_it_wants_tests_or_documentation(
    query: str, tests: bool, docs: bool
) -> None:
    read = query_terms(query)
    assert (read.asks_tests, read.asks_docs) == (tests, docs)


@pytest.mark.parametrize(
    ("query", "later"),
    [
        ("keep trailing comments in output", set()),
        ("Keep trailing comments. They were lost", {"lost"}),
        ("Keep trailing comments! Comments were lost", {"lost"}),
        ("Keep trailing comments\n\nThey were lost", {"lost"}),
        ("Why? Keep trailing comments. They were lost", {"lost"}),
        ("Keep trailing comments, e.g. those at the end", set()),
        ("Keep the comments of parser.py and lexer.py", set()),
        ("Traceback (most recent call last):\n  in keep. Lost\nValueError: comment", set()),
        ("検索結果を直す。図書館", {"図書", "書館"}),
    ],
)  # fmt: skip
def test_what_only_later_sentences_say_counts_half(query: str, later: set[str]) -> None:
    asked = query_terms(query)

    weights = dict(zip(asked.words, asked.weights.tolist(), strict=True))
    assert {word for word, weight in weights.items() if weight == 0.5} == later
    assert set(weights.values()) <= {0.5, 1.0}


def test_stems_of_later_sentences_count_half() -> None:
    asked = query_terms("Keep trailing comments. Parsers lost comments")

    weights = dict(zip(asked.stems, asked.stem_weights, strict=True))
    assert (weights["comments"], weights["trailingcomments"]) == (1.0, 1.0)
    assert (weights["parsers"], weights["parserslost"]) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("query", "topic"),
    [
        ("parser: keep comments", {"parser"}),
        ("fix(http): time out", {"http"}),
        ("`net/http`: time out", {"net", "http"}),
        ("fix: time out", set()),
        ("Error: time out", set()),
        ("time out: why", set()),
        ("std::vector of names", set()),
        ("https://example.org: gone", set()),
    ],
)
def test_what_is_named_before_a_colon_counts_double(query: str, topic: set[str]) -> None:
    asked = query_terms(query)

    assert {
        word for word, weight in zip(asked.words, asked.weights, strict=True) if weight == 2
    } == topic


def test_a_query_as_long_as_a_log_is_read_at_its_ends() -> None:
    log = "opening_marker " + "".join(f"line{at} Frame{at}Error\n" for at in range(9_000))
    asked = query_terms(f"{log} closing_marker")

    assert len(asked.words) <= 200
    assert len(asked.identifiers) <= 64
    assert len(asked.stems) <= 300
    assert {"opening", "closing"} <= {word.removesuffix("marker") for word in asked.words}
