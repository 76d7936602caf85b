"""What is stored behind each key? msgpack; a field may only be appended, with a default.

Raise FORMAT_VERSION for anything else: an environment of another format is rebuilt from the
streams, never patched.
"""

from __future__ import annotations

from msgspec import Struct

from contracts.events.index import Possession
from contracts.events.log import WalkFilters
from contracts.ids import RepoId, RepoPath
from contracts.notes import Note

FORMAT_VERSION = 2  # 1: first; 2: notes and sessions


class Counters(Struct, array_like=True):
    """Totals over a repository's live files; kept by the fold, row by row."""

    files: int = 0
    bytes: int = 0
    tokens: int = 0
    extracted: int = 0  # files with an extract
    skipped: int = 0  # files recorded without one
    failed: int = 0  # of those, extraction failed for good
    symbols: int = 0
    chunks: int = 0
    wanted: int = 0  # files that have chunks, so want vectors
    embedded: int = 0  # of those, files whose vectors are stored
    embedded_chunks: int = 0
    embedded_symbols: int = 0

    def add(self, row: FileRow, sign: int) -> None:
        """Count one file row in (+1) or out (-1)."""
        self.files += sign
        self.bytes += sign * row.size_bytes
        self.tokens += sign * row.token_count
        self.extracted += sign * (not row.skipped)
        self.skipped += sign * bool(row.skipped)
        self.failed += sign * (row.skipped == "extract_failed")
        self.symbols += sign * row.symbols
        self.chunks += sign * row.chunks
        if row.chunks:
            self.wanted += sign
            if row.embedded:
                self.embedded += sign
                self.embedded_chunks += sign * row.chunks
                self.embedded_symbols += sign * row.symbols


class RepoRow(Struct, kw_only=True):
    """One repository."""

    repo_id: RepoId
    state: str  # registered reset removed
    root: str
    filters: WalkFilters
    display_name: str
    aliases: tuple[str, ...] = ()
    index_generation: int
    memory_generation: int
    registered_ms: int = 0
    last_ingested_ms: int = 0  # 0 after a reset and before the first completed pass
    counters: Counters
    next_segment: int = 0
    changes_from: int = 0  # changes at or before this INDEX sequence were pruned
    stamp: int = 0  # INDEX or LOG fold count: rises with every commit that touched the repository


class FileRow(Struct, array_like=True):
    """One live file."""

    path: RepoPath
    sequence: int  # INDEX sequence of its record
    version: int
    digest: str
    size_bytes: int
    mtime_ns: int
    anchor_ns: int
    language: str
    kind: str
    skipped: str
    skipped_detail: str
    token_count: int
    line_count: int
    quality: str
    symbols: int
    chunks: int
    embedded: bool
    ingested_ms: int
    extractor_version: str  # of the extract, or of the attempt that failed; "" without either

    def holds_by_stat(self, size_bytes: int, mtime_ns: int) -> bool:
        """Whether a file's size and time prove that the recorded digest still holds, unread.

        The recorded time must be older than the anchor: a file written within the same clock tick
        as it was read could have changed unseen.
        """
        same = self.size_bytes == size_bytes and self.mtime_ns == mtime_ns
        return same and mtime_ns < self.anchor_ns


class VectorRow(Struct, array_like=True):
    """Vectors of one file's chunks."""

    space: str
    dimension: int
    vectors: bytes  # i1[chunks, dimension]


class PassRow(Struct, kw_only=True):
    """The newest pass of a repository, as PassChanged tells it."""

    pass_id: str
    reason: str
    status: str
    phase: str
    attempt: int
    files_scanned: int
    files_added: int
    files_updated: int
    files_removed: int
    files_unchanged: int
    started_ms: int
    updated_ms: int
    completed_ms: int
    error: str
    notice: str
    audited_ms: int = 0
    trees_swept: tuple[str, ...] = ()
    entries_deleted: int = 0


class NoteRow(Struct, array_like=True):
    """One note as its newest fact tells it."""

    sequence: int  # LOG sequence of that fact
    generation: int  # memory generation it was written in
    at_ms: int  # when it was stored, by the deciding worker's clock
    note: Note
    text_digest: str = ""  # of what is embedded; "" when there is nothing to embed


class NoteVectorRow(Struct, array_like=True):
    """Vectors of one note's passages; they count while the digest is the note's."""

    text_digest: str
    space: str
    dimension: int
    vectors: bytes
    sequence: int = 0  # INDEX sequence of the event


class SessionRow(Struct, array_like=True):
    """What a session has been given."""

    session: str
    receipts: tuple[str, ...]
    possessions: tuple[Possession, ...]
    expires_ms: int


class HistoryRow(Struct, array_like=True):
    """One run of commits, as HistoryStored tells it."""

    last: bool
    head: str
    terms_version: str
    commits: bytes
    count: int
    notice: str


class AnnHead(Struct, kw_only=True):
    """The published FAISS generation of a repository."""

    generation: int
    space: str
    kind: str
    parts: int
    size_bytes: int
    checksum: str
    vectors: int
    partitions: int
    upto: int
    files: bytes


class ResolvedRow(Struct, array_like=True):
    """From which version of a live file its edges were made."""

    path: str
    file_sequence: int  # INDEX sequence of the file's record
    sequence: int  # INDEX sequence of the edges
    version: str  # of resolver and columns


class BaselineRow(Struct, array_like=True):
    """One commit's manifest."""

    commit: str
    edition: int
    files: int
    symbols: int
    references: int
    full: int
    partial: int
    created_ms: int
    elapsed_ms: int
    from_cache: bool
    pseudo: bool


class WorkspaceRow(Struct, array_like=True):
    """One workspace and the overlay it has."""

    workspace_id: str
    commit: str
    log_sequence: int  # of its newest fact; an overlay of another one is void
    created_ms: int
    revision: int = 0
    edition: int = 0  # 0: no overlay
    changed: tuple[str, ...] = ()
    symbols: int = 0
    facts: int = 0
    full: int = 0
    partial: int = 0
    refreshed_ms: int = 0


class Change(Struct, array_like=True):
    """One step of a repository's live set, for readers that keep a view of it."""

    op: str  # "+" vectors stored, "-" file gone
    file_sequence: int


class Positions(Struct):
    """Last applied sequence of each stream."""

    log: int = 0
    index: int = 0
