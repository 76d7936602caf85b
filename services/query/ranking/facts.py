"""What does a ranking know about the files of a corpus beside their text?

- The kind prior: who asks a question about code mostly wants code. It is lifted for tests or
  documentation when the query asks for them.
- The size prior: of two files that fit equally well the larger one is more often meant.
- The language prior: the language that most of a repository is written in is more often meant than
  that of a few scripts beside it.
- The order of paths, which settles ties.

Made once for each corpus; safe to share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from services.query.ranking.corpus import F4, Corpus
from services.source.terms import QueryTerms
from store.segments import KINDS

_PRIOR: Final = {
    "code": 1.0, "test": 0.5, "doc": 0.5, "config": 0.5, "example": 0.5, "vendor": 0.4, "data": 0.4,
}  # fmt: skip
_LIFTED: Final = {"test": 0.85, "doc": 1.0}  # "test" is also a word of much code
_DECLARATIONS: Final = (".d.ts", ".d.mts", ".d.cts", ".pyi")  # repeat what other files implement
_DECLARATION_PRIOR: Final = 0.65
_LARGE_FILE_TERMS: Final = 20_000  # size counts no more beyond


class FileFacts:
    """Priors and tie order of the files of one corpus, in its order."""

    def __init__(self, corpus: Corpus, paths: Sequence[str]) -> None:
        """`paths` holds the path of each file in corpus order; raises ValueError when it does not."""
        if len(paths) != corpus.file_count:
            raise ValueError(f"{len(paths)} paths for {corpus.file_count} files")
        self.corpus, self.paths = corpus, paths
        order = sorted(range(len(paths)), key=paths.__getitem__)
        self.path_order: NDArray[np.int64] = np.empty(len(paths), np.int64)
        self.path_order[order] = np.arange(len(paths))
        size = np.log1p(corpus.body_length) / np.log1p(_LARGE_FILE_TERMS)
        self.size: F4 = np.minimum(size, 1).astype(np.float32)  # 0..1
        self._language: F4 = _language_share(corpus, paths)
        kinds = np.array([_PRIOR[kind] for kind in KINDS], np.float32)
        self._plain: F4 = kinds[corpus.kind]
        declares = np.fromiter(
            (path.endswith(_DECLARATIONS) for path in paths), np.bool_, len(paths)
        )
        self._plain[declares & (corpus.kind == KINDS.index("code"))] = _DECLARATION_PRIOR
        self._priors: dict[tuple[bool, bool], F4] = {(False, False): self._plain}

    def language(self, query: QueryTerms) -> F4:
        """Return how much is written in each file's language, 0..1; whole for what is asked for."""
        if not query.asks_docs:
            return self._language
        return np.where(self.corpus.kind == KINDS.index("doc"), np.float32(1), self._language)

    def prior(self, query: QueryTerms) -> F4:
        """Return the factor of each file's score, 0..1."""
        asked = (query.asks_tests, query.asks_docs)
        prior = self._priors.get(asked)
        if prior is None:
            prior = self._plain.copy()
            for (kind, lifted), asks in zip(_LIFTED.items(), asked, strict=True):
                if asks:
                    prior[self.corpus.kind == KINDS.index(kind)] = lifted
            self._priors[asked] = prior
        return prior


def _language_share(corpus: Corpus, paths: Sequence[str]) -> F4:
    """How much code has each file's extension, as a share of what the most common one has."""
    numbers: dict[str, int] = {}
    extension = np.fromiter(
        (numbers.setdefault(_extension(path), len(numbers)) for path in paths),
        np.int64,
        len(paths),
    )
    code = np.where(corpus.kind == KINDS.index("code"), corpus.body_length, 0)
    written = np.bincount(extension, code, minlength=len(numbers))
    share: F4 = (written / max(float(written.max(initial=0)), 1.0)).astype(np.float32)
    return share[extension]


def _extension(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""
