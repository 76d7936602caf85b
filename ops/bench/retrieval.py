"""How good are the answers? Searches whose answer is known, on trees that are indexed here.

    repofold bench retrieval DATA --trees TREES [--fit] [--gate]

`DATA/queries.jsonl` holds one query a line: {"repo": ..., "query": ..., "gold": [path, ...]}, paths
relative to `TREES/<repo>`. `DATA/history/<repo>.jsonl.gz`, where there is one, holds earlier commits,
newest first: {"message": ..., "files": [path, ...]}. Extraction, segments, vectors, history and
ranking are those of the product, run in this process without a broker or a store. Every figure is a
mean over repositories of the mean over their queries: nDCG@10, MRR@10 and recall at 5, 10 and 20.

Repositories are dealt into two halves in the order of their names, first, third, ... and second,
fourth, ... With `--fit` the weights are fitted on either half and judged on the other (fit.py); with
`--gate` the exit code is 1 when a figure is below its floor.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
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
from services.query.ranking.dense import DensePlane, DenseScores, VectorTable
from services.query.ranking.facts import FileFacts
from services.query.ranking.fuse import WEIGHTS, RankedFile, Ranking
from services.query.ranking.history import FileHistory, History, HistoryScores
from services.query.ranking.lexical import LexicalScores, score_corpus
from services.source.commits import Commit, commits_of
from services.source.sniff import is_binary
from services.source.static_model import StaticModel
from services.source.terms import QueryTerms, query_terms
from store.segments import SegmentFile, SegmentView, build_segment

_LARGEST_FILE_BYTES = 1_000_000
_DEPTH = 20  # ranks that any figure looks at
METRICS = ("nDCG@10", "MRR@10", "R@5", "R@10", "R@20")
# Which scores take part beside those of words: vectors, history.
STACKS = {
    "words": (False, False),
    "words_history": (False, True),
    "hybrid": (True, False),
    "hybrid_history": (True, True),
}
FLOORS = {"words": 0.675, "hybrid": 0.685}  # nDCG@10

Figures = tuple[float, ...]  # in the order of METRICS


class Query(Struct, frozen=True):
    """One question and the files that answer it."""

    repo: str
    query: str
    gold: tuple[str, ...]


class Scores(Struct, frozen=True):
    """Means over repositories, all of them and each half."""

    all: Figures
    first_half: Figures
    second_half: Figures


class Report(Struct, frozen=True):
    """What a run found, by stack."""

    queries: int
    halves: tuple[tuple[str, ...], tuple[str, ...]]
    stacks: dict[str, Scores]
    repositories: dict[str, dict[str, Figures]]
    ms_p50: float  # one answer by everything there is
    ms_p95: float
    fitted: dict[str, Scores] | None = None  # each half with weights fitted on the other
    fitted_weights: tuple[dict[str, float], ...] = ()  # on the first half, on the second half


class Asked(Struct, frozen=True):
    """One question with all its scores."""

    gold: tuple[str, ...]
    terms: QueryTerms
    lexical: LexicalScores
    dense: DenseScores
    history: HistoryScores | None


class IndexedTree:
    """One tree, ready to be asked."""

    def __init__(self, root: Path, model: StaticModel, commits: Sequence[Commit] = ()) -> None:
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
        self.facts = FileFacts(self._corpus, paths)
        vectors = [
            (sequence, rows.tobytes()) for sequence, rows in enumerate(model.embed_many(terms), 1)
        ]
        self._dense = DensePlane(self._corpus, VectorTable(model.dimension).changed(vectors))
        self._history = FileHistory(History([commits_of(commits)]), paths) if commits else None

    def rank(self, query: str, *, with_vectors: bool, limit: int = _DEPTH) -> list[RankedFile]:
        """Return the best files for a query, without history."""
        stack = "hybrid" if with_vectors else "words"
        return self.ranked(self.ask(query), stack, limit=limit)

    def ask(self, query: str, gold: tuple[str, ...] = ()) -> Asked:
        """Score everything for a query."""
        terms = query_terms(query)
        dense = self._dense.score(self._model.embed_query(query))
        return Asked(
            gold,
            terms,
            score_corpus(terms, self._corpus),
            replace(dense, trust=self._model.known_share(terms.terms)),
            None if self._history is None else self._history.score(terms.terms),
        )

    def ranked(
        self,
        asked: Asked,
        stack: str,
        weights: Mapping[str, float] = WEIGHTS,
        limit: int = _DEPTH,
    ) -> list[RankedFile]:
        """Return the best files by the scores that a stack uses."""
        dense, history = STACKS[stack]
        ranking = Ranking(
            asked.terms,
            self.facts,
            asked.lexical,
            asked.dense if dense else None,
            asked.history if history else None,
            weights,
        )
        return ranking.top(limit)


class Trial(Struct, frozen=True):
    """Every repository with its questions."""

    trees: dict[str, IndexedTree]
    asked: dict[str, list[Asked]]

    @property
    def stacks(self) -> list[str]:
        """The stacks that the data allow."""
        has_history = all(each.history is not None for own in self.asked.values() for each in own)
        return [name for name, (_, history) in STACKS.items() if has_history or not history]

    def figures(self, repo: str, stack: str, weights: Mapping[str, float] = WEIGHTS) -> Figures:
        """Means over the questions to one repository."""
        tree = self.trees[repo]
        return _means(
            [
                metrics([file.path for file in tree.ranked(each, stack, weights)], each.gold)
                for each in self.asked[repo]
            ]
        )


def halves_of(repos: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Deal repositories out in the order of their names."""
    ordered = sorted(repos)
    return tuple(ordered[0::2]), tuple(ordered[1::2])


