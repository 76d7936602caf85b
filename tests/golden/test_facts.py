"""Are the facts of framework code what somebody who knows the framework would name?

Every folder of tests/golden/facts is one program; a further `.txt` keeps its files away from this
project's own linters. `expected.facts` lists each file's facts, and what they compose to. After a
change: `pytest tests/golden/test_facts.py --update-golden`, and read the difference.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from contracts.extract import FACT_KINDS, JOIN_KINDS, Extract
from contracts.ids import RepoPath
from services.extractor.extract import extract_file
from services.surfaces.compose import compose
from services.surfaces.model import FileFacts, Place, Surfaces

CASES = Path(__file__).with_name("facts")
_FAMILIES = {"python": 7, "ecma": 10, "java": 2, "go": 3, "ruby": 2, "php": 3, "csharp": 2}


@cache
def program(case: str) -> dict[str, tuple[str, Extract]]:
    """Extract the files of a case by path."""
    found = {}
    for source in sorted((CASES / case).rglob("*.txt")):
        path = source.relative_to(CASES / case).as_posix().removesuffix(".txt")
        extraction = extract_file(RepoPath(path), source.read_bytes())
        assert extraction.extract is not None
        assert extraction.skipped_detail == ""
        found[path] = (extraction.language, extraction.extract)
    return found


def composed(files: dict[str, tuple[str, Extract]]) -> Surfaces:
    return compose(
        [FileFacts(path, language, extract.facts) for path, (language, extract) in files.items()],
        lambda path: files[path][1] if path in files else None,
    )


def _rendered(case: str) -> str:
    files = program(case)
    lines = []
    for path, (_, extract) in files.items():
        lines.append(f"== {path}")
        for fact in extract.facts:
            place = extract.symbols[fact.symbol].fq_name if fact.symbol >= 0 else "-"
            parts = [f"{fact.line}", fact.kind, fact.value, f"[{place}]", fact.confidence]
            parts += [
                f"{name}={value}"
                for name in ("detail", "owner", "target")
                if (value := getattr(fact, name))
            ]
            lines.append(" ".join(parts))
    surfaces = composed(files)
    lines.append("== endpoints")
    lines += [
        f"{endpoint.http_method} {endpoint.route_path} -> {_named(endpoint.handler, files)} "
        f"({endpoint.path}:{endpoint.line}) {endpoint.confidence} {endpoint.framework}".rstrip()
        for endpoint in surfaces.endpoints
    ]
    lines.append("== tables")
    for table in surfaces.tables:
        entity = "-" if table.entity is None else _named(table.entity, files)
        users = ", ".join(_named(place, files) for place in table.referenced_by) or "-"
        lines.append(f"{table.schema or '-'} {table.table}: {entity} by {users} {table.confidence}")
    return "\n".join(lines) + "\n"


def _named(place: Place, files: dict[str, tuple[str, Extract]]) -> str:
    symbols = files[place.path][1].symbols
    return symbols[place.symbol].fq_name if place.symbol >= 0 else place.path


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_the_facts_of_a_program_are_as_reviewed(case: str, update_golden: bool) -> None:
    expected = CASES / case / "expected.facts"
    if update_golden:
        expected.write_text(_rendered(case))
    assert _rendered(case) == expected.read_text()


@pytest.mark.parametrize("family", sorted(_FAMILIES))
def test_every_kind_of_fact_is_read_in_every_language(family: str) -> None:
    cases = [path.name for path in CASES.iterdir() if path.name.partition("_")[0] == family]
    assert len(cases) == _FAMILIES[family]

    kinds = {
        fact.kind
        for case in cases
        for _, extract in program(case).values()
        for fact in extract.facts
    }

    assert kinds - set(JOIN_KINDS) == set(FACT_KINDS)
