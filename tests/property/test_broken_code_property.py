"""Does code that is cut off, torn apart or soiled still give an extract, in every language?"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.ids import RepoPath
from services.extractor.extract import extract_file
from services.source.charset import to_utf8

CASES = Path(__file__).parents[1] / "golden" / "extraction"
DIRT = b"(){}[]<>\"'`;:,.#$@!?*&|\\\n\x00\xff"


def source_of(case: str) -> tuple[str, bytes]:
    path = next(path for path in sorted((CASES / case).iterdir()) if path.name[:6] == "input.")
    return path.name.removesuffix(".txt"), path.read_bytes()


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_damaged_source_still_gives_symbols_that_lie_in_it(case: str, data: st.DataObject) -> None:
    name, source = source_of(case)
    size = len(source)
    start = data.draw(st.integers(0, size))
    end = data.draw(st.integers(start, min(size, start + 400)))
    dirt = bytes(data.draw(st.lists(st.sampled_from(DIRT), max_size=4)))
    damaged = source[:start] + dirt + data.draw(st.sampled_from([b"", source[end:]]))

    found = extract_file(RepoPath(f"src/{name}"), damaged)

    assert not found.skipped, found.skipped_detail
    extract = found.extract
    assert extract is not None
    for index, symbol in enumerate(extract.symbols):
        assert symbol.name
        assert 0 <= symbol.start_byte <= symbol.end_byte <= len(to_utf8(damaged))
        assert 1 <= symbol.start_line <= symbol.end_line
        assert -1 <= symbol.parent < len(extract.symbols)
        assert symbol.parent != index
