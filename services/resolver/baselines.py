"""How is a commit's manifest built, shared between machines, and forgotten?"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Protocol

import msgspec
import xxhash
from msgspec import Struct

from contracts.envelope import now_ms
from contracts.errors import CompilationFailed, NotFound, Superseded, Unavailable
from contracts.events.index import BaselinePublished
from contracts.events.mapping import DropBaselines, EnsureBaseline, MapReply
from contracts.extract import compressed, decompressed
from contracts.filemap import FileFacts, unpack_entries
from services.kernel import logs
from services.kernel.bus import Bus
from services.kernel.settings import Settings
from services.resolver.content import Content, Fresh, Kept, Tree, of_commit, of_live
from services.resolver.live import VERSION, LiveMap
from services.resolver.manifest import Manifest, Tally
from services.resolver.publish import (
    Target,
    baseline_place,
    in_parts,
    publish_dropped,
    publish_manifest,
)
from services.resolver.reading import read_files
from services.source.gitrepo import git_tree, hashed_id
from store import keys
from store.read.live import Projections
from store.read.maps import Maps
from store.rows import BaselineRow, RepoRow

log = logs.get(__name__)
_TRIES = 6
_FORMAT = 1  # of a shared file


class Desk(Protocol):
    """What building needs of the worker."""

    projections: Projections

    async def settle(self, repo_id: str) -> LiveMap: ...

    def target(self, live: LiveMap) -> Target: ...


class Shared(Struct, frozen=True, array_like=True):
    """A baseline as machines hand it to each other."""

    format: int
    version: str
    checksum: str
    parts: tuple[bytes, ...]


_encode_shared = msgspec.msgpack.Encoder().encode
_decode_shared = msgspec.msgpack.Decoder(Shared).decode


class Baselines:
    """Carries out the commands on baselines, one at a time per repository."""

    def __init__(self, bus: Bus, settings: Settings, desk: Desk) -> None:
        self._bus, self._settings, self._desk = bus, settings, desk

    async def ensure(self, command: EnsureBaseline) -> MapReply:
        """Build a commit's baseline unless there is one."""
        repo, known = self._standing(command.repo_id, command.commit)
        if known is not None:
            return MapReply(ok=True, existed=True, commit=known.commit)
        shelf = self._shelf(repo, command.commit)
        parts = await asyncio.to_thread(_pulled, shelf)
        from_cache = parts is not None
        if parts is None:
            commit, parts = await self._built(repo, command.commit)
            repo, known = self._standing(command.repo_id, commit)
            if known is not None:
                return MapReply(ok=True, existed=True, commit=known.commit)
            if shelf is not None and command.commit:
                await asyncio.to_thread(_pushed, shelf, parts)
        else:
            commit = command.commit
        return await self._publish(repo, commit, parts, command, from_cache=from_cache)

    def _standing(self, repo_id: str, commit: str) -> tuple[RepoRow, BaselineRow | None]:
        with self._desk.projections.read() as snapshot:
            row = snapshot.repo(repo_id)
            if row is None or row.state != "registered":
                raise NotFound(f"{repo_id} is not indexed", hint="onboard it first")
            maps = Maps(snapshot.txn, repo_id)
            return row, maps.baseline(commit) if commit else None

    async def _built(self, repo: RepoRow, commit: str) -> tuple[str, list[bytes]]:
        """The commit, or what stands for one, and its parts."""
        for attempt in range(_TRIES):
            live = await self._desk.settle(repo.repo_id)
            try:
                found, content = await asyncio.to_thread(self._content, repo, commit, live)
                await materialise(self._bus, repo.repo_id, content)
                manifest = Manifest(self._desk.projections, live, content)
                return found, await asyncio.to_thread(_drawn, manifest)
            except Unavailable:
                if attempt == _TRIES - 1:
                    raise
                await asyncio.sleep(0.2 * (attempt + 1))
        raise Unavailable("the tree is changing", hint="try again")

    def _content(self, repo: RepoRow, commit: str, live: LiveMap) -> tuple[str, Content]:
        if not commit:
            return of_live(live.rows)
        tree = tree_of(repo, self._settings)
        git = git_tree(tree.root)
        if git is None:
            raise NotFound(
                f"there is no commit {commit[:40]}: the tree has no git",
                hint="leave commit_sha out; what is indexed now becomes the baseline",
            )
        return commit, of_commit(tree, git, commit, live.rows)

    async def _publish(
        self,
        repo: RepoRow,
        commit: str,
        parts: list[bytes],
        command: EnsureBaseline,
        *,
        from_cache: bool,
    ) -> MapReply:
        started = now_ms()
        tally = await asyncio.to_thread(tallied, parts)
        if tally.symbols == 0:
            raise CompilationFailed(
                "nothing in the tree declares a symbol",
                hint="is this the root of the code? the files may all be ignored or of unknown languages",
            )
        target = Target(repo.repo_id, repo.index_generation)
        place = baseline_place(repo.repo_id, keys.base_name(commit), commit)

        def head(count: int) -> BaselinePublished:
            return BaselinePublished(
                commit=commit,
                edition=place.edition,
                parts=count,
                files=tally.files,
                symbols=tally.symbols,
                references=tally.references,
                full=tally.full,
                partial=tally.partial,
                created_ms=now_ms(),
                elapsed_ms=now_ms() - started,
                from_cache=from_cache,
                pseudo=not command.commit,
            )

        try:
            sequence = await publish_manifest(self._bus, target, place, parts, head)
        except Superseded:
            raise Unavailable(
                "another worker builds this baseline", hint="ask again in a moment"
            ) from None
        log.info("baseline_published", repo_id=repo.repo_id, commit=commit, files=tally.files)
        return MapReply(ok=True, index_sequence=sequence, commit=commit, from_cache=from_cache)

    async def drop(self, command: DropBaselines) -> MapReply:
        """Forget baselines; those that are not there are no mistake."""
        repo, _ = self._standing(command.repo_id, "")
        sequence = 0
        for commit in command.commits:
            target = Target(repo.repo_id, repo.index_generation)
            sequence = await publish_dropped(self._bus, target, commit)
        return MapReply(ok=True, index_sequence=sequence)

    def _shelf(self, repo: RepoRow, commit: str) -> Path | None:
        """Where machines share this baseline; None where they do not."""
        if not self._settings.codemap_cache_dir or not commit:
            return None
        git = git_tree(Path(repo.root))
        remote = "" if git is None else git.remote()
        filters = xxhash.xxh64_hexdigest(msgspec.msgpack.encode(repo.filters))
        folder = Path(self._settings.codemap_cache_dir) / hashed_id(remote, Path(repo.root))
        return folder / f"{commit}-{VERSION}-{filters}.map"


