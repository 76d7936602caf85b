"""Lexical scores, spelled out: what the vectorised ones must equal.

Plain Python over texts, one formula after the other, sharing only the tokeniser with the product.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from services.source.terms import (
    build_terms,
    file_stem,
    plural_variant,
    query_terms,
    tokenise,
)
from store.segments import SegmentFile

K1 = 1.2
FIELDS = ("body", "chunk_max", "chunk_top3", "path", "symbols", "defs", "stem", "cover")


@dataclass(frozen=True)
class SourceFile:
    path: str
    chunks: tuple[str, ...]
    symbols: tuple[str, ...] = ()
    kind: str = "code"

    def numbered(self, sequence: int) -> SegmentFile:
        terms = build_terms(self.path, self.chunks, [()] * len(self.chunks), self.symbols, (), ())
        return SegmentFile(sequence, self.kind, terms)


def reference_scores(query: str, files: Sequence[SourceFile]) -> dict[str, list[float]]:
    """Return each score of every file, in the order of `files`."""
    asked = query_terms(query)
    said = dict(zip(asked.words, asked.weights.tolist(), strict=True))
    stems = dict(zip(asked.stems, asked.stem_weights, strict=True))
    words = said | {stem: 0.5 * weight for stem, weight in stems.items() if stem not in said}

    chunks = [[tokenise(chunk) for chunk in file.chunks] for file in files]
    bodies = [[term for chunk in parts for term in chunk] for parts in chunks]
    flat = _bm25(words, [chunk for parts in chunks for chunk in parts], b=0.75)
    by_file, at = [], 0
    for parts in chunks:
        by_file.append(sorted(flat[at : at + len(parts)], reverse=True) or [0.0])
        at += len(parts)
    return {
        "body": _bm25(words, bodies, b=0.5),
        "chunk_max": [scores[0] for scores in by_file],
        "chunk_top3": [sum(scores[:3]) for scores in by_file],
        "path": _bm25(words, [tokenise(file.path) for file in files], b=0.5),
        "symbols": _bm25(words, [tokenise(" ".join(file.symbols)) for file in files], b=0.5),
        "defs": _definitions(asked.identifiers, files),
        "stem": _stems(stems, files),
        "cover": _cover(said, bodies),
    }


def _cover(words: dict[str, float], bodies: Sequence[Sequence[str]]) -> list[float]:
    worth = {}
    for word, weight in words.items():
        frequency = sum(word in body for body in bodies)
        if frequency:
            idf = math.log(1 + (len(bodies) - frequency + 0.5) / (frequency + 0.5))
            worth[word] = weight * idf
    whole = sum(worth.values()) or 1.0
    return [sum(worth[word] for word in worth if word in body) / whole for body in bodies]


def _bm25(words: dict[str, float], documents: Sequence[Sequence[str]], b: float) -> list[float]:
    mean = max(sum(map(len, documents)) / max(len(documents), 1), 1e-9)
    counts = [Counter(document) for document in documents]
    scores = []
    for count, document in zip(counts, documents, strict=True):
        score = 0.0
        for word, share in words.items():
            tf = min(count[word], 255)
            frequency = sum(word in other for other in counts)
            idf = math.log(1 + (len(documents) - frequency + 0.5) / (frequency + 0.5))
            norm = K1 * (1 - b + b * len(document) / mean)
            score += share * idf * tf * (K1 + 1) / (tf + norm)
        scores.append(score)
    return scores


def _definitions(names: Sequence[str], files: Sequence[SourceFile]) -> list[float]:
    scores = [0.0] * len(files)
    for name in names:
        share = 1.0
        holders = [at for at, file in enumerate(files) if name in file.symbols]
        if not holders and len(name) > 3:
            share = 0.6
            lower = [{symbol.lower() for symbol in file.symbols} for file in files]
            holders = [at for at, symbols in enumerate(lower) if name.lower() in symbols]
        for at in holders:
            scores[at] += share * math.log(1 + len(files) / len(holders)) / math.log(1 + len(files))
    return scores


def _stems(stems: dict[str, float], files: Sequence[SourceFile]) -> list[float]:
    own = [file_stem(file.path) for file in files]
    scores = []
    for stem in own:
        values = [weight for asked, weight in stems.items() if asked == stem]
        values += [0.8 * weight for asked, weight in stems.items() if plural_variant(asked) == stem]
        scores.append(max(values, default=0.0) / max(1.0, math.log2(1 + own.count(stem))))
    return scores
