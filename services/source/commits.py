"""How do commits become what search keeps of them?

`Commit` is one commit as git tells it. Merges are left out by whoever reads. A commit that touches
very many files tells nothing about any of them, so only its renames count.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from msgspec import Struct

from contracts.history import Commits
from contracts.ids import RepoPath
from services.source.query_text import STOP_WORDS
from services.source.terms import count_terms, hash_term

MAX_FILES = 50  # a commit that touches more counts for none of them
MAX_MESSAGE_CHARS = 600


class Commit(Struct, frozen=True):
    """One commit."""

    message: str
    files: tuple[str, ...]  # as they are called after it
    renames: tuple[tuple[str, str], ...] = ()  # before, after


_STOP_HASHES = np.array(sorted(map(hash_term, STOP_WORDS)), np.uint64)


def commits_of(commits: Sequence[Commit]) -> Commits:
    """Columns of commits that are given oldest first."""
    counts = count_terms([commit.message[:MAX_MESSAGE_CHARS] for commit in commits])
    kept = ~np.isin(counts.hashes, _STOP_HASHES)
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(kept)))
    numbers: dict[str, int] = {}
    files, renames = [], []
    for number, commit in enumerate(commits):
        touched = commit.files if len(commit.files) <= MAX_FILES else ()
        files.append([numbers.setdefault(path, len(numbers)) for path in touched])
        renames += [
            (number, *(numbers.setdefault(path, len(numbers)) for path in pair))
            for pair in commit.renames
        ]
    sizes = list(accumulate(map(len, files), initial=0))
    return Commits(
        paths=tuple(RepoPath(path) for path in numbers),
        term_offsets=before[counts.offsets].astype("<u4").tobytes(),
        terms=counts.hashes[kept].astype("<u8").tobytes(),
        file_offsets=np.array(sizes, "<u4").tobytes(),
        files=np.array([path for own in files for path in own], "<u4").tobytes(),
        renames=np.array(renames, "<u4").tobytes(),
    )
