"""What is stored of a repository's earlier commits?"""

from __future__ import annotations

import msgspec
import zstandard
from msgspec import Struct

from contracts.extract import EXTRACTOR_VERSION
from contracts.history import Commits, unpack_commits
from store import keys
from store.env import CorruptEnvironment, ReadTxn
from store.rows import HistoryRow

_decode = msgspec.msgpack.Decoder(HistoryRow).decode


class HistoryStanding(Struct, frozen=True):
    """How far a repository's history is read."""

    edition: int = 0  # 0: nothing is stored
    parts: int = 0
    commits: int = 0
    head: str = ""  # newest commit read
    complete: bool = False  # every part up to the end of a reading is there
    current: bool = False  # its terms are those of this version
    notice: str = ""


def standing_of(txn: ReadTxn, repo_id: str) -> HistoryStanding:
    """How far the history of a repository is read; an empty standing for one without."""
    rows = [(key, _decode(bytes(raw))) for key, raw in txn.items("history", keys.repo(repo_id))]
    if not rows:
        return HistoryStanding()
    newest_key, newest = rows[-1]
    return HistoryStanding(
        edition=keys.edition_of(newest_key),
        parts=len(rows),
        commits=sum(row.count for _, row in rows),
        head=newest.head,
        complete=newest.last and keys.sequence_of(newest_key) == len(rows) - 1,
        current=all(row.terms_version == EXTRACTOR_VERSION for _, row in rows),
        notice=newest.notice,
    )


def stamp_of(txn: ReadTxn, repo_id: str) -> tuple[bytes, ...]:
    """What changes whenever the stored history does."""
    return tuple(txn.keys("history", keys.repo(repo_id)))


def commits_of(txn: ReadTxn, repo_id: str) -> list[Commits]:
    """The stored runs of commits whose terms are those of this version, oldest first.

    Raises CorruptEnvironment when they cannot be read.
    """
    try:
        rows = [_decode(raw) for _, raw in txn.items("history", keys.repo(repo_id))]
        return [
            unpack_commits(row.commits)
            for row in rows
            if row.terms_version == EXTRACTOR_VERSION and row.count
        ]
    except (msgspec.MsgspecError, zstandard.ZstdError) as error:
        raise CorruptEnvironment(f"stored commits: {error}") from None
