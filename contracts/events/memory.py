"""Facts and commands of memory.

A fact is appended to its record's own subject with the expected last sequence of that subject, so
of two decisions made on the same state only one gets through.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from contracts.events.patches import PatchRecord
from contracts.ids import RepoId
from contracts.notes import Link, Note, NoteKind

Change = Literal[
    "created", "merged", "expiry_extended", "lapsed", "deleted", "deprecated",
    "granted", "renewed", "released", "queued", "left", "imported",
]  # fmt: skip


class NoteRecorded(Struct, frozen=True, kw_only=True, tag="note.recorded"):
    """One change of one note, with the note as it is afterwards."""

    change: Change
    note: Note
    principal: str  # whose token it was


class NumbersTaken(Struct, frozen=True, kw_only=True, tag="note.numbers"):
    """Numbers of memory_* records up to `upto` are given away; of no repository."""

    upto: int
    takers: tuple[str, ...] = ()  # ids of the commands that got the last ones, in order


# --------------------------------------------------------------------------- commands


class NotePatch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What to change; None leaves a field alone."""

    title: str | None = None
    body: str | None = None
    author: str | None = None
    provenance: str | None = None
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    add_links: tuple[Link, ...] = ()  # with the digests the caller's projection shows
    remove_links: tuple[tuple[str, str], ...] = ()  # (relation, target)


class NoteCommand(Struct, frozen=True, kw_only=True):
    """What every command names."""

    repo_id: RepoId
    topic: str
    id: str
    principal: str


class RememberNote(NoteCommand, frozen=True, kw_only=True, tag="cmd.remember"):
    """Create the note, or merge into it."""

    patch: NotePatch
    kind: NoteKind = "Note"  # only when it is created
    ttl_ms: int = 0  # explicit; 0: none given
    default_ttl_ms: int = 0  # applied on creation only
    must_exist: bool = False  # an update: a missing note is refused
    token: int | None = None


class ForgetNote(NoteCommand, frozen=True, kw_only=True, tag="cmd.forget"):
    """Delete it, or let it lapse."""

    lapse_ms: int = 0  # 0: delete
    token: int | None = None


class ClaimNote(NoteCommand, frozen=True, kw_only=True, tag="cmd.claim"):
    owner: str
    lease_ms: int
    wait_ms: int = 0  # 0: fail fast


class RenewClaim(NoteCommand, frozen=True, kw_only=True, tag="cmd.renew_claim"):
    token: int
    lease_ms: int


class ReleaseClaim(NoteCommand, frozen=True, kw_only=True, tag="cmd.release_claim"):
    token: int


class FactsPatch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Changes of a memory_* record; None leaves a field alone."""

    content: str | None = None
    tags_text: str | None = None
    context: str | None = None
    memory_type: str | None = None
    certainty: str | None = None
    status: str | None = None
    superseded_by: int | None = None
    expires_after_days: int | None = None


class AddFact(Struct, frozen=True, kw_only=True, tag="cmd.memory_add"):
    """Create a memory_* record under the next number."""

    repo_id: RepoId
    patch: FactsPatch
    source_agent: str = ""
    principal: str


class UpdateFact(Struct, frozen=True, kw_only=True, tag="cmd.memory_update"):
    """Change a memory_* record; refused while it is claimed."""

    repo_id: RepoId
    number: int
    patch: FactsPatch
    seen_update_count: int = -1  # >= 0: refused with CONFLICT when it moved, or is no longer active
    principal: str
    successor_repo: str = ""  # namespace of patch.superseded_by; "" the same


class RetireFacts(Struct, frozen=True, kw_only=True, tag="cmd.memory_retire"):
    """Deprecate or delete several; each on its own, claimed ones are reported and left."""

    repo_id: RepoId
    numbers: tuple[int, ...]
    delete: bool = False
    superseded_by: int | None = None
    principal: str
    successor_repo: str = ""  # namespace of superseded_by; "" the same


class ImportNotes(Struct, frozen=True, kw_only=True, tag="cmd.memory_import"):
    """Notes of an export, ids, tokens and times kept; what is there already is left as it is."""

    repo_id: RepoId
    notes: tuple[Note, ...]
    principal: str


AnyNoteCommand = (
    RememberNote
    | ForgetNote
    | ClaimNote
    | RenewClaim
    | ReleaseClaim
    | AddFact
    | UpdateFact
    | RetireFacts
    | ImportNotes
    | PatchRecord
)


class NoteReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to a command on memory.

    A refusal has `code`; a lost claim, a stale release or an absent record is no refusal.
    """

    ok: bool
    log_sequence: int = 0  # wait until the projection has reached it
    code: str = ""
    message: str = ""
    hint: str = ""
    fence: str = ""  # ClaimRequired StaleToken UnissuedToken ClaimReleased ForeignRegion
    reason: str = ""  # contended timeout missing superseded stale unclaimed
    existed: bool = False
    before: Note | None = None  # as it was, where that tells something
    note: Note | None = None  # as it is now
    done: tuple[int, ...] = ()  # numbers of RetireFacts and ImportNotes
    missing: tuple[int, ...] = ()
    claimed: tuple[int, ...] = ()
    notes: tuple[Note, ...] = ()  # of RetireFacts, in the order asked
    imported: int = 0
    skipped: int = 0
    undecodable: bool = False  # the newest fact of the record could not be read
