"""Is what the extractor reads out of each language what a careful reader would?

Every folder of tests/golden/extraction holds one `input.*` and its `expected.json`. A further
`.txt` keeps an input away from this project's own linters and is no part of its name. After a
change: `pytest tests/golden/test_extraction.py --update-golden`, and read the difference.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.extract import REFERENCE_KINDS, Extract, References, Symbol
from contracts.ids import RepoPath
from services.extractor.extract import Extraction, extract_file

CASES = Path(__file__).with_name("extraction")
FOLDER = "src/shop"  # where the inputs pretend to lie
COLUMNS = {
    "kind": "u1", "name": "<u4", "receiver": "<i4", "line": "<u4", "column": "<u4",
    "scope": "<i4", "argc": "<i2", "literal": "<i4",
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_the_extract_of_a_file_is_as_reviewed(case: str, update_golden: bool) -> None:
    source = next(path for path in sorted((CASES / case).iterdir()) if path.name[:6] == "input.")
    found = extract_file(
        RepoPath(f"{FOLDER}/{source.name.removesuffix('.txt')}"), source.read_bytes()
    )
    expected = CASES / case / "expected.json"
    if update_golden:
        expected.write_text(written(rendered(found)))
    assert rendered(found) == json.loads(expected.read_text())


def rendered(found: Extraction) -> dict[str, Any]:
    """Return an extract in words: symbols by name and index, references row by row."""
    extract = found.extract
    assert extract is not None, found.skipped_detail
    scopes = {index: symbol.fq_name for index, symbol in enumerate(extract.symbols)}
    return {
        "file": {
            "language": found.language,
            "kind": found.kind,
            "detail": found.skipped_detail,
            "quality": extract.quality,
            "lines": extract.line_count,
            "tokens": extract.token_count,
        },
        "symbols": [_symbol(symbol, scopes) for symbol in extract.symbols],
        "imports": [
            f"{i.line}: {i.kind} {i.module!r} {i.name!r} as {i.alias!r}"
            + (f" level {i.level}" if i.level else "")
            + (f" in {scopes[i.scope]}" if i.scope >= 0 else "")
            for i in extract.imports
        ],
        "bindings": [
            f"{b.line}: {scopes.get(b.scope, '')} {b.name} = {b.type_name} ({b.origin})"
            for b in extract.bindings
        ],
        "references": _references(extract.references, scopes),
        "chunks": [
            f"{chunk.start_byte}-{chunk.end_byte} lines {chunk.start_line}-{chunk.end_line}"
            for chunk in extract.chunks
        ],
    }


def _symbol(symbol: Symbol, scopes: dict[int, str]) -> dict[str, Any]:
    shown = {
        "is": f"{symbol.kind} {symbol.fq_name}",
        "at": f"{symbol.start_line}-{symbol.end_line} ({symbol.start_byte}-{symbol.end_byte})",
        "in": scopes.get(symbol.parent, ""),
        "signature": symbol.signature,
        "doc": symbol.doc,
        "visibility": symbol.visibility,
        "params": [f"{name}: {declared}" for name, declared in symbol.params],
        "arity": symbol.arity if symbol.arity >= 0 else "",
        "returns": symbol.returns,
        "modifiers": " ".join(symbol.modifiers),
        "decorators": list(symbol.decorators),
        "bases": list(symbol.bases),
    }
    assert symbol.fq_name.endswith(symbol.name)
    return {key: value for key, value in shown.items() if value not in ("", [])}


def _references(references: References | None, scopes: dict[int, str]) -> list[str]:
    if references is None:
        return []
    table = {
        name: np.frombuffer(getattr(references, name), dtype).tolist()
        for name, dtype in COLUMNS.items()
    }
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    return [_reference(row, references.strings, scopes) for row in rows]


def _reference(row: dict[str, int], strings: tuple[str, ...], scopes: dict[int, str]) -> str:
    text = f"{row['line']}:{row['column']} {REFERENCE_KINDS[row['kind']]} "
    if row["receiver"] >= 0:
        text += f"<{strings[row['receiver']]}> "
    text += strings[row["name"]]
    if row["argc"] >= 0:
        text += f" ({row['argc']})"
    if row["literal"] >= 0:
        text += f" {strings[row['literal']]!r}"
    return text + (f" in {scopes[row['scope']]}" if row["scope"] >= 0 else "")


def written(result: dict[str, Any]) -> str:
    """Write one entry a line, so that differences read well."""
    parts = []
    for key, value in result.items():
        if isinstance(value, list):
            lines = ",\n".join(f"  {json.dumps(entry, ensure_ascii=False)}" for entry in value)
            parts.append(f' "{key}": [\n{lines}\n ]' if value else f' "{key}": []')
        else:
            parts.append(f' "{key}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def test_every_name_and_span_points_into_the_file() -> None:
    for case in sorted(CASES.iterdir()):
        source = next(path for path in sorted(case.iterdir()) if path.name[:6] == "input.")
        data = source.read_bytes()
        name = source.name.removesuffix(".txt")
        extract = extract_file(RepoPath(f"{FOLDER}/{name}"), data).extract
        assert isinstance(extract, Extract)
        _check_spans(extract, data)


def _check_spans(extract: Extract, data: bytes) -> None:
    for index, symbol in enumerate(extract.symbols):
        assert 0 <= symbol.start_byte < symbol.end_byte <= len(data)
        assert data.count(b"\n", 0, symbol.start_byte) + 1 == symbol.start_line
        assert symbol.parent < len(extract.symbols)
        assert symbol.parent != index
    if extract.references is not None:
        lines = data.split(b"\n")
        columns = [
            np.frombuffer(getattr(extract.references, name), COLUMNS[name]).tolist()
            for name in ("name", "line", "column")
        ]
        for number, line, column in zip(*columns, strict=True):
            name = extract.references.strings[number].encode()
            assert lines[line - 1][column : column + len(name)] == name
    covered = b"".join(data[chunk.start_byte : chunk.end_byte] for chunk in extract.chunks)
    assert covered.split() == data.split()
