"""What one line says that two environments hold the same?

The digest covers what was read out of the trees: repositories, files, their content digests, bodies,
texts and vectors; and, where there are any, notes and what was written over records. Times of
indexing, positions, generations, file sequences and the shape of the lexical segments are left out,
and git history, which is no part of a tree, so a node that indexed, crashed, replayed or moved ends
with the digest of a clean run on the same tree.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import xxhash

from store import keys, location
from store.env import Env, ReadTxn
from store.rows import FileRow, NoteRow, RepoRow

_decode_repo = msgspec.msgpack.Decoder(RepoRow).decode
_decode_file = msgspec.msgpack.Decoder(FileRow).decode
_decode_note = msgspec.msgpack.Decoder(NoteRow).decode
_encode = msgspec.msgpack.Encoder().encode


def digest_line(projections: Path) -> str:
    """`xx128:<hex> repos=N files=N symbols=N vectors=N` of the live environment under `projections`.

    Raises NotFound when nothing was folded yet.
    """
    env = Env(location.current(projections), writable=False)
    try:
        with env.read() as txn:
            return digest_of(txn)
    finally:
        env.close()


def digest_of(txn: ReadTxn) -> str:
    """The digest line of one snapshot."""
    total = xxhash.xxh3_128()
    repos = files = symbols = vectors = 0
    rows = sorted(
        (_decode_repo(raw) for _, raw in txn.items("repos", b"")), key=lambda row: row.repo_id
    )
    for row in rows:
        if row.state == "removed":
            continue
        repos += 1
        total.update(f"repo\0{row.repo_id}\0{row.state}\0".encode())
        for _, raw in txn.items("files", keys.repo(row.repo_id)):
            file = _decode_file(raw)
            files += 1
            symbols += file.symbols
            vectors += file.chunks if file.embedded else 0
            _add_file(total, txn, keys.sequence(keys.repo(row.repo_id), file.sequence), file)
    notes = _add_notes(total, txn)
    told = f"repos={repos} files={files} symbols={symbols} vectors={vectors}"
    return f"xx128:{total.hexdigest()} {told}" + (f" notes={notes}" if notes else "")


def _add_notes(total: xxhash.xxh3_128, txn: ReadTxn) -> int:
    """Every note with its claim, and what was written over records; how many there are."""
    notes = 0
    for table in ("notes", "patches"):
        for key, raw in txn.items(table, b""):
            kept = _encode(_decode_note(raw).note) if table == "notes" else bytes(raw)
            total.update(b"\0".join((table.encode(), key, kept)))
            notes += 1
    return notes


def _add_file(total: xxhash.xxh3_128, txn: ReadTxn, key: bytes, file: FileRow) -> None:
    stable = (
        file.path, file.digest, file.size_bytes, file.language, file.kind, file.skipped,
        file.token_count, file.line_count, file.quality, file.symbols, file.chunks, file.embedded,
    )  # fmt: skip
    total.update(msgspec.msgpack.encode(stable))
    for table in ("bodies", "texts", "vectors"):
        value = txn.get(table, key)
        total.update(b"\0" if value is None else value)
