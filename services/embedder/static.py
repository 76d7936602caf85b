"""The embedded default: vectors out of a table of token vectors, without a server.

There is no memo: to look a file up in one costs more than to embed it (see docs/benchmarks.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from contracts.extract import Terms
from services.embedder.provider import I1, FileToEmbed
from services.source.static_model import StaticModel


class StaticProvider:
    """Embeds from the terms that the extractor has counted already."""

    def __init__(self, model: StaticModel) -> None:
        self._model = model

    @property
    def space(self) -> str:
        return self._model.space

    @property
    def dimension(self) -> int:
        return self._model.dimension

    async def prepare(self) -> None:
        return

    async def embed(self, files: Sequence[FileToEmbed]) -> Sequence[I1]:
        terms: list[Terms] = [
            file.extract.terms for file in files if file.extract.terms is not None
        ]
        return await asyncio.to_thread(self._model.embed_many, terms)

    def close(self) -> None:
        return
