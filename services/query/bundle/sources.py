"""Which files does an answer of the search stand for, and what is stored of each?

A file counts once, at its best rank. Whatever is not a file (a note, a package, the repository) has
no text to deliver and is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable

from contracts.extract import decompressed
from contracts.ids import RepoId
from services.query.bundle.candidates import Source
from services.query.retrieval import Hit
from store.read.live import Snapshot


def sources(snapshot: Snapshot, repo_id: RepoId, hits: Iterable[Hit]) -> list[Source]:
    """The files of `hits`, best first, as `snapshot` has them."""
    found: dict[str, Source] = {}
    for hit in hits:
        if hit.file.path not in found:
            source = _source(snapshot, repo_id, hit)
            if source is not None:
                found[hit.file.path] = source
    return list(found.values())


def _source(snapshot: Snapshot, repo_id: RepoId, hit: Hit) -> Source | None:
    row, shape, ranked = hit.file, hit.shape, hit.passages
    packed = snapshot.text(repo_id, row.sequence)
    if packed is None and not row.skipped:
        # Recorded anew since the search: the passages it ranked are those of other bytes.
        newer = snapshot.file(repo_id, row.path)
        if newer is None:
            return None
        row, shape, ranked = newer, None, ()
        packed = snapshot.text(repo_id, row.sequence)
    return Source(
        repo_id=repo_id,
        path=row.path,
        score=round(hit.score, 4),
        reasons=hit.reasons,
        digest=row.digest,
        full_read_tokens=None if row.skipped else row.token_count,
        text=None if packed is None else decompressed(packed).decode(),
        symbols=() if shape is None else shape.symbols,
        chunks=() if shape is None else shape.chunks,
        ranked=tuple(chunk for chunk in ranked if shape is not None and chunk < len(shape.chunks)),
        symbol=None if shape is None else hit.symbol,
    )
