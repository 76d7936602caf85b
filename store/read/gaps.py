"""Which files on record lack what is to be made of them?

Keys only, but for the file rows themselves: vectors that were never stored, a body, text or symbols
that are not there, extracts of an older version. What nobody has come to yet is no gap.
"""

from __future__ import annotations

from msgspec import Struct

from contracts.extract import EXTRACTOR_VERSION
from contracts.ids import RepoPath
from store import keys
from store.read.live import Snapshot
from store.rows import FileRow

NAMED = 4_096  # gaps named by one look


class Gap(Struct, frozen=True):
    """One file that lacks something."""

    path: RepoPath
    sequence: int  # INDEX sequence of its record
    version: int
    digest: str
    lacks: str  # vectors, content, extract


def gaps_of(snapshot: Snapshot, repo_id: str, embedded_to: int, limit: int = NAMED) -> list[Gap]:
    """The first gaps in path order.

    `embedded_to`: every record up to this INDEX sequence was taken and done with by the embedders,
    -1 when that is not known; a record beyond it is still on its way to its vectors.
    """
    held = {table: _sequences(snapshot, table, repo_id) for table in ("bodies", "texts", "vectors")}
    found: list[Gap] = []
    for row in snapshot.files(repo_id):
        lacks = _lack(row, held, embedded_to)
        if lacks:
            found.append(Gap(row.path, row.sequence, row.version, row.digest, lacks))
            if len(found) == limit:
                break
    return found


def _sequences(snapshot: Snapshot, table: str, repo_id: str) -> set[int]:
    return {keys.sequence_of(key) for key in snapshot.txn.keys(table, keys.repo(repo_id))}


def _lack(row: FileRow, held: dict[str, set[int]], embedded_to: int) -> str:
    if row.extractor_version not in ("", EXTRACTOR_VERSION):
        return "extract"
    if row.skipped:
        return ""
    if row.sequence not in held["bodies"] or row.sequence not in held["texts"]:
        return "content"
    if row.chunks and (not row.embedded or row.sequence not in held["vectors"]):
        return "vectors" if row.embedded or row.sequence <= embedded_to else ""
    return ""
