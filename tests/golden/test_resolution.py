"""Does every call mean what a careful reader says it means, trap by trap?

Each file of tests/golden/resolution holds a small repository, its files under `=== path`, and after
`=== edges` every call, instantiation, override and implementation in it: where, kind, name, and the
target with its confidence; `?` what is not known, with candidates; `outside` what is declared
elsewhere. After a change: `pytest tests/golden/test_resolution.py --update-golden`, and read the
difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from services.resolution.edges import Edge
from services.resolution.ids import symbol_id
from tests.resolution_project import Project

CASES = Path(__file__).with_name("resolution")
SHOWN = ("call", "instantiate", "override", "implementation")


@pytest.mark.parametrize("case", sorted(path.stem for path in CASES.glob("*.txt")))
def test_every_call_means_what_a_reader_says(case: str, update_golden: bool) -> None:
    place = CASES / f"{case}.txt"
    files, expected = read(place.read_text())
    found = shown(Project(files).edges())
    if update_golden:
        text = place.read_text().partition("=== edges\n")[0].rstrip("\n")
        place.write_text(text + "\n=== edges\n" + "".join(f"{line}\n" for line in found))
        expected = found
    assert found == expected


@pytest.mark.parametrize("case", sorted(path.stem for path in CASES.glob("*.txt")))
def test_every_target_is_the_id_of_a_symbol(case: str) -> None:
    files, _ = read((CASES / f"{case}.txt").read_text())
    project = Project(files)
    summaries = project.resolver._index.summaries
    known = {
        symbol_id(summaries[path].language, symbol)
        for path, body in project.bodies.items()
        for symbol in body.symbols
    }
    targets = {
        target
        for edges in project.edges().values()
        for edge in edges
        for target in (edge.target, *edge.candidates)
        if target and not target.startswith("N:")
    }
    assert targets <= known


def read(text: str) -> tuple[dict[str, str], list[str]]:
    """Return the files of a case and its expected lines."""
    files: dict[str, str] = {}
    for part in text.split("=== ")[1:]:
        path, _, body = part.partition("\n")
        files[path] = body
    expected = files.pop("edges", "")
    return files, expected.splitlines()


def shown(edges: dict[str, list[Edge]]) -> list[str]:
    return [
        f"{path}:{edge.line} {edge.kind} {edge.name} {meaning(edge)}"
        for path, found in sorted(edges.items())
        for edge in sorted(found, key=lambda edge: (edge.line, edge.column))
        if edge.kind in SHOWN
    ]


def meaning(edge: Edge) -> str:
    if edge.state == "resolved":
        return f"-> {edge.target} {edge.confidence}"
    if edge.state == "external":
        return f"outside {edge.hint}"
    return f"? {' '.join(edge.candidates)}".rstrip()