def tree_of(repo: RepoRow, settings: Settings) -> Tree:
    return Tree(Path(repo.root), repo.filters, settings.max_file_bytes)


async def materialise(bus: Bus, repo_id: str, content: Content) -> None:
    """Have every fresh file read; one without an extract takes no part."""
    fresh = [
        (path, source.digest, source.data)
        for path, source in content.items()
        if isinstance(source, Fresh)
    ]
    read = await read_files(bus, repo_id, fresh)
    for path, digest, _ in fresh:
        found = read[path]
        if found.extract is None:
            del content[path]
            continue
        packed = found.extract
        facts = FileFacts(
            path, digest, found.language, found.kind, packed.quality, packed.line_count,
            packed.token_count,
        )  # fmt: skip
        content[path] = Kept(facts, packed.body)


def _drawn(manifest: Manifest) -> list[bytes]:
    manifest.resolve()
    return list(in_parts(manifest.entries()))


def tallied(parts: list[bytes]) -> Tally:
    tally = Tally()
    for part in parts:
        for entry in unpack_entries(part):
            tally.add(entry)
    return tally


def _pulled(shelf: Path | None) -> list[bytes] | None:
    """A shared baseline; None when there is none that can be used."""
    if shelf is None:
        return None
    try:
        shared = _decode_shared(decompressed(shelf.read_bytes()))
    except OSError:
        return None
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, it is built instead
        log.warning("shared_baseline_unreadable", error=repr(error)[:200])
        return None
    whole = shared.format == _FORMAT and shared.version == VERSION
    if not whole or shared.checksum != _checksum(shared.parts):
        return None
    return list(shared.parts)


def _pushed(shelf: Path, parts: list[bytes]) -> None:
    """Share a baseline; a folder that cannot be written is no reason to fail."""
    shared = Shared(_FORMAT, VERSION, _checksum(parts), tuple(parts))
    draft = shelf.with_name(f".{shelf.name}.{os.getpid()}")
    try:
        shelf.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(compressed(_encode_shared(shared)))
        draft.replace(shelf)
    except OSError as error:
        log.warning("baseline_not_shared", error=repr(error)[:200])


def _checksum(parts: list[bytes] | tuple[bytes, ...]) -> str:
    total = xxhash.xxh3_128()
    for part in parts:
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
    return f"xx128:{total.hexdigest()}"
