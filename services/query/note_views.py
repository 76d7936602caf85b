"""How does a note look to a client, and do its links still hold?

A link to a file or a symbol holds while the digest it was made with is the one that is indexed. Links
to other records are never stale. Expiry is told by the reader's clock, so a note is gone everywhere in
the moment its time is over.
"""

from __future__ import annotations

from collections.abc import Iterable

from contracts.ids import RecordKey, parse_key
from contracts.notes import Link, Note
from contracts.tools.repocontext import EntryView
from services.query.declared import Declared
from services.query.entries import time_text
from services.source.free_text import visible
from store.read.live import Snapshot

STRUCTURAL = ("file", "symbol")


def key_of(note: Note) -> RecordKey:
    return RecordKey(note.repo_id, "mem", note.topic, note.id)


def entry(note: Note) -> EntryView:
    """The note as bulk reads show it: expiry and links are not evaluated."""
    links: dict[str, tuple[str, ...]] = {}
    for link in note.links:
        links[visible(link.relation)] = (*links.get(visible(link.relation), ()), link.target)
    return EntryView(
        key=str(key_of(note)), exists=True, kind="Memory", repo_id=note.repo_id,
        topic=note.topic, id=note.id, fields=fields(note), tags=tuple(map(visible, note.tags)), links=links,
    )  # fmt: skip


def evaluated(snapshot: Snapshot, note: Note, now_ms: int) -> EntryView:
    """The note with its remaining life and the state of its links."""
    plain = entry(note)
    stale, dangling = broken_links(snapshot, note.links)
    return EntryView(
        key=plain.key, exists=True, kind=plain.kind, repo_id=plain.repo_id, topic=plain.topic, id=plain.id,
        fields=plain.fields, tags=plain.tags, links=plain.links,
        expires=bool(note.expires_ms),
        expires_at_utc=time_text(note.expires_ms),
        remaining_seconds=remaining_seconds(note.expires_ms, now_ms),
        has_expired=False,
        stale=bool(stale), stale_links=stale or None, dangling_links=dangling or None,
    )  # fmt: skip


def remaining_seconds(expires_ms: int, now_ms: int) -> int | None:
    """Whole seconds, rounded up; None for a durable note."""
    return max(0, -((now_ms - expires_ms) // 1000)) if expires_ms else None


def fields(note: Note) -> dict[str, str]:
    """What is stored as text. Author and provenance are always told, even where nobody gave them."""
    shown = {
        "kind": note.kind,
        "title": note.title,
        "body": note.body,
        "createdAt": time_text(note.created_ms) or "",
        "updatedAt": time_text(note.updated_ms) or "",
    }
    if note.facts is not None:
        facts = note.facts
        by = "" if facts.superseded_by is None else str(facts.superseded_by)
        days = "" if facts.expires_after_days is None else str(facts.expires_after_days)
        shown |= {
            "number": str(facts.number), "context": facts.context, "memoryType": facts.memory_type,
            "certainty": facts.certainty, "status": facts.status, "supersededBy": by,
            "expiresAfterDays": days, "lastUpdatedBy": facts.last_updated_by,
        }  # fmt: skip
    given = {name: visible(value) for name, value in shown.items() if value}
    return given | {"author": visible(note.author), "provenance": visible(note.provenance)}


def digest_of(snapshot: Snapshot, target: RecordKey) -> str | None:
    """The digest that is indexed of a file, or of the file of a symbol; None without a live record."""
    row = snapshot.repo(target.repo_id)
    if row is None or row.state == "removed":
        return None
    if target.family == "file":
        file = snapshot.file(target.repo_id, target.name)
        return None if file is None else file.digest
    symbol = Declared(snapshot, target.repo_id).entry(target.name)
    return None if symbol is None else symbol.fields.get("digest", "")


def captured(snapshot: Snapshot, relation: str, target: RecordKey) -> Link:
    """A link made now, with the digest its target has at the moment."""
    digest = digest_of(snapshot, target) if target.family in STRUCTURAL else ""
    return Link(relation, str(target), digest or "")


def broken_links(
    snapshot: Snapshot, links: Iterable[Link]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Targets of the stale links, and those among them that have no live record; ordinal order."""
    stale: set[str] = set()
    dangling: set[str] = set()
    for link in links:
        target = parse_key(link.target)
        if target.family not in STRUCTURAL:
            continue
        digest = digest_of(snapshot, target)
        if digest is None:
            dangling.add(link.target)
        if digest is None or not link.digest or digest != link.digest:
            stale.add(link.target)
    return tuple(sorted(stale)), tuple(sorted(dangling))
