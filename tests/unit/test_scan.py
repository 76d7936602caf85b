"""Outlines of files that no grammar reads."""

from __future__ import annotations

import pytest

from contracts.ids import RepoPath
from services.extractor import scan
from services.extractor.extract import extract_file
from services.extractor.reader import Draft


def names(language: str, text: str) -> list[str]:
    return [f"{draft.kind} {draft.name}" for draft in scan.outline(language, text.encode())]


def found(language: str, text: str, name: str) -> tuple[Draft, str]:
    """Return an entry and the text it spans."""
    data = text.encode()
    draft = next(draft for draft in scan.outline(language, data) if draft.name == name)
    return draft, data[draft.start : draft.end].decode()


def test_a_heading_spans_its_section_up_to_the_next_of_its_level() -> None:
    text = "# A\none\n## B\ntwo\n# C\nthree\n"

    assert found("markdown", text, "A")[1] == "# A\none\n## B\ntwo\n"
    assert found("markdown", text, "B")[1] == "## B\ntwo\n"


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
def test_what_stands_in_a_fence_is_no_heading(fence: str) -> None:
    text = f"# A\n{fence}sh\n# comment\n{fence}\n# B\n"

    assert names("markdown", text) == ["heading A", "heading B"]


def test_a_shorter_fence_does_not_close_a_longer_one() -> None:
    assert names("markdown", "````\n```\n# no\n````\n# A\n") == ["heading A"]


def test_front_matter_and_tables_are_no_headings() -> None:
    text = "---\ntitle: x\n---\n# A\n\n| a | b |\n|---|---|\n\n- item\n---\n"

    assert names("markdown", text) == ["heading A"]


def test_adornments_of_a_restructured_text_get_levels_in_order_of_appearance() -> None:
    text = "====\nBook\n====\n\nOne\n---\n\nPart\n~~~~\n\nTwo\n---\n"

    assert found("rst", text, "One")[1].startswith("One\n---")
    assert "Part" in found("rst", text, "One")[1]
    assert "Two" not in found("rst", text, "One")[1]


def test_keys_of_json_go_two_levels_deep_and_not_into_arrays() -> None:
    text = '{"a": {"b": {"c": 1}}, "d": [{"e": 1}], "f": "x: {y}"}'

    assert names("json", text) == ["key a", "key b", "key d", "key f"]
    assert found("json", text, "a")[1] == '"a": {"b": {"c": 1}}'


def test_broken_json_gives_the_keys_before_the_break() -> None:
    assert names("json", '{"a": 1, "b": {"c": "unclosed\n') == ["key a", "key b", "key c"]


def test_text_blocks_and_list_items_of_yaml_hold_no_keys() -> None:
    text = "run: |\n  echo: x\n  more: y\nsteps:\n  - uses: a\n    with: b\nlast: 1\n"

    assert names("yaml", text) == ["key run", "key steps", "key last"]


def test_a_key_of_yaml_spans_what_is_indented_below_it() -> None:
    text = "jobs:\n  build:\n    steps: []\n  test: {}\non: push\n"

    assert found("yaml", text, "build")[1] == "build:\n    steps: []"
    assert names("yaml", text) == ["key jobs", "key build", "key test", "key on"]


@pytest.mark.parametrize("language", ["json", "yaml", "toml"])
def test_no_more_than_two_hundred_keys_are_listed(language: str) -> None:
    keys = range(500)
    text = {
        "json": "{" + ",".join(f'"k{key}": 1' for key in keys) + "}",
        "yaml": "".join(f"k{key}: 1\n" for key in keys),
        "toml": "".join(f"k{key} = 1\n" for key in keys),
    }[language]

    assert len(scan.outline(language, text.encode())) == 200


def test_lines_of_a_long_toml_value_are_no_keys() -> None:
    text = '[a]\nx = """\nno = 1\n"""\ny = [\n  "z = 1",\n]\nlast = 2\n'

    assert names("toml", text) == ["table a", "key x", "key y", "key last"]


def test_create_statements_of_sql_are_named_without_quotes() -> None:
    text = 'CREATE TABLE "a"."b" (\n  c int\n);\ncreate or replace view v as select 1;\n-- create table no\n'

    assert names("sql", text) == ["table a.b", "view v"]
    assert found("sql", text, "a.b")[1].endswith(");")


def test_the_body_of_an_sql_function_belongs_to_it() -> None:
    text = "create function f() returns int as $x$\nbegin\n  select 1;\nend\n$x$ language sql;\nselect 1;\n"

    assert found("sql", text, "f")[1].endswith("$x$")


def test_targets_of_one_make_rule_stand_side_by_side() -> None:
    text = "A := 1\n.PHONY: all\n# Both.\nall test: dep\n\techo a: b\nother:\n\tls\n"

    assert names("make", text) == ["variable A", "target all", "target test", "target other"]
    assert found("make", text, "test")[0].doc == "Both."
    extract = extract_file(RepoPath("Makefile"), text.encode()).extract
    assert extract is not None
    assert [symbol.fq_name for symbol in extract.symbols] == [
        "Makefile.A", "Makefile.all", "Makefile.test", "Makefile.other",
    ]  # fmt: skip


def test_a_docker_stage_spans_to_the_next() -> None:
    text = "ARG V=1\nFROM go:1 AS build\nENV A=b\nRUN make\nfrom scratch\nCMD x\n"

    assert names("docker", text) == [
        "variable V", "stage build", "variable A", "stage scratch", "key CMD",
    ]  # fmt: skip
    assert found("docker", text, "build")[1] == "FROM go:1 AS build\nENV A=b\nRUN make\n"


def test_calls_of_a_service_have_their_message_types() -> None:
    text = "service S {\n  // Gets.\n  rpc Get(Ask) returns (stream Answer);\n}\n"

    draft, _ = found("proto", text, "Get")
    assert (draft.params, draft.returns, draft.doc) == (
        [("request", "Ask")],
        "stream Answer",
        "Gets.",
    )


def test_braces_in_strings_and_comments_of_a_style_sheet_open_nothing() -> None:
    text = '/* a { */\n.a::before { content: "{"; }\n// b {\n.c { d: url(x;y) }\n'

    assert names("css", text) == ["selector .a::before", "selector .c"]


def test_ids_and_headings_of_html_come_in_order() -> None:
    text = '<div id="main"><h1>One <b>two</b></h1><p id=x></p><h2 id="y">Three</h2></div>'

    assert names("html", text) == ["key main", "heading One two", "key x", "heading Three", "key y"]


def test_a_language_without_a_scan_has_no_outline() -> None:
    assert scan.outline("", b"# A\n") == []


@pytest.mark.parametrize(
    ("path", "module"),
    [("a/b.md", "a.b"), ("README", "README"), ("v1.2/Makefile", "v1.2.Makefile"), (".env", ".env")],
)
def test_the_module_of_a_text_is_its_path_without_extension(path: str, module: str) -> None:
    assert scan.module_of(path) == module


@pytest.mark.parametrize("language", sorted(scan._SCANS))
def test_any_bytes_give_entries_within_the_file(language: str) -> None:
    pieces = [
        b"{",
        b"}",
        b'"',
        b"a: b\n",
        b"# x\n",
        b"\xff\xfe",
        b"[",
        b"]",
        b"<h1 id=",
        b"\n---\n",
        b"from a as b\n",
    ]
    data = b"".join(pieces[number * number % len(pieces)] for number in range(400)) * 3

    for draft in scan.outline(language, data):
        assert 0 <= draft.start < draft.end <= len(data)
