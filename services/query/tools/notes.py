"""Notes: remember, update, forget, list topics, walk links."""

from __future__ import annotations

from collections import deque

from contracts.envelope import now_ms
from contracts.errors import Forbidden, InvalidArgument, NotFound, Unavailable
from contracts.events.memory import ForgetNote, NotePatch, RememberNote
from contracts.ids import RecordKey, RepoId, parse_key
from contracts.notes import Link, Note
from contracts.tools.notes import (
    ForgetRequest,
    Forgotten,
    ListTopicsRequest,
    Neighbors,
    NeighborsRequest,
    RecordUpdate,
    Remembered,
    RememberRequest,
    Topic,
    Topics,
    UpdateRequest,
)
from contracts.tools.repocontext import EntryView
from services.query import bounds, entries, note_views, paging, patches
from services.query.entries import time_text
from services.query.host import View
from services.query.lifetimes import default_ttl_ms
from services.query.note_keys import (
    TAG_CHARS,
    check_length,
    checked_name,
    edges,
    new_id,
    sendable,
)
from services.query.registry import tool
from services.query.tools import records
from services.source import free_text
from store.read import notes as stored
from store.read.live import Snapshot

_DEPTH, _DEPTH_MOST = 1, 3
_NODES, _NODES_MOST = 50, 100
_TEXT_CHARS = 200_000
_RELATION_CHARS = 200
_TARGET_CHARS = 4_000
_LONGEST_LIFE_S = 100 * 365 * 86_400
_NOTE_FIELDS = {name.casefold(): name for name in ("title", "body", "author", "provenance")}


@tool("repocontext_remember", title="Remember", family="repocontext", writes=True, idempotent=False)
async def remember(view: View, request: RememberRequest) -> Remembered:
    """Keep a note for later sessions: a decision, a gotcha, how something is done. With the id of a
    note it is merged into it. Link it to the files it is about: recall tells when they changed
    since."""
    _lifetime(request.ttl_seconds, "ttlSeconds")
    texts = {
        "title": request.title,
        "body": request.body,
        "author": request.author,
        "provenance": request.provenance,
    }
    _check_texts(texts)
    repo_id = RepoId(checked_name(request.repo_id.strip(), "repoId"))
    topic = checked_name(request.topic, "topic")
    item = checked_name((request.id or "").strip() or new_id(), "id")
    added, removed = edges(request.add_links), edges(request.remove_links)
    _check_names(request.tags, added)
    patch = NotePatch(
        title=request.title,
        body=request.body,
        author=request.author,
        provenance=request.provenance,
        add_tags=request.tags,
        add_links=_captured(view, added),
        remove_links=tuple((relation, str(key)) for relation, key in removed),
    )
    command = RememberNote(
        repo_id=repo_id,
        topic=topic,
        id=item,
        principal=view.caller.principal,
        patch=patch,
        kind=request.kind,
        ttl_ms=(request.ttl_seconds or 0) * 1000,
        default_ttl_ms=default_ttl_ms(view.settings, repo_id),
        token=sendable(request.fencing_token),
    )
    reply = await view.host.note_command(command)
    note = reply.note
    return Remembered(
        key=str(RecordKey(repo_id, "mem", topic, item)),
        repo_id=repo_id,
        topic=topic,
        id=item,
        created=not reply.existed,
        expires=None if note is None else bool(note.expires_ms),
        expires_at_utc=None if note is None else time_text(note.expires_ms),
        links_added=len(added),
        links_removed=len(removed),
    )


@tool("repocontext_update", title="Update a record", family="repocontext", writes=True)
async def update(view: View, request: UpdateRequest) -> RecordUpdate:
    """Patch named fields and tags of an existing record; of a note also its links. What is indexed
    of a file, package or symbol wins again with its next change."""
    key = parse_key(request.key)
    if key.family != "mem":
        return await patches.update(view, key, request, records.found)
    given = _note_fields(request.fields)
    _check_texts(given)
    added, removed = edges(request.add_links), edges(request.remove_links)
    _check_names(request.add_tags, added)
    patch = NotePatch(
        title=given.get("title"),
        body=given.get("body"),
        author=given.get("author"),
        provenance=given.get("provenance"),
        add_tags=request.add_tags,
        remove_tags=request.remove_tags,
        add_links=_captured(view, added),
        remove_links=tuple((relation, str(target)) for relation, target in removed),
    )
    command = RememberNote(
        repo_id=key.repo_id,
        topic=key.name,
        id=key.item,
        principal=view.caller.principal,
        patch=patch,
        must_exist=True,
        token=sendable(request.fencing_token),
    )
    await view.host.note_command(command)
    return RecordUpdate(
        key=str(key),
        kind="Memory",
        fields_updated=len(given),
        tags_added=len(set(request.add_tags)),
        tags_removed=len(set(request.remove_tags)),
        links_added=len(added),
        links_removed=len(removed),
    )


@tool("repocontext_forget", title="Forget a record", family="repocontext", writes=True)
async def forget(view: View, request: ForgetRequest) -> Forgotten:
    """Delete a note, or with lapse let it expire in lapseSeconds; a lapse never shortens a longer
    life. What is indexed of the tree goes with the tree."""
    key = parse_key(request.key)
    if request.lapse:
        _lifetime(request.lapse_seconds, "lapseSeconds")
    if key.family != "mem":
        return await patches.forget(view, key, request, records.found)
    command = ForgetNote(
        repo_id=key.repo_id,
        topic=key.name,
        id=key.item,
        principal=view.caller.principal,
        lapse_ms=request.lapse_seconds * 1000 if request.lapse else 0,
        token=sendable(request.fencing_token),
    )
    reply = await view.host.note_command(command)
    lapsed = request.lapse and reply.existed and reply.note is not None
    return Forgotten(
        key=str(key),
        mode="lapse" if request.lapse else "delete",
        existed=reply.existed,
        expires_at_utc=time_text(reply.note.expires_ms) if lapsed and reply.note else None,
        undecodable=reply.undecodable,
    )


