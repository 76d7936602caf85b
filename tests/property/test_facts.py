"""Does reading facts survive whatever stands in a file, and composing whatever was read?"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import services.extractor.extract as extraction
from contracts.extract import FACT_KINDS, JOIN_KINDS, Fact
from contracts.ids import RepoPath
from services.extractor.facts.read import read_facts
from services.surfaces import expressions, sql
from services.surfaces.compose import compose, in_order, is_joined, plain
from services.surfaces.model import FileFacts, Place

CASES = Path(__file__).parents[1] / "golden" / "facts"
SOURCES = sorted(path for path in CASES.rglob("*.txt"))
_KINDS = {*FACT_KINDS, *JOIN_KINDS}
_LANGUAGES = ["python", "typescript", "java", "kotlin", "go", "ruby", "php", "csharp", "rust"]
_CODE = st.text(alphabet="()[]{}<>'\"`,.:;=+%$@#/\\ \nabcXYZ019_-", max_size=200)


@pytest.fixture(autouse=True)
def loud(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what reading facts raises come through; extraction would only leave the facts out."""
    monkeypatch.setattr(extraction, "_facts", read_facts)


def _facts_of(path: str, data: bytes) -> tuple[Fact, ...]:
    found = extraction.extract_file(RepoPath(path), data)
    assert found.skipped_detail == ""
    if found.extract is None:
        return ()
    for fact in found.extract.facts:
        assert fact.kind in _KINDS
        assert -1 <= fact.symbol < len(found.extract.symbols)
        assert 1 <= fact.line <= data.count(b"\n") + 1
        assert "\n" not in fact.value
    return found.extract.facts


@settings(deadline=None, max_examples=120)
@given(st.data())
def test_broken_framework_code_never_raises(data: st.DataObject) -> None:
    source = data.draw(st.sampled_from(SOURCES))
    raw = source.read_bytes()
    cut = data.draw(st.integers(0, len(raw)))
    until = data.draw(st.integers(cut, len(raw)))
    noise = data.draw(st.binary(max_size=20) | _CODE.map(str.encode))
    path = source.relative_to(CASES).as_posix().removesuffix(".txt")
    broken = raw[:cut] + noise + raw[until:]

    facts = _facts_of(path, broken)

    compose([FileFacts(path, "python", facts)], lambda _: None)


@settings(deadline=None, max_examples=60)
@given(_CODE, st.sampled_from(_LANGUAGES))
def test_any_expression_has_a_value(text: str, language: str) -> None:
    value = expressions.evaluate(text, language, lambda _: None)
    expressions.items(text, language)
    expressions.entries(text, language)
    expressions.split_line(text, language)
    sql.tables(text)

    assert len(value) <= 500


_facts = st.builds(
    Fact,
    kind=st.sampled_from(sorted(_KINDS)),
    value=st.sampled_from(["GET /a", "/b", "{?}", "{=m:X}/c", "t|raw SQL", "GET ", ""]),
    symbol=st.integers(-1, 3),
    line=st.integers(1, 9),
    owner=st.sampled_from(["", "a", "b", "@a", "=m:a", "0#a"]),
    target=st.sampled_from(["", ":a", ":b", "m:a", "./n:default", ":@a", "a", "..:b"]),
    detail=st.sampled_from(["", "replaces", "global", "Django"]),
)


@settings(deadline=None, max_examples=150)
@given(
    st.lists(
        st.builds(
            FileFacts,
            path=st.sampled_from(["m.py", "n.js", "a/b.go", "c/m.py"]),
            language=st.sampled_from(["python", "javascript", "go"]),
            facts=st.lists(_facts, max_size=6).map(tuple),
        ),
        max_size=4,
    )
)
def test_any_facts_compose_to_whole_paths_however_the_files_come(files: list[FileFacts]) -> None:
    by_path = {file.path: file for file in files}.values()

    surfaces = compose(by_path, lambda _: None)

    assert compose(reversed(list(by_path)), lambda _: None) == surfaces
    for endpoint in surfaces.endpoints:
        assert endpoint.route_path.startswith("/")
        assert "{=" not in endpoint.route_path
        assert ("{?}" not in endpoint.route_path) or endpoint.confidence == "low"


@settings(deadline=None, max_examples=100)
@given(
    st.dictionaries(
        st.sampled_from(["m.py", "a/b.go", "tests/test_m.py"]),
        st.lists(_facts, max_size=6).map(tuple),
        max_size=3,
    )
)
def test_what_a_file_says_for_itself_needs_no_other_file(
    facts: dict[str, tuple[Fact, ...]],
) -> None:
    whole = compose([FileFacts(path, "python", own) for path, own in facts.items()], lambda _: None)
    joined = compose(
        [FileFacts(p, "python", tuple(filter(is_joined, own))) for p, own in facts.items()],
        lambda _: None,
    )
    by_symbol = {place: list(found) for place, found in joined.facts_by_symbol.items()}
    for path, own in facts.items():
        for fact in own:
            if not is_joined(fact):
                by_symbol.setdefault(Place(path, fact.symbol), []).append(plain(fact))

    assert joined[:3] == whole[:3]
    assert {place: in_order(found) for place, found in by_symbol.items()} == whole.facts_by_symbol
