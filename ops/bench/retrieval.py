"""How good are the answers? Searches whose answer is known, on trees that are indexed here.

    repofold bench retrieval DATA --trees TREES

`DATA/queries.jsonl` holds one query a line: {"repo": ..., "query": ..., "gold": [path, ...]}, paths
relative to `TREES/<repo>`. Extraction, segments, vectors and ranking are those of the product, run
in this process without a broker or a store. Every figure is a mean over repositories of the mean
over their queries: nDCG@10, MRR@10 and recall at 5, 10 and 20.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from contracts.errors import InvalidArgument
from contracts.extract import Terms
from contracts.ids import RepoPath
from services.extractor.extract import extract_file
from services.query.ranking.corpus import Corpus
from services.query.ranking.dense import DensePlane, VectorTable
from services.query.ranking.facts import FileFacts
from services.query.ranking.fuse import RankedFile, Ranking
from services.query.ranking.lexical import score_corpus
from services.source.sniff import is_binary
from services.source.static_model import StaticModel
from services.source.terms import query_terms
from store.segments import SegmentFile, SegmentView, build_segment

_LARGEST_FILE_BYTES = 1_000_000
_DEPTH = 20  # ranks that any figure looks at
METRICS = ("nDCG@10", "MRR@10", "R@5", "R@10", "R@20")


class Query(Struct, frozen=True):
    """One question and the files that answer it."""

    repo: str
    query: str
    gold: tuple[str, ...]


class Scores(Struct, frozen=True):
    """Means over some queries, in the order of METRICS, for words alone and with vectors."""

    queries: int
    lexical: tuple[float, ...]
    hybrid: tuple[float, ...]


class Report(Struct, frozen=True):
    """What a run found."""

    macro: Scores
    repositories: dict[str, Scores]
    hybrid_ms_p50: float
    hybrid_ms_p95: float


class IndexedTree:
    """One tree, ready to be asked."""

    def __init__(self, root: Path, model: StaticModel) -> None:
        paths: list[str] = []
        terms: list[Terms] = []
        files: list[SegmentFile] = []
        for path, data in _text_files(root):
            extraction = extract_file(RepoPath(path), data)
            found = extraction.extract.terms if extraction.extract is not None else None
            if found is not None:
                files.append(SegmentFile(len(files) + 1, extraction.kind, found))
                paths.append(path)
                terms.append(found)
        self._model = model
        self._corpus = Corpus([SegmentView(build_segment(files))])
        self._facts = FileFacts(self._corpus, paths)
        vectors = [
            (sequence, rows.tobytes()) for sequence, rows in enumerate(model.embed_many(terms), 1)
        ]
        self._dense = DensePlane(self._corpus, VectorTable(model.dimension).changed(vectors))

    def rank(self, query: str, *, with_vectors: bool, limit: int = _DEPTH) -> list[RankedFile]:
        """Return the best files for a query."""
        terms = query_terms(query)
        dense = self._dense.score(self._model.embed_query(query)) if with_vectors else None
        lexical = score_corpus(terms, self._corpus)
        return Ranking(terms, self._facts, lexical, dense).top(limit)


def run(args: argparse.Namespace) -> int:
    """Measure and print; `args` are those of `repofold bench`."""
    if not args.path:
        raise InvalidArgument(
            "no folder with benchmark data", hint="repofold bench retrieval DATA --trees TREES"
        )
    data = Path(args.path)
    report = measure(data / "queries.jsonl", Path(args.trees or data / "trees"))
    if args.json:
        print(json.dumps({"bench": "retrieval", **msgspec.to_builtins(report)}))
    else:
        _print(report)
    return 0


def measure(queries: Path, trees: Path) -> Report:
    """Ask every query; raises InvalidArgument when a file or tree is missing."""
    model = StaticModel.load()
    by_repo: dict[str, list[Query]] = {}
    for query in _read_queries(queries):
        by_repo.setdefault(query.repo, []).append(query)
    scores: dict[str, Scores] = {}
    times: list[float] = []
    for repo, asked in sorted(by_repo.items()):
        root = trees / repo
        if not root.is_dir():
            raise InvalidArgument(f"no tree at {root}", hint="name their folder with --trees")
        tree = IndexedTree(root, model)
        rows: dict[bool, list[tuple[float, ...]]] = {True: [], False: []}
        for query in asked:
            for with_vectors, found in rows.items():
                started = time.perf_counter()
                ranked = tree.rank(query.query, with_vectors=with_vectors)
                if with_vectors:
                    times.append((time.perf_counter() - started) * 1000)
                found.append(metrics([file.path for file in ranked], query.gold))
        scores[repo] = Scores(len(asked), _means(rows[False]), _means(rows[True]))
    macro = Scores(
        sum(each.queries for each in scores.values()),
        _means([each.lexical for each in scores.values()]),
        _means([each.hybrid for each in scores.values()]),
    )
    times.sort()
    return Report(macro, scores, statistics.median(times), times[int(0.95 * (len(times) - 1))])


def metrics(ranked: Sequence[str], gold: Sequence[str]) -> tuple[float, ...]:
    """Return the METRICS of one answer; `ranked` holds no path twice."""
    wanted = set(gold)
    hits = [path in wanted for path in ranked[:_DEPTH]]
    gain = sum(hit / math.log2(rank + 2) for rank, hit in enumerate(hits[:10]))
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(wanted))))
    first = next((1 / (rank + 1) for rank, hit in enumerate(hits[:10]) if hit), 0.0)
    recalls = (sum(hits[:depth]) / len(wanted) for depth in (5, 10, 20))
    return (gain / ideal, first, *recalls)


def _read_queries(path: Path) -> list[Query]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InvalidArgument(f"cannot read {path}: {error.strerror}") from error
    decode = msgspec.json.Decoder(Query).decode
    queries = [decode(line) for line in lines if line.strip()]
    if not queries or not all(query.gold for query in queries):
        raise InvalidArgument(f"{path} holds no query, or one without an answer")
    return queries


def _text_files(root: Path) -> Iterator[tuple[str, bytes]]:
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            data = path.read_bytes()
            if len(data) <= _LARGEST_FILE_BYTES and not is_binary(data):
                yield path.relative_to(root).as_posix(), data


def _means(rows: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(statistics.fmean(column) for column in zip(*rows, strict=True))


def _print(report: Report) -> None:
    table = Table("repository", "queries", "words alone", *METRICS)
    for name, scores in [*report.repositories.items(), ("mean", report.macro)]:
        figures = (scores.lexical[0], *scores.hybrid)
        table.add_row(name, str(scores.queries), *(f"{figure:.3f}" for figure in figures))
    console = Console()
    console.print(table)
    console.print(
        f"one answer: {report.hybrid_ms_p50:.1f} ms (median), {report.hybrid_ms_p95:.1f} ms (p95)"
    )
