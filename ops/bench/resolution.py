"""How many edges of the resolver would an independent indexer draw, and how many does it miss?

    repofold bench resolution DIR

DIR holds `<language>/<package>.scip`, made by an indexer nobody here wrote (scip-python,
scip-typescript), or `<package>.tsv`, what a compiler's own type checker says (`oracles/`; a line a name: path,
line, byte column, then path, line and name of its declaration, "-" when that is elsewhere), and
`sources/<language>/<package>/`, the tree it was made from.

A name counts when the indexer says which declaration of the package it means, and the extract
declares that too (parameters and locals are no symbols here). Precision: of the names that both
resolve, how many alike, names the indexer knows to mean something else included. Recall: of the
names the indexer resolves to such a declaration, how many are resolved alike. Names that the
extract holds no use of (keys of object literals, destructured names) are counted as `unseen`, and
are in the recall of `all` only.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from contracts.errors import InvalidArgument
from contracts.extract import Body
from contracts.ids import RepoPath
from ops.bench import scip
from services.extractor.extract import extract_files
from services.resolution.edges import Edge, rows
from services.resolution.ids import symbol_id
from services.resolution.resolver import Resolver

_CALLS = frozenset({"call", "instantiate"})
_TYPES = frozenset({"class", "interface", "struct", "enum", "trait", "record", "type"})
_CONSTRUCTORS = (".__init__", ".constructor", ".__new__")
_FIELD = re.compile(r"#[^#/()]+\.$")  # a symbol of scip-python that is a member and no method
_LAST_NAME = re.compile(r"([^\s/#.`():\[\]]+)[#.`():\[\]]*$")

Bodies = dict[str, tuple[str, Body]]
Places = dict[tuple[int, int], list[str]]  # (line, byte column) -> symbols of the indexer


@dataclass
class Score:
    """Names by outcome."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    unseen: int = 0
    high: int = 0
    high_wrong: int = 0
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, other: Score) -> None:
        for name in ("right", "wrong", "missed", "unseen", "high", "high_wrong"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def row(self) -> dict[str, float | int]:
        """Return the figures."""
        return {
            "precision": _share(self.right, self.right + self.wrong),
            "recall": _share(self.right, self.right + self.missed),
            "recall_of_all": _share(self.right, self.right + self.missed + self.unseen),
            "high_precision": _share(self.high - self.high_wrong, self.high),
            "compared": self.right + self.wrong + self.missed,
        }


def _share(part: int, whole: int) -> float:
    return round(part / whole, 3) if whole else 1.0


@dataclass(frozen=True)
class _Oracle:
    """What an indexer says of one package."""

    documents: dict[str, list[scip.Occurrence]]
    ids: dict[str, set[str]]  # its symbol -> symbol ids of the declarations it stands for


def run(args: argparse.Namespace) -> int:
    """Compare every package that has an index."""
    if not args.path:
        raise InvalidArgument("no folder of indexes", hint="repofold bench resolution DIR")
    table = measure(Path(args.path))
    if args.json:
        print(json.dumps({"bench": "resolution", "results": table}))
        return 0
    shown = Table("language", "package", "names", *table[0]["call"]) if table else Table()
    for entry in table:
        for kind in ("call", "reference"):
            shown.add_row(
                entry["language"], entry["package"], kind, *(str(v) for v in entry[kind].values())
            )
    Console().print(shown)
    return 0


def measure(folder: Path, examples: int = 0) -> list[dict[str, Any]]:
    """Return one entry a package and one a language; print examples of what is not alike."""
    table: list[dict[str, Any]] = []
    languages = sorted(path.name for path in folder.iterdir() if path.name != "sources")
    for language in languages:
        total = {"call": Score(), "reference": Score()}
        indexes = [p for p in (folder / language).iterdir() if p.suffix in (".scip", ".tsv")]
        for index in sorted(indexes):
            root = folder / "sources" / language / index.stem
            bodies = bodies_of(root)
            scores = compare(bodies, index, root)
            table.append(_entry(language, index.stem, scores))
            for kind, score in scores.items():
                total[kind].add(score)
                _print_examples(kind, score, examples)
        table.append(_entry(language, "all", total))
    return table


def _entry(language: str, package: str, scores: dict[str, Score]) -> dict[str, Any]:
    figures = {kind: score.row() for kind, score in scores.items()}
    return {"language": language, "package": package, **figures}


def _print_examples(kind: str, score: Score, wanted: int) -> None:
    for outcome, lines in score.examples.items() if wanted else ():
        for line in lines[:: max(1, len(lines) // wanted)][:wanted]:
            print(f"{kind} {outcome}: {line}")


def bodies_of(root: Path) -> Bodies:
    """Extract every readable file under a folder."""
    found: Bodies = {}
    for place in sorted(path for path in root.rglob("*") if path.is_file()):
        path = place.relative_to(root).as_posix()
        extraction = extract_files([(RepoPath(path), place.read_bytes())])[0]
        if extraction.extract is not None:
            e = extraction.extract
            body = Body(e.symbols, e.imports, e.references, e.bindings, e.chunks)
            found[path] = (extraction.language, body)
    return found


def edges_of(bodies: Bodies) -> dict[str, list[Edge]]:
    """Resolve a whole package."""
    resolver = Resolver(lambda path: bodies[path][1])
    changes = [(path, language, body) for path, (language, body) in bodies.items()]
    return {path: list(rows(edges)) for path, edges, _ in resolver.apply(changes)}


def compare(bodies: Bodies, index: Path, root: Path) -> dict[str, Score]:
    """Return the scores of calls and of all uses of names."""
    found = edges_of(bodies)
    told = _read_lines if index.suffix == ".tsv" else _read
    oracle = told(bodies, index, root)
    scores = {"call": Score(), "reference": Score()}
    for path, occurrences in oracle.documents.items():
        if path in found:
            lines = (root / path).read_bytes().split(b"\n")
            places = _places(path, occurrences, lines)
            _compare_file(path, found[path], places, oracle, scores)
            starts = {symbol.start_line for symbol in bodies[path][1].symbols}
            _count_unseen(path, places, starts, oracle, scores["reference"])
    return scores


def _read_lines(bodies: Bodies, index: Path, root: Path) -> _Oracle:
    """Read what a type checker says."""
    documents: dict[str, list[scip.Occurrence]] = defaultdict(list)
    ids: dict[str, set[str]] = {}
    lines_of: dict[str, list[bytes]] = {}
    for row in dict.fromkeys(index.read_text().splitlines()):
        path, line, column, place, declared, name = row.split("\t")
        if path not in lines_of:
            source = root / path
            lines_of[path] = source.read_bytes().split(b"\n") if source.exists() else []
        if int(line) > len(lines_of[path]):
            continue
        start = len(lines_of[path][int(line) - 1][: int(column)].decode(errors="replace"))
        symbol = f"{place}:{declared}:{name}"
        found = None if place == "-" else _named_at(bodies, place, int(declared), name)
        if found is not None:
            ids[symbol] = {found}
        outside = place == "-" or found is not None
        key = symbol if outside else f"local {symbol}"
        documents[path].append(scip.Occurrence(int(line), start, start + len(name), key, 0))
    return _Oracle(dict(documents), ids)


def _named_at(bodies: Bodies, path: str, line: int, name: str) -> str | None:
    if path not in bodies:
        return None
    language, body = bodies[path]
    named = [s for s in body.symbols if s.name == name and s.start_line <= line <= s.end_line]
    near = [s for s in named if line - s.start_line <= len(s.decorators) + 3 or s.kind in _TYPES]
    best = max(near, key=lambda s: (s.start_line, -s.end_line), default=None)
    return symbol_id(language, best) if best is not None else None


def _read(bodies: Bodies, index: Path, root: Path) -> _Oracle:
    documents = dict(scip.documents(index.read_bytes()))
    definitions: dict[str, set[tuple[str, int, str]]] = defaultdict(set)
    for path, occurrences in documents.items():
        lines = (root / path).read_text(errors="replace").split("\n")
        for one in occurrences:
            if one.roles & scip.DEFINITION:
                text = lines[one.line - 1][one.start : one.end]
                definitions[_key(path, one.symbol)].add((path, one.line, text))
    ids = {
        symbol: {
            target
            for place in places
            if (target := _declared_at(bodies, symbol, *place)) is not None
        }
        for symbol, places in definitions.items()
    }
    return _Oracle(documents, ids)


def _key(path: str, symbol: str) -> str:
    """Local symbols are numbered anew in every file."""
    return f"{path} {symbol}" if symbol.startswith("local ") else symbol


def _declared_at(bodies: Bodies, symbol: str, path: str, line: int, name: str) -> str | None:
    """Return the symbol id of what an indexer defines at a place; None when we declare no such."""
    if path not in bodies:
        return None
    language, body = bodies[path]
    last = _LAST_NAME.search(symbol)
    told = last[1] if last is not None and "<" not in last[1] and "local " not in symbol else name
    if told != name.lstrip("#"):
        name = told  # defined by a string, as in __slots__
    around = [s for s in body.symbols if s.start_line <= line <= s.end_line]
    named = [s for s in around if s.name == name.strip("'\"")]
    if named:
        return symbol_id(language, max(named, key=lambda s: (s.start_line, -s.end_line)))
    owners = [s for s in around if s.kind in _TYPES]
    if owners and language == "python" and _FIELD.search(symbol):
        owner = max(owners, key=lambda s: s.start_line)
        return f"F:{owner.fq_name}.{name}"
    return None


def _places(path: str, occurrences: list[scip.Occurrence], lines: list[bytes]) -> Places:
    places: Places = defaultdict(list)
    for one in occurrences:
        if not one.roles & scip.DEFINITION:
            text = lines[one.line - 1].decode(errors="replace")
            column = len(text[: one.start].encode())
            places[one.line, column].append(_key(path, one.symbol))
    return places


def _compare_file(
    path: str, edges: Iterable[Edge], places: Places, oracle: _Oracle, scores: dict[str, Score]
) -> None:
    for edge in edges:
        symbols = places.pop((edge.line, edge.column), None)
        if symbols is None or edge.target.startswith("N:"):
            continue
        expected = {target for symbol in symbols for target in oracle.ids.get(symbol, ())}
        outcome = _outcome(edge, expected, symbols)
        for kind in ("reference", "call") if edge.kind in _CALLS else ("reference",):
            _count(scores[kind], outcome, edge, f"{path} wanted {sorted(expected) or symbols}")


def _count(score: Score, outcome: str, edge: Edge, where: str) -> None:
    score.right += outcome == "right"
    score.wrong += "wrong" in outcome
    score.missed += "missed" in outcome
    if edge.confidence == "high" and (outcome == "right" or "wrong" in outcome):
        score.high += 1
        score.high_wrong += "wrong" in outcome
    if outcome not in ("right", "silent"):
        meant = edge.target or f"{edge.state} {edge.hint}"
        text = f"{edge.line}:{edge.column} {edge.kind} {edge.name} -> {meant} in {where}"
        score.examples[outcome].append(text)


def _count_unseen(
    path: str, places: Places, starts: set[int], oracle: _Oracle, score: Score
) -> None:
    """Count names the extract holds no use of; what starts a declaration is an overload of it."""
    for (line, column), symbols in places.items():
        if line not in starts and any(oracle.ids.get(symbol) for symbol in symbols):
            score.unseen += 1
            score.examples["unseen"].append(f"{path}:{line}:{column} {symbols}")


def _outcome(edge: Edge, expected: set[str], symbols: list[str]) -> str:
    if edge.state != "resolved":
        return "missed" if expected else "silent"
    if _alike(edge.target, expected):
        return "right"
    if _of_slots(edge.target, expected) or (not expected and all(map(_is_local, symbols))):
        return "silent"  # the indexer names no declaration either
    return "wrong and missed" if expected else "wrong"


def _of_slots(target: str, expected: set[str]) -> bool:
    """scip-python points from a member that only __slots__ declares to its class."""
    owner = target[2:].rpartition(".")[0]
    return target.startswith("F:") and expected == {f"T:{owner}"}


def _is_local(symbol: str) -> bool:
    return symbol.startswith("local ") or " local " in symbol


def _alike(target: str, expected: set[str]) -> bool:
    """A class and its constructor are one thing to call."""
    plain = target[2:]
    names = {one[2:] for one in expected}
    return plain in names or any(
        plain + suffix in names or plain == name + suffix
        for suffix in _CONSTRUCTORS
        for name in names
    )
