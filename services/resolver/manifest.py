"""What does a manifest say of each of its files?

A manifest is worked out as a fork of the live one: its own files are put over the live resolver,
what the live tree has besides is taken away, and whatever that changes is resolved anew. All the
rest keeps its edges. Since edges do not depend on how they came about, they are those of a fresh
look at the very same files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
from msgspec import Struct

from contracts.errors import Unavailable
from contracts.extract import Body, Fact, Symbol, compressed, unpack_body
from contracts.filemap import Columns, Entry, FileFacts, pack_columns, unpack_columns
from services.resolution import edges as edge_format
from services.resolution.ids import symbol_id
from services.resolution.resolver import Resolved
from services.resolver.columns import ResolvedFile, columns_of_each
from services.resolver.content import Content, Fresh, Kept, Source
from services.resolver.live import LiveMap
from store import keys
from store.read.live import Projections
from store.read.maps import Maps
from store.rows import BaselineRow, FileRow, WorkspaceRow


class Tally(Struct):
    """What a manifest's files come to."""

    files: int = 0
    symbols: int = 0
    references: int = 0
    facts: int = 0
    full: int = 0
    partial: int = 0

    def add(self, entry: Entry) -> None:
        if not entry.file.digest:
            return
        columns = unpack_columns(entry.columns)
        self.files += 1
        self.symbols += len(columns.kind) - columns.kind.count(0)
        self.references += columns.references
        self.full += columns.quality == 2
        self.partial += columns.quality == 1


class Manifest:
    """The entries of one content, over the live map as it was last looked at."""

    def __init__(self, projections: Projections, live: LiveMap, content: Content) -> None:
        self._projections, self._live, self._content = projections, live, content
        self._made: dict[
            str, tuple[bytes, bytes]
        ] = {}  # columns and edges that are not the live ones

    def resolve(self) -> None:
        """Resolve whatever differs from the live map."""
        own = {p: unpack_body(s.body) for p, s in self._content.items() if isinstance(s, Kept)}
        gone = [path for path in self._live.rows if path not in self._content]
        if not own and not gone:
            return

        def read(path: str) -> Body:
            return own.get(path) or self._live.body(path)

        fork = self._live.resolver().fork(read)
        changes: list[tuple[str, str, Body | None]] = [(path, "", None) for path in gone]
        changes += [
            (path, _facts(self._content[path]).language, body) for path, body in own.items()
        ]
        for file, columns in columns_of_each(self._files(fork.apply(changes), read)):
            edges = compressed(edge_format.encode(file.edges))
            self._made[file.path] = (pack_columns(columns), edges)

    def _files(
        self, resolved: Iterable[Resolved], read: Callable[[str], Body]
    ) -> Iterator[ResolvedFile]:
        for path, edges, _ in resolved:
            self._live.check()
            source = self._content.get(path)
            if source is not None:
                facts = _facts(source)
                yield ResolvedFile(path, facts.language, facts.quality, read(path), edges)

    def entries(self) -> Iterator[Entry]:
        """Every file in order of paths. Raises Unavailable when the live tree has moved on."""
        for path in sorted(self._content):
            yield self.entry(path)

    def entry(self, path: str) -> Entry:
        source = self._content[path]
        with self._projections.read() as snapshot:
            maps = Maps(snapshot.txn, self._live.repo_id)
            made = self._made.get(path)
            columns, edges = made or (
                maps.live_blob("columns", path), maps.live_blob("edges", path)
            )  # fmt: skip
            if isinstance(source, FileRow):
                key = keys.sequence(keys.repo(self._live.repo_id), source.sequence)
                raw = snapshot.txn.get("bodies", key)
                if raw is None or not columns:
                    raise Unavailable("the tree is changing", hint="try again")
                return Entry(_facts(source), columns, bytes(raw), edges)
        if isinstance(source, Kept):
            return Entry(source.file, columns, source.body, edges)
        raise Unavailable("a file was not read", hint="try again")


def _facts(source: Source) -> FileFacts:
    if isinstance(source, FileRow):
        return FileFacts(
            source.path, source.digest, source.language, source.kind, source.quality,
            source.line_count, source.token_count,
        )  # fmt: skip
    return source.file if isinstance(source, Kept) else FileFacts("", source.digest)


class Standing(Struct, frozen=True):
    """A workspace's base and overlay as they stand."""

    base: dict[str, FileFacts]
    overlay: dict[str, FileFacts]  # hidden files with an empty digest

    @property
    def digests(self) -> dict[str, str]:
        found = {path: file.digest for path, file in self.base.items()}
        for path, file in self.overlay.items():
            found[path] = file.digest
        return {path: digest for path, digest in found.items() if digest}