def run(args: argparse.Namespace) -> int:
    """Measure and print; `args` are those of `repofold bench`."""
    if not args.path:
        raise InvalidArgument(
            "no folder with benchmark data", hint="repofold bench retrieval DATA --trees TREES"
        )
    data = Path(args.path)
    trial, times = asked_of(data, Path(args.trees or data / "trees"))
    report = measure(trial, times)
    if args.fit:
        from ops.bench.fit import fitted

        report = fitted(trial, report)
    if args.json:
        print(json.dumps({"bench": "retrieval", **msgspec.to_builtins(report)}))
    else:
        _print(report)
    low = [name for name, floor in FLOORS.items() if report.stacks[name].all[0] < floor]
    return 1 if args.gate and low else 0


def asked_of(data: Path, trees: Path) -> tuple[Trial, list[float]]:
    """Index every tree and ask every query; raises InvalidArgument when a file or tree is missing.

    The times are those of whole answers, in milliseconds.
    """
    model = StaticModel.load()
    by_repo: dict[str, list[Query]] = {}
    for query in read_queries(data / "queries.jsonl"):
        by_repo.setdefault(query.repo, []).append(query)
    trial = Trial({}, {})
    times: list[float] = []
    for repo, queries in sorted(by_repo.items()):
        root = trees / repo
        if not root.is_dir():
            raise InvalidArgument(f"no tree at {root}", hint="name their folder with --trees")
        tree = trial.trees[repo] = IndexedTree(root, model, _read_commits(data, repo))
        asked = trial.asked[repo] = []
        for query in queries:
            started = time.perf_counter()
            each = tree.ask(query.query, query.gold)
            tree.ranked(each, "hybrid_history")
            times.append((time.perf_counter() - started) * 1000)
            asked.append(each)
    return trial, times


def measure(trial: Trial, times: Sequence[float]) -> Report:
    """Every figure with the weights of the product."""
    by_repo = {
        repo: {stack: trial.figures(repo, stack) for stack in trial.stacks} for repo in trial.trees
    }
    halves = halves_of(list(trial.trees))
    ordered = sorted(times)
    return Report(
        queries=len(times),
        halves=halves,
        stacks={
            stack: Scores(
                _means([own[stack] for own in by_repo.values()]),
                *(_means([by_repo[repo][stack] for repo in half]) for half in halves),
            )
            for stack in trial.stacks
        },
        repositories=by_repo,
        ms_p50=statistics.median(ordered),
        ms_p95=ordered[int(0.95 * (len(ordered) - 1))],
    )


def metrics(ranked: Sequence[str], gold: Sequence[str]) -> tuple[float, ...]:
    """Return the METRICS of one answer; `ranked` holds no path twice."""
    wanted = set(gold)
    hits = [path in wanted for path in ranked[:_DEPTH]]
    gain = sum(hit / math.log2(rank + 2) for rank, hit in enumerate(hits[:10]))
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(wanted))))
    first = next((1 / (rank + 1) for rank, hit in enumerate(hits[:10]) if hit), 0.0)
    recalls = (sum(hits[:depth]) / len(wanted) for depth in (5, 10, 20))
    return (gain / ideal, first, *recalls)


def read_queries(path: Path) -> list[Query]:
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


def _means(rows: Sequence[Figures]) -> Figures:
    if not rows:
        return (0.0,) * len(METRICS)
    return tuple(statistics.fmean(column) for column in zip(*rows, strict=True))


def _read_commits(data: Path, repo: str) -> list[Commit]:
    """Earlier commits, oldest first; none where there is no file."""
    path = data / "history" / f"{repo}.jsonl.gz"
    if not path.is_file():
        return []
    with gzip.open(path, "rb") as lines:
        return [msgspec.json.decode(line, type=Commit) for line in lines][::-1]


def _print(report: Report) -> None:
    console = Console(highlight=False)
    table = Table("repository", *report.stacks, title="nDCG@10")
    for name, figures in report.repositories.items():
        table.add_row(name, *(f"{figures[stack][0]:.3f}" for stack in report.stacks))
    console.print(table)
    table = Table("stack", "repositories", *METRICS)
    for title, stacks in (("", report.stacks), (", fitted on the other half", report.fitted or {})):
        for stack, scores in stacks.items():
            for half in ("all", "first_half", "second_half"):
                row = (f"{figure:.3f}" for figure in getattr(scores, half))
                table.add_row(stack + title, half.replace("_", " "), *row)
    console.print(table)
    for half, weights in zip(("first", "second"), report.fitted_weights, strict=False):
        told = ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items())
        console.print(f"weights fitted on the {half} half: {told}")
    console.print(f"one answer: {report.ms_p50:.1f} ms (median), {report.ms_p95:.1f} ms (p95)")
