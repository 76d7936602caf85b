"""What happens to a workspace: created, refreshed, reset, deleted?

Its lifecycle is a fact of LOG, appended only over the fact that the decision saw. Its overlay
belongs to the newest fact, so a reset voids whatever was made before.
"""

from __future__ import annotations

import asyncio

import msgspec

from contracts import subjects
from contracts.envelope import Envelope, encode, now_ms
from contracts.errors import Conflict, NotFound, Superseded, Unavailable
from contracts.events.index import OverlayPublished
from contracts.events.mapping import (
    CreateWorkspace,
    EndWorkspace,
    MapReply,
    RefreshOverlay,
    WorkspaceRecorded,
)
from contracts.filemap import Entry, unpack_entries
from contracts.subjects import LOG
from services.kernel.bus import EXPECTED, Bus
from services.kernel.settings import Settings
from services.resolver.baselines import Desk, materialise, tree_of
from services.resolver.content import Content, of_disk, of_paths
from services.resolver.live import LiveMap
from services.resolver.manifest import Manifest, Shelf, Tally, facts_in, symbols_changed
from services.resolver.publish import Target, in_parts, overlay_place, publish_manifest
from store import keys
from store.read.maps import Maps
from store.rows import BaselineRow, RepoRow, WorkspaceRow

_TRIES = 6
_decode = msgspec.msgpack.Decoder(Envelope[WorkspaceRecorded]).decode