class Shelf:
    """The base and the overlay of one workspace, as stored."""

    def __init__(
        self, projections: Projections, repo_id: str, base: BaselineRow, row: WorkspaceRow
    ) -> None:
        self._projections, self._repo_id = projections, repo_id
        with projections.read() as snapshot:
            maps = Maps(snapshot.txn, repo_id)
            self._base = maps.base_prefix(base)
            self._overlay = maps.overlay_prefix(row)
            self.standing = Standing(
                {file.path: file for file in maps.files(self._base)},
                {file.path: file for file in maps.files(self._overlay)} if row.edition else {},
            )

    def kept(self, path: str) -> Kept | None:
        """The file as the workspace has it now; None where it has none."""
        file = self.standing.overlay.get(path)
        prefix = self._overlay
        if file is None:
            file, prefix = self.standing.base.get(path), self._base
        if file is None or not file.digest:
            return None
        with self._projections.read() as snapshot:
            body = Maps(snapshot.txn, self._repo_id).blob("map_bodies", prefix, path)
        return Kept(file, body) if body else None

    def content(self, live: Mapping[str, FileRow]) -> Content:
        """All files as the workspace has them now."""
        found: Content = {}
        for path, digest in self.standing.digests.items():
            row = live.get(path)
            if row is not None and row.digest == digest:
                found[path] = row
            elif (kept := self.kept(path)) is not None:
                found[path] = kept
        return found

    def recognised(self, content: Content) -> None:
        """Put what is kept here in the place of fresh bytes that are the same."""
        digests = self.standing.digests
        for path, source in content.items():
            if isinstance(source, Fresh) and digests.get(path) == source.digest:
                content[path] = self.kept(path) or source

    def overlay(self, manifest: Manifest, content: Content) -> Iterator[Entry]:
        """The entries that are not those of the base, and those that hide a file of it."""
        for path in sorted({*content, *self.standing.base}):
            if path not in content:
                yield Entry(FileFacts(path, ""))
                continue
            entry = manifest.entry(path)
            base = self.standing.base.get(path)
            if base is None or base.digest != entry.file.digest or not self._same(path, entry):
                yield entry

    def _same(self, path: str, entry: Entry) -> bool:
        with self._projections.read() as snapshot:
            maps = Maps(snapshot.txn, self._repo_id)
            return (
                maps.blob("map_columns", self._base, path) == entry.columns
                and maps.blob("map_edges", self._base, path) == entry.edges
            )

    def columns(self, path: str) -> Columns | None:
        """The file's columns as the workspace has them now."""
        file = self.standing.overlay.get(path)
        prefix = self._base if file is None else self._overlay
        with self._projections.read() as snapshot:
            blob = Maps(snapshot.txn, self._repo_id).blob("map_columns", prefix, path)
        return unpack_columns(blob) if blob else None


def facts_in(body: bytes) -> tuple[Fact, ...]:
    return unpack_body(body).facts


def symbols_changed(before: Kept | None, after: Entry | None) -> int:
    """How many symbols were added, changed or deleted between two versions of a file."""
    kept = [version for version in (before, after) if version is not None]
    bodies = [unpack_body(version.body) for version in kept]
    told = all(len(body.digests) == 4 * len(body.symbols) for body in bodies)  # not by older ones
    found = [
        _symbols(version.file.language, body, told)
        for version, body in zip(kept, bodies, strict=True)
    ]
    old = found[0] if before is not None else {}
    new = found[-1] if after is not None else {}
    return sum(old.get(name) != new.get(name) for name in {*old, *new})


def _symbols(language: str, body: Body, told: bool) -> dict[str, list[tuple[object, ...]]]:
    """What each symbol is and holds; of one that is declared several times, all of it."""
    digests = np.frombuffer(body.digests, "<u4").tolist() if told else [0] * len(body.symbols)
    found: dict[str, list[tuple[object, ...]]] = {}
    for symbol, digest in zip(body.symbols, digests, strict=True):
        found.setdefault(symbol_id(language, symbol), []).append(_content_of(symbol, digest))
    return found


def _content_of(symbol: Symbol, digest: int) -> tuple[object, ...]:
    size = symbol.end_byte - symbol.start_byte
    return symbol.kind, symbol.signature, symbol.doc, size, digest
