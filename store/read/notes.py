"""Which notes does a projection hold? Deleted ones are kept in it, and lapsed ones are until somebody
writes them anew: whoever reads says what time it is.

A repository needs no registration to have notes.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from contracts.notes import Note
from store import keys
from store.read.live import Snapshot
from store.rows import NoteRow

_row = msgspec.msgpack.Decoder(NoteRow).decode


def note(snapshot: Snapshot, repo_id: str, topic: str, item: str) -> Note | None:
    """The record as its newest fact tells it, deleted or not."""
    raw = snapshot.txn.get("notes", keys.note(keys.repo(repo_id), topic, item))
    return None if raw is None else _row(raw).note


def live_note(snapshot: Snapshot, repo_id: str, topic: str, item: str, now_ms: int) -> Note | None:
    found = note(snapshot, repo_id, topic, item)
    return found if found is not None and found.is_live(now_ms) else None


def live_notes(
    snapshot: Snapshot, repo_id: str, now_ms: int, topic: str = "", after: bytes = b""
) -> Iterator[tuple[bytes, Note]]:
    """Each live note with its mark, in ordinal order of their keys, those behind mark `after`."""
    repo_key = keys.repo(repo_id)
    prefix = keys.note_prefix(repo_key, topic) if topic else repo_key
    start = repo_key + after + b"\0" if after else b""
    for key, raw in snapshot.txn.items("notes", prefix, start):
        found = _row(raw).note
        if found.is_live(now_ms):
            yield key[len(repo_key) :], found


def rows(snapshot: Snapshot) -> Iterator[NoteRow]:
    """Every record of every repository, deleted ones included, in the order of their keys."""
    for _, raw in snapshot.txn.items("notes", b""):
        yield _row(raw)


def embedded(snapshot: Snapshot, repo_id: str) -> int:
    """How many notes of a repository have vectors."""
    return sum(1 for _ in snapshot.txn.keys("note_vectors", keys.repo(repo_id)))
