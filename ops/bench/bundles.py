"""Is the right code in a bundle? Tasks whose files are known, on trees that are indexed here.

    repofold bench bundles DATA --trees TREES

Data and trees are those of `repofold bench retrieval`; ranking, passages and packing are those of
the product. Two figures for each budget, both shares of the files that were really changed for a
task: those named at all, and those with code of theirs shown. Means over repositories of the mean
over their tasks, with the default of ten files.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from contracts.errors import InvalidArgument
from contracts.extract import Extract, decompressed
from contracts.ids import RepoPath
from contracts.tools.context import Level
from ops.bench.retrieval import IndexedTree, Query, read_queries
from services.extractor.extract import extract_file
from services.query.bundle.answer import Answered, Question, answer
from services.query.bundle.candidates import Candidate, Source
from services.query.bundle.cost import Prices
from services.query.bundle.pack import Order
from services.query.bundle.receipts import Held
from services.query.ranking.fuse import RankedFile
from services.query.ranking.reasons import NameIndex, semantic_reasons
from services.source import tokens
from services.source.static_model import StaticModel
from services.source.terms import query_terms

BUDGETS = (4_096, 8_192, 16_384)
_TOP = 10
LEVELS: tuple[tuple[str, Level | None], ...] = (
    ("auto", None), ("slices", "slices"), ("outline", "outline"), ("paths", "paths"),
)  # fmt: skip


class Figures(Struct, frozen=True):
    """Of one level and budget."""

    level: str
    budget: int
    named: float  # share of the files to be changed that the bundle names
    shown: float  # … of which it shows code
    entries: float  # mean
    used: float  # share of the budget that the response takes by its own account
    sent: float  # share of the budget that its real tokens take


class Report(Struct, frozen=True):
    """What a run found."""

    tasks: int
    repositories: int
    figures: tuple[Figures, ...]
    pack_ms_p50: float
    pack_ms_p95: float


class BundledTree:
    """One tree, ready to be asked for bundles."""

    def __init__(self, root: Path, model: StaticModel) -> None:
        self._root = root
        self._tree = IndexedTree(root, model)
        self._extracts: dict[str, tuple[Extract | None, NameIndex]] = {}

    def candidates(self, task: str) -> list[Candidate]:
        """The files for a task, best first."""
        ranked = self._tree.rank(task, with_vectors=True, limit=_TOP)
        return [Candidate(self._source(task, file)) for file in ranked]

    def _source(self, task: str, ranked: RankedFile) -> Source:
        extract, names = self._extracted(ranked.path)
        meant = names.best(query_terms(task), 1)
        symbols = () if extract is None else extract.symbols
        return Source(
            repo_id="bench",
            path=ranked.path,
            score=round(ranked.score, 4),
            reasons=tuple(semantic_reasons("symbol", meant[0] if meant else "")),
            digest="",
            full_read_tokens=None if extract is None else extract.token_count,
            text=None if extract is None else decompressed(extract.text).decode(),
            symbols=symbols,
            chunks=() if extract is None else extract.chunks,
            ranked=ranked.passages,
            symbol=next((one for one in symbols if meant and one.fq_name == meant[0]), None),
        )

    def _extracted(self, path: str) -> tuple[Extract | None, NameIndex]:
        found = self._extracts.get(path)
        if found is None:
            extract = extract_file(RepoPath(path), (self._root / path).read_bytes()).extract
            symbols = () if extract is None else extract.symbols
            names = NameIndex((symbol.name, symbol.fq_name) for symbol in symbols)
            found = self._extracts[path] = (extract, names)
        return found


def run(args: argparse.Namespace) -> int:
    """Measure and print; `args` are those of `repofold bench`."""
    folder = args.path or os.environ.get("REPOFOLD_BENCH_DATA")
    if not folder:
        raise InvalidArgument(
            "no folder with benchmark data", hint="repofold bench bundles DATA --trees TREES"
        )
    data = Path(folder)
    report = measure(data / "queries.jsonl", Path(args.trees or data / "trees"))
    if args.json:
        print(json.dumps({"bench": "bundles", **msgspec.to_builtins(report)}))
    else:
        _print(report)
    return 0


def measure(queries: Path, trees: Path) -> Report:
    """Ask for every bundle; raises InvalidArgument when a file or tree is missing."""
    model = StaticModel.load()
    by_repo: dict[str, list[Query]] = {}
    for query in read_queries(queries):
        by_repo.setdefault(query.repo, []).append(query)
    rows: dict[tuple[str, int], list[tuple[float, ...]]] = {}  # one row for each repository
    times: list[float] = []
    for repo, asked in sorted(by_repo.items()):
        root = trees / repo
        if not root.is_dir():
            raise InvalidArgument(f"no tree at {root}", hint="name their folder with --trees")
        tree = BundledTree(root, model)
        found: dict[tuple[str, int], list[tuple[float, ...]]] = {}
        for query in asked:
            candidates = tree.candidates(query.query)
            for name, level in LEVELS:
                for budget in BUDGETS:
                    started = time.perf_counter()
                    answered = bundle(query.query, candidates, level, budget)
                    if level is None:
                        times.append((time.perf_counter() - started) * 1000)
                    found.setdefault((name, budget), []).append(shares(answered, query.gold))
        for key, scores in found.items():
            rows.setdefault(key, []).append(_means(scores))
    times.sort()
    return Report(
        sum(map(len, by_repo.values())),
        len(by_repo),
        tuple(Figures(name, budget, *_means(each)) for (name, budget), each in rows.items()),
        statistics.median(times),
        times[int(0.95 * (len(times) - 1))],
    )


_PRICES = Prices(tokens.count)


def bundle(
    task: str, candidates: Sequence[Candidate], level: Level | None, budget: int
) -> Answered:
    """The bundle that repocontext_context would deliver."""
    question = Question(
        repo_id="bench", task=task, mode="semantic", path="semantic.exact", session=None
    )
    order = Order(budget, _TOP, level)
    return answer(question, candidates, order, Held(), _PRICES)


def shares(answered: Answered, gold: Sequence[str]) -> tuple[float, ...]:
    """Figures of one bundle, in the order of `Figures`."""
    wanted = set(gold)
    named = {priced.entry.path for priced in answered.entries}
    shown = {priced.entry.path for priced in answered.entries if priced.is_slice}
    budget = answered.bundle.budget_tokens
    sent = _PRICES.scaffold(answered.bundle).wire
    return (
        len(named & wanted) / len(wanted),
        len(shown & wanted) / len(wanted),
        float(len(answered.entries)),
        answered.bundle.response_tokens / budget,
        sent / budget,
    )


def _means(rows: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(statistics.fmean(column) for column in zip(*rows, strict=True))


def _print(report: Report) -> None:
    table = Table("detail", "budget", "named", "code shown", "files", "budget used", "really sent")
    for each in report.figures:
        table.add_row(
            each.level, f"{each.budget:,}", f"{each.named:.3f}", f"{each.shown:.3f}",
            f"{each.entries:.1f}", f"{each.used:.0%}", f"{each.sent:.0%}",
        )  # fmt: skip
    console = Console()
    console.print(table)
    console.print(
        f"{report.tasks:,} tasks of {report.repositories} repositories; packing takes "
        f"{report.pack_ms_p50:.1f} ms (median), {report.pack_ms_p95:.1f} ms (p95)"
    )
