"""The embedded default: vectors out of a table of token vectors, without a server.

It reads the terms that the extractor has counted. A file met before, in another branch, worktree or
repository, is looked up by its terms: a twentieth of the price of embedding it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np

from contracts.errors import Poisoned
from contracts.extract import Terms
from services.embedder.provider import I1, FileToEmbed, NoteToEmbed
from services.kernel.instruments import counted
from services.source.static_model import StaticModel
from services.source.terms import FileWords, build_terms_many
from store.cache import ContentCache, content_key


class StaticProvider:
    """Embeds file by file; keeps what it made in `cache`."""

    def __init__(self, model: StaticModel, cache: ContentCache) -> None:
        self._model = model
        self._cache = cache

    @property
    def space(self) -> str:
        return self._model.space

    @property
    def dimension(self) -> int:
        return self._model.dimension

    async def prepare(self) -> None:
        return

    async def embed(self, files: Sequence[FileToEmbed]) -> Sequence[I1]:
        return await asyncio.to_thread(self._embed, files)

    async def embed_notes(self, notes: Sequence[NoteToEmbed]) -> Sequence[I1]:
        return await asyncio.to_thread(self._embed_notes, notes)

    def close(self) -> None:
        self._cache.close()

    def _embed_notes(self, notes: Sequence[NoteToEmbed]) -> list[I1]:
        words = [
            FileWords("", note.passages, [(note.about,)] * len(note.passages)) for note in notes
        ]
        return self._embed_terms(build_terms_many(words))

    def _embed(self, files: Sequence[FileToEmbed]) -> list[I1]:
        return self._embed_terms([_terms_of(file) for file in files])

    def _embed_terms(self, terms: Sequence[Terms]) -> list[I1]:
        keys = [self._key(each) for each in terms]
        known = self._cache.get_many(keys)
        fresh = [number for number, key in enumerate(keys) if key not in known]
        counted.add("repofold.cache", "vectors", "hit", by=len(keys) - len(fresh))
        counted.add("repofold.cache", "vectors", "miss", by=len(fresh))
        made = self._model.embed_many([terms[number] for number in fresh])
        rows = [
            (keys[number], vectors.tobytes()) for number, vectors in zip(fresh, made, strict=True)
        ]
        self._cache.put_many(rows)
        known |= rows
        return [np.frombuffer(known[key], np.int8).reshape(-1, self.dimension) for key in keys]

    def _key(self, terms: Terms) -> bytes:
        return content_key(
            self._model.space,
            terms.chunk_offsets,
            terms.chunk_hash,
            terms.chunk_tf,
            terms.context_offsets,
            terms.context_hash,
        )


def _terms_of(file: FileToEmbed) -> Terms:
    if file.extract.terms is None:
        raise Poisoned(f"the record of {file.path} has chunks and no terms")
    return file.extract.terms