class Workspaces:
    """Carries out the commands on workspaces, one at a time per repository."""

    def __init__(self, bus: Bus, settings: Settings, desk: Desk) -> None:
        self._bus, self._settings, self._desk = bus, settings, desk

    # -- lifecycle --------------------------------------------------------------------------

    async def create(self, command: CreateWorkspace, cause: str) -> MapReply:
        repo = self._repo(command.repo_id)
        for _ in range(_TRIES):
            sequence, fact = await self._newest(repo, command.workspace_id)
            if fact is not None and fact.state != "deleted":
                row = self._row(repo, command.workspace_id)
                revision = 0 if row is None else row.revision
                return MapReply(
                    ok=True, existed=True, commit=fact.commit, revision=revision,
                    log_sequence=sequence,
                )  # fmt: skip
            event = WorkspaceRecorded(
                workspace_id=command.workspace_id,
                commit=command.commit,
                state="created",
                created_ms=now_ms(),
            )
            stored = await self._append(repo, event, cause, sequence)
            if stored:
                return MapReply(ok=True, commit=command.commit, log_sequence=stored)
        raise Conflict("the workspace changes too quickly", hint="try again")

    async def end(self, command: EndWorkspace, cause: str) -> MapReply:
        repo = self._repo(command.repo_id)
        for _ in range(_TRIES):
            sequence, fact = await self._newest(repo, command.workspace_id)
            if fact is None or fact.state == "deleted":
                return MapReply(ok=True, existed=False, log_sequence=sequence)
            row = self._row(repo, command.workspace_id)
            event = msgspec.structs.replace(fact, state="deleted" if command.delete else "reset")
            stored = await self._append(repo, event, cause, sequence)
            if stored:
                return MapReply(
                    ok=True, existed=True, commit=fact.commit, log_sequence=stored,
                    previous=0 if row is None else row.revision,
                )  # fmt: skip
        raise Conflict("the workspace changes too quickly", hint="try again")

    async def _newest(
        self, repo: RepoRow, workspace_id: str
    ) -> tuple[int, WorkspaceRecorded | None]:
        """LOG sequence of the workspace's newest fact, and the fact while its generation holds."""
        subject = subjects.workspace_log(repo.repo_id, workspace_id)
        found = await self._bus.last_message(subject, LOG)
        if found is None:
            return 0, None
        envelope = _decode(found[2])
        return found[0], envelope.event if envelope.generation == repo.index_generation else None

    async def _append(
        self, repo: RepoRow, event: WorkspaceRecorded, cause: str, expected: int
    ) -> int:
        """The fact's sequence; 0 when another one came first."""
        envelope = Envelope(
            id=cause,
            repo=repo.repo_id,
            generation=repo.index_generation,
            at_ms=now_ms(),
            producer="resolver",
            cause=cause,
            event=event,
        )
        subject = subjects.workspace_log(repo.repo_id, event.workspace_id)
        try:
            stored = await self._bus.put(
                subject, encode(envelope), message_id=cause, headers={EXPECTED: str(expected)}
            )
            return (await stored).seq
        except Conflict:
            return 0

    def _repo(self, repo_id: str) -> RepoRow:
        with self._desk.projections.read() as snapshot:
            row = snapshot.repo(repo_id)
        if row is None or row.state != "registered":
            raise NotFound(f"{repo_id} is not indexed", hint="onboard it first")
        return row

    def _row(self, repo: RepoRow, workspace_id: str) -> WorkspaceRow | None:
        with self._desk.projections.read() as snapshot:
            return Maps(snapshot.txn, repo.repo_id).workspace(workspace_id)

    # -- overlay ----------------------------------------------------------------------------

    async def refresh(self, command: RefreshOverlay) -> MapReply:
        """Bring the overlay in step with the working tree."""
        for attempt in range(_TRIES):
            live = await self._desk.settle(command.repo_id)
            try:
                return await self._refreshed(command, live)
            except Unavailable:
                if attempt == _TRIES - 1:
                    raise
                await asyncio.sleep(0.2 * (attempt + 1))
        raise Unavailable("the tree is changing", hint="try again")

    async def _refreshed(self, command: RefreshOverlay, live: LiveMap) -> MapReply:
        repo = self._repo(command.repo_id)
        row, base = self._standing(repo, command.workspace_id)
        shelf = await asyncio.to_thread(Shelf, self._desk.projections, repo.repo_id, base, row)
        content = await asyncio.to_thread(self._content, repo, command, shelf, live)
        await materialise(self._bus, repo.repo_id, content)
        before = shelf.standing.digests
        after = {path: source.digest for path, source in content.items()}
        edited = sorted(p for p in {*before, *after} if before.get(p) != after.get(p))
        if not edited:
            return MapReply(ok=True, revision=row.revision, commit=row.commit)
        manifest = Manifest(self._desk.projections, live, content)
        parts, tally, symbols = await asyncio.to_thread(_overlaid, manifest, shelf, content, edited)
        base_digests = {path: file.digest for path, file in shelf.standing.base.items()}
        changed = sorted(p for p in {*base_digests, *after} if base_digests.get(p) != after.get(p))
        name = keys.overlay_name(row.workspace_id)
        place = overlay_place(repo.repo_id, name, row.workspace_id, row.edition)

        def head(count: int) -> OverlayPublished:
            return OverlayPublished(
                workspace_id=row.workspace_id,
                log_sequence=row.log_sequence,
                revision=row.revision + 1,
                edition=place.edition,
                parts=count,
                changed=tuple(changed),
                symbols=tally.symbols,
                facts=tally.facts,
                full=tally.full,
                partial=tally.partial,
                at_ms=now_ms(),
            )

        target = Target(repo.repo_id, repo.index_generation)
        try:
            sequence = await publish_manifest(self._bus, target, place, parts, head)
        except Superseded:
            raise Unavailable("another worker refreshes this workspace", hint="try again") from None
        return MapReply(
            ok=True,
            index_sequence=sequence,
            commit=row.commit,
            revision=row.revision + 1,
            files=len(edited),
            symbols=symbols,
        )

    def _standing(self, repo: RepoRow, workspace_id: str) -> tuple[WorkspaceRow, BaselineRow]:
        with self._desk.projections.read() as snapshot:
            maps = Maps(snapshot.txn, repo.repo_id)
            row = maps.workspace(workspace_id)
            if row is None:
                raise NotFound(
                    f"there is no workspace {workspace_id[:80]!r}",
                    hint="create it with workspace_create",
                )
            base = maps.baseline(row.commit)
        if base is None:
            raise NotFound(
                f"the workspace's baseline {row.commit[:12]} was cleaned up",
                hint="build it again with index_ensure_baseline and its commit_sha",
            )
        return row, base

    def _content(
        self, repo: RepoRow, command: RefreshOverlay, shelf: Shelf, live: LiveMap
    ) -> Content:
        tree = tree_of(repo, self._settings)
        if command.paths is None:
            content = of_disk(tree, live.rows)
        else:
            content = shelf.content(live.rows)
            for path, source in of_paths(tree, command.paths, live.rows).items():
                if source is None:
                    content.pop(path, None)
                else:
                    content[path] = source
        shelf.recognised(content)
        return content


def _overlaid(
    manifest: Manifest, shelf: Shelf, content: Content, edited: list[str]
) -> tuple[list[bytes], Tally, int]:
    """Parts of the overlay, what its files come to, and how many symbols the edits touch."""
    manifest.resolve()
    parts = list(in_parts(shelf.overlay(manifest, content)))
    tally = Tally()
    entries: dict[str, Entry] = {}
    for part in parts:
        for entry in unpack_entries(part):
            tally.add(entry)
            if entry.file.digest:
                entries[entry.file.path] = entry
                tally.facts += len(facts_in(entry.body))
    symbols = 0
    for path in edited:
        after = entries.get(path)
        if after is None and path in content:
            after = manifest.entry(path)  # as the base has it again
        symbols += symbols_changed(shelf.kept(path), after)
    return parts, tally, symbols
