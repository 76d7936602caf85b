"""Notes and their vectors: the newest fact of each, whole."""

from __future__ import annotations

import msgspec

from contracts.envelope import Envelope
from contracts.events import AnyLogEvent
from contracts.events.index import NoteVectorsStored
from contracts.events.memory import NoteRecorded
from contracts.note_text import text_digest
from store import keys
from store.env import WriteTxn
from store.projectors.repos import Repos
from store.rows import NoteRow, NoteVectorRow

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(NoteRow).decode
_decode_vectors = msgspec.msgpack.Decoder(NoteVectorRow).decode


def put_note(
    txn: WriteTxn,
    repos: Repos,
    envelope: Envelope[AnyLogEvent],
    event: NoteRecorded,
    sequence: int,
) -> None:
    """Replace the note's row. Void when the repository was removed since it was decided.

    A note needs no registered repository: its namespace is its repository id alone.
    """
    note = event.note
    repo = repos.get(note.repo_id)
    if repo is not None:
        if envelope.generation < repo.memory_generation:
            return
        repos.touched.add(note.repo_id)
    repo_key = keys.repo(note.repo_id)
    key = keys.note(repo_key, note.topic, note.id)
    raw = txn.get("notes", key)
    if raw is not None:
        before = _decode(raw)
        if before.sequence >= sequence:
            return
        txn.delete("note_order", keys.sequence(repo_key, before.sequence))
    digest = text_digest(note)
    row = NoteRow(sequence, envelope.generation, envelope.at_ms, note, digest)
    txn.put("notes", key, _encode(row))
    txn.put("note_order", keys.sequence(repo_key, sequence), key)
    if raw is not None and before.text_digest != digest:
        _drop_vectors(txn, repo_key, key)


def put_note_vectors(txn: WriteTxn, repo: str, event: NoteVectorsStored, sequence: int) -> None:
    """Keep vectors of a note whose text is still what was embedded; without any, drop them."""
    repo_key = keys.repo(repo)
    key = keys.note(repo_key, event.topic, event.id)
    raw = txn.get("notes", key)
    if raw is None or _decode(raw).text_digest != event.text_digest:
        return
    _drop_vectors(txn, repo_key, key)
    if not event.vectors:
        return
    row = NoteVectorRow(event.text_digest, event.space, event.dimension, event.vectors, sequence)
    txn.put("note_vectors", key, _encode(row))
    txn.put("note_vector_order", keys.sequence(repo_key, sequence), key)


def _drop_vectors(txn: WriteTxn, repo_key: bytes, key: bytes) -> None:
    raw = txn.get("note_vectors", key)
    if raw is not None:
        txn.delete("note_vector_order", keys.sequence(repo_key, _decode_vectors(raw).sequence))
        txn.delete("note_vectors", key)
