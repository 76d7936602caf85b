"""Which notes of a book are nearest to a question in meaning?"""

from __future__ import annotations

from services.query.notebook.book import NoteBook
from services.query.notebook.meanings import F4
from services.query.notebook.scope import Scope
from store.read.live import Snapshot


def nearest_notes(
    snapshot: Snapshot, scope: Scope, book: NoteBook, vector: F4, space: str
) -> list[tuple[bytes, float]]:
    """Keys of the notes and cosines, best first; those above 0. `vector` is of that space."""

    def digest_of(key: bytes) -> str | None:
        entry = book.entry(key)
        return None if entry is None else entry.text_digest

    book.meanings.follow(snapshot, scope.repo_ids, space, digest_of)
    return book.meanings.likeness(vector)
