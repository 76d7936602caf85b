"""Requests and answers of the memory and claim tools of the repository-context family.

Times are UTC in ISO 8601. A null means "does not apply" or "not known".
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from contracts.tools.base import Answer
from contracts.tools.repocontext import ContextRequest, EntryView, RecordKeyText

NoteKindText = Literal["Decision", "Note", "Memory"]
Links = Annotated[
    dict[str, tuple[str, ...]], Meta(description="Relation name -> record keys it points to")
]
Tags = tuple[str, ...]
NoteKey = Annotated[str, Meta(description="…/mem/{topic}/{id}")]
Token = Annotated[int, Meta(description="Of a claimed note")]
Lease = Annotated[int, Meta(description="Default 30, clamped to the server's maximum")]


# --------------------------------------------------------------------------- notes


class RememberRequest(ContextRequest, frozen=True, kw_only=True):
    """Create a note, or merge into the one with that id."""

    repo_id: str
    topic: Annotated[str, Meta(description="Groups notes: auth, build, release")]
    id: Annotated[str, Meta(description="Default: a new one is generated")] | None = None
    kind: Annotated[NoteKindText, Meta(description="Only when the note is created")] = "Note"
    title: str | None = None
    body: Annotated[str, Meta(description="What to know, and why")] | None = None
    author: str | None = None
    provenance: Annotated[str, Meta(description="Where it comes from: file, commit, person")] | None = None  # fmt: skip
    tags: Annotated[Tags, Meta(description="Added to those there are")] = ()
    add_links: Links = msgspec.field(default_factory=dict)
    remove_links: Links = msgspec.field(default_factory=dict)
    ttl_seconds: Annotated[int, Meta(description="Lifetime; an expiry only moves later")] | None = None  # fmt: skip
    fencing_token: Token | None = None


class Remembered(Answer, frozen=True, kw_only=True):
    """Where the note is, and until when."""

    key: str
    repo_id: str
    topic: str
    id: str
    created: bool  # false: merged into an existing one
    expires: bool | None = None
    expires_at_utc: str | None = None
    links_added: int
    links_removed: int


class UpdateRequest(ContextRequest, frozen=True, kw_only=True):
    """Patch a record that exists."""

    key: RecordKeyText
    fields: Annotated[dict[str, str], Meta(description="Field name -> value; of notes title, body, author, provenance")] = msgspec.field(default_factory=dict)  # fmt: skip
    add_tags: Tags = ()
    remove_tags: Tags = ()
    add_links: Annotated[Links, Meta(description="Notes only: relation name -> record keys")] = (
        msgspec.field(default_factory=dict)
    )
    remove_links: Annotated[Links, Meta(description="Notes only")] = msgspec.field(
        default_factory=dict
    )
    fencing_token: Token | None = None


class RecordUpdate(Answer, frozen=True, kw_only=True):
    """How much of the record was patched; what said nothing new counts as well."""

    key: str
    kind: str  # family: Repository Package File Symbol Memory
    fields_updated: int
    tags_added: int
    tags_removed: int
    links_added: int
    links_removed: int


class ForgetRequest(ContextRequest, frozen=True, kw_only=True):
    """Delete a record, or let it lapse."""

    key: RecordKeyText
    lapse: Annotated[bool, Meta(description="Let it lapse by itself instead of deleting it now")] = False  # fmt: skip
    lapse_seconds: int = 60
    fencing_token: Token | None = None


class Forgotten(Answer, frozen=True, kw_only=True):
    """What was forgotten; forgetting what is absent is no error."""

    key: str
    mode: Literal["delete", "lapse"]
    existed: bool
    expires_at_utc: str | None = None  # in force now; null when deleted or absent
    undecodable: bool  # its newest fact could not be read


class ListTopicsRequest(ContextRequest, frozen=True, kw_only=True):
    """The topics of a repository's memory."""

    repo_id: str


class Topic(Struct, frozen=True, kw_only=True, rename="camel"):
    """One topic with its live notes counted."""

    topic: str
    entry_count: int


class Topics(Answer, frozen=True, kw_only=True):
    """In ascending order."""

    repo_id: str
    topics: tuple[Topic, ...]
    topics_left_off: int = 0  # the answer would have become too large


class NeighborsRequest(ContextRequest, frozen=True, kw_only=True):
    """Walk the links out of a note."""

    key: NoteKey
    relation: Annotated[str, Meta(description="Follow this relation only")] | None = None
    depth: Annotated[int, Meta(description="Hops, 1-3")] = 1
    max_nodes: Annotated[int, Meta(description="1-100")] = 50


class Neighbors(Answer, frozen=True, kw_only=True):
    """Linked records in the order they were found; one that is gone has exists=false."""

    key: str
    exists: bool
    neighbors: tuple[EntryView, ...]
    truncated: bool  # at least one further linked record was left out


# --------------------------------------------------------------------------- claims


class ClaimRequest(ContextRequest, frozen=True, kw_only=True):
    """Ask for exclusive authorship of a note."""

    key: NoteKey
    owner: Annotated[str, Meta(description="Who claims it")]
    lease_seconds: Lease | None = None
    max_wait_seconds: Annotated[int, Meta(description="Queue for so long; absent = answer at once")] | None = None  # fmt: skip


class RenewClaimRequest(ContextRequest, frozen=True, kw_only=True):
    """Move the end of a lease."""

    key: NoteKey
    fencing_token: int
    lease_seconds: Annotated[int, Meta(description="Default 30: give it, or the lease may shrink")] | None = None  # fmt: skip


class ClaimGrant(Answer, frozen=True, kw_only=True):
    """A claim granted or renewed, or why not."""

    key: str
    lock_name: str
    granted: bool
    fencing_token: int | None = None  # give it with every write
    owner: str | None = None
    region: str | None = None
    lease_expires_at_utc: str | None = None
    lease_seconds: int | None = None  # perhaps shorter than asked for
    previous_lease_expires_at_utc: str | None = None  # of a renewal
    lease_shortened: bool | None = None  # true when a renewal made it shorter
    reason: Literal["contended", "timeout", "missing", "superseded"] | None = None


class ReleaseClaimRequest(ContextRequest, frozen=True, kw_only=True):
    """Give a claim up."""

    key: NoteKey
    fencing_token: int


class ClaimRelease(Answer, frozen=True, kw_only=True):
    """Repeating it gives the same answer."""

    key: str
    lock_name: str
    released: bool
    fencing_token: int
    reason: Literal["stale", "missing", "unclaimed"] | None = None


class ClaimStatusRequest(ContextRequest, frozen=True, kw_only=True):
    """Who holds a note, and how many wait."""

    key: NoteKey


class ClaimStatus(Answer, frozen=True, kw_only=True):
    """The claim on the record beside the lock that granted it; an observation, never a right.

    They may disagree: after a lease ran out the record still tells its last token.
    """

    key: str
    lock_name: str
    exists: bool
    claimed: bool
    fencing_token: int | None = None  # high-water mark; null when it was never claimed
    released_fencing_token: int | None = None
    owner: str | None = None
    region: str | None = None
    is_held: bool
    lock_fencing_token: int  # 0 when not held
    lease_expires_at_utc: str | None = None
    queue_depth: int
    authoritative: Literal[False] = False
