"""Facts recomputable from the working tree; the INDEX stream keeps the newest per subject.

One subject per file version record, one per file's vectors. The stream's order per subject is the
truth: a record is appended only over an older `version` of the same path, and vectors only while
the record they were made from is still the newest (see services/kernel/bus.py, conditional append).
"""

from __future__ import annotations

from msgspec import Struct

from contracts.extract import Packed, Terms
from contracts.ids import Digest, RepoPath


class FileRecorded(Struct, frozen=True, kw_only=True, tag="file.recorded"):
    """One live version of a file, with everything read out of it."""

    path: RepoPath
    version: int  # rises per path; the reconciler's clock, Unix nanoseconds
    digest: Digest
    size_bytes: int
    mtime_ns: int
    anchor_ns: int  # wall time just before the bytes were read
    language: str  # "" when unknown
    kind: str  # code test doc config vendor example data
    pass_id: str
    skipped: str = (
        ""  # why there is no extract: too_large minified generated binary unreadable extract_failed
    )
    skipped_detail: str = ""
    extract: Packed | None = None
    terms: Terms | None = None  # of the path alone, where there is no extract
    extractor_version: str = ""  # of whoever tried; "" in records of before it was told


class FileRemoved(Struct, frozen=True, kw_only=True, tag="file.removed"):
    """The path holds no eligible file any more. Tombstone on the record's own subject."""

    path: RepoPath
    version: int
    pass_id: str


class AnchorMoved(Struct, frozen=True, kw_only=True, tag="file.anchor_moved"):
    """A file was touched but its bytes are those on record."""

    path: RepoPath
    digest: Digest  # applies only while this digest is on record
    mtime_ns: int
    anchor_ns: int


class VectorsStored(Struct, frozen=True, kw_only=True, tag="vectors.stored"):
    """Vectors of every chunk of one file record. No chunks: counted as covered, contentless."""

    path: RepoPath
    file_sequence: int  # INDEX sequence of the FileRecorded they were made from
    space: str  # embedding space: model/dimension/normalisation
    dimension: int
    vectors: bytes  # i1[chunks, dimension]: unit vectors scaled by 127


class SpaceAgreed(Struct, frozen=True, kw_only=True, tag="space.agreed"):
    """Which embedding space the embedders fill; of no repository.

    Whoever fills another space stops when it sees this. Not folded: a row of vectors names its own.
    """

    space: str
    ready: bool  # False: claimed, and the records are not yet up for embedding again


class AnnPart(Struct, frozen=True, kw_only=True, tag="ann.part"):
    """One piece of a serialised FAISS index, at most 512 KiB."""

    generation: int
    part: int
    data: bytes


class AnnPublished(Struct, frozen=True, kw_only=True, tag="ann.published"):
    """A FAISS generation is complete and may be swapped in."""

    generation: int
    space: str
    kind: str  # how the codes were made, e.g. pq4 (store/ann_codes.py)
    parts: int
    size_bytes: int
    checksum: str  # "xx128:" of the serialised index
    vectors: int
    partitions: int
    upto: int  # INDEX sequence: vectors stored later are not in it
    files: bytes  # u8[]: file sequences it covers, ascending


class PassChanged(Struct, frozen=True, kw_only=True, tag="pass.changed"):
    """State of the newest indexing pass of a repository."""

    pass_id: str
    reason: str  # onboard reconcile watch resume gap failed audit reset
    status: str  # Running Completed Failed Cancelled
    phase: str  # Pending Walking Reconciling Applying Vectorising Done Resetting
    attempt: int
    files_scanned: int = 0
    files_added: int = 0
    files_updated: int = 0
    files_removed: int = 0
    files_unchanged: int = 0
    started_ms: int = 0
    updated_ms: int = 0
    completed_ms: int = 0
    error: str = ""
    notice: str = ""  # e.g. the watch limit ran out and periodic walks serve instead
    audited_ms: int = 0  # when every file was last hashed against the record; 0 for never
    trees_swept: tuple[str, ...] = ()  # a reset: what it dropped, in order
    entries_deleted: int = 0


