"""Jobs on the WORK stream: gone once their result is stored. A newer job of the same subject replaces an older one."""

from __future__ import annotations

from msgspec import Struct

from contracts.events.log import WalkFilters
from contracts.extract import Packed
from contracts.ids import Digest, RepoPath


class PassJob(Struct, frozen=True, kw_only=True, tag="pass.run"):
    """Walk the whole tree of a repository and keep watching it."""

    pass_id: str
    reason: str  # onboard reconcile resume gap failed audit watch
    root: str
    filters: WalkFilters
    attempt: int
    audit: bool = False  # every file is read and hashed again, whatever its size and time say


class SeenEntry(Struct, frozen=True, array_like=True):
    """One eligible regular file, as lstat saw it; or a path that is gone."""

    path: RepoPath
    size_bytes: int  # -1: the file is gone; -2: it was a directory and everything below is gone
    mtime_ns: int
    inode: int


class WalkBatch(Struct, frozen=True, kw_only=True, tag="walk.batch"):
    """Files seen by a walk, or by the watcher when `pass_id` starts with "watch"."""

    pass_id: str
    walk_id: str  # one run of one walk; a restarted walk has another
    number: int  # 0-based within the walk
    entries: tuple[SeenEntry, ...]
    reason: str = ""
    attempt: int = 1
    started_ms: int = 0
    audit: bool = False


class WalkFinished(Struct, frozen=True, kw_only=True, tag="walk.finished"):
    """The walk saw everything it will see."""

    pass_id: str
    walk_id: str
    batches: int
    files: int
    complete: bool  # False: some directory could not be read; nothing may be removed on its account
    reason: str
    attempt: int
    started_ms: int
    error: str = ""
    notice: str = ""
    audit: bool = False


class ExtractJob(Struct, frozen=True, kw_only=True, tag="extract.run"):
    """Bytes of one file version, to be read and recorded."""

    path: RepoPath
    version: int
    digest: Digest
    size_bytes: int
    mtime_ns: int
    anchor_ns: int
    pass_id: str
    expected_sequence: int  # INDEX sequence of the record it replaces; 0 for none
    data: bytes  # zstd of the whole body; empty when `skipped`
    skipped: str = ""
    skipped_detail: str = ""


class ReadJob(Struct, frozen=True, kw_only=True, tag="extract.read"):
    """Bytes that no live file holds, to be read; what comes of it goes to `reply_to`, once."""

    path: RepoPath
    digest: Digest
    data: bytes  # zstd of the whole body


class FileRead(Struct, frozen=True, kw_only=True):
    """The answer to a ReadJob. Core NATS, not stored."""

    path: RepoPath
    language: str
    kind: str
    extract: Packed | None  # None: generated, minified, or it failed


AnyJob = PassJob | WalkBatch | WalkFinished | ExtractJob | ReadJob
