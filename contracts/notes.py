"""What is a note, and what does a claim on it look like?

One note is one record of repository memory, at `repo/{repoId}/mem/{topic}/{id}`. Every fact about it
carries the whole note after the change, so that the newest message of its subject is its state:
whoever decides needs no other history, and folding is a replacement.

Times are Unix milliseconds of the broker's clock; 0 means never.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from contracts.ids import RepoId

NoteKind = Literal["Decision", "Note", "Memory"]
MEMORY_TOPIC = "machine-memory"  # where the records of the memory_* tools live; id = decimal number
REGION = "local"  # where claims of this server are taken


class Link(Struct, frozen=True, array_like=True):
    """One edge to another record."""

    relation: str
    target: str  # a well-formed record key
    digest: str = ""  # of the linked file, or file of the linked symbol, when linked; "" none then


class Waiter(Struct, frozen=True, array_like=True):
    """A claim that waits its turn."""

    command: str  # id of the command that waits
    owner: str
    lease_ms: int
    until_ms: int  # when the wait ends


class Claim(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Fence marks of the record and the lock beside it.

    `issued` outlives the note: tokens of a key only rise, whatever happened to it.
    """

    issued: int = 0  # newest token ever granted for this key
    fence: int = 0  # high-water mark of the record; 0: never claimed
    released: int = 0  # newest released token; the claim is live while it is below `fence`
    owner: str = ""
    region: str = ""
    lease_until_ms: int = 0  # of the newest grant
    held: bool = False  # granted and not released; the lease may have run out all the same
    queue: tuple[Waiter, ...] = ()  # first in, first out; those whose wait ended do not count
    command: str = ""  # id of the command that got the newest grant
    lease_ms: int = 0  # length of the newest grant or renewal

    @property
    def live(self) -> bool:
        """Whether writes need the token. The lease is not looked at."""
        return self.released < self.fence

    def is_held(self, now_ms: int) -> bool:
        """Whether the lock is taken at that moment."""
        return self.held and now_ms < self.lease_until_ms

    def waiting(self, now_ms: int) -> tuple[Waiter, ...]:
        """Who waits for it at that moment."""
        return tuple(waiter for waiter in self.queue if waiter.until_ms > now_ms)


class Facts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the memory_* tools keep of a record beside the note."""

    number: int  # rises over all repositories, never reused
    context: str = ""
    tags_text: str = ""  # as given; the note's tags are read from it
    memory_type: str = "convention"
    certainty: str = "inferred"
    status: str = "active"  # active deprecated superseded_by
    superseded_by: int | None = None
    expires_after_days: int | None = None  # advisory; only of memory_type status
    refs: tuple[str, ...] = ()
    source_agent: str = ""
    last_updated_by: str = ""
    update_count: int = 0


class Note(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The whole state of one record of memory."""

    repo_id: RepoId
    topic: str
    id: str
    exists: bool = True  # False: deleted; only the claim's counters matter
    kind: NoteKind = "Note"
    title: str = ""
    body: str = ""
    author: str = ""
    provenance: str = ""
    tags: tuple[str, ...] = ()  # ordinal order
    links: tuple[Link, ...] = ()  # by relation, then target
    created_ms: int = 0
    updated_ms: int = 0
    expires_ms: int = 0  # 0: durable
    claim: Claim = Claim()
    facts: Facts | None = None  # only records of the memory_* tools

    def is_live(self, now_ms: int) -> bool:
        """Whether the record is there at that moment: neither deleted nor expired."""
        return self.exists and not (self.expires_ms and self.expires_ms <= now_ms)
