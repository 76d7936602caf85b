"""The remote provider: chunk texts to an OpenAI-compatible endpoint, several requests at a time.

What was embedded once is remembered by its text, on this machine, so that a branch switch, a second
worktree or a retry after an outage asks the server for nothing it has given before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

import numpy as np

from contracts.errors import Poisoned
from services.embedder.provider import I1, SCALE, FileToEmbed, NoteToEmbed
from services.embedder.texts import chunk_texts
from services.kernel.consumer import Outage
from services.kernel.instruments import counted
from services.source.embedding_endpoint import Endpoint, EndpointDown, TextRefused
from store.cache import ContentCache, content_key

_REQUESTS = 4  # at a time
_PROBE = "dimension"
_SHORTEST_TEXT = 256  # characters; a server that refuses one shorter than this will take none


class RemoteProvider:
    """Embeds chunk by chunk; keeps what the server gave in `cache`."""

    def __init__(self, endpoint: Endpoint, cache: ContentCache, *, batch: int) -> None:
        """`batch` is the number of texts in one request."""
        self._endpoint = endpoint
        self._cache = cache
        self._batch = max(1, batch)
        self._pool = ThreadPoolExecutor(_REQUESTS, thread_name_prefix="embed")

    @property
    def space(self) -> str:
        return self._endpoint.space

    @property
    def dimension(self) -> int:
        return self._endpoint.dimension

    async def prepare(self) -> None:
        if not self._endpoint.space:
            await asyncio.to_thread(self._probe)

    async def embed(self, files: Sequence[FileToEmbed]) -> Sequence[I1]:
        return await asyncio.to_thread(self._embed, files)

    async def embed_notes(self, notes: Sequence[NoteToEmbed]) -> Sequence[I1]:
        return await asyncio.to_thread(self._embed_notes, notes)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._cache.close()

    def _probe(self) -> None:
        try:
            self._endpoint.embed([_PROBE])
        except (EndpointDown, TextRefused) as fault:
            raise Outage(fault.message, hint=fault.hint, **fault.details) from None

    def _embed(self, files: Sequence[FileToEmbed]) -> list[I1]:
        return self._embed_texts([chunk_texts(file.path, file.extract) for file in files])

    def _embed_notes(self, notes: Sequence[NoteToEmbed]) -> list[I1]:
        return self._embed_texts(
            [[f"{note.about}\n{passage}" for passage in note.passages] for note in notes]
        )

    def _embed_texts(self, texts_of_file: Sequence[Sequence[str]]) -> list[I1]:
        space = self._endpoint.space
        text_by_key: dict[bytes, str] = {}
        keys_of_file: list[list[bytes]] = []
        for texts in texts_of_file:
            keys = [content_key(space, text) for text in texts]
            text_by_key.update(zip(keys, texts, strict=True))
            keys_of_file.append(keys)
        vector_by_key = self._cache.get_many(list(text_by_key))
        counted.add("repofold.cache", "vectors", "hit", by=len(vector_by_key))
        counted.add("repofold.cache", "vectors", "miss", by=len(text_by_key) - len(vector_by_key))
        vector_by_key |= self._ask(
            [(key, text) for key, text in text_by_key.items() if key not in vector_by_key]
        )
        return [
            np.frombuffer(b"".join(map(vector_by_key.__getitem__, keys)), np.int8).reshape(
                len(keys), self.dimension
            )
            for keys in keys_of_file
        ]

    def _ask(self, wanted: Sequence[tuple[bytes, str]]) -> dict[bytes, bytes]:
        """The vectors of texts that are not remembered; each answer is kept as soon as it comes."""
        running = [
            self._pool.submit(self._request, wanted[at : at + self._batch])
            for at in range(0, len(wanted), self._batch)
        ]
        _, waiting = wait(running, return_when=FIRST_EXCEPTION)
        asked = [future for future in running if future not in waiting or not future.cancel()]
        wait(asked)  # what a server is at work on already is worth having
        answers: dict[bytes, bytes] = {}
        try:
            for future in asked:
                answers.update(future.result())
        except EndpointDown as fault:
            raise Outage(fault.message, hint=fault.hint, **fault.details) from None
        return answers

    def _request(self, rows: Sequence[tuple[bytes, str]]) -> dict[bytes, bytes]:
        try:
            vectors = self._endpoint.embed([text for _, text in rows])
        except TextRefused as refused:
            return self._smaller(rows, refused)
        scaled = np.rint(vectors * SCALE).astype(np.int8)
        answers = {key: row.tobytes() for (key, _), row in zip(rows, scaled, strict=True)}
        self._cache.put_many(list(answers.items()))
        return answers

    def _smaller(
        self, rows: Sequence[tuple[bytes, str]], refused: TextRefused
    ) -> dict[bytes, bytes]:
        """Ask for less at a time; of a single text, for its first half."""
        if len(rows) > 1:
            half = len(rows) // 2
            return self._request(rows[:half]) | self._request(rows[half:])
        (key, text), *_ = rows
        if len(text) > _SHORTEST_TEXT:
            return self._request([(key, text[: len(text) // 2])])
        self._probe()  # a server that refuses everything is not set up, and the file is not to blame
        raise Poisoned(f"the embedding server will not take a text of this file: {refused.message}")
