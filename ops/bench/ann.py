"""Which index finds the nearest of many vectors soonest, and how many does it miss?

    repofold bench ann PATH

The vectors are those of the text files below PATH, cut at line ends and embedded as the product
does; the questions are lines out of them. Every index gives twice as many candidates as are asked
for, and 400 more; the best of them by the vectors themselves are compared with those of an exact
scan. One thread; CPU time throughout.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import faiss
import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from contracts.errors import InvalidArgument
from services.query.ranking.dense import VectorTable
from services.source.sniff import is_binary
from services.source.static_model import StaticModel
from services.source.terms import build_terms
from store.ann_codes import Codes

F4 = NDArray[np.float32]
I1 = NDArray[np.int8]
I8 = NDArray[np.int64]
Search = Callable[[F4, int], I8]  # query, how many -> rows, in any order
Build = Callable[[I1], tuple[Search, int]]  # vectors -> search, bytes beside the vectors

_CHUNK_BYTES = 1_500
_LARGEST_FILE_BYTES = 1_000_000
_QUESTIONS = 200
_COUNTS = (100, 1_000)
_SIGNED_BYTES = faiss.ScalarQuantizer.QT_8bit_direct_signed


class Figures(Struct, frozen=True):
    """What was measured of one index."""

    index: str
    build_s: float
    megabytes: float  # beside the vectors
    ms_p50: tuple[float, ...]  # for each of 100 and 1,000
    ms_p95: tuple[float, ...]
    recall: tuple[float, ...]


def run(args: argparse.Namespace) -> int:
    """Measure and print; `args` are those of `repofold bench`."""
    if not args.path:
        raise InvalidArgument("no PATH to take vectors from", hint="repofold bench ann PATH")
    vectors, questions = read(Path(args.path))
    if len(vectors) < 2 * max(_COUNTS):
        raise InvalidArgument(
            f"{len(vectors)} passages are too few to compare anything", hint="name a larger tree"
        )
    figures = measure(vectors, questions)
    if args.json:
        report = {"bench": "ann", "vectors": len(vectors), "indexes": msgspec.to_builtins(figures)}
        print(json.dumps(report))
    else:
        _print(len(vectors), figures)
    return 0


def read(root: Path) -> tuple[I1, F4]:
    """Vectors of all passages below `root`, and of the questions."""
    model = StaticModel.load()
    rows: list[I1] = []
    lines: list[str] = []
    for path, data in _text_files(root):
        texts = list(_passages(data))
        nothing: list[list[str]] = [[] for _ in texts]
        rows.append(model.embed_chunks(build_terms(path, texts, nothing, [], [], [])))
        lines.extend(
            line for text in texts[:1] for line in text.splitlines() if line.count(" ") > 4
        )
    vectors = np.concatenate(rows) if rows else np.empty((0, model.dimension), np.int8)
    asked = lines[:: max(1, len(lines) // _QUESTIONS)][:_QUESTIONS]
    questions = [vector for line in asked if np.any(vector := model.embed_query(line))]
    return vectors[np.any(vectors, axis=1)], np.array(questions, np.float32)


def measure(vectors: I1, questions: F4) -> list[Figures]:
    """Build and ask every index. "Bytes" stands for faiss's quantiser of signed bytes."""
    table = VectorTable(vectors.shape[1]).changed([(1, vectors.tobytes())])
    exact = np.stack([table.scan(question) for question in questions])
    return [
        _measured(name, build, vectors, questions, exact) for name, build in _indexes(table).items()
    ]


def _measured(name: str, build: Build, vectors: I1, questions: F4, exact: F4) -> Figures:
    started = time.process_time()
    search, size = build(vectors)
    build_s = time.process_time() - started
    p50, p95, recall = [], [], []
    for count in _COUNTS:
        times, shares = [], []
        for question, scores in zip(questions, exact, strict=True):
            started = time.process_time()
            rows = search(question, 2 * count + 400)
            near = vectors[rows].astype(np.float32) @ (question / np.float32(127))
            found = rows[np.argsort(-near)[:count]]
            times.append((time.process_time() - started) * 1000)
            least = np.partition(scores, -count)[-count]
            shares.append(float(np.mean(scores[found] >= least - 1e-6)) * len(found) / count)
        p50.append(statistics.median(times))
        p95.append(statistics.quantiles(times, n=20)[-1])
        recall.append(statistics.fmean(shares))
    return Figures(name, build_s, size / 1e6, tuple(p50), tuple(p95), tuple(recall))