class NoteVectorsStored(Struct, frozen=True, kw_only=True, tag="note.vectors"):
    """Vectors of one note's passages. They hold while the note's text has this digest.

    Of the memory, so of no index generation; held back until LOG is folded up to `log_sequence`.
    """

    topic: str
    id: str
    log_sequence: int  # LOG sequence of the fact they were made from
    text_digest: str  # contracts/note_text.py; what was embedded
    space: str
    dimension: int
    vectors: bytes  # i1[passages, dimension]: unit vectors scaled by 127


class Possession(Struct, frozen=True, array_like=True):
    """A file version whose whole body a session has been given."""

    path: RepoPath
    content_hash: str


class SessionDelivered(Struct, frozen=True, kw_only=True, tag="session.delivered"):
    """What one caller's session has been given so far, all of it; newest wins."""

    session: str
    receipts: tuple[str, ...]
    possessions: tuple[Possession, ...]
    expires_ms: int


class EdgesResolved(Struct, frozen=True, kw_only=True, tag="edges.resolved"):
    """What one live file uses of whom. Stored only while its record is the newest."""

    path: RepoPath
    file_sequence: int  # INDEX sequence of the FileRecorded they were made from
    version: str  # of resolver and columns; another one is resolved anew
    edges: bytes  # zstd of the file's edges, as services/resolution encodes them
    columns: bytes  # zstd of contracts.filemap.Columns
    summary: bytes  # zstd; what resolving other files has to know of this one


class EdgesDropped(Struct, frozen=True, kw_only=True, tag="edges.dropped"):
    """The path is gone, and what referred to it was resolved anew. On the edges' own subject."""

    path: RepoPath


class ManifestPart(Struct, frozen=True, kw_only=True, tag="manifest.part"):
    """Some files of a baseline or an overlay, at most about 512 KiB."""

    manifest: str  # "base/<commit>" or "ws/<workspace>"
    edition: int  # of one build; counts when the head names it
    part: int
    entries: bytes  # contracts.filemap: entries of files


class BaselinePublished(Struct, frozen=True, kw_only=True, tag="baseline.published"):
    """Every part of a commit's manifest is stored."""

    commit: str  # 40 hex; of a tree without git made from its content
    edition: int
    parts: int
    files: int
    symbols: int
    references: int
    full: int  # files without a syntax error
    partial: int  # files with some
    created_ms: int
    elapsed_ms: int
    from_cache: bool = False
    pseudo: bool = False  # the tree has no git


class BaselineDropped(Struct, frozen=True, kw_only=True, tag="baseline.dropped"):
    """A baseline was cleaned up. On its head's subject."""

    commit: str


class OverlayPublished(Struct, frozen=True, kw_only=True, tag="overlay.published"):
    """A workspace's overlay as its newest effective refresh left it, every part stored."""

    workspace_id: str
    log_sequence: int  # LOG sequence of the workspace's newest fact; holds while that is so
    revision: int
    edition: int
    parts: int
    changed: tuple[str, ...]  # paths whose bytes differ from the base, deleted ones included
    symbols: int  # symbols in the overlay's files
    facts: int
    full: int
    partial: int
    at_ms: int


class HistoryStored(Struct, frozen=True, kw_only=True, tag="history.stored"):
    """Commits of a repository's git history, one run of them; parts follow each other, oldest first.

    A newer edition voids all parts of an older one. Later commits come as further parts.
    """

    edition: int  # when its reading began, Unix nanoseconds
    part: int  # 0-based
    last: bool  # the reading that brought it ends with it
    head: str  # id of the newest commit read; "" where there is none
    terms_version: str  # EXTRACTOR_VERSION whose terms these are
    commits: bytes  # contracts/history.py
    count: int  # commits in this part
    notice: str = ""  # why there is none or not all of it, e.g. git is not installed


AnyIndexEvent = (
    FileRecorded
    | FileRemoved
    | AnchorMoved
    | VectorsStored
    | SpaceAgreed
    | AnnPart
    | AnnPublished
    | PassChanged
    | NoteVectorsStored
    | SessionDelivered
    | EdgesResolved
    | EdgesDropped
    | ManifestPart
    | BaselinePublished
    | BaselineDropped
    | OverlayPublished
    | HistoryStored
)
