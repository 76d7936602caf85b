"""Everything that can happen, one tagged union per stream.

    LOG    AnyLogEvent    facts that nothing can recompute
    INDEX  AnyIndexEvent  facts recomputable from the working tree, newest per subject
    WORK   AnyJob         jobs, gone once their result is stored
    CMD    AnyCommand     requests with a reply
    PROGRESS AnyProgress  phases and counters, for watching

A tag is text, never an import path, and is never reused. Adding a field: give it a default.
"""

from __future__ import annotations

from contracts.events.commands import AddRepo, AnyCommand, RemoveRepo, ReplayProjections, ResetIndex
from contracts.events.index import (
    AnchorMoved,
    AnnPart,
    AnnPublished,
    AnyIndexEvent,
    BaselineDropped,
    BaselinePublished,
    EdgesDropped,
    EdgesResolved,
    FileRecorded,
    FileRemoved,
    HistoryStored,
    ManifestPart,
    NoteVectorsStored,
    OverlayPublished,
    PassChanged,
    SessionDelivered,
    SpaceAgreed,
    VectorsStored,
)
from contracts.events.jobs import AnyJob, ExtractJob, PassJob, SeenEntry, WalkBatch, WalkFinished
from contracts.events.log import (
    AnyLogEvent,
    AnyRepoFact,
    IndexReset,
    RepoRegistered,
    RepoRemoved,
    WalkFilters,
)
from contracts.events.mapping import AnyMapCommand, WorkspaceRecorded
from contracts.events.memory import AnyNoteCommand, NoteRecorded, NumbersTaken
from contracts.events.patches import PatchRecord, RecordPatched
from contracts.events.progress import AnyProgress, StageProgress, WorkerState

__all__ = [
    "AddRepo", "AnchorMoved", "AnnPart", "AnnPublished", "AnyCommand", "AnyIndexEvent", "AnyJob",
    "AnyLogEvent", "AnyMapCommand", "AnyNoteCommand", "AnyProgress", "AnyRepoFact", "BaselineDropped", "BaselinePublished", "EdgesDropped", "EdgesResolved", "ExtractJob", "FileRecorded", "FileRemoved", "HistoryStored", "IndexReset", "ManifestPart", "NoteRecorded", "NoteVectorsStored", "NumbersTaken", "OverlayPublished",
    "PassChanged", "PassJob", "PatchRecord", "RecordPatched", "RemoveRepo", "ReplayProjections", "RepoRegistered", "RepoRemoved",
    "ResetIndex", "SeenEntry", "SessionDelivered", "SpaceAgreed", "StageProgress", "VectorsStored", "WalkBatch", "WalkFilters",
    "WalkFinished", "WorkerState", "WorkspaceRecorded",
]  # fmt: skip