@tool("repocontext_list_topics", title="List topics", family="repocontext")
async def list_topics(view: View, request: ListTopicsRequest) -> Topics:
    """The topics of a repository's memory with how many notes each has. Read them with
    repocontext_scan, scope MemoryTopic."""
    counts: dict[str, int] = {}
    try:
        with view.read() as snapshot:
            for _, note in stored.live_notes(snapshot, request.repo_id, now_ms()):
                counts[note.topic] = counts.get(note.topic, 0) + 1
    except NotFound:
        counts = {}
    topics = bounds.fitting(
        Topic(topic=topic, entry_count=count)
        for topic, count in sorted(counts.items(), key=lambda pair: pair[0].encode())
    )
    return Topics(repo_id=request.repo_id, topics=topics, topics_left_off=len(counts) - len(topics))


@tool("repocontext_neighbors", title="Linked records", family="repocontext")
async def neighbors(view: View, request: NeighborsRequest) -> Neighbors:
    """The records that a note links to, breadth first, each once: up to 3 hops, of one relation or
    all. A target that is gone comes with exists=false."""
    key = parse_key(request.key)
    depth = paging.clamp(request.depth, _DEPTH, _DEPTH_MOST)
    most = paging.clamp(request.max_nodes, _NODES, _NODES_MOST)
    with view.read() as snapshot:
        seed = _live(snapshot, key, now_ms()) if key.family == "mem" else None
        if seed is None:  # absent, or a record of the tree: those have no links
            exists = records.found(snapshot, key) is not None
            return Neighbors(key=str(key), exists=exists, neighbors=(), truncated=False)
        found, truncated = _walk(snapshot, seed, request.relation, depth, most)
    return Neighbors(key=str(key), exists=True, neighbors=tuple(found), truncated=truncated)


def _walk(
    snapshot: Snapshot, seed: Note, relation: str | None, depth: int, most: int
) -> tuple[list[EntryView], bool]:
    now = now_ms()
    seen = {str(note_views.key_of(seed))}
    found: list[EntryView] = []
    queue: deque[tuple[Note, int]] = deque([(seed, 0)])
    room = bounds.ANSWER_BYTES
    while queue:
        note, hops = queue.popleft()
        for link in note.links:
            if (relation is not None and link.relation != relation) or link.target in seen:
                continue
            if len(found) == most or room < 0:
                return found, True
            seen.add(link.target)
            target = parse_key(link.target)
            if target.family == "mem":
                here = _live(snapshot, target, now)
                found.append(
                    entries.absent(target)
                    if here is None
                    else note_views.evaluated(snapshot, here, now)
                )
                if here is not None and hops + 1 < depth:
                    queue.append((here, hops + 1))
            else:
                found.append(records.found(snapshot, target) or entries.absent(target))
            room -= bounds.size_of(found[-1])
    return found, False


def _live(snapshot: Snapshot, key: RecordKey, now: int) -> Note | None:
    return stored.live_note(snapshot, key.repo_id, key.name, key.item, now)


def _captured(view: View, added: list[tuple[str, RecordKey]]) -> tuple[Link, ...]:
    """Links with the digests that are indexed at the moment; none where nothing is indexed yet."""
    if not added:
        return ()
    try:
        with view.read() as snapshot:
            return tuple(note_views.captured(snapshot, *edge) for edge in added)
    except (NotFound, Unavailable):
        return tuple(Link(relation, str(target)) for relation, target in added)


def _note_fields(fields: dict[str, str]) -> dict[str, str]:
    """The patch by field name; names match in any case."""
    given: dict[str, str] = {}
    for name, value in fields.items():
        known = _NOTE_FIELDS.get(name.strip().casefold())
        if known is None:
            raise Forbidden(
                f"a note has no field {name[:60]!r} to patch",
                hint=f"fields of a note: {', '.join(_NOTE_FIELDS.values())}",
                reason="field",
            )
        given[known] = value
    return given


def _check_texts(texts: dict[str, str] | dict[str, str | None]) -> None:
    """Refuse what leaked framing, credentials or sheer length make unfit to keep."""
    for name, text in texts.items():
        check_length(name, text and free_text.visible(text), _TEXT_CHARS)
    wrong = free_text.mistakes(texts)
    if wrong is not None:
        raise InvalidArgument(wrong[0], hint=wrong[1], reason="rejected_content")


def _check_names(tags: tuple[str, ...], edges_added: list[tuple[str, RecordKey]]) -> None:
    """Refuse tags and links that are no names any more."""
    for tag in tags:
        check_length("a tag", tag, TAG_CHARS)
    for relation, target in edges_added:
        check_length("a relation's name", relation, _RELATION_CHARS)
        check_length("a link's target", str(target), _TARGET_CHARS)


def _lifetime(seconds: int | None, name: str) -> None:
    if seconds is None or 0 < seconds <= _LONGEST_LIFE_S:
        return
    if seconds <= 0:
        raise InvalidArgument(
            f"{name} is {seconds}", hint=f"give {name} a positive number", reason="not_positive"
        )
    raise InvalidArgument(
        f"{name} is longer than a hundred years ({_LONGEST_LIFE_S:,} seconds)",
        hint=f"leave {name} out: a note without an expiry stays for ever",
        reason="lifetime",
    )