def _indexes(table: VectorTable) -> dict[str, Build]:
    def scan(_: I1) -> tuple[Search, int]:
        def search(question: F4, count: int) -> I8:
            rows: I8 = np.argpartition(-table.scan(question), count)[:count]
            return rows

        return search, 0

    def ours(vectors: I1) -> tuple[Search, int]:
        codes = Codes.trained(vectors, vectors.shape[1])
        codes.add(vectors)
        return codes.nearest, len(codes.to_bytes())

    return {
        "exact scan": scan,
        "flat, bytes": _flat,
        "IVF256, bytes, 64 probes": lambda vectors: _ivf(vectors, 256, 64),
        "IVF256, bytes, 128 probes": lambda vectors: _ivf(vectors, 256, 128),
        "IVF1024, bytes, 128 probes": lambda vectors: _ivf(vectors, 1024, 128),
        "HNSW32, bytes, ef 256": lambda vectors: _hnsw(vectors, 256),
        "HNSW32, bytes, ef 1000": lambda vectors: _hnsw(vectors, 1000),
        "PQ 4 bits, flat (used)": ours,
    }


def _flat(vectors: I1) -> tuple[Search, int]:
    index = faiss.IndexScalarQuantizer(vectors.shape[1], _SIGNED_BYTES, faiss.METRIC_INNER_PRODUCT)
    return _filled(index, vectors)


def _ivf(vectors: I1, lists: int, probes: int) -> tuple[Search, int]:
    dimension = vectors.shape[1]
    coarse = faiss.IndexFlatIP(dimension)
    index = faiss.IndexIVFScalarQuantizer(
        coarse, dimension, lists, _SIGNED_BYTES, faiss.METRIC_INNER_PRODUCT, False
    )
    index.cp.spherical = True
    index.cp.min_points_per_centroid, index.cp.max_points_per_centroid = 1, 32
    index.nprobe = probes
    search, size = _filled(index, vectors)
    owners = (coarse, index)  # faiss keeps a bare pointer to the coarse quantiser

    def owning(question: F4, count: int) -> I8:
        assert owners
        return search(question, count)

    return owning, size


def _hnsw(vectors: I1, effort: int) -> tuple[Search, int]:
    index = faiss.IndexHNSWSQ(
        vectors.shape[1],
        _SIGNED_BYTES,  # type: ignore[arg-type]  # the stub names the wrong type
        32,
        faiss.METRIC_INNER_PRODUCT,
    )
    index.hnsw.efConstruction = 80
    index.hnsw.efSearch = effort
    return _filled(index, vectors)


def _filled(index: faiss.Index, vectors: I1) -> tuple[Search, int]:
    floats = vectors.astype(np.float32)
    index.train(floats[:: max(1, len(floats) // 16_000)])
    index.add(floats)

    def search(question: F4, count: int) -> I8:
        # This quantiser turns the question into bytes as well.
        largest = np.abs(question).max()
        _, rows = index.search(np.rint(question * (127 / largest))[None].astype(np.float32), count)
        found: I8 = rows[0]
        return found[found >= 0]

    return search, len(faiss.serialize_index(index)) - vectors.nbytes


def _text_files(root: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST_FILE_BYTES:
            continue
        data = path.read_bytes()
        if data and not is_binary(data):
            yield path.relative_to(root).as_posix(), data


def _passages(data: bytes) -> Iterator[str]:
    start = 0
    while start < len(data):
        end = start + _CHUNK_BYTES
        if end < len(data):
            line_end = data.rfind(b"\n", start, end)
            end = line_end + 1 if line_end >= start else end
        yield data[start:end].decode("utf-8", "replace")
        start = end


def _print(vectors: int, figures: Sequence[Figures]) -> None:
    table = Table(title=f"{vectors:,} vectors, one thread")
    for heading in ("index", "build s", "MB beside", "ms @100", "recall", "ms @1000", "recall"):
        table.add_column(heading, justify="left" if heading == "index" else "right", no_wrap=True)
    for row in figures:
        cells = [row.index, f"{row.build_s:.1f}", f"{row.megabytes:.1f}"]
        for p50, p95, recall in zip(row.ms_p50, row.ms_p95, row.recall, strict=True):
            cells += [f"{p50:.2f} / {p95:.2f}", f"{recall:.4f}"]
        table.add_row(*cells)
    Console(highlight=False).print(table)
