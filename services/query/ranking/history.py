"""What do earlier commits say about the files of a repository?

Two scores of each file: how well the messages of its commits fit the query (BM25 over all of them as
one text), and how often it was touched by the commits that read most like the query. A file keeps
its history when it is renamed.

`History` is made once for what is stored; `FileHistory` lays it under the files of a corpus.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from contracts.history import Commits
from services.query.ranking.corpus import F4, U8
from services.source.ragged import ranges

I8 = NDArray[np.int64]
_K1: Final = 1.2
_PATH_B: Final = 0.6
_COMMIT_B: Final = 0.5
_NEAREST: Final = 30  # commits whose files count
_HALF_LIKE: Final = 0.3  # sum of squared likenesses that gives half of the score
_MIN_SUM: Final = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class HistoryScores:
    """0..1 in corpus order; zero for a file without history.

    Unlike the scores of the text these are not relative to the best file: where no earlier commit
    reads like the query, history has no say.
    """

    words: F4
    nearest: F4


class _Postings:
    """Which documents hold each term, and how often; BM25 over whole documents."""

    def __init__(self, terms: U8, documents: I8, times: I8, norm: F4) -> None:
        """One entry for each term and document, by term."""
        self._documents, self._norm = documents, norm
        self._times = times.astype(np.float32)
        self._terms, first = np.unique(terms, return_index=True)
        self._starts = np.append(first, len(terms)).astype(np.int64)

    def score(self, terms: U8) -> tuple[F4, float]:
        """Return the score of every document, and the idf of all terms together.

        A term that no document holds counts like one that a single document holds.
        """
        score = np.zeros(len(self._norm), np.float32)
        rarity = 0.0
        places = np.searchsorted(self._terms, terms).tolist()
        for term, at in zip(terms.tolist(), places, strict=True):
            if at == len(self._terms) or int(self._terms[at]) != term:
                rarity += self._idf(1)
                continue
            own = slice(self._starts[at], self._starts[at + 1])
            found, times = self._documents[own], self._times[own]
            idf = self._idf(len(found))
            rarity += idf
            score[found] += np.float32(idf * (_K1 + 1)) * times / (times + self._norm[found])
        return score, rarity

    def _idf(self, frequency: int) -> float:
        return math.log(1 + (len(self._norm) - frequency + 0.5) / (frequency + 0.5))


class History:
    """The commits of one repository, ready to be asked."""

    def __init__(self, parts: Sequence[Commits]) -> None:
        """`parts` follow each other, oldest first."""
        self.commits = sum(part.count for part in parts)
        commit, path, self.paths = _touched(parts)
        self._path = path
        self._start = np.searchsorted(commit, np.arange(self.commits + 1)).astype(np.int64)
        terms = np.concatenate([_no_terms(), *(np.frombuffer(p.terms, "<u8") for p in parts)])
        sizes = np.concatenate([_none(), *(_sizes(part.term_offsets) for part in parts)])
        owner = np.repeat(np.arange(self.commits), sizes)
        order = np.argsort(terms, kind="stable")
        terms, owner = terms[order], owner[order]
        norm = _norm(sizes, _COMMIT_B)
        self._by_commit = _Postings(terms, owner, np.ones(len(owner), np.int64), norm)
        said = np.bincount(path, sizes[commit], minlength=len(self.paths)).astype(np.int64)
        self._by_path = self._path_postings(terms, owner, _norm(said, _PATH_B))

    def _path_postings(self, terms: U8, commits: I8, norm: F4) -> _Postings:
        known, number = np.unique(terms, return_inverse=True)
        counts = self._start[commits + 1] - self._start[commits]
        key = np.repeat(number.astype(np.int64), counts) * max(len(self.paths), 1)
        key += self._path[self._places(commits)]
        key, times = np.unique(key, return_counts=True)
        number, path = np.divmod(key, max(len(self.paths), 1))
        return _Postings(known[number], path, times, norm)

    def score(self, terms: U8) -> tuple[F4, F4]:
        """Scores of every path, 0..1: by all its messages, by the nearest commits."""
        likeness, rarity = self._by_commit.score(terms)
        words, _ = self._by_path.score(terms)
        whole = np.float32(max(rarity, _MIN_SUM))
        words /= whole * np.float32(_K1 + 1)
        return np.minimum(words, 1), self._nearest(likeness / whole)

    def _nearest(self, likeness: F4) -> F4:
        score = np.zeros(len(self.paths), np.float32)
        found = np.flatnonzero(likeness)
        nearest = found[np.argsort(-likeness[found], kind="stable")[:_NEAREST]]
        counts = self._start[nearest + 1] - self._start[nearest]
        share = likeness[nearest] ** 2 / np.sqrt(np.maximum(counts, 1))
        np.add.at(score, self._path[self._places(nearest)], np.repeat(share, counts))
        return score / (score + np.float32(_HALF_LIKE))

    def _places(self, commits: I8) -> I8:
        """Where the paths of these commits stand, commit by commit."""
        starts = self._start[commits]
        counts = self._start[commits + 1] - starts
        return ranges(starts, counts)


class FileHistory:
    """A history laid under the files of a corpus."""

    def __init__(self, history: History, paths: Sequence[str]) -> None:
        """`paths` holds the path of each file in corpus order."""
        number = {path: at for at, path in enumerate(paths)}
        places = np.array([number.get(path, -1) for path in history.paths], np.int64)
        self._history, self._files = history, len(paths)
        self._known = np.flatnonzero(places >= 0)
        self._number = places[self._known]

    def score(self, terms: U8) -> HistoryScores:
        """Score every file for the body terms of a query."""
        words, nearest = self._history.score(terms)
        return HistoryScores(self._laid(words), self._laid(nearest))

    def _laid(self, by_path: F4) -> F4:
        laid = np.zeros(self._files, np.float32)
        laid[self._number] = by_path[self._known]
        return laid


def _touched(parts: Sequence[Commits]) -> tuple[I8, I8, tuple[str, ...]]:
    """Commit and path of every touch, by commit, and the paths, as files are called today.

    Read from the newest on: what a file was called before a rename stands for its newest name in
    all older commits.
    """
    meant: dict[str, int] = {}  # name at the time being read -> number of the path today
    paths: list[str] = []
    commits, touched = [_none()], [_none()]
    first = sum(part.count for part in parts)
    for part in reversed(parts):
        first -= part.count
        for name in part.paths:
            if meant.setdefault(name, len(paths)) == len(paths):
                paths.append(name)
        now = np.fromiter(map(meant.__getitem__, part.paths), np.int64, len(part.paths))
        offsets = np.frombuffer(part.file_offsets, "<u4").astype(np.int64)
        files = np.frombuffer(part.files, "<u4")
        renames = np.frombuffer(part.renames, "<u4").reshape(-1, 3)[::-1]
        end, bounds = len(files), np.flatnonzero(np.diff(renames[:, 0].astype(np.int64))) + 1
        for moved in np.split(renames, bounds) if len(renames) else []:
            begin = int(offsets[moved[0, 0]])
            touched.append(now[files[begin:end]])
            now[moved[:, 1]] = now[moved[:, 2]]
            end = begin
        touched.append(now[files[:end]])
        for _, before, _ in renames.tolist():
            meant[part.paths[before]] = int(now[before])
        commits.append(np.repeat(np.arange(part.count), np.diff(offsets)) + first)
    return np.concatenate(commits[::-1]), np.concatenate(touched[::-1]), tuple(paths)


def _sizes(offsets: bytes) -> I8:
    ends = np.frombuffer(offsets, "<u4").astype(np.int64)
    return ends[1:] - ends[:-1]


def _none() -> I8:
    return np.zeros(0, np.int64)


def _no_terms() -> U8:
    return np.zeros(0, np.uint64)


def _norm(length: I8, b: float) -> F4:
    mean = max(float(length.sum()) / max(len(length), 1), _MIN_SUM)
    return (_K1 * (1 - b + b * length / mean)).astype(np.float32)
