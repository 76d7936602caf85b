"""What does a note look like after a change? Fields: the last writer wins; tags and links: sets.

Removals come before additions, so that what is removed and added in one go is there.
"""

from __future__ import annotations

from msgspec.structs import replace

from contracts.events.memory import NotePatch
from contracts.notes import Link, Note


def merged(note: Note, patch: NotePatch) -> Note:
    """The note with the patch applied; equal to `note` when the patch says nothing new."""
    given = {
        name: value
        for name in ("title", "body", "author", "provenance")
        if (value := getattr(patch, name)) is not None
    }
    tags = tagged(note.tags, patch.add_tags, patch.remove_tags)
    links = linked(note.links, patch)
    after = replace(note, **given, tags=tags, links=links)
    if note.facts is not None and tags != note.tags:
        after = replace(after, facts=replace(note.facts, tags_text=",".join(tags)))
    return after


def tagged(tags: tuple[str, ...], add: tuple[str, ...], remove: tuple[str, ...]) -> tuple[str, ...]:
    """The set in ordinal order; blank tags are none."""
    removed = {tag.strip() for tag in remove}
    kept = {tag for tag in tags if tag not in removed}
    return tuple(sorted(kept | {tag.strip() for tag in add if tag.strip()}))


def tags_of(text: str) -> tuple[str, ...]:
    """The tags that a comma-separated text names."""
    return tagged((), tuple(text.split(",")), ())


def linked(links: tuple[Link, ...], patch: NotePatch) -> tuple[Link, ...]:
    """The edges by relation and target; one that is added again carries the digest seen now."""
    if not patch.add_links and not patch.remove_links:
        return links
    removed = set(patch.remove_links)
    edges = {
        (link.relation, link.target): link
        for link in links
        if (link.relation, link.target) not in removed
    }
    edges |= {(link.relation, link.target): link for link in patch.add_links}
    return tuple(edges[edge] for edge in sorted(edges))


def later(expires_ms: int, wanted_ms: int) -> int:
    """An expiry only moves later; a note without one takes the one that is wanted."""
    return max(expires_ms, wanted_ms)
