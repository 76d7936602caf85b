"""Text in other encodings: read as what it most probably is, and never worse than before."""

# ruff: noqa: RUF001 - letters that look like others are what this is about

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.extract import decompressed
from contracts.ids import RepoPath
from services.extractor.extract import extract_file
from services.source.charset import is_utf8, to_utf8
from services.source.sniff import is_binary

TEXTS = [
    ("cp1252", "// Größe des Fensters prüfen\nint main() { return 0; }"),
    ("cp1252", "# Résumé: déjà vu “quoted” – fine"),
    ("latin-1", "int x; // für"),
    ("latin-1", "// commenté à côté, coração, año"),
    ("cp932", "// 日本語のコメント\nint x; // 画面を更新する"),
    ("cp932", "データベース接続を確認"),
    ("euc_jp", "// 日本語のコメント\nint x; // 画面を更新する"),
    ("gb18030", "// 检查数据库连接是否可用\nint a;"),
    ("gb18030", "# 这是一个测试文件，请不要修改"),
    ("big5", "// 檢查資料庫連線是否可用"),
    ("cp949", "// 데이터베이스 연결을 확인한다"),
    ("cp1251", "// Проверить соединение с базой данных"),
    ("koi8_r", "// Проверить соединение с базой данных"),
    ("utf-16", "x = 'é'\n# 日本語"),
    ("utf-32", "plain"),
    ("utf-8", "# 日本語, é"),
    ("utf-8-sig", "# 日本語, é"),
]


@pytest.mark.parametrize(("encoding", "text"), TEXTS)
def test_text_of_a_known_encoding_is_read_as_it_was_written(encoding: str, text: str) -> None:
    raw = text.encode(encoding)

    assert to_utf8(raw).decode("utf-8-sig") == text
    assert not is_binary(raw)


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ("# -*- coding: iso8859-15 -*-\n", "iso8859-15"),
        ('<?xml version="1.0" encoding="windows-1250"?>\n', "cp1250"),
        ('<meta charset="iso-8859-7">\n', "iso8859-7"),
    ],
)
def test_what_a_file_declares_is_believed(head: str, encoding: str) -> None:
    text = head + {"iso8859-15": "# 5 €", "cp1250": "żółw", "iso8859-7": "γειά"}[encoding]

    assert to_utf8(text.encode(encoding)).decode() == text


@pytest.mark.parametrize(
    "declared", ["base64", "rot13", "no-such-thing", "utf-8", "undefined", "zlib", "idna"]
)
def test_a_declaration_that_cannot_be_true_is_not(declared: str) -> None:
    raw = f"# coding: {declared}\n# ".encode() + "prüfen".encode("latin-1")

    assert to_utf8(raw).decode().endswith("prüfen")


def test_utf8_with_a_broken_byte_stays_utf8() -> None:
    raw = "schöne Grüße".encode() + b"\xff" + " später".encode()

    assert is_utf8(raw)
    assert to_utf8(raw) is raw
    assert to_utf8("日本".encode()[:-1]) == "日本".encode()[:-1]


def test_a_nul_without_a_mark_makes_a_file_binary_and_so_does_one_in_marked_text() -> None:
    assert is_binary("text".encode("utf-16-le"))
    assert is_binary(codecs.BOM_UTF16_LE + b"\0\0" * 20)


@given(st.binary(max_size=300))
def test_any_bytes_give_utf8_or_themselves(data: bytes) -> None:
    found = to_utf8(data)

    assert found is data or found.decode()


@given(st.text(max_size=200))
def test_utf8_is_never_touched(text: str) -> None:
    raw = text.encode(errors="replace")

    assert to_utf8(raw) is raw


@pytest.mark.parametrize(
    ("encoding", "text", "name"),
    [
        ("utf-16", "def 計算(値):\n    # データを確認する\n    return 値\n", "計算"),
        ("cp932", "def 計算(値):\n    # データを確認する\n    return 値\n", "計算"),
        ("latin-1", "def größe(wert):\n    # prüft die Länge\n    return wert\n", "größe"),
    ],
)
def test_names_lines_and_text_of_a_legacy_file_are_right(
    encoding: str, text: str, name: str
) -> None:
    extract = extract_file(RepoPath("a.py"), text.encode(encoding)).extract

    assert extract is not None
    assert [symbol.name for symbol in extract.symbols] == [name]
    assert (extract.symbols[0].start_line, extract.symbols[0].end_line) == (1, 3)
    assert decompressed(extract.text).decode() == text
    span = extract.symbols[0]
    assert text.encode()[span.start_byte : span.end_byte].decode().startswith(f"def {name}")
